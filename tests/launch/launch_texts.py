"""The corpus of commands and scripts, and what is expected of each.

``python -m tests.launch.launch_texts`` writes the expectations anew; what it changes is to be read before it is kept.
"""

import json
import shlex
from functools import cache
from pathlib import Path
from typing import Any

from sgdoctor.errors import UserError
from sgdoctor.launch.docker_run import read_shell
from sgdoctor.launch.model import Document

FOLDER = Path(__file__).parents[2] / "fixtures/launches"
PATHS = sorted(
    path for folder in ("commands", "scripts") for path in (FOLDER / folder).glob("*.*") if path.suffix != ".json"
)


def text_of(path: Path) -> str:
    """As written, with its line ends."""
    return path.read_bytes().decode()


def expected(path: Path) -> dict[str, Any]:
    """What the launch in a file is to be read as."""
    return _table(path.parent)[path.stem]


@cache
def _table(folder: Path) -> dict[str, dict[str, Any]]:
    table = json.loads((folder / "expected.json").read_text())
    assert isinstance(table, dict)
    return table


def readable() -> list[Path]:
    """The files that have one launch in them."""
    return [path for path in PATHS if "refused" not in expected(path)]


def summary(document: Document) -> dict[str, Any]:
    """What a document says, without what it does not say."""
    launch = document.launch
    told = {
        "origin": str(launch.origin),
        "argv": shlex.join(launch.argv),
        "command": shlex.join(launch.command) if launch.command != launch.argv else "",
        "entrypoint": launch.entrypoint,
        "engine": launch.engine if launch.engine != "sglang" else "",
        "env": dict(launch.env),
        "image": launch.image,
        "name": launch.name,
        "gpus": _gpus(document),
        "ports": [f"{port.host_ip}:{port.host}:{port.container}" for port in launch.ports],
        "mounts": [f"{one.kind} {one.source}:{one.target}{':ro' * one.read_only}" for one in launch.mounts],
        "shm_bytes": launch.shm_bytes,
        "ipc": launch.ipc,
        "network": launch.network,
        "restart": launch.restart,
        "problems": [f"{one.id}, {one.where.en if one.where else ''}" for one in document.problems],
        "editable": "" if document.editable.why is None else f"{document.editable.state}: {document.editable.why.en}",
    }
    return {name: value for name, value in told.items() if value}


def _gpus(document: Document) -> dict[str, Any]:
    gpus = document.launch.gpus
    if gpus is None:
        return {}
    told = {
        "device_ids": list(gpus.device_ids),
        "count": gpus.count,
        "runtime": gpus.runtime,
        "driver": gpus.driver,
        "from_env": gpus.from_env,
    }
    return {name: value for name, value in told.items() if value}


def read(path: Path) -> dict[str, Any]:
    """The summary of a file, or why it is refused."""
    try:
        return summary(read_shell(text_of(path), path.name))
    except UserError as error:
        return {"refused": error.en}


if __name__ == "__main__":
    for folder in ("commands", "scripts"):
        entries = {path.stem: read(path) for path in PATHS if path.parent.name == folder}
        (FOLDER / folder / "expected.json").write_text(json.dumps(entries, indent=2, ensure_ascii=False) + "\n")
