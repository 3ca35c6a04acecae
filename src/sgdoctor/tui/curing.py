"""What the keys that cure do: the plan, relaunches, the way back, checks."""

import threading

from sgdoctor.errors import UserError
from sgdoctor.report.redact import redact
from sgdoctor.report.safe import printable
from sgdoctor.report.wording import change_text
from sgdoctor.tui.cure_words import say_cure
from sgdoctor.tui.doctor import Choice, Doctor, Draft, Errand, Report
from sgdoctor.tui.errands import Errands
from sgdoctor.tui.screens.plan import PlanScreen
from sgdoctor.tui.screens.report import ReportScreen
from sgdoctor.tui.words import tell


class Curing(Errands):
    """The part of the app that the keys to cure reach."""

    def action_fix(self) -> None:
        """Open the plan."""
        if (doctor := self.free_doctor()) is not None:
            self.ask(doctor.draft, lambda draft: self._open_plan(doctor, draft))

    def action_relaunch(self) -> None:
        """Relaunch with the plan; a relaunch that was cut off is brought to its end."""
        if (doctor := self.acting_doctor()) is None:
            return

        def find() -> Errand | None:
            if doctor.unfinished() is not None:
                return doctor.resume()
            draft = doctor.draft()
            return doctor.relaunch(draft) if draft.answer.plan.changes else None

        def then(errand: Errand | None) -> None:
            if errand is None:
                self.say(say_cure(self.view.lang, "no_changes", key=self.view.key("fix")))
            else:
                self.consent(errand)

        self.ask(find, then)

    def action_rollback(self) -> None:
        """Back to the launch before; a relaunch that was cut off is undone."""
        if (doctor := self.acting_doctor()) is not None:
            self.ask(doctor.rollback, self.consent)

    def action_heal(self) -> None:
        """Relaunch until it serves."""
        if (doctor := self.acting_doctor()) is not None:
            self.ask(doctor.heal, self.consent)

    def action_preflight(self) -> None:
        """Check the launch that is on the screen."""
        if (doctor := self.free_doctor()) is not None:
            self._preflight(doctor, None)

    # ------------------------------------------------------------ the plan

    def _open_plan(self, doctor: Doctor, draft: Draft) -> None:
        def recompute(choice: Choice, edition: int) -> None:
            def work() -> None:
                try:
                    fresh = doctor.draft(choice)
                except UserError as error:
                    why = error.message
                    self._from_thread(lambda: screen.refuse(why, edition))
                else:
                    self._from_thread(lambda: screen.take(fresh, edition))

            threading.Thread(target=work, name="sgdoctor-plan", daemon=True).start()

        screen = PlanScreen(self.view, draft, recompute)
        self.open_window(screen)

    def on_plan_screen_chosen(self, event: PlanScreen.Chosen) -> None:
        """What is to be done with the plan."""
        doctor, draft = self.doctor, event.draft
        if doctor is None:
            return
        match event.choice:
            case "copy":
                self._copy_plan(draft)
            case "check":
                self._preflight(doctor, draft)
            case "write" if self.may_act():
                self.ask(lambda: doctor.write(draft), self.consent)
            case "relaunch" if self.acting_doctor() is not None:
                self.ask(lambda: doctor.relaunch(draft), self.consent)

    def _copy_plan(self, draft: Draft) -> None:
        """Copy the whole command; of a file only what changes in it."""
        plan, lang = draft.answer.plan, self.view.lang
        whole = plan.text if plan.text is not None and not draft.file else None
        text = whole or "\n".join(change_text(change, lang) for change in plan.changes)
        # What is copied is pasted into chats and issues.
        text = redact(draft.hide(text))
        self.copy_to_clipboard(text)
        self.say(tell(lang, "copied", text=printable(text)))

    def _preflight(self, doctor: Doctor, draft: Draft | None) -> None:
        name = self.subject_name

        def then(report: Report) -> None:
            self.open_window(ReportScreen(self.view, lambda lang: say_cure(lang, "preflight.title", name=name), report))

        self.ask(lambda: doctor.preflight(draft), then)
