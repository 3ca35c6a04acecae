"""``heal`` on real containers of the stand-in, which fails or serves with any flags as the engine would."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.models.containers import Container

from tests.composes import modern, path_with_tools
from tests.docker.dockerd import PrivateDockerd
from tests.schemas import validate
from tests.standin.parity import put_model

NAME = "sgl"
MODULE = ["python3", "-m", "sglang.launch_server"]
SERVE = ["--host", "0.0.0.0", "--port", "30000"]
# The launches of the two articles, one for a 27B and one for a 35B on a card of 24 GB.
BIG = [*MODULE, "--model-path", "/models/27b", *SERVE, "--context-length", "65536"]
FITS = [*BIG, "--mem-fraction-static", "0.92"]
MOE = shlex.split(
    "--model-path /models/35b --port 30000 --host 0.0.0.0 --dtype bfloat16 --context-length 65536 "
    "--mem-fraction-static 0.90 --mamba-full-memory-ratio 0.7 --mamba-radix-cache-strategy extra_buffer "
    "--cuda-graph-max-bs-decode 1 --enable-mixed-chunk --trust-remote-code --disable-custom-all-reduce "
    "--tool-call-parser qwen3_coder --reasoning-parser qwen3-thinking"
)
COPIED_SCRIPT = "from sglang.srt.server import launch_server_cli\nlaunch_server_cli()\n"
SHORT_LIST = (["linear_attention"] * 3 + ["full_attention"]) * 4
# Refused before anything is loaded, at any pace.
REFUSED = [*FITS, "--tool-call-parser", "qwen3-coder"]
CALCULATES_NONSENSE = "!" * 64
LIMIT_S = 30.0


class Clinic:
    """The daemon, and a state folder of the test's own."""

    def __init__(self, host: PrivateDockerd, client: docker.DockerClient, image: str, root: Path) -> None:
        self.host = host
        self.client = client
        self.image = image
        self.root = root

    def serve(self, command: Sequence[str], *, ends: bool = True, **options: Any) -> Container:
        """Start a server, and wait for its end if it has one."""
        variables = {name: options.pop(name) for name in list(options) if name.isupper()}
        environment = {"STANDIN_SCENARIO": "decide", "STANDIN_MODEL": "qwen3.6-27b", **variables}
        options = {"stop_signal": "SIGKILL", **options}
        container = self.client.containers.run(
            self.image, list(command), name=NAME, environment=environment, detach=True, **options
        )
        if ends:
            container.wait()
        else:
            until(lambda: b"ready to roll" in container.logs())
        return container

    def command(self, *arguments: str) -> list[str]:
        """The words of ``sgdoctor heal`` where the ports of the containers are."""
        inside = ["nsenter", "-t", str(self.host.pid), "--net"]
        return [*inside, sys.executable, "-m", "sgdoctor", "heal", NAME, "--yes", *arguments]

    @property
    def environment(self) -> dict[str, str]:
        own = {"DOCKER_HOST": self.host.url, "XDG_STATE_HOME": str(self.root), "PATH": path_with_tools()}
        return os.environ | own

    def heal(self, *arguments: str) -> dict[str, Any]:
        """The report of ``sgdoctor heal``."""
        done = subprocess.run(
            self.command("--format", "json", *arguments),
            env=self.environment,
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout, done.stderr
        data: dict[str, Any] = json.loads(done.stdout)
        validate(data, "heal")
        assert done.returncode == data["exit_code"]
        return data

    def now(self) -> Container:
        """The container that has the name."""
        return self.client.containers.get(NAME)

    @property
    def containers(self) -> dict[str, str]:
        """Status by name."""
        return {one.name: one.status for one in self.client.containers.list(all=True, ignore_removed=True)}

    def assert_as_before(self, old: Container, status: str = "exited") -> None:
        """Nothing is left of what was tried."""
        assert old.id == self.now().id
        assert {NAME: status} == self.containers


@pytest.fixture
def clinic(
    docker_host: PrivateDockerd, docker_client: docker.DockerClient, standin_image: str, tmp_path: Path
) -> Clinic:
    return Clinic(docker_host, docker_client, standin_image, tmp_path)


def until(is_so: Callable[[], bool]) -> None:
    limit = time.monotonic() + LIMIT_S
    while not is_so():
        assert time.monotonic() < limit
        time.sleep(0.02)


def rules(healed: dict[str, Any]) -> list[str | None]:
    return [one["rule"] for one in healed["tries"]]


def flags(tried: dict[str, Any]) -> dict[str, str]:
    return {change["name"]: change["value"] for change in tried["changes"] if change["kind"] == "flag.set"}


# ---------------------------------------------------------------- healed


@pytest.mark.parametrize("told", [{}, {"STANDIN_DTYPE": "float16", "STANDIN_CARD": "24564MiB:sm89"}])
def test_founding_launch_of_the_27b(clinic: Clinic, told: dict[str, Any]) -> None:
    old = clinic.serve(BIG, **told)

    healed = clinic.heal()

    assert ("verified", 0) == (healed["end"], healed["exit_code"])
    assert healed["relaunches"] <= 2
    assert ["health", "models", "chat"] == [check["id"] for check in healed["tries"][-1]["checks"]]
    assert healed["tries"][-1]["verified"]
    assert {NAME: "running", f"{NAME}.sgd-old": "exited"} == clinic.containers
    assert old.id == clinic.client.containers.get(f"{NAME}.sgd-old").id


def test_founding_launch_of_the_35b(clinic: Clinic) -> None:
    """Its script imports what is not there, and its configuration is refused: one shows only after the other."""
    model = clinic.root / "35b"
    model.mkdir()
    put_model(model, "35b-a3b", layer_types=SHORT_LIST)
    (clinic.root / "launch.py").write_text(COPIED_SCRIPT)
    volumes = [f"{model}:/models/35b:ro", f"{clinic.root}/launch.py:/launch_selode.py:ro"]
    clinic.serve(["python3", "/launch_selode.py", *MOE], volumes=volumes, STANDIN_MODEL="qwen3.6-35b-a3b")

    healed = clinic.heal()

    assert "verified" == healed["end"]
    assert ["SGL140", "SGL204", None] == rules(healed)
    assert (clinic.root / "sgdoctor-patches" / "config.json").is_file()


def test_graphs_that_cost_more_than_anybody_can_know(clinic: Clinic) -> None:
    """In a container that Docker starts again and again."""
    clinic.serve(BIG, STANDIN_GRAPHS_GIB="2.7", restart_policy={"Name": "unless-stopped"})

    healed = clinic.heal()

    tried = healed["tries"][1:]
    fractions = [float(flags(one)["--mem-fraction-static"]) for one in tried]
    assert "verified" == healed["end"]
    assert ["SGL401", "SGL414", "SGL414", None] == rules(healed)
    assert sorted(set(fractions), reverse=True) == fractions
    assert {"--mem-fraction-static"} == {name for one in tried for name in flags(one)}
    assert "unless-stopped" == clinic.now().attrs["HostConfig"]["RestartPolicy"]["Name"]


@pytest.mark.skipif(modern() is None, reason="no Compose of version 2 or later")
def test_service_of_compose(clinic: Clinic) -> None:
    file = clinic.root / "compose.yaml"
    file.write_text(
        f"services:\n  llm:\n    image: {clinic.image}\n    container_name: {NAME}\n    stop_signal: SIGKILL\n"
        "    environment: [STANDIN_SCENARIO=decide, STANDIN_MODEL=qwen3.6-27b]\n"
        f"    command: {shlex.join(BIG)}  # as in the article\n"
    )
    compose = modern()
    assert compose is not None
    subprocess.run([*compose, "up", "-d"], cwd=clinic.root, env=clinic.environment, check=True, capture_output=True)
    clinic.now().wait()

    healed = clinic.heal()

    assert ("verified", 1) == (healed["end"], healed["relaunches"])
    assert "--mem-fraction-static 0.92" in file.read_text()
    assert "# as in the article" in file.read_text()
    assert {NAME: "running"} == clinic.containers


def test_server_with_a_key_that_serves_already(clinic: Clinic) -> None:
    old = clinic.serve([*FITS, "--api-key", "sk-very-secret-key"], ends=False)

    healed = clinic.heal()

    assert ("verified", 0, False) == (healed["end"], healed["relaunches"], healed["changed"])
    assert "sk-very-secret-key" not in json.dumps(healed)
    clinic.assert_as_before(old, "running")


def test_a_healed_server_that_is_unhealthy_by_its_own_check(clinic: Clinic) -> None:
    """In the report, whether it was relaunched or serves already; it is healed all the same."""
    own = {"test": ["CMD-SHELL", "echo no such port; exit 1"], "interval": 300 * 10**6, "retries": 1}
    clinic.serve(BIG, healthcheck=own)

    healed, again = clinic.heal(), clinic.heal()

    assert [("verified", 1), ("verified", 0)] == [(one["end"], one["relaunches"]) for one in (healed, again)]
    for one in (healed, again):
        [remark] = one["tries"][-1]["remarks"]
        assert remark.endswith("health check calls it unhealthy: no such port")


# ---------------------------------------------------------------- not healed


def test_where_graphs_leave_no_fraction_something_is_given_up(clinic: Clinic) -> None:
    clinic.serve(BIG, STANDIN_GRAPHS_GIB="3.5")

    healed = clinic.heal("--max-attempts", "6")

    tried = [flags(one) for one in healed["tries"]]
    fractions_only = [set(changes) <= {"--mem-fraction-static"} for changes in tried]
    assert "verified" == healed["end"]
    assert fractions_only == sorted(fractions_only, reverse=True)
    assert {"--mem-fraction-static", "--mamba-radix-cache-strategy"} <= set(tried[-1])


def test_what_was_tried_in_vain_leaves_the_original(clinic: Clinic) -> None:
    old = clinic.serve(BIG, STANDIN_GRAPHS_GIB="3.5")

    healed = clinic.heal("--max-attempts", "2")

    assert ("limit", 3, 2) == (healed["end"], healed["exit_code"], healed["relaunches"])
    clinic.assert_as_before(old)


@pytest.mark.parametrize(
    ("model", "path", "end", "rule"),
    [
        ("qwen3-14b", "/models/27b", "does-not-fit", "SGL411"),
        ("/models/28b=qwen3-8b", "/models/27b", "manual", "SGL307"),
    ],
)
def test_failure_without_a_safe_fix_is_not_touched(clinic: Clinic, model: str, path: str, end: str, rule: str) -> None:
    old = clinic.serve([*MODULE, "--model-path", path], STANDIN_MODEL=model)

    healed = clinic.heal()

    assert (end, 3, 0) == (healed["end"], healed["exit_code"], healed["relaunches"])
    assert [rule] == rules(healed)
    clinic.assert_as_before(old)
    assert [] == list((clinic.root / "sgdoctor" / "relaunch").glob("*"))


def test_nobody_to_agree(clinic: Clinic) -> None:
    old = clinic.serve(BIG)
    command = [word for word in clinic.command() if word != "--yes"]
    done = subprocess.run(
        command,
        env=clinic.environment,
        cwd=clinic.root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert 2 == done.returncode
    assert "--yes" in done.stderr
    clinic.assert_as_before(old)


def test_server_that_calculates_nonsense(clinic: Clinic) -> None:
    old = clinic.serve(BIG, STANDIN_ANSWER=CALCULATES_NONSENSE)

    healed = clinic.heal()
    unchecked = clinic.heal("--no-verify")

    assert ("faulty", 5, ["failed", "faulty"]) == (
        healed["end"],
        healed["exit_code"],
        [one["result"] for one in healed["tries"]],
    )
    assert "over and over" in healed["why"]
    assert ("serves", 0, None) == (unchecked["end"], unchecked["exit_code"], unchecked["tries"][-1]["verified"])
    assert old.id != clinic.now().id


def test_server_that_runs_and_calculates_nonsense(clinic: Clinic) -> None:
    old = clinic.serve(FITS, ends=False, STANDIN_ANSWER=CALCULATES_NONSENSE)

    healed = clinic.heal()

    assert ("faulty", 0) == (healed["end"], healed["relaunches"])
    clinic.assert_as_before(old, "running")


def test_time_is_over(clinic: Clinic) -> None:
    old = clinic.serve(REFUSED, STANDIN_PACE="5")

    healed = clinic.heal("--deadline", "3s")

    assert ("deadline", 3, 1) == (healed["end"], healed["exit_code"], healed["relaunches"])
    clinic.assert_as_before(old)


def test_ctrl_c(clinic: Clinic) -> None:
    old = clinic.serve(REFUSED, STANDIN_PACE="5")
    process = subprocess.Popen(
        clinic.command("--format", "md"),
        env=clinic.environment,
        cwd=clinic.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until(lambda: clinic.containers == {NAME: "running", f"{NAME}.sgd-old": "exited"})
    process.send_signal(signal.SIGINT)
    report, _ = process.communicate(timeout=LIMIT_S)

    assert 130 == process.returncode
    assert report.startswith(f"# {NAME}\n\n{NAME}: stopped by you.")
    clinic.assert_as_before(old)


def test_what_would_never_say_that_it_serves_is_not_waited_for(clinic: Clinic) -> None:
    silent = clinic.client.containers.run(clinic.image, ["sleep", "600"], name=NAME, detach=True, init=True)

    done = subprocess.run(
        clinic.command(), env=clinic.environment, cwd=clinic.root, capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert "no engine that sgdoctor knows" in done.stderr
    clinic.assert_as_before(silent, "running")


def test_a_kept_container_is_not_said_to_be_started_by_hand(clinic: Clinic) -> None:
    kept = f"{NAME}.sgd-old"
    clinic.client.containers.create(clinic.image, FITS, name=kept)
    command = [kept if word == NAME else word for word in clinic.command()]

    done = subprocess.run(command, env=clinic.environment, cwd=clinic.root, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "two servers do not fit" in done.stderr
    assert "docker start" not in done.stderr + done.stdout
    assert {kept: "created"} == clinic.containers
