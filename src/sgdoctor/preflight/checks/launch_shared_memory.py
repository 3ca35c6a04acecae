"""The shared memory that processes of several GPUs exchange data through."""

from collections.abc import Iterator
from typing import ClassVar

from sgdoctor.launch.change import Change
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.launches.flags import world_size
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_MIB = 1024 * 1024
_DEFAULT_MIB = 64
_LITTLE_MIB = 1024
_ENOUGH = "32g"


class LaunchSharedMemory:
    """``/dev/shm`` is large enough for the processes that use it."""

    id: ClassVar = "launch-shared-memory"
    area: ClassVar = Area.LAUNCH
    title: ClassVar = Text("Shared memory", "共享内存")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """The size against the number of processes; one GPU needs next to nothing."""
        launch = situation.launch
        if launch is None or launch.image is None or not launch.argv:
            return
        mounted = next((mount for mount in launch.mounts if mount.target == "/dev/shm"), None)  # noqa: S108 - read
        if mounted is not None:
            yield Finding(Status.PASS, Text("it is mounted", "由挂载提供"), evidence=mounted.source or "")
            return
        of_host = launch.ipc == "host"
        size = situation.host.shm_mib if of_host else (launch.shm_bytes or _DEFAULT_MIB * _MIB) / _MIB
        note = None
        if of_host and launch.shm_bytes is not None:
            note = Text(
                "The size of the launch has no effect beside ipc: host; the host's counts.",
                "使用 ipc: host 时启动命令里的大小不起作用，以主机的为准。",
            )
        processes = world_size(asked_by(launch, situation.flags))
        if processes == 1:
            yield Finding(Status.PASS, Text("one GPU hardly needs any", "单卡几乎用不到"), detail=note)
        elif processes is None or size is None:
            yield Finding(Status.SKIPPED, Text("its size is not known", "大小未知"), detail=note)
        elif size >= _LITTLE_MIB:
            yield Finding(Status.PASS, Text(f"{size / 1024:.3g} GiB", f"{size / 1024:.3g} GiB"), detail=note)
        else:
            little = size <= _DEFAULT_MIB and not of_host
            yield Finding(
                Status.FAIL if little else Status.WARN,
                Text(
                    f"{size:.0f} MiB of shared memory for {processes} GPUs; NCCL needs more",
                    f"{processes} 块 GPU 只有 {size:.0f} MiB 共享内存；NCCL 需要更多",
                ),
                prevents="SGL601",
                changes=() if of_host else (Change("docker.shm_size", value=_ENOUGH),),
                detail=note,
                phase="distributed" if little else None,
            )
