"""A text for the user in both languages."""

from collections.abc import Iterable
from typing import NamedTuple


class Text(NamedTuple):
    """The same text in English and in simplified Chinese.

    Texts of rules still have ``{name}`` and ``[[optional part]]`` in them.
    """

    en: str
    zh: str

    def in_language(self, lang: str) -> str:
        """The text for ``en`` or ``zh``; English where a translation is missing."""
        return (self.zh or self.en) if lang == "zh" else self.en


def listed(items: Iterable[str]) -> Text:
    """Items side by side, with the comma that each language has for this."""
    every = tuple(items)
    return Text(", ".join(every), "、".join(every))


def counted(count: int, noun: str) -> str:
    """A number and its noun in English: ``1 GPU``, ``1,200 tokens``.

    Args:
        count: how many.
        noun: in the singular, of those that take an s; words that belong to it follow: ``request at once``.
    """
    head, blank, rest = noun.partition(" ")
    return f"{count:,} {head}{'' if count == 1 else 's'}{blank}{rest}"
