"""When a relaunch calls a server ready: recorded starts of the engine, played by the stand-in in real containers."""

import threading
import time
from pathlib import Path
from typing import Any

import docker
import pytest

from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.diagnosis.model import State
from sgdoctor.launch.change import Change
from sgdoctor.relaunch.model import Ending, NotReady, Outcome
from sgdoctor.relaunch.readiness import EngineReadiness
from sgdoctor.rules.base import load_rule_base
from sgdoctor.texts import Text
from tests.docker.dockerd import PrivateDockerd
from tests.docker.relaunching import HURRY, NAME, Stage, rollback

COMMAND = ["python3", "-m", "sglang.launch_server", "--model-path", "/models/x", "--host", "0.0.0.0", "--port", "30000"]
FAILS, SERVES = "article27-mfs-0.80", "article27-w19.28-mfs-0.92"
# Says what a start says that serves; with FRAIL it ends with its first request.
FRAIL = """
import http.server, os, socketserver, sys
log = open("/opt/standin/logs/boot-dense.log", "rb").read()
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self): os._exit(137) if "FRAIL" in os.environ else self.send_error(503)
socketserver.TCPServer.allow_reuse_address = True
server = socketserver.TCPServer(("0.0.0.0", 30000), Handler)
sys.stderr.buffer.write(log[: log.index(b"\\n", log.index(b"ready to roll!")) + 1])
sys.stderr.flush()
server.serve_forever()
"""


@pytest.fixture
def stage(docker_host: PrivateDockerd, docker_client: docker.DockerClient, standin_image: str, tmp_path: Path) -> Stage:
    del standin_image
    return Stage(docker_host, docker_client, tmp_path)


def serve(stage: Stage, scenario: str, command: list[str] | None = None, **options: Any) -> str:
    environment = {"STANDIN_SCENARIO": scenario}
    container = stage.client.containers.run(
        "sglang-standin:v0.5.15", command or COMMAND, name=NAME, environment=environment, detach=True, **options
    )
    limit = time.monotonic() + 20
    while not container.logs():  # before its first line it does not hear SIGTERM
        assert time.monotonic() < limit
        time.sleep(0.02)
    return str(container.id)


def readiness(stage: Stage, **options: Any) -> EngineReadiness:
    return EngineReadiness(Endpoint(stage.host.url), load_rule_base(), root=stage.root, **options)


def scenario(name: str, **options: str) -> list[Change]:
    return [
        Change("env.set", "STANDIN_SCENARIO", name),
        *(Change("env.set", key, value) for key, value in options.items()),
    ]


def relaunched(stage: Stage, changes: list[Change], **options: Any) -> Outcome:
    """Where the ports of the containers are, so that the server can be asked."""
    with stage.host.network():
        return stage.relaunch(changes=changes, readiness=readiness(stage, **options))


def test_server_that_serves(stage: Stage) -> None:
    old = serve(stage, FAILS, restart_policy={"Name": "always"}, ports={"30000/tcp": ("127.0.0.1", 15433)})
    notes: list[str] = []

    with stage.host.network():
        outcome = stage.relaunch(
            changes=scenario(SERVES, STANDIN_PACE="60"),
            readiness=readiness(stage),
            watcher=lambda progress: notes.append(progress.note.en) if progress.note else None,
        )

    assert (Ending.DONE, (), None) == (outcome.ending, outcome.notes, outcome.reason)
    assert outcome.container == stage.inspect()["Id"] != old
    assert "always" == stage.inspect()["HostConfig"]["RestartPolicy"]["Name"]
    assert "no" == stage.inspect(old)["HostConfig"]["RestartPolicy"]["Name"]
    assert [] != notes
    assert [path for path in (stage.root / "spool" / NAME).glob("*.log") if b"ready to roll" in path.read_bytes()]


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ("echo no curl here; exit 1", ": no curl here"),
        ("exit 1", "."),
        # Unhealthy until the server listens: the next check after that counts.
        ("python3 -c 'import urllib.request as web; web.urlopen(\"http://127.0.0.1:30000/health\")'", None),
        ("exit 0", None),
    ],
)
def test_the_check_of_the_container_itself_is_mentioned_and_fails_nothing(
    stage: Stage, check: str, said: str | None
) -> None:
    second = 10**9
    own = {"test": ["CMD-SHELL", check], "interval": second // 2, "timeout": 5 * second, "retries": 1}
    serve(stage, FAILS, healthcheck=own, ports={"30000/tcp": ("127.0.0.1", 15433)})

    outcome = relaunched(stage, scenario(SERVES, STANDIN_PACE="20"))

    expected = () if said is None else (f"the container's own health check calls it unhealthy{said}",)
    assert Ending.DONE is outcome.ending
    assert expected == tuple(note.en.partition(", and ")[2] for note in outcome.notes)


def test_server_that_fails_is_diagnosed_and_the_old_one_serves_again(stage: Stage) -> None:
    old = serve(stage, SERVES)

    outcome = relaunched(stage, scenario(FAILS))

    assert Ending.BACK is outcome.ending
    assert outcome.verdict is not None
    assert "SGL401" == outcome.verdict.diagnoses[0].rule.id
    assert outcome.verdict.diagnoses[0].title == outcome.reason
    assert outcome.log is not None
    assert b"mem-fraction-static" in Path(outcome.log).read_bytes()
    assert (old, "running") == (stage.inspect()["Id"], stage.inspect()["State"]["Status"])
    assert {NAME} == stage.containers.keys()


def test_server_whose_log_cannot_be_read_is_asked_itself(stage: Stage) -> None:
    command = [*COMMAND[:-1], "31234"]
    environment = {"STANDIN_SCENARIO": SERVES}
    stage.client.containers.run(
        "sglang-standin:v0.5.15", command, name=NAME, environment=environment, detach=True, log_config={"Type": "none"}
    )

    outcome = relaunched(stage, scenario(SERVES, STANDIN_PACE="60"))

    assert (Ending.DONE, ()) == (outcome.ending, outcome.notes)


def test_server_whose_log_cannot_be_read_ends(stage: Stage) -> None:
    old = stage.client.containers.run(
        "sglang-standin:v0.5.15",
        COMMAND,
        name=NAME,
        environment={"STANDIN_SCENARIO": SERVES},
        detach=True,
        log_config={"Type": "none"},
    )

    outcome = relaunched(stage, scenario(FAILS))

    assert (Ending.BACK, old.id) == (outcome.ending, outcome.container)


def test_server_that_is_up_while_dead(stage: Stage) -> None:
    """The engine says that it failed, and lives on."""
    old = serve(stage, SERVES)

    outcome = relaunched(stage, scenario("cli-port-in-use"), failed=1)

    assert Ending.BACK is outcome.ending
    assert outcome.verdict is not None
    assert "port" in outcome.verdict.diagnoses[0].title.en.lower()
    assert old == stage.inspect()["Id"]


def test_server_that_is_too_slow_for_the_user(stage: Stage) -> None:
    old = serve(stage, SERVES)

    outcome = relaunched(stage, scenario(SERVES, STANDIN_PACE="1"), limit=1.5)

    assert Ending.BACK is outcome.ending
    assert Text("It was not ready within 1.5 s.", "在 1.5 秒内未就绪。") == outcome.reason
    assert (old, "running") == (stage.inspect()["Id"], stage.inspect()["State"]["Status"])


def test_server_that_dies_with_its_first_request(stage: Stage) -> None:
    old = serve(stage, "", ["python3", "-c", FRAIL], stop_signal="SIGKILL")

    outcome = relaunched(stage, [Change("env.set", "FRAIL", "1")])

    assert Ending.BACK is outcome.ending
    assert outcome.reason is not None
    assert outcome.reason.en.startswith("The server was ready and ended right after it.")
    assert (old, "running") == (stage.inspect()["Id"], stage.inspect()["State"]["Status"])


def test_server_that_says_itself_that_it_is_not_healthy(stage: Stage) -> None:
    old = serve(stage, "", ["python3", "-c", FRAIL], stop_signal="SIGKILL")

    outcome = relaunched(stage, [], health=0.5)

    assert Ending.BACK is outcome.ending
    assert outcome.reason is not None
    assert outcome.reason.en.endswith("/health with 503.")
    assert old == stage.inspect()["Id"]


def test_server_that_nobody_can_ask(stage: Stage) -> None:
    serve(stage, SERVES, network_mode="none")

    outcome = relaunched(stage, scenario(SERVES, STANDIN_PACE="0"))

    assert Ending.DONE is outcome.ending
    assert ["none of its ports can be asked from here" in note.en for note in outcome.notes] == [True]


def test_probe_has_the_last_word(stage: Stage) -> None:
    old = serve(stage, SERVES)
    asked: list[str] = []

    def probe(address: str) -> Text | None:
        asked.append(address)
        return Text("empty answer", "回答为空")

    outcome = relaunched(stage, scenario(SERVES), probe=probe)

    assert (Ending.BACK, Text("empty answer", "回答为空")) == (outcome.ending, outcome.reason)
    assert [True] == [address.startswith("http://172.17.") for address in asked]
    assert old == stage.inspect()["Id"]


def test_user_gives_up_waiting(stage: Stage) -> None:
    old = serve(stage, SERVES)
    waits = readiness(stage)
    threading.Timer(1.0, waits.cancel).start()

    outcome = stage.relaunch(changes=scenario(SERVES, STANDIN_PACE="1"), readiness=waits)

    assert (Ending.BACK, "It was stopped by you.") == (outcome.ending, outcome.reason and outcome.reason.en)
    assert old == stage.inspect()["Id"]


def test_log_of_an_earlier_start_makes_nobody_ready(stage: Stage) -> None:
    """The old container said that it was ready once; taken back, it has to say so again."""
    first = serve(stage, f"{SERVES},{FAILS}")
    second = relaunched(stage, scenario(SERVES)).container

    with stage.host.network(), Client(Endpoint(stage.host.url)) as client:
        outcome = rollback(client, NAME, readiness=readiness(stage), patience=HURRY, root=stage.root)

    assert Ending.BACK is outcome.ending
    assert outcome.verdict is not None
    assert "SGL401" == outcome.verdict.diagnoses[0].rule.id
    assert second == stage.inspect()["Id"]
    assert {NAME, f"{NAME}.sgd-old"} == stage.containers.keys()
    assert first == stage.inspect(f"{NAME}.sgd-old")["Id"]


def test_start_that_a_restart_policy_repeats_has_failed(stage: Stage) -> None:
    """Each failure is followed by the next start, so that none of them lasts."""
    serve(stage, FAILS, restart_policy={"Name": "always"})
    notes: list[Text] = []

    answer = readiness(stage, limit=40).wait(NAME, notes.append)

    assert isinstance(answer, NotReady)
    assert answer.reason.en.startswith("The weights leave no room for the state cache")
    assert answer.verdict is None or State.FAILED is answer.verdict.state
