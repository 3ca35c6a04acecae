"""What one launch of a container's history says."""

import difflib
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text as Styled

from sgdoctor.cli.relaunch_texts import words
from sgdoctor.diagnosis.wording import duration, phase_label
from sgdoctor.engines.base import PhaseName
from sgdoctor.redaction import HIDDEN, Redactor
from sgdoctor.relaunch.model import Attempt, Ending, Purpose, Step, Way
from sgdoctor.report.plan_redact import hidden_words
from sgdoctor.report.safe import printable
from sgdoctor.report.wording import change_text

if TYPE_CHECKING:
    from sgdoctor.launch.change import Change

_STYLES: Final = {"+": "green", "-": "red"}
_SHORT_ID: Final = 12
_SHORTEST_PHASE: Final = 0.1


def command_diff(before: Sequence[str], after: Sequence[str]) -> list[Styled]:
    """The flags by which two commands differ, one line each; none if they are the same."""
    old, new = _lines(before), _lines(after)
    rows = [row for row in difflib.ndiff(old, new) if row[:1] in _STYLES]
    return [Styled(printable(f"{row[0]} {row[2:]}"), style=_STYLES[row[0]]) for row in rows]


def _lines(command: Sequence[str]) -> list[str]:
    """A line for the program, and one for each flag with its values."""
    lines: list[list[str]] = [[]]
    for word in command:
        if word.startswith("--"):
            lines.append([])
        lines[-1].append(word)
    return [_typed(line) for line in lines if line]


def _typed(words: Sequence[str]) -> str:
    """Words as one would type them; what stands for a secret is no text to be typed."""
    return " ".join(word if HIDDEN in word else shlex.quote(word) for word in words)


def row_lines(attempt: Attempt, before: Sequence[str], lang: str, hide: Redactor) -> list[Styled]:
    """A launch on the terminal.

    Args:
        attempt: which.
        before: the command of the launch that it replaced.
        lang: ``en`` or ``zh``.
        hide: hides secrets.
    """
    parts = [f"{attempt.number}"]
    if attempt.began is not None:
        parts.append(f"{attempt.began.astimezone():%Y-%m-%d %H:%M:%S}")
    parts.append(_ending(attempt, lang))
    if attempt.purpose is Purpose.ROLLBACK:
        parts.append(words(lang, "history.rollback"))
    if attempt.container:
        parts.append(attempt.container[:_SHORT_ID])
    if attempt.current and attempt.way is not Way.PROCESS:
        parts.append(words(lang, "history.current"))
    lines = [Styled("  ".join(parts), style="bold" if attempt.current else "")]
    if attempt.ending is None or (attempt.way is Way.PROCESS and attempt.number == 1):
        lines.append(Styled(hide(printable(_typed(hidden_words(attempt.command, hide)))), style="dim"))
    else:
        diff = command_diff(hidden_words(before, hide), hidden_words(attempt.command, hide))
        others = [change for change in attempt.changes if not change.kind.startswith("flag.")]
        lines += diff or [
            Styled(hide(printable(change_text(change, lang))), style="cyan")
            for change in attempt.changes
            if change not in others
        ]
        lines += [Styled(printable(_other(change, lang, hide)), style="cyan") for change in others]
    if times := _times(attempt, lang):
        lines.append(Styled(times, style="dim"))
    if attempt.reason is not None:
        lines.append(Styled(hide(printable(attempt.reason.in_language(lang))), style="red"))
    if attempt.rule:
        lines.append(Styled(words(lang, "history.rule", rule=attempt.rule), style="dim"))
    if attempt.log is not None:
        lines.append(Styled(printable(words(lang, "log", path=attempt.log)), style="dim"))
    return lines


def _other(change: "Change", lang: str, hide: Redactor) -> str:
    from sgdoctor.redaction import hidden_value

    value = None if change.value is None else hidden_value(change.value, f"{change.name}=", hide)
    return hide(change_text(change._replace(value=value), lang))


def _ending(attempt: Attempt, lang: str) -> str:
    """What became of it."""
    if attempt.ending is None:
        return words(lang, "history.original")
    if attempt.way is Way.PROCESS and attempt.ending is Ending.OPEN:
        return words(lang, "process.runs" if attempt.current else "process.open")
    if attempt.ending is Ending.FAILED and Step.SERVE in attempt.seconds:
        return words(lang, "process.served_failed")
    return words(lang, f"ending.{attempt.ending}")


def _process_times(attempt: Attempt, lang: str) -> str:
    """How long a start took and served, with its phases."""

    def said(step: Step) -> str:
        return duration(attempt.seconds[step]).in_language(lang)

    parts = []
    if Step.SERVE in attempt.seconds:
        parts.append(words(lang, "process.ready", time=said(Step.READY)))
        parts.append(words(lang, "process.serving", time=said(Step.SERVE)))
    elif Step.READY in attempt.seconds:
        parts.append(words(lang, "process.ran", time=said(Step.READY)))
    parts += [
        f"{phase_label(PhaseName(name)).in_language(lang)} {duration(seconds).in_language(lang)}"
        for name, seconds in attempt.phases.items()
        if seconds >= _SHORTEST_PHASE
    ]
    return ("，" if lang == "zh" else ", ").join(parts)


def _times(attempt: Attempt, lang: str) -> str:
    """How long it took."""
    if attempt.way is Way.PROCESS:
        return _process_times(attempt, lang)
    if not attempt.seconds:
        return ""
    total = duration(sum(attempt.seconds.values())).in_language(lang)
    ready = attempt.seconds.get(Step.READY)
    if ready is None or attempt.reason is not None:
        return words(lang, "history.total", total=total)
    return words(lang, "history.times", ready=duration(ready).in_language(lang), total=total)


def as_row_data(attempt: Attempt, lang: str, hide: Redactor) -> dict[str, Any]:
    """A launch as plain data."""
    from sgdoctor.redaction import hidden_value

    return {
        "number": attempt.number,
        "container": attempt.container or None,
        "began": attempt.began.isoformat() if attempt.began is not None else None,
        "purpose": attempt.purpose.value if attempt.ending is not None else None,
        "way": attempt.way.value,
        "ending": attempt.ending.value if attempt.ending is not None else None,
        "current": attempt.current,
        "command": hidden_words(attempt.command, hide),
        "changes": [
            {
                "kind": change.kind,
                "name": change.name,
                "value": None if change.value is None else hidden_value(change.value, f"{change.name}=", hide),
            }
            for change in attempt.changes
        ],
        "phases": dict(attempt.phases),
        "seconds": {step.value: round(seconds, 2) for step, seconds in attempt.seconds.items()},
        "reason": hide(attempt.reason.in_language(lang)) if attempt.reason is not None else None,
        "rule": attempt.rule or None,
        "log": attempt.log,
        "journal": attempt.journal or None,
    }
