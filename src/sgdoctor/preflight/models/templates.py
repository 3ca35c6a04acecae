"""The chat template of a model: where it stands, and whether its blocks close.

The template is never run, and no template engine is loaded: a download that was cut off, or an edit that lost a tag, is
what a check can find safely.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from sgdoctor.preflight.models.folder import TEMPLATE_FILES, TOKENIZER_CONFIG, ModelFolder

_OPENERS: Final = frozenset(
    {"if", "for", "macro", "call", "filter", "block", "with", "autoescape", "generation", "trans"}
)
_LARGEST: Final = 1 << 20
_OPENING: Final = re.compile(r"\{(?P<kind>[%{#])[-+]?")
_WORD: Final = re.compile(r"\s*(?P<word>\w+)\s*(?P<rest>.*)", re.DOTALL)
_END_OF_RAW: Final = re.compile(r"\{%[-+]?\s*endraw\s*[-+]?%\}")
_PIECE: Final = re.compile(r"'(?:[^'\\]|\\.?)*(?:'|\Z)|\"(?:[^\"\\]|\\.?)*(?:\"|\Z)|[-+]?(?P<end>%\}|\}\})", re.DOTALL)
"""A string, to the end of the text where it does not close, or the end of a tag."""


class Template(NamedTuple):
    """A chat template.

    Attributes:
        text: as written.
        source: the file that holds it.
        name: of one of several; empty for the only one.
    """

    text: str
    source: str
    name: str = ""


class Fault(NamedTuple):
    """What is wrong with a template.

    Attributes:
        line: counted from 1.
        what: in the words of the reader.
    """

    line: int
    what: str


def templates_of(model: ModelFolder) -> tuple[Template, ...]:
    """The chat templates of a model, the one for plain chat first; empty if it has none."""
    if model.template_file is not None:
        return (Template(model.template_file, TEMPLATE_FILES[0]),)
    for source in (TEMPLATE_FILES[1], TOKENIZER_CONFIG):
        found = tuple(_read((model.value(source) or {}).get("chat_template"), source))
        if found:
            return tuple(sorted(found, key=lambda one: one.name != "default"))
    for head in model.gguf:
        text = head.values.get("tokenizer.chat_template")
        if isinstance(text, str) and text:
            return (Template(text, head.name),)
    return ()


def fault_in(text: str) -> Fault | None:
    """The first block that does not close or closes what is not open; None where all do."""
    if len(text) > _LARGEST:
        return Fault(1, "longer than any chat template")
    found = _fault(text)
    return None if found is None else Fault(text.count("\n", 0, found[0]) + 1, found[1])


def _fault(text: str) -> tuple[int, str] | None:
    """The place of a fault, and what it is."""
    open_blocks: list[tuple[int, str]] = []
    at = 0
    while (opening := _OPENING.search(text, at)) is not None:
        place = opening.start()
        end = _end(text, opening)
        if end is None:
            return place, f"{{{opening['kind']} is not closed"
        inner = text[opening.end() : end[0]]
        at = end[1]
        if opening["kind"] != "%":
            continue
        word = _WORD.match(inner)
        if word is None:
            return place, "an empty tag"
        if word["word"] == "raw":
            closing = _END_OF_RAW.search(text, at)
            if closing is None:
                return place, "raw is not closed"
            at = closing.end()
        elif word["word"] in _OPENERS or (word["word"] == "set" and "=" not in word["rest"]):
            open_blocks.append((place, word["word"]))
        elif word["word"].startswith("end") and (
            not open_blocks or open_blocks.pop()[1] != word["word"].removeprefix("end")
        ):
            return place, f"{word['word']} closes nothing"
    return (open_blocks[-1][0], f"{open_blocks[-1][1]} is not closed") if open_blocks else None


def _end(text: str, opening: re.Match[str]) -> tuple[int, int] | None:
    """Start and end of what closes a tag, strings passed over; None where nothing does."""
    if opening["kind"] == "#":
        at = text.find("#}", opening.end())
        return None if at < 0 else (at, at + 2)
    wanted = "%}" if opening["kind"] == "%" else "}}"
    at = opening.end()
    while (piece := _PIECE.search(text, at)) is not None:
        if piece["end"] == wanted:
            return piece.start(), piece.end()
        # Two braces may close two objects as well: go on behind the first one.
        at = piece.end() if piece["end"] is None else piece.start("end") + 1
    return None


def _read(value: Any, source: str) -> Iterator[Template]:
    if isinstance(value, str) and value.strip():
        yield Template(value, source)
    elif isinstance(value, list):
        for one in value:
            match one:
                case {"name": str(name), "template": str(text)}:
                    yield Template(text, source, name)
