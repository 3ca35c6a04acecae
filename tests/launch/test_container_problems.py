"""What is wrong with a launch in a container, whatever it was read from."""

import pytest

from sgdoctor.launch.change import Change
from sgdoctor.launch.container_problems import container_problems, given_gpus
from sgdoctor.launch.model import Gpus, Launch, Origin

ARGV = ("python3", "-m", "sglang.launch_server", "--model-path", "/m")


def launch(**parts: object) -> Launch:
    whole = {"origin": Origin.COMPOSE, "argv": ARGV, "flags_at": 3, "command": ARGV, "image": "sglang:1"} | parts
    return Launch(**whole)  # type: ignore[arg-type]


def ids(of: Launch) -> list[str]:
    return [problem.id for problem in container_problems(of)]


def test_nothing_is_wrong() -> None:
    assert [] == ids(launch(gpus=Gpus(count=-1), restart="unless-stopped", shm_bytes=1 << 30))


def test_commands_outside_containers_have_none_of_these() -> None:
    assert [] == ids(launch(image=None, restart="on-failure", shm_bytes=1, ipc="host"))


@pytest.mark.parametrize(
    ("gpus", "visible", "wrong"),
    [
        (Gpus(device_ids=("1",)), "1", True),
        (Gpus(device_ids=("1",)), "0", False),
        (Gpus(device_ids=("2", "3")), "2,3", True),
        (Gpus(device_ids=("2", "3")), "0, 1", False),
        (Gpus(count=1), "0,1", True),
        (Gpus(count=-1), "1", False),
        (Gpus(runtime="nvidia", count=-1, from_env=True), "1", False),
        (Gpus(runtime="nvidia", device_ids=("1",), from_env=True), "1", True),
        (Gpus(device_ids=("1",)), "GPU-3a5b", False),
        (Gpus(device_ids=("1",)), "", False),
        (Gpus(), "1", False),
    ],
)
def test_gpus_are_numbered_anew_inside(gpus: Gpus, visible: str, wrong: bool) -> None:
    found = container_problems(launch(gpus=gpus, env={"CUDA_VISIBLE_DEVICES": visible}))

    assert (["gpu-numbered-twice"] if wrong else []) == [problem.id for problem in found]
    assert all((Change("env.unset", "CUDA_VISIBLE_DEVICES"),) == problem.changes for problem in found)


@pytest.mark.parametrize(
    ("gpus", "wrong"),
    [
        (Gpus(device_ids=("0",)), True),
        (Gpus(count=-1, runtime="nvidia"), True),
        (Gpus(device_ids=("1",), runtime="nvidia", from_env=True), False),
        (Gpus(runtime="nvidia"), False),
        (Gpus(), False),
    ],
)
def test_two_voices_on_gpus(gpus: Gpus, wrong: bool) -> None:
    assert (["gpus-asked-for-twice"] if wrong else []) == ids(launch(gpus=gpus, env={"NVIDIA_VISIBLE_DEVICES": "1"}))


def test_none_is_no_first_gpu() -> None:
    assert ["gpu-count-zero"] == ids(launch(gpus=Gpus(count=0)))
    assert given_gpus(launch(gpus=Gpus(count=0))) is None


@pytest.mark.parametrize(
    ("parts", "wrong"),
    [
        ({}, True),
        ({"restart": "on-failure"}, True),
        ({"init": True}, False),
        ({"restart": "always"}, False),
        ({"command": ("bash", "-c", "sglang serve | tee log")}, False),
        ({"argv": (), "command": ("/start.sh",)}, False),
    ],
)
def test_restart_after_a_failure_that_looks_like_none(parts: dict[str, object], wrong: bool) -> None:
    assert (["restart-after-exit-0"] if wrong else []) == ids(launch(**({"restart": "on-failure:3"} | parts)))


def test_line_breaks_among_the_arguments() -> None:
    [problem] = container_problems(launch(command=(*ARGV[:3], "\n", *ARGV[3:], " \n")))

    assert "newline-argument" == problem.id
    assert "fatal" == problem.severity
    assert "2 of the command's words are bare line breaks" == problem.title.en
    [one] = container_problems(launch(command=(*ARGV, "\n")))
    assert "1 of the command's words is a bare line break" == one.title.en
    assert problem.where is not None
    assert "word 4 of the command" == problem.where.en


def test_an_empty_argument_is_no_line_break() -> None:
    assert [] == ids(launch(command=(*ARGV, "--chat-template", "")))


@pytest.mark.parametrize(
    ("origin", "image", "entrypoint", "found"),
    [
        (Origin.COMPOSE, "lmsysorg/sglang:latest", (), True),
        (Origin.COMPOSE, "lmsysorg/sglang:latest", ("my-server",), False),
        (Origin.COMPOSE, "some/engine:1", (), False),
        (Origin.CONTAINER, "some/engine:1", (), True),
        (Origin.CONTAINER, "lmsysorg/sglang:latest", ("/opt/nvidia/nvidia_entrypoint.sh",), True),
    ],
)
def test_flags_may_be_for_the_entrypoint(origin: Origin, image: str, entrypoint: tuple[str, ...], found: bool) -> None:
    command = (*entrypoint, "--model-path", "/m")
    of = launch(argv=(), command=command, entrypoint=len(entrypoint), origin=origin, image=image)

    assert found == ("flags-without-engine" in ids(of))


def test_every_problem_speaks_both_languages() -> None:
    worst = launch(
        argv=(),
        command=("--model-path", "\n"),
        gpus=Gpus(count=0),
        env={"NVIDIA_VISIBLE_DEVICES": "1"},
        shm_bytes=1,
        ipc="host",
    )

    found = container_problems(worst)

    assert ["newline-argument", "flags-without-engine", "gpu-count-zero", "shm-size-without-effect"] == [
        problem.id for problem in found
    ]
    for problem in found:
        for text in (problem.title, problem.where, problem.detail):
            assert text is None or any("\u4e00" <= char <= "\u9fff" for char in text.zh) or text.zh == "--gpus"
