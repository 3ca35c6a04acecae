"""Carries out a relaunch or a way back: consent, the steps as they are taken, and the last line."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from rich.console import Console
from rich.text import Text as Styled

from sgdoctor.cli.relaunch_steps import Interrupts, StepLines
from sgdoctor.cli.relaunch_texts import words
from sgdoctor.containers.client import Client
from sgdoctor.containers.spool import state_dir
from sgdoctor.diagnosis.wording import duration
from sgdoctor.errors import UserError
from sgdoctor.redaction import Redactor, unredacted
from sgdoctor.relaunch.model import Ending, Outcome, Patience, Readiness, Watcher
from sgdoctor.relaunch.readiness import EngineReadiness
from sgdoctor.relaunch.unawaited import Unawaited
from sgdoctor.report.canvas import Canvas
from sgdoctor.report.safe import printable
from sgdoctor.report.text import Options, print_verdict
from sgdoctor.texts import Text
from sgdoctor.watching.history import History

if TYPE_CHECKING:
    from sgdoctor.rules.base import RuleBase

EXIT_SERVES: Final = 0
EXIT_REFUSED: Final = 2
EXIT_BACK: Final = 3
EXIT_OPEN: Final = 4
EXIT_STOPPED: Final = 130


class Act(Protocol):
    """Does it."""

    def __call__(self, *, readiness: Readiness, patience: Patience, watcher: Watcher) -> Outcome:
        """Returns once the server serves or everything is as before; arguments as of ``relaunch``."""


@dataclass(frozen=True, slots=True)
class Errand:
    """What is to be carried out.

    Attributes:
        container: name.
        act: does it.
        done: the last line where the server serves; ``{name}`` and ``{time}`` are filled in.
        undone: whether going back is what was asked for, so that it is a success.
        awaited: whether the server has to serve; a launch that failed before is put back as it was.
    """

    container: str
    act: Act
    done: str
    undone: bool = False
    awaited: bool = True


def agreed(name: str, lang: str, *, yes: bool, stops: bool) -> bool:
    """Whether the user agrees.

    Args:
        name: of the container.
        lang: ``en`` or ``zh``.
        yes: whether that was said already.
        stops: whether a container that runs is going to be stopped: then its name has to be typed.

    Raises:
        UserError: nobody can be asked.
    """
    if yes:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserError(words("en", "no_terminal"), words("zh", "no_terminal"))
    sys.stdout.flush()
    sys.stderr.write(words(lang, "ask.name" if stops else "ask.yes", name=name))
    sys.stderr.flush()
    answer = sys.stdin.readline().strip()
    return answer == name if stops else answer.lower() in ("y", "yes")


def carry_out(
    client: Client,
    errand: Errand,
    base: "RuleBase",
    console: Console,
    lang: str,
    *,
    hide: Redactor,
    limit: float | None = None,
) -> tuple[int, Outcome, float]:
    """Carries it out.

    Args:
        client: of the engine.
        errand: what.
        base: the rules.
        console: where the steps are shown.
        lang: ``en`` or ``zh``.
        hide: hides secrets.
        limit: seconds that the server may take; None for as long as it makes progress.

    Returns:
        The exit code, what came of it, and the seconds that it took.
    """
    readiness: Readiness = Unawaited()
    if errand.awaited:
        history = History(state_dir() / "starts.jsonl")
        readiness = EngineReadiness(client.connections.endpoint, base, limit=limit, history=history)
    lines = StepLines(console, lang, hide)
    with Interrupts(readiness, errand.container, lang) as interrupts:
        try:
            with lines:
                outcome = errand.act(
                    readiness=readiness, patience=Patience(ready=limit), watcher=interrupts.watching(lines)
                )
        except KeyboardInterrupt:
            outcome = Outcome(Ending.OPEN, reason=Text(words("en", "open.stopped"), words("zh", "open.stopped")))
        return code_of(outcome, errand, stopped=interrupts.count > 0), outcome, lines.seconds


def code_of(outcome: Outcome, errand: Errand, *, stopped: bool) -> int:
    """The exit code for what came of an errand; ``stopped``: whether the user ended it."""
    if outcome.ending is Ending.DONE:
        return EXIT_SERVES
    if stopped:
        return EXIT_STOPPED
    if errand.undone and outcome.ending in (Ending.BACK, Ending.REFUSED) and outcome.journal:
        return EXIT_SERVES
    return {Ending.BACK: EXIT_BACK, Ending.REFUSED: EXIT_REFUSED}.get(outcome.ending, EXIT_OPEN)


def print_outcome(
    console: Console,
    errand: Errand,
    result: tuple[int, Outcome, float],
    lang: str,
    *,
    runs: bool,
    hide: Redactor,
) -> None:
    """Prints what came of it; the last line is the verdict.

    Args:
        console: where to.
        errand: what was carried out.
        result: of ``carry_out``.
        lang: ``en`` or ``zh``.
        runs: whether the container of this name runs now.
        hide: hides secrets.
    """
    _, outcome, _ = result
    canvas = Canvas(console, lang)
    for note in outcome.notes:
        canvas.line(
            Styled(hide(printable(note.in_language(lang)))), 2, Styled(f"{canvas.glyphs.warned} ", style="yellow")
        )
    if outcome.verdict is not None:
        canvas.blank()
        print_verdict(console, outcome.verdict, errand.container, Options(lang=lang, redact=hide is not unredacted))
    if outcome.log is not None:
        canvas.whole(Styled(printable(words(lang, "log", path=outcome.log)), style="dim"))
    canvas.blank()
    style = "bold green" if outcome.ending is Ending.DONE else "bold"
    canvas.whole(Styled(hide(printable(closing(errand, result, lang, runs=runs))), style=style))


def closing(errand: Errand, result: tuple[int, Outcome, float], lang: str, *, runs: bool) -> str:
    """The last line."""
    code, outcome, seconds = result
    name = errand.container
    why = outcome.reason.in_language(lang) if outcome.reason is not None else ""
    match outcome.ending:
        case Ending.DONE:
            return errand.done.format(name=name, time=duration(seconds).in_language(lang))
        case Ending.OPEN:
            return words(lang, "open", name=name, why=why)
        case _ if code == EXIT_STOPPED:
            return words(lang, "stopped", name=name)
        case _ if code == EXIT_SERVES:
            return words(lang, "undone", name=name)
        case Ending.BACK:
            return words(lang, "back.runs" if runs else "back.stands", name=name, why=why)
    return words(lang, "refused.nothing", name=name, why=why)


def as_outcome_data(errand: Errand, result: tuple[int, Outcome, float], lang: str, hide: Redactor) -> dict[str, Any]:
    """What came of it, as plain data."""
    from sgdoctor.relaunch.journal import journal_dir, read_journal, seconds_of
    from sgdoctor.report.json import as_data

    code, outcome, seconds = result
    journal = read_journal(journal_dir() / f"{outcome.journal}.jsonl") if outcome.journal else None
    return {
        "ending": outcome.ending.value,
        "exit_code": code,
        "container": outcome.container,
        "reason": hide(outcome.reason.in_language(lang)) if outcome.reason is not None else None,
        "seconds": round(seconds, 2),
        "steps": {step.value: round(taken, 2) for step, taken in seconds_of(journal).items()} if journal else {},
        "journal": outcome.journal or None,
        "log": str(Path(outcome.log)) if outcome.log is not None else None,
        "notes": [hide(note.in_language(lang)) for note in outcome.notes],
        "diagnosis": as_data(outcome.verdict, errand.container, lang, redact=hide is not unredacted)
        if outcome.verdict
        else None,
    }


def is_running(client: Client, name: str) -> bool:
    """Whether the container of this name runs; not where the engine does not answer."""
    try:
        look = client.inspect(name)
    except UserError:
        return False
    return look is not None and look.running
