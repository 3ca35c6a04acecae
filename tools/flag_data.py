"""Write what sgdoctor ships about the flags of SGLang: the schemas of all versions, and the short history of names.

Usage: ``python tools/flag_data.py [WHEEL_OR_FOLDER ...]``. Each wheel or folder adds its version, or replaces it; the
other versions stay as they are in ``flag_schemas.json``. ``flag_history.json``, which a diagnosis loads, follows from
it.
"""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from sgdoctor.engines.sglang.flags.documents import condensed, options_of, spans_of
from sgdoctor.engines.sglang.flags.extract import extract
from sgdoctor.engines.sglang.flags.model import Option
from sgdoctor.engines.sglang.flags.sources import open_sources
from sgdoctor.engines.sglang.versions import version_key

DATA: Final = Path(__file__).parents[1] / "src" / "sgdoctor" / "engines" / "sglang" / "data"

# Renames that SGLang does not state itself: the old flag was a switch and its successor takes a value, or the old name
# was dropped without a word. Source: sglang/srt/server_args.py of 0.5.2 to 0.5.20.
RENAMES: Final[dict[str, tuple[str, str | None]]] = {
    "--mamba-scheduler-strategy": ("--mamba-radix-cache-strategy", None),
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
_SUCCESSOR: Final = re.compile(r"(--[a-z0-9-]+)(?:=([a-z0-9_]+))?")


def history(versions: Sequence[tuple[str, Sequence[Option]]]) -> dict[str, Any]:
    """Names of flags and fields by version, and renames; ``versions`` with their options, oldest first."""
    flags: dict[str, set[int]] = {}
    fields: dict[str, set[int]] = {}
    renames: dict[str, tuple[str, str | None]] = {}
    for index, (_, options) in enumerate(versions):
        for option in options:
            fields.setdefault(option.dest, set()).add(index)
            if option.no_cli:
                continue
            for name in option.names:
                flags.setdefault(name, set()).add(index)
            if successor := _SUCCESSOR.fullmatch(option.replaced_by):
                renames[option.flag] = (successor[1], successor[2])
    renames |= RENAMES
    known = {old: new for old, new in renames.items() if old in flags and new[0] in flags}
    return {
        "versions": [version for version, _ in versions],
        "flags": {name: spans_of(at) for name, at in sorted(flags.items())},
        "fields": {name: spans_of(at) for name, at in sorted(fields.items())},
        "renames": {
            old: {"new": new, "value": value} if value else {"new": new} for old, (new, value) in sorted(known.items())
        },
    }


def shipped() -> dict[str, tuple[Option, ...]]:
    """The versions that are shipped now."""
    table = json.loads((DATA / "flag_schemas.json").read_text(encoding="utf-8"))
    return {version: options_of(table, index) for index, version in enumerate(table["versions"])}


def text_of(data: dict[str, Any]) -> str:
    """JSON with one entry a line, so that a new version is a readable difference."""
    parts = []
    for section, content in data.items():
        if isinstance(content, dict):
            entries = ",\n".join(f"{json.dumps(key)}:{_compact(value)}" for key, value in content.items())
            parts.append(f"{json.dumps(section)}: {{\n{entries}\n}}")
        else:
            parts.append(f"{json.dumps(section)}: {json.dumps(content)}")
    return "{" + ",\n".join(parts) + "}\n"


def main(places: Sequence[str]) -> None:
    """Add the versions in ``places`` and write both files."""
    known = shipped() if (DATA / "flag_schemas.json").exists() else {}
    for place in places:
        found = extract(open_sources(Path(place)))
        if found.version is None:
            sys.exit(f"{place}: it does not say its version")
        known[found.version] = found.options
        print(f"{found.version}: {sum(not option.no_cli for option in found.options)} flags")
    versions = sorted(known.items(), key=lambda entry: version_key(entry[0]))
    (DATA / "flag_schemas.json").write_text(text_of(condensed(versions)), encoding="utf-8")
    (DATA / "flag_history.json").write_text(text_of(history(versions)), encoding="utf-8")


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


if __name__ == "__main__":
    main(sys.argv[1:])
