"""Collect the shapes of the lines that starts print which end up serving.

Usage: ``python tools/healthy_lines.py``. Reads the healthy logs of ``fixtures/logs`` and writes the data of
``sgdoctor.diagnosis.unknown``. What a start prints after it was told to stop counts as well: it is not a failure.
"""

import json
from pathlib import Path
from typing import Final

import yaml

from sgdoctor.engines.sglang import SGLANG
from sgdoctor.logs.event import EventKind
from sgdoctor.logs.folding import fold
from sgdoctor.logs.framing import read_lines
from sgdoctor.logs.templates import template_of

ROOT: Final = Path(__file__).parents[1]
TARGET: Final = ROOT / "src" / "sgdoctor" / "engines" / "sglang" / "data" / "healthy_lines.json"
HEALTHY: Final = frozenset({"healthy", "starting"})


def shapes() -> list[str]:
    """The shapes, sorted."""
    found: set[str] = set()
    for expectation in sorted((ROOT / "fixtures" / "logs").glob("*/*.expect.yaml")):
        if yaml.safe_load(expectation.read_text(encoding="utf-8"))["state"] not in HEALTHY:
            continue
        data = expectation.with_name(expectation.name.replace(".expect.yaml", ".log")).read_bytes()
        for event in fold(list(read_lines(data, 0, len(data))), SGLANG.is_data):
            if event.kind is EventKind.LINE and not event.line.progress:
                found.add(template_of(event.line.text))
    return sorted(found)


if __name__ == "__main__":
    TARGET.write_text(json.dumps(shapes(), ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
