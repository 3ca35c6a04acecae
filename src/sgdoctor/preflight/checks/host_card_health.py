"""The cards have had no hardware trouble."""

from collections.abc import Iterable
from typing import ClassVar, Final

from sgdoctor.patterns import lazy_pattern
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_NUMBER: Final = lazy_pattern(r"Xid \([^)]*\): (\d+)")
# https://docs.nvidia.com/deploy/xid-errors: hardware, power and bus. 13, 31, 43 and 45 come of programs, too.
_HARDWARE: Final = frozenset({48, 61, 62, 63, 64, 74, 79, 92, 94, 95, 119, 120, 140, 143})


class CardsHealthy:
    """Neither memory errors nor complaints of the driver about the hardware."""

    id: ClassVar[str] = "cards-healthy"
    area: ClassVar[Area] = Area.HOST
    title: ClassVar[Text] = Text("Health of the cards", "显卡健康状况")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """One for this machine, or one for each trouble."""
        host = situation.host
        if host.simulated or not host.cards:
            return
        troubles = [*_memory(situation), *_complaints(situation)]
        yield from troubles
        if not troubles:
            slow = [card for card in host.cards if card.persistence is False]
            detail = Text(
                "Persistence mode is off: each first use of an idle card takes seconds (sudo nvidia-smi -pm 1).",
                "未开启持久模式：每次首次使用空闲显卡都要多等几秒（sudo nvidia-smi -pm 1）。",
            )
            yield Finding(Status.PASS, Text("no trouble known", "未发现问题"), detail=detail if slow else None)


def _memory(situation: Situation) -> Iterable[Finding]:
    for card in situation.host.cards:
        if card.ecc_errors:
            yield Finding(
                Status.WARN,
                Text(
                    f"GPU {card.number} has had uncorrected memory errors: {card.ecc_errors}",
                    f"GPU {card.number} 出现过 {card.ecc_errors} 次无法纠正的显存错误",
                ),
                detail=Text(
                    "Such errors end programs with CUDA errors and change results. Reset the card or have it replaced.",
                    "此类错误会使程序以 CUDA 错误结束，也会改变结果。请重置或更换显卡。",
                ),
            )


def _complaints(situation: Situation) -> Iterable[Finding]:
    hardware = [one for one in situation.host.xids if _number(one) in _HARDWARE]
    if hardware:
        yield Finding(
            Status.WARN,
            Text("the driver has complained about the hardware", "驱动报告过硬件问题"),
            hardware[-1],
            detail=Text(
                "Look at power, cables, riser and temperature: such a card fails again under load.",
                "请检查供电、线缆、转接卡和温度：这样的显卡在负载下会再次出错。",
            ),
        )


def _number(complaint: str) -> int:
    found = _NUMBER.match(complaint)
    return int(found[1]) if found else 0
