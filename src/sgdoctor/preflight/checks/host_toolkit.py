"""Docker can hand a card over in the way that the launch asks for."""

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from sgdoctor.launch.change import Change
from sgdoctor.launch.model import Gpus
from sgdoctor.preflight.elsewhere import NOT_LOOKED_AT
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_CDI: Final = "nvidia.com/gpu"
_SET_UP: Final = "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker"
_DESCRIBE: Final = "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
_HOOKS: Final = frozenset({"nvidia-container-runtime-hook", "nvidia-container-toolkit"})


class ToolkitUsable:
    """NVIDIA's container toolkit is known to Docker."""

    id: ClassVar[str] = "container-toolkit"
    area: ClassVar[Area] = Area.HOST
    title: ClassVar[Text] = Text("NVIDIA Container Toolkit", "NVIDIA Container Toolkit")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """One where Docker answers and the launch asks for a card."""
        info, launch = situation.host.docker, situation.launch
        if info is None or (launch is not None and launch.image is None):
            return
        gpus = (launch.gpus if launch is not None else None) or Gpus()
        described = gpus.driver == "cdi" or any(device.startswith(_CDI) for device in gpus.device_ids)
        if not (described or gpus.runtime == "nvidia" or launch is None or gpus.device_ids or gpus.count):
            return
        if situation.host.is_only_a_card and "nvidia" not in _runtimes(info):
            yield Finding(Status.SKIPPED, NOT_LOOKED_AT)
        elif described:
            yield _described(situation, info, gpus)
        elif gpus.runtime == "nvidia":
            yield _registered(situation, info)
        else:
            yield _handed_over(situation, info)


def _runtimes(info: dict[str, Any]) -> list[str]:
    runtimes = info.get("Runtimes")
    return sorted(runtimes) if isinstance(runtimes, dict) else []


def _registered(situation: Situation, info: dict[str, Any]) -> Finding:
    """``runtime: nvidia``."""
    runtimes = _runtimes(info)
    known = ", ".join(runtimes)
    if "nvidia" in runtimes:
        return Finding(
            Status.PASS,
            Text("Docker knows the runtime nvidia", "Docker 已注册 nvidia 运行时"),
            known,
            remote=situation.host.remote,
        )
    return Finding(
        Status.FAIL,
        Text(
            "the launch asks for runtime nvidia, which Docker does not know",
            "启动配置要求 nvidia 运行时，但 Docker 未注册",
        ),
        evidence=known,
        prevents="SGL002",
        changes=(Change("host.command", "", _SET_UP),),
        phase="docker",
        remote=situation.host.remote,
    )


def _described(situation: Situation, info: dict[str, Any], gpus: Gpus) -> Finding:
    """CDI."""
    host = situation.host
    told = [str(one.get("ID")) for one in info.get("DiscoveredDevices") or () if isinstance(one, dict)]
    devices = tuple(dict.fromkeys((*told, *(() if host.remote else host.cdi_devices))))
    missing = [device for device in gpus.device_ids if device.startswith(_CDI) and device not in devices]
    if devices and not missing:
        return Finding(
            Status.PASS, Text("CDI knows the card", "CDI 中有该显卡"), ", ".join(devices), remote=host.remote
        )
    if host.remote and not told:
        return Finding(
            Status.SKIPPED, Text("the CDI files are on another machine", "CDI 文件在另一台机器上"), remote=True
        )
    wanted = ", ".join(missing or gpus.device_ids)
    return Finding(
        Status.FAIL,
        Text(f"no CDI file describes {wanted}", f"没有 CDI 文件描述 {wanted}"),
        evidence=", ".join(devices),
        prevents="SGL019",
        changes=(Change("host.command", "", _DESCRIBE),),
        phase="docker",
        remote=host.remote,
    )


def _handed_over(situation: Situation, info: dict[str, Any]) -> Finding:
    """``--gpus``. Docker looks for the hook on its own path when it starts; a runtime that it knows is only a sign."""
    host = situation.host
    toolkit = host.toolkit or ()
    runtimes = _runtimes(info)
    evidence = ", ".join(toolkit) or ", ".join(runtimes)
    if "nvidia" in runtimes or _HOOKS & set(toolkit) or host.cdi_devices:
        return Finding(
            Status.PASS,
            Text("the toolkit is installed", "工具包已安装"),
            evidence,
            detail=Text(
                "Only a container proves that --gpus works: --deep starts one.",
                "只有启动容器才能证明 --gpus 可用：可使用 --deep。",
            ),
            remote=host.remote,
        )
    if host.remote or host.toolkit is None:
        return Finding(
            Status.SKIPPED,
            Text("whether --gpus works there cannot be seen from here", "无法从这里判断那里的 --gpus 是否可用"),
            evidence,
            remote=host.remote,
        )
    return Finding(
        Status.FAIL if situation.launch is not None else Status.WARN,
        Text(
            "the toolkit is not installed: Docker cannot hand over a card",
            "工具包未安装：Docker 无法把显卡交给容器",
        ),
        evidence,
        prevents="SGL001",
        changes=(Change("host.command", "", _SET_UP),),
        phase="docker",
    )
