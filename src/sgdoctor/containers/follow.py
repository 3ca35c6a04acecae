"""Follows the log of a container over everything that makes ``docker logs -f`` quit."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, Self

from sgdoctor.containers import waits
from sgdoctor.containers.audit import Audit
from sgdoctor.containers.client import Client, Look, RefusedError
from sgdoctor.containers.demux import STREAM_NAMES, Demux, Entry
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.find import look_for
from sgdoctor.containers.kept import demux_for, kept_lines
from sgdoctor.containers.marks import Marks
from sgdoctor.containers.records import (
    AttemptEnded,
    AttemptStarted,
    Container,
    ExitFacts,
    LinesLost,
    LogChunk,
    Record,
    Waiting,
    WaitReason,
)
from sgdoctor.containers.runs import Run, exit_facts, unknown_runs
from sgdoctor.containers.transport import CancelledError, Stream, UnreachableError
from sgdoctor.texts import Text

_POLL: Final = 0.1
_POLL_SLOW: Final = 0.5
# Every question is a new ssh process.
_POLL_SSH: Final = 3.0
_LOOK_EVERY: Final = 5.0
_PAUSE: Final = 0.75
# From one start to the next podman needs longer (0.09 s in quick loops).
_SURE: Final = 0.05
_NOT_READABLE: Final = 501


class Follower:
    """All output of a container and of its successors under the same name, as records.

    Iterate in a thread of your own; it ends only by ``cancel``, which any thread may call and which takes
    milliseconds. The follower has no thread, and no socket is left when the iteration has ended.

    Args:
        endpoint: the engine.
        target: name, id or compose service. It need not exist yet.

    Attributes:
        container: the one followed now; None before there is one.
    """

    def __init__(self, endpoint: Endpoint, target: str) -> None:
        self.container: Container | None = None
        self._target = target
        self._client = Client(endpoint)
        self._slow = _POLL_SSH if endpoint.scheme == "ssh" else 0.0
        self._number = 0
        self._told: tuple[WaitReason, str] | None = None
        self._quiet_rounds = 0
        self._begin(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()

    def cancel(self) -> None:
        """End the iteration; for any thread, any number of times."""
        self._client.cancel()

    def __iter__(self) -> Iterator[Record]:
        """The records.

        Raises:
            UserError: the engine can never be reached this way (no ssh program).
        """
        try:
            while True:
                try:
                    yield from self._round()
                except (UnreachableError, RefusedError) as error:
                    yield from self._wait(WaitReason.ENGINE, waits.engine(error.message))
                    self._sleep(_POLL_SLOW)
        except CancelledError:
            return

    # ------------------------------------------------------------ which container, which start

    def _begin(self, container: Container | None) -> None:
        """Forget all about the container before."""
        self.container = container
        self._marks = Marks()
        self._audit = Audit(container.rotates_at if container else None)
        self._run: Run | None = None
        self._open = False
        self._coming: deque[Run] = deque()
        self._readable = True
        self._refused = ""
        self._is_new = False

    def _round(self) -> Iterator[Record]:
        look = look_for(self._client, self._target, self.container)
        if look is None:
            yield from self._gone()
            return
        if self.container is None or look.container.id != self.container.id:
            yield from self._end()
            self._begin(look.container)
        if look.started is None:
            yield from self._never_started(look)
        elif self._is_read(look):
            yield from self._idle(look)
        else:
            self._quiet_rounds = 0
            self._plan(look)
            yield from self._start_due()
            yield from self._read(look)

    def _gone(self) -> Iterator[Record]:
        yield from self._end()
        if self.container is None:
            yield from self._wait(WaitReason.NO_CONTAINER, waits.no_container(self._target))
        else:
            yield from self._wait(WaitReason.REMOVED, waits.removed(self.container.name))
        self._sleep(self._poll())

    def _never_started(self, look: Look) -> Iterator[Record]:
        self._is_new = True
        # After a refused start the state stays "created" and only `State.Error` says why; there is no log.
        if look.facts.error and look.facts.error != self._refused:
            yield from self._refusal(look)
        yield from self._wait(WaitReason.NOT_STARTED, waits.not_started(look))
        self._sleep(self._poll())

    def _refusal(self, look: Look) -> Iterator[Record]:
        """A start that the engine refused: it has an end and no output."""
        self._refused = look.facts.error
        yield self._started(look.container, None, look.facts.restart_count)
        yield AttemptEnded(look.container, replace(look.facts, started=None))

    def _is_read(self, look: Look) -> bool:
        """Whether all there is of its newest start was given."""
        return self._run is not None and not self._open and look.started == self._run.started

    def _idle(self, look: Look) -> Iterator[Record]:
        """Nothing to read until somebody starts it again."""
        if look.facts.error and look.facts.error != self._refused:
            # It ran once; this time the engine refused to start it (its port is taken, its GPU is gone).
            yield from self._refusal(look)
        if look.facts.restarting:
            yield from self._wait(WaitReason.RESTARTING, waits.restarting(look))
        else:
            yield from self._wait(WaitReason.STOPPED, waits.stopped(look))
        self._sleep(_POLL if look.facts.restarting else self._poll())

    # ------------------------------------------------------------ reading

    def _read(self, look: Look) -> Iterator[Record]:
        if not self._readable:
            yield from self._watch_unreadable(look)
            return
        self._marks.resume()
        since = self._marks.since
        try:
            stream = self._client.log(look.container.id, since=since, follow=True)
        except RefusedError as error:
            if error.status == _NOT_READABLE:
                self._readable = False
            elif error.status != 404:
                raise
            return
        demux = demux_for(self._client, look.container, look.started)
        try:
            now = self._client.inspect(look.container.id)
            if now is not None and now.started != look.started:
                # It was started again between the look and the stream, whose lines are those of the new start.
                return
            yield from self._drain(stream, demux, look)
        finally:
            stream.close()
        yield from self._after_stream(look, demux)

    def _drain(self, stream: Stream, demux: Demux, look: Look) -> Iterator[Record]:
        """Everything until the stream ends, or should have."""
        from time import monotonic  # noqa: PLC0415

        podman = self._client.is_podman()
        every = _PAUSE if podman else _LOOK_EVERY
        next_look, sure = monotonic() + every, monotonic() + _SURE
        while True:
            data = stream.receive(_PAUSE if self._audit.due or self._coming else every)
            if data == b"":
                return
            if data and podman and monotonic() > sure:
                # Its stream goes on over a restart: what came may be of the next start, and is read again then.
                if self._is_restarted(look):
                    return
                sure = monotonic() + _SURE
            if data is not None:
                yield from self._give(demux.feed(data))
            else:
                # All that earlier starts left behind has been read.
                while self._coming:
                    yield from self._next_run()
                if self._audit.due:
                    yield from self._compare(look)
            if monotonic() >= next_look:
                next_look = monotonic() + max(every, 10 * self._slow)
                if self._is_stale(look, silent=data is None):
                    return

    def _is_restarted(self, look: Look) -> bool:
        now = self._client.inspect(look.container.id)
        return now is not None and now.started != look.started

    def _is_stale(self, look: Look, *, silent: bool) -> bool:
        """Whether the stream belongs to something that is over.

        A renamed container has a successor; after an outside program cut the file
        off (logrotate's copytruncate) the engine sends nothing any more and says nothing (moby issue 45728).
        """
        now = look_for(self._client, self._target, look.container)
        if now is None or now.container.id != look.container.id:
            return True
        if now.started != look.started or not now.running:
            return True
        self.container = now.container
        if not silent:
            return False
        return self._is_behind(look)

    def _after_stream(self, look: Look, demux: Demux) -> Iterator[Record]:
        now = self._client.inspect(look.container.id)
        if now is not None and (now.running or now.started != look.started):
            # The engine closed the stream of a running container, or the next start is under way. What stands
            # unfinished in `demux`, and what was cut off, comes again; lines then go to their start by their time.
            self._sleep(_POLL)
            return
        if now is not None and self._is_behind(look):
            yield from self._catch_up(look)
        else:
            yield from self._give(demux.rest())
        while self._coming:
            yield from self._next_run()
        if self._audit.due and now is not None:
            yield from self._compare(look)
        now = self._client.inspect(look.container.id)
        if now is None or not now.running or self._run is None or now.started != self._run.started:
            yield from self._end()

    def _is_behind(self, look: Look) -> bool:
        """Whether the log holds a line newer than those given."""
        last = self._marks.last
        # Where times are told in whole seconds a line is known by its place in its second: the last one alone is not.
        since, tail = (self._marks.since, None) if self._client.is_podman() and last else (None, 1)
        newest = kept_lines(self._client, look.container, since=since, tail=tail)
        return any(last is None or entry.time > last for entry in newest)

    def _catch_up(self, look: Look) -> Iterator[Record]:
        """Read what a slow reader did not get: when a container ends, the engine may cut its stream off.

        Seen with Docker 20.10 and `json-file` without rotation: 246,000 of 300,000 lines written at full speed.
        """
        self._marks.resume()
        entries = list(kept_lines(self._client, look.container, since=self._marks.since))
        now = self._client.inspect(look.container.id)
        if now is not None:
            # It may have been started again meanwhile, and have said something.
            self._plan(now)
        yield from self._give(entries)

    def _plan(self, look: Look) -> None:
        """Line up the starts that were not told yet."""
        self.container = look.container
        known = self._coming[-1] if self._coming else self._run
        self._coming += unknown_runs(self._client, look, known, new=self._is_new)

    def _watch_unreadable(self, look: Look) -> Iterator[Record]:
        if look.running:
            yield from self._wait(WaitReason.UNREADABLE, waits.unreadable(look.container))
            self._sleep(self._poll())
            return
        yield from self._end()

    def _give(self, entries: list[Entry]) -> Iterator[Record]:
        """Lines, each to its start."""
        fresh = self._audit.without_repeats(self._marks.fresh(entries))
        if self._marks.lost:
            self._marks.lost = False
            yield LinesLost(waits.rotated_away(), certain=False)
        if not fresh:
            return
        position = 0
        while self._coming:
            begins = self._coming[0].begins
            border = next((at for at in range(position, len(fresh)) if fresh[at].time >= begins), None)
            if border is None:
                break
            if border > position:
                yield from self._begin_history()
                yield from self._chunks(fresh[position:border])
            position = border
            yield from self._next_run()
        rest = fresh[position:] if position else fresh
        if rest:
            yield from self._begin_history()
            yield from self._chunks(rest)

    def _begin_history(self) -> Iterator[Record]:
        """Lines from before the newest start, of a container that nobody followed then."""
        if self._run is None and not self._open:
            assert self.container is not None
            self._open = True
            yield self._started(self.container, None, 0, history=True)

    def _chunks(self, entries: Sequence[Entry]) -> Iterator[Record]:
        """Neighbours of the same stream in one record."""
        self._told = None
        stream, time = entries[0].stream, 0
        parts: list[bytes] = []
        size = 0
        for entry in entries:
            if entry.stream != stream:
                data = b"".join(parts)
                size += len(data)
                yield LogChunk(data, STREAM_NAMES.get(stream, "stdout"), time)
                stream = entry.stream
                parts = []
            parts.append(entry.data)
            time = entry.time
        data = b"".join(parts)
        yield LogChunk(data, STREAM_NAMES.get(stream, "stdout"), time)
        self._audit.note(entries, size + len(data))

    def _compare(self, look: Look) -> Iterator[Record]:
        lost = self._audit.compare(kept_lines(self._client, look.container, since=self._audit.since))
        if lost is not None:
            yield lost

    # ------------------------------------------------------------ telling

    def _start_due(self) -> Iterator[Record]:
        """Begin the next start at once where its lines cannot be mixed with earlier ones."""
        if not self._coming or self._open:
            return
        first = self._run is None and self._coming[0].first
        # After that, the end of the stream before was the border.
        if first or self._marks.last is not None or not self._readable:
            yield from self._next_run()

    def _next_run(self) -> Iterator[Record]:
        yield from self._end()
        assert self.container is not None
        self._run = self._coming.popleft()
        self._open = True
        self._refused = ""
        yield self._started(self.container, self._run.started, self._run.restart_count)

    def _end(self) -> Iterator[Record]:
        """Close the start that is open, with what is known about its end."""
        if not self._open or self.container is None:
            return
        facts = exit_facts(self._client, self.container, self._run) if self._run is not None else ExitFacts(None)
        self._open = False
        self._told = None
        yield AttemptEnded(self.container, facts)

    def _started(
        self, container: Container, started: int | None, restart_count: int, *, history: bool = False
    ) -> AttemptStarted:
        self._told = None
        self._number += 1
        return AttemptStarted(container, self._number, started, restart_count, history)

    def _wait(self, reason: WaitReason, message: Text) -> Iterator[Record]:
        if self._told != (reason, message.en):
            self._told = (reason, message.en)
            self._quiet_rounds = 0
            yield Waiting(reason, message)

    def _poll(self) -> float:
        """A restart is noticed at once, and a container that has been down for long costs nothing."""
        self._quiet_rounds += 1
        return _POLL if self._quiet_rounds < 50 else _POLL_SLOW

    def _sleep(self, seconds: float) -> None:
        if self._client.connections.cancelled.wait(max(seconds, self._slow)):
            raise CancelledError
