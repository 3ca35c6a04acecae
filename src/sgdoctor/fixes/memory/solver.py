"""Solves: from the numbers of one attempt to the fraction that fits this card, or to the smallest cuts."""

from dataclasses import replace
from typing import Final

from sgdoctor.engines.sglang.memory.fractions import TOO_LOW, Failed, at_fraction, is_worth, relieved
from sgdoctor.engines.sglang.memory.prediction import Prediction, Warned
from sgdoctor.fixes.memory.cuts import FRACTION, cuts_for, fitting_context, lower_fraction, to_fraction
from sgdoctor.fixes.memory.limits import best_fraction, bound_of, interval_of
from sgdoctor.fixes.memory.options import first_relief
from sgdoctor.fixes.memory.situation import KV_FULL, Situation
from sgdoctor.fixes.memory.solution import Interval, Outcome, Solution
from sgdoctor.launch.change import Change
from sgdoctor.texts import Text

_CAP: Final = "--max-total-tokens"


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
            cuts=cuts_for(situation, now),
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
    if raised.prediction is not None and is_worth(raised.prediction, now):
        return raised
    return replace(
        raised, outcome=Outcome.FITS, fraction=None, changes=(), prediction=now, cuts=cuts_for(situation, now)
    )


def _adjusted(situation: Situation, now: Prediction, interval: Interval) -> Solution:
    """Another fraction makes it work."""
    fraction = best_fraction(situation.start, interval, situation.tried)
    if fraction is None or fraction == now.fraction:
        cuts = cuts_for(situation, now, opens=now.failure is not None)
        return Solution(Outcome.CUT, now, interval, None, (), now, cuts, _warnings(situation, now))
    found = at_fraction(situation.start, fraction)
    return Solution(
        Outcome.ADJUST,
        now,
        interval,
        fraction,
        (to_fraction(fraction),),
        found,
        cuts_for(situation, found),
        _warnings(situation, found),
    )


def _relieved(situation: Situation, now: Prediction, rule: str) -> Solution | None:
    """Graphs or prompts ran out of memory: they are made smaller first, long before the pools are."""
    tried = situation.tried
    lacking = tried.lacking_gib if tried is not None else 0.0
    in_force = tried.fraction if tried is not None and tried.fraction is not None else now.fraction
    for option in first_relief(situation, rule):
        start = option.apply(situation.start)
        relief = relieved(situation.start, start, Failed(in_force, lacking), bound_of(start, tried))
        if relief is None:
            continue
        interval, fraction = interval_of(start, tried), relief.fraction
        found = at_fraction(start, fraction)
        later = replace(situation, start=start)
        lower = lower_fraction(situation, now)
        return Solution(
            Outcome.ADJUST,
            now,
            interval,
            fraction,
            option.changes if fraction == now.fraction else (*option.changes, to_fraction(fraction)),
            found,
            (*(() if lower is None else (lower,)), *cuts_for(later, found)),
            _warnings(later, found),
            Text(
                f"{option.title.en}: that costs less than a smaller KV cache. {option.loss.en}",
                f"{option.title.zh}：代价小于缩小 KV 缓存。{option.loss.zh}",
            ),
        )
    return None


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
            changes = (*changes, to_fraction(fraction))
            found = at_fraction(free, fraction)
    return Solution(Outcome.ADJUST, now, interval, fraction, changes, found, (), _warnings(opened, found), why)


def _cut_or_impossible(situation: Situation, now: Prediction, interval: Interval | None) -> Solution:
    cuts = cuts_for(situation, now, opens=True)
    if not any(cut.opens for cut in cuts) and (shorter := fitting_context(situation, now)) is not None:
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


def _context_alone(now: Prediction, most: int | None) -> Text:
    return Text(
        f"The context of {now.context or 0:,} tokens is the cause: the tables that SGLang makes for so many positions "
        f"do not fit the card. The largest that fits is {most or 0:,}.",
        f"原因是上下文长度 {now.context or 0:,} 个 token：SGLang 为这么多位置建立的表放不进显卡。"
        f"能放下的最大值是 {most or 0:,}。",
    )


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
