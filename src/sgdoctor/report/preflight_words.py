"""Small texts that all reports of a preflight share."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from sgdoctor.diagnosis.wording import duration, phase_label
from sgdoctor.engines.base import PhaseName
from sgdoctor.messages import say
from sgdoctor.preflight.answer import Preflight
from sgdoctor.preflight.elsewhere import NOT_LOOKED_AT
from sgdoctor.preflight.model import Area, Check, Finding, Situation, Status
from sgdoctor.preflight.predicted import Foreseen
from sgdoctor.redaction import Redactor, redactor, unredacted
from sgdoctor.report.plan_redact import plan_redactor
from sgdoctor.report.shortening import first_of_each
from sgdoctor.texts import Text, listed


def redactor_of(answer: Preflight, *, redact: bool) -> Redactor:
    """Hides the secrets of a launch in whatever comes from it."""
    if not redact:
        return unredacted
    return redactor(()) if answer.fix is None else plan_redactor(answer.fix, redact=True)


def heading_of(answer: Preflight, lang: str) -> list[str]:
    """What was checked: the target, its kind, the engine, the cards."""
    situation = answer.situation
    parts = [answer.target or say(lang, "preflight.host_alone")]
    if situation.document is not None:
        parts.append(say(lang, f"fix.origin.{situation.document.launch.origin.value}"))
    if situation.launch is not None and situation.version:
        parts.append(f"{situation.launch.engine} {situation.version}")
    parts += _cards(situation)
    return parts


def _cards(situation: Situation) -> Iterable[str]:
    names: dict[str, int] = {}
    for card in situation.host.cards:
        names[card.name] = names.get(card.name, 0) + 1
    return (f"{count} x {name}" if count > 1 else name for name, count in names.items())


def seconds_text(one: Foreseen, lang: str) -> str:
    """After how long; empty where that is not known."""
    if one.seconds is None:
        return ""
    low, high = (duration(round(seconds)) for seconds in one.seconds)
    if one.phase is PhaseName.DOCKER:
        return say(lang, "preflight.at_once")
    return say(lang, "preflight.after", low=low.in_language(lang), high=high.in_language(lang))


def phase_text(phase: str | None, lang: str) -> str:
    """What a phase is called; empty without one."""
    return phase_label(PhaseName(phase)).in_language(lang) if phase in set(PhaseName) else ""


def closing_line(answer: Preflight, lang: str) -> str:
    """The verdict, one sentence."""
    counts = {
        "fails": answer.count(Status.FAIL),
        "warns": answer.count(Status.WARN),
        "skipped": answer.count(Status.SKIPPED),
    }
    if counts["fails"]:
        finding = answer.course[0].finding if answer.course else answer.silent[0]
        key = "preflight.closing.fails" if answer.course else "preflight.closing.wrong"
        text = say(lang, key, title=finding.title.in_language(lang).rstrip(".。"), **counts)
    elif answer.target and not sees_engine(answer):
        text = say(lang, "preflight.closing.unseen", **counts)
    elif answer.target and answer.unchecked:
        return say(lang, "preflight.closing.unchecked", what=_unchecked_text(answer, lang), **counts)
    elif counts["warns"]:
        text = say(lang, "preflight.closing.warns", **counts)
    else:
        text = say(lang, "preflight.closing.fine" if answer.target else "preflight.closing.host_fine")
    if counts["skipped"]:
        text += say(lang, "preflight.closing.skipped", **counts)
    return text


def _unchecked_text(answer: Preflight, lang: str) -> str:
    """What was not checked: what matters by name, everything else as a number."""
    areas = answer.unchecked
    names = [say(lang, f"preflight.unchecked.{area.value}") for area in areas]
    rest = sum(
        finding.status is Status.SKIPPED
        for checked in answer.checked
        if checked.check.area not in areas
        for finding in checked.findings
    )
    if rest:
        names.append(say(lang, "preflight.unchecked.more", count=rest))
    return listed(names).in_language(lang)


def rows_by_area(answer: Preflight) -> Iterator[tuple[Area, list[tuple[Text, Finding]]]]:
    """The findings as people read them, with the titles of their checks.

    What was not looked at because the card is of another machine has one reason and takes one row, where the first of
    them would stand.
    """
    skipped = [
        (checked.check, finding) for checked in answer.checked for finding in checked.findings if _is_elsewhere(finding)
    ]
    folded = len(skipped) > 1
    for area, group in groupby(answer.checked, key=lambda one: one.check.area):
        rows = [
            (checked.check.title, finding)
            for checked in group
            for finding in checked.findings
            if not (folded and _is_elsewhere(finding))
        ]
        if folded and area is skipped[0][0].area:
            rows.append(_folded([check for check, _ in skipped]))
        if rows:
            yield area, rows


def shown_rows(rows: Iterable[tuple[Text, Finding]]) -> tuple[list[tuple[Text, Finding]], int]:
    """The first rows of each check and rule, and how many are left out."""
    return first_of_each(rows, lambda row: (row[0], row[1].status, row[1].prevents))


def _is_elsewhere(finding: Finding) -> bool:
    return finding.status is Status.SKIPPED and finding.title == NOT_LOOKED_AT


def _folded(checks: Iterable[Check]) -> tuple[Text, Finding]:
    titles = tuple(dict.fromkeys(check.title for check in checks))
    english, chinese = listed(title.en for title in titles).en, listed(title.zh for title in titles).zh
    title = Text(f"{english} (the card is of another machine)", f"{chinese}（显卡属于另一台机器）")
    return Text("Not looked at", "未检查"), Finding(Status.SKIPPED, title)


def sees_engine(answer: Preflight) -> bool:
    """Whether the launch shows the command that starts the engine."""
    launch = answer.situation.launch
    return launch is not None and bool(launch.argv)
