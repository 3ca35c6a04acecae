"""What may reach a terminal or a report: one-line text without escapes, and glyphs that the output can show."""

from typing import Final, NamedTuple

from sgdoctor.diagnosis.evidence import printable

__all__ = ["ASCII_GLYPHS", "GLYPHS", "Glyphs", "encodable", "glyphs_for", "printable"]


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
