"""The launches that a container has had, from the journals, and which of them is meant."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from sgdoctor.errors import UserError
from sgdoctor.launch.inspection import CreateBody
from sgdoctor.launch.inspection.reading import mapping
from sgdoctor.relaunch.journal import Journal, journals, seconds_of
from sgdoctor.relaunch.lock import holder
from sgdoctor.relaunch.model import Attempt, Ending, Way

To = Literal["last-good", "original"] | int
"""Which launch to go back to: the one before, the one before all relaunches, or the number of an attempt."""


def history(container: str, root: Path | None = None, engine: str | None = None, held: str = "") -> tuple[Attempt, ...]:
    """The launches that a container has had through relaunches, the original first; empty if there were none.

    Launches that were refused before anything was touched are no attempts. After somebody made a new container of the
    same name by other means, the list begins anew, as it does between containers and processes of one name. Starts of a
    process count from 1, and the current one is the one that runs.

    Args:
        container: name.
        root: stands for the state folder of sgdoctor.
        engine: id of the one that the container is on, as another may have one of the same name; None for the one that
            it was relaunched on last.
        held: id of the container that has the name now, which may have been given it by hand, or have had another one:
            its launches of then are among them; empty where that is not known, and the journals say it.
    """
    return tuple(one.attempt for one in launches_of(container, root, engine, held))


def elsewhere(container: str, engine: str | None, root: Path | None = None) -> list[Journal]:
    """The journals of containers of this name on other engines, the oldest first.

    Args:
        container: name.
        engine: id of the one that is meant; None as of ``history``.
        root: stands for the state folder of sgdoctor.
    """
    found = journals(container, root)
    engine = _engine_of_last(found) if engine is None else engine
    return [one for one in found if not one.intent.may_be_on(engine)]


@dataclass(frozen=True, slots=True)
class Launched:
    """An attempt, and what it can be made from again."""

    attempt: Attempt
    made: CreateBody
    journal: Journal

    @property
    def containers(self) -> set[str]:
        """Ids of the containers that its journal speaks of."""
        known = self.journal.known
        return {self.attempt.container, self.journal.intent.old_id, known.get("new", ""), known.get("restored", "")} - {
            ""
        }


def launches_of(container: str, root: Path | None = None, engine: str | None = None, held: str = "") -> list[Launched]:
    """As ``history``, each with what it can be made from again."""
    there = journals(container, root)
    engine = _engine_of_last(there) if engine is None else engine
    lines = _lines([one for one in there if one.intent.may_be_on(engine)], root)
    own = lines[-1] if lines else []
    if held and engine:
        own = _renamed(own, held, root, engine) or own
    return _held(own, held)


def names_of(launches: Sequence[Launched]) -> set[str]:
    """The names that their container has had."""
    return {one.journal.intent.container for one in launches}


def moved_away(container: str, engine: str, names: Mapping[str, str], root: Path | None = None) -> list[Launched]:
    """The launches of containers that had a name, and have another one now.

    Args:
        container: the name.
        engine: id of the one that it is on.
        names: of all containers there, by their ids.
        root: stands for the state folder of sgdoctor.
    """
    lines = _lines([one for one in journals(container, root, engine) if one.intent.engine], root)
    away = [line for line in lines if names.get(_holder_of(line), container) != container]
    return [one for line in away for one in line]


def _renamed(own: list[Launched], held: str, root: Path | None, engine: str) -> list[Launched]:
    """The launches of a container under all names that it has had; none if it is not one of them.

    Only the container that holds a name by the journals takes its launches along when somebody renames it: one that is
    kept, and is given a name to be used beside it, is none of them.

    Args:
        own: of the name that it has now.
        held: its id.
        root: stands for the state folder of sgdoctor.
        engine: id of the one that it is on.
    """
    by_name: dict[str, list[Journal]] = {}
    for one in journals(root=root, engine=engine):
        if one.intent.engine and one.intent.way is not Way.PROCESS:
            by_name.setdefault(one.intent.container, []).append(one)
    lines = [line for there in by_name.values() for line in _lines(there, root)]
    # Of two with one holder the later one begins where the other ends.
    lines.sort(key=lambda line: line[0].journal.began, reverse=True)
    is_own = any(one.attempt.container == held for one in own)
    parts = [own] if is_own else []
    told = {one.journal.id for part in parts for one in part}
    first = own[0].attempt.container if is_own else held
    while first:
        line = next((one for one in lines if _holder_of(one) == first and one[0].journal.id not in told), None)
        if line is None:
            break
        parts.insert(0, line)
        told |= {one.journal.id for one in line}
        first = line[0].attempt.container
    whole = {one.journal.id: one.journal for part in parts for one in part}
    return _lines(list(whole.values()), root)[-1] if whole else []


def _holder_of(line: Sequence[Launched]) -> str:
    """Id of the container that has the name, by the journals."""
    return next((one.attempt.container for one in line if one.attempt.current), "")


def _lines(there: Sequence[Journal], root: Path | None) -> list[list[Launched]]:
    """The launches that follow from one another, the oldest first; a line begins with a container made by others."""
    lines: list[list[Launched]] = []
    for journal in there:
        intent = journal.intent
        if journal.outcome is not None and journal.outcome.ending is Ending.REFUSED:
            continue
        is_process = intent.way is Way.PROCESS
        line = lines[-1] if lines else []
        if not line or (line[0].attempt.way is Way.PROCESS) != is_process or not _follows(journal, line):
            line = [] if is_process else [_original(journal)]
            lines.append(line)
        if is_process:
            line.append(Launched(_start(journal, len(line) + 1, root), CreateBody({}), journal))
        else:
            _take(journal, line)
    return lines


def _follows(journal: Journal, line: list[Launched]) -> bool:
    """Whether a journal is about the container that has the name; somebody may have put an earlier one back by hand."""
    intent = journal.intent
    if intent.way is not Way.CONTAINER:
        return True
    back = [one.attempt.number for one in line if one.attempt.container == intent.old_id]
    if back:
        _mark(line, max(back))
    return bool(back)


def _original(journal: Journal) -> Launched:
    """The launch that the first relaunch replaced."""
    intent = journal.intent
    policy = mapping(mapping(intent.old.get("HostConfig")).get("RestartPolicy"))
    made = _request(intent.original, intent.original_connects, intent.platform, policy)
    first = Attempt(0, intent.old_id, intent.old_command, current=True, journal=journal.id, way=intent.way)
    return Launched(first, made, journal)


def _take(journal: Journal, line: list[Launched]) -> None:
    """Add the launch of a journal."""
    outcome, intent = journal.outcome, journal.intent
    holds = next(one.attempt.number for one in line if one.attempt.current)
    if last_log := journal.known.get("old_log"):
        line[holds] = _with(line[holds], last_log=last_log)
    made = _request(intent.body, intent.connects, intent.platform, intent.policy)
    line.append(Launched(_attempt(journal, len(line)), made, journal))
    if outcome is None:
        return
    if outcome.ending is Ending.DONE:
        holds = line[-1].attempt.number
        _mark(line, holds)
    # A container that removes itself has another id once it was made again.
    line[holds] = _with(line[holds], container=outcome.container)


def _mark(line: list[Launched], current: int | None) -> None:
    line[:] = [_with(one, current=one.attempt.number == current) for one in line]


def _with(launched: Launched, **values: Any) -> Launched:
    return replace(launched, attempt=replace(launched.attempt, **values))


def _held(launches: list[Launched], held: str) -> list[Launched]:
    """The same, with the launch of the container that has the name as the current one; none is if it has another."""
    first = launches[0].attempt if launches else None
    if held and first is not None and first.way is Way.CONTAINER:
        # Compose has another container each time, and knows which is its own.
        _mark(launches, max((one.attempt.number for one in launches if one.attempt.container == held), default=None))
    return launches


def _engine_of_last(found: Sequence[Journal]) -> str | None:
    """The engine of the newest journal that says of which it is."""
    return next((one.intent.engine for one in reversed(found) if one.intent.engine), None)


def _attempt(journal: Journal, number: int) -> Attempt:
    """What a journal says of the start that it is about."""
    outcome, intent = journal.outcome, journal.intent
    return Attempt(
        number=number,
        container=journal.known.get("new", ""),
        command=intent.command,
        changes=intent.changes,
        began=journal.began,
        ending=outcome.ending if outcome is not None else Ending.OPEN,
        reason=outcome.reason if outcome is not None else None,
        seconds=seconds_of(journal),
        log=journal.known.get("log"),
        rule=journal.known.get("rule", ""),
        purpose=intent.purpose,
        journal=journal.id,
        way=intent.way,
    )


def _start(journal: Journal, number: int, root: Path | None) -> Attempt:
    """A start of a process; without an end it is the one that runs, or was cut off."""
    return replace(
        _attempt(journal, number),
        current=journal.outcome is None and holder(journal.intent.container, root) is not None,
        phases=json.loads(journal.known.get("phases", "{}")),
    )


def _request(
    body: Mapping[str, Any],
    connects: tuple[tuple[str, Mapping[str, Any]], ...],
    platform: str | None,
    policy: Mapping[str, Any],
) -> CreateBody:
    host = {**mapping(body.get("HostConfig")), "RestartPolicy": dict(policy)}
    return CreateBody({**body, "HostConfig": host}, connects, platform)


def wanted_of(
    container: str, to: To, root: Path | None, engine: str | None, held: str = ""
) -> tuple[Launched, Launched]:
    """The launch that a container is at, and the one that is meant.

    Raises:
        UserError: there is none, or it is the same.
    """
    launches = launches_of(container, root, engine, held)
    current = next((one for one in launches if one.attempt.current), None)
    if current is None and any(one.attempt.way is not Way.PROCESS for one in launches):
        raise _by_others(container)
    if current is None:
        if others := elsewhere(container, engine, root):
            raise other_engine(others[-1])
        raise _unknown(container)
    wanted = _chosen(launches, to, container)
    if wanted is current or (wanted.attempt.container and wanted.attempt.container == current.attempt.container):
        raise _already(container, wanted.attempt.number)
    return current, wanted


def edits_since(wanted: Launched, launches: Sequence[Launched]) -> list[tuple[str, str]]:
    """What leads from a compose file as it is to an earlier launch: texts from which and to which, in this order."""
    later = [
        one for one in launches if one.attempt.number > wanted.attempt.number and one.attempt.ending is Ending.DONE
    ]
    facts = [one.journal.intent.facts for one in reversed(later)]
    edits = [(str(one["after"]), str(one["before"])) for one in facts]
    if wanted.attempt.ending is Ending.BACK:
        # It was undone at the time.
        edits.append((str(wanted.journal.intent.facts["before"]), str(wanted.journal.intent.facts["after"])))
    return edits


def _unknown(name: str) -> UserError:
    return UserError(f"{name}: no relaunch of this container is known here.", f"{name}：这里没有该容器的重启记录。")


def _by_others(name: str) -> UserError:
    return UserError(
        f"{name} is none of the launches that are known here: somebody else made it after the last relaunch.",
        f"{name} 不是这里已知的任何一次启动：上次重启之后，其他人创建了这个容器。",
    )


def _chosen(launches: Sequence[Launched], to: To, name: str) -> Launched:
    """The launch that is meant.

    Raises:
        UserError: there is none, or it is the one that runs.
    """
    if to == "original":
        number = 0
    elif to == "last-good":
        good = [
            one.attempt for one in launches if one.attempt.ending in (None, Ending.DONE) and not one.attempt.current
        ]
        if not good:
            raise UserError(
                f"{name}: no launch before this one is known to have served; there are: {_numbers(launches)}",
                f"{name}：此前没有已知能提供服务的启动；现有编号：{_numbers(launches)}",
            )
        number = good[-1].number
    else:
        number = to
    if not 0 <= number < len(launches):
        numbers = _numbers(launches)
        raise UserError(
            f"{name} has no such earlier launch; there are: {numbers}", f"{name} 没有这次启动；现有编号：{numbers}"
        )
    return launches[number]


def _numbers(launches: Sequence[Launched]) -> str:
    return ", ".join(str(one.attempt.number) for one in launches)


def _already(name: str, number: int) -> UserError:
    return UserError(f"{name} is at launch {number} already.", f"{name} 当前就是第 {number} 次启动。")


def other_engine(journal: Journal) -> UserError:
    """That a journal is about a container of another engine than the one in use."""
    name, place = journal.intent.container, journal.intent.endpoint
    return UserError(
        f"{name} was relaunched on another container engine ({place or 'unknown'}) than the one in use; set "
        "DOCKER_HOST.",
        f"{name} 是在另一个容器引擎（{place or '未知'}）上重启的，而不是当前使用的引擎；请设置 DOCKER_HOST。",
    )
