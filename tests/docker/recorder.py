"""A follower in a thread of its own, and what it told."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.follow import Follower
from sgdoctor.containers.records import AttemptEnded, AttemptStarted, LogChunk, Record, Waiting, WaitReason

Kind = TypeVar("Kind", bound=Record)


class Recorder:
    """A follower in a thread of its own, and what it told."""

    def __init__(self, url: str, target: str) -> None:
        self.follower = Follower(Endpoint(url), target)
        self.records: list[Record] = []
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        for record in self.follower:
            self.records.append(record)

    def wait(self, done: Callable[["Recorder"], bool], limit: float = 15) -> None:
        end = time.monotonic() + limit
        while not done(self):
            assert time.monotonic() < end, self.summary
            time.sleep(0.02)

    def of(self, kind: type[Kind]) -> list[Kind]:
        return [record for record in list(self.records) if isinstance(record, kind)]

    @property
    def text(self) -> bytes:
        return b"".join(record.data for record in self.of(LogChunk))

    @property
    def codes(self) -> list[int | None]:
        return [record.facts.exit_code for record in self.of(AttemptEnded)]

    @property
    def waits(self) -> list[WaitReason]:
        return [record.reason for record in self.of(Waiting)]

    @property
    def lines_by_start(self) -> list[bytes]:
        """The output of each start."""
        out: list[bytes] = []
        for record in list(self.records):
            if isinstance(record, AttemptStarted):
                out.append(b"")
            elif isinstance(record, LogChunk):
                out[-1] += record.data
        return out

    @property
    def summary(self) -> str:
        return "\n".join(map(repr, list(self.records)))[-4000:]

    def close(self) -> None:
        self.follower.cancel()
        self.thread.join(5)
        assert not self.thread.is_alive()
        assert self.follower._client.connections.open_count == 0
