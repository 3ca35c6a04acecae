"""``heal`` on launches of many kinds: each ends in a verified server, or in the original launch and the reason."""

import json
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import docker
import pytest

from tests.docker.dockerd import PrivateDockerd
from tests.docker.test_heal import MODULE, NAME, Clinic, flags, rules

SERVE = ["--host", "0.0.0.0", "--port", "30000"]


class Launch(NamedTuple):
    """A launch, the machine that it is on, and how healing it ends."""

    command: str
    card: str
    model: str
    end: str
    first: str
    relaunches: int = 1
    told: dict[str, str] = {}  # noqa: RUF012 - never written to


LAUNCHES = {
    "hybrid, default fraction": Launch("--context-length 65536", "24GiB:sm86", "qwen3.6-27b", "verified", "SGL401"),
    "hybrid, far too low": Launch("--mem-fraction-static 0.5", "24GiB:sm86", "qwen3.6-27b", "verified", "SGL401"),
    "hybrid, graphs of more than is left": Launch(
        "--mem-fraction-static 0.95 --context-length 32768", "24GiB:sm86", "qwen3.6-27b", "verified", "SGL414",
        told={"STANDIN_GRAPHS_GIB": "1.6"},
    ),
    "hybrid beside another process": Launch(
        "--mem-fraction-static 0.9 --max-running-requests 8", "24GiB:sm86:22.2", "qwen3.6-27b", "verified", "SGL402"
    ),
    "hybrid on a card that is too small": Launch("", "20GiB:sm86", "qwen3.6-27b", "does-not-fit", "SGL401", 0),
    "hybrid mixture": Launch("--dtype bfloat16", "24GiB:sm89", "qwen3.6-35b-a3b", "verified", "SGL401"),
    "dense, too low": Launch("--mem-fraction-static 0.5", "24GiB:sm86", "qwen3-8b", "verified", "SGL421"),
    "dense, prefill graphs of more than is left": Launch(
        "--mem-fraction-static 0.97", "24GiB:sm86:22.9", "qwen3-8b", "verified", "SGL414"
    ),
    "dense, weights larger than the card": Launch("", "16GiB:sm89", "qwen3-14b", "does-not-fit", "SGL411", 0),
    "two cards, one asked for": Launch("", "2x24GiB:sm86", "qwen3-32b", "does-not-fit", "SGL411", 0),
    "one card, two asked for": Launch("--tp 2", "80GiB:sm80", "qwen3-8b", "manual", "SGL016", 0),
    "attention of another generation": Launch(
        "--attention-backend fa3", "32GiB:sm120", "qwen3-8b", "verified", "SGL540"
    ),
    "percent": Launch("--mem-fraction-static 88%", "24GiB:sm86", "qwen3-8b", "verified", "SGL113"),
    "context beyond the model": Launch("--context-length 1000000", "24GiB:sm86", "qwen3-8b", "verified", "SGL211"),
    "graphs that cannot be broken": Launch(
        "--mem-fraction-static 0.92 --cuda-graph-backend-decode breakable", "24GiB:sm86", "qwen3.6-27b", "verified",
        "SGL501",
    ),
    "float16": Launch(
        "--mem-fraction-static 0.92 --dtype float16", "24GiB:sm86", "qwen3.6-27b", "verified", "SGL203"
    ),
    # Its container asks for none, so that is tried.
    "no card": Launch("", "none", "qwen3-8b", "manual", "SGL013"),
}  # fmt: skip


@pytest.fixture
def clinic(
    docker_host: PrivateDockerd, docker_client: docker.DockerClient, standin_image: str, tmp_path: Path
) -> Clinic:
    return Clinic(docker_host, docker_client, standin_image, tmp_path)


@pytest.mark.parametrize("name", LAUNCHES)
def test_healing_a_launch(clinic: Clinic, name: str) -> None:
    launch = LAUNCHES[name]
    command = [*MODULE, "--model-path", "/models/m", *SERVE, *shlex.split(launch.command)]
    told: dict[str, Any] = {"STANDIN_MODEL": launch.model, "STANDIN_CARD": launch.card, **launch.told}
    old = clinic.serve(command, **told)

    healed = clinic.heal("--max-attempts", "6")

    tries = healed["tries"]
    assert (launch.end, launch.first, launch.relaunches) == (healed["end"], rules(healed)[0], healed["relaunches"])
    assert len(tries) == len({json.dumps(one["changes"]) for one in tries})
    if launch.end == "verified":
        assert tries[-1]["verified"]
        assert {NAME: "running", f"{NAME}.sgd-old": "exited"} == clinic.containers
    else:
        assert healed["why"]
        clinic.assert_as_before(old)


def test_graphs_for_requests_that_do_not_run_at_once_are_not_cut(clinic: Clinic) -> None:
    """One request fits: the fraction is all that can be changed about its one graph."""
    command = [*MODULE, "--model-path", "/models/m", *SERVE, "--mem-fraction-static", "0.92"]
    clinic.serve(command, STANDIN_MODEL="qwen3.6-27b", STANDIN_CARD="24GiB:sm86", STANDIN_GRAPHS_GIB="2.2")

    healed = clinic.heal("--max-attempts", "6")

    assert ["SGL414", None] == [rules(healed)[0], rules(healed)[-1]]
    assert {"--mem-fraction-static"} == {name for tried in healed["tries"] for name in flags(tried)}
    assert 1 == healed["tries"][-1]["facts"]["max_running_requests"]
