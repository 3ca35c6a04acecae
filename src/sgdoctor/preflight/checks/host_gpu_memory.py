"""The memory of the cards is free, or who holds it."""

from collections.abc import Iterable
from typing import ClassVar, Final

from sgdoctor.launch.change import Change
from sgdoctor.preflight.cards import idle_mib
from sgdoctor.preflight.chosen_cards import chosen_cards
from sgdoctor.preflight.model import Area, CardFacts, Finding, Situation, Status
from sgdoctor.texts import Text

_MUCH_MIB: Final = 1024.0
_SHOWN: Final = 4
_CONTAINER: Final = "container "


class MemoryFree:
    """Nobody else holds much of the cards' memory."""

    id: ClassVar[str] = "gpu-memory-free"
    area: ClassVar[Area] = Area.HOST
    title: ClassVar[Text] = Text("Free memory of the cards", "空闲显存")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """One for each card that the launch gets."""
        if situation.host.simulated:
            return
        cards = chosen_cards(situation) or situation.host.cards
        own = f"{_CONTAINER}{situation.launch.name}" if situation.launch and situation.launch.name else ""
        for card in cards:
            yield _finding(card, own)


def _finding(card: CardFacts, own: str) -> Finding:
    # A container that is to be started anew gives back what it holds.
    given_back = sum(mib for name, mib in card.holders if name == own)
    free = card.free_mib + given_back
    taken = max(0.0, idle_mib(card.total_mib) - free)
    others = [(name, mib) for name, mib in card.holders if name != own]
    evidence = ", ".join(f"{name} {mib / 1024:.1f} GiB" if mib else name for name, mib in others[:_SHOWN])
    amount = f"{free / 1024:.1f} / {card.total_mib / 1024:.1f} GiB"
    after = Text("", "")
    if given_back:
        after = Text(" once the container has ended", "（容器结束后）")
    if taken <= _MUCH_MIB:
        return Finding(
            Status.PASS,
            Text(f"GPU {card.number}: {amount} free{after.en}", f"GPU {card.number}：空闲 {amount}{after.zh}"),
            evidence,
        )
    containers = [name.removeprefix(_CONTAINER) for name, mib in others if name.startswith(_CONTAINER) and mib]
    return Finding(
        Status.WARN,
        Text(
            f"GPU {card.number}: only {amount} free{after.en}; {taken / 1024:.1f} GiB are taken",
            f"GPU {card.number}：仅空闲 {amount}{after.zh}；已被占用 {taken / 1024:.1f} GiB",
        ),
        evidence or next((note.en for note in card.notes), ""),
        prevents="SGL411",
        changes=tuple(Change("host.command", "", f"docker stop {name}") for name in containers),
        detail=Text(
            "SGLang sizes its caches by what is free at its start; what others take later makes it run out.",
            "SGLang 按启动时的空闲显存确定缓存大小；其他程序之后再占用就会导致显存不足。",
        ),
        phase="weights",
    )
