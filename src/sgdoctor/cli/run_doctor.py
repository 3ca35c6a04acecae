"""Who the app of ``run`` asks for plans and sends on errands: it acts on the process that ``run`` owns."""

from pathlib import Path
from typing import NoReturn

from sgdoctor.cli.fix_files import remove_files, write_files
from sgdoctor.cli.run_errands import Trip, Wanted
from sgdoctor.cli.run_heal import HealErrand
from sgdoctor.cli.run_owner import Owner
from sgdoctor.cli.run_server import Running
from sgdoctor.cli.run_texts import both, sentence
from sgdoctor.cli.watch_log_doctor import checked, error_of
from sgdoctor.cli.watch_texts import told
from sgdoctor.diagnosis.model import Verdict
from sgdoctor.diagnosis.wording import summary_of
from sgdoctor.errors import UserError
from sgdoctor.fixes.model import Answer
from sgdoctor.launch.amended import merged
from sgdoctor.launch.render import unified_diff
from sgdoctor.redaction import Redactor
from sgdoctor.report.plan_redact import plan_redactor
from sgdoctor.texts import Text
from sgdoctor.tui.doctor import Choice, Draft, Errand, Kind, Report


class ProcessDoctor:
    """Knows the server, and acts on it; see ``tui.doctor.Doctor``.

    Args:
        owner: of the server.
        redact: whether secrets are hidden.
    """

    def __init__(self, owner: Owner, *, redact: bool = True) -> None:
        self._owner = owner
        self._redact = redact
        self._basis: tuple[Running, Verdict | None] | None = None

    @property
    def container(self) -> str:
        """Name of the server."""
        return self._owner.name

    @property
    def _id(self) -> str:
        return str(self._owner.server.current.feed.child.pid)

    # ------------------------------------------------------------ plans

    def draft(self, choice: Choice | None = None) -> Draft:
        """See ``Doctor``."""
        if choice is None or self._basis is None:
            held = self._owner.held
            self._basis = (held, self._owner.judged(held))
        held, verdict = self._basis
        answer = self._owner.server.plans.planned(held.changes, verdict, choice)
        return Draft(
            answer,
            container=self.container,
            id=self._id,
            notes=(self._state(), *self._files(answer)),
            refused=self._owner.server.plans.refused(answer),
            hide=plan_redactor(answer, redact=self._redact),
        )

    def _state(self) -> Text:
        running = self._owner.server.current
        if running.feed.over:
            return both("state.ended")
        return both("state.serves" if self._owner.serves else "state.lives")

    def _files(self, answer: Answer) -> tuple[Text, ...]:
        paths = [str(Path.cwd() / file.path) for file in answer.plan.files]
        return (both("files", paths=", ".join(paths)),) if paths else ()

    def preflight(self, draft: Draft | None) -> Report:
        """See ``Doctor``."""
        changed = draft is not None
        draft = draft or self.draft()
        # What a plan is checked with has to be there; what is there already stays.
        written = write_files(draft.answer.plan, Path.cwd()) if changed else []
        try:
            return checked(draft.answer, Path.cwd(), with_changes=changed, redact=self._redact)
        finally:
            remove_files(written)

    # ------------------------------------------------------------ errands

    def unfinished(self) -> Text | None:
        """See ``Doctor``: nothing of a process is left that could be."""
        return None

    def relaunch(self, draft: Draft) -> Errand:
        """See ``Doctor``."""
        if draft.refused is not None:
            raise error_of(draft.refused)
        owner, answer = self._owner, draft.answer
        assert self._basis is not None
        changes = merged(self._basis[0].changes, answer.plan.changes, answer.flags)
        trip = Trip(owner, Wanted(changes, answer.plan))
        return self._errand(
            "relaunch",
            both("ask.relaunch", name=draft.container, pid=self._id),
            trip,
            lines=(*draft.notes, self._way_back()),
            diff=answer.plan.diff,
            hide=draft.hide,
        )

    def _errand(
        self, kind: Kind, heading: Text, part: Trip | HealErrand, *, lines: tuple[Text, ...], diff: str, hide: Redactor
    ) -> Errand:
        owner = self._owner
        return Errand(
            kind,
            self.container,
            heading,
            part.act,
            part.stop,
            id=self._id,
            lines=lines,
            diff=diff,
            stops=owner.serves,
            hide=hide,
            way_back=self._undone(),
            leave=owner.leave,
        )

    def _way_back(self) -> Text:
        return both("way_back.serves" if self._owner.serves else "way_back.ended")

    def _undone(self) -> Text | None:
        """What stopping comes to; None where the server of before is started again."""
        return None if self._owner.serves else both("undone.ended")

    def rollback(self) -> Errand:
        """See ``Doctor``."""
        owner, plans = self._owner, self._owner.server.plans
        back_to = self._earlier()
        answer = plans.planned(back_to.changes, back_to.verdict)
        waits = back_to.served or not back_to.failed
        trip = Trip(owner, Wanted(back_to.changes, back_to=back_to, waits=waits))
        lines = [self._state()]
        if not waits and back_to.verdict is not None:
            title = summary_of(back_to.verdict)
            lines.append(both("rollback.failed", title=Text(sentence(title, "en"), sentence(title, "zh"))))
        lines.append(self._way_back() if waits else both("way_back.none"))
        now, then = plans.text(owner.held.changes), plans.text(back_to.changes)
        return self._errand(
            "rollback",
            both("ask.rollback", name=self.container, pid=self._id, number=back_to.number),
            trip,
            lines=tuple(lines),
            diff=unified_diff(f"{now}\n", f"{then}\n", "launch"),
            hide=plan_redactor(answer, redact=self._redact),
        )

    def _earlier(self) -> Running:
        """The start to go back to: the newest of another launch that served, else the first one.

        Raises:
            UserError: there is none.
        """
        starts, held = self._owner.server.starts, self._owner.held
        others = [one for one in starts if one.changes != held.changes]
        served = [one for one in others if one.served]
        if not others:
            raise error_of(both("rollback.none", name=self.container))
        return served[-1] if served else others[0]

    def heal(self) -> Errand:
        """See ``Doctor``."""
        draft = self.draft()
        if draft.refused is not None:
            raise error_of(draft.refused)
        owner = self._owner
        return self._errand(
            "heal",
            both("ask.heal", name=draft.container, pid=self._id),
            HealErrand(owner, redact=self._redact),
            lines=(
                told("heal.how" if owner.limits.tries != 1 else "heal.how_once", tries=owner.limits.tries),
                both("heal.unsafe") if owner.limits.unsafe else told("heal.safe"),
                *draft.notes,
                self._way_back(),
            ),
            diff=draft.answer.plan.diff,
            hide=draft.hide,
        )

    def resume(self) -> Errand:
        """See ``Doctor``: nothing is cut off."""
        raise error_of(both("nothing_open", name=self.container))

    def write(self, draft: Draft) -> NoReturn:
        """See ``Doctor``: a command has no file."""
        raise UserError(*both("no_file", name=draft.container))
