"""What is wrong: one card for each diagnosis, the root cause first."""

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message

from sgdoctor.diagnosis.model import Notice, State, Verdict
from sgdoctor.messages import say
from sgdoctor.report.safe import printable
from sgdoctor.rules.model import Severity
from sgdoctor.tui.cure_words import say_cure
from sgdoctor.tui.drawing import BAD, BLANK, GOOD, MUTED, ODD, cut, plain, prose, styled, wrap
from sgdoctor.tui.panes.cards import SEVERITY_LOOK, card_lines, quote_lines
from sgdoctor.tui.panes.startup import ready_text
from sgdoctor.tui.view import PILLS, Pill, View, pill_of
from sgdoctor.tui.widgets import Drawing, Pane
from sgdoctor.tui.words import tell, tell_count
from sgdoctor.watching.model import AttemptSummary, Snapshot


class DiagnosisPane(Pane):
    """The cards; up and down select one of them."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.selected = 0
        self._view = View()

    def compose(self) -> ComposeResult:
        """What frames the cards; these come and go."""
        yield Answer(id="answer")
        yield Notices(id="notices")

    def show(self, view: View) -> None:
        """Draw a view: cards that stay are kept, so that nothing flickers while a log still grows."""
        before, self._view = self._view, view
        old = before.snapshot.verdict.attempt if before.snapshot is not None else 0
        new = view.snapshot.verdict.attempt if view.snapshot is not None else 0
        if old != new:
            self.selected = 0
        cards = list(self.query(Card))
        for card in cards[len(view.diagnoses) :]:
            card.remove()
        for number in range(len(cards), len(view.diagnoses)):
            self.mount(Card(number), before="#notices")
        self.selected = max(0, min(self.selected, len(view.diagnoses) - 1))
        for drawing in self.query(Drawing):
            drawing.show(view)
        self._mark()

    def select(self, number: int) -> bool:
        """Select a card; False if there is none of this number."""
        if not 0 <= number < len(self._view.diagnoses):
            return False
        self.selected = number
        self._mark()
        for card in self.query(Card):
            if card.number == number:
                self.scroll_to_widget(card, animate=False)
        return True

    def show_notices(self) -> None:
        """Bring the notices into sight, once they have the height of what they list."""
        self.call_after_refresh(self.scroll_to_widget, self.query_one(Notices), animate=False, top=True)

    def _mark(self) -> None:
        """The selected card is marked where there are several."""
        for card in self.query(Card):
            card.choose(chosen=card.number == self.selected and len(self._view.diagnoses) > 1)

    def action_line_down(self) -> None:
        """The card below, or down by a row where the card does not end on the screen."""
        if self._card_goes_on(1) or not self.select(self.selected + 1):
            self.scroll_down(animate=False)

    def action_line_up(self) -> None:
        """The card above, or up by a row."""
        if self._card_goes_on(-1) or not self.select(self.selected - 1):
            self.scroll_up(animate=False)

    def _card_goes_on(self, way: int) -> bool:
        for card in self.query(Card):
            if card.number == self.selected:
                region = card.virtual_region
                if way > 0:
                    return region.bottom > self.scroll_offset.y + self.scrollable_content_region.height
                return region.y < self.scroll_offset.y
        return False


class Answer(Drawing):
    """The answer where nothing is wrong, or where the cause is not known."""

    def part(self, view: View) -> tuple[object, ...]:
        """See ``Drawing``."""
        snapshot = view.snapshot
        told = (
            (
                snapshot.verdict.summary,
                snapshot.verdict.unexplained,
                snapshot.verdict.unknown,
                snapshot.verdict.would_decide,
                snapshot.ready_in,
                _failed_before(snapshot),
            )
            if snapshot is not None
            else ()
        )
        return (pill_of(snapshot), bool(view.diagnoses), view.unstarted, *told)

    def lines(self, width: int) -> list[Content]:
        """See ``answer_lines``."""
        return answer_lines(self.view, width)


class Card(Drawing):
    """One diagnosis.

    Attributes:
        number: its place among the diagnoses, from 0.
        chosen: whether it is marked as the selected one.
    """

    class Chosen(Message):
        """It was clicked."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.chosen = False

    def part(self, view: View) -> tuple[object, ...]:
        """See ``Drawing``."""
        return (*view.diagnoses[self.number : self.number + 1], view.forecast)

    def choose(self, *, chosen: bool) -> None:
        """Mark it, or not."""
        if chosen != self.chosen:
            self.chosen = chosen
            self.redraw()

    def lines(self, width: int) -> list[Content]:
        """See ``card_lines``."""
        if self.number >= len(self.view.diagnoses):
            return []
        lines = card_lines(self.view.diagnoses[self.number], self.view, width - 1, brief=self.number > 0)
        mark = styled("▌", "$primary") if self.chosen else Content(" ")
        return [*(mark + line for line in lines), BLANK]

    def on_click(self, event: events.Click) -> None:
        """Select it."""
        event.stop()
        self.post_message(self.Chosen(self.number))


class Notices(Drawing):
    """What looks alarming and is not, folded or listed."""

    def part(self, view: View) -> tuple[object, ...]:
        """See ``Drawing``."""
        return (view.benign, view.snapshot.verdict.notices if view.snapshot is not None else ())

    def lines(self, width: int) -> list[Content]:
        """See ``notice_lines``."""
        return notice_lines(self.view, width)


def answer_lines(view: View, width: int) -> list[Content]:
    """What is said where there is no card, or none that says why."""
    snapshot, lang = view.snapshot, view.lang
    kind = pill_of(snapshot)
    if snapshot is None or kind is Pill.WAITING:
        hint = say_cure(lang, "unstarted", key=view.key("preflight")) if view.unstarted else ""
        return [styled(tell(lang, "waiting"), MUTED), *(wrap(styled(hint), width) if hint else ())]
    verdict = snapshot.verdict
    if verdict.unexplained is not None:
        key = "report.unexplained" if verdict.state is State.UNDETERMINED else "report.unexplained_exception"
        lines = wrap(styled(say(lang, key), "bold"), width, first=styled("? ", f"bold {ODD}"))
        lines += quote_lines(verdict.unexplained, view, width, rows=4, context=True)
        return [*lines, *unknown_lines(verdict, view, width), *_would_decide(verdict, lang, width), BLANK]
    if view.diagnoses:
        # That it starts again and again is a card by then; why it does so is told by the start before.
        before = before_lines(snapshot, view, width) if kind is Pill.STARTING else []
        return [*before, BLANK] if before else []
    if kind is Pill.UNKNOWN:
        lines = wrap(prose(verdict.summary.in_language(lang), "bold"), width, first=styled("? ", f"bold {ODD}"))
        return [*lines, *_would_decide(verdict, lang, width), BLANK]
    symbol, colour = PILLS[kind]
    if kind in (Pill.READY, Pill.STARTING, Pill.STOPPED):
        key = "diagnosis.so_far" if kind is Pill.STARTING else "diagnosis.fine"
        lines = [Content.assemble(("✔ ", GOOD), (tell(lang, key), "bold"))]
    else:
        summary = prose(verdict.summary.in_language(lang), "bold")
        lines = wrap(summary, width, first=styled(f"{symbol} ", f"bold {colour}"))
    if snapshot.ready_in is not None:
        lines += [BLANK, *wrap(styled(ready_text(snapshot.ready_in, lang)), width, first=Content("  "))]
    if kind is Pill.STARTING:
        before = before_lines(snapshot, view, width)
        lines += [BLANK, *before] if before else []
    return [*lines, BLANK]


def before_lines(snapshot: Snapshot, view: View, width: int) -> list[Content]:
    """Why the start before this one failed: while a crash loop goes on, that is what one wants to know."""
    before = _failed_before(snapshot)
    if before is None:
        return []
    title = before.title.in_language(view.lang)
    text = prose(tell(view.lang, "diagnosis.before", number=before.number, title=title))
    lines = wrap(text, width, first=styled("✖ ", BAD))
    if key := view.key("attempt(-1)"):
        lines.append(Content.assemble("  ", (tell(view.lang, "diagnosis.before.key", key=key), MUTED)))
    return lines


def _failed_before(snapshot: Snapshot) -> AttemptSummary | None:
    """The start before this one, if it failed."""
    number = snapshot.verdict.attempt - 1
    failed = (State.FAILED, State.UNDETERMINED)
    return next((one for one in snapshot.attempts if one.number == number and one.state in failed), None)


def unknown_lines(verdict: Verdict, view: View, width: int) -> list[Content]:
    """What stands around a failure that no rule knows."""
    unknown, lang = verdict.unknown, view.lang
    if unknown is None:
        return []
    lines: list[Content] = []
    if unknown.unusual:
        lines += [BLANK, *wrap(styled(say(lang, "report.unusual"), "bold"), width, first=Content("  "))]
        digits = len(str(unknown.unusual[-1].line))
        for evidence in unknown.unusual:
            number = Content.assemble((f"    {evidence.line:>{digits}}", MUTED), (" │ ", MUTED))
            lines.append(cut(number + plain(view.hide(evidence.text)), width))
    if unknown.resembling:
        lines += [BLANK, *wrap(styled(say(lang, "report.resembling"), "bold"), width, first=Content("  "))]
        for each in unknown.resembling:
            title = prose(each.title.in_language(lang))
            lines += wrap(title, width, first=Content.assemble((f"    {each.rule} ", MUTED)))
    return lines


def _would_decide(verdict: Verdict, lang: str, width: int) -> list[Content]:
    if verdict.would_decide is None:
        return []
    return [BLANK, *wrap(prose(verdict.would_decide.in_language(lang), MUTED), width, first=Content("  "))]


def notice_lines(view: View, width: int) -> list[Content]:
    """The notices of the start that is shown: counted, or one by one."""
    if view.snapshot is None:
        return []
    lang, key = view.lang, view.key("benign")
    notices = view.snapshot.verdict.notices
    harmless = [notice for notice in notices if notice.severity is Severity.BENIGN]
    notes = [notice for notice in notices if notice.severity is not Severity.BENIGN]
    lines: list[Content] = []
    for kind, group in (("harmless", harmless), ("notes", notes)):
        if not group:
            continue
        if not view.benign:
            lines += wrap(styled(tell_count(lang, f"diagnosis.{kind}", len(group), key=key), MUTED), width)
            continue
        title = "report.notices_title" if kind == "harmless" else "report.notes_title"
        lines += [styled(say(lang, title), "bold underline")]
        for notice in group:
            lines += _notice(notice, view, width)
        lines.append(BLANK)
    return lines


def _notice(notice: Notice, view: View, width: int) -> list[Content]:
    lang = view.lang
    title = printable(notice.title.in_language(lang))
    if notice.occurrences > 1:
        title = say(lang, "report.times", title=title, count=notice.occurrences)
    symbol, colour = SEVERITY_LOOK[notice.severity]
    place = styled(f"{notice.rule} · {say(lang, 'report.line', line=notice.line)}", MUTED)
    lines = wrap(prose(title), width, first=styled(f"{symbol} ", colour))
    lines += wrap(prose(notice.cause.in_language(lang), MUTED), width, first=Content("  "))
    return [*lines, cut(Content.assemble("  ", place), width)]
