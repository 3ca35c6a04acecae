"""The host's own /dev/shm, where a container uses that one."""

from collections.abc import Iterable
from typing import ClassVar, Final

from sgdoctor.launch.change import Change
from sgdoctor.launch.container_problems import ipc_of_host
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_LEAST_MIB: Final = 1024.0


class SharedMemoryOfHost:
    """``/dev/shm`` of the host is large enough for a container that uses it."""

    id: ClassVar[str] = "host-shared-memory"
    area: ClassVar[Area] = Area.HOST
    title: ClassVar[Text] = Text("Shared memory of the host", "主机的共享内存")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """One where the container uses the host's."""
        host, launch = situation.host, situation.launch
        if launch is None or launch.ipc != "host" or host.shm_mib is None or host.simulated or host.contained:
            return
        ipc = ipc_of_host(launch)
        size = f"{host.shm_mib / 1024:.1f} GiB"
        if host.shm_mib >= _LEAST_MIB:
            yield Finding(Status.PASS, Text(f"{size}, used by {ipc}", f"{size}，供 {ipc} 使用"))
            return
        yield Finding(
            Status.WARN,
            Text(f"only {size}, and the container uses it ({ipc})", f"仅 {size}，而容器使用它（{ipc}）"),
            prevents="SGL601",
            changes=(Change("host.command", "", "sudo mount -o remount,size=8G /dev/shm"),),
            phase="distributed",
        )
