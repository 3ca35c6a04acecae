"""Whether a download of the model was finished."""

from collections.abc import Iterable
from typing import ClassVar, Final

from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_INTERRUPTED: Final = "SGL315"
_CONTROL: Final = ".aria2"
_SHOWN: Final = 3


class ModelDownload:
    """Looks for what an interrupted download leaves behind."""

    id: ClassVar[str] = "model-download"
    area: ClassVar[Area] = Area.MODEL
    title: ClassVar[Text] = Text("Download", "下载")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """Traces of a download; with those of aria2 even files of the right size are not complete."""
        model = situation.model
        if model is None or model.here.is_file():
            return
        control = [name for name in model.leftovers if name.endswith(_CONTROL)]
        hollow = [name for name in control if name.removesuffix(_CONTROL) in model.files]
        if hollow:
            yield Finding(
                Status.FAIL,
                Text(
                    f"aria2 has not finished {hollow[0].removesuffix(_CONTROL)}",
                    f"aria2 尚未下载完 {hollow[0].removesuffix(_CONTROL)}",
                ),
                ", ".join(hollow[:_SHOWN]),
                prevents=_INTERRUPTED,
                detail=Text(
                    "aria2 makes a file in its full size first, so its size says nothing. Let it resume.",
                    "aria2 会先按完整大小创建文件，因此文件大小不能说明问题。请让它继续下载。",
                ),
                phase="weights",
            )
        elif model.leftovers:
            yield Finding(
                Status.WARN,
                Text("a download was interrupted here", "此处有中断的下载"),
                ", ".join(model.leftovers[:_SHOWN]),
                prevents=_INTERRUPTED,
                detail=Text(
                    "Where all weight files are whole these are leftovers that only take space.",
                    "如果权重文件都完整，这些只是占空间的残留文件。",
                ),
            )
