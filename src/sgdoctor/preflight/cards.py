"""Cards: those of this machine as checks see them, and those that are only named."""

from typing import Final, NamedTuple

from sgdoctor.errors import UserError
from sgdoctor.gpu.driver import CardState, Driver
from sgdoctor.gpu.model import Gpu, GpuReading
from sgdoctor.patterns import lazy_pattern
from sgdoctor.preflight.model import CardFacts
from sgdoctor.texts import Text

_SIZED: Final = lazy_pattern(r"(?P<size>\d+(?:\.\d+)?)\s*(?P<unit>gib|gb|g|mib|mb|m)?(?::sm_?(?P<sm>\d{2,3}))?")
_SEVERAL: Final = lazy_pattern(r"(?P<count>\d{1,2})\s*[x*×]\s*(?P<one>.+)")
_MOST: Final = 16
_LARGE_MIB: Final = 60 * 1024
# What the driver keeps of an idle card: 616 MiB on an H200 (docs/gpu-check.md), about 320 MiB on 24 GB cards.
_RESERVE_MIB: Final = 320.0
_RESERVE_OF_LARGE_MIB: Final = 616.0
_NO_STATE: Final = CardState()


class _Model(NamedTuple):
    """A card as ``nvidia-smi`` shows it."""

    name: str
    total_mib: int
    sm: int


_MODELS: Final = {
    "2080ti": _Model("NVIDIA GeForce RTX 2080 Ti", 11264, 75),
    "titanrtx": _Model("NVIDIA TITAN RTX", 24576, 75),
    "3060": _Model("NVIDIA GeForce RTX 3060", 12288, 86),
    "3070": _Model("NVIDIA GeForce RTX 3070", 8192, 86),
    "3080": _Model("NVIDIA GeForce RTX 3080", 10240, 86),
    "3080ti": _Model("NVIDIA GeForce RTX 3080 Ti", 12288, 86),
    "3090": _Model("NVIDIA GeForce RTX 3090", 24576, 86),
    "3090ti": _Model("NVIDIA GeForce RTX 3090 Ti", 24564, 86),
    "4060": _Model("NVIDIA GeForce RTX 4060", 8188, 89),
    "4060ti": _Model("NVIDIA GeForce RTX 4060 Ti", 16380, 89),
    "4070": _Model("NVIDIA GeForce RTX 4070", 12282, 89),
    "4070tisuper": _Model("NVIDIA GeForce RTX 4070 Ti SUPER", 16376, 89),
    "4080": _Model("NVIDIA GeForce RTX 4080", 16376, 89),
    "4080super": _Model("NVIDIA GeForce RTX 4080 SUPER", 16376, 89),
    "4090": _Model("NVIDIA GeForce RTX 4090", 24564, 89),
    "4090d": _Model("NVIDIA GeForce RTX 4090 D", 24564, 89),
    "5060ti": _Model("NVIDIA GeForce RTX 5060 Ti", 16311, 120),
    "5070": _Model("NVIDIA GeForce RTX 5070", 12227, 120),
    "5070ti": _Model("NVIDIA GeForce RTX 5070 Ti", 16303, 120),
    "5080": _Model("NVIDIA GeForce RTX 5080", 16303, 120),
    "5090": _Model("NVIDIA GeForce RTX 5090", 32607, 120),
    "a4000": _Model("NVIDIA RTX A4000", 16376, 86),
    "a5000": _Model("NVIDIA RTX A5000", 24564, 86),
    "a6000": _Model("NVIDIA RTX A6000", 49140, 86),
    "6000ada": _Model("NVIDIA RTX 6000 Ada Generation", 49140, 89),
    "pro6000": _Model("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 97887, 120),
    "t4": _Model("Tesla T4", 15360, 75),
    "v100": _Model("Tesla V100-SXM2-32GB", 32768, 70),
    "p40": _Model("Tesla P40", 24576, 61),
    "a10": _Model("NVIDIA A10", 23028, 86),
    "a10g": _Model("NVIDIA A10G", 23028, 86),
    "a30": _Model("NVIDIA A30", 24576, 80),
    "a40": _Model("NVIDIA A40", 46068, 86),
    "a100": _Model("NVIDIA A100-SXM4-80GB", 81920, 80),
    "a10080gb": _Model("NVIDIA A100-SXM4-80GB", 81920, 80),
    "a10040gb": _Model("NVIDIA A100-SXM4-40GB", 40960, 80),
    "l4": _Model("NVIDIA L4", 23034, 89),
    "l20": _Model("NVIDIA L20", 46068, 89),
    "l40": _Model("NVIDIA L40", 46068, 89),
    "l40s": _Model("NVIDIA L40S", 46068, 89),
    "h20": _Model("NVIDIA H20", 97871, 90),
    "h100": _Model("NVIDIA H100 80GB HBM3", 81559, 90),
    "h200": _Model("NVIDIA H200", 143771, 90),
    "b200": _Model("NVIDIA B200", 183359, 100),
}
"""By the name that people use: lower case, without the maker, the series and blanks."""
_GENERATIONS: Final = (
    *(50, 52, 53, 60, 61, 62, 70, 72, 75),
    *(80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121),
)
"""Compute capabilities, times ten, that CUDA 12 and 13 build for (``nvcc --list-gpu-arch``), Maxwell to Blackwell.

No room for others: a slip of the keyboard is likelier than a card that no SGLang was built for, and the size alone
does for such a card.
"""
_PREFIXES: Final = ("nvidia", "geforce", "quadro", "tesla", "rtx", "gtx")


def named_cards(text: str) -> tuple[CardFacts, ...]:
    """The cards that a user names for a machine that is not here, idle.

    Args:
        text: ``3090``, ``2x4090``, ``24GiB:sm86``, or several of those with commas between.

    Raises:
        UserError: no such card is known.
    """
    found: list[CardFacts] = []
    for part in filter(None, (part.strip().lower() for part in text.split(","))):
        several = _SEVERAL.fullmatch(part)
        count = int(several["count"]) if several else 1
        model = _named(several["one"] if several else part, text)
        for _ in range(count):
            found.append(_idle(len(found), model))
    if not 0 < len(found) <= _MOST:
        raise UserError(
            f"--gpu {text}: name 1 to {_MOST} cards, such as 3090, 2x4090 or 24GiB:sm86",
            f"--gpu {text}：请指定 1 到 {_MOST} 块显卡，例如 3090、2x4090 或 24GiB:sm86",
        )
    return tuple(found)


def cards_of(reading: GpuReading, driver: Driver) -> tuple[CardFacts, ...]:
    """The cards of a reading of which the memory is known; the slices of a cut card instead of the card."""
    return tuple(_card(gpu, driver.cards.get(gpu.uuid, _NO_STATE)) for gpu in reading.gpus if gpu.total_mib is not None)


def _card(gpu: Gpu, state: CardState) -> CardFacts:
    holders: dict[str, float] = {}
    for process in gpu.processes:
        name = f"container {process.container_name}" if process.container_name else process.name or f"pid {process.pid}"
        holders[name] = holders.get(name, 0.0) + (process.used_mib or 0.0)
    total = gpu.total_mib or 0.0
    return CardFacts(
        number=gpu.number,
        name=gpu.name,
        sm=gpu.sm,
        total_mib=total,
        free_mib=total if gpu.free_mib is None else gpu.free_mib,
        holders=tuple(sorted(holders.items(), key=lambda holder: -holder[1])),
        uuid=gpu.uuid,
        persistence=state.persistence,
        ecc_errors=state.ecc_errors,
        notes=gpu.notes,
    )


def idle_mib(total_mib: float) -> float:
    """What is free on a card of this size that nobody uses, in MiB."""
    return total_mib - (_RESERVE_OF_LARGE_MIB if total_mib > _LARGE_MIB else _RESERVE_MIB)


def _idle(number: int, model: _Model) -> CardFacts:
    note = Text("not a card of this machine: named with --gpu", "并非本机显卡：由 --gpu 指定")
    return CardFacts(number, model.name, model.sm or None, model.total_mib, idle_mib(model.total_mib), notes=(note,))


def _named(one: str, whole: str) -> _Model:
    key = "".join(one.replace("-", " ").replace("_", " ").split())
    for prefix in _PREFIXES:
        key = key.removeprefix(prefix)
    if key in _MODELS:
        return _MODELS[key]
    sized = _SIZED.fullmatch(one.strip())
    # A bare number is the name of a card that is not known rather than a size.
    if sized is None or not (sized["unit"] or sized["sm"]):
        known = ", ".join(_MODELS)
        raise UserError(
            f"--gpu {whole}: {one} is not known. Give memory and generation, such as 24GiB:sm86, or one of: {known}",
            f"--gpu {whole}：不认识 {one}。请给出显存和架构，例如 24GiB:sm86，或以下之一：{known}",
        )
    mib = float(sized["size"]) * (1 if (sized["unit"] or "g").startswith("m") else 1024)
    if idle_mib(mib) <= 0:
        raise UserError(f"--gpu {whole}: no card has so little memory", f"--gpu {whole}：没有显存这么小的显卡")
    sm = int(sized["sm"] or 0)
    if sm and sm not in _GENERATIONS:
        known = ", ".join(f"sm{one}" for one in _GENERATIONS)
        size = f"{mib / 1024:g}GiB"
        raise UserError(
            f"--gpu {whole}: there is no compute capability sm{sm}. There are: {known}. "
            f"For a card that is newer give its memory alone: {size}",
            f"--gpu {whole}：没有计算能力 sm{sm}。现有：{known}。更新的显卡请只给出显存：{size}",
        )
    kind = f" sm{sm}" if sm else ""
    return _Model(f"GPU of {mib / 1024:g} GiB{kind}", round(mib), sm)
