"""``sgdoctor preflight --deep``: asks, then lets a throw-away container prove what it gets."""

import argparse
import sys
from typing import TYPE_CHECKING

from sgdoctor.messages import say

if TYPE_CHECKING:
    from sgdoctor.targets import Target


def probed(target: "Target | None", arguments: argparse.Namespace, lang: str, answers: dict[str, str]) -> str | None:
    """Fills ``answers`` with what the container says.

    Returns:
        Why none may be started; None if one was, or the user does not want it.

    Raises:
        UserError: Docker does not answer.
    """
    from sgdoctor.cli.diagnose import rule_base_of
    from sgdoctor.containers.client import Client
    from sgdoctor.containers.endpoint import find_endpoint
    from sgdoctor.preflight.deep import probe

    launch = target.document.launch if target is not None and target.document is not None else None
    if launch is None or not launch.image:
        return say(lang, "preflight.deep_no_image")
    if not arguments.yes:
        if not sys.stdin.isatty():
            return say(lang, "preflight.deep_refused")
        sys.stderr.write(say(lang, "preflight.deep_question", image=launch.image))
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes", "是"):
            return None
    with Client(find_endpoint()) as client:
        answers |= probe(client, launch, rule_base_of([]))
    return None
