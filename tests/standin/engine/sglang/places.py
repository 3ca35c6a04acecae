"""Where the recorded runs lie: in a folder of the image, in the project otherwise."""

from pathlib import Path
from typing import Final

_IMAGE: Final = Path("/opt/standin")
_IN_IMAGE: Final = _IMAGE.is_dir()
_PROJECT: Final = Path(*Path(__file__).resolve().parts[:-5])

RECORDED: Final = _IMAGE if _IN_IMAGE else _PROJECT / "tests" / "standin" / "recorded"
LOGS: Final = _IMAGE / "logs" if _IN_IMAGE else _PROJECT / "fixtures" / "logs" / "real"
