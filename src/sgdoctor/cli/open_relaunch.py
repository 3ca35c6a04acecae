"""Relaunches that have no end yet, said before any command touches their container."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from sgdoctor.messages import say

if TYPE_CHECKING:
    from sgdoctor.containers.client import Client
    from sgdoctor.relaunch.journal import Damaged, Journal
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
    engine, held = _engine_and_id(target)
    for unfinished in _told_about(engine, target, held, lang):
        _tell(open_text(unfinished, lang), lang)


def open_here(client: "Client", target: str, lang: str) -> "list[Unfinished]":
    """The relaunches of a container that have no end, the oldest first.

    What is known of containers of the same name on other engines, and what cannot be read, is said on standard error.

    Args:
        client: of the engine.
        target: name, id or service of the container.
        lang: ``en`` or ``zh``.

    Returns:
        Those of this engine; of all where it does not answer.
    """
    if not _may_be_open():
        return []
    from sgdoctor.containers.transport import UnreachableError

    engine, held = None, ""
    with suppress(UnreachableError):
        engine, held = _asked(client, target)
    return _told_about(engine, target, held, lang)


def _told_about(engine: str | None, target: str | None, held: str, lang: str) -> "list[Unfinished]":
    from sgdoctor.relaunch.journal import damaged_journals
    from sgdoctor.relaunch.recovery import look_for_open

    found = [one for one in look_for_open() if target is None or is_about(one.journal, target, held)]
    here = [one for one in found if one.journal.intent.may_be_on(engine)]
    if others := [one.journal for one in found if one not in here]:
        _tell(elsewhere_text(others, lang, key="open_elsewhere"), lang)
    tell_damaged([one for one in damaged_journals(target) if not one.ended], lang)
    return here


def check_free(client: "Client", *names: str) -> None:
    """Whether nobody else is at work on a container, or was when it was cut off.

    Args:
        client: of the engine.
        names: by which it may be known.

    Raises:
        UserError: somebody is; or the engine does not answer.
    """
    from sgdoctor.relaunch import claim
    from sgdoctor.relaunch.engine import Engine

    for name in dict.fromkeys(names):
        claim.check_free(Engine(client), name)


def _engine_and_id(target: str | None) -> tuple[str | None, str]:
    """Id of the engine in use, None where none answers, and of its container of this name; empty if it has none."""
    from sgdoctor.containers.client import Client
    from sgdoctor.containers.endpoint import find_endpoint
    from sgdoctor.errors import UserError

    with suppress(UserError), Client(find_endpoint()) as client:
        return _asked(client, target)
    return None, ""


def _asked(client: "Client", target: str | None) -> tuple[str, str]:
    from sgdoctor.containers.find import may_be_container
    from sgdoctor.relaunch.engine import Engine

    # Somebody may have renamed the container since.
    look = client.inspect(target) if target is not None and may_be_container(target) else None
    return Engine(client).identity(), look.container.id if look is not None else ""


def tell_damaged(found: "Sequence[Damaged]", lang: str) -> None:
    """One line on standard error for each journal that cannot be read."""
    from sgdoctor.cli.relaunch_texts import words

    for one in found:
        key = "damaged.ended" if one.ended else "damaged"
        _tell(words(lang, key, path=one.path, why=one.why.in_language(lang), id=one.path.stem), lang)


def elsewhere_text(found: "Sequence[Journal]", lang: str, *, key: str) -> str:
    """That there are journals of containers of a name on other engines, in one line."""
    from sgdoctor.cli.relaunch_texts import words

    unknown = words(lang, "place.unknown")
    places = sorted({one.intent.endpoint or unknown for one in found})
    return words(lang, key, name=found[-1].intent.container, count=len(found), places=", ".join(places))


def _tell(text: str, lang: str) -> None:
    from sgdoctor.report.safe import printable

    sys.stderr.write(say(lang, "error", text=printable(text)) + "\n")


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


def is_about(journal: "Journal", target: str, held: str = "") -> bool:
    """Whether somebody who gives this name, id, service or compose file means the container of a journal.

    Args:
        journal: of a relaunch.
        target: what was given.
        held: id of the container that has it as its name now; empty where that is not known.
    """
    intent = journal.intent
    ids = [intent.old_id, journal.known.get("new", ""), journal.known.get("restored", "")]
    if held and held in ids:
        return True
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
    try:
        return _ends(path)
    except OSError:
        return False  # whoever reads it says why it cannot be read


def _ends(path: str) -> bool:
    with open(path, "rb") as file:  # noqa: PTH123 - pathlib costs more than the look
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - (16 << 10)))
        lines = file.read().rstrip(b"\0").rsplit(b"\n", 2)
    return len(lines) > 1 and lines[-1] == b"" and lines[-2].startswith(_ENDS)
