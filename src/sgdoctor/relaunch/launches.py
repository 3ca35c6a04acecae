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
        held: id of the container that has the name now, which may have been given it by hand; empty where that is not
            known, and the journals say it.
    """
    return tuple(one.attempt for one in _held(launches_of(container, root, engine), held))


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


def wanted_launch(
    container: str, to: To, root: Path | None = None, *, engine: str | None = None, held: str = ""
) -> tuple[Attempt, Attempt]:
    """The launch that a container is at, and the one that ``rollback`` would go back to.

    Args:
        container: name.
        to: as of ``rollback``.
        root: stands for the state folder of sgdoctor.
        engine: as of ``history``.
        held: as of ``history``.

    Raises:
        UserError: there is no such launch, or it is the one that the container is at.
    """
    current, wanted = wanted_of(container, to, root, engine, held)
    return current.attempt, wanted.attempt


@dataclass(frozen=True, slots=True)
class Launched:
    """An attempt, and what it can be made from again."""

    attempt: Attempt
    made: CreateBody
    journal: Journal


def launches_of(container: str, root: Path | None, engine: str | None = None) -> list[Launched]:
    """As ``history``, each with what it can be made from again."""
    found: list[Launched] = []
    holds = 0
    there = journals(container, root)
    engine = _engine_of_last(there) if engine is None else engine
    for journal in there:
        if not journal.intent.may_be_on(engine):
            continue
        outcome, intent = journal.outcome, journal.intent
        if outcome is not None and outcome.ending is Ending.REFUSED:
            continue
        if intent.way is Way.PROCESS:
            found = [one for one in found if one.attempt.way is Way.PROCESS]
            found.append(Launched(_start(journal, len(found) + 1, root), CreateBody({}), journal))
            continue
        found = [one for one in found if one.attempt.way is not Way.PROCESS]
        if intent.way is Way.CONTAINER:
            # Somebody may have put an earlier one back by hand.
            holds = max((one.attempt.number for one in found if one.attempt.container == intent.old_id), default=holds)
        holder_id = found[holds].attempt.container if found else ""
        if not found or (intent.way is Way.CONTAINER and holder_id != intent.old_id):
            policy = mapping(mapping(intent.old.get("HostConfig")).get("RestartPolicy"))
            original = _request(intent.original, intent.original_connects, intent.platform, policy)
            first = Attempt(0, intent.old_id, intent.old_command, journal=journal.id, way=intent.way)
            found, holds = [Launched(first, original, journal)], 0
        if last_log := journal.known.get("old_log"):
            found[holds] = replace(found[holds], attempt=replace(found[holds].attempt, last_log=last_log))
        attempt = _attempt(journal, len(found))
        found.append(Launched(attempt, _request(intent.body, intent.connects, intent.platform, intent.policy), journal))
        if outcome is None:
            continue
        if outcome.ending is Ending.DONE:
            holds = attempt.number
        # A container that removes itself has another id once it was made again.
        holding = found[holds]
        found[holds] = replace(holding, attempt=replace(holding.attempt, container=outcome.container))
    if found and found[0].attempt.way is not Way.PROCESS:
        found[holds] = replace(found[holds], attempt=replace(found[holds].attempt, current=True))
    return found


def _held(launches: list[Launched], held: str) -> list[Launched]:
    """The same, with the launch of the container that has the name as the current one; none is if it has another."""
    first = launches[0].attempt if launches else None
    if not held or first is None or first.way is not Way.CONTAINER:
        return launches  # Compose has another container each time, and knows which is its own
    holds = max((one.attempt.number for one in launches if one.attempt.container == held), default=None)
    return [replace(one, attempt=replace(one.attempt, current=one.attempt.number == holds)) for one in launches]


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
    launches = _held(launches_of(container, root, engine), held)
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
