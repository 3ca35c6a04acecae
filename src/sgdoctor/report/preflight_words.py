"""Small texts that all reports of a preflight share."""

from collections.abc import Iterable

from sgdoctor.diagnosis.wording import duration, phase_label
from sgdoctor.engines.base import PhaseName
from sgdoctor.messages import say
from sgdoctor.preflight.answer import Preflight
from sgdoctor.preflight.model import Situation, Status
from sgdoctor.preflight.predicted import Foreseen
from sgdoctor.redaction import Redactor, redactor, unredacted
from sgdoctor.report.plan_redact import plan_redactor


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
    elif counts["warns"]:
        text = say(lang, "preflight.closing.warns", **counts)
    else:
        text = say(lang, "preflight.closing.fine" if answer.target else "preflight.closing.host_fine")
    if counts["skipped"]:
        text += say(lang, "preflight.closing.skipped", **counts)
    return text


def sees_engine(answer: Preflight) -> bool:
    """Whether the launch shows the command that starts the engine."""
    launch = answer.situation.launch
    return launch is not None and bool(launch.argv)
