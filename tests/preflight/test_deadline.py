"""Questions that are asked together have one deadline."""

from threading import Event

import pytest

from sgdoctor.preflight.deadline import asked_together


def test_all_answers_that_come() -> None:
    assert {"one": 1, "two": 2} == asked_together({"one": lambda: 1, "two": lambda: 2}, 10.0)


def test_what_hangs_is_given_up_and_may_put_things_away() -> None:
    stop, put_away = Event(), Event()

    def hang() -> str:
        stop.wait(30.0)
        put_away.set()
        return "late"

    found = asked_together({"quick": lambda: "now", "slow": hang}, 0.05, stop.set)

    assert {"quick": "now"} == found
    assert put_away.wait(10.0)


def test_an_error_is_raised_where_the_answer_was_wanted() -> None:
    with pytest.raises(ZeroDivisionError):
        asked_together({"one": lambda: 1, "bad": lambda: 1 / 0}, 10.0)
