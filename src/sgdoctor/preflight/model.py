"""What checks look at, and what they answer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Protocol

from sgdoctor.fixes.config_file import ConfigFile
from sgdoctor.launch.change import Change
from sgdoctor.launch.model import Document, FlagTable, Launch
from sgdoctor.preflight.models.folder import ModelFolder
from sgdoctor.texts import Text


class Status(StrEnum):
    """The answer of a check in one word."""

    PASS = "pass"  # noqa: S105 - not a password
    WARN = "warn"
    FAIL = "fail"
    SKIPPED = "skipped"


class Area(StrEnum):
    """What a check is about; reports group by it, in this order."""

    HOST = "host"
    LAUNCH = "launch"
    COMMAND = "command"
    MODEL = "model"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found out.

    Attributes:
        status: how it is.
        title: in one line; of a check that was skipped why.
        evidence: the words, file, line or number that it rests on; empty where the title says it.
        where: the place in the launch, such as ``line 14``; None if it has none.
        prevents: id of the rule that a start would have hit; None where there is none.
        changes: what puts it right.
        detail: one or two sentences more.
        phase: in which the start would have died; None where it would not have died.
        remote: whether the fact belongs to another host than this one.
    """

    status: Status
    title: Text
    evidence: str = ""
    where: Text | None = None
    prevents: str | None = None
    changes: tuple[Change, ...] = ()
    detail: Text | None = None
    phase: str | None = None
    remote: bool = False


@dataclass(frozen=True, slots=True)
class CardFacts:
    """One card of the host, real or simulated; sizes in MiB.

    Attributes:
        number: as NVML counts.
        name: such as ``NVIDIA GeForce RTX 3090``.
        sm: compute capability times ten, such as 86.
        total_mib: all of its memory.
        free_mib: free now; of a simulated card what is free on an idle one.
        holders: who holds memory there, the largest first: name (``container vllm``, ``Xorg``) and MiB.
        uuid: ``GPU-...``; empty if unknown, or simulated.
        persistence: whether the driver stays loaded while nobody uses the card; None where it is not told.
        ecc_errors: uncorrected errors since the driver was loaded; None without ECC memory.
        notes: what is missing about the card, and why.
    """

    number: int
    name: str
    sm: int | None
    total_mib: float
    free_mib: float
    holders: tuple[tuple[str, float], ...] = ()
    uuid: str = ""
    persistence: bool | None = None
    ecc_errors: int | None = None
    notes: tuple[Text, ...] = ()


class DockerState(StrEnum):
    """Whether a container engine can be asked."""

    ANSWERS = "answers"
    DENIED = "denied"  # it is there, and this user may not use it
    SILENT = "silent"  # it should be there, and does not answer
    ABSENT = "absent"  # this machine has none, and none was named


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What is known of the machine that would run the container; None and empty for what is not.

    Attributes:
        remote: whether Docker runs on another machine than this program: facts of files and cards are then not its.
        driver: version of the NVIDIA driver.
        driver_cuda: newest CUDA version that it serves, such as ``12.8``.
        cards: in NVML's order.
        cards_reason: why there are none.
        simulated: whether the cards are those that the user named.
        docker: answer of ``/info``; None without Docker.
        docker_reason: why there is none.
        containers: names, ids, states and published ports, as the API lists them (``GET /containers/json?all=1``).
        memory_total_mib: RAM in all.
        memory_available_mib: RAM that a program could take now.
        disk_free_gib: free space by folder: the root of Docker, caches.
        wsl: whether this is WSL 2.
        endpoint: address of Docker, such as ``tcp://gpu-box:2375``; empty if none was found.
        swap_free_mib: swap that is not in use; 0 without swap.
        shm_mib: size of the host's ``/dev/shm``, which a container with ``ipc: host`` uses.
        listening: TCP ports on which a program of this machine listens, with its name; empty where that is hidden.
        toolkit: programs of NVIDIA's container toolkit that are installed here; None where the host is out of reach.
        cdi_devices: names of devices that CDI files describe, such as ``nvidia.com/gpu=all``.
        xids: newest complaints of the driver in the kernel's log; empty where there are none or it may not be read.
        pci_cards: NVIDIA cards on the bus, driver or not.
        contained: whether this program runs in a container itself and sees little of the host.
        docker_state: whether Docker can be asked.
        char_links: whether ``/dev/char`` has links to the cards, without which systemd takes them away from containers;
            None where there are no cards to link to.
    """

    remote: bool = False
    driver: str | None = None
    driver_cuda: str | None = None
    cards: tuple[CardFacts, ...] = ()
    cards_reason: Text | None = None
    simulated: bool = False
    docker: dict[str, Any] | None = None
    docker_reason: Text | None = None
    containers: tuple[dict[str, Any], ...] = ()
    memory_total_mib: float | None = None
    memory_available_mib: float | None = None
    disk_free_gib: dict[str, float] = field(default_factory=dict)
    wsl: bool = False
    endpoint: str = ""
    swap_free_mib: float | None = None
    shm_mib: float | None = None
    listening: Mapping[int, str] = field(default_factory=dict)
    toolkit: tuple[str, ...] | None = None
    cdi_devices: tuple[str, ...] = ()
    xids: tuple[str, ...] = ()
    pci_cards: int = 0
    contained: bool = False
    docker_state: DockerState = DockerState.ABSENT
    char_links: bool | None = None

    @property
    def is_only_a_card(self) -> bool:
        """Whether nothing is known of the machine but the cards that the user named, and what Docker says."""
        return self.simulated and not self.remote


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What is known of the image.

    Attributes:
        name: as the launch names it.
        present: whether it is on the host; None if nobody could be asked.
        config: its inspection (``Config``, ``Architecture``, ``Size`` ...); None if unknown.
        sglang: version in it; None if unknown.
        cuda: version that it is made for, such as ``12.9``; None if unknown.
        packages: versions of Python packages in it that could be read: ``torch``, ``transformers``.
        required_driver: oldest driver that it asks for, such as ``575``; None if it does not say.
        reason: why less is known than could be.
    """

    name: str
    present: bool | None = None
    config: dict[str, Any] | None = None
    sglang: str | None = None
    cuda: str | None = None
    packages: dict[str, str] = field(default_factory=dict)
    required_driver: str | None = None
    reason: Text | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything that checks may look at. They ask nobody else.

    Attributes:
        document: the launch as it is written; None where only the host is checked.
        launch: what it says once mistakes of writing are put right, which a check of its own tells.
        host: the machine.
        image: None without a launch or an image.
        model: the model folder; None if it is not here, see ``model_reason``.
        model_reason: why there is no model folder to look at.
        version: of SGLang; None if unknown.
        flags: flags of that version; of the likeliest one where it is unknown.
        answers: results of probes that were allowed to start something (``--deep``), by name.
        beside: folder of this machine that relative paths of the launch start from.
        learned: shortest and longest seconds of phases in earlier starts of this launch on this machine, by phase.
        config: the file of ``--config``, whose arguments stand in ``launch``; None without one.
    """

    host: HostFacts
    document: Document | None = None
    launch: Launch | None = None
    image: ImageFacts | None = None
    model: ModelFolder | None = None
    model_reason: Text | None = None
    version: str | None = None
    flags: FlagTable | None = None
    answers: dict[str, str] = field(default_factory=dict)
    beside: Path = Path()
    learned: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    config: ConfigFile | None = None


class Check(Protocol):
    """One check: one class in one file of ``preflight.checks``.

    Attributes:
        id: in kebab case.
        area: where it is listed.
        title: what is checked, in a few words.
    """

    id: ClassVar[str]
    area: ClassVar[Area]
    title: ClassVar[Text]

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """What is found; one finding or more. Nothing means that the check has no say here.

        It reads the situation and files of the model, starts nothing, and never raises for what it finds.
        """


@dataclass(frozen=True, slots=True)
class Checked:
    """A check and its findings."""

    check: Check
    findings: Sequence[Finding]
