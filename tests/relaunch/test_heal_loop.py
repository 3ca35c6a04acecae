"""Healing with a ward that knows what comes of every launch."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sgdoctor.fixes.model import Basis, Step
from sgdoctor.launch.change import Change
from sgdoctor.relaunch.heal.loop import heal
from sgdoctor.relaunch.heal.model import End, Identity, Limits, Move, Proposed, Relaunch, Result, Try
from sgdoctor.texts import Text

TITLE = Text("half the size", "减半")


def step(safety: str) -> Step:
    return Step("fix", (Change("flag.set", "--kv-cache-dtype", "fp8_e5m2"),), Basis.FOUND, TITLE, safety=safety)


def failing(number: int, then: str, safety: str = "safe") -> Try:
    steps = (step(safety),)
    proposed = Proposed(Identity(then), steps[0].changes, steps)
    return Try(number, Identity(str(number)), Result.FAILED, rule="SGL203", proposed=proposed)


@dataclass
class Told:
    """A ward with its answers."""

    tries: list[Try]
    agreement: bool = True
    consent: bool = False
    stopped: bool = False
    asked: list[str] = field(default_factory=list)

    def examine(self, seconds: float | None) -> Try:
        del seconds
        return self.tries[0]

    def relaunch(self, tries: Sequence[Try], move: Relaunch, seconds: float | None) -> Try:
        self.asked.append(f"relaunch {move.identity.rest} {seconds}")
        return self.tries[len(tries)]

    def agrees(self, move: Relaunch) -> bool:
        self.asked.append(f"agrees {move.identity.rest}")
        return self.agreement

    def consents(self, steps: Sequence[Step]) -> bool:
        self.asked.append(f"consents {steps[0].id}")
        return self.consent


def test_one_after_the_other_until_one_is_verified() -> None:
    ward = Told([failing(0, "a"), failing(1, "b"), Try(2, Identity("b"), Result.VERIFIED)])
    told: list[Move] = []
    healing = heal(ward, Limits(), told=told.append)

    assert (End.VERIFIED, 2, True) == (healing.stop.end, healing.relaunches, healing.changed)
    assert ["agrees a", "relaunch a None", "relaunch b None"] == ward.asked
    assert healing.stop == told[-1]


def test_nothing_is_done_without_agreement() -> None:
    ward = Told([failing(0, "a")], agreement=False)
    healing = heal(ward, Limits())

    assert (End.NOT_AGREED, 0, False) == (healing.stop.end, healing.relaunches, healing.changed)


def test_consent_is_asked_for_each_time() -> None:
    worse = [failing(0, "a", "unsafe"), failing(1, "b", "unsafe"), Try(2, Identity("b"), Result.VERIFIED)]
    refused, given = Told(worse), Told(worse, consent=True)

    assert End.UNSAFE is heal(refused, Limits()).stop.end
    assert ["consents fix"] == refused.asked
    assert End.VERIFIED is heal(given, Limits()).stop.end
    assert 2 == given.asked.count("consents fix")


def test_user_who_wants_no_more() -> None:
    ward = Told([failing(0, "a")], stopped=True)

    assert End.STOPPED is heal(ward, Limits()).stop.end
    assert [] == ward.asked


def test_time_is_counted_down_and_not_while_the_user_reads() -> None:
    ward = Told([failing(0, "a"), failing(1, "b"), failing(2, "c")])
    moments = iter(range(0, 1000, 10))
    healing = heal(ward, Limits(seconds=65), clock=lambda: float(next(moments)))

    assert End.DEADLINE is healing.stop.end
    assert ["relaunch a 25.0", "relaunch b 5.0"] == ward.asked[1:]
