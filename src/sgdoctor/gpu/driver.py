"""The NVIDIA driver itself: its version, the newest CUDA that it serves, and how it keeps its cards."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from sgdoctor.patterns import lazy_pattern

_KERNEL_MODULE: Final = lazy_pattern(r"Kernel Module(?: for \S+)?\s+(\d+\.\d+(?:\.\d+)?)")


class CardState(NamedTuple):
    """How the driver keeps one card; None where it does not tell.

    Attributes:
        persistence: whether it stays loaded while nobody uses the card.
        ecc_errors: uncorrected errors of its memory since the driver was loaded.
    """

    persistence: bool | None = None
    ecc_errors: int | None = None


class Driver(NamedTuple):
    """The driver of this machine; None for what is not known.

    Attributes:
        version: such as ``570.124.06``.
        cuda: newest CUDA version that it serves, such as ``12.8``.
        cards: by UUID.
    """

    version: str | None = None
    cuda: str | None = None
    cards: Mapping[str, CardState] = MappingProxyType({})


def read_driver(library: Any = None, root: Path = Path("/")) -> Driver:
    """The driver by NVML, else what the kernel says of its module.

    Args:
        library: a module with the functions of ``pynvml``; that one if None.
        root: of the file system.
    """
    if library is None:
        try:
            import pynvml  # type: ignore[import-untyped]  # noqa: PLC0415 - only who asks for it loads it
        except ImportError:
            return Driver(_module_version(root))
        library = pynvml
    try:
        library.nvmlInit()
    except library.NVMLError:
        return Driver(_module_version(root))
    try:
        return _by_nvml(library, root)
    finally:
        with suppress(library.NVMLError):
            library.nvmlShutdown()


def _by_nvml(library: Any, root: Path) -> Driver:
    def ask(name: str, *arguments: Any) -> Any:
        function = getattr(library, name, None)
        if function is None:
            return None
        with suppress(library.NVMLError):
            return function(*arguments)
        return None

    cards = {}
    for number in range(ask("nvmlDeviceGetCount") or 0):
        handle = ask("nvmlDeviceGetHandleByIndex", number)
        uuid = None if handle is None else ask("nvmlDeviceGetUUID", handle)
        if uuid:
            mode = ask("nvmlDeviceGetPersistenceMode", handle)
            # nvml.h: NVML_MEMORY_ERROR_TYPE_UNCORRECTED is 1, NVML_VOLATILE_ECC 0.
            errors = ask("nvmlDeviceGetTotalEccErrors", handle, 1, 0)
            cards[uuid] = CardState(None if mode is None else bool(mode), errors)
    cuda = ask("nvmlSystemGetCudaDriverVersion_v2") or ask("nvmlSystemGetCudaDriverVersion")
    return Driver(
        version=ask("nvmlSystemGetDriverVersion") or _module_version(root),
        cuda=f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else None,
        cards=cards,
    )


def _module_version(root: Path) -> str | None:
    for path in ("proc/driver/nvidia/version", "sys/module/nvidia/version"):
        try:
            text = (root / path).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue
        found = _KERNEL_MODULE.search(text)
        return found[1] if found else text if path.startswith("sys") and text[:1].isdigit() else None
    return None
