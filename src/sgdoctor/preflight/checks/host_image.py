"""The image is on the host, and made for its processor."""

from collections.abc import Iterable
from typing import ClassVar, Final

from sgdoctor.launch.change import Change
from sgdoctor.preflight.elsewhere import NOT_LOOKED_AT
from sgdoctor.preflight.model import Area, Finding, ImageFacts, Situation, Status
from sgdoctor.texts import Text

_PROCESSORS: Final = {"x86_64": "amd64", "aarch64": "arm64", "armv8": "arm64"}


class ImagePresent:
    """The image is here, and for this processor."""

    id: ClassVar[str] = "image-present"
    area: ClassVar[Area] = Area.HOST
    title: ClassVar[Text] = Text("Image", "镜像")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """One for a launch in a container."""
        image = situation.image
        if image is None:
            return
        if situation.host.is_only_a_card and not image.present:
            yield Finding(Status.SKIPPED, NOT_LOOKED_AT, image.name)
        elif image.present is None:
            yield Finding(Status.SKIPPED, Text("Docker cannot be asked for it", "无法向 Docker 查询"), image.name)
        elif not image.present:
            yield Finding(
                Status.WARN,
                Text(
                    f"{image.name} is not here: Docker has to get it first (14 to 20 GB)",
                    f"本机没有 {image.name}：Docker 需要先下载（14 至 20 GB）",
                ),
                changes=(Change("host.command", "", f"docker pull {image.name}"),),
                remote=situation.host.remote,
            )
        else:
            yield _here(situation, image)


def _here(situation: Situation, image: ImageFacts) -> Finding:
    made_for = str((image.config or {}).get("Architecture") or "")
    host = str((situation.host.docker or {}).get("Architecture") or "")
    here = _PROCESSORS.get(host, host)
    if made_for and here and made_for != here:
        return Finding(
            Status.FAIL,
            Text(
                f"{image.name} is made for {made_for}, the host is {here}",
                f"{image.name} 面向 {made_for}，主机是 {here}",
            ),
            prevents="SGL033",
            phase="docker",
            remote=situation.host.remote,
        )
    parts = [f"SGLang {image.sglang}" if image.sglang else "", f"CUDA {image.cuda}" if image.cuda else ""]
    parts += [f"{name} {version}" for name, version in sorted(image.packages.items())]
    told = ", ".join(filter(None, parts))
    return Finding(
        Status.PASS,
        Text(f"{image.name} is here", f"本机已有 {image.name}"),
        told,
        detail=image.reason if not image.sglang else None,
        remote=situation.host.remote,
    )
