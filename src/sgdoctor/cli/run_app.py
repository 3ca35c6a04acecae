"""A process followed in the app."""

import importlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from sgdoctor.cli.diagnose import exit_code
from sgdoctor.cli.run_keeper import Keeper
from sgdoctor.config import load_config, load_remembered, save_remembered
from sgdoctor.interrupts import on_ctrl_c
from sgdoctor.watching.activity import Attentive
from sgdoctor.watching.cards import cards_of
from sgdoctor.watching.model import Lines, Snapshot
from sgdoctor.watching.session import Session

if TYPE_CHECKING:
    from sgdoctor.rules.base import RuleBase

_ATTEND_EVERY: Final = 0.2


def follow_in_app(session: Session, keeper: Keeper, base: "RuleBase", lang: str, *, redact: bool) -> None:
    """Returns once the server has ended: the user who leaves the app stops it.

    Raises:
        Exception: what went wrong in the app, or with the session.
    """
    app = importlib.import_module("sgdoctor.tui.app")
    config = load_config()
    options = importlib.import_module("sgdoctor.tui.ports").Options(
        lang=lang,
        config=config,
        remembered=load_remembered(),
        base=base,
        redact=redact,
        exit_code=exit_code,
        reports=config.reports,
        remember=save_remembered,
    )
    shown = _Shown(session)
    ended = threading.Event()

    def attend() -> None:
        while not ended.wait(_ATTEND_EVERY):
            if (snapshot := session.snapshot()) is not None:
                keeper.attend(snapshot)

    attending = threading.Thread(target=attend, name="sgdoctor-attend", daemon=True)
    attending.start()
    try:
        app.run_app(shown, Attentive(cards_of(None, str), session, str, None), options)
        with on_ctrl_c(keeper.interrupted):
            if not session.over:
                keeper.interrupted()
            while not session.over and shown.failure is None:
                ended.wait(_ATTEND_EVERY)
    finally:
        ended.set()
        attending.join()
        session.stop()
    if shown.failure is not None:
        raise shown.failure


class _Shown:
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
