"""Solves: from the numbers of one attempt to the fraction that fits this card, or to the smallest cuts."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from typing import Final

from sgdoctor.engines.sglang.memory.fractions import TOO_LOW, at_fraction
from sgdoctor.engines.sglang.memory.prediction import Prediction, Warned
from sgdoctor.fixes.memory.limits import best_fraction, interval_of, saved_beside_pools
from sgdoctor.fixes.memory.options import Option, first_relief, last_resort, options_for
from sgdoctor.fixes.memory.situation import KV_FULL, Situation
from sgdoctor.fixes.memory.solution import Cut, Interval, Outcome, Solution
from sgdoctor.launch.change import Change
from sgdoctor.texts import Text

FRACTION: Final = "--mem-fraction-static"
_CAP: Final = "--max-total-tokens"
_CONTEXT: Final = "--context-length"
_WORTH: Final = 1.1
"""A cut that gives less than a tenth more tokens is not worth its loss."""
_CONTEXT_STEP: Final = 1024
_MOST_PAIRS: Final = 3


def solve(situation: Situation) -> Solution:
    """What is to be done about the memory of a launch."""
    start = situation.start
    now = at_fraction(start, None)
    if now.failure is not None and now.failure.rule == "SGL411" and start.weights_gib >= start.card.free_gib:
        return Solution(Outcome.IMPOSSIBLE, now, why=_weights_alone(situation))
    if capped := _capped(situation, now):
        return capped
    if (now.failure is None and now.left_gib is None) or _contradicted(situation, now):
        return Solution(Outcome.UNKNOWN, now)
    interval = interval_of(start, situation.tried)
    if interval is None or interval.empty:
        return _cut_or_impossible(situation, now, interval)
    rule = situation.tried.rule if situation.tried is not None else None
    if now.failure is None and now.fraction in interval:
        if rule in KV_FULL:
            return _more_tokens(situation, now, interval)
        why = None if rule is None else _not_the_memory()
        return Solution(
            Outcome.FITS,
            now,
            interval,
            prediction=now,
            cuts=_cuts(situation, now),
            warnings=_warnings(situation, now),
            why=why,
        )
    relieved = None if rule is None else _relieved(situation, now, rule)
    return relieved or _adjusted(situation, now, interval)


def _contradicted(situation: Situation, now: Prediction) -> bool:
    """Whether the attempt, under the flags of the launch, failed where the model says that it works."""
    tried = situation.tried
    return (
        tried is not None
        and tried.rule in TOO_LOW
        and tried.settings == situation.start.settings
        and (now.failure is None or now.failure.rule not in TOO_LOW)
    )


def _more_tokens(situation: Situation, now: Prediction, interval: Interval) -> Solution:
    """The KV cache was full while requests ran: the start works, but a larger cache serves them better."""
    raised = _adjusted(situation, now, interval)
    if raised.prediction is not None and _worth(raised.prediction, now):
        return raised
    return replace(raised, outcome=Outcome.FITS, fraction=None, changes=(), prediction=now, cuts=_cuts(situation, now))


def _adjusted(situation: Situation, now: Prediction, interval: Interval) -> Solution:
    """Another fraction makes it work."""
    fraction = best_fraction(situation.start, interval, situation.tried)
    if fraction is None or fraction == now.fraction:
        cuts = _cuts(situation, now, opens=now.failure is not None)
        return Solution(Outcome.CUT, now, interval, None, (), now, cuts, _warnings(situation, now))
    found = at_fraction(situation.start, fraction)
    return Solution(
        Outcome.ADJUST,
        now,
        interval,
        fraction,
        (_to(fraction),),
        found,
        _cuts(situation, found),
        _warnings(situation, found),
    )


def _relieved(situation: Situation, now: Prediction, rule: str) -> Solution | None:
    """Graphs or prompts ran out of memory: they are made smaller first, long before the pools are.

    Only what is certain to save something counts, and what may save as much as was lacking: another start costs
    minutes.
    """
    tried = situation.tried
    for option in first_relief(situation, rule):
        start = option.apply(situation.start)
        saved = saved_beside_pools(now, at_fraction(start, now.fraction))
        if saved.low <= 0 or (tried is not None and saved.high < tried.lacking_gib):
            continue
        interval = interval_of(start, tried)
        fraction = None if interval is None else best_fraction(start, interval, tried)
        if fraction is None:
            continue
        if tried is not None and tried.fraction is not None:
            fraction = min(fraction, tried.fraction)
        found = at_fraction(start, fraction)
        later = replace(situation, start=start)
        lower = _lower_fraction(situation, now)
        return Solution(
            Outcome.ADJUST,
            now,
            interval,
            fraction,
            option.changes if fraction == now.fraction else (*option.changes, _to(fraction)),
            found,
            (*(() if lower is None else (lower,)), *_cuts(later, found)),
            _warnings(later, found),
            Text(
                f"{option.title.en}: that costs less than a smaller KV cache. {option.loss.en}",
                f"{option.title.zh}：代价小于缩小 KV 缓存。{option.loss.zh}",
            ),
        )
    return None


def _lower_fraction(situation: Situation, now: Prediction) -> Cut | None:
    """The smaller share that does the same as smaller graphs or prompts; None if none does."""
    interval = interval_of(situation.start, situation.tried)
    fraction = None if interval is None else best_fraction(situation.start, interval, situation.tried)
    if fraction is None or fraction >= now.fraction:
        return None
    found = at_fraction(situation.start, fraction)
    return Cut(
        id="lower-fraction",
        changes=(_to(fraction),),
        title=Text("Lower the share of the pools", "降低缓存池的份额"),
        loss=Text("A smaller KV cache.", "KV 缓存变小。"),
        safety="safe",
        rank=4,
        prediction=found,
        interval=interval,
        opens=True,
        serves_context=_serves(found, situation),
    )


def _capped(situation: Situation, now: Prediction) -> Solution | None:
    """The cases in which ``--max-total-tokens`` decides, not the memory."""
    settings, tried = situation.start.settings, situation.tried
    if settings.max_tokens is None:
        return None
    below_page = settings.max_tokens < settings.page
    full = tried is not None and tried.rule in KV_FULL and now.kv_tokens is not None
    if not below_page and not (full and (now.kv_tokens or 0) > settings.max_tokens - settings.page):
        return None
    free = situation.start.under(replace(settings, max_tokens=None))
    found = at_fraction(free, None)
    opened = replace(situation, start=free)
    why = Text(
        f"`{_CAP}` {settings.max_tokens} limits the KV cache, not the memory: no fraction changes that.",
        f"限制 KV 缓存的是 `{_CAP}` {settings.max_tokens}，而不是显存：改变比例没有作用。",
    )
    interval = interval_of(free, None)
    changes: tuple[Change, ...] = (Change("flag.unset", _CAP),)
    fraction = None
    if found.failure is not None and interval is not None:
        fraction = best_fraction(free, interval, None)
        if fraction is not None:
            changes = (*changes, _to(fraction))
            found = at_fraction(free, fraction)
    return Solution(Outcome.ADJUST, now, interval, fraction, changes, found, (), _warnings(opened, found), why)


def _cut_or_impossible(situation: Situation, now: Prediction, interval: Interval | None) -> Solution:
    cuts = _cuts(situation, now, opens=True)
    if not any(cut.opens for cut in cuts) and (shorter := _fitting_context(situation, now)) is not None:
        warnings, most = _warnings(situation, now), shorter.prediction.context
        why = _context_alone(now, most)
        return Solution(Outcome.CUT, now, interval, None, (), now, (shorter,), warnings, why, most)
    if any(cut.opens for cut in cuts):
        return Solution(
            Outcome.CUT, now, interval, None, (), now, cuts, _warnings(situation, now), _no_fraction(interval)
        )
    if situation.start.shape.hybrid and now.slots is None:
        return Solution(Outcome.UNKNOWN, now, interval)
    return Solution(Outcome.IMPOSSIBLE, now, interval, why=_does_not_fit(situation, interval))


def _cuts(situation: Situation, before: Prediction, *, opens: bool = False) -> tuple[Cut, ...]:
    """Cuts that help, the smallest loss first.

    Args:
        situation: before them.
        before: what is predicted without them.
        opens: whether the server does not start without them.
    """
    wanted, tokens = situation.wanted_context, before.kv_tokens
    full = situation.tried is not None and situation.tried.rule in KV_FULL
    short = tokens is not None and (full or (wanted is not None and tokens < wanted))
    if not opens and not short:
        return ()
    raised = None if opens else _higher_fraction(situation, before)
    best = before if raised is None else raised.prediction
    options = options_for(situation)

    def found(some: Iterable[Option]) -> list[Cut]:
        return [cut for option in some if (cut := _tried_out(option, situation, best, opens=opens)) is not None]

    cuts = found(options)
    if raised is not None:
        cuts.append(raised)
    if not any(_enough(cut, opens=opens) for cut in cuts):
        pairs = found(first.together(second) for first, second in combinations(options, 2))
        cuts += sorted((cut for cut in pairs if _enough(cut, opens=opens)), key=lambda cut: cut.rank)[:_MOST_PAIRS]
    if opens:
        last = last_resort(situation)
        cuts += found(last)
        if not cuts:
            cuts += found(first.together(second) for first in options for second in last)[:_MOST_PAIRS]
    if tokens is not None and wanted is not None and not opens and _CONTEXT_STEP <= tokens < wanted:
        cuts.append(_shorter_context(before, tokens))
    return tuple(sorted(cuts, key=lambda cut: cut.rank))


def _enough(cut: Cut, *, opens: bool) -> bool:
    return cut.opens if opens else cut.serves_context


def _higher_fraction(situation: Situation, before: Prediction) -> Cut | None:
    """A larger share where the present one works, for more tokens."""
    interval = interval_of(situation.start, situation.tried)
    fraction = None if interval is None else best_fraction(situation.start, interval, situation.tried)
    if fraction is None or fraction <= before.fraction:
        return None
    found = at_fraction(situation.start, fraction)
    if not _worth(found, before):
        return None
    return Cut(
        id="higher-fraction",
        changes=(_to(fraction),),
        title=Text("Give the pools a larger share", "给缓存池更大的份额"),
        loss=Text("Less memory stays free for graphs and long prompts.", "留给 CUDA 图和长输入的显存变少。"),
        safety="safe",
        rank=5,
        prediction=found,
        interval=interval,
        serves_context=_serves(found, situation),
    )


def _worth(found: Prediction, before: Prediction) -> bool:
    return (found.kv_tokens or 0) >= _WORTH * (before.kv_tokens or 0)


def _serves(found: Prediction, situation: Situation) -> bool:
    return situation.wanted_context is not None and (found.kv_tokens or 0) >= situation.wanted_context


def _tried_out(option: Option, situation: Situation, before: Prediction, *, opens: bool) -> Cut | None:
    start = option.apply(situation.start)
    interval = interval_of(start, situation.tried)
    if interval is None or interval.empty:
        return None
    fraction = best_fraction(start, interval, situation.tried)
    if not opens and before.fraction in interval:
        # What works stays, unless the cut leaves room for more.
        fraction = max(fraction or 0.0, before.fraction)
    if fraction is None:
        return None
    found = at_fraction(start, fraction)
    if found.failure is not None or not (opens or _worth(found, before)):
        return None
    changed = fraction != situation.start.settings.fraction
    return Cut(
        id=option.id,
        changes=(*option.changes, _to(fraction)) if changed else option.changes,
        title=option.title,
        loss=option.loss,
        safety=option.safety,
        rank=option.rank,
        prediction=found,
        interval=interval,
        opens=opens,
        serves_context=_serves(found, situation),
    )


def _shorter_context(before: Prediction, tokens: int) -> Cut:
    """Not memory but honesty: the context that can be served."""
    context = tokens // _CONTEXT_STEP * _CONTEXT_STEP
    return Cut(
        id="context-of-the-pool",
        changes=(Change("flag.set", _CONTEXT, str(context)),),
        title=Text(f"Announce a context of {context:,} tokens", f"把上下文声明为 {context:,} 个 token"),
        loss=Text(
            "Nothing that could be served: longer prompts are refused either way, now with the true limit.",
            "没有实际损失：更长的输入本来就会被拒绝，现在给出的是真实上限。",
        ),
        safety="safe",
        rank=6,
        prediction=replace(before, context=context, longest_request=min(context, tokens), warnings=()),
        serves_context=False,
    )


def _fitting_context(situation: Situation, now: Prediction) -> Cut | None:
    """The largest context with which the server starts and that its KV cache holds; None if none helps."""
    low, high, found = 0, -(-(now.context or 0) // _CONTEXT_STEP), None
    while high - low > 1:
        middle = (low + high) // 2
        if (tried := _with_context(situation, now, middle * _CONTEXT_STEP)) is None:
            high = middle
        else:
            low, found = middle, tried
    return found


def _with_context(situation: Situation, now: Prediction, context: int) -> Cut | None:
    start = situation.start.under(replace(situation.start.settings, context=context))
    interval = interval_of(start, situation.tried)
    fraction = None if interval is None else best_fraction(start, interval, situation.tried)
    if fraction is None:
        return None
    found = at_fraction(start, fraction)
    if found.failure is not None or (found.kv_tokens or 0) < context:
        return None
    change = Change("flag.set", _CONTEXT, str(context))
    return Cut(
        id="shorter-context",
        changes=(change, _to(fraction)) if fraction != now.fraction else (change,),
        title=Text(f"A context of {context:,} tokens", f"上下文设为 {context:,} 个 token"),
        loss=Text("Longer prompts are refused.", "更长的输入会被拒绝。"),
        safety="safe",
        rank=6,
        prediction=found,
        interval=interval,
        opens=True,
        serves_context=True,
    )


def _context_alone(now: Prediction, most: int | None) -> Text:
    return Text(
        f"The context of {now.context or 0:,} tokens is the cause: the tables that SGLang makes for so many positions "
        f"do not fit the card. The largest that fits is {most or 0:,}.",
        f"原因是上下文长度 {now.context or 0:,} 个 token：SGLang 为这么多位置建立的表放不进显卡。"
        f"能放下的最大值是 {most or 0:,}。",
    )


def _to(fraction: float) -> Change:
    return Change("flag.set", FRACTION, f"{fraction:.2f}")


def _warnings(situation: Situation, found: Prediction) -> tuple[Warned, ...]:
    taken_for = situation.start.shape.taken_for
    if taken_for is None:
        return found.warnings
    assumed = Warned(
        "model-assumed",
        Text(
            f"The log does not say what a token and a state take; the numbers are those of {taken_for}, "
            "which agree with it.",
            f"日志没有给出每个 token 和状态的大小；这里采用与日志相符的 {taken_for} 的数值。",
        ),
    )
    return (*found.warnings, assumed)


def _not_the_memory() -> Text:
    return Text(
        "The memory of this launch is in order; what failed is something else.",
        "此次启动的显存设置没有问题；失败另有原因。",
    )


def _no_fraction(interval: Interval | None) -> Text:
    if interval is None:
        return Text(
            f"No `{FRACTION}` makes room for one request with these flags.",
            f"在这些参数下，任何 `{FRACTION}` 都放不下一个请求。",
        )
    return Text(
        f"Weights and pools for one request need `{FRACTION}` {interval.low:.2f}; graphs and working memory allow at "
        f"most {interval.high:.2f}.",
        f"权重和一个请求的缓存池需要 `{FRACTION}` {interval.low:.2f}；CUDA 图和临时显存最多允许 {interval.high:.2f}。",
    )


def _weights_alone(situation: Situation) -> Text:
    weights, free = situation.start.weights_gib, situation.start.card.free_gib
    return Text(
        f"The weights alone take {weights:.2f} GiB; {free:.2f} GiB of the card are free. A smaller quantisation, or "
        "`--tp-size 2` on two cards, would fit.",
        f"仅权重就要 {weights:.2f} GiB，而显卡只有 {free:.2f} GiB 可用。"
        "请换更小的量化版本，或在两张卡上用 `--tp-size 2`。",
    )


def _does_not_fit(situation: Situation, interval: Interval | None) -> Text:
    start = situation.start
    least = _no_fraction(interval)
    return Text(
        f"{least.en} Nothing that can be given up changes that: the weights take {start.weights_gib:.2f} of "
        f"{start.card.free_gib:.2f} GiB. A smaller quantisation, or `--tp-size 2` on two cards, would fit.",
        f"{least.zh}放弃任何功能都无法改变：权重占了 {start.card.free_gib:.2f} GiB 中的 {start.weights_gib:.2f} GiB。"
        "请换更小的量化版本，或在两张卡上用 `--tp-size 2`。",
    )
