"""The machine that would run the container: its cards, its driver, its memory, its disks, its container engine."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from sgdoctor.gpu import reasons
from sgdoctor.gpu.driver import Driver, read_driver
from sgdoctor.gpu.machine import this_machine
from sgdoctor.gpu.model import GpuReading
from sgdoctor.gpu.source import best_source
from sgdoctor.preflight import host_files
from sgdoctor.preflight.cards import cards_of
from sgdoctor.preflight.elsewhere import NOT_LOOKED_AT
from sgdoctor.preflight.engine import EngineFacts
from sgdoctor.preflight.model import CardFacts, HostFacts
from sgdoctor.texts import Text

_SLOW_DRIVER: Final = Text("the NVIDIA driver did not answer in time; it may hang", "NVIDIA 驱动未及时响应，可能已卡住")
_CONTAINERD: Final = Path("/var/lib/containerd")


def questions(root: Path = Path("/")) -> dict[str, Callable[[], Any]]:
    """What this machine is to be asked, by names that ``host_of`` knows."""
    return {
        "reading": _read_cards,
        "driver": read_driver,
        "listening": lambda: host_files.listening(root),
        "xids": lambda: host_files.xids(root),
        "cdi": lambda: host_files.cdi_devices(root),
    }


def host_of(
    answers: Mapping[str, Any],
    engine: EngineFacts,
    *,
    in_container: bool,
    simulated: Sequence[CardFacts] = (),
    folders: Sequence[Path] = (),
    root: Path = Path("/"),
) -> HostFacts:
    """The host of a launch.

    Args:
        answers: to ``questions``; those that did not come in time are missing.
        engine: what the container engine says.
        in_container: whether the launch runs in a container; else it runs on this machine whatever the engine says.
        simulated: cards that the user named; nothing else is known of their machine but its Docker.
        folders: of which the free space matters.
        root: of the file system of this machine.
    """
    remote = engine.remote and in_container
    cards, reason = _cards(answers, engine, remote=remote)
    driver: Driver = answers.get("driver", Driver())
    facts = HostFacts(
        remote=remote,
        driver=None if remote else driver.version,
        driver_cuda=None if remote else driver.cuda,
        cards=tuple(simulated) or cards,
        cards_reason=None if simulated else reason,
        simulated=bool(simulated),
        docker=engine.info,
        docker_reason=engine.reason,
        containers=engine.containers,
        endpoint=engine.endpoint,
        docker_state=engine.state,
    )
    if remote:
        memory = (engine.info or {}).get("MemTotal")
        return replace(facts, memory_total_mib=memory / 2**20 if isinstance(memory, int) else None)
    if simulated:
        contained = this_machine(root).contained
        return replace(facts, driver=None, driver_cuda=None, docker_reason=NOT_LOOKED_AT, contained=contained)
    return _with_this_machine(facts, answers, folders, root)


def _with_this_machine(facts: HostFacts, answers: Mapping[str, Any], folders: Sequence[Path], root: Path) -> HostFacts:
    """The facts with what the files of this machine say."""
    machine = this_machine(root)
    memory = host_files.memory(root)
    return replace(
        facts,
        memory_total_mib=memory.total,
        memory_available_mib=memory.available,
        swap_free_mib=memory.swap_free,
        disk_free_gib=_disks(facts.docker or {}, folders),
        wsl=machine.wsl,
        shm_mib=host_files.size_mib(root / "dev/shm"),
        listening=answers.get("listening", {}),
        # A container has programs and device files of its own.
        toolkit=None if machine.contained else host_files.toolkit(root),
        cdi_devices=answers.get("cdi", ()),
        xids=answers.get("xids", ()),
        pci_cards=machine.cards,
        contained=machine.contained,
        char_links=None if machine.contained else host_files.char_links(root),
    )


def _read_cards() -> GpuReading:
    source = best_source()
    try:
        return source.read()
    finally:
        source.close()


def _cards(
    answers: Mapping[str, Any], engine: EngineFacts, *, remote: bool
) -> tuple[tuple[CardFacts, ...], Text | None]:
    if remote:
        return (), reasons.remote_engine(engine.endpoint)
    reading: GpuReading | None = answers.get("reading")
    if reading is None:
        return (), _SLOW_DRIVER
    cards = cards_of(_with_names(reading, engine.containers), answers.get("driver", Driver()))
    if cards:
        return cards, None
    return (), reading.reason if reading.reason.en else reasons.NO_MEMORY_FIGURES


def _with_names(reading: GpuReading, containers: Sequence[Mapping[str, Any]]) -> GpuReading:
    """The reading with the names of containers, which the engine tells and the kernel does not."""
    names = {str(entry.get("Id")): _name(entry) for entry in containers}
    gpus = tuple(
        gpu._replace(
            processes=tuple(
                process._replace(container_name=names.get(process.container, process.container[:12]))
                for process in gpu.processes
            )
        )
        for gpu in reading.gpus
    )
    return reading._replace(gpus=gpus)


def _name(entry: Mapping[str, Any]) -> str:
    names = entry.get("Names") or [""]
    return str(next((name for name in names if str(name).count("/") < 2), names[0])).lstrip("/")


def _disks(info: Mapping[str, Any], folders: Sequence[Path]) -> dict[str, float]:
    """Free space where Docker keeps its data and where else it matters, in GiB."""
    places = list(folders)
    if docker := info.get("DockerRootDir"):
        places.insert(0, Path(docker))
        if "io.containerd" in str(info.get("DriverStatus")):
            places.insert(1, _CONTAINERD)  # Docker 29 keeps images there
    found = {str(place): host_files.free_gib(place) for place in places}
    return {place: free for place, free in found.items() if free is not None}
