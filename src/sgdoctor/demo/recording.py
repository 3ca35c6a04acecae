"""Replays two recorded starts of one model, with the readings of the card at the time: one fails, one serves.

Both are runs of SGLang 0.5.15 (``fixtures/logs/real``) on a card that a ballast process left the memory of a 24 GB one
(``fixtures/gpu/README.md``). They were recorded in the other order and with weights of 19.03 and 19.28 GiB, so the
clock of the second one is moved on, and the screen says what they are.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Final

from sgdoctor.containers.exits import PREFIX
from sgdoctor.gpu.model import GpuReading
from sgdoctor.gpu.recorded import RecordedSource, from_json, without
from sgdoctor.texts import Text
from sgdoctor.watching.feeds import Arrival, Begun, Output, ScriptFeed, Standing
from sgdoctor.watching.model import Link, Subject

SUBJECT: Final = Subject("file", "demo", "recording")
_FAILED_RUN: Final = ("article27-mfs-0.80", 6419, 6194)
_CURED_RUN: Final = ("article27-w19.28-mfs-0.92", 2786, 2715)
_STOPPED: Final = b"SIGTERM received."
_CLOCK: Final = re.compile(rb"(?<=\[)\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?=\])")
PAUSE: Final = 40.0
"""Seconds, by the clock of the recording, in which the diagnosis of the first start can be read."""

NOTES: Final = {
    "failing": Text(
        "A recording: nothing runs here. First a real start with --mem-fraction-static 0.80.",
        "这是录像，此处没有服务在运行。先是一次真实的启动，--mem-fraction-static 0.80。",
    ),
    "pause": Text(
        "A recording. In a moment: a start of the same model with 0.92.",
        "这是录像。稍后：同一模型以 0.92 启动。",
    ),
    "cured": Text(
        "A recording: the same model with 0.92 and slightly larger weights, 19.28 instead of 19.03 GiB.",
        "这是录像：同一模型，参数为 0.92，权重略大（19.28 而非 19.03 GiB）。",
    ),
    "over": Text(
        "End of the recording. [ and ] show the starts, ? the keys, q leaves.",
        "录像结束。[ 和 ] 查看各次启动，? 查看按键，q 退出。",
    ),
    "over-in-lines": Text("End of the recording.", "录像结束。"),
}
"""What is said on the screen in each part."""


@dataclass(frozen=True, slots=True)
class Start:
    """One recorded start.

    Attributes:
        pieces: seconds since the program was started, and what it printed then.
        readings: of the card, as if the ballast were not there.
    """

    pieces: tuple[tuple[float, bytes], ...]
    readings: tuple[GpuReading, ...]

    @property
    def seconds(self) -> float:
        """Until the last thing that it printed."""
        return self.pieces[-1][0]


@dataclass(frozen=True, slots=True)
class Recording:
    """What a replay takes.

    Attributes:
        script: for ``ScriptFeed``: seconds to wait, and what arrives then.
        readings: of the card, by the clock of the script.
    """

    script: tuple[tuple[float, bytes | Arrival], ...]
    readings: tuple[GpuReading, ...]


def load_recording(*, keys: bool = True) -> Recording:
    """Both starts, one after the other.

    Args:
        keys: whether there is a screen with keys, which the last note then names.

    Raises:
        OSError: the files are not there.
    """
    failed, cured = (_start(*run) for run in (_FAILED_RUN, _CURED_RUN))
    offset = failed.seconds + PAUSE
    cured = _later(cured, _began(failed) + timedelta(seconds=round(offset)) - _began(cured))
    script: list[tuple[float, bytes | Arrival]] = [
        (0.0, Begun()),
        (0.0, Standing(Link.FOLLOWING, NOTES["failing"])),
        *_waits(failed.pieces),
        # As it was recorded: the engine ends a failed start with SIGKILL.
        (0.0, Output(PREFIX + b"demo exited with code 137\n", added=True)),
        (0.0, Standing(Link.WAITING, NOTES["pause"])),
        (PAUSE, Begun()),
        (0.0, Standing(Link.FOLLOWING, NOTES["cured"])),
        *_waits(cured.pieces),
        (0.0, Standing(Link.ENDED, NOTES["over" if keys else "over-in-lines"])),
    ]
    return Recording(tuple(script), (*_from(failed.readings, 0.0), *_from(cured.readings, offset)))


def replay(
    speed: float, now: Callable[[], float] = monotonic, *, keys: bool = True
) -> tuple[ScriptFeed, RecordedSource]:
    """The log and the card, both from now on.

    Args:
        speed: seconds of the recording in a second.
        now: a clock in seconds.
        keys: whether there is a screen with keys.
    """
    recording = load_recording(keys=keys)
    began = now()
    feed = ScriptFeed(recording.script, SUBJECT, speed=speed, end=False)
    return feed, RecordedSource(recording.readings, lambda: (now() - began) * speed)


def _start(name: str, server: int, ballast: int) -> Start:
    log, timing, card = (_read(name, kind) for kind in ("log", "timing", "jsonl"))
    stop = log.find(_STOPPED)
    # The server is left serving: whoever recorded it had it stopped at the end.
    log = log if stop < 0 else log[: log.rindex(b"\n", 0, stop) + 1]
    pieces = []
    position = 0
    for at, size in map(bytes.split, timing.splitlines()):
        piece = log[position : position + int(size)]
        position += int(size)
        if piece:
            pieces.append((float(at), piece))
    readings = (without(from_json(line), ballast) for line in card.decode().splitlines())
    return Start(tuple(pieces), tuple(_attributed(reading, server) for reading in readings))


def _read(name: str, kind: str) -> bytes:
    """A file of a run: in ``recorded`` of an installed package, where it was put in a checkout."""
    here = Path(__file__).parent
    installed = here / "recorded"
    if installed.is_dir():
        return (installed / f"{name}.{kind}").read_bytes()
    top = here.parents[2]
    folder = {"log": "fixtures/logs/real", "timing": "tests/standin/recorded/timing", "jsonl": "fixtures/gpu"}[kind]
    return (top / folder / f"{name}.{kind}").read_bytes()


def _attributed(reading: GpuReading, server: int) -> GpuReading:
    """The reading with the server named as such: which process it was is known, its name was not recorded."""
    return reading._replace(
        gpus=tuple(
            gpu._replace(
                processes=tuple(
                    process._replace(name="sglang", container=SUBJECT.id) if process.pid == server else process
                    for process in gpu.processes
                )
            )
            for gpu in reading.gpus
        )
    )


def _began(start: Start) -> datetime:
    """When the program was started, by the clock in its log."""
    for at, piece in start.pieces:
        if found := _CLOCK.search(piece):
            return datetime.fromisoformat(found[0].decode()) - timedelta(seconds=at)
    raise ValueError("a recorded log without a clock")


def _later(start: Start, by: timedelta) -> Start:
    by = timedelta(seconds=round(by.total_seconds()))

    def moved(found: re.Match[bytes]) -> bytes:
        return (datetime.fromisoformat(found[0].decode()) + by).isoformat(" ").encode()

    return Start(tuple((at, _CLOCK.sub(moved, piece)) for at, piece in start.pieces), start.readings)


def _waits(pieces: Sequence[tuple[float, bytes]]) -> Iterator[tuple[float, bytes]]:
    before = 0.0
    for at, piece in pieces:
        yield at - before, piece
        before = at


def _from(readings: Sequence[GpuReading], at: float) -> Iterator[GpuReading]:
    for reading in readings:
        yield reading._replace(time=at + reading.time - readings[0].time)
