"""A launch with changes that are meant and not written yet, as a document that further changes can be planned for."""

from collections.abc import Iterable, Sequence

from sgdoctor.launch.change import Change
from sgdoctor.launch.model import Document, Editable, Edited, FlagTable, Launch, Problem


def subject(change: Change, flags: FlagTable) -> tuple[str, str]:
    """What a change is about: two changes of one subject contradict each other unless they are equal."""
    family = change.kind.partition(".")[0]
    if family == "flag":
        return family, flags.canonical(change.name)
    return (family, change.name) if family == "env" else (change.kind, change.name)


def merged(before: Iterable[Change], after: Iterable[Change], flags: FlagTable) -> tuple[Change, ...]:
    """One list of changes with the effect of both, one after the other: of one subject the last word counts."""
    later = tuple(after)
    renewed = {subject(change, flags) for change in later}
    kept = tuple(change for change in before if subject(change, flags) not in renewed)
    return tuple(dict.fromkeys((*kept, *later)))


class Amended:
    """A document with changes made in mind.

    Args:
        document: as it is written.
        changes: made in mind.
        flags: of the engine's version.

    Raises:
        UserError: the document cannot be edited.
    """

    def __init__(self, document: Document, changes: Sequence[Change], flags: FlagTable) -> None:
        self._document = document
        self._changes = tuple(changes)
        edited = document.edited(changes, flags)
        self._text, self._launch = edited.text, edited.launch

    @property
    def name(self) -> str:
        """Of the document."""
        return self._document.name

    @property
    def text(self) -> str:
        """With the changes."""
        return self._text

    @property
    def launch(self) -> Launch:
        """With the changes."""
        return self._launch

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Those that the changes do not put right."""
        made = set(self._changes)
        return tuple(one for one in self._document.problems if not one.changes or not made.issuperset(one.changes))

    @property
    def editable(self) -> Editable:
        """As of the document."""
        return self._document.editable

    def edited(self, changes: Sequence[Change], flags: FlagTable) -> Edited:
        """The document with these changes, too; raises as ``Document.edited``."""
        return self._document.edited(merged(self._changes, changes, flags), flags)
