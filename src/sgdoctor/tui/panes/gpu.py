"""The GPUs: how full, who holds what, where this server's memory went, and what it is doing."""

from collections.abc import Sequence
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.segment import Segment
from textual.app import ComposeResult
from textual.content import Content
from textual.strip import Strip
from textual.widget import Widget

from sgdoctor.gpu.ledger import Ledger, LogMemory, PartKind, ledger, log_memory
from sgdoctor.gpu.model import Gpu, GpuProcess
from sgdoctor.report.safe import printable
from sgdoctor.texts import Text
from sgdoctor.tui.drawing import (
    BAD,
    BLANK,
    BUSY,
    FAINT,
    MUTED,
    ODD,
    bar,
    blocks,
    cut,
    plain,
    spark,
    spread,
    styled,
    wrap,
)
from sgdoctor.tui.view import Pill, View, pill_of, server_gpus
from sgdoctor.tui.widgets import Drawing, Pane
from sgdoctor.tui.words import tell
from sgdoctor.watching.model import Load

PART_COLOURS: Final = {
    PartKind.WEIGHTS: "$primary",
    PartKind.STATE: "$accent",
    PartKind.KV: "$secondary",
    PartKind.GRAPHS: "$warning",
    PartKind.OTHER: MUTED,
    PartKind.OTHERS: "$error",
    PartKind.DRIVER: FAINT,
    PartKind.FREE: FAINT,
}
_GRAPH_ROWS: Final = (3, 9)
_OTHER_ROWS: Final = 13
_PROCESSES: Final = 6
_WITH_PIDS: Final = 50
_HOT: Final = 85
_FULL: Final = 0.97
_ALMOST: Final = 0.9
_LABEL: Final = 12
_LEAST_BAR: Final = 4
_LEVELS: Final = " ▁▂▃▄▅▆▇█"


class GpuPane(Pane):
    """The load of the server once it serves; for each GPU its numbers, its history and who holds it."""

    def compose(self) -> ComposeResult:
        """What stands above the GPUs; these come and go."""
        yield LoadLines(id="load")
        yield Reason(id="reason")

    def show(self, view: View) -> None:
        """Draw a view; there is one set of widgets for each GPU of its reading."""
        count = len(view.reading.gpus) if view.reading is not None else 0
        there = len(self.query(MemoryGraph))
        for kind in (GpuNumbers, MemoryGraph, Owners):
            for widget in list(self.query(kind))[count:]:
                widget.remove()
        for number in range(there, count):
            self.mount(GpuNumbers(number), MemoryGraph(number), Owners(number))
        super().show(view)
        for graph in self.query(MemoryGraph):
            graph.show(view)
        self._fit()

    def on_resize(self) -> None:
        """Other room."""
        self._fit()

    def _fit(self) -> None:
        """The graphs take the rows that are left."""
        graphs = list(self.query(MemoryGraph))
        rows = (self.size.height - _OTHER_ROWS * len(graphs)) // max(1, len(graphs))
        for graph in graphs:
            graph.styles.height = max(_GRAPH_ROWS[0], min(_GRAPH_ROWS[1], rows))


class GpuNumbers(Drawing):
    """Bars and numbers of one GPU."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def part(self, view: View) -> tuple[object, ...]:
        """See ``Drawing``."""
        return (view.reading, memory_by_log(view), pill_of(view.snapshot), _container(view))

    def lines(self, width: int) -> list[Content]:
        """See ``gpu_lines``."""
        reading = self.view.reading
        if reading is None or self._number >= len(reading.gpus):
            return []
        return gpu_lines(reading.gpus[self._number], self.view, width)


class Owners(Drawing):
    """The programs that hold memory of one GPU."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def part(self, view: View) -> tuple[object, ...]:
        """See ``Drawing``."""
        return (view.reading, _container(view))

    def lines(self, width: int) -> list[Content]:
        """See ``owner_lines``."""
        reading = self.view.reading
        if reading is None or self._number >= len(reading.gpus):
            return []
        return [*owner_lines(reading.gpus[self._number].processes, self.view, width), BLANK]


class MemoryGraph(Widget):
    """Memory in use over the last minutes, the newest at the right; drawn row by row."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"memory-graph--axis", "memory-graph--line"}

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number
        self._memory: tuple[float, ...] = ()
        self._total = ""

    def show(self, view: View) -> None:
        """Draw the history of a view."""
        reading = view.reading
        if reading is None or self._number >= len(reading.gpus):
            return
        gpu = reading.gpus[self._number]
        self._memory = view.history.memory.get(gpu.uuid, ())
        self._total = f"{(gpu.total_mib or 0) / 1024:.0f}"
        self.display = len(self._memory) > 1
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One row: a scale, then columns as high as the memory was in use."""
        width, height = self.size.width, self.size.height
        style = self.rich_style
        if width < 12 or height < 1:
            return Strip.blank(width, style)
        margin = len(self._total) + 2
        label = self._total if y == 0 else "0" if y == height - 1 else ""
        axis = "┤" if label else "│"
        values = self._memory[-(width - margin) :]
        floor = (height - 1 - y) / height
        cells = "".join(_LEVELS[min(8, max(0, round((value - floor) * height * 8)))] for value in values)
        muted = self.get_component_rich_style("memory-graph--axis", partial=True)
        colour = self.get_component_rich_style("memory-graph--line", partial=True)
        return Strip(
            [
                Segment(f"{label:>{margin - 2}} {axis}", style + muted),
                Segment(" " * (width - margin - len(cells)), style),
                Segment(cells, style + colour),
            ]
        )


class Reason(Drawing):
    """Why there is no data on GPUs, and what the log says about their memory all the same."""

    def part(self, view: View) -> tuple[object, ...]:
        """See ``Drawing``."""
        return (view.reading, memory_by_log(view))

    def lines(self, width: int) -> list[Content]:
        """See ``reason_lines``."""
        return reason_lines(self.view, width)


class LoadLines(Drawing):
    """What the server is doing."""

    def part(self, view: View) -> tuple[object, ...]:
        """See ``Drawing``."""
        return (view.snapshot.load, pill_of(view.snapshot)) if view.snapshot is not None else ()

    def lines(self, width: int) -> list[Content]:
        """See ``load_lines``; nothing for a server that is not there any more."""
        if self.view.snapshot is None or pill_of(self.view.snapshot) in (Pill.FAILED, Pill.STOPPED):
            return []
        return load_lines(self.view.snapshot.load, self.view.lang, width)


def memory_by_log(view: View) -> LogMemory:
    """What the start that is shown took, by its log."""
    if view.snapshot is None:
        return LogMemory()
    facts = view.snapshot.verdict.facts
    return log_memory(lambda name: facts[name].value if name in facts else None)


def gpu_lines(gpu: Gpu, view: View, width: int) -> list[Content]:
    """One GPU: name, work, memory; the ledger of this server."""
    lang = view.lang
    name = printable(gpu.name.removeprefix("NVIDIA ").removeprefix("GeForce "))
    number = f"{gpu.number}" if gpu.slice is None else f"{gpu.number}:{gpu.slice}"
    title = Content.assemble((f"{number} ", MUTED), (name, "bold"))
    if gpu.sm is not None:
        title = Content.assemble(title, (f"  sm{gpu.sm}", MUTED))
    lines = [spread(title, _numbers(gpu), width)]
    used, total = gpu.used_mib, gpu.total_mib
    if used is not None and total:
        share = used / total
        text = Content.assemble((f"{used / 1024:.1f}", "bold"), (f" / {total / 1024:.1f} GiB", MUTED))
        free = total - used if gpu.free_mib is None else gpu.free_mib
        right = styled(tell(lang, "gpu.free", gib=f"{free / 1024:.2f}"), MUTED)
        lines.append(spread(text, right, width))
        reading = view.reading
        ours = reading is not None and gpu in server_gpus(reading, view.snapshot) and memory_by_log(view) != LogMemory()
        over = pill_of(view.snapshot) in (Pill.FAILED, Pill.STOPPED)
        book = ledger(gpu, memory_by_log(view), container=_container(view)) if ours and not over else None
        if book is None:
            lines.append(blocks([(used, BAD if share > _FULL else BUSY)], total, width))
        else:
            lines += ledger_lines(book, lang, width)
        if ours and over:
            lines += _by_log(view, width)
    return [*lines, *_notes(gpu.notes, lang, width)]


def _notes(notes: Sequence[Text], lang: str, width: int) -> list[Content]:
    lines: list[Content] = []
    for note in notes:
        text = styled(printable(note.in_language(lang)), MUTED)
        lines += wrap(text, width, first=styled("i ", f"bold {BUSY}"))
    return lines


def _numbers(gpu: Gpu) -> Content:
    parts = []
    if gpu.utilisation is not None:
        parts.append(styled(f"{gpu.utilisation} %", "bold" if gpu.utilisation else MUTED))
    if gpu.temperature is not None:
        parts.append(styled(f"{gpu.temperature} °C", ODD if gpu.temperature >= _HOT else MUTED))
    if gpu.power_w is not None:
        limit = f"/{gpu.power_limit_w:.0f}" if gpu.power_limit_w else ""
        parts.append(styled(f"{gpu.power_w:.0f}{limit} W", MUTED))
    return Content("  ").join(parts) if parts else BLANK


def _container(view: View) -> str:
    return view.snapshot.subject.id if view.snapshot is not None else ""


def ledger_lines(book: Ledger, lang: str, width: int) -> list[Content]:
    """The stacked bar of a GPU and its legend, in as few rows as fit."""
    parts = [(part.mib, PART_COLOURS[part.kind]) for part in book.parts if part.kind is not PartKind.FREE]
    shown = [part for part in book.parts if part.mib >= 1]
    entries = [
        Content.assemble(
            ("■ ", PART_COLOURS[part.kind]),
            (f"{part.title.in_language(lang)} ", MUTED),
            f"{part.mib / 1024:.2f}",
        )
        for part in shown
        if part.kind is not PartKind.FREE
    ]
    return [blocks(parts, book.total_mib, width), *_flow(entries, width), *_notes(book.notes, lang, width)]


def _flow(entries: Sequence[Content], width: int) -> list[Content]:
    """Entries one after the other, as many in a row as fit."""
    lines: list[Content] = []
    for entry in entries:
        if lines and lines[-1].cell_length + 2 + entry.cell_length <= width:
            lines[-1] = Content.assemble(lines[-1], "  ", entry)
        else:
            lines.append(cut(entry, width))
    return lines


def owner_lines(processes: Sequence[GpuProcess], view: View, width: int) -> list[Content]:
    """Who holds memory, the largest first."""
    lines = []
    for process in processes[:_PROCESSES]:
        amount = "" if process.used_mib is None else f"{process.used_mib / 1024:.2f} GiB"
        owner, style = _owner(process, view)
        name = plain(process.name or tell(view.lang, "gpu.process"))
        left = Content.assemble(cut(name, 16), "  ", plain(owner, style))
        if width >= _WITH_PIDS:
            left = Content.assemble((f"{process.pid:>7} ", MUTED), left)
        lines.append(spread(left, styled(amount, MUTED), width))
    return lines


def _owner(process: GpuProcess, view: View) -> tuple[str, str]:
    container = _container(view)
    if container and process.container.startswith(container):
        return tell(view.lang, "gpu.this"), BUSY
    if process.container:
        return process.container_name or process.container[:12], ODD
    return (tell(view.lang, "gpu.desktop") if process.graphics else ""), MUTED


def reason_lines(view: View, width: int) -> list[Content]:
    """What stands in the place of GPUs that cannot be read."""
    lang = view.lang
    if view.reading is None:
        return [styled(tell(lang, "gpu.none"), MUTED), *_by_log(view, width)]
    if view.reading.gpus:
        return []
    reason = printable(view.reading.reason.in_language(lang))
    return [*wrap(styled(tell(lang, "gpu.no_data", reason=reason), MUTED), width), *_by_log(view, width)]


def _by_log(view: View, width: int) -> list[Content]:
    """This server's memory by its log alone."""
    lang, memory = view.lang, memory_by_log(view)
    if memory == LogMemory() or view.snapshot is None:
        return []
    named = [
        (PartKind.WEIGHTS, "gpu.weights", memory.weights_gib),
        (PartKind.STATE, "gpu.state", memory.state_gib),
        (PartKind.KV, "gpu.kv", memory.kv_gib),
        (PartKind.GRAPHS, "gpu.graphs", memory.graph_gib),
    ]
    facts = view.snapshot.verdict.facts
    fact = next((facts[name] for name in ("gpu_total_gib", "mem_before_weights_gib") if name in facts), None)
    total = float(fact.value) if fact is not None and isinstance(fact.value, int | float) else 0.0
    total = max(total, sum(size for _, _, size in named))
    entries = [
        Content.assemble(("■ ", PART_COLOURS[kind]), (f"{tell(lang, key)} ", MUTED), f"{size:.2f}")
        for kind, key, size in named
        if size
    ]
    title = spread(styled(tell(lang, "gpu.ledger"), "bold"), styled(f"{total:.1f} GiB", MUTED), width)
    stack = blocks([(size, PART_COLOURS[kind]) for kind, _, size in named], total, width)
    return [BLANK, title, stack, *_flow(entries, width)]


def load_lines(load: Load, lang: str, width: int) -> list[Content]:
    """Speed, requests and cache usage by the log; nothing before it serves."""
    parts = []
    if load.tokens_per_second is not None:
        parts.append(styled(tell(lang, "gpu.tokens", speed=f"{load.tokens_per_second:,.0f}"), f"bold {BUSY}"))
    if load.running is not None:
        parts.append(styled(tell(lang, "gpu.running", count=load.running)))
    if load.queued:
        parts.append(styled(tell(lang, "gpu.queued", count=load.queued), ODD))
    if not parts:
        return []
    lines = [cut(Content("  ").join(parts), width)]
    if len(load.speed_history) > 1:
        lines.append(spark(load.speed_history, width, "$soft"))
    usages = (
        ("gpu.kv_usage", load.token_usage),
        ("gpu.window_usage", load.window_usage),
        ("gpu.state_usage", load.state_usage),
    )
    for key, usage in usages:
        if usage is None:
            continue
        label = tell(lang, key, percent=f"{usage * 100:.0f}")
        label += " " * max(1, _LABEL - cell_len(label))
        room = width - cell_len(label)
        colour = ODD if usage > _ALMOST else "$secondary"
        text = Content.assemble(label, bar(usage, room, colour)) if room > _LEAST_BAR else Content(label)
        lines.append(cut(text, width))
    return [*lines, BLANK]
