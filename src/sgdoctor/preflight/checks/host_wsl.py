"""What WSL 2 does otherwise than Linux."""

from collections.abc import Iterable
from typing import ClassVar, Final

from sgdoctor.patterns import lazy_pattern
from sgdoctor.preflight.chosen_cards import chosen_cards
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_WINDOWS: Final = lazy_pattern(r"/mnt/[a-z](?:/|$)|[A-Za-z]:[\\/]")


class WslLimits:
    """Limits of WSL 2 that a launch runs into."""

    id: ClassVar[str] = "wsl-limits"
    area: ClassVar[Area] = Area.HOST
    title: ClassVar[Text] = Text("WSL 2", "WSL 2")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """One for each limit; nothing on other machines."""
        if not situation.host.wsl:
            return
        found = [*_several(situation), *_slow_disk(situation)]
        yield from found
        if not found:
            yield Finding(Status.PASS, Text("nothing that this launch runs into", "此次启动不会触及其限制"))


def _several(situation: Situation) -> Iterable[Finding]:
    if len(chosen_cards(situation)) > 1:
        yield Finding(
            Status.WARN,
            Text(
                "several cards under WSL 2: they cannot reach each other's memory, and NCCL may hang",
                "WSL 2 下使用多块显卡：显卡之间无法直接访问显存，NCCL 可能卡住",
            ),
            prevents="SGL047",
            detail=Text(
                "NCCL_P2P_DISABLE=1 is needed there; one card is the safe choice.",
                "需要设置 NCCL_P2P_DISABLE=1；单卡更稳妥。",
            ),
            phase="distributed",
        )


def _slow_disk(situation: Situation) -> Iterable[Finding]:
    launch = situation.launch
    for mount in launch.mounts if launch is not None else ():
        if mount.source and _WINDOWS.match(mount.source):
            yield Finding(
                Status.WARN,
                Text(
                    f"{mount.source} lies on a disk of Windows, which WSL 2 reads slowly: weights take minutes",
                    f"{mount.source} 位于 Windows 磁盘，WSL 2 读取很慢：加载权重需要数分钟",
                ),
                detail=Text(
                    "Move the model into the file system of WSL (~/).", "请把模型移到 WSL 的文件系统中（~/）。"
                ),
            )
