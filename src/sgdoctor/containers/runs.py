"""The starts of one container: when each began, which lines are its, how it ended."""

from dataclasses import dataclass
from typing import Final

from sgdoctor.containers.client import Client, Look
from sgdoctor.containers.kept import kept_lines
from sgdoctor.containers.records import Container, ExitFacts

# A process prints its first line a little before the engine notes that it was started (0.1 s on a busy machine), and a
# restart policy waits 0.1 s or more.
_EARLY: Final = 50 * 10**6
_EARLY_BY_HAND: Final = 10**9
_SECOND: Final = 10**9
_HOUR: Final = 3600 * 10**9


@dataclass(slots=True)
class Run:
    """One start of the container.

    Attributes:
        started: in nanoseconds since the epoch.
        begins: lines of this time or later are its.
        restart_count: of the restart policy.
        first: whether the container had never run before.
        facts: how it ended, once that is known.
    """

    started: int
    begins: int
    restart_count: int
    first: bool = False
    facts: ExitFacts | None = None


def unknown_runs(client: Client, look: Look, known: Run | None, *, new: bool = False) -> list[Run]:
    """The starts after ``known`` up to the newest one, oldest first; also learns how ``known`` ended.

    Args:
        client: of the engine.
        look: the container, which has run.
        known: the newest start that is known; None if none is.
        new: whether the container is known from before its first start.
    """
    assert look.started is not None
    if known is not None and known.started == look.started:
        return []
    facts = look.facts
    missed: list[Run] = []
    if known is None:
        if new and facts.restart_count:
            missed = _missed(client, look, None)
    elif known.facts is None or facts.restart_count > known.restart_count + 1:
        missed = _missed(client, look, known)
    first = (new and not facts.restart_count) or (look.running and facts.finished is None)
    # Docker counts a restart when it decides on it, before it waits.
    restarts = facts.restart_count - facts.restarting
    return [*missed, Run(look.started, _begins(client, look), restarts, first)]


def _begins(client: Client, look: Look) -> int:
    """When the output of the newest start begins: half way between the end of the start before and its own."""
    assert look.started is not None
    started, ended = look.started, look.facts.finished
    if not look.running:
        # That is its own end, for a short run even before `started`. (While it runs, it is that of the start before.)
        happenings = client.happenings(look.container.id, started - _HOUR)
        dies = [happening.time for happening in happenings if happening.action == "die" and happening.time < started]
        ended = dies[-1] if dies else None
    if ended is not None:
        return _border(client, look.container, ended, started)
    return started - (_EARLY if look.facts.restart_count else _EARLY_BY_HAND)


def _border(client: Client, container: Container, ended: int, started: int) -> int:
    """The first time of a line after the end of a start, half way to the next one."""
    border = (ended + started) // 2
    if not client.is_podman():
        return border
    # It may tell whole seconds: behind the last line that it knows to be earlier.
    second = border // _SECOND * _SECOND
    earlier = kept_lines(client, container, since=second - 1, until=border)
    return max([second, *(entry.time + 1 for entry in earlier)])


def _missed(client: Client, look: Look, known: Run | None) -> list[Run]:
    """What the engine's events tell about starts that came and went between two looks, or before the first one."""
    assert look.started is not None
    missed: list[Run] = []
    run, end = known, None
    for happening in client.happenings(look.container.id, known.started - _EARLY if known else look.started - _HOUR):
        if happening.action == "die":
            end = happening.time
            if run is not None and run.facts is None:
                run.facts = ExitFacts(
                    happening.exit_code, restart_count=run.restart_count, started=run.started, finished=end
                )
        elif happening.action == "start" and (run is None or end is not None):
            # The event comes a little after the time that `inspect` tells; the newest start is known already.
            if happening.time >= look.started:
                break
            if run is None or end is None:
                run = Run(happening.time, 0, 0, first=True)
            else:
                run = Run(happening.time, _border(client, look.container, end, happening.time), run.restart_count + 1)
            missed.append(run)
            end = None
    return missed


def exit_facts(client: Client, container: Container, run: Run) -> ExitFacts:
    """How a start ended: from ``inspect`` while it is the newest one, else from the engine's events."""
    if run.facts is not None:
        return run.facts
    now = client.inspect(container.id)
    if now is not None and now.started == run.started:
        # A container that was renamed and runs on did not end, it is only not followed any more.
        return now.facts if not now.running else ExitFacts(None, started=run.started)
    happenings = client.happenings(container.id, run.started - _EARLY)
    died = next((happening for happening in happenings if happening.action == "die"), None)
    return ExitFacts(
        died.exit_code if died else None,
        oom_killed=any(happening.action == "oom" for happening in happenings),
        restart_count=run.restart_count,
        started=run.started,
        finished=died.time if died else None,
        removed=now is None,
    )
