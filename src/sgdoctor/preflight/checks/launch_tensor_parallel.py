"""As many GPUs as the flags of parallelism ask for."""

from collections.abc import Iterator
from typing import ClassVar

from sgdoctor.launch.change import Change
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.elsewhere import NO_CARD_SEEN
from sgdoctor.preflight.launches.flags import number_of, world_size
from sgdoctor.preflight.launches.gpus import seen_gpus
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text


class LaunchTensorParallel:
    """The engine has as many GPUs as its processes need."""

    id: ClassVar = "launch-tensor-parallel"
    area: ClassVar = Area.LAUNCH
    title: ClassVar = Text("Number of GPUs", "GPU 数量")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """Processes against GPUs; nothing where one of the numbers is not known."""
        asked = asked_by(situation.launch, situation.flags)
        needed = world_size(asked)
        seen = seen_gpus(situation).count
        if situation.launch is None or not situation.launch.argv or needed is None or not seen:
            return
        first = number_of(asked, "--base-gpu-id") or 0
        step = number_of(asked, "--gpu-id-step") or 1
        last = first + (needed - 1) * step
        where = asked.where("--tp-size") or asked.where("--base-gpu-id")
        if last < seen and not situation.host.cards:
            yield Finding(
                Status.SKIPPED,
                Text(
                    f"{needed} needed, and the launch asks for {seen}; {NO_CARD_SEEN.en}",
                    f"需要 {needed} 块，启动配置申请 {seen} 块；{NO_CARD_SEEN.zh}",
                ),
                where=where,
            )
        elif last < seen:
            yield Finding(
                Status.PASS, Text(f"{needed} needed, {seen} there", f"需要 {needed} 块，可用 {seen} 块"), where=where
            )
        elif needed > seen:
            only = asked.value("--tp-size") is not None and needed == number_of(asked, "--tp-size")
            yield Finding(
                Status.FAIL,
                Text(
                    f"{needed} GPUs are needed, but the engine sees {seen}",
                    f"需要 {needed} 块 GPU，但引擎只能看到 {seen} 块",
                ),
                where=where,
                prevents="SGL016",
                changes=(Change("flag.set", "--tp-size", str(seen)),) if only and seen & (seen - 1) == 0 else (),
                phase="distributed",
            )
        else:
            yield Finding(
                Status.FAIL,
                Text(
                    f"the engine would use GPU {last}, but it only sees 0 to {seen - 1}",
                    f"引擎会使用 GPU {last}，但只能看到 0 到 {seen - 1}",
                ),
                where=asked.where("--base-gpu-id") or where,
                prevents="SGL017",
                changes=(Change("flag.unset", "--base-gpu-id"),) if needed <= seen else (),
                phase="distributed",
            )
