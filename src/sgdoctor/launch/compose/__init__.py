"""Launches in compose files: read with everything Compose puts together, edited byte by byte."""

from sgdoctor.launch.compose.document import ComposeDocument, open_compose
from sgdoctor.launch.compose.project import project_files

__all__ = ["ComposeDocument", "open_compose", "project_files"]
