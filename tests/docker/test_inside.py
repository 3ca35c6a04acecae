"""A command inside a container, and the names that GPU processes get from the engine."""

import time
from collections.abc import Callable

import pytest

from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.inside import run_inside
from sgdoctor.gpu.model import Gpu, GpuProcess, GpuReading
from sgdoctor.watching import activity
from sgdoctor.watching.cards import _Named
from tests.docker.dockerd import PrivateDockerd


class Cards:
    """A stand-in source: one card with one process of a container, named as soon as the name is known."""

    def __init__(self, container: str, names: dict[str, str]) -> None:
        self._container = container
        self._names = names

    def read(self) -> GpuReading:
        process = GpuProcess(1, "python3", 100.0, self._container, self._names.get(self._container, ""))
        card = Gpu(0, "GPU-0", "card", 86, 24576.0, 100.0, 24476.0, 0, 30, None, None, (process,))
        return GpuReading(0.0, (card,), "stand-in")

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def running(docker_client: object, busybox_image: str) -> Callable[[], str]:
    def run() -> str:
        container = docker_client.containers.run(busybox_image, ["sleep", "60"], detach=True, name="sgl-named")  # type: ignore[attr-defined]
        return str(container.id)

    return run


def test_a_command_inside(docker_host: PrivateDockerd, running: Callable[[], str]) -> None:
    container = running()

    assert run_inside(Endpoint(docker_host.url), container, ["echo", "hello"]) == "hello\n"
    assert "no-such-program" in run_inside(Endpoint(docker_host.url), container, ["no-such-program"])


def test_processes_get_the_names_of_their_containers(docker_host: PrivateDockerd, running: Callable[[], str]) -> None:
    container = running()
    names: dict[str, str] = {}
    source = _Named(Cards(container, names), Endpoint(docker_host.url), names)

    first, second = source.read(), source.read()

    assert [reading.gpus[0].processes[0].container_name for reading in (first, second)] == ["", "sgl-named"]


class Heard:
    """Takes the place of a session that is told of activity."""

    def __init__(self) -> None:
        self.times = 0

    def note_activity(self) -> None:
        self.times += 1


@pytest.mark.parametrize(("command", "busy"), [(["sleep", "60"], False), (["sh", "-c", "while :; do :; done"], True)])
def test_a_container_that_computes_is_not_silent(
    docker_host: PrivateDockerd,
    docker_client: object,
    busybox_image: str,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    busy: bool,
) -> None:
    monkeypatch.setattr(activity, "_CPU_EVERY_SECONDS", 0.2)
    monkeypatch.setattr(activity, "_CPU_BUSY_SHARE", 0.05)
    container = docker_client.containers.run(busybox_image, command, detach=True)  # type: ignore[attr-defined]
    heard = Heard()
    source = activity.Attentive(Cards("", {}), heard, lambda: container.id, Endpoint(docker_host.url))  # type: ignore[arg-type]

    for _ in range(4):
        source.read()
        time.sleep(0.4)

    assert busy == (heard.times > 0)
