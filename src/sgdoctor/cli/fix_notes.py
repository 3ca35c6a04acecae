"""What ``sgdoctor fix`` says about how far its numbers go: the log of another model, no log at all."""

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sgdoctor.diagnosis.model import Verdict
from sgdoctor.engines.sglang.flags.model import Schema
from sgdoctor.errors import UserError
from sgdoctor.fixes.model import Plan
from sgdoctor.fixes.other_model import other_model
from sgdoctor.launch.model import Launch
from sgdoctor.texts import Text

if TYPE_CHECKING:
    from sgdoctor.targets import Target


def doubt_of(launch: Launch, facts: Mapping[str, Any], table: Schema, log: str) -> Text | None:
    """That a log may be of another model than the launch that it was given for; None where nothing speaks for it.

    Args:
        launch: as it is meant.
        facts: values of the log by name.
        table: the flags of the version.
        log: its name.

    Raises:
        UserError: it is of another one for certain: its numbers would be wrong for this launch.
    """
    found = other_model(launch, facts, table)
    if found is None:
        return None
    here, there = found.launched, found.logged
    if found.certain:
        alone = f"sgdoctor fix {shlex.quote(log)}"
        raise UserError(
            f"{log}: this is the log of another model: {there}, and the launch serves {here}. Give the log of this "
            f"launch; about the other one alone: {alone}",
            f"{log}：这是另一个模型的日志：{there}，而这里启动的是 {here}。请给出这次启动的日志；"
            f"单独查看那份日志：{alone}",
        )
    return Text(
        f"The log names the model {there}, the launch {here}: if these are two models, the numbers are wrong.",
        f"日志中的模型是 {there}，启动配置中的是 {here}：如果不是同一个模型，这些数字就不对。",
    )


def not_computed(plan: Plan, verdict: Verdict | None, target: "Target", *, folder: bool) -> Text | None:
    """That nobody has computed the memory of a launch, and what helps; None where a log was read or somebody has.

    Args:
        plan: for the launch.
        verdict: on its start; None without a log.
        target: which was named.
        folder: whether the files of the model are within reach.
    """
    launch = plan.before
    if verdict is not None or plan.predicted is not None or not launch.argv or launch.engine != "sglang":
        return None
    place = shlex.quote(target.name) if target.file is not None else "..."
    if folder:
        reason, option = Text("no GPU that can be read", "没有能读取的 GPU"), Text("--gpu CARD", "--gpu 显卡")
    else:
        reason, option = Text("no folder of the model", "没有模型目录"), Text("--model DIR", "--model 目录")
    return Text(
        f"The memory was not computed: there is no log here, and {reason.en}. `--from LOG` takes the numbers of a "
        f"start, `sgdoctor preflight {place} {option.en}` computes them before one.",
        f"未计算显存：这里没有日志，也{reason.zh}。`--from 日志` 使用一次启动的数字，"
        f"`sgdoctor preflight {place} {option.zh}` 可在启动前计算。",
    )
