"""Condense one flag schema per SGLang version into the history that sgdoctor ships.

Usage: ``python tools/flag_history.py FOLDER OUTPUT``. FOLDER holds one ``<version>.json`` per version, each an object
with ``version`` and ``options``; an option has ``flag``, ``dest``, and optionally ``aliases`` and ``replaced_by``.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from sgdoctor.engines.sglang.versions import version_key

# Renames that the schemas do not state in `replaced_by`: the old flag was a switch and its successor takes a value,
# or the old name was dropped without an alias. Source: sglang/srt/server_args.py of 0.5.2 to 0.5.20.
RENAMES: Final[dict[str, tuple[str, str | None]]] = {
    "--cuda-graph-max-bs": ("--cuda-graph-max-bs-decode", None),
    "--cuda-graph-bs": ("--cuda-graph-bs-decode", None),
    "--mamba-scheduler-strategy": ("--mamba-radix-cache-strategy", None),
    "--disable-piecewise-cuda-graph": ("--cuda-graph-backend-prefill", "disabled"),
    "--enforce-piecewise-cuda-graph": ("--cuda-graph-backend-prefill", "tc_piecewise"),
    "--enable-breakable-cuda-graph": ("--cuda-graph-backend-prefill", "breakable"),
    "--piecewise-cuda-graph-max-tokens": ("--cuda-graph-max-bs-prefill", None),
    "--piecewise-cuda-graph-tokens": ("--cuda-graph-bs-prefill", None),
    "--stream-output": ("--incremental-streaming-output", None),
    "--hybrid-kvcache-ratio": ("--swa-full-tokens-ratio", None),
    "--enable-flashinfer-mla": ("--attention-backend", "flashinfer"),
    "--enable-flashmla": ("--attention-backend", "flashmla"),
    "--enable-ep-moe": ("--ep-size", None),
    "--enable-deepep-moe": ("--moe-a2a-backend", "deepep"),
    "--enable-flashinfer-cutlass-moe": ("--moe-runner-backend", "flashinfer_cutlass"),
    "--enable-flashinfer-trtllm-moe": ("--moe-runner-backend", "flashinfer_trtllm"),
    "--enable-flashinfer-mxfp4-moe": ("--moe-runner-backend", "flashinfer_mxfp4"),
    "--enable-triton-kernel-moe": ("--moe-runner-backend", "triton_kernel"),
}


def spans(present: Iterable[int]) -> list[int]:
    """Sorted indices as ``[first, last, first, last, ...]`` of their runs."""
    runs: list[int] = []
    for index in sorted(present):
        if runs and runs[-1] == index - 1:
            runs[-1] = index
        else:
            runs += [index, index]
    return runs


def condense(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    """The history of all flags and fields over ``schemas``, which are sorted by version."""
    flags: dict[str, set[int]] = {}
    fields: dict[str, set[int]] = {}
    renames: dict[str, tuple[str, str | None]] = {}
    for index, schema in enumerate(schemas):
        for option in schema["options"]:
            fields.setdefault(option["dest"], set()).add(index)
            if option.get("no_cli") or not option.get("flag"):
                continue
            for name in (option["flag"], *option.get("aliases", ())):
                flags.setdefault(name, set()).add(index)
            if option.get("replaced_by", "").startswith("--"):
                renames[option["flag"]] = (option["replaced_by"], None)
    renames |= RENAMES
    known = {old: new for old, new in renames.items() if old in flags and new[0] in flags}
    return {
        "versions": [schema["version"] for schema in schemas],
        "flags": {name: spans(at) for name, at in sorted(flags.items())},
        "fields": {name: spans(at) for name, at in sorted(fields.items())},
        "renames": {
            old: {"new": new, "value": value} if value else {"new": new} for old, (new, value) in sorted(known.items())
        },
    }


def main(folder: str, output: str) -> None:
    """Read all schemas of ``folder`` and write the history to ``output``, one entry a line."""
    schemas = [json.loads(path.read_text()) for path in Path(folder).glob("*.json")]
    schemas.sort(key=lambda schema: version_key(schema["version"]))
    history = condense(schemas)
    parts = []
    for section, content in history.items():
        if isinstance(content, dict):
            entries = ",\n".join(f"{json.dumps(k)}:{json.dumps(v, separators=(',', ':'))}" for k, v in content.items())
            parts.append(f"{json.dumps(section)}: {{\n{entries}\n}}")
        else:
            parts.append(f"{json.dumps(section)}: {json.dumps(content)}")
    Path(output).write_text("{" + ",\n".join(parts) + "}\n")


if __name__ == "__main__":
    main(*sys.argv[1:3])
