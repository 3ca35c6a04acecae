"""The compose files of fixtures/launches, and what Compose itself made of them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sgdoctor.launch.compose import project_files
from sgdoctor.launch.compose.project import Project, open_project
from tests.conftest import REPO

CORPUS = REPO / "fixtures" / "launches" / "compose"
RECORDED: dict[str, Any] = json.loads((CORPUS / "recorded.json").read_text())
# As in tools/record_compose.py.
FOLDER = "/opt/ai-workspace"
SHELL = {"HOME": "/root", "HF_TOKEN": "hf_example", "SHELL_SIDE": "from-the-shell"}

ACCEPTED = [name for name, result in RECORDED.items() if "services" in result]
REFUSED = [name for name, result in RECORDED.items() if "refused" in result]
NAMES = [*ACCEPTED, *REFUSED]


def files_of(name: str) -> tuple[Path, ...]:
    return project_files(CORPUS / name, SHELL) if (CORPUS / name).is_dir() else (CORPUS / name,)


def project_of(name: str) -> Project:
    return open_project(files_of(name), SHELL)


def services() -> Iterator[tuple[str, str]]:
    """Every accepted file with every service in it."""
    for name in ACCEPTED:
        for service in RECORDED[name]["services"]:
            yield name, service
