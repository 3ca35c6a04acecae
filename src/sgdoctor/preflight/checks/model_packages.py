"""Whether the packages in the image belong to its SGLang."""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from sgdoctor.launch.change import Change
from sgdoctor.patches.versions import HAS_QWEN3_ASR, REGISTERS_QWEN3_ASR, pinned_transformers, release
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.preflight.versions import pinned_torch
from sgdoctor.texts import Text

_TWICE: Final = "SGL207"
_MISMATCH: Final = "SGL229"
_KERNELS: Final = "SGL510"


class ModelPackages:
    """Compares transformers and torch in the image with those that its SGLang is made for."""

    id: ClassVar[str] = "model-packages"
    area: ClassVar[Area] = Area.MODEL
    title: ClassVar[Text] = Text("Packages of the image", "镜像中的软件包")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """Nothing where the image could not be read."""
        yield from _transformers(situation)
        yield from _torch(situation)


def _torch(situation: Situation) -> Iterator[Finding]:
    own = situation.image.packages.get("torch") if situation.image is not None else None
    pin = pinned_torch(situation.version)
    if own is None or pin is None:
        return
    evidence = f"torch {own}, SGLang {situation.version}: torch {pin}"
    if release(own)[:2] == release(pin)[:2]:
        yield Finding(Status.PASS, Text("torch belongs to this SGLang", "torch 与 SGLang 版本匹配"), evidence)
        return
    yield Finding(
        Status.WARN,
        Text(
            f"the image has torch {own}; SGLang {situation.version} is made for {pin}",
            f"镜像中为 torch {own}，而 SGLang {situation.version} 对应 {pin}",
        ),
        evidence,
        prevents=_KERNELS,
        changes=(Change("package.pin", "torch", pin),),
        detail=Text(
            "Compiled kernels (`sgl-kernel`, FlashInfer) fit one torch only.",
            "编译好的内核（`sgl-kernel`、FlashInfer）只适配一个 torch 版本。",
        ),
    )


def _transformers(situation: Situation) -> Iterator[Finding]:
    image, version = situation.image, situation.version
    own = image.packages.get("transformers") if image is not None else None
    pin = pinned_transformers(version)
    if own is None or pin is None:
        return
    evidence = f"transformers {own}, SGLang {version}: transformers {pin}"
    cure = (Change("package.pin", "transformers", pin),)
    if REGISTERS_QWEN3_ASR.holds(version) and HAS_QWEN3_ASR.holds(own):
        yield Finding(
            Status.FAIL,
            Text(
                f"transformers {own} registers qwen3_asr, which SGLang {version} registers again",
                f"transformers {own} 已注册 qwen3_asr，SGLang {version} 会重复注册",
            ),
            evidence,
            prevents=_TWICE,
            changes=cure,
            phase="config",
        )
    elif release(own)[:2] == release(pin)[:2]:
        title = Text("transformers belongs to this SGLang", "transformers 与 SGLang 版本匹配")
        yield Finding(Status.PASS, title, evidence)
    else:
        yield Finding(
            Status.WARN,
            Text(
                f"the image has transformers {own}; SGLang {version} is made for {pin}",
                f"镜像中为 transformers {own}，而 SGLang {version} 对应 {pin}",
            ),
            evidence,
            prevents=_MISMATCH,
            changes=cure,
        )
