"""The shared memory that processes of several GPUs exchange data through."""

from collections.abc import Iterator
from typing import ClassVar

from sgdoctor.launch.change import Change
from sgdoctor.launch.container_problems import ipc_of_host
from sgdoctor.launch.model import Launch
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.launches.flags import world_size
from sgdoctor.preflight.launches.settings import settings_of
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
        if launch.ipc == "host":
            useless = launch.shm_bytes is not None
            yield Finding(
                Status.PASS, Text("that of the host", "使用主机的"), detail=_no_effect(launch) if useless else None
            )
            return
        size = (launch.shm_bytes or _DEFAULT_MIB * _MIB) / _MIB
        processes = world_size(asked_by(launch, situation.flags))
        if processes == 1:
            yield Finding(Status.PASS, Text("one GPU hardly needs any", "单卡几乎用不到"))
        elif processes is None:
            yield Finding(Status.SKIPPED, Text("the number of GPUs is not known", "GPU 数量未知"))
        elif launch.shm_bytes is None and settings_of(situation).hidden:
            yield Finding(Status.SKIPPED, Text("options stand behind a variable", "部分选项写在变量里"))
        elif size >= _LITTLE_MIB:
            yield Finding(Status.PASS, Text(f"{size / 1024:.3g} GiB", f"{size / 1024:.3g} GiB"))
        else:
            little = size <= _DEFAULT_MIB
            yield Finding(
                Status.FAIL if little else Status.WARN,
                Text(
                    f"{size:.0f} MiB of shared memory for {processes} GPUs; NCCL needs more",
                    f"{processes} 块 GPU 只有 {size:.0f} MiB 共享内存；NCCL 需要更多",
                ),
                prevents="SGL601",
                changes=(Change("docker.shm_size", value=_ENOUGH),),
                phase="distributed" if little else None,
            )


def _no_effect(launch: Launch) -> Text:
    ipc = ipc_of_host(launch)
    return Text(f"A size beside {ipc} has no effect.", f"与 {ipc} 同时给出的大小不起作用。")
