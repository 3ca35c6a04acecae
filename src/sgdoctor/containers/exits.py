"""How a start ended, in the words that a shell, compose and ``docker run`` use, so that rules read them.

The lines are never mixed into the output of an engine: they are put behind it when it is read for a diagnosis, with
a prefix in the form of compose, which is taken off again and shows in every quotation who speaks.
"""

import re
from typing import Final

from sgdoctor.containers.records import ExitFacts

PREFIX: Final = b"sgdoctor  | "
_UNFIT: Final = re.compile(r"[^\w.@-]")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]+")


def exit_lines(name: str, facts: ExitFacts) -> bytes:
    """The end of a start as lines of a log; empty when nothing is known about it.

    Args:
        name: of the container.
        facts: how it ended.
    """
    said = []
    if facts.error:
        # What `docker run` and `docker start` print; the container keeps it as State.Error.
        said.append(f"docker: Error response from daemon: {_CONTROL.sub(' ', facts.error).strip()}")
    code = facts.exit_code
    if facts.oom_killed and code:
        # With 0 the main process outlived a child that was killed, or was asked to stop.
        said.append("OOMKilled: true")
    if code is not None and facts.started is not None:
        again = " (restarting)" if facts.restarting else ""
        said.append(f"{_UNFIT.sub('-', name)[:128] or 'container'} exited with code {code}{again}")
    return b"".join(PREFIX + line.encode() + b"\n" for line in said)
