"""What can be given up, or set otherwise, so that a launch fits its card: each way with what it predicts."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from typing import Final

from sgdoctor.engines.sglang.memory.fractions import at_fraction, is_worth
from sgdoctor.engines.sglang.memory.prediction import Prediction
from sgdoctor.fixes.memory.limits import best_fraction, interval_of, recommended
from sgdoctor.fixes.memory.options import Option, last_resort, options_for
from sgdoctor.fixes.memory.situation import KV_FULL, Situation
from sgdoctor.fixes.memory.solution import Cut
from sgdoctor.launch.change import Change
from sgdoctor.texts import Text

FRACTION: Final = "--mem-fraction-static"
_CONTEXT: Final = "--context-length"
_CONTEXT_STEP: Final = 1024
_MOST_PAIRS: Final = 3


def cuts_for(situation: Situation, before: Prediction, *, opens: bool = False) -> tuple[Cut, ...]:
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
    if found.failure is not None or not (opens or is_worth(found, before)):
        return None
    changed = fraction != situation.start.settings.fraction
    return Cut(
        id=option.id,
        changes=(*option.changes, to_fraction(fraction)) if changed else option.changes,
        title=option.title,
        loss=option.loss,
        safety=option.safety,
        rank=option.rank,
        prediction=found,
        interval=interval,
        opens=opens,
        serves_context=_serves(found, situation),
    )


def lower_fraction(situation: Situation, now: Prediction) -> Cut | None:
    """The smaller share that does the same as smaller graphs or prompts; None if none does."""
    interval, fraction = recommended(situation.start, situation.tried)
    if fraction is None or fraction >= now.fraction:
        return None
    found = at_fraction(situation.start, fraction)
    return Cut(
        id="lower-fraction",
        changes=(to_fraction(fraction),),
        title=Text("Lower the share of the pools", "降低缓存池的份额"),
        loss=Text("A smaller KV cache.", "KV 缓存变小。"),
        safety="safe",
        rank=4,
        prediction=found,
        interval=interval,
        opens=True,
        serves_context=_serves(found, situation),
    )


def _higher_fraction(situation: Situation, before: Prediction) -> Cut | None:
    """A larger share where the present one works, for more tokens."""
    interval, fraction = recommended(situation.start, situation.tried)
    if fraction is None or fraction <= before.fraction:
        return None
    found = at_fraction(situation.start, fraction)
    if not is_worth(found, before):
        return None
    return Cut(
        id="higher-fraction",
        changes=(to_fraction(fraction),),
        title=Text("Give the pools a larger share", "给缓存池更大的份额"),
        loss=Text("Less memory stays free for graphs and long prompts.", "留给 CUDA 图和长输入的显存变少。"),
        safety="safe",
        rank=5,
        prediction=found,
        interval=interval,
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


def fitting_context(situation: Situation, now: Prediction) -> Cut | None:
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
    interval, fraction = recommended(start, situation.tried)
    if fraction is None:
        return None
    found = at_fraction(start, fraction)
    if found.failure is not None or (found.kv_tokens or 0) < context:
        return None
    change = Change("flag.set", _CONTEXT, str(context))
    return Cut(
        id="shorter-context",
        changes=(change, to_fraction(fraction)) if fraction != now.fraction else (change,),
        title=Text(f"A context of {context:,} tokens", f"上下文设为 {context:,} 个 token"),
        loss=Text("Longer prompts are refused.", "更长的输入会被拒绝。"),
        safety="safe",
        rank=6,
        prediction=found,
        interval=interval,
        opens=True,
        serves_context=True,
    )


def _serves(found: Prediction, situation: Situation) -> bool:
    return situation.wanted_context is not None and (found.kv_tokens or 0) >= situation.wanted_context


def to_fraction(fraction: float) -> Change:
    """The change to a fraction."""
    return Change("flag.set", FRACTION, f"{fraction:.2f}")
