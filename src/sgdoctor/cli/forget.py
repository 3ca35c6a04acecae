"""``sgdoctor forget``: what was kept of a container's earlier launches is removed."""

import argparse
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sgdoctor.cli.relaunch_texts import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sgdoctor.cli.parsing import Parser
    from sgdoctor.containers.client import Client, Listed
    from sgdoctor.containers.spool import SpooledAttempt
    from sgdoctor.relaunch.journal import Journal

_EXIT_PARTLY: Final = 3
_UNITS: Final = ("B", "KiB", "MiB", "GiB")


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is there to be removed.

    Attributes:
        containers: stopped ones that gave their name away.
        running: those of them that somebody started again; they stay.
        logs: of starts.
        journals: closed.
        files: that launches of a process needed; None if there are none.
    """

    containers: "list[Listed]"
    running: "list[Listed]"
    logs: "list[SpooledAttempt]"
    journals: "list[Journal]"
    files: "Path | None"

    @property
    def is_empty(self) -> bool:
        return not (self.containers or self.logs or self.journals or self.files)


def configure(parser: "Parser") -> None:
    """Adds the arguments of ``forget``."""
    lang = parser.lang
    parser.description = words(lang, "forget.about")
    parser.add_argument("container", metavar="CONTAINER", help=words(lang, "relaunch.container"))
    parser.add_argument("--yes", action="store_true", help=words(lang, "yes"))


def run(arguments: argparse.Namespace, lang: str) -> int:
    """Says what would be removed, asks, and removes it; an open journal and its containers are never touched."""
    from sgdoctor.cli.history import name_of
    from sgdoctor.cli.main import complain
    from sgdoctor.cli.open_relaunch import check_free, open_here, open_text
    from sgdoctor.cli.relaunch_run import EXIT_REFUSED, agreed
    from sgdoctor.containers.find import check_one, look_for
    from sgdoctor.relaunch.engine import Engine
    from sgdoctor.relaunch.journal import damaged_journals
    from sgdoctor.relaunch.lock import holder, locked
    from sgdoctor.report.safe import printable

    name = name_of(arguments.container)
    with _engine_of(name) as client:
        if client is None and holder(name) is not None:
            return complain(printable(words(lang, "forget.runs", name=name)), lang)
        if client is not None:
            if found := open_here(client, name, lang):
                return complain(printable(open_text(found[-1], lang)), lang)
            if any(not one.ended for one in damaged_journals(name)):
                # Said by then; what it was about may be the only server that there is.
                return _close("forget.damaged", name, lang, EXIT_REFUSED)
            check_free(client, name)
            if (look := look_for(client, arguments.container, None)) is not None:
                check_one(client, arguments.container, look)
        kept = _kept(client, name)
        for entry in kept.running:
            complain(printable(words(lang, "forget.runs", name=entry.name)), lang)
        if kept.is_empty:
            return _close("forget.none", name, lang)
        head = words(lang, "forget.head", name=name)
        sys.stdout.writelines(f"{printable(line)}\n" for line in (head, *(f"  {one}" for one in _lines(kept, lang))))
        if not agreed(name, lang, yes=arguments.yes, stops=False):
            return _close("not_agreed", name, lang, EXIT_REFUSED)
        with locked(name, engine="" if client is None else Engine(client).identity()):
            # A relaunch may have begun while the user thought about it.
            if client is not None:
                if found := open_here(client, name, lang):
                    return complain(printable(open_text(found[-1], lang)), lang)
                check_free(client, name)
            whole = _remove(client, kept, lang)
    _close("forget.done" if whole else "forget.partly", name, lang)
    return 0 if whole else _EXIT_PARTLY


@contextmanager
def _engine_of(name: str) -> "Iterator[Client | None]":
    """The container engine; None for a process, which has none."""
    from sgdoctor.containers.client import Client
    from sgdoctor.containers.endpoint import find_endpoint
    from sgdoctor.relaunch.journal import journals
    from sgdoctor.relaunch.model import Way

    known = journals(name)
    if known and all(journal.intent.way is Way.PROCESS for journal in known):
        yield None
        return
    with Client(find_endpoint()) as client:
        yield client


def _kept(client: "Client | None", name: str) -> _Kept:
    from sgdoctor.containers.spool import spooled
    from sgdoctor.processes.record import files_folder
    from sgdoctor.relaunch.engine import Engine
    from sgdoctor.relaunch.journal import journals
    from sgdoctor.relaunch.launching import is_kept
    from sgdoctor.relaunch.model import Way

    containers = client.containers() if client is not None else ()
    engine = Engine(client).identity() if client is not None else ""
    scope = _scope(name, engine, containers)

    def is_ours(journal: "Journal") -> bool:
        """Not of a container of the same name on another engine, or that has another name by now: it keeps its way."""
        if journal.intent.way is Way.PROCESS:
            return True
        return journal.outcome is not None and journal.intent.may_be_on(engine) and journal.id not in scope.others

    def is_of_others(attempt: "SpooledAttempt") -> bool:
        """Whether a journal of theirs speaks of a log."""
        return attempt.container.id in others or str(attempt.path) in others

    ours = [one for one in journals() if (one.intent.container == name or one.id in scope.journals) and is_ours(one)]
    others = {
        text
        for journal in journals(name)
        if not is_ours(journal)
        for text in (journal.intent.old_id, *journal.known.values())
    } - scope.containers
    found = [
        entry
        for entry in containers
        if entry.id not in others
        and (
            is_kept(entry.name, name)
            or any(entry.id in scope.containers and is_kept(entry.name, one) for one in scope.names)
        )
    ]
    files = files_folder(name)
    running = [entry for entry in found if entry.running]
    logs = [one for one in spooled() if one.container.name == name or one.container.id in scope.containers]
    return _Kept(
        containers=[entry for entry in found if not entry.running],
        running=running,
        logs=[one for one in logs if not is_of_others(one)],
        # Of one that runs they are the way back.
        journals=[] if running else ours,
        files=files if os.path.isdir(files) else None,  # noqa: PTH112 - says no to a name that is too long for a file
    )


@dataclass(frozen=True, slots=True)
class _Scope:
    """What a name stands for, where containers were renamed.

    Attributes:
        names: others that the container of this name has had.
        containers: ids of those that its launches ran in.
        journals: ids of those of its launches.
        others: ids of journals of this name that are about a container with another one by now.
    """

    names: "set[str]"
    containers: "set[str]"
    journals: "set[str]"
    others: "set[str]"


def _scope(name: str, engine: str, containers: "Sequence[Listed]") -> _Scope:
    from sgdoctor.relaunch.launches import launches_of, moved_away, names_of

    held = next((entry.id for entry in containers if entry.name == name), "")
    launches = launches_of(name, engine=engine, held=held) if held else []
    ids = {identity for one in launches for identity in one.containers}
    is_its = any(one.attempt.current for one in launches)
    # Somebody may have given an earlier one that name back: the launches are that one's then.
    if not is_its or any(entry.id in ids and entry.name in names_of(launches) - {name} for entry in containers):
        launches, ids = [], set()
    journals = {one.journal.id for one in launches}
    away = moved_away(name, engine, {entry.id: entry.name for entry in containers}) if engine else []
    return _Scope(names_of(launches), ids, journals, {one.journal.id for one in away} - journals)


def _lines(kept: _Kept, lang: str) -> list[str]:
    lines = [words(lang, "forget.container", name=entry.name, state=entry.id[:12]) for entry in kept.containers]
    if kept.logs:
        size = sum(attempt.path.stat().st_size for attempt in kept.logs)
        lines.append(words(lang, "forget.logs", count=len(kept.logs), size=_size(size)))
    if kept.files is not None:
        lines.append(words(lang, "forget.files", folder=kept.files))
    if kept.journals:
        lines.append(words(lang, "forget.journals", count=len(kept.journals)))
    return lines


def _remove(client: "Client | None", kept: _Kept, lang: str) -> bool:
    """Removes it, the journals last: they are what the rest is found by. Whether all of it is gone."""
    from shutil import rmtree

    from sgdoctor.cli.main import complain
    from sgdoctor.containers.spool import remove_spooled
    from sgdoctor.errors import UserError
    from sgdoctor.relaunch.engine import Engine
    from sgdoctor.report.safe import printable

    whole = True
    for entry in kept.containers:
        assert client is not None
        try:
            Engine(client).discard(entry.id)
        except UserError as error:
            why = error.text(lang)
            complain(printable(words(lang, "forget.failed", name=entry.name, why=why)), lang)
            whole = False
    for attempt in kept.logs:
        whole = remove_spooled(attempt) and whole
    if kept.files is not None:
        # Links are removed as links: what they point to is the user's.
        rmtree(kept.files, ignore_errors=True)
        whole = not kept.files.exists() and whole
    if whole:
        for journal in kept.journals:
            journal.discard()
    return whole


def _close(key: str, name: str, lang: str, code: int = 0) -> int:
    from sgdoctor.report.safe import printable

    sys.stdout.write(printable(words(lang, key, name=name)) + "\n")
    return code


def _size(size: float) -> str:
    for unit in _UNITS[:-1]:
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} {_UNITS[-1]}"
