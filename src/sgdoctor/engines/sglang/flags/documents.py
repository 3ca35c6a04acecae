"""Options as JSON: one document for each version, and the compact table of all versions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from sgdoctor.engines.sglang.flags.model import Option

_DEFAULTS: Final[Mapping[str, Any]] = {
    one.name: one.default for one in fields(Option) if one.name not in ("flag", "dest")
}
_LISTS: Final = ("aliases", "choices")


def to_plain(option: Option) -> dict[str, Any]:
    """An option as an object of JSON; what is as usual is left out."""
    plain: dict[str, Any] = {"flag": option.flag, "dest": option.dest}
    for name, usual in _DEFAULTS.items():
        value = getattr(option, name)
        if value != usual or type(value) is not type(usual):
            plain[name] = list(value) if name in _LISTS else value
    return plain


def from_plain(plain: Mapping[str, Any]) -> Option:
    """The option of an object that ``to_plain`` made.

    Raises:
        ValueError: it is something else.
    """
    try:
        given: dict[str, Any] = {name: plain[name] for name in _DEFAULTS if name in plain}
        for name in _LISTS:
            if name in given:
                given[name] = tuple(str(item) for item in given[name])
        return Option(str(plain["flag"]), str(plain["dest"]), **given)
    except (LookupError, TypeError) as error:
        raise ValueError(f"not an option: {plain!r:.80}") from error


def document(version: str, options: Iterable[Option]) -> dict[str, Any]:
    """The options of one version as an object of JSON."""
    return {"version": version, "options": [to_plain(option) for option in options]}


def from_document(data: Any) -> tuple[str, tuple[Option, ...]]:
    """Version and options of a document.

    Raises:
        ValueError: it is something else.
    """
    try:
        return str(data["version"]), tuple(from_plain(plain) for plain in data["options"])
    except (LookupError, TypeError) as error:
        raise ValueError("not a list of options") from error


def condensed(versions: Sequence[tuple[str, Sequence[Option]]]) -> dict[str, Any]:
    """The table of all versions: for each flag the spans of versions in which its definition stayed the same.

    Args:
        versions: with their options, oldest first.

    Returns:
        ``versions`` and ``options``; an option is a list of ``[first, last, definition]`` with indices into the former.
    """
    table: dict[str, list[list[Any]]] = {}
    for index, (_, options) in enumerate(versions):
        for option in options:
            plain = to_plain(option)
            flag = plain.pop("flag")
            spans = table.setdefault(flag, [])
            for span in reversed(spans):
                if span[1] == index - 1 and span[2] == plain:
                    span[1] = index
                    break
            else:
                spans.append([index, index, plain])
    return {"versions": [version for version, _ in versions], "options": {flag: table[flag] for flag in sorted(table)}}


def options_of(table: Mapping[str, Any], index: int) -> tuple[Option, ...]:
    """The options of version number ``index`` of a condensed table."""
    return tuple(
        from_plain({"flag": flag, **definition})
        for flag, spans in table["options"].items()
        for first, last, definition in spans
        if first <= index <= last
    )


def spans_of(present: Iterable[int]) -> list[int]:
    """Sorted indices as ``[first, last, first, last, ...]`` of their runs: how tables of names tell their versions."""
    runs: list[int] = []
    for index in sorted(present):
        if runs and runs[-1] == index - 1:
            runs[-1] = index
        else:
            runs += [index, index]
    return runs
