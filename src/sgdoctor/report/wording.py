"""Small texts that the text and the Markdown report share."""

import shlex
from collections.abc import Sequence

from sgdoctor.diagnosis.model import Consequence, Verdict
from sgdoctor.launch.change import Change
from sgdoctor.messages import MESSAGES, say

_SHOWN_CONSEQUENCES = 4

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
        say(lang, "report.consequence", rule=consequence.rule, line=consequence.line)
        for consequence in consequences[:_SHOWN_CONSEQUENCES]
    ]
    rest = len(consequences) - len(shown)
    if rest:
        shown.append(say(lang, "report.and_more", count=rest))
    return say(lang, "report.consequences", list=("、" if lang == "zh" else ", ").join(shown))


def heading_parts(verdict: Verdict, name: str, lang: str) -> list[str]:
    """What the answer is about: the log, the engine, the attempt."""
    parts = [name]
    if verdict.engine:
        parts.append(f"{verdict.engine} {verdict.version}".strip())
    if verdict.attempts > 1:
        parts.append(say(lang, "report.attempt", attempt=verdict.attempt, attempts=verdict.attempts))
    return parts
