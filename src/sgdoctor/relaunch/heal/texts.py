"""Why healing ends, in words."""

from collections.abc import Sequence
from typing import Final

from sgdoctor.fixes.model import Step
from sgdoctor.texts import Text

NOTHING_NEW: Final = Text("The plan only leads to launches that were tried.", "方案给出的启动配置都已经试过。")
DEADLINE: Final = Text("The time is over.", "时间已用完。")
NEVER_STARTED: Final = Text("It was never started.", "它从未启动过。")
NOT_FAILED: Final = Text("It does not run, and its last start did not fail.", "它没有在运行，上一次启动也没有失败。")
TRIED_BEFORE: Final = Text("As in the launch before.", "与上一次启动相同。")
CHANGED: Final = Text("Its launch was changed by somebody else meanwhile.", "其启动配置在此期间被其他人修改。")


def by_hand(what: Sequence[Text]) -> Text:
    """The fixes that only the user can make."""
    if not what:
        return Text("Only you can put this right.", "这需要你手动处理。")
    each = dict.fromkeys(what)
    return Text(" ".join(text.en for text in each), "".join(text.zh for text in each))


def unsafe(steps: Sequence[Step]) -> Text:
    """What would have needed consent."""
    titles = [_title(step) for step in steps]
    return Text("; ".join(title.en for title in titles), "；".join(title.zh for title in titles))


def limit(tries: int) -> Text:
    """No more tries."""
    return Text(f"{tries} launches were tried." if tries != 1 else "One launch was tried.", f"已尝试 {tries} 次启动。")


def nothing_between(low: float, high: float) -> Text:
    """Too low and too high meet."""
    return Text(
        f"The pools need `--mem-fraction-static` {low:.2f}, and what else is needed allows at most {high:.2f}.",
        f"缓存池需要 `--mem-fraction-static` {low:.2f}，而其余部分最多允许 {high:.2f}。",
    )


def _title(step: Step) -> Text:
    title = step.title if step.title.en else step.why
    if not step.effect.en:
        return title
    return Text(f"{title.en} {step.effect.en}", f"{title.zh}{step.effect.zh}")
