"""Where the recorded runs lie: beside the package in the image, in the project otherwise."""

from pathlib import Path
from typing import Final

_BESIDE: Final = Path(__file__).resolve().parent.parent
_IN_IMAGE: Final = (_BESIDE / "runs.json").exists()

RECORDED: Final = _BESIDE if _IN_IMAGE else _BESIDE.parent / "recorded"
LOGS: Final = _BESIDE / "logs" if _IN_IMAGE else _BESIDE.parents[2] / "fixtures" / "logs" / "real"
