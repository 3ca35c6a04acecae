"""Questions that are asked at the same time, and given up together when the time is over."""

from collections.abc import Callable, Mapping
from threading import Thread
from time import monotonic
from typing import Any, Final

_PARTING_S: Final = 0.5


def asked_together(
    questions: Mapping[str, Callable[[], Any]], seconds: float, give_up: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """The answers that came in time, by the names of their questions.

    Args:
        questions: each runs in a thread of its own. A driver or an engine may hang in it for good.
        seconds: that all of them have together.
        give_up: called when the time is over and answers are missing; those who ask may then put things away.

    Raises:
        Exception: what one of them raised in time.
    """
    answers: dict[str, Any] = {}
    errors: list[Exception] = []
    threads = [_started(name, question, answers, errors) for name, question in questions.items()]
    _wait(threads, seconds)
    in_time = dict(answers)
    if any(thread.is_alive() for thread in threads):
        give_up()
        _wait(threads, _PARTING_S)
    elif errors:
        raise errors[0]
    return in_time


def _started(name: str, question: Callable[[], Any], answers: dict[str, Any], errors: list[Exception]) -> Thread:
    def work() -> None:
        try:
            answers[name] = question()
        except Exception as error:  # noqa: BLE001 - raised again where somebody waits for the answer
            errors.append(error)

    thread = Thread(target=work, name=f"preflight-{name}", daemon=True)
    thread.start()
    return thread


def _wait(threads: list[Thread], seconds: float) -> None:
    end = monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, end - monotonic()))
