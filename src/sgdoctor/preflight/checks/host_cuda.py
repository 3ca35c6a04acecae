"""The driver serves the CUDA of the image."""

from collections.abc import Iterable
from typing import ClassVar

from sgdoctor.launch.change import Change
from sgdoctor.preflight.cuda import is_met, pair_of
from sgdoctor.preflight.model import Area, Finding, HostFacts, ImageFacts, Situation, Status
from sgdoctor.texts import Text


class DriverServesCuda:
    """The driver is new enough for the CUDA that the image is made for."""

    id: ClassVar[str] = "cuda-of-image"
    area: ClassVar[Area] = Area.HOST
    title: ClassVar[Text] = Text("CUDA of the image", "镜像的 CUDA 版本")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """One where image and driver are known; why not, where only one of them is."""
        image, host = situation.image, situation.host
        if image is None or image.cuda is None:
            return
        driver = pair_of(host.driver_cuda)
        if driver is None or host.simulated:
            yield Finding(
                Status.SKIPPED,
                Text(
                    f"the image is made for CUDA {image.cuda}; the driver of that machine is not known",
                    f"镜像面向 CUDA {image.cuda}；不知道那台机器的驱动",
                ),
                remote=host.remote,
            )
            return
        yield _compared(situation, image, host, driver)


def _compared(situation: Situation, image: ImageFacts, host: HostFacts, driver: tuple[int, int]) -> Finding:
    made_for = pair_of(image.cuda)
    evidence = f"driver {host.driver or '?'}, CUDA {host.driver_cuda}"
    if made_for is None or driver >= made_for:
        return Finding(
            Status.PASS,
            Text(f"CUDA {image.cuda} in the image is served", f"驱动支持镜像中的 CUDA {image.cuda}"),
            evidence,
        )
    refused = _refused(situation, image, host, driver)
    advice = Change("host.command", "", f"sudo apt install nvidia-driver-{_driver_for(made_for)}")
    older = Text(
        f"An image for CUDA {host.driver_cuda} or older would do, too (tags with -cu{driver[0]}{driver[1]}).",
        f"也可换用面向 CUDA {host.driver_cuda} 或更旧版本的镜像（标签带 -cu{driver[0]}{driver[1]}）。",
    )
    title = Text(
        f"the image is made for CUDA {image.cuda}, the driver serves {host.driver_cuda}",
        f"镜像面向 CUDA {image.cuda}，驱动只支持 {host.driver_cuda}",
    )
    if refused or made_for[0] > driver[0]:
        rule, phase = ("SGL005", "docker") if refused else ("SGL012", "config")
        return Finding(
            Status.FAIL, title, refused or evidence, prevents=rule, changes=(advice,), detail=older, phase=phase
        )
    # Programs run on every driver of the same major version, except for those that compile PTX when they run.
    return Finding(
        Status.WARN, title, evidence, prevents="SGL012", changes=(advice,), detail=older, phase="graph_capture"
    )


def _refused(situation: Situation, image: ImageFacts, host: HostFacts, driver: tuple[int, int]) -> str:
    """The requirement that makes NVIDIA's hook refuse the container; empty if none does."""
    config = (image.config or {}).get("Config") or {}
    env = dict(str(entry).partition("=")[::2] for entry in config.get("Env") or ())
    env |= {name: value or "" for name, value in (situation.launch.env if situation.launch else {}).items()}
    if env.get("NVIDIA_DISABLE_REQUIRE", "").lower() in ("1", "true", "yes"):
        return ""
    card = host.cards[0].name if host.cards else ""
    for name, value in sorted(env.items()):
        if name.startswith("NVIDIA_REQUIRE_") and is_met(value, driver, host.driver or "", card) is False:
            return f"{name}={value.split()[0]}"
    return ""


def _driver_for(cuda: tuple[int, int]) -> int:
    """Branch of drivers that serves a version of CUDA."""
    # https://docs.nvidia.com/cuda/cuda-toolkit-release-notes, table 3.
    known = {(12, 0): 525, (12, 1): 530, (12, 2): 535, (12, 3): 545, (12, 4): 550, (12, 5): 555, (12, 6): 560}
    known |= {(12, 8): 570, (12, 9): 575, (13, 0): 580, (13, 1): 590}
    return next((branch for version, branch in known.items() if version >= cuda), max(known.values()))
