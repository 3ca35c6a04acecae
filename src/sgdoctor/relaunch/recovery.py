"""What to do about a relaunch that was cut off: on to its end, or back."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sgdoctor.containers.client import Client
from sgdoctor.errors import UserError
from sgdoctor.relaunch.compose import ComposeTransaction
from sgdoctor.relaunch.engine import Engine
from sgdoctor.relaunch.journal import Journal, open_journals, read_journal
from sgdoctor.relaunch.launching import quiet
from sgdoctor.relaunch.lock import Holder, holder, locked
from sgdoctor.relaunch.model import Outcome, Patience, Readiness, StepState, Watcher, Way
from sgdoctor.relaunch.returning import check_engine
from sgdoctor.relaunch.steps import Steps
from sgdoctor.relaunch.transaction import Transaction
from sgdoctor.texts import Text

_CUT_OFF: Final = Text("It was cut off.", "重启被中断。")
_ASKED: Final = Text("You asked for it.", "按你的要求恢复。")


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A relaunch without an end.

    Attributes:
        journal: of it.
        holder: who is at work on it at this moment; None if it was cut off.
    """

    journal: Journal
    holder: Holder | None


def look_for_open(
    container: str | None = None, root: Path | None = None, engine: str | None = None
) -> list[Unfinished]:
    """The relaunches that go on at this moment or were cut off, the oldest first. No engine is asked.

    Processes are not among them: they have no way back, and nothing is left of one that was cut off.

    Args:
        container: only those of the container of this name.
        root: stands for the state folder of sgdoctor.
        engine: only those of the engine of this id, and those that do not say of which; None for all.
    """
    found = [one for one in open_journals(container, root, engine) if one.intent.way is not Way.PROCESS]
    return [Unfinished(one, holder(one.intent.container, root, one.intent.engine)) for one in found]


def resume(
    client: Client,
    journal: Journal,
    *,
    readiness: Readiness,
    patience: Patience | None = None,
    watcher: Watcher = quiet,
    root: Path | None = None,
) -> Outcome:
    """Bring a relaunch that was cut off to its end: on, or back if it was on its way back.

    Args:
        client: of the engine.
        journal: open.
        readiness: knows when the new server serves.
        patience: how long is waited.
        watcher: told of each step.
        root: stands for the state folder of sgdoctor.
    """

    def go(transaction: Steps | Transaction, current: Journal) -> Outcome:
        return transaction.back(_reason(current)) if "back" in current.known else transaction.forward()

    return _take_up(
        client, journal, go, readiness=readiness, patience=patience or Patience(), watcher=watcher, root=root
    )


def undo(
    client: Client,
    journal: Journal,
    *,
    readiness: Readiness,
    patience: Patience | None = None,
    watcher: Watcher = quiet,
    root: Path | None = None,
) -> Outcome:
    """Take a relaunch that was cut off back; arguments as of ``resume``."""

    def go(transaction: Steps | Transaction, current: Journal) -> Outcome:
        return transaction.back(_reason(current, _ASKED))

    return _take_up(
        client, journal, go, readiness=readiness, patience=patience or Patience(), watcher=watcher, root=root
    )


def _take_up(
    client: Client,
    journal: Journal,
    go: Callable[[Steps | Transaction, Journal], Outcome],
    *,
    readiness: Readiness,
    patience: Patience,
    watcher: Watcher,
    root: Path | None,
) -> Outcome:
    """Go on with a relaunch that was cut off.

    Raises:
        UserError: it goes on at this moment, is not about containers of this engine, or the engine does not answer.
    """
    engine = Engine(client)
    with locked(journal.intent.container, root, journal.intent.engine):
        # It may have been brought to an end since it was read.
        current = read_journal(journal.path)
        if current is None:
            raise UserError(f"{journal.path} is gone.", f"{journal.path} 已不存在。")
        if current.outcome is not None:
            return current.outcome
        check_engine(engine, current)
        made = ComposeTransaction if current.intent.way is Way.COMPOSE else Transaction
        transaction = made(engine, current, readiness=readiness, patience=patience, watcher=watcher, root=root)
        transaction.claim()
        return go(transaction, current)


def _reason(journal: Journal, otherwise: Text = _CUT_OFF) -> Text:
    """Why the way back was begun."""
    failed = [one.note for one in journal.progress if one.state is StepState.FAILED and one.note is not None]
    return failed[0] if failed else otherwise
