"""Launches of containers, read from what the engine says of them."""

from sgdoctor.launch.inspection.body import CreateBody, create_body
from sgdoctor.launch.inspection.document import Inspection, open_inspection
from sgdoctor.launch.inspection.reading import ComposeOrigin

__all__ = ["ComposeOrigin", "CreateBody", "Inspection", "create_body", "open_inspection"]
