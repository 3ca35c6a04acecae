"""The captured inspections."""

import json
from pathlib import Path
from typing import Any

from sgdoctor.launch.inspection import Inspection, open_inspection

FOLDER = Path(__file__).parents[2] / "fixtures/launches/inspections"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


def container(name: str) -> dict[str, Any]:
    """The inspection of a container."""
    [data] = json.loads((FOLDER / f"{name}.json").read_text())
    assert isinstance(data, dict)
    return data


def image_of(data: dict[str, Any]) -> dict[str, Any]:
    """The inspection of the image that a container was made from."""
    images = [json.loads(path.read_text())[0] for path in (FOLDER / "images").glob("*.json")]
    [image] = [image for image in images if image["Id"] == data["Image"]]
    assert isinstance(image, dict)
    return image


def document(name: str) -> Inspection:
    """The document of a container, with its image."""
    data = container(name)
    return open_inspection(data, image_of(data))
