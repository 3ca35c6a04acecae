"""Watches one server: takes what its feed gives, judges it, and says how things stand."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.diagnosis.verdict import LiveClock
from sgdoctor.engines.base import PhaseName
from sgdoctor.rules.base import RuleBase
from sgdoctor.texts import Text
from sgdoctor.watching.feeds import PIECE, Anew, Arrival, Begun, Feed, Output, Standing
from sgdoctor.watching.history import History, Key
from sgdoctor.watching.live import Live
from sgdoctor.watching.load import LoadMeter
from sgdoctor.watching.model import AttemptSummary, Lines, Link, Load, Snapshot, Stage, Subject
from sgdoctor.watching.stages import Band, Now, ready_in, stages_of
from sgdoctor.watching.store import LineStore

_SNAPSHOT_EVERY: Final = 0.05
_JUDGE_EVERY: Final = 0.15
# Of the time of this thread, judging takes a quarter at most.
_JUDGE_SHARE: Final = 4.0
_QUIET: Final = 1.0
_TICK: Final = 1.0
_NAP: Final = 0.1
"""How long a wish of the user may go unheard."""
_CLOCK_LOOK: Final = 5.0
_STEP_BACK: Final = 0.005
# Whoever keeps a key pressed does not keep the log from being read: at least a third of the time is for it.
_MOST_BACK: Final = 0.2
_FORWARD: Final = 0.1
_MAX_UNFINISHED: Final = 8 << 20
_GOING: Final = frozenset({State.STARTING, State.STALLED})


class Session:
    """Watches one server in a thread of its own.

    Args:
        feed: gives the log; closed by ``stop``.
        base: the rules.
        history: of earlier starts on this machine; None to know and to learn nothing.
        redact: whether secrets among the values in texts of rules are hidden.

    Attributes:
        gpu_name: name of the card that the server runs on, for the history; empty if unknown.
        over: whether nothing more comes unless a person does something, and the last snapshot tells it all.
    """

    def __init__(self, feed: Feed, base: RuleBase, history: History | None = None, *, redact: bool = True) -> None:
        self.gpu_name = ""
        self.over = False
        self._feed = feed
        self._history = history
        self._store = LineStore()
        self._live = Live(base, self._store, redact=redact)
        self._meter = LoadMeter()
        self._tail = b""
        self._link = Link.WAITING
        self._note = Text("", "")
        self._ending = False
        self._shown: int | None = None
        self._steps_back_until = 0.0
        self._stepped_back = 0.0
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        self._snapshot: Snapshot | None = None
        self._verdict: Verdict | None = None
        self._attempts: tuple[AttemptSummary, ...] = ()
        self._began = time.monotonic()
        self._last_output = self._began
        """When the newest line was written, as far as the feed knows."""
        self._arrived = self._began
        self._last_activity = 0.0
        self._dirty = False
        self._settled = True
        self._judged = 0.0
        self._judge_pause = _JUDGE_EVERY
        self._phase: tuple[int, PhaseName | None] = (0, None)
        self._phase_began = self._began
        self._learned = 0
        self._bands_for: Key | None = None
        self._bands: Mapping[str, Band | None] = {}
        self._ahead: float | None = None
        """The clock of the log less that of this machine, in seconds, for the newest start."""

    # ------------------------------------------------------------ for other threads

    @property
    def lines(self) -> Lines:
        """All lines so far."""
        return self._store

    def snapshot(self) -> Snapshot | None:
        """The newest moment; None before the first one."""
        return self._snapshot

    def judged(self) -> Verdict | None:
        """The verdict on the newest start, whichever one is shown; a new object each time that it was judged."""
        return self._verdict

    def start(
        self, on_snapshot: Callable[[Snapshot], None], on_failure: Callable[[Exception], None] | None = None
    ) -> None:
        """Begin to watch.

        Args:
            on_snapshot: called from the thread of the session with each new moment, at most 20 times a second.
            on_failure: called once if the session cannot go on; the last snapshot stays true.
        """
        self._thread = threading.Thread(
            target=self._run, args=(on_snapshot, on_failure), name="sgdoctor-session", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop watching; no call of ``on_snapshot`` begins after it has returned."""
        self._stopped.set()
        self._feed.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def show_attempt(self, number: int | None) -> None:
        """Give snapshots of this start from now on; None for always the newest. Returns at once."""
        self._shown = number
        self._dirty = True

    def step_back(self, seconds: float) -> None:
        """Read and judge nothing for a moment, so that another thread has the interpreter to itself.

        What the server writes meanwhile waits in the feed. Called again and again, it gives a part of the time only.
        """
        now = time.monotonic()
        if now >= self._steps_back_until + _FORWARD:
            self._stepped_back = now
        elif now >= self._steps_back_until:
            return
        self._steps_back_until = min(now + seconds, self._stepped_back + _MOST_BACK)

    def note_activity(self) -> None:
        """The GPU or the CPU of the server is at work: without a line it is silent, and yet not stalled."""
        self._last_activity = time.monotonic()

    # ------------------------------------------------------------ the thread

    def _run(self, on_snapshot: Callable[[Snapshot], None], on_failure: Callable[[Exception], None] | None) -> None:
        try:
            self._watch(on_snapshot)
        except Exception as error:  # noqa: BLE001 - a thread has nobody above it
            if not self._stopped.is_set() and on_failure is not None:
                on_failure(error)

    def _watch(self, on_snapshot: Callable[[Snapshot], None]) -> None:
        published = 0.0
        changed = True
        while not self._stopped.is_set():
            self._step_back()
            now = time.monotonic()
            wait = _NAP
            if changed:
                wait = min(wait, max(0.0, published + _SNAPSHOT_EVERY - now))
            if self._dirty:
                wait = min(wait, max(0.0, self._judged + self._judge_pause - now))
            arrivals = self._feed.read(wait)
            for arrival in arrivals:
                self._take(arrival)
            changed = changed or bool(arrivals)
            now = time.monotonic()
            if self._is_due(now):
                self._judge()
                changed = True
            if (changed or now >= published + _TICK) and now >= published + _SNAPSHOT_EVERY and self._verdict:
                snapshot = self._moment()
                changed = False
                published = now
                if self._stopped.is_set():
                    return
                fresh = snapshot != self._snapshot
                self._snapshot = snapshot
                self.over = self._ending and self._settled
                if fresh:
                    on_snapshot(snapshot)

    def _is_due(self, now: float) -> bool:
        if self._verdict is None:
            return True
        if self._dirty:
            return now >= self._judged + self._judge_pause
        if not self._settled and now >= self._arrived + _QUIET:
            return True
        return self._link is Link.FOLLOWING and self._verdict.state in _GOING and now >= self._judged + _CLOCK_LOOK

    # ------------------------------------------------------------ taking

    def _take(self, arrival: Arrival) -> None:
        match arrival:
            case Output():
                self._take_output(arrival)
            case Begun():
                self._end_line()
                self._live.begin_start(arrival.started)
                self._meter.clear()
                self._ahead = None
                # It has no line yet and is expected to write some: that the one before has ended is over.
                self._link, self._note, self._ending = Link.FOLLOWING, Text("", ""), False
                self._dirty = True
            case Anew():
                self._end_line()
                self._note = arrival.note
            case Standing():
                self._link, self._note = arrival.link, arrival.note
                self._ending = arrival.final or arrival.link is Link.ENDED
                if arrival.link is Link.ENDED:
                    self._end_line()
                self._dirty = True
                self._settled = False
                # The state changes with it, and nobody waits for more.
                self._judged = 0.0

    def _take_output(self, output: Output) -> None:
        self._arrived = self._last_output = time.monotonic()
        if output.time is not None:
            self._last_output -= max(0.0, time.time() - output.time)
        if output.added:
            self._end_line()
            self._add(output.data, added=True)
            return
        self._link, self._ending = Link.FOLLOWING, False
        data = self._tail + output.data
        end = data.rfind(b"\n") + 1
        self._tail = data[end:]
        position = 0
        while position < end:
            self._step_back()
            stop = end if end - position <= PIECE else data.find(b"\n", position + PIECE - 1, end) + 1 or end
            self._add(data[position:stop])
            position = stop
        if b"\r" in output.data:
            self._dirty = True
        if len(self._tail) > _MAX_UNFINISHED:
            self._end_line()

    def _step_back(self) -> None:
        while time.monotonic() < self._steps_back_until and not self._stopped.is_set():
            time.sleep(_STEP_BACK)

    def _end_line(self) -> None:
        if self._tail:
            tail, self._tail = self._tail, b""
            self._add(tail + b"\n")

    def _add(self, data: bytes, *, added: bool = False) -> None:
        self._dirty = self._live.add(data, added=added) or self._dirty
        self._settled = False
        self._meter.take(self._live.samples)

    # ------------------------------------------------------------ judging

    def _judge(self) -> None:
        began = time.monotonic()
        full = not self._dirty or self._link is not Link.FOLLOWING
        number = self._live.number
        subject = self._feed.subject
        named = subject.name if subject.kind == "container" and subject.id else ""
        self._live.container = None if subject.kind == "process" else named
        self._verdict = self._live.judge(
            tail=self._tail, clock=self._clock(began), full=full, ended=self._link is Link.ENDED
        )
        if self._live.number != number:
            self._meter.clear()
            self._meter.take(self._live.samples)
            self._ahead = None
        if (last := self._live.clocks[1]) is not None:
            # Clocks of whole seconds lag behind, so the largest difference is the best one.
            ahead = last.timestamp() - self._last_output * self._feed.speed
            self._ahead = ahead if self._ahead is None else max(ahead, self._ahead)
        self._attempts = self._live.attempts(self._verdict)
        self._settled = full
        self._dirty = False
        self._judged = time.monotonic()
        self._judge_pause = max(_JUDGE_EVERY, _JUDGE_SHARE * (self._judged - began))
        phase = (self._verdict.attempt, self._verdict.phases[-1].name if self._verdict.phases else None)
        if phase != self._phase:
            self._phase, self._phase_began = phase, self._last_output
        self._learn(self._verdict)

    def _clock(self, now: float) -> LiveClock | None:
        if self._link is not Link.FOLLOWING:
            return None
        speed = self._feed.speed
        quiet = now - max(self._last_output, self._last_activity)
        return LiveClock(quiet * speed, (now - self._began) * speed)

    def _learn(self, verdict: Verdict) -> None:
        if self._history is None or not self._feed.learns or verdict.attempt == self._learned:
            return
        ready = verdict.facts.get("ready_seconds")
        start = next((phase.start for phase in verdict.phases if phase.start is not None), None)
        if ready is None or start is None:
            return
        self._learned = verdict.attempt
        phases = {
            phase.name.value: phase.seconds for phase in verdict.phases if phase.done and phase.seconds is not None
        }
        self._bands_for = None
        self._history.learn(self._key(verdict), f"{self._feed.subject.id} {start}", {**phases, "ready": ready.value})

    def _key(self, verdict: Verdict) -> Key:
        subject = self._subject(verdict)
        return Key(subject.model, subject.quantisation, subject.image, self.gpu_name)

    # ------------------------------------------------------------ telling

    def _moment(self) -> Snapshot:
        newest = self._verdict
        assert newest is not None
        newest = newest._replace(last_line=max(newest.last_line, len(self._store)))
        shown = newest
        if self._shown is not None:
            shown = self._live.verdict_of(self._shown, newest.attempt) or newest
        is_newest = shown is newest
        going_on = is_newest and self._link is Link.FOLLOWING
        now = self._now(shown) if going_on else Now()
        learned = self._learned_bands(self._key(shown))
        stages = stages_of(shown, now, learned.get, going_on=going_on)
        return Snapshot(
            subject=self._subject(shown),
            link=self._link,
            note=self._note,
            attempts=self._attempts,
            verdict=shown,
            stages=stages,
            ready_in=ready_in(shown, stages, now, learned.get("ready")) if going_on else None,
            uptime=self._uptime(shown, stages, now) if going_on else None,
            load=self._meter.load if is_newest else Load(),
            lines=len(self._store),
        )

    def _learned_bands(self, key: Key) -> Mapping[str, Band | None]:
        """What earlier starts of this kind took, looked up once for each kind."""
        if key != self._bands_for:
            self._bands_for = key
            names = (*PhaseName, "ready") if self._history is not None and key.model else ()
            self._bands = {
                str(name): self._history.usual(key, str(name)) for name in names if self._history is not None
            }
        return self._bands

    def _now(self, verdict: Verdict) -> Now:
        """The clock of the newest start: that of the log, which goes on in silence."""
        first = self._live.clocks[0]
        phase = verdict.phases[-1] if verdict.phases else None
        if self._ahead is None or first is None:
            wall = (time.monotonic() - self._phase_began) * self._feed.speed
            return Now(wall if phase is not None else None)
        now = time.monotonic() * self._feed.speed + self._ahead
        began = phase.start.timestamp() if phase is not None and phase.start is not None else None
        return Now(None if began is None else max(0.0, now - began), max(0.0, now - first.timestamp()))

    def _uptime(self, verdict: Verdict, stages: tuple[Stage, ...], now: Now) -> float | None:
        serving = any(stage.name is PhaseName.SERVING and stage.state.value == "running" for stage in stages)
        if not serving or not verdict.state.works:
            return None
        return now.elapsed

    def _subject(self, verdict: Verdict) -> Subject:
        given = self._feed.subject

        def value(name: str) -> str:
            fact = verdict.facts.get(name)
            return str(fact.value) if fact is not None and fact.value not in (None, "") else ""

        engine = f"{verdict.engine} {verdict.version}".strip() if verdict.engine else ""
        return given._replace(
            engine=given.engine or engine,
            model=given.model or value("model_path").rstrip("/").rpartition("/")[2],
            quantisation=given.quantisation or value("quantisation") or value("args.quantization"),
            ports=given.ports or value("port"),
        )
