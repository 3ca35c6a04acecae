"""The steps of an errand as lines, and in one line."""

from collections.abc import Iterator
from typing import Final

from textual.content import Content

from sgdoctor.diagnosis.wording import duration
from sgdoctor.relaunch.model import StepState
from sgdoctor.relaunch.wording import step_text
from sgdoctor.report.safe import printable
from sgdoctor.tui.course import Course, Taken
from sgdoctor.tui.cure_words import say_cure
from sgdoctor.tui.drawing import BAD, BLANK, BUSY, GOOD, MUTED, ODD, cut, prose, styled, took, wrap
from sgdoctor.tui.panes.cards import card_lines
from sgdoctor.tui.view import View

_TIME_CELLS: Final = 8


def heading_of(course: Course, lang: str) -> str:
    """What is being done, in a few words."""
    key = "over" if course.ended is not None else course.errand.kind
    return say_cure(lang, f"course.{key}", name=printable(course.errand.container))


def course_lines(course: Course, view: View, width: int) -> list[Content]:
    """The steps so far, and what came of it."""
    lines: list[Content] = []
    for row in course.rows:
        lines += _row_lines(row, course, view, width)
    if course.ended is None:
        if course.stopping:
            lines += wrap(styled(say_cure(view.lang, "course.stopping"), ODD), width)
        elif not course.rows:
            lines.append(styled(say_cure(view.lang, "course.begins"), MUTED))
        return lines
    return [*lines, *_end_lines(course, view, width)]


def _row_lines(row: Taken, course: Course, view: View, width: int) -> Iterator[Content]:
    lang, hide = view.lang, course.errand.hide
    if row.step is None:
        text = row.note.in_language(lang) if row.note is not None else ""
        yield from wrap(styled(hide(printable(text)), "bold"), width)
        return
    name = step_text(row.step).in_language(lang)
    seconds = max(0.0, ((row.ended or view.now) - row.began).total_seconds())
    if row.state is StepState.FAILED:
        why = row.note.in_language(lang) if row.note is not None else ""
        text = say_cure(lang, "error", kind=name, text=hide(printable(why)))
        yield from wrap(prose(text), width, first=styled("✖ ", BAD))
        return
    over = row.ended is not None
    first = styled("✔ " if over else "▶ ", GOOD if over else BUSY)
    yield cut(Content.assemble(first, styled(name, "" if over else "bold"), styled(f"  {took(seconds)}", MUTED)), width)
    for at, note in row.phases:
        time = f"{took(at):>{_TIME_CELLS}}"
        yield from wrap(
            styled(hide(printable(note.in_language(lang))), MUTED), width, first=styled(f"  {time}  ", MUTED)
        )


def _end_lines(course: Course, view: View, width: int) -> list[Content]:
    ended = course.ended
    assert ended is not None
    lang, hide = view.lang, course.errand.hide
    mark, style = ("✔ ", GOOD) if ended.done else ("✖ ", BAD)
    lines = [BLANK] if course.rows else []
    for note in ended.notes:
        lines += wrap(prose(hide(printable(note.in_language(lang)))), width, first=styled("▲ ", ODD))
    if ended.verdict is not None and ended.verdict.diagnoses:
        lines += [*card_lines(ended.verdict.diagnoses[0], view, width), BLANK]
    text = prose(hide(printable(ended.text.in_language(lang))), "bold")
    return [*lines, *wrap(text, width, first=styled(mark, style))]


def course_line(course: Course, view: View, width: int) -> Content:
    """The same in one line, for while the window is closed."""
    lang, key = view.lang, view.key("fix")
    parts = [styled(heading_of(course, lang), "bold")]
    current = course.current
    if course.stopping:
        parts.append(styled(say_cure(lang, "course.stopping"), ODD))
    elif current is not None and current.step is not None:
        seconds = max(0.0, (view.now - current.began).total_seconds())
        note = f" · {printable(current.phases[-1][1].in_language(lang))}" if current.phases else ""
        text = f"{step_text(current.step).in_language(lang)} {duration(seconds).in_language(lang)}{note}"
        parts.append(styled(text))
    if key:
        parts.append(styled(f"({key})", MUTED))
    return cut(styled(" ▶ ", BUSY) + styled("  ").join(parts), width)
