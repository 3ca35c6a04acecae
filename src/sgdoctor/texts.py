"""A text for the user in both languages."""

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
