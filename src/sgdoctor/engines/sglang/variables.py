"""Environment variables that a version of the engine does not need any more, or knows by another name."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from sgdoctor.engines.sglang.versions import version_key

_DATA: Final = Path(__file__).parent / "data" / "variables.json"


class Outdated(NamedTuple):
    """A variable of a launch whose time is over.

    Attributes:
        name: as it is set.
        value: likewise; None where it is not known.
        since: first version of SGLang that wants it otherwise.
        becomes: its new name; empty if it has none.
        flag: the flag that does the same, and its value; empty if there is none.
        ignored: whether setting it does nothing there; else the old name still works.
        source: where that is written.
    """

    name: str
    value: str | None
    since: str
    becomes: str
    flag: tuple[str, ...]
    ignored: bool
    source: str


def outdated_variables(env: Mapping[str, str | None], version: str) -> Iterator[Outdated]:
    """The outdated ones among the variables of a launch.

    Args:
        env: names and values; None for a value that is not known.
        version: of SGLang.
    """
    running = version_key(version)
    for name, value in env.items():
        for row in _table():
            stem = row["name"].removesuffix("*")
            fits = name == row["name"] or (stem != row["name"] and name.startswith(stem))
            if fits and value == row.get("value", value) and running >= version_key(row["since"]):
                becomes = row.get("becomes", "").replace("*", name[len(stem) :])
                flag = tuple(row.get("flag", ()))
                # Of a variable that became a flag nothing is left in the code.
                ignored = bool(flag) or row.get("ignored", False)
                yield Outdated(name, value, row["since"], becomes, flag, ignored, row["source"])
                break


@cache
def _table() -> list[dict[str, Any]]:
    table: list[dict[str, Any]] = json.loads(_DATA.read_text("utf-8"))
    return table
