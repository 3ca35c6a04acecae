"""Where healing goes after the tries so far."""

from typing import Any

import pytest

from sgdoctor.fixes.memory.solution import Interval
from sgdoctor.fixes.model import Basis, Step
from sgdoctor.launch.change import Change
from sgdoctor.relaunch.heal.model import End, Identity, Limits, Proposed, Relaunch, Result, Stop, Try
from sgdoctor.relaunch.heal.moves import FRACTION, next_move
from sgdoctor.texts import Text

INTERVAL = Interval(0.84, 0.90, 0.96)


def step(safety: str = "safe", *changes: Change) -> Step:
    return Step("fix", changes, Basis.FOUND, Text("fix it", "修复"), safety=safety, rule="SGL401")


def proposed(rest: str, fraction: float | None = None, **options: Any) -> Proposed:
    changes = () if fraction is None else (Change("flag.set", FRACTION, f"{fraction:.2f}"),)
    settings: dict[str, Any] = {"changes": changes, "steps": (step(),), "fraction": fraction, "interval": INTERVAL}
    return Proposed(Identity(rest, fraction), **(settings | options))


def failed(number: int, rest: str, fraction: float, rule: str, then: Proposed | None) -> Try:
    return Try(number, Identity(rest, fraction), Result.FAILED, rule=rule, fraction=fraction, proposed=then)


def end_of(move: Stop | Relaunch) -> End:
    assert isinstance(move, Stop)
    return move.end


def bisected(move: Stop | Relaunch) -> float | None:
    assert isinstance(move, Relaunch)
    assert move.identity.fraction is not None
    assert Change("flag.set", FRACTION, f"{move.identity.fraction:.2f}") in move.changes
    return move.bisected


def identity_of(move: Stop | Relaunch) -> Identity:
    assert isinstance(move, Relaunch)
    return move.identity


@pytest.mark.parametrize(
    ("result", "end"),
    [
        (Result.VERIFIED, End.VERIFIED),
        (Result.SERVES, End.SERVES),
        (Result.IDLE, End.IDLE),
        (Result.REFUSED, End.REFUSED),
        (Result.OPEN, End.OPEN),
        (Result.STOPPED, End.STOPPED),
        (Result.FAULTY, End.FAULTY),
        (Result.FAILED, End.UNDETERMINED),
    ],
)
def test_ends(result: Result, end: End) -> None:
    assert end is end_of(next_move([Try(0, Identity("a"), result)], Limits()))


def test_a_failure_leads_to_the_launch_of_its_plan() -> None:
    then = proposed("a", 0.92)
    move = next_move([failed(0, "a", 0.78, "SGL401", then)], Limits())

    assert Relaunch(then.changes, Identity("a", 0.92), then.steps) == move


@pytest.mark.parametrize(
    ("options", "limits", "end"),
    [
        ({"impossible": Text("too large", "太大")}, Limits(), End.DOES_NOT_FIT),
        ({"refused": Text("podman", "podman")}, Limits(), End.REFUSED),
        ({"steps": (step("unsafe"),)}, Limits(), End.UNSAFE),
        ({"steps": (step("unsafe"),)}, Limits(unsafe=True), None),
        ({"steps": (step("manual"),)}, Limits(), End.UNSAFE),
        ({"steps": (), "by_hand": (Text("edit it", "修改"),)}, Limits(), End.MANUAL),
        ({"cures": False, "by_hand": (Text("edit it", "修改"),)}, Limits(), End.MANUAL),
        ({"steps": ()}, Limits(), End.NOTHING_NEW),
        ({}, Limits(seconds=0.5), End.DEADLINE),
        ({}, Limits(tries=0), End.LIMIT),
        ({}, Limits(), None),
    ],
)
def test_what_keeps_a_plan_from_being_tried(options: dict[str, Any], limits: Limits, end: End | None) -> None:
    move = next_move([failed(0, "a", 0.9, "SGL203", proposed("b", 0.9, **options))], limits)

    assert end is (move.end if isinstance(move, Stop) else None)


def test_weights_that_are_larger_than_the_card() -> None:
    by_hand = (Text("a smaller model", "更小的模型"),)
    move = next_move([failed(0, "a", 0.9, "SGL411", proposed("a", 0.9, steps=(), by_hand=by_hand))], Limits())

    assert End.DOES_NOT_FIT is end_of(move)


def test_never_the_same_launch_twice() -> None:
    first = failed(0, "a", 0.9, "SGL203", proposed("b", 0.9))
    again = failed(1, "b", 0.9, "SGL203", proposed("a", 0.9))

    assert End.NOTHING_NEW is end_of(next_move([first, again], Limits()))


def test_pools_that_need_more_get_what_the_plan_computes() -> None:
    tries = [failed(0, "a", 0.78, "SGL401", proposed("a", 0.9))]

    assert None is bisected(next_move(tries, Limits()))


def test_graphs_that_need_more_get_half_of_what_is_left() -> None:
    tries = [failed(0, "a", 0.78, "SGL401", None), failed(1, "a", 0.92, "SGL414", proposed("a", 0.91))]

    assert 0.87 == bisected(next_move(tries, Limits()))


def test_captures_that_failed_say_nothing_of_a_launch_without_graphs() -> None:
    without = (Change("flag.set", "--disable-cuda-graph"),)
    tries = [failed(0, "a", 0.86, "SGL414", None), failed(1, "b", 0.85, "SGL414", proposed("c", 0.85, changes=without))]
    pools = [failed(0, "a", 0.86, "SGL412", None), tries[1]]

    assert Identity("c", 0.85) == identity_of(next_move(tries, Limits()))
    assert Identity("c", 0.84) == identity_of(next_move(pools, Limits()))


def test_a_plan_that_asks_for_less_than_half_is_taken() -> None:
    tries = [failed(0, "a", 0.92, "SGL414", proposed("a", 0.85))]

    assert None is bisected(next_move(tries, Limits()))


def test_smaller_graphs_are_tried_first_and_then_with_smaller_pools() -> None:
    first = failed(0, "a", 0.92, "SGL414", proposed("fewer graphs", 0.92))
    second = failed(1, "fewer graphs", 0.92, "SGL414", proposed("no graphs", 0.92))

    assert None is bisected(next_move([first], Limits()))
    assert 0.87 == bisected(next_move([first, second], Limits()))


def test_too_low_and_too_high_meet_in_between() -> None:
    tries = [
        failed(0, "a", 0.85, "SGL402", None),
        failed(1, "a", 0.92, "SGL414", None),
        failed(2, "a", 0.88, "SGL402", proposed("a", 0.9, interval=None)),
    ]
    meeting = [*tries, failed(3, "a", 0.9, "SGL414", proposed("a", 0.89, interval=None))]
    met = [*meeting, failed(4, "a", 0.89, "SGL402", proposed("a", 0.9, interval=None))]

    assert Identity("a", 0.9) == identity_of(next_move(tries, Limits(9)))
    assert Identity("a", 0.89) == identity_of(next_move(meeting, Limits(9)))
    assert End.DOES_NOT_FIT is end_of(next_move(met, Limits(9)))


@pytest.mark.parametrize(
    ("tried", "unsafe", "expected"),
    [
        ((), False, "smaller"),
        (("smaller",), False, "no graphs"),
        (("smaller", "no graphs"), False, End.UNSAFE),
        (("smaller", "no graphs"), True, "half"),
        (("smaller", "no graphs", "half"), True, End.DOES_NOT_FIT),
    ],
)
def test_where_no_fraction_is_left_something_is_given_up(
    tried: tuple[str, ...], unsafe: bool, expected: str | End
) -> None:
    ways = (
        proposed("a", 0.88),  # another fraction is none
        proposed("smaller", 0.9),
        proposed("no graphs", 0.9),
        proposed("half", 0.9, steps=(step("unsafe"),)),
    )
    last = proposed("a", 0.9, interval=None, others=ways)
    tries = [failed(number, rest, 0.9, "SGL414", None) for number, rest in enumerate(tried)]
    tries += [failed(8, "a", 0.89, "SGL402", None), failed(9, "a", 0.9, "SGL414", last)]

    move = next_move(tries, Limits(19, unsafe=unsafe))

    assert expected == (move.end if isinstance(move, Stop) else move.identity.rest)


def test_what_is_wrong_otherwise_is_not_cured_by_giving_up_memory() -> None:
    first = failed(0, "a", 0.9, "SGL203", proposed("a", 0.9, others=(proposed("smaller", 0.9),)))

    assert End.NOTHING_NEW is end_of(next_move([first], Limits()))


def test_a_plan_without_a_cure_leaves_the_fraction_to_be_tried() -> None:
    tries = [failed(0, "a", 0.92, "SGL414", proposed("a", 0.92, steps=()))]

    assert 0.87 == bisected(next_move(tries, Limits()))


@pytest.mark.parametrize("limit", range(1, 12))
def test_it_always_ends_and_stays_within_the_interval(limit: int) -> None:
    """Whatever fails, no launch comes twice."""
    for hidden in range(80, 100):
        tries = [failed(0, "a", 0.78, "SGL401", proposed("a", 0.92))]
        seen = {tries[0].identity}
        while isinstance(move := next_move(tries, Limits(limit)), Relaunch):
            fraction = move.identity.fraction
            assert fraction is not None
            assert fraction in INTERVAL
            assert move.identity not in seen
            seen.add(move.identity)
            rule = "SGL401" if fraction * 100 < hidden else "SGL414"
            tries.append(failed(len(tries), "a", fraction, rule, proposed("a", 0.92)))

        assert len(tries) - 1 <= limit
        assert move.end in (End.LIMIT, End.DOES_NOT_FIT, End.NOTHING_NEW)
