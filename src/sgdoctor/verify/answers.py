"""Whether an answer of a model is one: a broken kernel or a wrong type gives text, too, but always the same."""

import re
import unicodedata
from typing import Any, Final

from sgdoctor.texts import Text
from sgdoctor.verify import texts

_MOST: Final = 4096
_REPEATED: Final = re.compile(r"(.{1,40}?)\1{7,}", re.DOTALL)
"""A piece that stands there eight times in a row."""
_HALF: Final = 0.5
_BROKEN_SHARE: Final = 0.25
_FEW_SYMBOLS: Final = 3
_SHOWN: Final = 24
_FINE: Final = frozenset({"stop", "length", "tool_calls"})


def fault_of_chat(data: Any) -> Text | None:
    """What is wrong with the answer to a chat request; None if nothing is.

    Args:
        data: body of the answer, read as JSON.
    """
    try:
        choice = data["choices"][0]
        message = choice["message"]
        parts = [message.get(name) for name in ("content", "reasoning_content")]
        finish = choice.get("finish_reason")
    except (LookupError, TypeError, AttributeError):
        return texts.NO_FORM
    if finish not in _FINE:
        return texts.ended_badly(str(finish))
    spoken = [part for part in parts if isinstance(part, str) and part.strip()]
    if not spoken:
        return texts.EMPTY
    return next((fault for part in spoken if (fault := fault_of_text(part)) is not None), None)


def fault_of_text(text: str) -> Text | None:
    """What is wrong with a text of a model: nothing in it, always the same, no characters; None if nothing is."""
    text = " ".join(text[:_MOST].split())
    packed = text.replace(" ", "")
    if not packed:
        return texts.EMPTY
    # U+FFFD stands for bytes that are no character.
    if packed.count("\ufffd") > _BROKEN_SHARE * len(packed):
        return texts.unreadable()
    if len(set(packed)) == 1 and len(packed) >= _FEW_SYMBOLS and not unicodedata.category(packed[0]).startswith("L"):
        return texts.repeats(packed[0])
    for found in _REPEATED.finditer(f"{text} "):
        if len(found[0].strip()) > _HALF * len(text):
            return texts.repeats(found[1].strip()[:_SHOWN])
    return None


def said(data: Any) -> str:
    """The beginning of an answer, for a report."""
    message = data["choices"][0]["message"]
    text = " ".join(str(message.get("content") or message.get("reasoning_content") or "").split())
    return text if len(text) <= 2 * _SHOWN else f"{text[: 2 * _SHOWN - 1]}…"
