"""What is said of an earlier launch before anybody goes back to it.

One that failed when it was the one will fail again, and is not waited for.
"""

from contextlib import suppress
from typing import TYPE_CHECKING

from sgdoctor.cli.relaunch_texts import words
from sgdoctor.containers.client import Client
from sgdoctor.containers.once import open_container
from sgdoctor.diagnosis.model import State
from sgdoctor.diagnosis.pipeline import diagnose
from sgdoctor.diagnosis.telling import telling
from sgdoctor.diagnosis.wording import summary_of
from sgdoctor.errors import UserError
from sgdoctor.logs.sources import LogSource, open_log
from sgdoctor.relaunch.model import Attempt, Ending, Way
from sgdoctor.relaunch.returning import Return
from sgdoctor.texts import Text

if TYPE_CHECKING:
    from sgdoctor.rules.base import RuleBase


def origin_words(planned: Return, lang: str) -> str:
    """Where the container of the launch comes from, as a sentence."""
    if planned.wanted.way is Way.COMPOSE:
        return words(lang, "rollback.compose")
    if planned.kept_elsewhere:
        return words(lang, "rollback.renamed", now=planned.kept_elsewhere)
    return words(lang, "rollback.kept" if planned.kept else "rollback.anew")


def failed_before(client: Client, attempt: Attempt, base: "RuleBase") -> Text | None:
    """How an earlier launch failed, as a sentence; None if it served, or nobody knows.

    Args:
        client: of the engine.
        attempt: the launch.
        base: the rules.

    Raises:
        UserError: the engine does not answer.
    """
    title: Text | None = None
    if attempt.ending is Ending.BACK and attempt.rule:
        title = attempt.reason
    elif attempt.container and client.inspect(attempt.container) is not None:
        with suppress(UserError), open_container(attempt.container, client.connections.endpoint) as log:
            title = _failure(log, base)
    elif attempt.last_log is not None:
        # Compose has removed its container.
        with suppress(UserError), open_log(attempt.last_log) as log:
            title = _failure(log, base)
    return None if title is None else Text(f"{title.en.rstrip(' .')}.", f"{title.zh.rstrip(' 。')}。")


def _failure(log: LogSource, base: "RuleBase") -> Text | None:
    """What it failed by; None if it did not fail."""
    verdict = telling(diagnose(log, base, all_attempts=True))
    if verdict is None or verdict.state is not State.FAILED:
        return None
    return summary_of(verdict)
