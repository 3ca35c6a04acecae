"""Situations and answers for tests of the preflight."""

from dataclasses import replace
from typing import Any

from sgdoctor.launch.docker_run import read_shell
from sgdoctor.launch.model import Document
from sgdoctor.preflight.model import CardFacts, DockerState, Finding, HostFacts, ImageFacts, Situation
from sgdoctor.preflight.registry import all_checks

CARD = CardFacts(0, "NVIDIA GeForce RTX 3090", 86, 24576.0, 24256.0, uuid="GPU-1")
INFO: dict[str, Any] = {
    "ServerVersion": "28.1.0",
    "Name": "box",
    "Runtimes": {"runc": {}, "nvidia": {}},
    "CgroupDriver": "systemd",
    "CgroupVersion": "2",
    "Architecture": "x86_64",
    "DockerRootDir": "/var/lib/docker",
}
HOST = HostFacts(
    driver="570.124.06",
    driver_cuda="12.8",
    cards=(CARD,),
    docker=INFO,
    docker_state=DockerState.ANSWERS,
    endpoint="unix:///var/run/docker.sock",
    memory_total_mib=65536.0,
    memory_available_mib=60000.0,
    swap_free_mib=0.0,
    disk_free_gib={"/var/lib/docker": 200.0},
    shm_mib=32768.0,
    toolkit=("nvidia-container-runtime", "nvidia-container-runtime-hook", "nvidia-ctk"),
    pci_cards=1,
    char_links=True,
)
IMAGE = ImageFacts(
    "lmsysorg/sglang:v0.5.15",
    present=True,
    config={"Architecture": "amd64", "Config": {"Env": []}},
    sglang="0.5.15",
    cuda="12.8",
)


def docker_run(options: str = "--gpus all", image: str = "lmsysorg/sglang:v0.5.15", flags: str = "") -> Document:
    """A ``docker run`` of SGLang."""
    return read_shell(
        f"docker run {options} --name sgl {image} python3 -m sglang.launch_server --model-path /models/m {flags}"
    )


def situation(document: Document | None = None, host: HostFacts = HOST, **changes: Any) -> Situation:
    """A healthy machine with one card, and a launch."""
    found = docker_run() if document is None else document
    return replace(Situation(host, found, found.launch, IMAGE, version="0.5.15"), **changes)


def findings(check: str, about: Situation) -> list[Finding]:
    """What one check says, by its id."""
    (found,) = [one for one in all_checks() if one.id == check]
    return list(found.findings(about))


def statuses(check: str, about: Situation) -> list[str]:
    """The status of each of its findings."""
    return [finding.status.value for finding in findings(check, about)]
