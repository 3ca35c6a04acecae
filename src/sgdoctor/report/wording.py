"""Small texts that the text and the Markdown report share."""

import shlex
from collections.abc import Sequence

from sgdoctor.diagnosis.model import Consequence, Verdict
from sgdoctor.diagnosis.wording import state_label
from sgdoctor.launch.change import Change
from sgdoctor.messages import MESSAGES, say
from sgdoctor.texts import Text

_SHOWN_CONSEQUENCES = 4
_TITLE_LENGTH = 60
_NO_COST = frozenset({"", "none", "nothing", "no cost"})

_PLAIN_KINDS = {
    "docker.shm_size": "--shm-size {value}",
    "docker.ipc": "--ipc {value}",
    "docker.gpus": "--gpus {value}",
    "docker.runtime": "--runtime {value}",
    "docker.ulimit": "--ulimit {name}={value}",
    "docker.port": "-p {value}",
    "docker.volume": "-v {value}",
    "docker.restart": "--restart {value}",
    "docker.user": "--user {value}",
    "docker.name": "--name {value}",
    "docker.memory": "--memory {value}",
}


def change_text(change: Change, lang: str, *, quote: bool = True) -> str:
    """A change as one would type it, where it can be typed; else in words.

    Args:
        change: which.
        lang: ``en`` or ``zh``.
        quote: whether values are quoted for a shell; not those that still have names in them.
    """
    name, value = change.name, change.value or ""
    typed = shlex.quote(value) if quote else value
    match change.kind:
        case "flag.set":
            return f"{name} {typed}" if value else name
        case "env.set":
            return f"{name}={typed}"
        case "package.pin":
            return f"pip install '{name}=={value}'" if value[:1].isdigit() else f"pip install '{name}{value}'"
        case "host.command" | "docker.command":
            return value
        case kind if kind in _PLAIN_KINDS:
            return _PLAIN_KINDS[kind].format(name=name, value=value)
    key = f"change.{change.kind}"
    if key in MESSAGES:
        return say(lang, key, name=name, value=value).strip()
    return " ".join(part for part in (change.kind, name, value) if part)


def consequences_text(consequences: Sequence[Consequence], lang: str) -> str:
    """What followed from a cause, in one line; empty if nothing did."""
    if not consequences:
        return ""
    shown = [
        say(lang, "report.consequence", title=_short(consequence.title.in_language(lang)), line=consequence.line)
        for consequence in consequences[:_SHOWN_CONSEQUENCES]
    ]
    rest = len(consequences) - len(shown)
    if rest:
        shown.append(say(lang, "report.and_more", count=rest))
    return say(lang, "report.consequences", list=("；" if lang == "zh" else "; ").join(shown))


def _short(title: str) -> str:
    title = title.replace("`", "").rstrip(" .。")
    return title if len(title) <= _TITLE_LENGTH else title[: _TITLE_LENGTH - 1].rstrip() + "…"


def cost_of(effect: Text, lang: str) -> str:
    """What a fix costs, in words; empty where it costs nothing."""
    return "" if effect.en.strip(" .").lower() in _NO_COST else effect.in_language(lang)


def last_line(verdict: Verdict, lang: str) -> tuple[str, str]:
    """The sentence that ends an answer: its beginning, which names the state, and the rest."""
    if verdict.closing is None:
        separator = "：" if lang == "zh" else ": "
        return state_label(verdict.state).in_language(lang) + separator, verdict.summary.in_language(lang)
    text = verdict.closing.in_language(lang)
    head, colon, rest = text.partition("：" if lang == "zh" else ": ")
    return (head + colon, rest) if colon else (text, "")


def version_text(verdict: Verdict, lang: str) -> str:
    """The version; one that was only narrowed down by what the log shows is called a guess."""
    version = verdict.version
    if not version or "version" in verdict.facts or not {"version_min", "version_max"} & verdict.facts.keys():
        return version
    low, dash, high = version.partition("-")
    if dash:
        version = say(lang, "report.version_range", low=low, high=high)
    elif version.startswith((">=", "<=")):
        key = "report.version_from" if version.startswith(">") else "report.version_to"
        version = say(lang, key, version=version[2:])
    return say(lang, "report.version_guess", version=version)


def heading_parts(verdict: Verdict, name: str, lang: str) -> list[str]:
    """What the answer is about: the log, the engine, the attempt."""
    parts = [name]
    if verdict.engine:
        parts.append(f"{verdict.engine} {version_text(verdict, lang)}".strip())
    if verdict.attempts > 1:
        parts.append(say(lang, "report.attempt", attempt=verdict.attempt, attempts=verdict.attempts))
    return parts
