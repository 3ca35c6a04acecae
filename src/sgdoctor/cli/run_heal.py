"""Healing the server of ``run`` in its app: the same moves as of ``sgdoctor heal``."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from sgdoctor.cli.fix_files import write_files
from sgdoctor.cli.heal_ended import GOOD, ended_with
from sgdoctor.cli.heal_report import move_line
from sgdoctor.cli.heal_texts import words as heal_words
from sgdoctor.cli.run_errands import LEFT
from sgdoctor.cli.run_owner import LeftError, Owner
from sgdoctor.cli.run_report import ProcessReport
from sgdoctor.cli.run_server import Running
from sgdoctor.cli.run_texts import both, sentence
from sgdoctor.cli.watch_plain import address_of
from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.errors import UserError
from sgdoctor.fixes.model import Step as FixStep
from sgdoctor.redaction import Redactor, redactor, unredacted
from sgdoctor.relaunch.heal import texts
from sgdoctor.relaunch.heal.loop import heal
from sgdoctor.relaunch.heal.model import End, Healing, Move, Relaunch, Result, Stop, Try
from sgdoctor.relaunch.model import Step
from sgdoctor.report.plan_redact import plan_redactor
from sgdoctor.texts import Text
from sgdoctor.tui.doctor import Ended, Told
from sgdoctor.verify.calls import Calls
from sgdoctor.verify.launched import server_of
from sgdoctor.verify.model import Verification
from sgdoctor.verify.probes import verify

_OWN: Final = {End.IDLE: "heal.idle", End.STOPPED: "heal.stopped"}


class HealErrand:
    """One errand of healing; see ``Ward``.

    Args:
        owner: of the server.
        redact: whether secrets are hidden.
    """

    def __init__(self, owner: Owner, *, redact: bool) -> None:
        self._owner = owner
        self._redact = redact
        self._stopped = threading.Event()
        self._calls: Calls | None = None
        self._hide: Redactor = redactor() if redact else unredacted
        self._tell: Told = lambda _: None
        self._count = 0

    def stop(self) -> None:
        """Try nothing more; for any thread."""
        self._stopped.set()
        if self._calls is not None:
            self._calls.cancel()

    def act(self, told: Told) -> Ended:
        """Heal; in the thread of the errand."""
        self._tell = told
        owner = self._owner
        found, served = owner.server.current, owner.serves
        try:
            healing = heal(self, owner.limits, told=self._told)
            restored = self._restored(healing, found) if served else None
        except LeftError:
            return LEFT
        english, chinese = (self._report(healing, restored, lang) for lang in ("en", "zh"))
        return ended_with(english, chinese)

    # ------------------------------------------------------------ the ward

    @property
    def stopped(self) -> bool:
        """See ``Ward.stopped``."""
        return self._stopped.is_set()

    def agrees(self, move: Relaunch) -> bool:
        """The user has agreed before it began."""
        del move
        return True

    def consents(self, steps: Sequence[FixStep]) -> bool:
        """Nobody has agreed to what can make answers worse, unless with an option."""
        del steps
        return False

    def examine(self, seconds: float | None) -> Try:
        """See ``Ward.examine``."""
        del seconds
        owner, began = self._owner, time.monotonic()
        running = owner.server.current
        tried = replace(owner.server.plans.tried(0, running.changes), result=Result.IDLE, began=None)
        why = None
        if not running.feed.over:
            self._say(lambda lang: heal_words(lang, "waiting", name=owner.name))
            why = owner.wait(running, self._tell, self._stopped)
            if why is None:
                verification = self._verified(running)
                tried = replace(tried, verification=verification, seconds=time.monotonic() - began)
        if self.stopped:
            return replace(tried, result=Result.STOPPED)
        return self._came_of(running, tried, why)

    def relaunch(self, tries: Sequence[Try], move: Relaunch, seconds: float | None) -> Try:
        """See ``Ward.relaunch``; nothing is put back between two tries."""
        del seconds
        owner, began = self._owner, time.monotonic()
        plans = owner.server.plans
        tried = replace(
            plans.tried(len(tries), move.changes), result=Result.REFUSED, bisected=move.bisected is not None
        )
        try:
            owner.end(self._tell)
            if plans.answer is not None:
                owner.server.written += write_files(plans.answer.plan, Path.cwd())
            running = owner.begin(move.changes, self._tell, heals=True, step=Step.START)
        except UserError as error:
            return replace(tried, reason=error.message)
        owner.held = running
        why = owner.wait(running, self._tell, self._stopped)
        tried = replace(
            tried,
            verification=running.keeper.verification,
            seconds=time.monotonic() - began,
            log=str(running.feed.log) if running.feed.log is not None else None,
        )
        if self.stopped:
            owner.end(self._tell)
            return replace(tried, result=Result.STOPPED)
        return self._came_of(running, tried, why)

    def _came_of(self, running: Running, tried: Try, why: Text | None) -> Try:
        """A start that serves, or has failed; of the latter with the plan that follows from it."""
        verification = tried.verification
        fault = verification.fault if verification is not None else None
        verdict = self._owner.judged(running)
        tried = replace(tried, verdict=verdict)
        lives = verdict is None or verdict.state is not State.FAILED
        if why is None and fault is None and not running.failed:
            if running.feed.over:
                return replace(tried, result=Result.IDLE, reason=texts.NOT_FAILED)
            good = verification is not None and verification.verified
            gap = verification.gap if verification is not None else None
            return replace(tried, result=Result.VERIFIED if good else Result.SERVES, reason=None if good else gap)
        reason = fault if lives and fault is not None else why if lives else None
        result = Result.FAULTY if lives and fault is not None else Result.FAILED
        tried = replace(tried, result=result, reason=reason)
        if verdict is None:
            return tried
        return self._planned(tried, verdict)

    def _planned(self, tried: Try, verdict: Verdict) -> Try:
        plans = self._owner.server.plans
        try:
            tried = plans.judged(tried, verdict)
        except UserError as error:
            return replace(tried, reason=error.message)
        if plans.answer is not None:
            self._hide = plan_redactor(plans.answer, redact=self._redact)
        return tried

    def _verified(self, running: Running) -> Verification | None:
        """What a server that serves already answers."""
        newest, plans = self._owner.newest, self._owner.server.plans
        address = address_of(newest) if newest is not None else ""
        if not address:
            return None
        server = server_of(plans.launch(running.changes), plans.flags, address)
        self._calls = Calls(server)
        if self.stopped:
            self._calls.cancel()
        return verify(server, self._calls)

    # ------------------------------------------------------------ the end

    def _restored(self, healing: Healing, found: Running) -> Text | None:
        """The launch that served before, started again where no other one serves; what came of that."""
        owner = self._owner
        if healing.stop.end in GOOD or owner.server.current is found:
            return None
        try:
            owner.end(self._tell)
            again = owner.begin(found.changes, self._tell, returns=True, step=Step.RESTART_OLD)
        except UserError as error:
            return error.message
        owner.held = again
        why = owner.wait(again, self._tell, threading.Event())
        if why is None:
            return both("heal.restored")
        return both("heal.not_restored", why=Text(sentence(why, "en"), sentence(why, "zh")))

    def _report(self, healing: Healing, restored: Text | None, lang: str) -> ProcessReport:
        stop, count = healing.stop, healing.relaunches
        why = Text(sentence(stop.why, "en"), sentence(stop.why, "zh"))
        after = both("after.1" if count == 1 else "after.n", count=count).in_language(lang) if count else ""
        after = f" {after}" if after and lang == "en" else after
        key = _OWN.get(stop.end, f"end.{stop.end.value}")
        if restored is not None:
            key = "heal.back"
        said = both(key, name=self._owner.name, after=after, why=why, restored=restored or "").in_language(lang)
        report = ProcessReport(self._owner.name, healing, verify=True, lang=lang, hide=self._hide)
        report.said = said
        return report

    def _told(self, move: Move) -> None:
        """The next launch, as a heading."""
        if isinstance(move, Stop):
            return
        self._count += 1
        self._say(lambda lang: move_line(move, self._count, self._owner.limits.tries, lang))

    def _say(self, text: Callable[[str], str]) -> None:
        self._tell(Text(self._hide(text("en")), self._hide(text("zh"))))
