"""Folders that the engine writes to while it starts may be written."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Final

from sgdoctor.launch.change import Change
from sgdoctor.launch.host_paths import mount_around
from sgdoctor.launch.model import Launch
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.elsewhere import unseen
from sgdoctor.preflight.launches.gpus import image_env
from sgdoctor.preflight.launches.settings import settings_of
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.preflight.models.locate import Place, locate
from sgdoctor.texts import Text

_HOME: Final = "/root"
_HUB: Final = "/hub"
_MODELSCOPE: Final = "SGLANG_USE_MODELSCOPE"
# Kernels that are compiled on the first start go there: the variable, and the folder in the home without it.
_COMPILED: Final = (
    ("TRITON_CACHE_DIR", ".triton"),
    ("FLASHINFER_WORKSPACE_BASE", ".cache/flashinfer"),
    ("TORCHINDUCTOR_CACHE_DIR", ".cache/torch_inductor"),
    ("TVM_FFI_CACHE_DIR", ".cache/tvm-ffi"),
)


class LaunchCaches:
    """Downloads and compiled kernels can be stored."""

    id: ClassVar = "launch-caches"
    area: ClassVar = Area.LAUNCH
    title: ClassVar = Text("Caches", "缓存目录")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """Folders of caches against read-only mounts."""
        launch = situation.launch
        if launch is None or launch.image is None or not launch.argv:
            return
        env = {**(image_env(situation.image) or {}), **launch.env}
        found = [*_downloads(situation, launch, env), *_kernels(situation, launch, env)]
        yield from found or [Finding(Status.PASS, Text("can be written", "可以写入"))]


def _downloads(situation: Situation, launch: Launch, env: Mapping[str, str | None]) -> Iterator[Finding]:
    located = locate(launch, asked_by(launch, situation.flags), situation.beside, env)
    if located.place is not Place.HUB or located.cache is None:
        return
    mount = mount_around(launch, located.cache)
    if mount is None and not env.get(_MODELSCOPE):
        yield _lost(situation, located.asked, located.cache)
    if mount is None or not mount.read_only:
        return
    yield Finding(
        Status.FAIL,
        Text(
            f"{located.asked} has to be downloaded to {located.cache}, which is mounted read-only",
            f"{located.asked} 需要下载到 {located.cache}，而它是只读挂载",
        ),
        where=Text(f"the mount of {mount.target}", f"{mount.target} 的挂载"),
        prevents="SGL037",
        changes=(Change("docker.volume", value=f"{mount.source}:{mount.target}"),),
        phase="config",
    )


def _lost(situation: Situation, model: str, cache: str) -> Finding:
    """Of a download that no mount keeps."""
    folder = cache.removesuffix(_HUB)
    here = f"{Path.home()}/.cache/huggingface{_HUB if folder == cache else ''}"
    known = unseen(situation.host, situation.launch) is None and not situation.host.remote
    return Finding(
        Status.WARN,
        Text(
            f"{model} is downloaded into the container and lost with it: no mount keeps {folder}",
            f"{model} 会下载到容器内，删除容器即丢失：{folder} 没有挂载",
        ),
        evidence=cache,
        changes=(Change("docker.volume", value=f"{here}:{folder}"),) if known else (),
        detail=None
        if known
        else Text(f"Mount a folder of the host at {folder}.", f"请把主机上的一个目录挂载到 {folder}。"),
    )


def _kernels(situation: Situation, launch: Launch, env: Mapping[str, str | None]) -> Iterator[Finding]:
    home = env.get("HOME") or _HOME
    usual: list[str] = []
    for variable, below in _COMPILED:
        folder = env.get(variable) or f"{home}/{below}"
        mount = mount_around(launch, folder)
        read_only = mount.read_only if mount is not None else settings_of(situation).read_only
        if read_only and not env.get(variable):
            usual.append(folder)
        elif read_only:
            yield Finding(
                Status.FAIL,
                Text(
                    f"{folder} cannot be written: compiled kernels go there",
                    f"{folder} 不可写：编译出的内核要存到那里",
                ),
                evidence=variable,
                where=Text(f"the mount of {mount.target}", f"{mount.target} 的挂载") if mount is not None else None,
                prevents="SGL526",
                changes=(Change("env.unset", variable),) if mount is not None else (),
                phase="graph_capture",
            )
    if usual:
        yield Finding(
            Status.WARN,
            Text("compiled kernels cannot be stored in their usual folders", "编译出的内核无法存到通常的目录"),
            evidence=", ".join(usual),
            prevents="SGL526",
        )
