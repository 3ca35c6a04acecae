"""The help screen, made from the table of keys."""

from rich.cells import cell_len
from textual.content import Content

from sgdoctor.tui.drawing import BLANK, CODE, MUTED, column, cut, styled, wrap
from sgdoctor.tui.keys import GROUPS, shown_key
from sgdoctor.tui.screens.dialog import Dialog
from sgdoctor.tui.view import View
from sgdoctor.tui.words import tell

_TWO_COLUMNS = 92


class HelpScreen(Dialog):
    """Every key and what it does."""

    def heading(self) -> str:
        """See ``Dialog``."""
        return tell(self.view.lang, "help.title")

    def keys_line(self) -> str:
        """See ``Dialog``."""
        return tell(self.view.lang, "help.close")

    def page(self, width: int) -> list[Content]:
        """The groups, in two columns where there is room."""
        lang = self.view.lang
        two = width >= _TWO_COLUMNS
        room = (width - 3) // 2 if two else width
        blocks = [_group(self.view, group.value, room) for group in GROUPS]
        blocks = [block for block in blocks if block]
        if two:
            half = sum(map(len, blocks)) / 2
            left: list[Content] = []
            right: list[Content] = []
            for block in blocks:
                (left if len(left) + len(block) / 2 <= half and not right else right).extend(block)
            rows = max(len(left), len(right))
            left += [BLANK] * (rows - len(left))
            right += [BLANK] * (rows - len(right))
            lines = [
                Content.assemble(one.pad_right(max(0, room + 3 - one.cell_length)), other)
                for one, other in zip(left, right, strict=True)
            ]
        else:
            lines = [line for block in blocks for line in block]
        return [*lines, *wrap(styled(tell(lang, "help.mouse"), MUTED), width)]


def _group(view: View, group: str, width: int) -> list[Content]:
    members = [key for key in view.keys if key.group == group and key.keys]
    if not members:
        return []
    title = next(title for name, title in GROUPS.items() if name.value == group)
    lines = [cut(styled(title.in_language(view.lang), "bold"), width)]
    names = {key.action: " ".join(map(shown_key, key.keys)) for key in members}
    name_width = min(16, max(map(cell_len, names.values())))
    for key in members:
        first = styled(f"  {column(names[key.action], name_width)}  ", CODE)
        lines += wrap(styled(view.help_of(key)), width, first=first)
    return [*lines, BLANK]
