"""The report of healing: every launch that was tried, why it failed, and what the container runs now."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from rich.text import Text as Styled

from sgdoctor.cli.heal_texts import words
from sgdoctor.diagnosis.model import Verdict
from sgdoctor.diagnosis.wording import duration
from sgdoctor.redaction import Redactor
from sgdoctor.relaunch.heal.model import End, Healing, Relaunch, Result, Try
from sgdoctor.report.canvas import Canvas
from sgdoctor.report.safe import printable
from sgdoctor.report.wording import change_text
from sgdoctor.verify.model import Check, Grade

EXIT: Final = {
    End.VERIFIED: 0,
    End.IDLE: 0,
    End.REFUSED: 2,
    End.NOT_AGREED: 2,
    End.OPEN: 4,
    End.UNDETERMINED: 5,
    End.FAULTY: 5,
    End.STOPPED: 130,
}
_NOT_HEALED: Final = 3
_UNCHECKED: Final = 4
_FACTS: Final = ("kv_tokens", "max_running_requests", "fraction", "available_gpu_mem_gib", "ready_seconds")


class Report(NamedTuple):
    """What is reported.

    Attributes:
        container: name.
        healing: all that was done.
        verify: whether answers were to be asked for.
        lang: ``en`` or ``zh``.
        hide: hides secrets.
    """

    container: str
    healing: Healing
    verify: bool
    lang: str
    hide: Redactor

    @property
    def exit_code(self) -> int:
        """Of the process."""
        end = self.healing.stop.end
        if end is End.SERVES:
            return _UNCHECKED if self.verify else 0
        return EXIT.get(end, _NOT_HEALED)

    @property
    def closing(self) -> str:
        """The last line."""
        healing, stop = self.healing, self.healing.stop
        why = stop.why.in_language(self.lang) if stop.why is not None else ""
        count = healing.relaunches
        key = {End.VERIFIED: "well", End.SERVES: "runs"}.get(stop.end, stop.end.value) if not count else stop.end.value
        relaunches = self._words("one_relaunch") if count == 1 else self._words("relaunches", count=count)
        time = duration(healing.seconds).in_language(self.lang)
        text = self._words(f"end.{key}", name=self.container, why=why, count=relaunches, time=time).strip()
        state = self._state()
        return self.safe(f"{text}{' ' if self.lang == 'en' and state else ''}{state}")

    def _state(self) -> str:
        """How the container stands where it was not healed."""
        last, end = self.healing.tries[-1], self.healing.stop.end
        if end in (End.VERIFIED, End.SERVES, End.OPEN, End.NOT_AGREED, End.IDLE):
            return ""
        return self._words("as_before" if last.number and self.healing.relaunches else "untouched")

    def name_of(self, tried: Try) -> str:
        """What a try is called."""
        return self._words("relaunch", number=tried.number) if tried.number else self._words("found")

    def heading_of(self, tried: Try) -> str:
        """A try and what came of it, in a line."""
        return self._words("tried", name=self.name_of(tried), result=self.result_of(tried))

    def changes_of(self, tried: Try) -> str:
        """By what it differs from the original launch."""
        texts = [change_text(change, self.lang) for change in tried.changes]
        return self.safe(", ".join(texts) or self._words("no_changes"))

    def result_of(self, tried: Try) -> str:
        """What came of it."""
        parts = [self._words(f"result.{tried.result.value}")]
        if tried.seconds >= 1:
            parts.append(self._words("after", time=duration(tried.seconds).in_language(self.lang)))
        return (" " if self.lang == "en" else "，").join(parts)

    def details_of(self, tried: Try) -> Iterator[str]:
        """Further lines about it."""
        if tried.reason is not None:
            rule = f"{tried.rule} " if tried.rule else ""
            yield self.safe(f"{rule}{tried.reason.in_language(self.lang)}")
        tokens, requests = (_value(tried.verdict, name) for name in ("kv_tokens", "max_running_requests"))
        if tried.result in (Result.VERIFIED, Result.SERVES) and tokens is not None and requests is not None:
            yield self._words("pool", tokens=f"{tokens:,}", requests=requests)
        for check in tried.verification.checks if tried.verification is not None else ():
            yield self.check(check)
        yield from (self.safe(one.in_language(self.lang)) for one in tried.remarks if one != tried.reason)
        if tried.log is not None:
            yield self.safe(self._words("log", path=tried.log))

    def check(self, check: Check) -> str:
        """A check in a line."""
        title, detail = (text.in_language(self.lang) for text in (check.title, check.detail))
        return self.safe(self._words("check", title=title, detail=detail))

    def safe(self, text: str) -> str:
        """Text without secrets and without what a terminal would obey."""
        return self.hide(printable(text))

    def _words(self, key: str, **values: object) -> str:
        return words(self.lang, key, **values)


def move_line(move: Relaunch, number: int, tries: int, lang: str) -> str:
    """The relaunch that is about to be made, in a line.

    Args:
        move: which.
        number: of it, from 1.
        tries: at most.
        lang: ``en`` or ``zh``.
    """
    return words(lang, "try", number=number, tries=tries, changes=changes_line(move, lang))


def changes_line(move: Relaunch, lang: str) -> str:
    """What a relaunch changes, in a line."""
    changes = ", ".join(change_text(change, lang) for change in move.changes)
    return changes if move.bisected is None else f"{changes} ({words(lang, 'bisected')})"


def print_report(canvas: Canvas, report: Report) -> None:
    """Prints it; the last line is what came of it."""
    canvas.blank()
    canvas.line(Styled(words(report.lang, "report"), style="underline" if canvas.console.is_terminal else ""))
    for tried in report.healing.tries:
        fine = tried.result in (Result.VERIFIED, Result.SERVES)
        glyph, style = (canvas.glyphs.fine, "green") if fine else (canvas.glyphs.failed, "red")
        canvas.line(Styled(report.heading_of(tried)), 2, Styled(f"{glyph} ", style=style))
        canvas.line(Styled(report.changes_of(tried), style="cyan"), 6)
        for line in report.details_of(tried):
            canvas.line(Styled(line), 6)
    canvas.blank()
    style = "bold green" if report.healing.stop.end is End.VERIFIED else "bold"
    canvas.whole(Styled(report.closing, style=style))


def as_markdown(report: Report) -> str:
    """The same in Markdown."""
    lines = [f"# {report.safe(report.container)}", "", report.closing, "", f"## {words(report.lang, 'report')}"]
    for tried in report.healing.tries:
        lines += ["", f"### {report.heading_of(tried)}", "", f"`{report.changes_of(tried)}`"]
        if details := list(report.details_of(tried)):
            lines += ["", *(f"- {_escaped(line)}" for line in details)]
    return "\n".join(lines) + "\n"


def as_data(report: Report) -> dict[str, Any]:
    """The same as plain data."""
    healing, lang = report.healing, report.lang
    why = healing.stop.why
    return {
        "schema": 1,
        "container": report.container,
        "end": healing.stop.end.value,
        "why": report.safe(why.in_language(lang)) if why is not None else None,
        "summary": report.closing,
        "exit_code": report.exit_code,
        "changed": healing.changed,
        "relaunches": healing.relaunches,
        "seconds": round(healing.seconds, 2),
        "tries": [_try_data(tried, report) for tried in healing.tries],
    }


def _try_data(tried: Try, report: Report) -> dict[str, Any]:
    hide = report.safe
    checks = tried.verification.checks if tried.verification is not None else ()
    return {
        "number": tried.number,
        "result": tried.result.value,
        "changes": [
            {"kind": one.kind, "name": one.name, "value": None if one.value is None else hide(one.value)}
            for one in tried.changes
        ],
        "bisected": tried.bisected,
        "rule": tried.rule or None,
        "reason": hide(tried.reason.in_language(report.lang)) if tried.reason is not None else None,
        "facts": {name: value for name in _FACTS if (value := _value(tried.verdict, name)) is not None},
        "checks": [
            {
                "id": check.id,
                "grade": check.grade.value,
                "detail": hide(check.detail.in_language(report.lang)),
                "seconds": round(check.seconds, 3),
            }
            for check in checks
        ],
        "verified": all(check.grade is Grade.PASSED for check in checks) if checks else None,
        "remarks": [hide(one.in_language(report.lang)) for one in tried.remarks],
        "log": tried.log,
        "began": tried.began.isoformat() if tried.began is not None else None,
        "seconds": round(tried.seconds, 2),
    }


def _value(verdict: Verdict | None, name: str) -> Any:
    fact = verdict.facts.get(name) if verdict is not None else None
    return None if fact is None else fact.value


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;")
