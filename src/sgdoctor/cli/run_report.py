"""The report of healing a process."""

from sgdoctor.cli.heal_report import Report


class ProcessReport(Report):
    """As of a container, with a last line of its own.

    Attributes:
        said: the last line.
    """

    said = ""

    @property
    def closing(self) -> str:
        """See ``Report``."""
        return self.safe(self.said)
