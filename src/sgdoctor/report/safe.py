"""What may reach a terminal or a report: one-line text without escapes, and glyphs that the output can show."""

import json
from typing import Any, Final, NamedTuple

from sgdoctor.diagnosis.evidence import printable

__all__ = ["ASCII_GLYPHS", "GLYPHS", "Glyphs", "encodable", "glyphs_for", "json_text", "printable", "printable_lines"]


class Glyphs(NamedTuple):
    """The symbols of the text report."""

    failed: str
    warned: str
    fine: str
    waiting: str
    unknown: str
    bar: str
    pointer: str
    dot: str
    follows: str
    cut: str
    gap: str
    rule: str


GLYPHS: Final = Glyphs(
    failed="✖",
    warned="▲",
    fine="✔",
    waiting="◌",
    unknown="?",
    bar="│",
    pointer="▶",
    dot="·",
    follows="↳",
    cut="…",
    gap="⋮",
    rule="─",
)
ASCII_GLYPHS: Final = Glyphs(
    failed="x",
    warned="!",
    fine="+",
    waiting="~",
    unknown="?",
    bar="|",
    pointer=">",
    dot="-",
    follows="->",
    cut="...",
    gap=":",
    rule="-",
)


def encodable(text: str, encoding: str) -> bool:
    """Whether an output of this encoding can show ``text``."""
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def glyphs_for(encoding: str) -> Glyphs:
    """The symbols for an output of this encoding: plain ASCII where it cannot show the others."""
    every = "".join(getattr(GLYPHS, name) for name in Glyphs._fields)
    return GLYPHS if encodable(every, encoding) else ASCII_GLYPHS


def printable_lines(text: str) -> str:
    """``text`` with its line feeds, each line made printable."""
    return "\n".join(map(printable, text.split("\n")))


def json_text(document: Any, *, ascii_only: bool = False) -> str:
    """A document as indented JSON that is harmless to a terminal: what cannot be seen is escaped.

    Args:
        document: plain data.
        ascii_only: whether every other character than ASCII is escaped too.
    """
    text = json.dumps(document, ensure_ascii=ascii_only, indent=2)
    if text.replace("\n", "").isprintable():
        return text
    return "".join(
        character if character == "\n" or printable(character) == character else _escaped(character)
        for character in text
    )


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
