"""Relaunches that have no end yet, said before any command touches their container."""

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from sgdoctor.messages import say

if TYPE_CHECKING:
    from sgdoctor.relaunch.journal import Journal
    from sgdoctor.relaunch.recovery import Unfinished

_ENDS = b'{"ending":'
_SHORTEST_ID = 4


def tell_open(target: str | None, lang: str) -> None:
    """One line on standard error for each relaunch of a container that was cut off or goes on at this moment.

    Args:
        target: name, id or service of the container; None for any.
        lang: ``en`` or ``zh``.
    """
    if not _may_be_open():
        return
    from sgdoctor.relaunch.recovery import look_for_open
    from sgdoctor.report.safe import printable

    for unfinished in look_for_open():
        if target is None or is_about(unfinished.journal, target):
            sys.stderr.write(say(lang, "error", text=printable(open_text(unfinished, lang))) + "\n")


def open_text(unfinished: "Unfinished", lang: str) -> str:
    """How a relaunch without an end stands, and the way out."""
    from sgdoctor.cli.relaunch_texts import words

    journal, name = unfinished.journal, unfinished.journal.intent.container
    if unfinished.holder is not None:
        return words(lang, "under_way", name=name, pid=unfinished.holder.pid, step=step_reached(journal, lang))
    time = f"{journal.began.astimezone():%Y-%m-%d %H:%M:%S}"
    return words(lang, "unfinished", name=name, time=time, step=step_reached(journal, lang))


def step_reached(journal: "Journal", lang: str) -> str:
    """The last step that was begun, in words."""
    from sgdoctor.cli.relaunch_texts import words
    from sgdoctor.relaunch.wording import step_text

    if not journal.progress:
        return words(lang, "unfinished.before")
    return step_text(journal.progress[-1].step).in_language(lang)


def is_about(journal: "Journal", target: str) -> bool:
    """Whether somebody who gives this name, id, service or compose file means the container of a journal."""
    intent = journal.intent
    ids = [intent.old_id, journal.known.get("new", "")]
    labels = (intent.old.get("Config") or {}).get("Labels") or {}
    if target in (intent.container, labels.get("com.docker.compose.service")):
        return True
    if (file := intent.facts.get("file")) is not None and file in (
        os.path.realpath(target),
        os.path.realpath(target.rpartition(":")[0]),
    ):
        return True
    return len(target) >= _SHORTEST_ID and any(one.startswith(target) for one in ids if one)


def _may_be_open() -> bool:
    """Whether a journal has no last line of its own; found without reading the journals as such.

    A journal is cut to its length when it has ended, and is longer than that until then.
    """
    from sgdoctor.containers.spool import state_dir

    with suppress(OSError), os.scandir(state_dir() / "relaunch") as entries:
        for entry in entries:
            if entry.name.endswith(".jsonl") and not _has_ended(entry.path):
                return True
    return False


def _has_ended(path: str) -> bool:
    with open(path, "rb") as file:  # noqa: PTH123 - pathlib costs more than the look
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - (16 << 10)))
        lines = file.read().rstrip(b"\0").rsplit(b"\n", 2)
    return len(lines) > 1 and lines[-1] == b"" and lines[-2].startswith(_ENDS)
