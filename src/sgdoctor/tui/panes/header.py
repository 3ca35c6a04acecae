"""What is watched and how it is; the verdict under it."""

from typing import Final

from rich.cells import cell_len
from textual.content import Content

from sgdoctor.diagnosis.wording import duration
from sgdoctor.report.safe import printable
from sgdoctor.tui.drawing import BAD, BLANK, MUTED, ODD, clock, cut, plain, prose, shortened, spread, styled, wrap
from sgdoctor.tui.view import PILLS, Pill, View, pill_of
from sgdoctor.tui.widgets import Drawing
from sgdoctor.tui.words import tell, tell_count
from sgdoctor.watching.model import Link, Snapshot

_GAP: Final = "  "
_TITLED: Final = 60
_LEAST_NAME: Final = 6
_NOTE_ROWS: Final = 3


class Header(Drawing):
    """One or two lines: name, pill, starts, time; image, model, ports."""

    compact = False

    def part(self, view: View) -> tuple[object, ...]:
        """See ``Drawing``."""
        return (view.snapshot,)

    def lines(self, width: int) -> list[Content]:
        """See ``header_lines``."""
        lines = header_lines(self.view, width)
        return lines[:1] if self.compact else lines


class VerdictLine(Drawing):
    """The answer in one sentence, and what broke behind the screen."""

    rows = 2

    def part(self, view: View) -> tuple[object, ...]:
        """See ``Drawing``."""
        snapshot = view.snapshot
        told = (snapshot.verdict.summary, snapshot.note, snapshot.link) if snapshot is not None else ()
        return (pill_of(snapshot), view.failures, view.unfinished, *told)

    def lines(self, width: int) -> list[Content]:
        """See ``verdict_lines``."""
        return verdict_lines(self.view, width, self.rows)


def pill(view: View) -> Content:
    """How the server is: symbol and word on its colour."""
    kind = pill_of(view.snapshot)
    symbol, colour = PILLS[kind]
    back = "$panel" if kind in (Pill.WAITING, Pill.STOPPED) else colour
    front = "$foreground" if kind in (Pill.WAITING, Pill.STOPPED) else "$background"
    return Content.styled(f" {symbol} {tell(view.lang, f'pill.{kind.value}')} ", f"bold {front} on {back}")


def header_lines(view: View, width: int) -> list[Content]:
    """The header for a width: what does not fit is left out, the least important first."""
    snapshot = view.snapshot
    state = pill(view)
    title = Content.assemble(" ", ("sgdoctor", MUTED), _GAP) if width >= _TITLED else Content(" ")
    if snapshot is None:
        return [cut(Content.assemble(title, state), width), BLANK]
    right = styled(f"{_time(view)} ", MUTED)
    # How it is comes before what it is called: the path of a log can be long.
    room = width - title.cell_length - state.cell_length - right.cell_length - 2 * len(_GAP)
    name = plain(_end_of(printable(snapshot.subject.name), room), "bold")
    left = Content.assemble(title, name, _GAP if name.cell_length else "", state)
    for ways in _counters(view, snapshot):
        for part in ways:
            if left.cell_length + len(_GAP) + part.cell_length + right.cell_length < width:
                left = Content.assemble(left, _GAP, part)
                break
    subject = snapshot.subject
    engine = subject.engine if subject.engine and subject.engine.split()[-1] not in subject.image else ""
    engine = engine or ("" if subject.image else subject.engine)
    parts = [
        plain(text, style)
        for text, style in (
            (subject.model, ""),
            (subject.quantisation, MUTED),
            (subject.image, MUTED),
            (engine, MUTED),
            (subject.ports.replace("->", "→"), MUTED),
            (subject.id[:12], MUTED),
        )
        if text
    ]
    second = Content(" ")
    dot = styled(" · ", MUTED)
    for part in parts:
        between = dot if second.cell_length > 1 else BLANK
        if second.cell_length + between.cell_length + part.cell_length <= width - 1:
            second = Content.assemble(second, between, part)
    return [spread(left, right, width), second]


def _end_of(name: str, room: int) -> str:
    """A name in ``room`` cells: its end, which tells most of a path; empty where there is no room for that."""
    if cell_len(name) <= room:
        return name
    if room < _LEAST_NAME:
        return ""
    while cell_len(name) > room - 1:
        name = name[1:]
    return f"…{name}"


def _counters(view: View, snapshot: Snapshot) -> list[tuple[Content, ...]]:
    """Which start it is, how often it was restarted; each in the ways that it can be said, the longest first."""
    lang, verdict = view.lang, snapshot.verdict
    parts: list[tuple[Content, ...]] = []
    count = max(len(snapshot.attempts), verdict.attempts)
    if count > 1:
        text = tell(lang, "attempt", number=verdict.attempt, count=count)
        parts.append((styled(text, "" if verdict.attempt == count else f"bold {ODD}"),))
    if snapshot.subject.restarts:
        text = tell_count(lang, "restarts", snapshot.subject.restarts)
        short, pace = styled(text, ODD), _pace(snapshot)
        if pace is None:
            parts.append((short,))
        else:
            every = tell(lang, "restarts.every", restarts=text, time=duration(pace).in_language(lang))
            parts.append((styled(every, ODD), short))
    return parts


def _pace(snapshot: Snapshot) -> float | None:
    """Seconds between the last starts of a crash loop; None if there is no loop."""
    newest = snapshot.attempts[-4:]
    # Times of two clocks cannot be compared.
    times = [one.started for one in newest if one.started is not None and one.by_log == newest[-1].by_log]
    if len(times) < 3:
        return None
    return (times[-1] - times[0]) / (len(times) - 1)


def _time(view: View) -> str:
    """How long it has served, or how long the start has taken."""
    snapshot = view.snapshot
    assert snapshot is not None
    if snapshot.uptime is not None:
        return tell(view.lang, "up", time=clock(snapshot.uptime))
    number = snapshot.verdict.attempt
    seconds = next((attempt.seconds for attempt in snapshot.attempts if attempt.number == number), None)
    return "" if seconds is None else clock(seconds)


def verdict_lines(view: View, width: int, rows: int) -> list[Content]:
    """The verdict, cut at ``rows`` lines; then one line for each failure behind the screen."""
    snapshot = view.snapshot
    lines: list[Content] = []
    unfinished = (view.unfinished.in_language(view.lang),) if view.unfinished is not None else ()
    for failure in (*view.failures, *unfinished):
        lines.append(cut(Content.assemble((" ! ", f"bold {BAD}"), plain(failure, BAD)), width))
    if snapshot is not None and (note := snapshot.note.in_language(view.lang)):
        waiting = snapshot.link is not Link.FOLLOWING
        first = styled(" ◌ " if waiting else " · ", ODD if waiting else MUTED)
        # Before there is a verdict the note is all that is said, and its end is the way out.
        most = 1 if pill_of(snapshot) is not Pill.WAITING else _NOTE_ROWS
        wrapped = wrap(plain(note, MUTED), width - 1, first=first)
        lines += wrapped if len(wrapped) <= most else shortened(wrapped, most, width - 1)
    kind = pill_of(snapshot)
    symbol, colour = PILLS[kind]
    if kind is Pill.WAITING or snapshot is None:
        if not lines:
            lines = [Content.assemble(f" {symbol} ", (tell(view.lang, "waiting"), MUTED))]
        return [cut(line, width) for line in lines]
    text = prose(snapshot.verdict.summary.in_language(view.lang), "bold")
    wrapped = wrap(text, width - 1, first=styled(f" {symbol} ", f"bold {colour}"))
    if len(wrapped) > rows:
        wrapped = shortened(wrapped, rows, width - 1)
    return [*wrapped, *lines]
