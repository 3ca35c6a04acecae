"""The start as a timeline: what it is doing, how long that takes, and what is normal."""

from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len
from textual.content import Content

from sgdoctor.diagnosis.wording import duration, phase_label
from sgdoctor.engines.base import PhaseName
from sgdoctor.tui.drawing import BAD, BLANK, BUSY, FAINT, GOOD, MUTED, ODD, bar, clock, column, cut, plain, styled, took, wrap
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
_BAR: Final = (6, 14)
_LEAST_DETAIL: Final = 20


class StartupPane(Pane):
    """The timeline."""

    title_key = "pane.startup"

    def compose(self):  # type: ignore[no-untyped-def]  # noqa: ANN201, D102
        yield Timeline()


class Timeline(Drawing):
    """One row for each stage."""

    def lines(self, width: int) -> list[Content]:
        """See ``timeline_lines``."""
        return timeline_lines(self.view, width)


def rows_wanted(view: View) -> int:
    """Rows that the timeline would fill, its frame included."""
    stages = view.snapshot.stages if view.snapshot is not None else ()
    return len(stages) + 5


def timeline_lines(view: View, width: int) -> list[Content]:
    """The timeline for a width: bars and details only where there is room."""
    lang = view.lang
    stages = view.snapshot.stages if view.snapshot is not None else ()
    if not stages:
        return [styled(tell(lang, "startup.none"), MUTED)]
    labels = {stage.name: phase_label(stage.name).in_language(lang) for stage in stages}
    label_width = min(max(map(cell_len, labels.values())), max(8, width - 2 - _TIME - _MEMORY))
    room = width - 2 - label_width - _TIME
    memory = any(stage.memory_gib is not None for stage in stages) and room >= _MEMORY
    room -= _MEMORY if memory else 0
    longest = max((stage.seconds or 0.0 for stage in stages), default=0.0)
    bar_width = min(_BAR[1], max(0, room - 2 - _LEAST_DETAIL))
    bar_width = bar_width if bar_width >= _BAR[0] else 0
    room -= bar_width + 2 if bar_width else 0
    lines = []
    rest = list(stages)
    while rest and rest[-1].state is StageState.WAITING:
        rest.pop()
    for stage in rest:
        lines.append(_row(stage, labels[stage.name], label_width, memory, bar_width, room, longest, lang))
    ahead = [labels[stage.name] for stage in stages[len(rest) :]]
    if ahead:
        text = styled(("、" if lang == "zh" else ", ").join(ahead), MUTED)
        lines += [cut(line, width) for line in wrap(text, width, first=styled("· ", MUTED))]
    return [*lines, *_hints(view, stages, width)]


def _row(
    stage: Stage, label: str, label_width: int, memory: bool, bar_width: int, room: int, longest: float, lang: str
) -> Content:
    glyph, colour = _GLYPHS[stage.state]
    running = stage.state is StageState.RUNNING
    strong = "bold" if running or stage.state is StageState.FAILED else ""
    parts: list[Content] = [
        styled(f"{glyph} ", colour),
        styled(column(label, label_width), strong),
        styled(column("" if stage.seconds is None else took(stage.seconds), _TIME, right=True), strong or MUTED),
    ]
    if memory:
        text = "" if stage.memory_gib is None else f"{stage.memory_gib:.2f} GiB"
        parts.append(styled(column(text, _MEMORY, right=True), strong or MUTED))
    if bar_width:
        parts += [Content("  "), _bar(stage, bar_width, longest)]
    detail = _detail(stage, lang)
    if room > 4 and detail:
        parts += [Content("  "), cut(detail, room - 2)]
    return Content.assemble(*parts)


def _bar(stage: Stage, width: int, longest: float) -> Content:
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


def _detail(stage: Stage, lang: str) -> Content:
    pieces = []
    if stage.progress is not None and stage.state is StageState.RUNNING:
        pieces.append(styled(f"{stage.progress[0]}/{stage.progress[1]}", "bold"))
    elif text := stage.detail.in_language(lang):
        pieces.append(plain(text, MUTED))
    if stage.state is StageState.RUNNING and stage.usual is not None and stage.seconds is not None:
        left = stage.usual[1] - stage.seconds
        if left > 0:
            pieces.append(styled(tell(lang, "startup.left", time=clock(left)), MUTED))
        else:
            pieces.append(styled(tell(lang, "startup.over", time=clock(-left)), ODD))
    return Content("  ").join(pieces) if pieces else BLANK


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
        lines += [cut(line, width) for line in wrap(text, width, first=styled("ⓘ ", BUSY), indent=2)]
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
