"""What the solver answers, as steps of a plan."""

from typing import Final, NamedTuple

from sgdoctor.engines.sglang.memory.prediction import Prediction
from sgdoctor.fixes.memory.solution import Cut, Interval, Solution
from sgdoctor.fixes.model import NO_TEXT, Basis, Step
from sgdoctor.fixes.steps import Remedy
from sgdoctor.texts import Text

FRACTION: Final = "fitting-fraction"
"""Id of the step that gives nothing up."""


class Way(NamedTuple):
    """One way to make a model fit.

    Attributes:
        step: what is done.
        advised: whether it may be taken without having been chosen: it makes the server start.
    """

    step: Step
    advised: bool


def ways_of(solution: Solution, seen: Remedy | None) -> list[Way]:
    """The ways that a solution knows, the smallest loss first.

    Args:
        solution: of the launch as it is planned so far.
        seen: the failure that was seen; None if it is only to be expected.
    """
    basis = Basis.FOUND if seen else Basis.PREDICTED
    rule, why = _reason(solution.now, seen)
    ways = []
    if solution.changes:
        step = Step(
            id=FRACTION,
            changes=solution.changes,
            basis=basis,
            title=_title(solution),
            why=why,
            note=_note(solution.interval, solution.prediction),
            rule=rule,
        )
        ways.append(Way(step, advised=True))
    ways += [Way(_cut(cut, basis, rule, why), advised=cut.opens) for cut in sorted(solution.cuts, key=_cost)]
    return ways


def _cost(cut: Cut) -> tuple[bool, int]:
    return cut.safety != "safe", cut.rank


def _cut(cut: Cut, basis: Basis, rule: str, why: Text) -> Step:
    return Step(cut.id, cut.changes, basis, cut.title, why, cut.safety, cut.loss, rule)


def _reason(now: Prediction | None, seen: Remedy | None) -> tuple[str, Text]:
    """The rule and the reason: what was seen, or how the start would end."""
    if seen is not None:
        return seen.rule, seen.why
    if now is None or now.failure is None:
        return "", NO_TEXT
    message = now.failure.message
    return now.failure.rule, Text(f"The next start would end with: {message}", f"下一次启动会以此结束：{message}")


def _title(solution: Solution) -> Text:
    then = solution.prediction
    if solution.fraction is None or then is None:
        return Text("Set what fits this card.", "设为适合这张卡的值。")
    fraction = f"{solution.fraction:.2f}"
    if then.kv_tokens is None:
        return Text(f"Set `--mem-fraction-static` to {fraction}.", f"把 `--mem-fraction-static` 设为 {fraction}。")
    tokens = f"{then.kv_tokens:,}"
    return Text(
        f"Set `--mem-fraction-static` to {fraction}: a KV cache of {tokens} tokens.",
        f"把 `--mem-fraction-static` 设为 {fraction}：KV 缓存可容纳 {tokens} 个 token。",
    )


def _note(interval: Interval | None, then: Prediction | None) -> Text:
    """Which values work, and how much memory stays free."""
    en, zh = [], []
    if interval is not None and not interval.empty:
        low, high = f"{interval.low:.2f}", f"{interval.high:.2f}"
        en.append(f"Values from {low} to {high} work.")
        zh.append(f"{low} 到 {high} 之间的值可行。")
        if interval.reason is not None and interval.safe < interval.high:
            en.append(f"Above {interval.safe:.2f} it is not certain: {interval.reason.en}.")
            zh.append(f"高于 {interval.safe:.2f} 时不能确定：{interval.reason.zh}。")
    if then is not None and then.left_gib is not None:
        left = then.left_gib
        amount = f"{left.low:.2f}" if left.known else f"{max(0.0, left.low):.2f}-{left.high:.2f}"
        en.append(f"{amount} GiB stay free.")
        zh.append(f"剩余 {amount} GiB。")
    return Text(" ".join(en), "".join(zh))
