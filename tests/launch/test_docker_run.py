"""docker run commands: what they say, what is wrong with them, and edits that leave the rest alone."""

import shlex

import pytest

from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.docker_options import read_options, run_at
from sgdoctor.launch.docker_run import DockerRun, read_docker_run, read_shell
from sgdoctor.launch.engine_command import EngineCommand
from sgdoctor.launch.model import EditState, Gpus, Mount, Origin, Port
from tests.launch.tables import FLAGS

ENGINE = "lmsysorg/sglang:v0.5.15 sglang serve --model-path /m"
FOLDED = """docker run -d \\
    --gpus all \\
    --ipc=host \\
    lmsysorg/sglang:latest \\
    sglang serve \\
        --model-path /m \\
        --port 30000
"""


def run(options: str, rest: str = ENGINE) -> DockerRun:
    return read_docker_run(f"docker run {options} {rest}")


def after(document: DockerRun, *changes: Change) -> str:
    edited = document.edited(changes, FLAGS)
    assert () == edited.left
    return edited.text


def left(document: DockerRun, change: Change) -> str:
    edited = document.edited([change], FLAGS)
    assert document.text == edited.text
    [(same, why)] = edited.left
    assert change == same
    assert why.zh
    return why.en


@pytest.mark.parametrize(
    ("command", "behind"),
    [
        ("docker run -d x", "-d x"),
        ("sudo -E -u root docker container run x", "x"),
        ("docker -H tcp://h:1 --tls --context=a run x", "x"),
        ("/usr/bin/podman --remote run x", "x"),
        ("env A=1 nvidia-docker run x", "x"),
    ],
)
def test_a_docker_run_is_found(command: str, behind: str) -> None:
    words = command.split()

    at = run_at(words)

    assert at is not None
    assert behind.split() == words[at:]


@pytest.mark.parametrize(
    "command", ["docker compose run x", "docker ps", "echo docker run x", "ssh h docker run x", ""]
)
def test_something_else_is_no_docker_run(command: str) -> None:
    assert run_at(command.split()) is None


@pytest.mark.parametrize(
    ("words", "options", "image"),
    [
        ("-d --name a x", [("--detach", None), ("--name", "a")], "x"),
        ("--name=a --rm=false x", [("--name", "a"), ("--rm", "false")], "x"),
        ("-itdp 1:2 x", [("--interactive", None), ("--tty", None), ("--detach", None), ("--publish", "1:2")], "x"),
        ("-p1:2 -eA=b -e=C x", [("--publish", "1:2"), ("--env", "A=b"), ("--env", "C")], "x"),
        ("--net host -- x", [("--network", "host")], "x"),
        ("--new-thing v x", [("--new-thing", "v")], "x"),
        ("$GPU_ARGS --rm x", [("$GPU_ARGS", None), ("--rm", None)], "x"),
        ("-d --name", [("--detach", None), ("--name", None)], None),
    ],
)
def test_options_are_read_up_to_the_image(words: str, options: list[tuple[str, str | None]], image: str | None) -> None:
    read = read_options(words.split(), 0)

    assert options == [(option.name, option.value) for option in read.given]
    assert image == (None if read.image is None else words.split()[read.image])


@pytest.mark.parametrize(
    ("options", "gpus"),
    [
        ("", Gpus()),
        ("--gpus all", Gpus(count=-1)),
        ("--gpus=2", Gpus(count=2)),
        ("--gpus count=2,driver=nvidia", Gpus(count=2)),
        ("--gpus device=1", Gpus(("1",))),
        ("--gpus '\"device=0,1\"'", Gpus(("0", "1"))),
        ("--gpus device=0,1", Gpus(("0", "1"))),
        ("--gpus 'device=GPU-1a,\"capabilities=compute,utility\"'", Gpus(("GPU-1a",))),
        ("--runtime nvidia", Gpus(runtime="nvidia")),
        ("--runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=0,2", Gpus(("0", "2"), runtime="nvidia", from_env=True)),
        ("--runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=all", Gpus(count=-1, runtime="nvidia", from_env=True)),
        ("--device nvidia.com/gpu=1", Gpus(("1",), driver="cdi")),
    ],
)
def test_every_way_to_ask_for_gpus(options: str, gpus: Gpus) -> None:
    assert gpus == run(options).launch.gpus


def test_ports_mounts_and_variables() -> None:
    launch = run(
        "-p 127.0.0.1:8000:30000 -p 9000-9001:9000-9001 -v ~/m:/m:ro -v cache:/c --mount type=bind,src=/a,dst=/b,readonly "
        "--tmpfs /t:size=1g -e A=1 -e B -e 'C=d e' -e A=2 --entrypoint '' --init"
    ).launch

    assert (Port(30000, 8000, "127.0.0.1"), Port(9000, 9000), Port(9001, 9001)) == launch.ports
    assert (
        Mount("/m", "~/m", "bind", read_only=True),
        Mount("/c", "cache", "volume"),
        Mount("/b", "/a", "bind", read_only=True),
        Mount("/t", None, "tmpfs"),
    ) == launch.mounts
    assert {"A": "2", "B": None, "C": "d e"} == launch.env
    assert launch.init
    assert 0 == launch.entrypoint


def test_an_entrypoint_stands_before_the_command() -> None:
    launch = run("--entrypoint sglang", "image serve --model-path /m").launch

    assert ("sglang", "serve", "--model-path", "/m") == launch.command == launch.argv
    assert (1, 2) == (launch.entrypoint, launch.flags_at)


@pytest.mark.parametrize(
    ("options", "change", "expected"),
    [
        ("--shm-size 1g", Change("docker.shm_size", value="32g"), "--shm-size 32g"),
        ("--shm-size=1g -d", Change("docker.shm_size", value="32g"), "--shm-size=32g -d"),
        ("-d", Change("docker.shm_size", value="32g"), "-d --shm-size 32g"),
        ("--ipc private --ipc host", Change("docker.ipc", value="shareable"), "--ipc private --ipc shareable"),
        ("--ipc host -d", Change("docker.ipc"), "-d"),
        ("-m 1g", Change("docker.memory", value="64g"), "-m 64g"),
        ("-m1g", Change("docker.memory", value="64g"), "-m64g"),
        ("-dm1g", Change("docker.memory"), "-d"),
        ("-dm 1g", Change("docker.memory"), "-d"),
        ("-m1g -d", Change("docker.memory"), "-d"),
        ("--name 'a'", Change("docker.name", value="b"), "--name 'b'"),
        ("-u root", Change("docker.user", value="1000:1000"), "-u 1000:1000"),
        ("--restart always", Change("docker.restart", value="on-failure:3"), "--restart on-failure:3"),
        ("-d --restart always", Change("docker.restart", value="no"), "-d"),
        ("--rm --restart always", Change("docker.restart", value="no"), "--rm"),
        ("--gpus device=0", Change("docker.gpus", value="all"), "--gpus all"),
        ("--gpus device=0", Change("docker.gpus", value='"device=0,1"'), "--gpus '\"device=0,1\"'"),
        ("--gpus 'all,\"capabilities=a,b\"'", Change("docker.gpus", value="device=1"),
         "--gpus 'device=1,\"capabilities=a,b\"'"),
        ("--gpus 'all,capabilities=utility'", Change("docker.gpus", value="device=1"),
         "--gpus 'device=1,capabilities=utility'"),
        ("-d", Change("docker.gpus", value="all"), "-d --gpus all"),
        ("--runtime nvidia -e NVIDIA_VISIBLE_DEVICES=0", Change("docker.gpus", value="device=1"),
         "--runtime nvidia -e NVIDIA_VISIBLE_DEVICES=1"),
        ("--runtime nvidia", Change("docker.gpus", value="all"), "--runtime nvidia -e NVIDIA_VISIBLE_DEVICES=all"),
        ("--runtime runc", Change("docker.runtime", value="nvidia"), "--runtime nvidia"),
        ("-p 1:30000 -p 2:80", Change("docker.port", value="8000:30000"), "-p 8000:30000 -p 2:80"),
        ("-p 2:80", Change("docker.port", value="8000:30000"), "-p 2:80 -p 8000:30000"),
        ("-v /a:/m -v /b:/n", Change("docker.volume", value="/c:/m:ro"), "-v /c:/m:ro -v /b:/n"),
        ("--mount type=bind,source=/a,target=/m -d", Change("docker.volume", value="/c:/m"), "-v /c:/m -d"),
        ("-d", Change("docker.volume", value="$(pwd)/a:/m"), '-d -v "$(pwd)"/a:/m'),
        ("-d", Change("docker.volume", value="~/.cache/x:/m"), "-d -v ~/.cache/x:/m"),
        ("-d", Change("docker.volume", value="$(reboot):/m"), "-d -v '$(reboot):/m'"),
        ("-d", Change("file.mount", "/m/config.json", "/h/config.json"), "-d -v /h/config.json:/m/config.json:ro"),
        ("-v ./l.py:/l.py", Change("file.mount", "/l.py", "./new.py"), "-v ./new.py:/l.py:ro"),
        ("--ulimit memlock=1 --ulimit stack=2", Change("docker.ulimit", "memlock", "-1"),
         "--ulimit memlock=-1 --ulimit stack=2"),
        ("-d", Change("docker.ulimit", "nofile", "65535:65535"), "-d --ulimit nofile=65535:65535"),
        ("-e A=1 -e B=2", Change("env.set", "A", "x y"), "-e A='x y' -e B=2"),
        ('-e "A=1"', Change("env.set", "A", "x y"), '-e "A=x y"'),
        ("--env=A=1", Change("env.set", "A", "2"), "--env=A=2"),
        ("-e A", Change("env.set", "A", "2"), "-e A=2"),
        ("-d", Change("env.set", "A", "`id`"), "-d -e 'A=`id`'"),
        ("-e A=1 -d -eA=2", Change("env.unset", "A"), "-d"),
    ],
)  # fmt: skip
def test_options_are_edited_in_place(options: str, change: Change, expected: str) -> None:
    result = after(run(options), change)

    assert f"docker run {expected} {ENGINE}" == result
    assert result == after(read_docker_run(result), change)


def test_new_options_and_flags_are_laid_out_like_the_others() -> None:
    result = after(
        read_docker_run(FOLDED),
        Change("flag.set", "--dtype", "bfloat16"),
        Change("env.set", "HF_HUB_OFFLINE", "1"),
        Change("docker.volume", value="/a:/b"),
        Change("flag.set", "--trust-remote-code"),
    )

    assert (
        FOLDED.replace("    lmsys", "    -e HF_HUB_OFFLINE=1 \\\n    -v /a:/b \\\n    lmsys").replace(
            "30000\n", "30000 \\\n        --dtype bfloat16 \\\n        --trust-remote-code\n"
        )
        == result
    )


def test_a_line_goes_with_its_option() -> None:
    result = after(read_docker_run(FOLDED), Change("docker.ipc"), Change("flag.unset", "--model-path"))

    assert FOLDED.replace("    --ipc=host \\\n", "").replace("        --model-path /m \\\n", "") == result


@pytest.mark.parametrize(
    ("image", "value", "expected"),
    [
        ("lmsysorg/sglang:latest", "v0.5.20", "lmsysorg/sglang:v0.5.20"),
        ("r:5000/sglang", "v1", "r:5000/sglang:v1"),
        ("'a/sglang@sha256:0'", "v1", "'a/sglang:v1'"),
        ("lmsysorg/sglang:v0.4", "lmsysorg/sglang:latest", "lmsysorg/sglang:latest"),
    ],
)
def test_another_image(image: str, value: str, expected: str) -> None:
    text = f"docker run {image} sglang serve"

    assert f"docker run {expected} sglang serve" == after(read_docker_run(text), Change("image.tag", value=value))


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("sglang --model-path /m", "sglang python3 -m sglang.launch_server --model-path /m"),
        ("sglang", "sglang python3 -m sglang.launch_server"),
        ("sglang python3 /launch.py --a", "sglang python3 -m sglang.launch_server --a"),
    ],
)
def test_a_program_for_the_flags(rest: str, expected: str) -> None:
    change = Change("docker.command", value="python3 -m sglang.launch_server")

    assert f"docker run -d {expected}" == after(run("-d", rest), change)


@pytest.mark.parametrize(
    ("options", "change", "why"),
    [
        ("--ipc host", Change("docker.shm_size", value="32g"), "/dev/shm"),
        ("--net=host", Change("docker.port", value="1:2"), "the host's network"),
        ("--rm", Change("docker.restart", value="always"), "--rm removes"),
        ("--device nvidia.com/gpu=0", Change("docker.gpus", value="all"), "given by --device"),
        ("-d", Change("file.mount", "config.json", "/x"), "absolute path"),
        ("-d", Change("wait"), "no place for it"),
        ("-d", Change("host.command", value="reboot"), "no place for it"),
        ("-d", Change("flag.raise", "--mem-fraction-static"), "how far"),
    ],
)
def test_what_has_no_place_is_left(options: str, change: Change, why: str) -> None:
    assert why in left(run(options), change)


def test_a_command_that_is_out_of_sight_is_left() -> None:
    document = run("-d", "sglang bash /start.sh")

    assert "behind a shell" in left(document, Change("docker.command", value="sglang serve"))
    assert EditState.NO is document.editable.state
    assert "docker run -d --name a sglang bash /start.sh" == after(document, Change("docker.name", value="a"))
    with pytest.raises(UserError, match=r"inside /start\.sh, .* put this in by hand: --dtype half"):
        document.edited([Change("flag.set", "--dtype", "half"), Change("docker.name", value="a")], FLAGS)


@pytest.mark.parametrize(
    "change",
    [
        Change("docker.shm_size", value="32x; reboot"),
        Change("docker.gpus", value="--privileged"),
        Change("docker.port", value="1:2 --privileged"),
        Change("docker.restart", value="sometimes"),
        Change("docker.ulimit", "memlock", "many"),
    ],
)
def test_a_value_of_another_kind_is_refused(change: Change) -> None:
    with pytest.raises(UserError):
        run("-d").edited([change], FLAGS)


def test_variables_of_the_command_itself_are_edited_there() -> None:
    document = run("-e A=0", "sglang bash -c 'export B=1; A=1 sglang serve --a'")

    result = after(document, Change("env.set", "A", "2"), Change("env.unset", "B"), Change("env.set", "C", "3"))

    assert {"A": "1", "B": "1"} == document.launch.env
    assert "docker run -e A=0 -e C=3 sglang bash -c 'unset B; A=2 sglang serve --a'" == result


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        (f"docker run --gpus device=0,1 {ENGINE}", "gpus-cut", "device=0,1"),
        (f"docker run --rm --restart always {ENGINE}", "rm-with-restart", "exclude"),
        (f"docker run --net host -p 1:2 {ENGINE}", "ports-on-host-network", "-p has no effect"),
        (f"docker run --tp 2 {ENGINE}", "docker-option-unknown", "--tp"),
        (f"docker run -x {ENGINE}", "docker-option-unknown", "-x"),
        (f"docker run --gpus 'two\nof' {ENGINE}", "docker-option-value", "names no GPUs"),
        (f"docker run -p a:b {ENGINE}", "docker-option-value", "'a:b'"),
        (f"docker run -v relative:path {ENGINE}", "docker-option-value", "relative:path"),
        ("docker run -d --name x", "image-missing", "no image"),
        (f"docker run -d Qwen/Qwen3-8B {ENGINE}", "image-malformed", "Qwen/Qwen3-8B"),
        (f"docker run {ENGINE} --shm-size 1g", "docker-option-behind-image", "--shm-size"),
        ("docker run sglang --gpus all sglang serve --a", "docker-option-behind-image", "--gpus"),
        (f"docker run --entrypoint sglang {ENGINE}", "entrypoint-swallows-command", "sglang sglang"),
        (f"docker run --entrypoint bash {ENGINE}", "entrypoint-swallows-command", "bash sglang"),
        (f"docker run --entrypoint nvidia-smi {ENGINE}", "entrypoint-swallows-command", "nvidia-smi sglang"),
        ("docker run --entrypoint 'sglang serve' sglang --a", "entrypoint-with-arguments", "one word"),
        ("docker run sglang bash -c sglang serve --a", "shell-takes-one-word", "one word"),
        ("docker run lmsysorg/sglang --model-path /m", "flags-without-engine", "--model-path"),
    ],
)
def test_what_is_wrong(text: str, name: str, words: str) -> None:
    [problem] = read_docker_run("cd /tmp\n" + text).problems

    assert name == problem.id
    assert words in problem.title.en
    assert problem.title.zh
    assert problem.where is not None
    assert name == "flags-without-engine" or problem.where.en == "line 2"


@pytest.mark.parametrize(
    "text",
    [
        f"docker run --gpus '\"device=0,1\"' -p $PORT:30000 -p 1-2:3-4 -v $X:/m {ENGINE}",
        f"docker run --entrypoint tini {ENGINE}",
        f"docker run --entrypoint /opt/nvidia/nvidia_entrypoint.sh {ENGINE}",
        "docker run --entrypoint bash sglang -c 'sglang serve --a'",
        "docker run --entrypoint python3 sglang -m sglang.launch_server --a",
        "docker run $IMAGE sglang serve --a",
        f"docker run {ENGINE} --device cuda --host 0.0.0.0",
        "docker run vllm/vllm-openai --model /m --tensor-parallel-size 2",
        "docker run localhost:5000/a/sglang@sha256:" + "0" * 64 + " sglang serve",
    ],
)
def test_what_is_right(text: str) -> None:
    assert () == read_docker_run(text).problems


def test_changes_of_problems_put_them_right() -> None:
    document = run("--gpus device=0,1 --rm --restart always", f"{ENGINE} --shm-size 1g -p 1:30000")
    changes = [change for problem in document.problems for change in problem.changes]

    result = after(document, *changes)

    assert f"docker run --gpus '\"device=0,1\"' --rm --shm-size 1g -p 1:30000 {ENGINE}" == result
    assert () == read_docker_run(result).problems


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("docker ps", "no docker run"),
        (f"docker run {ENGINE}\ndocker run {ENGINE}", "more than one docker run (lines 1, 2)"),
        (f"\nX=$(docker run {ENGINE})", "inside $(...) or a here-document (line 2)"),
        (f"cat <<E\ndocker run {ENGINE}\nE", "inside $(...) or a here-document"),
        (f"docker run -e 'A {ENGINE}", "line 1: ' is not closed"),
    ],
)
def test_what_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        read_docker_run(text, "run.sh")

    assert message in error.value.en
    assert error.value.en.startswith("run.sh: ")
    assert error.value.zh.startswith("run.sh：")


def test_new_words_stand_behind_all_others() -> None:
    text = "docker run -d > id.txt lmsysorg/sglang sglang serve --a 2>&1 --b >log"

    result = after(read_docker_run(text), Change("flag.set", "--c"), Change("env.set", "A", "1"))

    assert "docker run -d > id.txt -e A=1 lmsysorg/sglang sglang serve --a 2>&1 --b --c >log" == result


def test_of_several_containers_the_one_with_the_engine_counts() -> None:
    document = read_docker_run(f"docker run redis\ndocker run --name a {ENGINE}\ndocker run curl -s x")

    assert "a" == document.launch.name
    assert Origin.SCRIPT is document.launch.origin


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"for i in 1 2; do\n docker run --name a$i {ENGINE}\ndone", "in a loop (line 2)"),
        (f"docker run --tp 2 {ENGINE}", "no option --tp"),
        ("docker run --name x", "no image"),
    ],
)
def test_what_is_read_but_not_edited(text: str, why: str) -> None:
    document = read_docker_run(text)

    assert EditState.NO is document.editable.state
    assert text == document.edited([], FLAGS).text
    with pytest.raises(UserError) as error:
        document.edited([Change("docker.name", value="b"), Change("flag.set", "--tp", "2")], FLAGS)
    assert why in error.value.en
    assert "--tp 2" in error.value.en


def test_either_reader_is_found() -> None:
    assert isinstance(read_shell(f"docker run {ENGINE}"), DockerRun)
    assert isinstance(read_shell("sglang serve --model-path /m"), EngineCommand)
    with pytest.raises(UserError, match="x: line 1: ' is not closed"):
        read_shell("sglang '", "x")


@pytest.mark.parametrize(
    "value", ["a b", "$(id)", "`id`", "a;reboot", "'", '"', "--x", "\n", "a\\", "{a,b}", "*", "é –"]
)
def test_no_value_becomes_anything_but_itself(value: str) -> None:
    text = 'docker run -e A=1 -e "B=1" -e \'C=1\' sglang bash -c "sglang serve --d 1 --e \'1\' --f \\"1\\""'
    changes = [Change("env.set", name, value) for name in "ABCD"]
    flags = [Change("flag.set", name, value) for name in ("--d", "--e", "--f", "--g")]

    launch = read_docker_run(text).edited([*changes, *flags], FLAGS).launch

    assert dict.fromkeys("ABCD", value) == launch.env
    assert [*shlex.split("sglang serve --d"), value, "--e", value, "--f", value, "--g", value] == list(launch.argv)
