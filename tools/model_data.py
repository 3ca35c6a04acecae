"""Write what sgdoctor ships about models: architectures, model types and quantisation methods by version.

Usage: ``python tools/model_data.py WHEEL [WHEEL ...]`` with wheels of ``sglang`` and ``transformers``. Each adds its
version, or replaces it; other versions stay as they are in ``models.json``.
"""

import ast
import json
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from sgdoctor.engines.sglang.flags.documents import spans_of
from sgdoctor.engines.sglang.versions import version_key

DATA: Final = Path(__file__).parents[1] / "src" / "sgdoctor" / "engines" / "sglang" / "data" / "models.json"

# Where each package says what it knows. Architectures are the `EntryClass` of the modules directly in this folder
# (srt/models/registry.py); model types are those of the classes that SGLang registers, and of transformers' mapping.
_ARCHITECTURES: Final = re.compile(r"sglang/srt/models/\w+\.py")
_SGLANG_TYPES: Final = re.compile(r"sglang/srt/(?:configs/.+|hf_transformers_utils|utils/hf_transformers.*)\.py")
_METHODS: Final = re.compile(r"sglang/srt/layers/quantization/__init__\.py")
_TRANSFORMERS_TYPES: Final = re.compile(r"transformers/models/auto/(?:configuration_auto|auto_mappings)\.py")
_WHEEL: Final = re.compile(r"(sglang|transformers)-([^-]+)-.*\.whl")


def architectures(sources: Iterable[str]) -> set[str]:
    """Names of the classes that modules offer as their entry."""
    return {name for source in sources for value in _assigned(source, "EntryClass") for name in _names(value)}


def registered_types(sources: Iterable[str]) -> set[str]:
    """Model types that SGLang's own configurations have, or are registered under."""
    found: set[str] = set()
    for source in sources:
        found.update(text for value in _assigned(source, "model_type") if (text := _text(value)))
        tables = [node for value in _assigned(source, "_CONFIG_REGISTRY") for node in ast.walk(value)]
        keys = [key for node in tables if isinstance(node, ast.Dict) for key in node.keys if key is not None]
        found.update(text for key in keys if (text := _text(key)))
    return found


def methods(sources: Iterable[str]) -> set[str]:
    """Names of quantisation methods: the keys of the tables of their classes."""
    tables = [node for source in sources for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Dict)]
    keys = [key for table in tables for key in table.keys if key is not None]
    return {text for key in keys if (text := _text(key))}


def mapped_types(sources: Iterable[str]) -> set[str]:
    """Model types that transformers maps to a configuration."""
    values = [value for source in sources for value in _assigned(source, "CONFIG_MAPPING_NAMES")]
    pairs = [node for value in values for node in ast.walk(value) if isinstance(node, ast.Tuple)]
    return {text for pair in pairs if (text := _text(pair.elts[0]))}


def _assigned(source: str, name: str) -> Iterator[ast.expr]:
    """Values that are assigned to a name, in a module or in a class."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Assign(targets=targets, value=value) if _is_among(name, targets):
                yield value
            case ast.AnnAssign(target=target, value=ast.expr() as value) if _is_among(name, [target]):
                yield value


def _is_among(name: str, targets: Iterable[ast.expr]) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _names(value: ast.expr) -> Iterator[str]:
    yield from (node.id for node in ast.walk(value) if isinstance(node, ast.Name))


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def read_wheel(path: Path) -> tuple[str, str, dict[str, set[str]]]:
    """Package, version, and what it knows by kind."""
    found = _WHEEL.fullmatch(path.name)
    if found is None:
        raise SystemExit(f"{path}: not a wheel of sglang or transformers")
    package, version = found[1], found[2]
    with zipfile.ZipFile(path) as archive:

        def sources(pattern: re.Pattern[str]) -> list[str]:
            return [archive.read(name).decode("utf-8-sig") for name in archive.namelist() if pattern.fullmatch(name)]

        if package == "transformers":
            return package, version, {"types": mapped_types(sources(_TRANSFORMERS_TYPES))}
        own = {
            "architectures": architectures(sources(_ARCHITECTURES)),
            "types": registered_types(sources(_SGLANG_TYPES)),
            "methods": methods(sources(_METHODS)),
        }
        return package, version, own


def table(known: dict[str, dict[str, set[str]]]) -> dict[str, Any]:
    """What the versions of one package know, by kind and name."""
    versions = sorted(known, key=version_key)
    written: dict[str, Any] = {"versions": versions}
    for kind in next(iter(known.values())):
        at_versions: dict[str, list[int]] = {}
        for at, version in enumerate(versions):
            for name in known[version][kind]:
                at_versions.setdefault(name, []).append(at)
        written[kind] = {name: spans_of(at) for name, at in sorted(at_versions.items())}
    return written


def knowledge(written: dict[str, Any]) -> dict[str, dict[str, set[str]]]:
    """The opposite of ``table``."""
    kinds = [kind for kind in written if kind != "versions"]
    return {
        version: {
            kind: {
                name
                for name, runs in written[kind].items()
                if any(first <= at <= last for first, last in zip(runs[::2], runs[1::2], strict=True))
            }
            for kind in kinds
        }
        for at, version in enumerate(written["versions"])
    }


def main(paths: list[str]) -> None:
    """Adds wheels to what is shipped."""
    shipped = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}
    known = {package: knowledge(written) for package, written in shipped.items()}
    for path in paths:
        package, version, own = read_wheel(Path(path))
        known.setdefault(package, {})[version] = own
        print(package, version, {kind: len(names) for kind, names in own.items()})
    text = json.dumps({package: table(known[package]) for package in sorted(known)}, separators=(",", ":"))
    DATA.write_text(text + "\n", encoding="utf-8")
    print(f"{DATA}: {len(text)} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
