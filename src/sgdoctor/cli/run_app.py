"""A process followed in the app."""

import importlib
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from sgdoctor.cli.diagnose import exit_code
from sgdoctor.cli.run_doctor import ProcessDoctor
from sgdoctor.cli.run_owner import Owner
from sgdoctor.config import load_config, load_remembered, save_remembered
from sgdoctor.interrupts import on_ctrl_c
from sgdoctor.watching.activity import Attentive
from sgdoctor.watching.cards import cards_of
from sgdoctor.watching.model import Lines, Snapshot
from sgdoctor.watching.session import Session

if TYPE_CHECKING:
    from sgdoctor.rules.base import RuleBase

_LOOK_EVERY: Final = 0.1


def follow_in_app(
    owner: Owner, base: "RuleBase", lang: str, *, redact: bool, asked: str = "", goes_on: bool = False
) -> None:
    """Returns once the server has ended: the user who leaves the app stops it.

    Args:
        owner: of the server.
        base: the rules.
        lang: ``en`` or ``zh``, where neither the settings nor the app know better.
        redact: whether secrets are hidden.
        asked: the language that an option names, which counts more than those; empty without it.
        goes_on: whether a start that has failed is followed by the next one, without anybody being asked.

    Raises:
        Exception: what went wrong in the app, or with the session.
    """
    app = importlib.import_module("sgdoctor.tui.app")
    config = load_config().in_language(asked)
    options = importlib.import_module("sgdoctor.tui.ports").Options(
        lang=lang,
        config=config,
        remembered=load_remembered(),
        base=base,
        redact=redact,
        exit_code=exit_code,
        reports=config.reports,
        remember=save_remembered,
        doctor=ProcessDoctor(owner, redact=redact),
        over=(lambda: owner.server.current.failed) if goes_on else None,
    )
    session = owner.session
    shown = Shown(session)
    with owner.attended():
        # Whoever has pressed Ctrl-C meanwhile wants no app.
        if not owner.server.current.keeper.asked:
            app.run_app(shown, Attentive(cards_of(None, str), session, str, None), options)
        else:
            shown.start(lambda _: None, lambda _: None)
        see_out(owner, shown)
    if shown.failure is not None:
        raise shown.failure


def see_out(owner: Owner, shown: "Shown") -> None:
    """The app is left: the server is stopped as by Ctrl-C, and waited for."""
    owner.leave()
    keeper, feed = owner.server.current.keeper, owner.server.current.feed
    with on_ctrl_c(keeper.interrupted):
        if not feed.over:
            keeper.leave()
        while not (feed.over and owner.session.over) and shown.failure is None:
            time.sleep(_LOOK_EVERY)


class Shown:
    """The session as the app sees it; when the app is left, the server and the session go on to their end.

    Attributes:
        failure: why the session cannot go on; None if it can.
    """

    def __init__(self, session: Session) -> None:
        self.failure: Exception | None = None
        self._session = session
        self._on_snapshot: Callable[[Snapshot], None] | None = None
        self._lock = threading.Lock()

    @property
    def gpu_name(self) -> str:
        """As of the session."""
        return self._session.gpu_name

    @gpu_name.setter
    def gpu_name(self, name: str) -> None:
        self._session.gpu_name = name

    @property
    def lines(self) -> Lines:
        """As of the session."""
        return self._session.lines

    def start(self, on_snapshot: Callable[[Snapshot], None], on_failure: Callable[[Exception], None]) -> None:
        """See ``tui.ports.Session``."""
        self._on_snapshot = on_snapshot

        def take(snapshot: Snapshot) -> None:
            with self._lock:
                if self._on_snapshot is not None:
                    self._on_snapshot(snapshot)

        def fail(failure: Exception) -> None:
            self.failure = failure
            on_failure(failure)

        self._session.start(take, fail)

    def note_activity(self) -> None:
        """As of the session."""
        self._session.note_activity()

    def step_back(self, seconds: float) -> None:
        """As of the session."""
        self._session.step_back(seconds)

    def show_attempt(self, number: int | None) -> None:
        """As of the session."""
        self._session.show_attempt(number)

    def stop(self) -> None:
        """Tell the app nothing more."""
        with self._lock:
            self._on_snapshot = None
