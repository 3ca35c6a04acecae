"""Launches read from what engines say of containers, and changed."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.engines.sglang.flags.schemas import schema
from sgdoctor.errors import UserError
from sgdoctor.launch import shell
from sgdoctor.launch.change import Change
from sgdoctor.launch.inspection import ComposeOrigin, open_inspection
from sgdoctor.launch.model import EditState, Gpus, Mount, Origin, Port
from sgdoctor.launch.render import flag_groups
from tests.launch.inspections import FOLDER, NAMES, container, document, image_of

FLAGS = schema("0.5.15")
WITHOUT_ENGINE = ("flags-alone", "no-engine")
WITH_ENGINE = [name for name in NAMES if name not in WITHOUT_ENGINE]


def problems(name: str) -> list[str]:
    return [problem.id for problem in document(name).problems]


def test_corpus_is_there() -> None:
    assert len(NAMES) >= 20


@pytest.mark.parametrize("name", NAMES)
def test_round_trip(name: str) -> None:
    read = document(name)

    written = read.edited([], FLAGS)

    assert read.text == written.text
    assert read.launch == written.launch
    assert () == written.left


@pytest.mark.parametrize("name", WITH_ENGINE)
def test_edit_changes_the_words_of_the_command_alone(name: str) -> None:
    read = document(name)

    written = read.edited([Change("flag.set", "--context-length", "12345")], FLAGS)

    before, after = json.loads(read.text), json.loads(written.text)
    assert before["Cmd"] != after["Cmd"]
    before["Cmd"] = after["Cmd"]
    assert before == after
    assert "12345" in " ".join(written.launch.argv)


@given(
    name=st.sampled_from(WITH_ENGINE),
    flag=st.sampled_from(["--mem-fraction-static", "--port", "--served-model-name", "--json-model-override-args"]),
    value=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(
        lambda value: not value.startswith("-")
    ),
)
def test_any_value_arrives_as_one_word(name: str, flag: str, value: str) -> None:
    before = document(name).launch.argv

    after = document(name).edited([Change("flag.set", flag, value)], FLAGS).launch.argv

    def others(argv: tuple[str, ...]) -> list[tuple[str, ...]]:
        return [group for group in flag_groups(argv) if group[0].partition("=")[0] != flag]

    assert others(before) == others(after)
    assert (flag, value) in flag_groups(after) or f"{flag}={value}" in after


def test_docker_run_of_an_article() -> None:
    read = document("article-27b")

    assert Origin.CONTAINER == read.launch.origin
    assert ("python3", "-m", "sglang.launch_server") == read.launch.argv[: read.launch.flags_at]
    assert "article-27b" == read.name
    assert "lmsysorg/sglang:latest" == read.launch.image
    assert Gpus(device_ids=("0",)) == read.launch.gpus
    assert (Port(30000, 11434),) == read.launch.ports
    assert (Mount("/models", "/opt/ai-workspace/models", "bind", read_only=True),) == read.launch.mounts
    assert 32 << 30 == read.launch.shm_bytes
    assert "host" == read.launch.ipc
    assert "unless-stopped" == read.launch.restart
    assert {} == read.launch.env
    assert EditState.YES == read.editable.state
    assert read.compose is None


def test_without_its_image_the_images_settings_pass_for_the_containers() -> None:
    alone = open_inspection(container("article-27b"))

    assert "all" == alone.launch.env["NVIDIA_VISIBLE_DEVICES"]
    assert "/sgl-workspace/sglang" == json.loads(alone.text)["WorkingDir"]


@pytest.mark.parametrize(
    ("name", "gpus"),
    [
        ("article-35b", Gpus(device_ids=("1",))),
        ("two-gpus", Gpus(device_ids=("0", "1"))),
        ("gpu-count", Gpus(count=2)),
        ("in-a-shell", Gpus(count=-1)),
        ("cdi", Gpus(device_ids=("1",), driver="cdi")),
        ("podman-cdi", Gpus(device_ids=("0",), driver="cdi")),
        ("runtime-nvidia", Gpus(device_ids=("1",), runtime="nvidia", from_env=True)),
        ("both-gpu-ways", Gpus(device_ids=("0",), runtime="nvidia")),
        ("compose-deploy", Gpus(device_ids=("0", "1"), driver="nvidia")),
        ("compose-backslashes", Gpus(count=-1)),
        # The image says all; the variable of CUDA picks one of them.
        ("compose-article-35b", Gpus(count=-1, runtime="nvidia", from_env=True)),
        ("raw-devices", Gpus()),
    ],
)
def test_gpus(name: str, gpus: Gpus) -> None:
    assert gpus == document(name).launch.gpus


def test_two_devices_in_one_text() -> None:
    data = container("two-gpus")
    data["HostConfig"]["DeviceRequests"][0]["DeviceIDs"] = ["0,1"]

    assert Gpus(device_ids=("0", "1")) == open_inspection(data).launch.gpus


def test_compose_labels() -> None:
    origin = document("compose-deploy").compose

    assert origin is not None
    assert (
        ComposeOrigin(
            project="compose-deploy",
            service="sgl",
            config_files=("/opt/ai-workspace/compose-deploy/compose.yaml",),
            working_dir="/opt/ai-workspace/compose-deploy",
            version="5.6.1",
            config_hash=origin.config_hash,
        )
        == origin
    )
    assert 64 == len(origin.config_hash)


def test_container_of_compose_is_changed_in_its_file() -> None:
    editable = document("compose-deploy").editable

    assert EditState.NOTE == editable.state
    assert editable.why is not None
    assert "/opt/ai-workspace/compose-deploy/compose.yaml" in editable.why.en


def test_ephemeral_port_has_no_number_and_anonymous_volumes_no_name() -> None:
    launch = document("rich").launch

    assert (Port(30000, 15433, "127.0.0.1"), Port(30001, None, "127.0.0.1", "udp")) == launch.ports
    assert [Mount("/anoncli", None, "volume"), Mount("/mv", None, "volume")] == [
        mount for mount in launch.mounts if mount.kind == "volume" and mount.source is None
    ]
    # The image asks for this one.
    assert "/anon" not in {mount.target for mount in launch.mounts}
    assert {"BAR": "a b$c", "IMG_ONLY": "overridden"} == launch.env
    assert launch.init


@pytest.mark.parametrize("name", ["podman-cdi", "podman-api"])
def test_podman_is_read_but_not_sent_back(name: str) -> None:
    read = document(name)

    assert ("/opt/nvidia/nvidia_entrypoint.sh", "python3") == read.launch.command[:2]
    assert {"HF_HUB_OFFLINE": "1"} == read.launch.env
    assert read.launch.ipc is None
    assert EditState.NOTE == read.editable.state
    assert ["restart-after-exit-0"] == problems(name)
    words = [word.text for word in shell.words(read.docker_run([], FLAGS))]
    assert ["podman", "run", "-d", "--name", "podman-cdi"] == words[:5]
    assert {"nofile=1024", "nproc=1024"} <= set(words)
    assert not {"--pid", "--uts", "--pids-limit", "--stop-signal", "--stop-timeout"} & set(words)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("article-27b", ["shm-size-without-effect"]),
        ("article-35b", []),
        ("both-gpu-ways", ["gpus-asked-for-twice"]),
        ("double-index", ["gpu-numbered-twice"]),
        ("runtime-nvidia", ["restart-after-exit-0"]),
        ("raw-devices", ["raw-gpu-devices"]),
        ("flags-alone", ["flags-without-engine"]),
        ("compose-backslashes", ["newline-argument"]),
        # The same variable as in double-index, and right: all GPUs are there to pick from.
        ("compose-article-35b", ["shm-size-without-effect"]),
        ("compose-deploy", []),
        ("rich", []),
        ("two-gpus", []),
        ("gpu-count", []),
        ("cdi", []),
        ("no-engine", []),
        ("in-a-shell", []),
    ],
)
def test_problems(name: str, expected: list[str]) -> None:
    assert expected == problems(name)


def test_no_gpu_at_all() -> None:
    data = container("article-27b")
    data["HostConfig"]["DeviceRequests"] = None

    found = open_inspection(data, image_of(data)).problems

    assert ["shm-size-without-effect", "no-gpu-asked-for"] == [problem.id for problem in found]


@pytest.mark.parametrize("field", ["argument", "device"])
def test_no_gpu_is_right_for_a_processor_or_another_maker(field: str) -> None:
    data = container("raw-devices")
    data["HostConfig"]["Devices"] = []
    if field == "argument":
        data["Config"]["Cmd"] += ["--device", "cpu"]
    else:
        data["HostConfig"]["Devices"] = [{"PathOnHost": "/dev/kfd", "PathInContainer": "/dev/kfd"}]

    assert () == open_inspection(data, image_of(data)).problems


def test_script_that_is_a_folder_on_the_host() -> None:
    data = container("script-is-a-folder")

    seen = open_inspection(data, image_of(data), is_folder=lambda path: path == "/opt/ai-workspace/not-there.py")
    fine = open_inspection(data, image_of(data), is_folder=lambda _: False)

    assert ["folder-mounted-as-script"] == [problem.id for problem in seen.problems]
    assert () == fine.problems


@pytest.mark.parametrize("name", WITHOUT_ENGINE)
def test_without_an_engine_flags_are_refused(name: str) -> None:
    read = document(name)

    with pytest.raises(UserError, match=r"by hand: --mem-fraction-static 0\.92"):
        read.edited([Change("flag.set", "--mem-fraction-static", "0.92")], FLAGS)

    assert EditState.NO == read.editable.state


def test_program_that_was_missing_is_put_in_before_the_flags() -> None:
    changes = [
        Change("flag.set", "--port", "30001"),
        Change("docker.command", value="python3 -m sglang.launch_server"),
    ]

    edited = document("flags-alone").edited(changes, FLAGS)

    assert (
        "python3",
        "-m",
        "sglang.launch_server",
        "--model-path",
        "/models/m",
        "--port",
        "30001",
    ) == edited.launch.argv


def after(name: str, *changes: Change) -> Mapping[str, Any]:
    edited = document(name).edited(changes, FLAGS)
    assert () == edited.left
    body = json.loads(edited.text)
    assert isinstance(body, dict)
    return body


def test_flags_in_a_shells_script_keep_its_rest() -> None:
    body = after(
        "in-a-shell", Change("flag.set", "--dtype", "bfloat16"), Change("flag.set", "--mem-fraction-static", "0.92")
    )

    assert (
        "cd /sgl-workspace && python3 -m sglang.launch_server --model-path "
        "/models/huggingface/cyankiwi/Qwen3.6-27B-AWQ-INT4 --mem-fraction-static 0.92 --dtype bfloat16 "
        "2>&1 | tee /logs/sgl.log"
    ) == body["Cmd"][1]
    assert ["bash"] == body["Entrypoint"]


def test_variables() -> None:
    body = after(
        "two-gpus",
        Change("env.set", "NCCL_P2P_DISABLE", "0"),
        Change("env.set", "HF_ENDPOINT", "https://hf-mirror.com"),
        Change("env.unset", "HF_HUB_OFFLINE"),
    )

    assert ["HF_ENDPOINT=https://hf-mirror.com", "NCCL_P2P_DISABLE=0"] == sorted(body["Env"])


def test_variable_of_the_image_cannot_be_taken_away() -> None:
    edited = document("article-27b").edited([Change("env.unset", "CUDA_HOME")], FLAGS)

    [(change, why)] = edited.left
    assert "CUDA_HOME" == change.name
    assert "comes from the image" in why.en
    assert document("article-27b").text == edited.text


def test_settings_of_docker() -> None:
    host = after(
        "article-35b",
        Change("docker.shm_size", value="16g"),
        Change("docker.gpus", value='"device=0,1"'),
        Change("docker.ulimit", "memlock", "65536"),
        Change("docker.port", value="8000:8000"),
        Change("docker.volume", value="/data/models:/models"),
        Change("docker.restart", value="unless-stopped"),
        Change("docker.memory", value="64g"),
        Change("file.mount", "/opt/patches/sitecustomize.py", "/home/me/sitecustomize.py"),
    )["HostConfig"]

    assert 16 << 30 == host["ShmSize"]
    assert ["0", "1"] == host["DeviceRequests"][0]["DeviceIDs"]
    assert [{"Name": "memlock", "Soft": 65536, "Hard": 65536}] == host["Ulimits"]
    assert {"30000/tcp", "8000/tcp"} == host["PortBindings"].keys()
    assert [
        "/opt/ai-workspace/launch_selode.py:/launch_selode.py:ro",
        "/data/models:/models",
        "/home/me/sitecustomize.py:/opt/patches/sitecustomize.py:ro",
    ] == host["Binds"]
    assert {"Name": "unless-stopped", "MaximumRetryCount": 0} == host["RestartPolicy"]
    assert 64 << 30 == host["Memory"]


def test_gpus_of_the_nvidia_runtime_are_named_by_its_variable() -> None:
    body = after("runtime-nvidia", Change("docker.gpus", value="device=0"))

    assert "NVIDIA_VISIBLE_DEVICES=0" in body["Env"]
    assert not body["HostConfig"]["DeviceRequests"]


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        ("article-27b", Change("docker.shm_size", value="1g"), "no effect"),
        ("runtime-nvidia", Change("docker.port", value="1:1"), "host's network"),
        ("article-27b", Change("docker.volume", value="./models:/models"), "no absolute path"),
        ("article-27b", Change("file.mount", "sitecustomize.py", "/opt/patches/sitecustomize.py"), "absolute path"),
        ("in-a-shell", Change("docker.command", value="sglang serve"), "behind a shell"),
        ("article-27b", Change("flag.lower", "--mem-fraction-static"), "how far"),
        ("article-27b", Change("host.command", value="nvidia-smi"), "no part"),
    ],
)
def test_changes_without_a_place_are_left(name: str, change: Change, why: str) -> None:
    read = document(name)

    edited = read.edited([change], FLAGS)

    assert [change] == [left for left, _ in edited.left]
    assert why in edited.left[0][1].en
    assert edited.left[0][1].zh
    assert read.text == edited.text


@pytest.mark.parametrize(
    "change",
    [
        Change("docker.shm_size", value="big"),
        Change("docker.gpus", value="first"),
        Change("docker.ulimit", "memlock", "none"),
        Change("docker.port", value="30000:99999"),
        Change("docker.restart", value="sometimes"),
        Change("docker.volume", value="models"),
        Change("docker.memory", value=""),
    ],
)
def test_value_that_is_none_of_its_kind(change: Change) -> None:
    with pytest.raises(UserError) as refused:
        document("article-35b").edited([change], FLAGS)

    assert refused.value.zh


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no output of docker inspect"),
        ("[]", "describes 0 objects"),
        ('[{"Id": "x"}]', "no inspection of a container"),
        ("[[]]", "no inspection of a container"),
        ("[" * 100_000, "no output of docker inspect"),
        ((FOLDER / "images/sglang.json").read_text(), "no inspection of a container"),
    ],
)
def test_what_is_no_inspection(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        open_inspection(text)


def test_two_containers_at_once() -> None:
    text = json.dumps([container("rich"), container("cdi")])

    with pytest.raises(UserError, match="describes 2 objects"):
        open_inspection(text)


@given(st.data())
def test_missing_and_empty_fields_are_nothing(data: st.DataObject) -> None:
    inspection = container("rich")
    for part in ("Config", "HostConfig"):
        for field in data.draw(st.sets(st.sampled_from(sorted(inspection[part])), max_size=12), part):
            if data.draw(st.booleans(), "missing"):
                del inspection[part][field]
            else:
                inspection[part][field] = None
    inspection["Mounts"] = data.draw(st.sampled_from([None, [], inspection["Mounts"]]))

    read = open_inspection(inspection, data.draw(st.sampled_from([None, image_of(container("rich"))])))

    assert read.edited([], FLAGS).text == read.text
