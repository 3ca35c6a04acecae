"""The log among the other panes."""

from textual.message import Message

from sgdoctor.tui.log_pane import LogPane


class EvidenceLog(LogPane):
    """The log; without a search, its keys for matches go through the evidence."""

    class EvidenceWanted(Message):
        """The next line of evidence (``step`` 1) or the one before (-1) was asked for."""

        def __init__(self, step: int) -> None:
            self.step = step
            super().__init__()

    def next_match(self, step: int = 1) -> bool:
        """Without a search: the next line of evidence."""
        if self.view.search is None:
            self.post_message(self.EvidenceWanted(step))
            return False
        return super().next_match(step)
