"""Running the probes: programs beside this file that use a real transformers in processes of their own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tests.patches.releases import environment

_PROBES = Path(__file__).parent / "probes"


class Ran(NamedTuple):
    """What a probe printed: its JSON, and its standard error."""

    here: Any
    child: Any
    stderr: str

    def said(self) -> list[str]:
        """The lines of generated patches."""
        return [line for line in self.stderr.splitlines() if line.startswith("sgdoctor patch: ")]


def probe(name: str, *arguments: Path, path: list[Path]) -> Ran:
    """Runs a probe with these folders on PYTHONPATH."""
    done = subprocess.run(
        [sys.executable, str(_PROBES / f"{name}.py"), *map(str, arguments)],
        env=environment(*path),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    return Ran(result["here"], result["child"], done.stderr)


def distribution(folder: Path, name: str, version: str) -> Path:
    """A folder in which a package of this version counts as installed."""
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return folder
