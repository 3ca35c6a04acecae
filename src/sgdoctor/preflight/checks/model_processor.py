"""Whether a model for images has the settings of its processor."""

from collections.abc import Iterable
from typing import ClassVar, Final

from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_RULE: Final = "SGL226"
_FILES: Final = ("preprocessor_config.json", "processor_config.json")


class ModelProcessor:
    """Looks for preprocessor_config.json where the model has a vision part; quantised copies often lack it."""

    id: ClassVar[str] = "model-processor"
    area: ClassVar[Area] = Area.MODEL
    title: ClassVar[Text] = Text("Image processor", "图像处理器")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """Nothing for models of text alone."""
        model = situation.model
        if model is None or not isinstance((model.config or {}).get("vision_config"), dict):
            return
        found = [name for name in _FILES if name in model.documents]
        broken = [name for name in found if model.value(name) is None]
        if found and not broken:
            yield Finding(Status.PASS, Text(f"{found[0]} is there", f"{found[0]} 存在"))
            return
        # Mistral's own format and models with code of their own bring the settings along in other ways.
        otherwise = model.value("params.json") is not None or bool((model.config or {}).get("auto_map"))
        title = (
            Text(f"{broken[0]} cannot be read", f"无法读取 {broken[0]}")
            if broken
            else Text("a model for images without preprocessor_config.json", "多模态模型缺少 preprocessor_config.json")
        )
        yield Finding(
            Status.WARN if otherwise and not broken else Status.FAIL,
            title,
            str(model.here),
            prevents=_RULE,
            detail=Text(
                "Fetch `preprocessor_config.json` (and `video_preprocessor_config.json`) of the original model.",
                "请从原始模型下载 `preprocessor_config.json`（以及 `video_preprocessor_config.json`）。",
            ),
            phase="config",
        )
