"""Limits that Docker is asked to set and may not be allowed to."""

from collections.abc import Iterator
from typing import ClassVar

from sgdoctor.preflight.launches.settings import settings_of
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_FEW_FILES = 4096


class LaunchLimits:
    """The limits of the launch can be set, and are not too low."""

    id: ClassVar = "launch-limits"
    area: ClassVar = Area.LAUNCH
    title: ClassVar = Text("Limits", "资源限制")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """What is asked for, against what this Docker may do."""
        limits = settings_of(situation).ulimits
        if not limits:
            return
        security = (situation.host.docker or {}).get("SecurityOptions") or ()
        rootless = any("rootless" in str(option) for option in security)
        shown = ", ".join(f"{name}={soft}:{hard}" for name, (soft, hard) in sorted(limits.items()))
        files = limits.get("nofile", (-1, -1))[0]
        if rootless and "memlock" in limits and -1 in limits["memlock"]:
            yield Finding(
                Status.FAIL,
                Text(
                    "Docker without root may not lift the limit of locked memory",
                    "rootless Docker 不能取消锁定内存的限制",
                ),
                evidence=shown,
                prevents="SGL038",
                detail=Text(
                    "Leave memlock out: only RDMA and pinned host memory ask for it.",
                    "请去掉 memlock：只有 RDMA 和锁页主机内存才需要它。",
                ),
                phase="docker",
            )
        elif 0 <= files < _FEW_FILES:
            yield Finding(
                Status.WARN,
                Text(f"{files} open files are few for a server", f"{files} 个打开文件数对服务来说偏少"),
                evidence=shown,
                prevents="SGL068",
            )
        else:
            yield Finding(Status.PASS, Text("can be set", "可以设置"), evidence=shown)
