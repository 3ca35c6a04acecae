"""Who the app of ``watch`` asks for plans and sends on errands: what the commands do, without their terminal."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sgdoctor.cli.failed_before import failed_before, origin_words
from sgdoctor.cli.fix import IN_PLACE, write_answer
from sgdoctor.cli.fix_answer import shown_path
from sgdoctor.cli.history_rows import command_diff
from sgdoctor.cli.open_relaunch import check_free, is_about, open_text, step_reached
from sgdoctor.cli.relaunch_proposal import Proposal, expected_start, lost_paths, proposal_of
from sgdoctor.cli.relaunch_sheet import not_carried, start_words
from sgdoctor.cli.relaunch_texts import words
from sgdoctor.cli.watch_errands import Finishing, Relaunching, Returning
from sgdoctor.cli.watch_heal import HealErrand
from sgdoctor.cli.watch_log_doctor import checked, error_of, planned
from sgdoctor.cli.watch_texts import told
from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.launches import container_document
from sgdoctor.diagnosis.model import Verdict
from sgdoctor.diagnosis.pipeline import diagnose
from sgdoctor.diagnosis.telling import telling
from sgdoctor.errors import UserError
from sgdoctor.fixes.model import Answer
from sgdoctor.launch.inspection import Inspection
from sgdoctor.redaction import Redactor, redactor, unredacted
from sgdoctor.relaunch.engine import Engine
from sgdoctor.relaunch.launching import left_behind, refusal
from sgdoctor.relaunch.recovery import Unfinished, look_for_open
from sgdoctor.relaunch.returning import plan_return
from sgdoctor.report.plan_redact import hidden_words, plan_redactor
from sgdoctor.targets import AsDockerRun, Target, open_target
from sgdoctor.texts import Text
from sgdoctor.tui.doctor import Choice, Draft, Ended, Errand, Report, Told
from sgdoctor.watching.model import Snapshot

if TYPE_CHECKING:
    from sgdoctor.rules.base import RuleBase

_SHORT_ID: Final = 12
_BACK: Final = "last-good"
_RUNS: Final = ("running", "restarting")


@dataclass(frozen=True, slots=True)
class _Basis:
    """What plans for a container are made from, until one is asked for anew."""

    target: Target
    inspection: Inspection
    folder: Path
    verdict: Verdict | None
    lost: tuple[str, ...]
    refused: Text | None

    @property
    def runs(self) -> bool:
        """Whether it runs, or is about to."""
        return (self.inspection.data.get("State") or {}).get("Status") in _RUNS

    @property
    def id(self) -> str:
        """Of the container."""
        return str(self.inspection.data["Id"])

    def proposal(self, answer: Answer) -> Proposal:
        """What a plan comes to, as far as that can be known without asking the engine."""
        return Proposal(
            container=self.inspection.name,
            id=self.id,
            inspection=self.inspection,
            answer=answer,
            runs=self.runs,
            start=expected_start(answer, self.inspection),
            folder=self.folder,
            lost=self.lost,
            refused=self.refused,
        )


class ContainerDoctor:
    """Knows a container, and acts on it; see ``tui.doctor.Doctor``.

    Args:
        endpoint: the container engine.
        base: the rules.
        moment: what is on the screen; None before there is anything.
        redact: whether secrets are hidden.
    """

    def __init__(
        self, endpoint: Endpoint, base: "RuleBase", moment: Callable[[], Snapshot | None], *, redact: bool = True
    ) -> None:
        self._endpoint = endpoint
        self._base = base
        self._moment = moment
        self._redact = redact
        self._basis: _Basis | None = None

    @property
    def container(self) -> str:
        """See ``Doctor``."""
        moment = self._moment()
        return moment.subject.name if moment is not None else ""

    def _named(self) -> str:
        if not (name := self.container):
            raise error_of(told("not_yet"))
        return name

    # ------------------------------------------------------------ plans

    def draft(self, choice: Choice | None = None) -> Draft:
        """See ``Doctor``."""
        basis = self._basis
        if choice is None or basis is None:
            self._basis = basis = self._look()
        answer = planned(basis.target, self._base, basis.verdict, choice)
        proposal = basis.proposal(answer)
        file = basis.target.file
        return Draft(
            answer,
            container=proposal.container,
            id=proposal.id,
            notes=_notes(proposal),
            lost=_lost(proposal),
            refused=basis.refused,
            file=shown_path(file.path) if file is not None else "",
            hide=plan_redactor(answer, redact=self._redact),
        )

    def _look(self) -> _Basis:
        with Client(self._endpoint) as client:
            inspection = container_document(client, self._named())
            identity = str(inspection.data["Id"])
            # The id, so that a file of the container's name is not taken for it.
            with open_target([identity], None) as target:
                verdict = None
                if target.log is not None:
                    verdict = telling(diagnose(target.log, self._base, all_attempts=True, redact=False))
                if isinstance(target.document, AsDockerRun):
                    inspection = target.document.inspection
            refused = refusal(client, inspection)
            mounted = [str(mount.get("Destination")) for mount in inspection.data.get("Mounts") or ()]
            lost = () if refused is not None else lost_paths(left_behind(client, identity), mounted)
        folder = Path.cwd() if target.file is None else target.file.path.absolute().parent
        target = replace(target, name=inspection.name, log=None)
        return _Basis(target, inspection, folder, verdict, lost, refused)

    def preflight(self, draft: Draft | None) -> Report:
        """See ``Doctor``."""
        changed = draft is not None
        draft = draft or self.draft()
        basis = self._basis
        assert basis is not None
        return checked(draft.answer, basis.folder, with_changes=changed, redact=self._redact, file=draft.file)

    # ------------------------------------------------------------ errands

    def unfinished(self) -> Text | None:
        """See ``Doctor``."""
        found = self._open()
        return None if found is None else _both(lambda lang: open_text(found, lang))

    def _open(self) -> Unfinished | None:
        name = self.container
        found = [one for one in look_for_open() if name and is_about(one.journal, name)]
        if found:
            engine = None
            with suppress(UserError), Client(self._endpoint) as client:
                engine = Engine(client).identity()
            found = [one for one in found if one.journal.intent.may_be_on(engine)]
        return found[-1] if found else None

    def _none_open(self) -> None:
        if (text := self.unfinished()) is not None:
            raise error_of(text)
        with Client(self._endpoint) as client:
            check_free(client, self._named())

    def relaunch(self, draft: Draft) -> Errand:
        """See ``Doctor``."""
        self._none_open()
        basis = self._basis
        assert basis is not None
        with Client(self._endpoint) as client:
            proposal = proposal_of(client, basis.inspection, draft.answer, basis.folder, accept_drift=False)
        if proposal.refused is not None:
            raise error_of(proposal.refused)
        errand = Relaunching(self._endpoint, self._base, proposal)
        return Errand(
            "relaunch",
            proposal.container,
            told("relaunch", name=proposal.container, id=proposal.id[:_SHORT_ID]),
            errand.act,
            errand.stop,
            id=proposal.id,
            lines=(*_notes(proposal), *_losses(_lost(proposal)), *_way_back(proposal)),
            diff=draft.answer.plan.diff,
            stops=proposal.serves,
            hide=draft.hide,
        )

    def rollback(self) -> Errand:
        """See ``Doctor``."""
        if (unfinished := self._open()) is not None:
            return self._of_unfinished(unfinished, undoes=True)
        name = self._named()
        hide = self._hide
        with Client(self._endpoint) as client:
            check_free(client, name)
            planned = plan_return(client, name, _BACK)
            failed = failed_before(client, planned.wanted, self._base)
        if planned.refused is not None:
            raise error_of(planned.refused)
        wanted, held = planned.wanted, str(planned.document.data["Id"])
        rows = command_diff(hidden_words(planned.current.command, hide), hidden_words(wanted.command, hide))
        errand = Returning(self._endpoint, self._base, planned, failed=failed is not None)
        lines = [_both(lambda lang: origin_words(planned, lang))]
        if not rows:
            lines.append(_said("rollback.same"))
        if failed is not None:
            lines.append(_both(lambda lang: words(lang, "rollback.failed", title=failed.in_language(lang))))
        return Errand(
            "rollback",
            name,
            told("rollback", number=wanted.number, name=name, id=held[:_SHORT_ID]),
            errand.act,
            errand.stop,
            id=held,
            lines=tuple(lines),
            diff="".join(f"{row.plain[0]}{row.plain[2:]}\n" for row in rows),
            stops=(planned.document.data.get("State") or {}).get("Status") in _RUNS,
            hide=hide,
        )

    def resume(self) -> Errand:
        """See ``Doctor``."""
        unfinished = self._open()
        if unfinished is None:
            raise error_of(_said("none_open", name=self._named()))
        return self._of_unfinished(unfinished, undoes=False)

    def _of_unfinished(self, unfinished: Unfinished, *, undoes: bool) -> Errand:
        if unfinished.holder is not None:
            raise error_of(_both(lambda lang: open_text(unfinished, lang)))
        journal = unfinished.journal
        name = journal.intent.container
        reached = _both(lambda lang: step_reached(journal, lang))
        key = "undo" if undoes else "resume"
        heading = Text(told(key, name=name, step=reached.en).en, told(key, name=name, step=reached.zh).zh)
        end = Finishing(self._endpoint, self._base, journal, undoes=undoes)
        return Errand("rollback" if undoes else "resume", name, heading, end.act, end.stop, hide=self._hide)

    def heal(self) -> Errand:
        """See ``Doctor``."""
        self._none_open()
        draft = self.draft()
        if draft.refused is not None:
            raise error_of(draft.refused)
        errand = HealErrand(self._endpoint, self._base, draft.container, redact=self._redact)
        tries = HealErrand.tries
        return Errand(
            "heal",
            draft.container,
            told("heal", name=draft.container, id=draft.id[:_SHORT_ID]),
            errand.act,
            errand.stop,
            id=draft.id,
            lines=(
                told("heal.how" if tries != 1 else "heal.how_once", tries=tries),
                told("heal.safe"),
                told("heal.back"),
                *draft.notes,
                *_losses(draft.lost),
            ),
            diff=draft.answer.plan.diff,
            stops=self._basis is not None and self._basis.runs,
            hide=draft.hide,
        )

    def write(self, draft: Draft) -> Errand:
        """See ``Doctor``."""
        basis = self._basis
        assert basis is not None

        def act(_: Told) -> Ended:
            files = ", ".join(write_answer(basis.target, draft.answer, IN_PLACE))
            return Ended(done=True, text=told("written", files=files))

        return Errand(
            "write",
            draft.file,
            told("write", file=draft.file),
            act,
            lambda: None,
            lines=(told("write.backup"),),
            diff=draft.answer.plan.diff,
            hide=draft.hide,
        )

    @property
    def _hide(self) -> Redactor:
        return redactor() if self._redact else unredacted


# ---------------------------------------------------------------- what a proposal means, in words


def _notes(proposal: Proposal) -> tuple[Text, ...]:
    state = "running" if proposal.serves else "failing" if proposal.runs else "stopped"
    notes = [_said(f"state.{state}")]
    if (origin := proposal.inspection.compose) is not None:
        notes.append(_said("through_compose", files=", ".join(origin.config_files), service=origin.service))
    if proposal.kept_image is not None:
        notes.append(proposal.kept_image)
    key = "down" if proposal.serves else "start"
    notes.append(_both(lambda lang: words(lang, key, **start_words(proposal, lang))))
    if proposal.answer.plan.files:
        paths = ", ".join(str(proposal.folder / file.path) for file in proposal.answer.plan.files)
        notes.append(_said("files", paths=paths))
    return tuple(notes)


def _lost(proposal: Proposal) -> tuple[Text, ...]:
    english, chinese = (not_carried(proposal, lang) for lang in ("en", "zh"))
    return tuple(map(Text, english, chinese))


def _losses(lost: Iterable[Text]) -> Iterator[Text]:
    for one in lost:
        yield Text(told("lost", what=one.en).en, told("lost", what=one.zh).zh)


def _way_back(proposal: Proposal) -> tuple[Text, ...]:
    kept = not proposal.through_compose and not proposal.removes_itself
    return (_said("way_back", name=proposal.container),) if kept else ()


def _said(key: str, **values: object) -> Text:
    return _both(lambda lang: words(lang, key, **values))


def _both(text: Callable[[str], str]) -> Text:
    return Text(text("en"), text("zh"))
