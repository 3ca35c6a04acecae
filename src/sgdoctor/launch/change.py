"""One typed edit of a launch."""

from typing import Final, NamedTuple

KINDS: Final = frozenset(
    {
        "flag.set",  # give an engine flag this value (value None: a switch without a value)
        "flag.unset",  # leave an engine flag out
        "flag.raise",  # move a number up; how far is not known from here
        "flag.lower",  # move a number down; how far is not known from here
        "env.set",
        "env.unset",
        "docker.shm_size",
        "docker.ipc",
        "docker.gpus",
        "docker.runtime",
        "docker.ulimit",
        "docker.port",
        "docker.volume",
        "docker.restart",
        "docker.user",
        "docker.name",
        "docker.memory",
        "docker.command",
        "image.tag",
        "file.edit",  # a file of the user: shown, never done by itself
        "file.mount",
        "host.command",  # something to run on the host: shown, never run
        "package.pin",  # a Python package of the image at another version
        "client.request",  # what the caller of the API has to change
        "wait",
    }
)


class Change(NamedTuple):
    """One edit.

    Attributes:
        kind: one of ``KINDS``; or ``text.repair``, which no rule gives: write the text with plain characters.
        name: what is edited: a flag with its dashes, a variable, a file, a package; empty where the kind says it all.
        value: the new value as it would be typed; None where there is none.
    """

    kind: str
    name: str = ""
    value: str | None = None
