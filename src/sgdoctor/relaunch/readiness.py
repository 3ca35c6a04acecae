"""When a server that was started serves: by its own word, and by an answer to a request."""

import re
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.spool import Spool
from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.diagnosis.wording import duration, phase_label
from sgdoctor.launch.inspection.reading import mapping, words
from sgdoctor.relaunch import texts
from sgdoctor.relaunch.address import server_address
from sgdoctor.relaunch.model import NotReady, Ready
from sgdoctor.relaunch.own_check import own_complaint
from sgdoctor.rules.base import RuleBase
from sgdoctor.texts import Text
from sgdoctor.watching.container_feed import ContainerFeed
from sgdoctor.watching.history import History
from sgdoctor.watching.model import AttemptSummary, Snapshot, StageState
from sgdoctor.watching.session import Session

Probe = Callable[[str], Text | None]
"""Asks a server, given the base of its URLs; says what is wrong, or None."""

# After a failure the engine may wait for core dumps ("Waiting 60.0 seconds for CUDA coredumps", SGLang 0.5.15).
_FAILED_SECONDS: Final = 90.0
# Behind the silence that the diagnosis calls a stall, minutes by itself.
_STALLED_SECONDS: Final = 300.0
_HEALTH_SECONDS: Final = 60.0
_REACH_SECONDS: Final = 10.0
_ANSWER_SECONDS: Final = 20.0
_SETTLED_SECONDS: Final = 1.0
_MUTE_SECONDS: Final = 1.0
_END_SECONDS: Final = 10.0
_POLL: Final = 0.1
_NANO: Final = 1e-9
_ROUNDING: Final = 0.01
_PORT_ASKED: Final = re.compile(r"--port[= ]+(\d{1,5})\b")
_PORT: Final = 30000  # of SGLang where no port is given
_OK: Final = 200


class EngineReadiness:
    """Follows the start of an engine in a container, and asks it for its health.

    It gives up only when the engine has failed, has ended or stands still, or when the user's time is over.

    Args:
        endpoint: the container engine.
        base: the rules.
        limit: seconds; None waits as long as there is progress.
        probe: one more question to a server that says it is healthy.
        history: of earlier starts; None to know and learn nothing.
        root: stands for the state folder of sgdoctor.
        failed: seconds that an engine which has failed is given to end by itself, so that its log is whole.
        health: seconds that an engine which says it is ready is given to say so on request, too.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        base: RuleBase,
        *,
        limit: float | None = None,
        probe: Probe | None = None,
        history: History | None = None,
        root: Path | None = None,
        failed: float = _FAILED_SECONDS,
        health: float = _HEALTH_SECONDS,
    ) -> None:
        self._endpoint = endpoint
        self._base = base
        self._limit = limit
        self._probe = probe
        self._history = history
        self._root = root
        self._failed = failed
        self._health = health
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """See ``Readiness.cancel``."""
        self._cancelled.set()

    def wait(self, container: str, on_note: Callable[[Text], None]) -> Ready | NotReady:
        """See ``Readiness.wait``."""
        with Client(self._endpoint) as client:
            look = client.inspect(container)
            if look is None:
                return NotReady(texts.NEW_GONE)
            session = Session(
                ContainerFeed(self._endpoint, container, spool=Spool(self._root)), self._base, self._history
            )
            # A container that ran before has older starts in its log.
            since = look.started if look.facts.finished is not None else None
            start = _Start(session, None if since is None else since * _NANO)
            try:
                return self._follow(start, on_note, client, container) or self._ask(client, container, start)
            finally:
                session.stop()

    def _follow(
        self, start: "_Start", on_note: Callable[[Text], None], client: Client, container: str
    ) -> NotReady | None:
        """Wait for the engine's own word, of one without a readable log for its health; None once it is ready."""
        began = asked = time.monotonic()
        state, since, told = State.STARTING, began, ""
        while not self._cancelled.is_set():
            start.pause()
            snapshot, now = start.newest(), time.monotonic()
            if start.failure is not None:
                return NotReady(Text(str(start.failure), str(start.failure)))
            if start.over:
                return start.ending()
            if snapshot is not None:
                if (failed := start.failed_before(snapshot)) is not None:
                    return failed
                if snapshot.serves:
                    return None
                if snapshot.verdict.state is not state:
                    state, since = snapshot.verdict.state, now
                standing = standing_of(snapshot)
                if standing is not None and standing.en != told:
                    told = standing.en
                    on_note(standing)
            if (snapshot is None or not snapshot.lines) and now - asked > _MUTE_SECONDS:
                if self._answers(client, container):
                    return None
                asked = time.monotonic()
            if state is State.FAILED and now - since > self._failed:
                return start.ending()
            if state is State.STALLED and now - since > _STALLED_SECONDS:
                return start.ending()
            if self._limit is not None and now - began > self._limit:
                return NotReady(texts.not_in_time(self._limit), start.verdict)
        return NotReady(texts.STOPPED_BY_USER)

    def _answers(self, client: Client, container: str) -> bool:
        """Whether a server whose log says nothing is healthy by its own answer."""
        address = self._address(client, container, None)
        return bool(address) and _ask_health(address)[0] is None

    def _address(self, client: Client, container: str, port: int | None) -> str:
        """Base of the server's URLs, by the port of its command if its log does not tell; empty if out of reach."""
        data = client.container_data(container)
        if data is None:
            return ""
        if port is None:
            config = mapping(data.get("Config"))
            command = " ".join((*words(config.get("Entrypoint")), *words(config.get("Cmd"))))
            asked = _PORT_ASKED.findall(command)
            port = int(asked[-1]) if asked else _PORT
        return server_address(data, self._endpoint, port)

    def _ask(self, client: Client, container: str, start: "_Start") -> Ready | NotReady:
        """Whether a server that says it is ready answers, and lives on."""
        address = self._address(client, container, start.port)
        wrong: Text | None = None
        note: Text | None = None if address else texts.NO_ADDRESS
        if address:
            wrong, note = self._healthy(address, lambda: _lives(client, container))
            if wrong is None and note is None and self._probe is not None:
                wrong = self._probe(address)
        self._cancelled.wait(_SETTLED_SECONDS)
        if self._cancelled.is_set():
            return NotReady(texts.STOPPED_BY_USER)
        if not _lives(client, container):
            return start.last_words()
        if wrong is not None:
            return NotReady(wrong, start.verdict)
        return Ready(address, note, complaint=own_complaint(client, container, self._cancelled.wait))

    def _healthy(self, address: str, lives: Callable[[], bool]) -> tuple[Text | None, Text | None]:
        """What is wrong with a server, and what else is to be said; nobody there is no proof that it is ill."""
        began = time.monotonic()
        while True:
            wrong, reached = _ask_health(address)
            if wrong is None:
                return None, None
            limit = self._health if reached else min(self._health, _REACH_SECONDS)
            if time.monotonic() > began + limit or self._cancelled.is_set() or not lives():
                return (wrong, None) if reached else (None, wrong)
            self._cancelled.wait(_POLL)


class _Start:
    """The start of the server, as a session sees it.

    Args:
        session: not begun yet.
        since: when the start began, in seconds since the epoch; None if the log holds no other.

    Attributes:
        failure: why the session cannot go on.
    """

    def __init__(self, session: Session, since: float | None) -> None:
        self.failure: Exception | None = None
        self._session = session
        self._since = since
        self._failed: dict[int, Verdict] = {}
        self._changed = threading.Event()
        session.start(self._take, self._fail)

    @property
    def over(self) -> bool:
        """Whether the server has ended and all is known about it."""
        return self._session.over

    @property
    def verdict(self) -> Verdict | None:
        """The newest one."""
        snapshot = self.newest()
        return None if snapshot is None else snapshot.verdict

    @property
    def port(self) -> int | None:
        """On which the server listens; None if its log does not tell."""
        fact = self.verdict.facts.get("port") if self.verdict is not None else None
        return fact.value if fact is not None and isinstance(fact.value, int) else None

    def newest(self) -> Snapshot | None:
        """The newest moment of this start; None before there is one."""
        snapshot = self._session.snapshot()
        if snapshot is None or self._since is None:
            return snapshot
        return snapshot if snapshot.attempts and self._is_awaited(snapshot.attempts[-1]) else None

    def failed_before(self, snapshot: Snapshot) -> NotReady | None:
        """Why a start that a restart policy repeated did not serve, however the next one does; None without one.

        Args:
            snapshot: the newest.
        """
        if snapshot.verdict.state is State.FAILED:
            self._failed[snapshot.verdict.attempt] = snapshot.verdict
        for attempt in snapshot.attempts[:-1]:
            if attempt.state is State.FAILED and self._is_awaited(attempt):
                return NotReady(attempt.title, self._failed.get(attempt.number))
        return None

    def _is_awaited(self, attempt: AttemptSummary) -> bool:
        if self._since is None:
            return True
        # Times of a log without a time zone may be off; the container engine's own are not.
        return attempt.started is not None and attempt.started > self._since - _ROUNDING

    def pause(self) -> None:
        """Wait for something new, not for long."""
        self._changed.wait(_POLL)
        self._changed.clear()

    def ending(self) -> NotReady:
        """Why it does not serve."""
        verdict = self.verdict
        if verdict is None:
            return NotReady(texts.ENDED)
        if verdict.state is State.FAILED and verdict.diagnoses:
            return NotReady(verdict.diagnoses[0].title, verdict)
        return NotReady(verdict.summary if verdict.state is not State.HEALTHY else texts.ENDED, verdict)

    def last_words(self) -> NotReady:
        """As ``ending``, for a server that has just ended: its last lines are on their way."""
        limit = time.monotonic() + _END_SECONDS
        while not self.over and time.monotonic() < limit:
            self.pause()
        answer = self.ending()
        return NotReady(texts.died_at_once(answer.reason), answer.verdict)

    def _take(self, _: Snapshot) -> None:
        self._changed.set()

    def _fail(self, error: Exception) -> None:
        self.failure = error
        self._changed.set()


def _lives(client: Client, container: str) -> bool:
    look = client.inspect(container)
    return look is not None and look.running


def standing_of(snapshot: Snapshot) -> Text | None:
    """What a start is doing, in words that stay the same for the length of a phase; None if that cannot be said yet."""
    if not snapshot.lines:
        return None
    if snapshot.verdict.state is not State.STARTING:
        return snapshot.verdict.summary
    stage = next((one for one in snapshot.stages if one.state is StageState.RUNNING), None)
    if stage is None:
        return None
    label = phase_label(stage.name)
    if stage.usual is None:
        return label
    low, high = map(duration, stage.usual)
    return Text(f"{label.en} (usually {low.en} to {high.en})", f"{label.zh}（通常 {low.zh}到 {high.zh}）")


def _ask_health(address: str) -> tuple[Text | None, bool]:
    """What is wrong with a server by its own answer, and whether it gave one or at least took the question."""
    parts = urlsplit(address)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=_ANSWER_SECONDS)
    try:
        connection.connect()
        connection.request("GET", "/health")
        status = connection.getresponse().status
    except TimeoutError:
        return texts.no_answer(address), connection.sock is not None
    except (OSError, HTTPException) as error:
        return texts.not_reached(address, str(error) or type(error).__name__), False
    finally:
        connection.close()
    return (None if status == _OK else texts.unhealthy(address, status)), True
