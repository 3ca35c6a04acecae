"""The start as a timeline: what it is doing, how long that takes, and what is normal."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from rich.cells import cell_len
from textual.content import Content

from sgdoctor.diagnosis.wording import duration, phase_label
from sgdoctor.engines.base import PhaseName
from sgdoctor.report.safe import printable
from sgdoctor.tui.drawing import BAD, BLANK, BUSY, FAINT, GOOD, MUTED, ODD, bar, clock, column, cut, styled, took, wrap
from sgdoctor.tui.view import View
from sgdoctor.tui.widgets import Drawing, Pane
from sgdoctor.tui.words import tell
from sgdoctor.watching.model import Stage, StageState

_GLYPHS: Final = {
    StageState.WAITING: ("·", MUTED),
    StageState.RUNNING: ("▶", f"bold {BUSY}"),
    StageState.DONE: ("✔", GOOD),
    StageState.FAILED: ("✖", f"bold {BAD}"),
}
_TIME: Final = 8
_MEMORY: Final = 10
_BAR: Final = (6, 18)
_DETAIL: Final = (14, 20)
_SHORT_DETAIL: Final = 10


class StartupPane(Pane):
    """The timeline."""

    def compose(self):  # type: ignore[no-untyped-def]  # noqa: ANN201, D102
        yield Timeline()


class Timeline(Drawing):
    """One row for each stage."""

    def part(self, view: View) -> tuple[object, ...]:
        """See ``Drawing``."""
        return (view.snapshot.stages, view.snapshot.ready_in) if view.snapshot is not None else ()

    def lines(self, width: int) -> list[Content]:
        """See ``timeline_lines``."""
        return timeline_lines(self.view, width)


def rows_wanted(view: View, width: int) -> int:
    """Rows that the timeline fills at this width, and its frame."""
    return len(timeline_lines(view, width)) + 2


class _Columns(NamedTuple):
    """Widths in cells; 0 for a column that there is no room for."""

    label: int
    memory: int
    bar: int
    detail: int


def timeline_lines(view: View, width: int) -> list[Content]:
    """The timeline for a width: bars and details only where there is room."""
    lang = view.lang
    stages = view.snapshot.stages if view.snapshot is not None else ()
    if not stages:
        return [styled(tell(lang, "startup.none"), MUTED)]
    columns = _columns(stages, width, lang)
    longest = max((stage.seconds or 0.0 for stage in stages if stage.name is not PhaseName.SERVING), default=0.0)
    lines = []
    rest = list(stages)
    while rest and rest[-1].state is StageState.WAITING:
        rest.pop()
    for stage in rest:
        lines.append(_row(stage, columns, longest, lang))
    ahead = [phase_label(stage.name).in_language(lang) for stage in stages[len(rest) :]]
    if ahead:
        text = styled(("、" if lang == "zh" else ", ").join(ahead), MUTED)
        lines += [cut(line, width) for line in wrap(text, width, first=styled("· ", MUTED))]
    return [*lines, *_hints(view, stages, width)]


def _columns(stages: Sequence[Stage], width: int, lang: str) -> _Columns:
    """What is there in any case comes first, then memory, details, bars."""
    longest = max(cell_len(phase_label(stage.name).in_language(lang)) for stage in stages)
    label = min(longest, max(8, width - 2 - _TIME - _MEMORY))
    room = width - 2 - label - _TIME
    memory = _MEMORY if room >= _MEMORY and any(stage.memory_gib is not None for stage in stages) else 0
    room -= memory
    wide = min(_BAR[1], max(_BAR[0], room - 4 - _DETAIL[1]))
    if room < wide + 4 + _DETAIL[0]:
        return _Columns(label, memory, 0, room - 2)
    return _Columns(label, memory, wide, room - wide - 4)


def _row(stage: Stage, columns: _Columns, longest: float, lang: str) -> Content:
    glyph, colour = _GLYPHS[stage.state]
    strong = "bold" if stage.state in (StageState.RUNNING, StageState.FAILED) else ""
    label = phase_label(stage.name).in_language(lang)
    seconds = "" if stage.seconds is None or stage.name is PhaseName.SERVING else took(stage.seconds)
    parts: list[Content] = [
        styled(f"{glyph} ", colour),
        styled(column(label, columns.label), strong),
        styled(column(seconds, _TIME, right=True), strong or MUTED),
    ]
    if columns.memory:
        text = f"{stage.memory_gib:.2f} GiB" if stage.memory_gib is not None else ""
        parts.append(styled(column(text, columns.memory, right=True), strong or MUTED))
    if columns.bar:
        parts += [Content("  "), _bar(stage, columns.bar, longest)]
    if detail := _detail(stage, columns.detail, lang):
        parts += [Content("  "), detail]
    return Content.assemble(*parts)


def _bar(stage: Stage, width: int, longest: float) -> Content:
    if stage.name is PhaseName.SERVING:
        return Content(" " * width)
    seconds = stage.seconds or 0.0
    if stage.state is StageState.RUNNING:
        share = _share(stage)
        if share is None:
            return styled("─" * width, FAINT)
        return bar(share, width, ODD if _over(stage) else BUSY)
    # Of a stage that is over: its part of the longest one, for a feeling of where the time went.
    share = seconds / longest if longest > 0 else 0.0
    colour = BAD if stage.state is StageState.FAILED else "$success-darken-1"
    return bar(share, width, colour, rest="$surface") if seconds else Content(" " * width)


def _share(stage: Stage) -> float | None:
    if stage.progress is not None and stage.progress[1]:
        return stage.progress[0] / stage.progress[1]
    if stage.usual is not None and stage.usual[1] > 0 and stage.seconds is not None:
        return min(0.98, stage.seconds / stage.usual[1])
    return None


def _over(stage: Stage) -> bool:
    return stage.usual is not None and stage.seconds is not None and stage.seconds > stage.usual[1]


def _detail(stage: Stage, room: int, lang: str) -> Content:
    """What a stage brought or how far it is, in at most ``room`` cells; nothing where that would say nothing."""
    running = stage.state is StageState.RUNNING
    texts: list[tuple[str, str]] = []
    if stage.progress is not None and running:
        texts.append((f"{stage.progress[0]}/{stage.progress[1]}", "bold"))
    elif text := stage.detail.in_language(lang):
        texts.append((printable(text), MUTED))
    if running and stage.usual is not None and stage.seconds is not None:
        left = stage.usual[1] - stage.seconds
        key = "left" if left > 0 else "over"
        for form in (f"startup.{key}", f"startup.{key}.short"):
            text = tell(lang, form, time=clock(abs(left)))
            line = Content("  ").join(styled(*piece) for piece in (*texts, (text, MUTED if left > 0 else ODD)))
            if line.cell_length <= room:
                return line
    line = Content("  ").join(styled(*piece) for piece in texts)
    return cut(line, room) if room >= min(_SHORT_DETAIL, line.cell_length) else BLANK


def _hints(view: View, stages: Sequence[Stage], width: int) -> list[Content]:
    """What is normal at this point, and when it will be ready."""
    lang = view.lang
    snapshot = view.snapshot
    assert snapshot is not None
    texts: list[Content] = []
    running = next((stage for stage in stages if stage.state is StageState.RUNNING), None)
    if running is not None and running.usual is not None and running.name is not PhaseName.SERVING:
        key = "startup.learned" if running.learned else "startup.normal"
        label = phase_label(running.name).in_language(lang)
        texts.append(styled(tell(lang, key, phase=label, usual=span(*running.usual, lang)), MUTED))
    if snapshot.ready_in is not None:
        texts.append(styled(ready_text(snapshot.ready_in, lang)))
    if not texts:
        return []
    lines = [BLANK]
    for text in texts:
        lines += [cut(line, width) for line in wrap(text, width, first=styled("i ", f"bold {BUSY}"), indent=2)]
    return lines


def span(least: float, most: float, lang: str) -> str:
    """Two times as a range: ``2:51-3:04``; in words where both are short."""
    if most < 60:
        shortest, longest = f"{least:.0f}", f"{most:.0f}"
        unit = " 秒" if lang == "zh" else " s"
        return f"{longest}{unit}" if shortest == longest else f"{shortest}-{longest}{unit}"
    return f"{clock(least)}-{clock(most)}"


def ready_text(ready_in: tuple[float, float], lang: str) -> str:
    """When it will serve, in words."""
    least, most = (duration(float(round(seconds))).in_language(lang) for seconds in ready_in)
    if least == most or ready_in[0] > 0.8 * ready_in[1]:
        return tell(lang, "startup.ready", time=most)
    return tell(lang, "startup.ready_between", least=least, most=most)
