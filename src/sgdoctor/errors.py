"""What goes wrong before a log can be read, in both languages."""

from sgdoctor.texts import Text


class UserError(Exception):
    """An input or a use that cannot work; it says what is wrong and the way out.

    Attributes:
        message: the line to be shown.
        code: exit code of the process.
    """

    code = 2

    def __init__(self, en: str, zh: str) -> None:
        super().__init__(en)
        self.message = Text(en, zh)

    @property
    def en(self) -> str:
        """The line in English."""
        return self.message.en

    @property
    def zh(self) -> str:
        """The line in Chinese."""
        return self.message.zh

    def text(self, lang: str) -> str:
        """The line in ``zh`` or, for any other value, in English."""
        return self.message.in_language(lang)
