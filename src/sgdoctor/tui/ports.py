"""What the app asks of what it draws."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import time
from typing import Protocol

from sgdoctor.config import Config, Remembered
from sgdoctor.diagnosis.model import State
from sgdoctor.rules.base import RuleBase
from sgdoctor.tui.doctor import Doctor
from sgdoctor.watching.model import Lines, Snapshot


class Session(Protocol):
    """Watches one server in threads of its own.

    Attributes:
        gpu_name: name of the card that the server runs on, once it is known.
    """

    gpu_name: str

    @property
    def lines(self) -> Lines:
        """All lines so far."""
        ...

    def start(self, on_snapshot: Callable[[Snapshot], None], on_failure: Callable[[Exception], None]) -> None:
        """Begin to watch.

        Args:
            on_snapshot: called from a thread of the session with each new moment, as often as it likes.
            on_failure: called once if the session cannot go on; the last snapshot stays true.
        """
        ...

    def note_activity(self) -> None:
        """The GPUs of the server are at work; from any thread."""
        ...

    def step_back(self, seconds: float) -> None:
        """Leave the interpreter to the screen for a moment; nothing is lost. Returns at once."""
        ...

    def show_attempt(self, number: int | None) -> None:
        """Give snapshots of this start from now on; None for always the newest. Returns at once."""
        ...

    def stop(self) -> None:
        """Stop watching; no call of ``on_snapshot`` begins after it has returned."""
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """How the app is to run.

    Attributes:
        lang: ``en`` or ``zh``.
        config: settings of the user.
        remembered: what the app was left with.
        base: rules, for their pages; None where they cannot be looked up.
        redact: whether secrets are hidden in what is shown.
        until_ready: whether to leave as soon as it serves, or has failed.
        exit_code: the exit code for the state of the newest start.
        clock: seconds since the epoch.
        reports: folder for saved reports.
        remember: called with what to remember when the app is left.
        notes: told once at the beginning, one line each.
        containers: names of the containers that could be watched instead; asked in a thread of its own.
        switch: called with the one that the user chose, before the app is left.
        doctor: knows the launch, and can act on the server; None where nobody can.
        read_only: whether nothing may be acted on.
        over: whether there is nothing left to be shown: then the app is left; asked some times a second.
    """

    lang: str = "en"
    config: Config = field(default_factory=Config)
    remembered: Remembered = field(default_factory=Remembered)
    base: RuleBase | None = None
    redact: bool = True
    until_ready: bool = False
    exit_code: Callable[[State], int] = lambda _: 0
    clock: Callable[[], float] = time
    reports: Path | None = None
    remember: Callable[[Remembered], None] = lambda _: None
    notes: Sequence[str] = ()
    containers: Callable[[], Sequence[str]] = tuple
    switch: Callable[[str], None] = lambda _: None
    doctor: Doctor | None = None
    read_only: bool = False
    over: Callable[[], bool] | None = None
