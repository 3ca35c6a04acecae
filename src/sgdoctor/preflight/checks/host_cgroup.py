"""Cards stay in a container when systemd is reloaded."""

from collections.abc import Iterable
from typing import ClassVar, Final

from sgdoctor.launch.change import Change
from sgdoctor.launch.model import Gpus
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_LINK: Final = "sudo nvidia-ctk system create-dev-char-symlinks --create-all"


class CgroupKeepsCards:
    """``systemctl daemon-reload`` does not take the card away from a running container."""

    id: ClassVar[str] = "cgroup-keeps-cards"
    area: ClassVar[Area] = Area.HOST
    title: ClassVar[Text] = Text("Cards survive a reload of systemd", "systemd 重新加载后显卡仍可用")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """One where cards of this machine are put into containers by the toolkit's hook."""
        host, launch = situation.host, situation.launch
        info = host.docker
        if info is None or host.remote or host.char_links is None or (launch is not None and launch.image is None):
            return
        gpus = (launch.gpus if launch is not None else None) or Gpus()
        driver = str(info.get("CgroupDriver") or "")
        evidence = f"cgroup driver {driver}, cgroup v{info.get('CgroupVersion') or '?'}"
        # Devices of CDI are told to runc, which tells systemd; the hook changes the cgroup behind its back.
        if driver != "systemd" or host.char_links or gpus.driver == "cdi":
            yield Finding(Status.PASS, Text("nothing takes the card away", "没有会夺走显卡的因素"), evidence)
            return
        yield Finding(
            Status.WARN,
            Text(
                "`systemctl daemon-reload` (also by an update of packages) will take the card from running containers",
                "`systemctl daemon-reload`（软件包更新也会触发）会让运行中的容器失去显卡",
            ),
            evidence,
            prevents="SGL010",
            changes=(Change("host.command", "", _LINK),),
            detail=Text(
                "systemd finds the devices of a container by links in /dev/char; those of the cards are missing.",
                "systemd 通过 /dev/char 中的链接查找容器的设备，而显卡的链接不存在。",
            ),
            phase="serving",
        )
