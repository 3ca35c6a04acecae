"""Whether weights, caches and graphs fit the card, and which context they leave room for."""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from sgdoctor.engines.sglang.memory.prediction import Prediction
from sgdoctor.fixes.memory.solution import Cut, Outcome, Solution
from sgdoctor.launch.change import Change
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.memory import Forecast, forecast
from sgdoctor.preflight.model import Area, CardFacts, Finding, Situation, Status
from sgdoctor.texts import Text, counted

_FRACTION: Final = "--mem-fraction-static"
_CONTEXT: Final = "--context-length"
_CONTEXT_RULE: Final = "SGL441"
_CROWDED_MIB: Final = 256.0
_PHASES: Final = {
    "SGL401": "state_cache",
    "SGL402": "state_cache",
    "SGL411": "weights",
    "SGL412": "kv_cache",
    "SGL414": "graph_capture",
    "SGL415": "serving",
    "SGL421": "kv_cache",
    "SGL422": "kv_cache",
    "SGL423": "kv_cache",
}
"""In which phase a start with each failure ends."""


class MemoryPools:
    """Computes the pools for this card with what is free on it now."""

    id: ClassVar[str] = "memory-pools"
    area: ClassVar[Area] = Area.MEMORY
    title: ClassVar[Text] = Text("Memory of the card", "显存")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """Whether the server would start, with all the numbers, and whether the context can be served."""
        found = forecast(situation)
        if found is None:
            return
        if isinstance(found, Text):
            yield Finding(Status.SKIPPED, found)
            return
        asked = asked_by(situation.launch, situation.flags)
        where = asked.where(_FRACTION)
        now = found.solution.now
        if now is None or found.solution.outcome is Outcome.UNKNOWN:
            title = Text("the caches of this architecture are not modelled", "尚不能计算该架构的缓存大小")
            yield Finding(Status.SKIPPED, title, _table(found, now), where)
            return
        if (broken := _no_fraction(found, asked.value(_FRACTION), where)) is not None:
            yield broken
            return
        yield _start(found, now, where if found.solution.context is None else asked.where(_CONTEXT))
        if found.start.settings.context is not None and now.failure is None:
            yield from _context(found.solution, now, asked.where(_CONTEXT))


def _no_fraction(found: Forecast, typed: str | None, where: Text | None) -> Finding | None:
    """What is said where the check of the flags tells that the fraction is none, and another one would do."""
    if typed is None or found.solution.outcome is not Outcome.ADJUST:
        return None
    try:
        if 0 < float(typed) < 1:
            return None
    except ValueError:  # what is no number at all is the flag's mistake as well
        pass
    title = Text("not computed: the fraction is none (see Flags)", "未计算：该比例无效（见“参数”）")
    return Finding(Status.SKIPPED, title, "", where, detail=_range(found.solution))


def _start(found: Forecast, now: Prediction, where: Text | None) -> Finding:
    solution = found.solution
    if solution.outcome is Outcome.FITS:
        title = _serves(now)
        return Finding(Status.PASS, title, _table(found, now), where, detail=_range(solution))
    changes, what = _way(solution)
    parts = [part for part in (what, _range(solution), solution.why, _crowd(found.card)) if part is not None]
    detail = Text(" ".join(part.en for part in parts), "".join(part.zh for part in parts)) if parts else None
    if now.failure is None:
        title = Text("it may start, but too little memory is left for working", "可能可以启动，但剩余工作显存过少")
        return Finding(Status.WARN, title, _table(found, now), where, "SGL443", changes, detail)
    title = _fails(found, now)
    evidence = f"{now.failure.message} ({_table(found, now)})"
    rule = now.failure.rule
    return Finding(Status.FAIL, title, evidence, where, rule, changes, detail, _PHASES.get(rule))


def _fails(found: Forecast, now: Prediction) -> Text:
    name, most = found.card.name, found.solution.context
    if most is not None:
        return Text(
            f"a context of {now.context or 0:,} tokens does not fit {name}; the largest that fits is {most:,}",
            f"{now.context or 0:,} 个 token 的上下文放不进 {name}；能放下的最大值是 {most:,}",
        )
    if found.solution.outcome is Outcome.IMPOSSIBLE:
        return Text(f"this model does not fit {name}", f"此模型无法装入 {name}")
    return Text("the start would run out of memory", "启动会因显存不足而失败")


def _context(solution: Solution, now: Prediction, where: Text | None) -> Iterator[Finding]:
    tokens, wanted = now.kv_tokens, now.context
    if tokens is None or wanted is None:
        return
    if tokens >= wanted:
        title = Text(f"the whole context of {wanted} tokens can be served", f"可以服务完整的 {wanted} 个 token 上下文")
        yield Finding(Status.PASS, title, f"KV cache: {tokens}", where)
        return
    cut = next((one for one in solution.cuts if one.serves_context and one.safety == "safe"), None)
    detail = Text(
        "Longer requests are refused with an error, whatever the context length says.",
        "无论上下文长度设为多少，更长的请求都会被拒绝。",
    )
    if cut is not None:
        detail = Text(f"{detail.en} {_told(cut).en}", f"{detail.zh}{_told(cut).zh}")
    yield Finding(
        Status.WARN,
        Text(
            f"a context of {wanted} tokens is asked for, and only {tokens} fit",
            f"要求 {wanted} 个 token 的上下文，实际只能容纳 {tokens} 个",
        ),
        f"KV cache: {tokens}",
        where,
        _CONTEXT_RULE,
        cut.changes if cut is not None else (Change("flag.set", _CONTEXT, str(tokens)),),
        detail,
    )


def _way(solution: Solution) -> tuple[tuple[Change, ...], Text | None]:
    """What makes it start, and in words what is given up."""
    if solution.changes:
        fraction = solution.fraction
        if fraction is None:
            return solution.changes, None
        return solution.changes, Text(f"`{_FRACTION} {fraction:.2f}` fits.", f"可用 `{_FRACTION} {fraction:.2f}`。")
    cut = next((one for one in solution.cuts if one.opens), None)
    return ((), None) if cut is None else (cut.changes, _told(cut))


def _told(cut: Cut) -> Text:
    return Text(f"{cut.title.en}: {cut.loss.en}", f"{cut.title.zh}：{cut.loss.zh}")


def _range(solution: Solution) -> Text | None:
    interval = solution.interval
    if interval is None or interval.empty:
        return None
    low, high = f"{interval.low:.2f}", f"{interval.high:.2f}"
    return Text(f"Values of {_FRACTION} from {low} to {high} work.", f"{_FRACTION} 取 {low} 到 {high} 可行。")


def _crowd(card: CardFacts) -> Text | None:
    """Who else holds memory of the card."""
    holders = [(name, mib) for name, mib in card.holders if mib >= _CROWDED_MIB]
    if not holders:
        return None
    listed = ", ".join(f"{name} {mib / 1024:.1f} GiB" for name, mib in holders[:3])
    return Text(f"Others hold memory of the card: {listed}.", f"显卡上有其他占用：{listed}。")


def _serves(now: Prediction) -> Text:
    if now.kv_tokens is None:
        return Text("it fits the card", "显存足够")
    requests = now.max_running_requests
    if requests is None:
        return Text(f"it fits: a KV cache of {now.kv_tokens:,} tokens", f"显存足够：KV 缓存 {now.kv_tokens:,} 个 token")
    return Text(
        f"it fits: a KV cache of {now.kv_tokens:,} tokens, {counted(requests, 'request at once')}",
        f"显存足够：KV 缓存 {now.kv_tokens:,} 个 token，可同时处理 {requests} 个请求",
    )


def _table(found: Forecast, now: Prediction | None) -> str:
    """The sizes in one line, in GiB."""
    cells = [f"free {found.start.card.free_gib:.2f}", f"weights {found.start.weights_gib:.2f}"]
    if now is not None:
        cells.append(f"fraction {now.fraction:.3g}{' (default)' if now.fraction_is_default else ''}")
        sizes = (("state", now.state_gib), ("KV", now.kv_gib))
        cells += [f"{name} {size:.2f}" for name, size in sizes if size is not None]
        if now.left_gib is not None:
            cells.append(f"left {now.left_gib.low:.2f} to {now.left_gib.high:.2f}")
    return ", ".join(cells) + " GiB"
