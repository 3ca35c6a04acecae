"""Where one start ends and the next begins, in logs of containers that are restarted again and again."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from sgdoctor.engines.sglang.argparse_errors import is_argument_error
from sgdoctor.engines.sglang.markers import DOCKER_STARTS, PREAMBLE_STARTS
from sgdoctor.engines.sglang.server_args import is_server_args
from sgdoctor.logs.event import Event, EventKind


class Sign(Enum):
    """What shows that a process has just been started."""

    WARNING = auto()
    """The advice to use ``sglang serve``, printed first of all by ``python -m sglang.launch_server`` (0.5.10 on)."""
    USAGE = auto()
    """The usage text in front of an argparse error."""
    ARGUMENTS = auto()
    """``server_args=``, once a start, by the main process."""
    TRACEBACK = auto()
    """The main program died before it launched anything."""
    DOCKER = auto()
    """The daemon refused to run the container."""


# Frames of a main process that had its arguments and was launching; its exception follows from that of a child.
_LAUNCHING: Final = frozenset(
    {"launch_server", "run_server", "_launch_subprocesses", "_launch_engine", "launch_engine"}
)
_LIBRARIES: Final = ("dist-packages/", "site-packages/", "/lib/python")
# What the processes of a start may still print after one of them died.
_TRAILING_STARTS: Final = (
    "kill_process_tree called",
    "Received sigquit",
    "SIGQUIT received",
    "Subprocess ",
    "Rank ",
    "Exit code",
    "Killed",
    "Aborted",
    "Segmentation fault",
    "Gracefully ",
    "SIGTERM received",
    "[rank",
    "resource_tracker",
    "No live scheduler processes",
    "Sleeping ",
    "Waiting ",
    "INFO: Shutting down",
    "INFO: Waiting for application shutdown",
    "INFO: Application shutdown complete",
    "INFO: Finished server process",
)


def sign_of(event: Event) -> Sign | None:
    """What an event says about a process having been started; None if nothing."""
    text = event.text
    match event.kind:
        case EventKind.DATA:
            # A prompt may hold the same words, but not at the beginning of a line of the engine.
            if is_server_args(text) and (event.line.engine or "model_path" in text[:64]):
                return Sign.ARGUMENTS
            if text.startswith(("usage: sglang serve", "usage: launch_server.py")):
                return Sign.USAGE
        case EventKind.TRACEBACK:
            return Sign.TRACEBACK if _is_early(event) else None
        case EventKind.LINE:
            if "UserWarning: " in text and "is still supported, but 'sglang serve'" in text:
                return Sign.WARNING
            if text.startswith(("docker: Error response from daemon", "Error response from daemon")):
                return Sign.DOCKER
        case _:
            pass
    return None


def _is_early(event: Event) -> bool:
    """Whether a traceback is that of a main program which launched nothing yet."""
    frames = next((raised.frames for raised in reversed(event.raised) if raised.frames), ())
    if event.line.engine or event.header or not frames:
        return False
    outermost = frames[0]
    if outermost.function not in ("<module>", "_run_module_as_main"):
        return False
    own = not any(part in outermost.file for part in _LIBRARIES) or outermost.file.endswith("launch_server.py")
    return own and not any(frame.function in _LAUNCHING for frame in frames)


def _is_end(event: Event, sign: Sign | None) -> bool:
    """Whether nothing of this start can follow but what its other processes still print."""
    if sign in (Sign.TRACEBACK, Sign.DOCKER) or event.kind is EventKind.EXIT:
        return True
    text = event.text
    return event.kind is EventKind.LINE and (
        text.startswith("kill_process_tree called")
        or text == "Killed"
        or is_argument_error(text)
        or (text.startswith("ERROR: ") and "error while attempting to bind on address" in text)
    )


def _trails(event: Event) -> bool:
    """Whether an event may belong to the death of a start that has already ended."""
    if event.kind is EventKind.EXIT:
        return True
    if event.kind is EventKind.TRACEBACK:
        return not _is_early(event)
    return event.text.startswith(_TRAILING_STARTS) or "resource_tracker" in event.text


def _precedes(event: Event) -> bool:
    """Whether an event can stand between the beginning of a process and its first sign."""
    text = event.text
    return event.kind is EventKind.LINE and (
        text.startswith((*PREAMBLE_STARTS, *DOCKER_STARTS))
        or "is deprecated and will be removed" in text
        or "UserWarning: " in text
    )


@dataclass(slots=True, eq=False, repr=False)
class _Start:
    """The start being read: what was seen of it, by whom, and where it ended."""

    first: int
    signs: set[tuple[str, Sign]] = field(default_factory=set)
    ended: int | None = None
    ended_by_docker: bool = False

    def excludes(self, sign: Sign, source: str) -> bool:
        """Whether ``sign`` can only be that of another start."""
        mine = {kind for writer, kind in self.signs if writer == source or not writer or not source}
        if self.ended is not None:
            return bool(mine) and not (sign is Sign.DOCKER and self.ended_by_docker)
        if sign is Sign.ARGUMENTS:
            return Sign.ARGUMENTS in mine
        if sign in (Sign.WARNING, Sign.USAGE):
            return sign in mine or Sign.ARGUMENTS in mine
        return False


def split_attempts(events: Sequence[Event]) -> list[slice]:
    """The starts in ``events`` (in log order, possibly with gaps) as slices without gaps between them."""
    slices: list[slice] = []
    start = _Start(0)
    for index, event in enumerate(events):
        sign = sign_of(event)
        source = event.line.source
        if sign is not None:
            # A traceback comes when it is complete, which the end of its start may not wait for.
            late = start.ended is not None and event.line.offset < events[start.ended].line.offset
            if not late and start.excludes(sign, source):
                border = _border(events, start, index)
                slices.append(slice(start.first, border))
                start = _Start(border)
            start.signs.add((source, sign))
        if _is_end(event, sign):
            start.ended, start.ended_by_docker = index, sign is Sign.DOCKER
            if sign is None:
                # An end without any sign is the rest of a start whose beginning the log does not hold.
                start.signs.add((source, Sign.ARGUMENTS))
    slices.append(slice(start.first, len(events)))
    return slices


def _border(events: Sequence[Event], start: _Start, index: int) -> int:
    """Index of the first event of the start whose first sign is at ``index``."""
    if start.ended is None:
        border = index
        while border > start.first + 1 and _precedes(events[border - 1]):
            border -= 1
        return border
    last = max(at for at in range(start.ended, index) if at == start.ended or _trails(events[at]))
    return last + 1
