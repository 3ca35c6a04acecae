"""The shape of a line without what changes from start to start: numbers, paths, names in quotes, lists."""

from typing import Final

from sgdoctor.patterns import lazy_pattern

_SHORTEST: Final = 8
_WORDS: Final = 14
"""A long line is told from others by how it begins."""
_QUOTED: Final = lazy_pattern(r"'[^'\n]{0,500}'|\"[^\"\n]{0,500}\"")
_ADDRESS: Final = lazy_pattern(r"\b(?:tcp|https?|ipc)://[^\s,;)]+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?")
_PATH: Final = lazy_pattern(r"(?<![\w.])(?:/|~/|\./)[^\s,:;()'\"\]]*")
_HEX: Final = lazy_pattern(r"\b0x[0-9a-fA-F]+|\b[0-9a-f]{12,64}\b")
_NUMBER: Final = lazy_pattern(r"[-+]?\d[\d_,]*(?:\.\d+)*(?:[eE][-+]?\d+)?")
_LIST: Final = lazy_pattern(r"#(?:[ ,]+#)+")
_BARS: Final = lazy_pattern(r"[█▏▎▍▌▋▊▉░▒▓|]+\s*")


def template_of(text: str) -> str:
    """The shape of ``text``: two lines that one statement printed have the same, in all but odd cases.

    Numbers are ``#``, paths ``/``, addresses ``@``, texts in quotes ``"``; only the first words count.
    """
    text = _QUOTED.sub('"', text)
    text = _ADDRESS.sub("@", text)
    text = _PATH.sub("/", text)
    text = _NUMBER.sub("#", _HEX.sub("#", text))
    text = _BARS.sub("| ", _LIST.sub("#", text))
    return " ".join(text.split()[:_WORDS])


def constant_parts(text: str) -> list[str]:
    """The pieces of ``text`` that another start would print as well, the longest first; 8 characters or more each."""
    pieces = [text]
    for changing in (_QUOTED, _ADDRESS, _PATH, _HEX, _NUMBER, _BARS):
        pieces = [part for piece in pieces for part in changing.split(piece)]
    stripped = (piece.strip(" ,;:()[]{}=-") for piece in pieces)
    return sorted((piece for piece in stripped if len(piece) >= _SHORTEST), key=len, reverse=True)
