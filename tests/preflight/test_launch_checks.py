"""Each check of a launch: what it fails, warns of, passes, and leaves alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from sgdoctor.fixes.steps import SHOWN_ONLY
from sgdoctor.launch.change import Change
from sgdoctor.preflight.model import Finding, Situation, Status
from sgdoctor.preflight.models.folder import read_folder
from tests.preflight.launching import brief, cards, compose, found, host, image, shell, troubles

ENGINE = "python3 -m sglang.launch_server --model-path /models/m"
IMAGE = image("NVIDIA_VISIBLE_DEVICES=all")
WARN, FAIL, SKIPPED = "warn", "fail", "skipped"


def run(options: str = "", flags: str = "", engine: str = ENGINE) -> str:
    """A ``docker run`` with these options and flags."""
    gpus = "" if "--gpus" in options or "nvidia" in options else "--gpus all"
    return f"docker run {gpus} {options} lmsysorg/sglang:latest {engine} {flags}"


def container(name: str, *ports: int, state: str = "running", **labels: str) -> dict[str, object]:
    """As the API lists it."""
    published = [{"IP": "0.0.0.0", "PublicPort": port, "PrivatePort": 80, "Type": "tcp"} for port in ports]
    named = {f"com.docker.compose.{key}": value for key, value in labels.items()}
    return {"Id": "0a1b2c3d4e5f66", "Names": [f"/{name}"], "State": state, "Ports": published, "Labels": named}


def test_a_router_needs_no_gpu(tmp_path: Path) -> None:
    image = "docker run lmsysorg/sglang:latest"
    router = shell(f"{image} python3 -m sglang_router.launch_router --worker-urls http://a", tmp_path)
    server = shell(f"{image} python3 -m sglang.launch_server --model-path /m", tmp_path)

    assert [] == troubles(router, "launch-gpus")
    assert ["SGL013"] == [rule for _, rule in troubles(server, "launch-gpus")]


@pytest.mark.parametrize(
    ("options", "facts", "env", "expected"),
    [
        pytest.param("--gpus all", {}, None, [], id="all"),
        pytest.param("--gpus device=1", {}, None, [], id="one-of-two"),
        pytest.param("--gpus device=2", {}, None, [(FAIL, "SGL007")], id="not-there"),
        pytest.param("--gpus device=2", {"simulated": True}, None, [], id="simulated-cards-have-no-numbers"),
        pytest.param("--gpus device=GPU-1a", {}, None, [], id="uuid"),
        pytest.param("--gpus device=GPU-77", {}, None, [(FAIL, "SGL007")], id="uuid-not-there"),
        pytest.param("--gpus 2", {}, None, [], id="as-many-as-there-are"),
        pytest.param("--gpus 3", {}, None, [(FAIL, "SGL007")], id="more-than-there-are"),
        pytest.param(
            "--gpus 2",
            {"cards": cards("3090"), "simulated": True},
            None,
            [(FAIL, "SGL007")],
            id="more-than-are-named",
        ),
        pytest.param("--gpus 2", {"cards": ()}, None, [(SKIPPED, None)], id="nobody-knows-how-many-there-are"),
        pytest.param("--gpus 0", {}, None, [(FAIL, "SGL013")], id="number-zero"),
        pytest.param("--gpus device=1 -e CUDA_VISIBLE_DEVICES=1", {}, None, [(FAIL, "SGL014")], id="numbered-twice"),
        pytest.param("--gpus device=1 -e CUDA_VISIBLE_DEVICES=0", {}, None, [], id="numbered-inside"),
        pytest.param("--gpus all -e CUDA_VISIBLE_DEVICES=1", {}, None, [], id="all-and-second"),
        pytest.param("--gpus all -e CUDA_VISIBLE_DEVICES=2", {}, None, [(FAIL, "SGL014")], id="beyond-all"),
        pytest.param("--gpus all -e CUDA_VISIBLE_DEVICES=", {}, None, [(FAIL, "SGL013")], id="hidden"),
        pytest.param("--gpus all -e CUDA_VISIBLE_DEVICES=-1", {}, None, [(FAIL, "SGL013")], id="hidden-by-minus-one"),
        pytest.param(
            "--runtime nvidia -e CUDA_VISIBLE_DEVICES=1", {}, ["NVIDIA_VISIBLE_DEVICES=all"], [], id="image-all"
        ),
        pytest.param(
            "--runtime nvidia -e CUDA_VISIBLE_DEVICES=1", {}, ["PATH=/bin"], [(FAIL, "SGL013")], id="image-silent"
        ),
        pytest.param("--runtime nvidia -e CUDA_VISIBLE_DEVICES=1", {}, None, [], id="image-unknown"),
        pytest.param(
            "--runtime nvidia -e NVIDIA_VISIBLE_DEVICES=1 -e CUDA_VISIBLE_DEVICES=1",
            {},
            None,
            [(FAIL, "SGL014")],
            id="named-to-the-runtime-and-numbered-twice",
        ),
        pytest.param("--runtime nvidia -e NVIDIA_VISIBLE_DEVICES=none", {}, None, [(FAIL, "SGL013")], id="none"),
        pytest.param("--gpus all -e NVIDIA_VISIBLE_DEVICES=1", {}, None, [(WARN, None)], id="two-voices"),
        pytest.param(
            "--gpus all -e CUDA_VISIBLE_DEVICES=0", {"cards": cards("3060,3090")}, None, [(WARN, None)], id="two-kinds"
        ),
        pytest.param(
            "--gpus all -e CUDA_VISIBLE_DEVICES=0 -e CUDA_DEVICE_ORDER=PCI_BUS_ID",
            {"cards": cards("3060,3090")},
            None,
            [],
            id="two-kinds-by-the-bus",
        ),
        pytest.param("--gpus device=9", {"cards": ()}, None, [(SKIPPED, None)], id="no-cards-known"),
    ],
)
def test_choice_of_gpus(
    options: str, facts: dict[str, object], env: list[str] | None, expected: list[object], tmp_path: Path
) -> None:
    of_image = None if env is None else image(*env)
    situation = shell(run(options), tmp_path, host(**facts), image=of_image)

    assert troubles(situation, "launch-gpus") == expected


def test_without_a_card_nobody_says_that_it_is_there(tmp_path: Path) -> None:
    situation = shell(run("--gpus 1"), tmp_path, host(cards=()))
    told = found(situation, "launch-gpus", "launch-tensor-parallel")

    assert [Status.SKIPPED] * 2 == [one.status for one in told]
    assert [
        "the launch asks for 1 GPU; no card was seen",
        "1 needed, and the launch asks for 1; no card was seen",
    ] == [one.title.en for one in told]


@pytest.mark.parametrize(("given", "said"), [(1, "the engine sees 1 GPU"), (2, "the engine sees 2 GPUs")])
def test_one_gpu_is_no_plural(given: int, said: str, tmp_path: Path) -> None:
    named = replace(host(), simulated=True)

    assert [said] == [one.title.en for one in found(shell(run(f"--gpus {given}"), tmp_path, named), "launch-gpus")]


def test_the_ipc_of_the_host_is_told_as_the_launch_writes_it(tmp_path: Path) -> None:
    run_text = run("--ipc host --shm-size 8g")
    compose_text = (
        "services:\n  sgl:\n    image: lmsysorg/sglang:v0.5.15\n    ipc: host\n    shm_size: 8g\n"
        f"    command: {ENGINE}\n"
    )
    told = {
        form: found(situation, "launch-shared-memory")[0].detail
        for form, situation in {"run": shell(run_text, tmp_path), "compose": compose(compose_text, tmp_path)}.items()
    }

    assert {"run": "A size beside --ipc host has no effect.", "compose": "A size beside ipc: host has no effect."} == {
        form: detail.en for form, detail in told.items() if detail is not None
    }


@pytest.mark.parametrize(
    ("text", "facts", "expected"),
    [
        pytest.param("docker run I E", {}, [(FAIL, "SGL013")], id="nothing-asks"),
        pytest.param("docker run I E", {"docker": None}, [(WARN, "SGL013")], id="default-runtime-unknown"),
        pytest.param("docker run I E", {"docker": {"DefaultRuntime": "nvidia"}}, [], id="default-runtime"),
        pytest.param("docker run --privileged I E", {}, [], id="privileged"),
        pytest.param("docker run --device /dev/nvidia0 I E", {}, [], id="raw-device"),
        pytest.param("docker run $GPU_ARGS I E", {}, [], id="behind-a-variable"),
        pytest.param("docker run nginx", {}, [], id="something-else"),
    ],
)
def test_launches_that_name_no_gpu(text: str, facts: dict[str, object], expected: list[object], tmp_path: Path) -> None:
    text = text.replace(" I ", " lmsysorg/sglang:latest ").replace(" E", f" {ENGINE}")
    situation = shell(text, tmp_path, host(**facts), image=IMAGE)

    assert troubles(situation, "launch-gpus") == expected


@pytest.mark.parametrize(
    ("options", "flags", "expected"),
    [
        ("", "", []),
        ("", "--tp 2", []),
        ("", "--tp-size 4", [(FAIL, "SGL016")]),
        ("--gpus device=0", "--tensor-parallel-size 2", [(FAIL, "SGL016")]),
        ("--gpus 3", "--tensor-parallel-size 3", [(FAIL, "SGL016")]),
        ("", "--tp 2 --pp-size 2", [(FAIL, "SGL016")]),
        ("", "--dp 2", []),
        ("", "--tp 2 --dp 2", [(FAIL, "SGL016")]),
        ("", "--tp 2 --dp 2 --enable-dp-attention", []),
        ("", "--tp 4 --nnodes 2 --node-rank 0", []),
        ("", "--base-gpu-id 1", []),
        ("", "--base-gpu-id 2", [(FAIL, "SGL017")]),
        ("", "--tp $TP", []),
    ],
)
def test_number_of_gpus(options: str, flags: str, expected: list[object], tmp_path: Path) -> None:
    situation = shell(run(options, flags), tmp_path, image=IMAGE)

    assert troubles(situation, "launch-tensor-parallel") == expected


@pytest.mark.parametrize(
    ("options", "flags", "expected"),
    [
        ("", "", []),
        ("", "--tp 2", [(FAIL, "SGL601")]),
        ("--shm-size 512m", "--tp 2", [(WARN, "SGL601")]),
        ("--shm-size 32g", "--tp 2", []),
        ("--ipc host", "--tp 2", []),
        ("--ipc host --shm-size 32g", "", []),
        ("-v /dev/shm:/dev/shm", "--tp 2", []),
        ("$SHM_ARGS", "--tp 2", [(SKIPPED, None)]),
    ],
)
def test_shared_memory(options: str, flags: str, expected: list[object], tmp_path: Path) -> None:
    situation = shell(run(options, flags), tmp_path, image=IMAGE)

    assert troubles(situation, "launch-shared-memory") == expected


@pytest.mark.parametrize(
    ("options", "security", "expected"),
    [
        ("", [], None),
        ("--ulimit memlock=-1", [], []),
        ("--ulimit memlock=-1:-1", ["name=rootless"], [(FAIL, "SGL038")]),
        ("--ulimit memlock=65536", ["name=rootless"], []),
        ("--ulimit nofile=1024:4096", [], [(WARN, "SGL068")]),
    ],
)
def test_limits(options: str, security: list[str], expected: list[object] | None, tmp_path: Path) -> None:
    situation = shell(run(options), tmp_path, host(docker={"SecurityOptions": security}))
    says = found(situation, "launch-limits")

    assert ([] if expected is None else expected) == [one for one in brief(says) if one[0] != "pass"]
    assert bool(says) is (expected is not None)


def test_limits_of_compose(tmp_path: Path) -> None:
    text = f"""services:
  llm:
    image: lmsysorg/sglang:latest
    command: {ENGINE}
    ulimits:
      memlock: -1
      nofile:
        soft: 1024
        hard: 2048
"""
    [finding] = found(compose(text, tmp_path), "launch-limits")

    assert finding.evidence == "memlock=-1:-1, nofile=1024:2048"


@pytest.mark.parametrize(
    ("text", "facts", "expected"),
    [
        (run("-p 30000:30000"), {}, []),
        (run("-p 30000:30000"), {"containers": (container("other", 30000),)}, [(FAIL, "SGL020")]),
        (run("-p 127.0.0.1:30000:30000"), {"containers": (container("other", 30000),)}, [(FAIL, "SGL020")]),
        (run("-p 30000:30000/udp"), {"containers": (container("other", 30000),)}, []),
        (run("-p 30000:30000"), {"containers": (container("other", state="exited"),)}, []),
        (run("-p 30000:30000"), {"listening": {30000: "nginx"}}, [(FAIL, "SGL021")]),
        (run("-p 30000"), {"listening": {30000: "nginx"}}, []),
        (run("-p 30000:30000 -p 30000:30001"), {}, [(FAIL, "SGL020")]),
        (run("-p 30000:30000 -p 30000:30000"), {}, [(FAIL, "SGL020")]),
        (run("-p 30000:30000 -p 127.0.0.1:30000:30000"), {"docker": None}, [(FAIL, "SGL020")]),
        (run("-p 30000-30002:30000-30002 -p 30001:8000"), {}, [(FAIL, "SGL020")]),
        (run("-p 127.0.0.1:30000:30000 -p 127.0.0.2:30000:30000"), {}, []),
        (run("-p 30000:30000 -p 30000:30000/udp -p 30001:30000"), {}, []),
        (run("-p 30000:30000"), {"docker": None}, [(SKIPPED, None)]),
        (run("--network host"), {"listening": {30000: "nginx"}}, [(FAIL, "SGL022")]),
        (run("--network host", "--port 8000"), {"listening": {30000: "nginx"}}, []),
        (f"{ENGINE} --port 8000", {"listening": {8000: ""}}, [(FAIL, "SGL022")]),
        ("docker rm -f llm && " + run("--name llm -p 30000:30000"), {"containers": (container("llm", 30000),)}, []),
        (
            run("--name llm -p 30000:30000"),
            {"containers": (container("llm", 30000),), "listening": {30000: "docker-proxy"}},
            [(FAIL, "SGL020")],
        ),
    ],
)
def test_ports(text: str, facts: dict[str, object], expected: list[object], tmp_path: Path) -> None:
    assert troubles(shell(text, tmp_path, host(**facts)), "launch-port") == expected


def test_ports_and_names_of_the_same_service(tmp_path: Path) -> None:
    text = f"""services:
  llm:
    image: lmsysorg/sglang:latest
    container_name: own
    ports: ["30000:30000"]
    command: {ENGINE}
"""
    path = str(tmp_path / "compose.yaml")
    own = container("own", 30000, service="llm", **{"project.config_files": path})
    copied = container("own", 30000, service="llm", **{"project.config_files": "/elsewhere/compose.yaml"})
    listening = {30000: "docker-proxy"}

    assert (
        troubles(compose(text, tmp_path, host(containers=(own,), listening=listening)), "launch-port", "launch-name")
        == []
    )
    assert troubles(compose(text, tmp_path, host(containers=(copied,))), "launch-port", "launch-name") == [
        ("fail", "SGL024"),
        ("fail", "SGL020"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (run("--name llm"), [(FAIL, "SGL024")]),
        (run("--name llm2"), []),
        (run(), []),
        ("docker rm -f llm && " + run("--name llm"), []),
        ("docker stop llm; docker rm llm 2>/dev/null; " + run("--name llm"), []),
        ("docker rm -f llm2 && " + run("--name llm"), [(FAIL, "SGL024")]),
    ],
)
def test_names(text: str, expected: list[object], tmp_path: Path) -> None:
    facts = host(containers=(container("llm", state="exited"),))

    assert troubles(shell(text, tmp_path, facts), "launch-name") == expected


@pytest.mark.parametrize(
    ("options", "engine", "expected"),
    [
        ("--restart on-failure", ENGINE, [(WARN, "SGL045")]),
        ("--restart on-failure:3", ENGINE, [(WARN, "SGL045")]),
        ("--restart on-failure --init", ENGINE, []),
        ("--restart unless-stopped", ENGINE, []),
        ("--restart on-failure", f"bash -c '{ENGINE}'", []),
        ("", ENGINE, []),
    ],
)
def test_restarts(options: str, engine: str, expected: list[object], tmp_path: Path) -> None:
    assert troubles(shell(run(options, engine=engine), tmp_path), "launch-restart") == expected


@pytest.mark.parametrize(
    ("env", "flags", "expected"),
    [
        ("", "", []),
        ("-e HTTP_PROXY=http://10.0.0.1:3128", "", [(FAIL, "SGL801")]),
        ("-e https_proxy=http://10.0.0.1:3128", "", []),
        ("-e http_proxy=http://p:1 -e no_proxy=localhost,127.0.0.1", "", []),
        ("-e http_proxy=http://p:1 -e no_proxy=localhost,127.0.0.1", "--host 0.0.0.0", [(WARN, "SGL801")]),
        ("-e http_proxy=http://p:1 -e NO_PROXY=localhost,127.0.0.1,0.0.0.0", "--host 0.0.0.0", []),
        ("-e http_proxy=http://p:1 -e NO_PROXY=*", "--host 0.0.0.0", []),
        ("-e http_proxy=http://p:1 -e NO_PROXY=127.0.0.0/8", "", []),
        ("-e http_proxy=http://p:1 -e NO_PROXY=example.org", "", [(FAIL, "SGL801")]),
        ("-e http_proxy=http://p:1", "--skip-server-warmup", []),
        ("-e all_proxy=socks://p:1 -e no_proxy=127.0.0.1", "", [(WARN, "SGL802")]),
        ("-e http_proxy=http://p:1 -e no_proxy=127.0.0.1,[::1]", "", [(WARN, "SGL802")]),
    ],
)
def test_proxies(env: str, flags: str, expected: list[object], tmp_path: Path) -> None:
    assert troubles(shell(run(env, flags), tmp_path), "launch-proxy") == expected


def test_passwords_of_proxies_are_not_shown(tmp_path: Path) -> None:
    [finding] = found(shell(run("-e http_proxy=http://me:secret@p:1"), tmp_path), "launch-proxy")
    shown = "".join([finding.evidence, *finding.title, *(finding.detail or ()), *map(str, finding.changes)])

    assert "secret" not in shown
    assert finding.changes[0] == Change("env.set", "no_proxy", "127.0.0.1,localhost,0.0.0.0")


@pytest.mark.parametrize(
    ("options", "flags", "expected"),
    [
        ("-p 30000:30000", "--host 0.0.0.0", []),
        ("-p 30000:30000", "", [(FAIL, None)]),
        ("-p 30000:30000", "--host localhost", [(FAIL, None)]),
        ("-p 8000:8000", "--host 0.0.0.0", [(FAIL, None)]),
        ("-p 8000:8000", "--host 0.0.0.0 --port 8000", []),
        ("-p 8000:8000", "", [(FAIL, None), (FAIL, None)]),
        ("--network host -p 30000:30000", "", []),
        ("", "", []),
    ],
)
def test_way_to_the_engine(options: str, flags: str, expected: list[object], tmp_path: Path) -> None:
    assert troubles(shell(run(options, flags), tmp_path), "launch-reachable") == expected


@pytest.mark.parametrize(
    ("options", "flags", "expected"),
    [
        ("-p 30000:30000", "--host 0.0.0.0", [(WARN, None)]),
        ("-p 127.0.0.1:30000:30000", "--host 0.0.0.0", []),
        ("-p 30000:30000", "--host 0.0.0.0 --api-key not-shown", []),
        ("-p 30000:30000", "", []),
        ("", "--host 0.0.0.0", []),
        ("--network host", "--host 0.0.0.0", [(WARN, None)]),
    ],
)
def test_open_to_the_network(options: str, flags: str, expected: list[object], tmp_path: Path) -> None:
    situation = shell(run(options, flags), tmp_path)

    assert troubles(situation, "launch-exposed") == expected
    assert not any("not-shown" in str(finding) for finding in found(situation, "launch-exposed"))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("-v H/models:/models:ro", []),
        ("-v H/nowhere:/data:ro", [(WARN, "SGL027")]),
        ("-v H/nowhere:/models:ro", []),
        ("-v H/cache:/root/.cache/huggingface", []),
        ("-v H/absent.jinja:/template.jinja", [(FAIL, "SGL029")]),
        ("-v H/models:/template.jinja", [(FAIL, "SGL029")]),
        ("-v H/file:/models", [(FAIL, "SGL029")]),
        ("-v H/file:/template.jinja:ro", []),
        ("-v named:/models", []),
        ("-v $UNKNOWN/x:/x", [(SKIPPED, None)]),
        ("-v $(pwd)/models:/models -v $PWD/file:/a.json", []),
    ],
)
def test_mounts(options: str, expected: list[object], tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "file").touch()
    situation = shell(run(options.replace("H/", f"{tmp_path}/")), tmp_path)

    assert troubles(situation, "launch-mounts") == expected


def test_mounts_of_another_machine_and_from_a_container(tmp_path: Path) -> None:
    text = run("-v /nowhere/at/all:/models -v /nowhere/too:/x.json")

    assert troubles(shell(text, tmp_path, host(remote=True)), "launch-mounts") == [(SKIPPED, None)]
    assert troubles(shell(text, tmp_path, host(contained=True)), "launch-mounts") == [(SKIPPED, None)]
    assert troubles(shell(text, tmp_path, host(simulated=True)), "launch-mounts") == [(SKIPPED, None)]


@pytest.mark.parametrize(
    ("root", "facts", "expected"),
    [
        ("nowhere", {"contained": True}, [(SKIPPED, None)]),
        ("nowhere", {"simulated": True}, [(SKIPPED, None)]),
        ("nowhere", {}, [(FAIL, "SGL307")]),
        # Of a folder that is here it is known what lies in it.
        ("here", {"contained": True}, [(FAIL, "SGL307")]),
    ],
)
def test_a_model_is_as_far_out_of_sight_as_its_mount(
    root: str, facts: dict[str, bool], expected: list[object], tmp_path: Path
) -> None:
    (tmp_path / "here").mkdir()
    situation = shell(run(f"-v {tmp_path}/{root}:/models", "--model-path /models/m"), tmp_path, host(**facts))

    assert troubles(situation, "model-path") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (run("-v H/launch.py:/launch.py", engine="python3 /launch.py --model-path /m"), []),
        (run(engine="python3 /launch.py --model-path /m"), [(FAIL, "SGL144")]),
        (run("-v H/absent.py:/launch.py", engine="python3 /launch.py --model-path /m"), [(FAIL, "SGL145")]),
        (run("-v H/scripts:/scripts", engine="python3 /scripts/launch.py --model-path /m"), [(FAIL, "SGL145")]),
        (run(engine="python3 /sgl-workspace/launch.py --model-path /m"), [(SKIPPED, None)]),
        (run("-v scripts:/scripts", engine="python3 /scripts/launch.py --model-path /m"), [(SKIPPED, None)]),
        (run(engine="python3 launch.py --model-path /m"), [(SKIPPED, None)]),
        ("docker run --gpus all my/sglang python3 /launch.py --model-path /m", [(WARN, "SGL144")]),
        ("python3 launch.py --model-path /m", []),
        ("python3 launch_other.py --model-path /m", [(FAIL, "SGL144")]),
        (run(), []),
    ],
)
def test_launch_scripts(text: str, expected: list[object], tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text("import sglang\n", encoding="utf-8")
    (tmp_path / "scripts").mkdir()
    situation = shell(text.replace("H/", f"{tmp_path}/"), tmp_path)

    assert troubles(situation, "launch-script") == expected


HUB = "python3 -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct"


@pytest.mark.parametrize(
    ("options", "engine", "expected"),
    [
        ("", HUB, [(WARN, None)]),
        ("-e SGLANG_USE_MODELSCOPE=1", HUB, []),
        ("-v H:/root/.cache/huggingface", HUB, []),
        ("-v H:/root/.cache/huggingface:ro", HUB, [(FAIL, "SGL037")]),
        ("-v H:/models:ro -e HF_HOME=/models/hf", HUB, [(FAIL, "SGL037")]),
        ("-v H:/models:ro -e TRITON_CACHE_DIR=/models/triton", ENGINE, [(FAIL, "SGL526")]),
        ("-v H:/root/.triton:ro", ENGINE, [(WARN, "SGL526")]),
        ("-v H:/models:ro", ENGINE, []),
    ],
)
def test_caches(options: str, engine: str, expected: list[object], tmp_path: Path) -> None:
    situation = shell(run(options.replace("H:", f"{tmp_path}:"), engine=engine), tmp_path)

    assert troubles(situation, "launch-caches") == expected


@pytest.mark.parametrize(
    ("options", "facts", "mount"),
    [
        ("", {}, "H/.cache/huggingface:/root/.cache/huggingface"),
        ("-e HF_HUB_CACHE=/data", {}, "H/.cache/huggingface/hub:/data"),
        ("", {"simulated": True}, ""),
        ("", {"remote": True}, ""),
    ],
)
def test_a_download_that_no_mount_keeps(
    options: str, facts: dict[str, bool], mount: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    about = shell(run(options, engine=HUB), tmp_path, host(**facts))
    (told,) = [one for one in found(about, "launch-caches") if one.status is Status.WARN]

    assert "lost with it" in told.title.en
    assert mount.replace("H/", f"{tmp_path}/") == "".join(change.value or "" for change in told.changes)
    assert bool(mount) != bool(told.detail)


@pytest.mark.parametrize(
    ("options", "engine", "expected"),
    [
        ("", HUB, [(FAIL, "SGL310")]),
        ("-e HF_TOKEN=hf_not_shown", HUB, []),
        ("-e HF_TOKEN", HUB, []),
        ("-e HF_TOKEN=", HUB, [(WARN, "SGL310")]),
        ("-v H:/root/.cache/huggingface", HUB, []),
        ("", HUB.replace("meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-8B"), []),
        ("", ENGINE, []),
    ],
)
def test_tokens(options: str, engine: str, expected: list[object], tmp_path: Path) -> None:
    (tmp_path / "token").write_text("hf_not_shown", encoding="utf-8")
    situation = shell(run(options.replace("H:", f"{tmp_path}:"), engine=engine), tmp_path)

    assert troubles(situation, "launch-token") == expected
    # Nobody but its owner can fill it in: a plan that was written with a placeholder would fail.
    changes = [change for one in found(situation, "launch-token") for change in one.changes]
    assert bool(changes) == (expected == [(FAIL, "SGL310")])
    assert all(change.kind in SHOWN_ONLY for change in changes)
    assert not any("hf_not_shown" in str(finding) for finding in found(situation, "launch-token"))


@pytest.mark.parametrize(
    ("options", "facts", "expected"),
    [
        ("-v H/empty:/root/.cache/huggingface", {}, [(FAIL, "SGL310")]),
        ("-v H/empty:/root/.cache/huggingface", {"simulated": True}, [(SKIPPED, None)]),
        ("-v H/empty:/root/.cache/huggingface", {"contained": True}, [(SKIPPED, None)]),
        ("", {"simulated": True}, [(FAIL, "SGL310")]),
    ],
)
def test_a_token_that_may_lie_where_nobody_looked(
    options: str, facts: dict[str, bool], expected: list[object], tmp_path: Path
) -> None:
    situation = shell(run(options.replace("H/", f"{tmp_path}/"), engine=HUB), tmp_path, host(**facts))

    assert troubles(situation, "launch-token") == expected


def with_health(lines: str, tmp_path: Path) -> Situation:
    (tmp_path / "m").mkdir(exist_ok=True)
    (tmp_path / "m" / "config.json").write_text('{"model_type": "qwen3_5_moe", "num_experts": 200}', encoding="utf-8")
    with (tmp_path / "m" / "model.gguf").open("wb") as file:
        file.truncate(20 << 30)
    text = f"""services:
  llm:
    image: lmsysorg/sglang:latest
    command: {ENGINE}
    healthcheck:
{lines}
"""
    return compose(text, tmp_path, model=read_folder("/models/m", tmp_path / "m"))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("      test: curl -f http://localhost:30000/health\n      start_period: 5m", []),
        (
            "      test: curl -f http://localhost:30000/health\n      start_period: 10s\n      interval: 5s",
            [(WARN, None)],
        ),
        ('      test: ["CMD", "curl", "http://localhost:8000/health"]\n      start_period: 5m', [(WARN, None)]),
        ("      test: curl http://127.0.0.1:30000/health_generate\n      start_period: 5m", [(WARN, "SGL703")]),
        ("      disable: true", None),
    ],
)
def test_health_checks(lines: str, expected: list[object] | None, tmp_path: Path) -> None:
    says = found(with_health(lines, tmp_path), "launch-health")

    assert [one for one in brief(says) if one[0] != "pass"] == (expected or [])
    assert bool(says) is (expected is not None)


def test_health_checks_of_docker_run_and_of_images(tmp_path: Path) -> None:
    asked = shell(
        run("--health-cmd 'curl http://localhost:9/health' --health-interval 1m30s --health-retries 2"), tmp_path
    )
    of_image = {"Config": {"Healthcheck": {"Test": ["CMD-SHELL", "curl http://localhost:9"], "Interval": 10**9}}}
    inherited = shell(run(), tmp_path, image=image(config=of_image))
    refused = shell(run("--no-healthcheck"), tmp_path, image=image(config=of_image))

    assert [one.title.en for one in found(asked, "launch-health")] == [
        "it asks port 9, but the engine listens on 30000"
    ]
    assert troubles(inherited, "launch-health") == [(WARN, None)]
    assert found(refused, "launch-health") == []


def test_nothing_is_said_without_a_launch() -> None:
    assert found(Situation(host())) == []


def all_of(finding: Finding) -> list[str]:
    return [*finding.title, *(finding.detail or ()), *(finding.where or ())]


def test_everything_is_said_in_both_languages(tmp_path: Path) -> None:
    text = run(
        "-v /absent:/absent:ro -p 30000:30000 -e http_proxy=http://p:1 --restart on-failure --name llm", "--tp 4"
    )
    says = found(shell(text, tmp_path, host(containers=(container("llm", 30000),))))

    assert len([finding for finding in says if finding.status is not Status.PASS]) >= 6
    assert all(all(all_of(finding)) for finding in says)
