"""A relaunch before it begins, as text and as data: what changes, what it costs, what is lost, how to go back."""

from typing import Any, Final

from rich.console import Console
from rich.text import Text as Styled

from sgdoctor.cli.relaunch_proposal import Proposal
from sgdoctor.cli.relaunch_texts import words
from sgdoctor.diagnosis.wording import duration
from sgdoctor.report.canvas import Canvas
from sgdoctor.report.plan_json import as_plan_data
from sgdoctor.report.plan_redact import plan_redactor
from sgdoctor.report.plan_text import print_plan
from sgdoctor.report.safe import printable
from sgdoctor.report.wording import change_text

_SHOWN_PATHS: Final = 6
_SHORT_ID: Final = 12


def print_proposal(console: Console, proposal: Proposal, lang: str, *, redact: bool) -> None:
    """Prints what is about to be done, or what is to be typed by hand where it cannot be.

    Args:
        console: where to.
        proposal: which.
        lang: ``en`` or ``zh``.
        redact: whether secrets are hidden.
    """
    print_plan(console, proposal.answer, lang, redact=redact, option="--fix", closes=False)
    _Sheet(console, proposal, lang, redact=redact).print()


class _Sheet(Canvas):
    def __init__(self, console: Console, proposal: Proposal, lang: str, *, redact: bool) -> None:
        super().__init__(console, lang)
        self._proposal = proposal
        self._hide = plan_redactor(proposal.answer, redact=redact)

    def print(self) -> None:
        proposal = self._proposal
        self.blank()
        self.line(Styled(self._words("head", name=proposal.container, id=proposal.id[:_SHORT_ID]), style="bold"), 2)
        state = "running" if proposal.serves else "failing" if proposal.runs else "stopped"
        self.line(Styled(self._words(f"state.{state}")), 4)
        if proposal.refused is not None:
            self._by_hand()
            return
        if (origin := proposal.inspection.compose) is not None:
            files = ", ".join(origin.config_files)
            self.line(Styled(self._words("through_compose", files=files, service=origin.service)), 4)
        if proposal.kept_image is not None:
            self.line(Styled(self._safe(proposal.kept_image.in_language(self.lang))), 4)
        self.line(Styled(self._words("down" if proposal.serves else "start", **start_words(proposal, self.lang))), 4)
        if proposal.answer.plan.files:
            paths = ", ".join(str(proposal.folder / file.path) for file in proposal.answer.plan.files)
            self.line(Styled(self._words("files", paths=paths)), 4)
        if lost := not_carried(proposal, self.lang):
            self.blank()
            self.line(Styled(self._words("not_carried"), style="underline" if self.console.is_terminal else ""), 2)
            for text in lost:
                self.line(Styled(self._safe(text)), 4, Styled(f"{self.glyphs.dot} "))
        if not proposal.through_compose and not proposal.removes_itself:
            self.blank()
            self.line(Styled(self._words("way_back", name=proposal.container), style="dim"), 2)

    def _by_hand(self) -> None:
        """What is to be typed where the container comes from."""
        plan = self._proposal.answer.plan
        if not plan.changes or plan.refused is not None:  # the plan shows them itself
            return
        self.blank()
        self.line(Styled(self._words("type_by_hand")), 2)
        for change in plan.changes:
            self.whole(Styled(self._safe(change_text(change, self.lang)), style="bold cyan"), 6)

    def _words(self, key: str, **values: Any) -> str:
        return self._safe(words(self.lang, key, **values))

    def _safe(self, text: str) -> str:
        return self._hide(printable(text))


def start_words(proposal: Proposal, lang: str) -> dict[str, str]:
    """How long the start takes, to be filled in."""
    start = proposal.start
    return {
        "low": duration(start.low).in_language(lang),
        "high": duration(start.high).in_language(lang),
        "source": words(lang, f"source.{start.source}"),
    }


def not_carried(proposal: Proposal, lang: str) -> list[str]:
    """What the new container does not have of the old one."""
    found = []
    if proposal.lost:
        paths = ", ".join(proposal.lost[:_SHOWN_PATHS])
        if (rest := len(proposal.lost) - _SHOWN_PATHS) > 0:
            paths = words(lang, "and_more", text=paths, count=rest)
        found.append(words(lang, "not_carried.files", count=len(proposal.lost), paths=paths))
    if proposal.through_compose:
        found.append(words(lang, "not_carried.compose"))
    elif proposal.removes_itself:
        found.append(words(lang, "not_carried.removes_itself"))
    return [*found, *(text.in_language(lang) for text in proposal.dependents)]


def as_proposal_data(proposal: Proposal, lang: str, *, redact: bool) -> dict[str, Any]:
    """The same as plain data, without what comes of it."""
    hide = plan_redactor(proposal.answer, redact=redact)
    start = proposal.start
    data = as_plan_data(proposal.answer, lang, redact=redact)
    return {
        "schema": 1,
        "container": {"name": proposal.container, "id": proposal.id, "runs": proposal.runs},
        "way": "compose" if proposal.through_compose else "container",
        "plan": data["plan"],
        "diagnoses": data["diagnoses"],
        "kept_image": hide(proposal.kept_image.in_language(lang)) if proposal.kept_image is not None else None,
        "start_seconds": {"low": round(start.low, 1), "high": round(start.high, 1), "source": start.source},
        "not_carried": [hide(text) for text in not_carried(proposal, lang)],
        "lost_paths": list(proposal.lost),
        "refused": hide(proposal.refused.in_language(lang)) if proposal.refused is not None else None,
    }
