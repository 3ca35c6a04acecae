"""The stand-in for the engine behaves as the engine was measured to, in a real container."""

import json
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any, Self

import docker
import pytest
from docker.models.containers import Container

from tests.conftest import LOGS
from tests.docker.dockerd import PrivateDockerd
from tests.standin.copy_recorded import RECORDED

MODULE = ["python3", "-m", "sglang.launch_server", "--model-path", "/models/x", "--host", "0.0.0.0", "--port", "30000"]
SERVING = b'"GET /metrics HTTP/1.1" 404 Not Found\n'  # the last line of skel27-mfs-0.88 before it was stopped

Start = Callable[..., Container]


@pytest.fixture
def start(docker_client: docker.DockerClient, standin_image: str) -> Start:
    """Start a container: `start("scenario", command, STANDIN_X="...", restart_policy=...)`."""

    def starter(scenario: str, command: list[str] | None = None, **options: Any) -> Container:
        variables = {name: options.pop(name) for name in list(options) if name.startswith("STANDIN_")}
        variables["STANDIN_SCENARIO"] = scenario
        return docker_client.containers.run(
            standin_image, command or MODULE, environment=variables, detach=True, **options
        )

    return starter


def recorded(name: str) -> bytes:
    return (LOGS / "real" / f"{name}.log").read_bytes()


def until_stopped(name: str) -> bytes:
    """What a run printed before it was told to stop."""
    log = recorded(name)
    return log[: log.rindex(b"\n", 0, log.index(b"SIGTERM received.")) + 1]


def until(condition: Callable[[], bool], what: str) -> None:
    limit = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < limit, what
        time.sleep(0.02)


def printed(container: Container, text: bytes) -> None:
    until(lambda: text in container.logs(), f"{text!r} is not printed")


def exit_code(container: Container) -> int:
    return int(container.wait(timeout=30)["StatusCode"])


def state(container: Container) -> dict[str, Any]:
    container.reload()
    return dict(container.attrs["State"])


def moment(text: str) -> float:
    """Seconds since 1970 of a time of the daemon's: UTC, nanoseconds, trailing zeros left out."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    return datetime.fromisoformat(f"{whole}+00:00").timestamp() + float(f"0.{fraction or 0}")


class Web:
    """Asks a container over the daemon's bridge."""

    def __init__(self, host: PrivateDockerd, container: Container, timeout: float = 10) -> None:
        container.reload()
        with host.network():
            address = container.attrs["NetworkSettings"]["IPAddress"] or "127.0.0.1"
            self._connection = HTTPConnection(address, 30000, timeout=timeout)
            self._connection.connect()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def get(self, path: str) -> tuple[int, bytes]:
        self._connection.request("GET", path)
        return self._answer(self._connection.getresponse())

    def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        self._connection.request("POST", path, body, {"Content-Type": "application/json"})
        return self._answer(self._connection.getresponse())

    def chat(self, **request: Any) -> tuple[int, bytes]:
        hello = {"model": "default", "messages": [{"role": "user", "content": "Say hello."}]}
        return self.post("/v1/chat/completions", json.dumps(hello | request).encode())

    @staticmethod
    def _answer(response: HTTPResponse) -> tuple[int, bytes]:
        return response.status, response.read()


def answer(run: str, name: str) -> Any:
    """The body of a recorded answer."""
    return json.loads((RECORDED / "answers" / run / f"{name}.json").read_text())["body"]


def test_image_is_small_and_says_what_it_is(docker_client: docker.DockerClient, standin_image: str) -> None:
    image = docker_client.images.get(standin_image)

    assert image.labels == {"sgdoctor.standin": "1"}
    assert image.attrs["Size"] < 60_000_000


@pytest.mark.parametrize(
    "command",
    [
        ["python3", "-m", "sglang.launch_server", "--enable-moe-magic"],
        ["sglang", "serve", "--enable-moe-magic"],
        ["bash", "-lc", "exec python3 -m sglang.launch_server \\\n --enable-moe-magic"],
    ],
)
def test_argument_error(start: Start, command: list[str]) -> None:
    container = start("cli-unknown-flag", command)

    assert exit_code(container) == 2
    assert container.logs() == recorded("cli-unknown-flag")
    assert container.logs(stderr=False) == b""


def test_start_script_in_front(start: Start) -> None:
    container = start("cli-unknown-flag", ["python3", "/launch_selode.py", "--enable-moe-magic"])

    assert exit_code(container) == 2
    assert container.logs() == b"launch_selode.py: patches applied\n" + recorded("cli-unknown-flag")


def test_version_is_asked_without_a_start(start: Start) -> None:
    container = start("-", ["python3", "-c", "import sglang; print(sglang.__version__)"])

    assert exit_code(container) == 0
    assert container.logs() == b"0.5.15\n"


def test_configuration_error(start: Start) -> None:
    container = start("cfg-moe-40-layers-16-types")

    assert exit_code(container) == 1
    assert container.logs() == recorded("cfg-moe-40-layers-16-types")


@pytest.mark.parametrize(("is_first", "code"), [(True, 0), (False, 137)])
def test_failed_start_kills_itself(start: Start, is_first: bool, code: int) -> None:
    container = start("article27-mfs-0.80", init=not is_first)

    assert exit_code(container) == code
    assert container.logs() == recorded("article27-mfs-0.80")
    assert not state(container)["OOMKilled"]


def test_unknown_scenario(start: Start) -> None:
    container = start("no-such-run")

    assert exit_code(container) == 64
    assert b"no recorded run is named 'no-such-run'" in container.logs()


def test_starts_in_a_row_under_a_restart_policy(start: Start) -> None:
    names = ["cli-unknown-flag", "article27-mfs-0.80", "skel27-mfs-0.88"]

    container = start(",".join(names), restart_policy={"Name": "always"})
    printed(container, SERVING)

    assert container.logs() == recorded(names[0]) + recorded(names[1]) + until_stopped(names[2])
    assert state(container)["Status"] == "running"
    assert container.attrs["RestartCount"] == 2


def test_last_run_repeats_and_a_new_container_begins_anew(start: Start) -> None:
    names = "cli-no-gpu,cli-unknown-flag"

    first = start(names, name="one")
    codes = [exit_code(first)]
    for _ in range(2):
        first.start()
        codes.append(exit_code(first))
    second = start(names, name="two")

    assert codes == [1, 2, 2]
    assert exit_code(second) == 1


def test_pace(start: Start) -> None:
    """At twenty times the speed, a run and the gap between its first and its last line take a twentieth of the time."""
    name = "cli-model-path-missing"
    container = start(name, STANDIN_PACE="20")
    exit_code(container)

    lived = state(container)
    reads = [float(line.split()[0]) for line in (RECORDED / "timing" / f"{name}.timing").read_text().splitlines()]
    lines = [moment(line.split(b" ")[0].decode()) for line in container.logs(timestamps=True).splitlines()]
    slack = 0.05  # the daemon takes a line's time when it reads it

    assert moment(lived["FinishedAt"]) - moment(lived["StartedAt"]) > reads[-1] / 20 - slack
    assert lines[-1] - lines[0] > (reads[-1] - reads[0]) / 20 - slack
    assert reads[-1] - reads[0] > 2
    assert container.logs() == recorded(name)


def test_up_while_dead_after_a_childs_death(start: Start, docker_host: PrivateDockerd) -> None:
    container = start("dtype-float16-moe", STANDIN_LINGER="2")
    printed(container, b"Waiting 60.0 seconds for CUDA coredumps before exiting.")

    with Web(docker_host, container, timeout=0.5) as web, pytest.raises(TimeoutError):
        web.get("/health")

    assert state(container)["Status"] == "running"
    assert exit_code(container) == 0
    assert container.logs() == recorded("dtype-float16-moe")


def test_recorded_hang(start: Start) -> None:
    container = start("cli-port-in-use")
    printed(container, b"Waiting for application shutdown.")
    container.stop(timeout=1)

    assert state(container)["ExitCode"] == 137
    assert container.logs() == recorded("cli-port-in-use")


def test_port_that_is_really_taken(start: Start) -> None:
    owner = start("skel27-mfs-0.88", network_mode="host")
    printed(owner, SERVING)

    late = start("boot-hybrid", network_mode="host")
    printed(late, b"Waiting for application shutdown.")
    late.stop(timeout=1)

    said = late.logs()
    assert said.startswith(recorded("boot-hybrid")[:29_000])
    assert b"[Errno 98] error while attempting to bind on address ('0.0.0.0', 30000): address already in use" in said
    assert b"Uvicorn running" not in said
    assert state(late)["ExitCode"] == 137
    assert state(owner)["Status"] == "running"


@pytest.mark.parametrize(("is_first", "code"), [(True, 0), (False, 137)])
def test_stop_while_serving(start: Start, is_first: bool, code: int) -> None:
    container = start("skel27-mfs-0.88", init=not is_first)
    printed(container, SERVING)

    assert container.logs() == until_stopped("skel27-mfs-0.88")

    container.stop(timeout=10)

    assert state(container)["ExitCode"] == code
    assert container.logs() == recorded("skel27-mfs-0.88")


def test_stop_while_starting(start: Start) -> None:
    """It prints from 1.3 s on and would listen after 8.3 s."""
    container = start("warm-dense", STANDIN_PACE="10")
    printed(container, recorded("warm-dense")[:40])
    container.stop(timeout=10)

    assert state(container)["ExitCode"] == 143


def test_stop_that_is_ignored(start: Start) -> None:
    container = start("skel27-mfs-0.88", STANDIN_IGNORE_TERM="1")
    printed(container, SERVING)
    container.stop(timeout=1)

    assert state(container)["ExitCode"] == 137
    assert container.logs() == until_stopped("skel27-mfs-0.88")


def test_two_streams(start: Start) -> None:
    container = start("kill-scheduler", STANDIN_STREAMS="split")
    exit_code(container)

    lines = recorded("kill-scheduler").splitlines(keepends=True)
    access = [line for line in lines if b"HTTP/1.1" in line]
    assert container.logs(stderr=False) == b"".join(access)
    assert container.logs(stdout=False) == b"".join(line for line in lines if line not in access)


def test_health_is_refused_then_503_then_200(start: Start, docker_host: PrivateDockerd) -> None:
    """Between Uvicorn's line and the ready line lie 0.8 s at this pace."""
    container = start("skel27-mfs-0.92", STANDIN_PACE="20")

    seen: list[object] = []
    for status in statuses(docker_host, container):
        if status not in seen[-1:]:
            seen.append(status)

    assert seen == ["refused", 503, 200]


def statuses(host: PrivateDockerd, container: Container) -> Iterator[object]:
    limit = time.monotonic() + 20
    status: object = None
    while status != 200 and time.monotonic() < limit:
        try:
            with Web(host, container) as web:
                status = web.get("/health")[0]
        except ConnectionRefusedError:
            status = "refused"
        yield status
        time.sleep(0.02)


def test_recorded_answers(start: Start, docker_host: PrivateDockerd) -> None:
    container = start("boot-hybrid")
    printed(container, b"fired up")

    with Web(docker_host, container) as web:
        for path, name in [
            ("/v1/models", "get_v1_models"),
            ("/server_info", "get_server_info"),
            ("/v1/loads", "get_v1_loads"),
            ("/model_info", "get_model_info"),
        ]:
            status, body = web.get(path)

            assert (status, json.loads(body)) == (200, answer("boot-hybrid", name))
        hello = web.chat(max_tokens=64)
        streamed = web.chat(stream=True)
        with_tools = web.chat(tools=[{"type": "function", "function": {"name": "get_weather"}}])

        assert json.loads(hello[1]) == answer("boot-hybrid", "chat")
        assert len(hello[1]) == 538  # the content-length that was recorded
        assert streamed == (200, answer("boot-hybrid", "chat_stream").encode())
        assert json.loads(with_tools[1])["choices"][0]["finish_reason"] == "stop"
        assert b"<tool_call>" in with_tools[1]
        assert web.post("/v1/chat/completions", b'{"messages": [}')[0] == 400
        assert web.get("/nonexistent")[0] == 404


def test_borrowed_answers_have_the_runs_own_model_and_parsers(start: Start, docker_host: PrivateDockerd) -> None:
    container = start("skel27-mfs-0.88")
    printed(container, b"fired up")

    with Web(docker_host, container) as web:
        models = json.loads(web.get("/v1/models")[1])
        info = json.loads(web.get("/server_info")[1])
        call = json.loads(web.chat(tools=[{"type": "function", "function": {"name": "get_weather"}}])[1])

    assert [model["id"] for model in models["data"]] == ["/models/skel27"]
    assert info == answer("skel27-mfs-0.88", "server_info")
    assert call["choices"][0]["finish_reason"] == "tool_calls"


def test_own_loopback_is_not_the_hosts(start: Start, docker_host: PrivateDockerd) -> None:
    """Without `--host` the engine listens on 127.0.0.1 of the container: nobody outside reaches it."""
    container = start("boot-hybrid", ["python3", "-m", "sglang.launch_server"])
    printed(container, b"fired up")

    with pytest.raises(ConnectionRefusedError), Web(docker_host, container):
        pass


def test_every_scenario_is_a_fixture_log() -> None:
    runs = json.loads((RECORDED / "runs.json").read_text())

    # Of the starts with sliding windows only the logs were kept.
    logs = {log.stem for log in LOGS.glob("real/*.log") if not log.stem.startswith("swa-")}
    assert set(runs) == logs
    for name in runs:
        timing = RECORDED / "timing" / f"{name}.timing"
        sizes = [int(line.split()[1]) for line in timing.read_text().splitlines()] if timing.exists() else []
        assert sum(sizes) in {0, Path(LOGS / "real" / f"{name}.log").stat().st_size}, name
