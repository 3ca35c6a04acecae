"""The errands of the app of ``run``: its server is ended, and started with another launch."""

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sgdoctor.cli.fix_files import remove_files, write_files
from sgdoctor.cli.run_owner import LeftError, Owner
from sgdoctor.cli.run_server import Running
from sgdoctor.cli.run_texts import both, sentence
from sgdoctor.diagnosis.model import Verdict
from sgdoctor.diagnosis.wording import duration
from sgdoctor.errors import UserError
from sgdoctor.fixes.model import Plan
from sgdoctor.launch.change import Change
from sgdoctor.relaunch.model import Step
from sgdoctor.texts import Text
from sgdoctor.tui.doctor import Ended, Told

LEFT: Final = Ended(done=False, text=both("errand.left"))


@dataclass(frozen=True, slots=True)
class Wanted:
    """The launch that is wanted.

    Attributes:
        changes: of the command that was given.
        plan: whose files it needs; None where they are there.
        back_to: the start that had it before; None for a new launch.
        waits: whether it has to serve; not where it is known to fail.
    """

    changes: tuple[Change, ...]
    plan: Plan | None = None
    back_to: Running | None = None
    waits: bool = True


class Trip:
    """From the start that is there to another launch; back, where a server served and the other one does not.

    Args:
        owner: of the server.
        wanted: the launch.
    """

    def __init__(self, owner: Owner, wanted: Wanted) -> None:
        self._owner = owner
        self._wanted = wanted
        self._stopped = threading.Event()
        self._written: list[Path] = []

    def stop(self) -> None:
        """Go back to where it began; for any thread."""
        self._stopped.set()

    def act(self, told: Told) -> Ended:
        """Carry it out; in the thread of the errand."""
        try:
            return self._act(told)
        except LeftError:
            return LEFT

    def _act(self, told: Told) -> Ended:
        owner, wanted, began = self._owner, self._wanted, time.monotonic()
        before, served = owner.held, owner.serves
        returns = wanted.back_to is not None
        try:
            owner.end(told)
            if wanted.plan is not None:
                self._written = write_files(wanted.plan, Path.cwd())
            owner.server.written += self._written
            running = owner.begin(wanted.changes, told, returns=returns, step=Step.START)
        except UserError as error:
            return self._back(told, before, error.message, served=served)
        owner.held = running
        if not wanted.waits:
            assert wanted.back_to is not None
            return Ended(done=True, text=both("errand.back_failed", name=owner.name, number=wanted.back_to.number))
        why = owner.wait(running, told, self._stopped)
        if why is None:
            key = "errand.returned" if wanted.back_to is not None else "errand.done"
            number = wanted.back_to.number if wanted.back_to is not None else 0
            time_ = duration(time.monotonic() - began)
            return Ended(done=True, text=both(key, name=owner.name, number=number, time=time_))
        verdict = None if self._stopped.is_set() else owner.newest
        owner.end(told)
        return self._back(told, before, why, served=served, verdict=verdict)

    def _back(self, told: Told, before: Running, why: Text, *, served: bool, verdict: Verdict | None = None) -> Ended:
        """It does not serve: the launch of before is started again, if it served."""
        owner = self._owner
        reason = Text(sentence(why, "en"), sentence(why, "zh"))
        if owner.server.current.feed.child.stuck:
            return Ended(done=False, text=why, verdict=verdict)
        if served or self._stopped.is_set() or owner.held is before:
            owner.held = before
            remove_files(self._written)
        if not served:
            return Ended(done=False, text=both("errand.failed", name=owner.name, why=reason), verdict=verdict)
        try:
            again = owner.begin(before.changes, told, returns=True, step=Step.RESTART_OLD)
        except UserError as error:
            text = both("errand.failed", name=owner.name, why=error.message)
            return Ended(done=False, text=text, verdict=verdict)
        owner.held = again
        failed = owner.wait(again, told, threading.Event())
        key = "errand.back" if failed is None else "errand.not_back"
        then = Text(sentence(failed, "en"), sentence(failed, "zh"))
        return Ended(done=False, text=both(key, name=owner.name, why=reason, then=then), verdict=verdict)
