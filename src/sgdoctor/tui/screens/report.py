"""A report that was made for a terminal, in a window."""

from collections.abc import Callable

from textual.content import Content

from sgdoctor.tui.doctor import Report
from sgdoctor.tui.printed import printed
from sgdoctor.tui.screens.dialog import Dialog
from sgdoctor.tui.view import View
from sgdoctor.tui.words import tell


class ReportScreen(Dialog):
    """Any report.

    Args:
        view: for the language.
        title: of the window, in a language.
        report: prints it.
    """

    def __init__(self, view: View, title: Callable[[str], str], report: Report) -> None:
        super().__init__(view)
        self._title = title
        self._report = report

    def heading(self) -> str:
        """See ``Dialog``."""
        return self._title(self.view.lang)

    def keys_line(self) -> str:
        """See ``Dialog``."""
        return tell(self.view.lang, "help.close")

    def page(self, width: int) -> list[Content]:
        """As it would be printed on a terminal of this width."""
        lang = self.view.lang
        return printed(lambda console: self._report(console, lang), width)
