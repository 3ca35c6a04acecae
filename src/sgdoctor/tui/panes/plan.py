"""The parts of a plan as lines: the launch with its changes, the memory now and then, what is kept and what is lost."""

from collections.abc import Callable, Sequence
from typing import Final

from rich.cells import cell_len
from textual.content import Content

from sgdoctor.engines.sglang.memory.prediction import Prediction, Range
from sgdoctor.fixes.model import Plan
from sgdoctor.launch.model import Launch
from sgdoctor.redaction import Redactor
from sgdoctor.report.safe import printable
from sgdoctor.report.wording import change_text
from sgdoctor.tui.cure_words import say_count, say_cure
from sgdoctor.tui.doctor import Draft
from sgdoctor.tui.drawing import BAD, BLANK, BUSY, GOOD, MUTED, ODD, column, cut, prose, styled, wrap

_GIB: Final = 1 << 30
_NONE: Final = "-"
_GAP: Final = 2
_DIFF_STYLES: Final = {"+": GOOD, "-": BAD, "@": BUSY}


def diff_lines(diff: str, hide: Redactor, width: int) -> list[Content]:
    """A unified diff, without the names of its files."""
    lines: list[Content] = []
    for row in diff.rstrip("\n").split("\n") if diff else ():
        if row.startswith(("--- ", "+++ ")):
            continue
        if row.startswith("@@"):
            if lines:
                lines.append(styled("  ⋮", MUTED))
            continue
        mark, text = row[:1], row[1:]
        style = _DIFF_STYLES.get(mark, MUTED)
        lines += wrap(styled(hide(printable(text)), style), width, first=styled(f"{mark or ' '} ", style))
    return lines


def memory_lines(plan: Plan, weights_gib: float | None, lang: str, width: int) -> list[Content]:
    """The memory of the card as the launch is, and with the plan; one line each, and how that ends."""
    rows = [("now", plan.predicted_before), ("then", plan.predicted)]
    shown = [(name, found) for name, found in rows if found is not None]
    if not shown:
        return wrap(styled(say_cure(lang, "memory.unknown"), MUTED), width)
    columns = {name: [cell(found) for _, found in shown] for name, cell in _cells(weights_gib, lang).items()}
    columns = {name: cells for name, cells in columns.items() if any(cell != _NONE for cell in cells)}
    heads = {name: say_cure(lang, f"memory.{name}") for name in columns}
    sizes = {name: max(map(cell_len, (heads[name], *columns[name]))) + _GAP for name in columns}
    label = max(cell_len(say_cure(lang, f"memory.{name}")) for name, _ in shown)
    for name in ("windows", "longest", "fraction", "weights"):  # what can be done without, where there is little room
        if label + sum(sizes.values()) > width:
            sizes.pop(name, None)
    head = "".join(column(heads[name], size, right=True) for name, size in sizes.items())
    lines = [cut(styled(" " * label + head, MUTED), width)]
    for index, (name, _) in enumerate(shown):
        line = styled(column(say_cure(lang, f"memory.{name}"), label), MUTED)
        for key, size in sizes.items():
            cell = columns[key][index]
            differs = index > 0 and cell != columns[key][0]
            line += styled(column(cell, size, right=True), "bold" if differs else "")
        lines.append(cut(line, width))
    for name, found in shown:
        lines += _ending(say_cure(lang, f"memory.{name}"), found, lang, width)
    return lines


def _ending(name: str, found: Prediction, lang: str, width: int) -> list[Content]:
    if found.failure is None:
        text, mark, style = say_cure(lang, "memory.serves"), "✔", GOOD
    else:
        text, mark, style = say_cure(lang, "memory.fails", message=printable(found.failure.message)), "✖", BAD
    first = Content.assemble((f"{mark} ", style), (f"{name}: " if lang == "en" else f"{name}：", MUTED))
    return wrap(styled(text), width, first=first, indent=2)


def _cells(weights_gib: float | None, lang: str) -> dict[str, Callable[[Prediction], str]]:
    return {
        "fraction": lambda one: f"{one.fraction:.3g}",
        "weights": lambda _: _NONE if weights_gib is None else f"{weights_gib:.2f}",
        "state": lambda one: _NONE if one.state_gib is None else f"{one.state_gib:.2f}",
        "tokens": lambda one: _count(one.kv_tokens),
        "windows": lambda one: _count(one.swa_tokens),
        "requests": lambda one: _count(one.max_running_requests),
        "longest": lambda one: _count(one.longest_request),
        "left": lambda one: _amount(one.left_gib, lang),
    }


def _count(number: int | None) -> str:
    return _NONE if number is None else f"{number:,}"


def _amount(size: Range | None, lang: str) -> str:
    if size is None:
        return _NONE
    return size.text.in_language(lang)


def meaning_lines(draft: Draft, lang: str, width: int) -> list[Content]:
    """What stays, what is lost, how long it takes, what surprises, what is to be done by hand."""
    plan = draft.answer.plan
    lines: list[Content] = []

    def add(text: str, mark: str = "·", style: str = MUTED) -> None:
        lines.extend(wrap(prose(draft.hide(printable(text))), width, first=styled(f"{mark} ", style)))

    for note in draft.notes:
        add(note.in_language(lang))
    if draft.container and (kept := kept_text(plan.after, lang)):
        add(say_cure(lang, "plan.kept", what=kept))
    for one in draft.lost:
        add(say_cure(lang, "plan.lost", what=one.in_language(lang)), "▲", ODD)
    for warning in plan.warnings:
        add(warning.in_language(lang), "▲", ODD)
    if plan.refused is not None:
        add(say_cure(lang, "not_planned", why=plan.refused.in_language(lang)), "✖", BAD)
    for left in plan.left:
        change = f" {change_text(left.change, lang)}" if left.change is not None else ""
        add(say_cure(lang, "plan.by_hand", what=left.why.in_language(lang) + change), "▲", ODD)
    # Of a log nobody expects that it is acted on: that is said to those who try.
    if draft.refused is not None and draft.container:
        add(draft.refused.in_language(lang), "✖", BAD)
    for note in plan.predicted.not_measured if plan.predicted is not None else ():
        add(note.in_language(lang))
    return lines


def kept_text(launch: Launch, lang: str) -> str:
    """What a new container has as the old one had it, in a few words."""
    parts = [say_cure(lang, "kept.image")] if launch.image else []
    if launch.mounts:
        parts.append(say_count(lang, "kept.mounts", len(launch.mounts)))
    if launch.ports:
        ports = ", ".join(str(port.host or port.container) for port in launch.ports)
        parts.append(say_cure(lang, "kept.ports", ports=ports))
    if launch.shm_bytes:
        parts.append(say_cure(lang, "kept.shm", gib=launch.shm_bytes / _GIB))
    if launch.ipc:
        parts.append(say_cure(lang, "kept.ipc", mode=launch.ipc))
    if (gpus := launch.gpus) is not None and (gpus.device_ids or gpus.count):
        ids = ", ".join(gpus.device_ids)
        parts.append(say_cure(lang, "kept.gpus" if ids else "kept.gpus.all", ids=ids))
    if launch.restart:
        parts.append(say_cure(lang, "kept.restart", policy=launch.restart))
    if launch.env:
        parts.append(say_count(lang, "kept.env", len(launch.env)))
    return ("、" if lang == "zh" else ", ").join(parts)


def heading_of(draft: Draft, lang: str) -> str:
    """Which launch, and how much of it changes."""
    if draft.container:
        title = say_cure(lang, "plan.title", name=printable(draft.container), id=draft.id[:12])
    else:
        title = say_cure(lang, "plan.title.none")
    return say_count(lang, "plan.count", len(draft.answer.plan.changes), title=title)


def section_lines(title: str, body: Sequence[Content]) -> list[Content]:
    """A heading and what stands below it; nothing where that is nothing."""
    return [BLANK, styled(title, "bold underline"), *body] if body else []
