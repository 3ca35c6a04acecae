"""What a serving engine is doing, by the batch lines that it prints."""

from collections import deque
from collections.abc import Mapping
from typing import Final

from sgdoctor.engines.sglang.facts import number, whole
from sgdoctor.logs.event import Event
from sgdoctor.watching.model import Load

_KEPT: Final = 120
_DECODE: Final = b"Decode batch"


class LoadMeter:
    """Follows the newest batch lines of a server."""

    def __init__(self) -> None:
        self._seen: dict[bytes, int] = {}
        self._load = Load()
        self._speeds: deque[float] = deque(maxlen=_KEPT)
        self._usages: deque[float] = deque(maxlen=_KEPT)

    @property
    def load(self) -> Load:
        """The load of now."""
        return self._load

    def clear(self) -> None:
        """Forget everything: another start."""
        self._seen.clear()
        self._speeds.clear()
        self._usages.clear()
        self._load = Load()

    def take(self, samples: Mapping[bytes, Event]) -> bool:
        """Take the newest line of each kind; whether there was a new one."""
        fresh = [
            (event.first, name, event.text) for name, event in samples.items() if self._seen.get(name, 0) < event.first
        ]
        for line, name, text in sorted(fresh):
            self._seen[name] = line
            self._take(text, decode=name == _DECODE)
        return bool(fresh)

    def _take(self, text: str, *, decode: bool) -> None:
        old = self._load
        usage, windows = _usage(text), number(text, "swa token usage")
        speed = number(text, "gen throughput (token/s)") if decode else None
        if speed is not None:
            self._speeds.append(speed)
        fullest = max((share for share in (usage, windows) if share is not None), default=None)
        if fullest is not None:
            self._usages.append(fullest)
        state = number(text, "mamba usage")
        running = whole(text, "#running-req")
        queued = whole(text, "#queue-req")
        self._load = Load(
            tokens_per_second=old.tokens_per_second if speed is None else speed,
            running=old.running if running is None else running,
            queued=old.queued if queued is None else queued,
            token_usage=old.token_usage if usage is None else usage,
            state_usage=old.state_usage if state is None else state,
            window_usage=old.window_usage if windows is None else windows,
            speed_history=tuple(self._speeds),
            usage_history=tuple(self._usages),
        )


def _usage(text: str) -> float | None:
    """Of the KV pool; hybrid models print it as ``full token usage``."""
    found = number(text, "full token usage")
    return number(text, "token usage") if found is None else found
