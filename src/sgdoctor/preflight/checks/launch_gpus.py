"""Which GPUs the engine gets to see: they exist on the host, and nobody numbers them twice."""

from collections.abc import Iterator
from typing import ClassVar

from sgdoctor.launch.change import Change
from sgdoctor.launch.engine_words import routes_only
from sgdoctor.launch.model import Launch
from sgdoctor.preflight.elsewhere import NO_CARD_SEEN
from sgdoctor.preflight.launches.gpus import SeenGpus, card_of, seen_gpus
from sgdoctor.preflight.launches.problems import GPU_IDS, as_findings, written
from sgdoctor.preflight.launches.settings import settings_of
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text, counted

_CUDA = "CUDA_VISIBLE_DEVICES"
_ENVIRONMENT = Text("the environment", "环境变量")
# Told here from what is known of host and image.
_DECIDED = frozenset({"gpu-chosen-by-cuda-alone", "no-gpu-asked-for", "gpu-count-zero"})


class LaunchGpus:
    """The engine sees the GPUs that were meant."""

    id: ClassVar = "launch-gpus"
    area: ClassVar = Area.LAUNCH
    title: ClassVar = Text("Choice of GPUs", "GPU 选择")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """Everything that is wrong with the choice; else what the engine will see."""
        launch = situation.launch
        if launch is None or (launch.image is None and not situation.host.cards):
            return
        seen = seen_gpus(situation)
        found = [
            *as_findings(written(situation, lambda name: name in GPU_IDS - _decided(launch))),
            *_none(situation, launch, seen),
            *_unknown_ids(situation, seen),
            *_too_many(situation, seen),
            *_beyond(situation, launch, seen),
            *_hidden(seen),
            *_order(situation, launch, seen),
        ]
        yield from found
        if not any(one.status is Status.FAIL for one in found):
            yield from _sees(situation, seen, launch)


def _decided(launch: Launch) -> frozenset[str]:
    # Beside a device request `all` changes nothing: every image that is built on nvidia/cuda sets it.
    harmless = launch.env.get("NVIDIA_VISIBLE_DEVICES") == "all"
    return _DECIDED | {"gpus-asked-for-twice"} if harmless else _DECIDED


def _none(situation: Situation, launch: Launch, seen: SeenGpus) -> Iterator[Finding]:
    """No GPU comes in at all."""
    if seen.given != 0 or not (launch.argv or "sglang" in (launch.image or "")) or routes_only(launch.command):
        return
    settings = settings_of(situation)
    if not seen.by and (settings.has_devices or settings.hidden):
        return
    asked = Change("docker.gpus", value="all")
    gpus = launch.gpus
    if gpus is not None and gpus.count == 0:
        title = Text(
            "--gpus 0 is a number of GPUs, not the first one: the container gets none",
            "--gpus 0 表示数量而不是第一块：容器得不到 GPU",
        )
        asked = Change("docker.gpus", value="device=0")
    elif seen.by == "the image":
        title = Text(
            "nothing names a GPU: neither the launch nor the image sets NVIDIA_VISIBLE_DEVICES",
            "没有指定 GPU：启动命令和镜像都没有设置 NVIDIA_VISIBLE_DEVICES",
        )
    elif seen.by:
        title = Text("NVIDIA_VISIBLE_DEVICES gives the container no GPU", "NVIDIA_VISIBLE_DEVICES 没有给容器任何 GPU")
    else:
        title = Text("the launch asks for no GPU", "启动命令没有申请 GPU")
    yield Finding(
        Status.FAIL if seen.certain else Status.WARN,
        title,
        prevents="SGL013",
        changes=(asked,),
        detail=None
        if seen.certain
        else Text(
            "It only works where nvidia is Docker's default runtime, which nobody could be asked about.",
            "只有当 Docker 的默认 runtime 是 nvidia 时才可用，而现在无法查询。",
        ),
        phase="distributed" if seen.certain else None,
    )


def _unknown_ids(situation: Situation, seen: SeenGpus) -> Iterator[Finding]:
    host = situation.host
    if not seen.ids or not host.cards or host.simulated:
        return
    told = all(card.uuid for card in host.cards)
    ours = [one for one in seen.ids if one.isdecimal() or (told and one.startswith("GPU-"))]
    unknown = [one for one in ours if card_of(one, host.cards) is None]
    if not unknown:
        return
    last = len(host.cards) - 1
    there = "0" if not last else f"0 to {last}"
    dort = "0" if not last else f"0 到 {last}"
    only = Change("docker.gpus", value="device=0")
    yield Finding(
        Status.FAIL,
        Text(
            f"GPU {', '.join(unknown)} is not on this host, which has {there}",
            f"主机上没有 GPU {', '.join(unknown)}，只有 {dort}",
        ),
        evidence=f"{seen.by} {','.join(seen.ids)}",
        prevents="SGL007",
        changes=(only,) if not last and seen.by == "--gpus" else (),
        phase="docker",
    )


def _too_many(situation: Situation, seen: SeenGpus) -> Iterator[Finding]:
    """A number stands for the first GPUs (moby, daemon/nvidia_linux.go), of which the last ones are then unknown."""
    there = len(situation.host.cards)
    if not there or seen.asked is None or seen.asked <= there:
        return
    yield Finding(
        Status.FAIL,
        Text(
            f"the launch asks for {counted(seen.asked, 'GPU')}, the host has {there:,}",
            f"启动配置申请 {seen.asked} 块 GPU，主机只有 {there} 块",
        ),
        evidence=f"{seen.by} {seen.asked}",
        prevents="SGL007",
        changes=(Change("docker.gpus", value="all"),),
        phase="docker",
    )


def _beyond(situation: Situation, launch: Launch, seen: SeenGpus) -> Iterator[Finding]:
    """CUDA is told an index that is not there; the document has said so where it names the GPUs itself."""
    if seen.visible is None or seen.given is None or any(written(situation, lambda name: name == "gpu-numbered-twice")):
        return
    if situation.host.simulated and seen.ids is None:
        return
    beyond = [one for one in seen.visible if one.isdecimal() and int(one) >= seen.given]
    if not beyond or not seen.given:
        return
    last = seen.given - 1
    yield Finding(
        Status.FAIL,
        Text(
            f"{_CUDA} names GPU {beyond[0]}, but the engine has only 0" + (f" to {last}" if last else ""),
            f"{_CUDA} 指向 GPU {beyond[0]}，但引擎只能看到 0" + (f" 到 {last}" if last else ""),
        ),
        evidence=f"{_CUDA}={launch.env.get(_CUDA)}",
        where=_ENVIRONMENT,
        prevents="SGL014",
        changes=(Change("env.unset", _CUDA),),
        phase="distributed",
    )


def _hidden(seen: SeenGpus) -> Iterator[Finding]:
    if seen.visible == () and seen.given != 0:
        yield Finding(
            Status.FAIL,
            Text(f"{_CUDA} hides every GPU from the engine", f"{_CUDA} 对引擎隐藏了全部 GPU"),
            where=_ENVIRONMENT,
            prevents="SGL013",
            changes=(Change("env.unset", _CUDA),),
            phase="distributed",
        )


def _order(situation: Situation, launch: Launch, seen: SeenGpus) -> Iterator[Finding]:
    """CUDA counts the fastest card first unless told otherwise (CUDA C Programming Guide, CUDA_DEVICE_ORDER)."""
    names = {card.name for card in situation.host.cards}
    chosen = seen.visible and any(one.isdecimal() for one in seen.visible)
    if len(names) < 2 or not chosen or seen.ids is not None or launch.env.get("CUDA_DEVICE_ORDER"):
        return
    yield Finding(
        Status.WARN,
        Text(
            f"{_CUDA} counts the fastest card first, nvidia-smi by the bus: the numbers can differ",
            f"{_CUDA} 默认按快慢编号，nvidia-smi 按总线编号：两者可能不同",
        ),
        evidence=", ".join(f"{card.number}: {card.name}" for card in situation.host.cards),
        where=_ENVIRONMENT,
        changes=(Change("env.set", "CUDA_DEVICE_ORDER", "PCI_BUS_ID"),),
    )


def _sees(situation: Situation, seen: SeenGpus, launch: Launch) -> Iterator[Finding]:
    if seen.cards:
        names = ", ".join(f"{card.number} ({card.name})" for card in seen.cards)
        title = Text(f"the engine sees GPU {names}", f"引擎看到 GPU {names}")
    elif not situation.host.cards and seen.by:
        what = Text("every GPU", "全部 GPU")
        if seen.count:
            what = Text(counted(seen.count, "GPU"), f" {seen.count} 块 GPU")
        title = Text(f"the launch asks for {what.en}; {NO_CARD_SEEN.en}", f"启动配置申请{what.zh}；{NO_CARD_SEEN.zh}")
    elif seen.count:
        title = Text(f"the engine sees {counted(seen.count, 'GPU')}", f"引擎看到 {seen.count} 块 GPU")
    elif seen.by:
        title = Text("the engine sees every GPU of the host", "引擎看到主机的全部 GPU")
    else:
        return
    detail = None
    if seen.by == "the image" and seen.visible is not None:
        detail = Text(
            f"Only {_CUDA} chooses here, and it counts the GPUs of the host. With --gpus or deploy the container's own "
            "are counted from 0, and the same number would be wrong.",
            f"这里只有 {_CUDA} 在选择，编号按主机的全部 GPU 计算。改用 --gpus 或 deploy 后容器内从 0 开始编号，"
            "同样的编号就错了。",
        )
    evidence = f"{_CUDA}={launch.env.get(_CUDA)}" if seen.visible is not None else ""
    status = Status.PASS if situation.host.cards else Status.SKIPPED
    yield Finding(status, title, evidence=evidence, detail=detail)
