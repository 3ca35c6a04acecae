"""What the solver answers, as steps of a plan."""

from typing import Final, NamedTuple

from sgdoctor.engines.sglang.memory.prediction import Prediction
from sgdoctor.fixes.memory.solution import Cut, Interval, Solution
from sgdoctor.fixes.model import NO_TEXT, Basis, Step
from sgdoctor.fixes.steps import Remedy
from sgdoctor.texts import Text, counted

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
            note=working_fractions(solution.interval, solution.fraction),
            rule=rule,
        )
        ways.append(Way(step, advised=True))
    ways += [Way(_cut(cut, basis, rule, why), advised=cut.opens) for cut in sorted(solution.cuts, key=_cost)]
    return ways


def _cost(cut: Cut) -> tuple[bool, int]:
    return cut.safety != "safe", cut.rank


def _cut(cut: Cut, basis: Basis, rule: str, why: Text) -> Step:
    return Step(cut.id, cut.changes, basis, cut.title, why, cut.safety, cut.loss, rule, _figures(cut.prediction))


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


def working_fractions(interval: Interval | None, best: float | None) -> Text:
    """Which values of the fraction work, in the words of the diagnosis."""
    if interval is None or interval.empty:
        return NO_TEXT
    en = f"It works from {interval.low:.2f} to {interval.high:.2f}"
    zh = f"自 {interval.low:.2f} 起至 {interval.high:.2f} 可行"
    if interval.low <= interval.safe < interval.high:
        en, zh = f"{en} (up to {interval.safe:.2f} for certain)", f"{zh}（{interval.safe:.2f} 以内是确定的）"
    if best is not None:
        en, zh = f"{en}; recommended {best:.2f}", f"{zh}，推荐 {best:.2f}"
    return Text(f"{en}.", f"{zh}。")


def _figures(then: Prediction) -> Text:
    """What the memory holds then, in one line."""
    en, zh = [], []
    if then.kv_tokens is not None:
        en.append(f"{then.kv_tokens:,} tokens")
        zh.append(f"{then.kv_tokens:,} 个 token")
    if then.max_running_requests is not None:
        en.append(counted(then.max_running_requests, "request at once"))
        zh.append(f"同时 {then.max_running_requests} 个请求")
    if then.left_gib is not None:
        amount = then.left_gib.text
        en.append(f"{amount.en} GiB stay free")
        zh.append(f"剩余 {amount.zh} GiB")
    return Text(", ".join(en), "，".join(zh))
