"""There is room on the disks that Docker and the caches write to."""

from collections.abc import Iterable
from typing import ClassVar, Final

from sgdoctor.launch.change import Change
from sgdoctor.preflight.elsewhere import NOT_LOOKED_AT
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

# lmsysorg/sglang has 14 to 20 GB as it is sent and 30 to 45 GB unpacked, and both lie there for a while.
_IMAGE_GIB: Final = 50.0
_LITTLE_GIB: Final = 5.0
_NONE_GIB: Final = 0.5


class DiskSpace:
    """The disks of Docker and of the caches have room."""

    id: ClassVar[str] = "disk-space"
    area: ClassVar[Area] = Area.HOST
    title: ClassVar[Text] = Text("Disk space", "磁盘空间")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """One for each disk."""
        host = situation.host
        if host.is_only_a_card:
            yield Finding(Status.SKIPPED, NOT_LOOKED_AT)
            return
        if host.remote:
            yield Finding(Status.SKIPPED, Text("the disks are of another machine", "磁盘在另一台机器上"), remote=True)
            return
        docker = str((host.docker or {}).get("DockerRootDir") or "")
        pulled = situation.image is not None and situation.image.present is False
        for folder, free in host.disk_free_gib.items():
            yield _finding(folder, free, is_docker=folder == docker, pulled=pulled)


def _finding(folder: str, free: float, *, is_docker: bool, pulled: bool) -> Finding:
    amount = f"{folder}: {free:.1f} GiB"
    needed = _IMAGE_GIB if is_docker and pulled else _LITTLE_GIB
    if free >= needed:
        return Finding(Status.PASS, Text(f"{amount} free", f"{amount} 空闲"))
    why = Text("", "")
    if is_docker and pulled:
        why = Text(f"; the image needs about {_IMAGE_GIB:.0f} GiB", f"；镜像约需 {_IMAGE_GIB:.0f} GiB")
    return Finding(
        Status.FAIL if free < _NONE_GIB or free < needed / 2 > _LITTLE_GIB else Status.WARN,
        Text(f"{amount} free{why.en}", f"{amount} 空闲{why.zh}"),
        prevents="SGL034" if is_docker else "SGL035",
        changes=(Change("host.command", "", "docker system df"),) if is_docker else (),
        phase="docker" if is_docker else "weights",
    )
