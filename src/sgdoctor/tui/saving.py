"""Saves what a person would attach to an issue: the report, and the lines of the start without their secrets."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from sgdoctor.patterns import lazy_pattern
from sgdoctor.report.markdown import as_markdown
from sgdoctor.report.redact import redactor_for
from sgdoctor.tui.words import tell_count
from sgdoctor.watching.model import Lines, Snapshot

_HEAD: Final = 4000
_TAIL: Final = 16000
_AROUND: Final = 200
_UNSAFE: Final = lazy_pattern(r"[^A-Za-z0-9._-]+")


def save(snapshot: Snapshot, lines: Lines, folder: Path, lang: str, now: float) -> tuple[Path, Path]:
    """Write the report and the log of the start that is shown.

    Args:
        snapshot: what is known.
        lines: the log.
        folder: made if it is not there.
        lang: of the report.
        now: seconds since the epoch, for the names of the files.

    Returns:
        The report (``.md``) and the log (``.log``).

    Raises:
        OSError: they cannot be written.
    """
    verdict = snapshot.verdict
    name = _UNSAFE.sub("-", Path(snapshot.subject.name).name).strip("-.") or "log"
    stamp = datetime.fromtimestamp(now).strftime("%Y%m%d-%H%M%S")  # noqa: DTZ006 - the clock on the user's wall
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{name}-{verdict.attempt}-{stamp}"
    report, log = folder / f"{stem}.md", folder / f"{stem}.log"
    report.write_text(as_markdown(verdict, snapshot.subject.name, lang), encoding="utf-8")
    hide = redactor_for(verdict, redact=True)
    with log.open("w", encoding="utf-8") as out:
        out.writelines(f"{hide(line)}\n" for line in _slice(snapshot, lines, lang))
    return report, log


def _slice(snapshot: Snapshot, lines: Lines, lang: str) -> Iterator[str]:
    """The lines of the start: of a long one its beginning, its end and what stands around the evidence."""
    verdict = snapshot.verdict
    first, last = max(1, verdict.first_line), min(verdict.last_line, len(lines))
    wanted = [range(first, min(last, first + _HEAD) + 1), range(max(first, last - _TAIL), last + 1)]
    for diagnosis in verdict.diagnoses:
        for evidence in diagnosis.evidence:
            wanted.append(range(max(first, evidence.line - _AROUND), min(last, evidence.line + _AROUND) + 1))
    at = first
    for part in sorted(wanted, key=lambda part: part.start):
        if part.start > at:
            yield tell_count(lang, "slice.cut", part.start - at)
            at = part.start
        for number in range(at, part.stop):
            yield lines.raw(number)
        at = max(at, part.stop)
