"""What the app asks of whoever can act on the server: plans, launches, ways back. The app itself touches nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from rich.console import Console

from sgdoctor.diagnosis.model import Verdict
from sgdoctor.fixes.model import Answer
from sgdoctor.launch.change import Change
from sgdoctor.redaction import Redactor
from sgdoctor.relaunch.model import Progress
from sgdoctor.report.redact import redact
from sgdoctor.texts import Text

Told = Callable[[Progress | Text], None]
"""Takes each step of an errand as it begins and ends, and headings between them; from the thread of the errand."""

Report = Callable[[Console, str], None]
"""Prints a report in a language (``en`` or ``zh``) on a console that is as wide as there is room."""

Kind = Literal["relaunch", "rollback", "resume", "heal", "write"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What the user wants of a plan; nothing else is changed.

    Attributes:
        steps: ids of the steps that are taken as they are.
        changes: further ones, spelled out.
    """

    steps: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan with what it means for the container or the process.

    Attributes:
        answer: with the plan.
        container: name; empty where nothing can be acted on, which ``refused`` then explains.
        id: of it.
        notes: how it would be carried out: the state it is in, through which file, how long it is down.
        lost: what a new container would not have.
        refused: why no relaunch is possible; None if one is.
        file: that can be written in place; empty if there is none.
        hide: hides secrets.
    """

    answer: Answer
    container: str = ""
    id: str = ""
    notes: tuple[Text, ...] = ()
    lost: tuple[Text, ...] = ()
    refused: Text | None = None
    file: str = ""
    hide: Redactor = redact


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of an errand.

    Attributes:
        done: whether it is what the user wanted.
        text: in one or two sentences.
        verdict: on the start that failed; None if none did.
        notes: what else is to be known.
        report: all of it; None where the text says it all.
    """

    done: bool
    text: Text
    verdict: Verdict | None = None
    notes: tuple[Text, ...] = ()
    report: Report | None = None


@dataclass(frozen=True, slots=True)
class Errand:
    """Something that acts, not begun before the user has agreed.

    Attributes:
        kind: of it.
        container: name of the container or the process, or of the file that is written.
        heading: what is asked of the user.
        act: does it, and returns once it is over; in a thread of its own.
        stop: lets it go back to where it began; for any thread. It ends some moments later.
        id: of the container or the process; empty for a file.
        lines: what has to be known before.
        diff: of the launch, unified; empty where nothing in it changes.
        stops: whether a server that runs is going to be stopped.
        hide: hides secrets.
        way_back: what stopping it comes to; None where everything is undone.
        leave: ends it at once, where the server goes with the app; None where it goes on without. For any thread.
    """

    kind: Kind
    container: str
    heading: Text
    act: Callable[[Told], Ended]
    stop: Callable[[], None]
    id: str = ""
    lines: tuple[Text, ...] = ()
    diff: str = ""
    stops: bool = False
    hide: Redactor = redact
    way_back: Text | None = None
    leave: Callable[[], None] | None = None


class Doctor(Protocol):
    """Knows one server, and can act on it. Every call but ``container`` may take seconds, and none is repeated.

    All of them raise ``UserError`` with what a user can do about it.
    """

    @property
    def container(self) -> str:
        """Name of the container or the process that can be acted on; empty if there is none."""
        ...

    def unfinished(self) -> Text | None:
        """A relaunch of it that has no end, and the way out; None if there is none."""
        ...

    def draft(self, choice: Choice | None = None) -> Draft:
        """The plan.

        Args:
            choice: what the user wants of the last one; None for a plan made anew.
        """
        ...

    def relaunch(self, draft: Draft) -> Errand:
        """A relaunch with the plan."""
        ...

    def rollback(self) -> Errand:
        """The way back: of a relaunch that was cut off, else to the launch that served before."""
        ...

    def resume(self) -> Errand:
        """The end of a relaunch that was cut off."""
        ...

    def heal(self) -> Errand:
        """Relaunches, each drawn from how the one before failed, until a server is verified."""
        ...

    def write(self, draft: Draft) -> Errand:
        """The plan written into its file."""
        ...

    def preflight(self, draft: Draft | None) -> Report:
        """What would fail before a start.

        Args:
            draft: a plan that the launch is checked with; None for the launch as it is.
        """
        ...
