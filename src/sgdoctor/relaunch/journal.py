"""The journal of a relaunch: what is about to be done and how far it is, on the disk before it happens.

One file of JSON lines for each relaunch, in the XDG state folder. Whoever finds it open after a crash can go back or on
from it alone; finished ones are the history of a container's launches.
"""

import errno
import json
import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self

from sgdoctor.containers.spool import state_dir
from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.relaunch.model import Ending, Intent, Outcome, Progress, Purpose, Step, StepState, Way
from sgdoctor.texts import Text

_VERSION: Final = 1
# Room for all lines of a relaunch and of its way back, taken before anything is touched: a disk that fills up in the
# middle must not take the way back away.
_RESERVED: Final = 64 << 10
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.-]")
_MALFORMED: Final = (ValueError, LookupError, TypeError, AttributeError)
_DAMAGED_FIRST: Final = Text("its first line is damaged", "首行已损坏")
_UNWRITTEN_FIRST: Final = Text("its first line was never written", "首行没有写入")


def journal_dir(root: Path | None = None) -> Path:
    """The folder of the journals; ``root`` stands for the state folder of sgdoctor."""
    return (state_dir() if root is None else root) / "relaunch"


@dataclass(slots=True)
class Journal:
    """The journal of one relaunch.

    Attributes:
        path: of the file; its stem is the id.
        began: when the relaunch began.
        intent: what it is about to do.
        progress: the steps so far.
        known: what was learned on the way: ``new`` and ``restored`` are ids of containers that were made, ``log``
            is the path of a saved log, ``back`` says that the way back was begun, ``lost`` in which step the engine
            went away, ``rule`` which one named the failure, ``phases`` are seconds of phases as a JSON object.
        outcome: how it ended; None while it is open.
    """

    path: Path
    began: datetime
    intent: Intent
    progress: list[Progress] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)
    outcome: Outcome | None = None
    _size: int = 0

    @property
    def id(self) -> str:
        """As it stands in the label of the new container."""
        return self.path.stem

    @classmethod
    def begin(cls, intent: Intent, root: Path | None = None) -> Self:
        """A new journal, on the disk.

        Raises:
            UserError: it cannot be written; nothing may be touched then.
        """
        folder = journal_dir(root)
        began = datetime.now(UTC)
        path = folder / f"{began:%Y%m%dT%H%M%S}-{_safe_name(intent.container)}-{secrets.token_hex(3)}.jsonl"
        journal = cls(path, began, intent)
        line = _line({"version": _VERSION, "time": began.isoformat(), "intent": asdict(intent)})
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _create(path, line)
        except OSError as error:
            with suppress(OSError):
                path.unlink(missing_ok=True)
            raise _unwritable(folder, error.strerror or str(error)) from None
        journal._size = len(line)
        return journal

    def note(self, progress: Progress, **known: str) -> None:
        """Write how far a step is, and what was learned by it.

        Raises:
            OSError: the disk does not take it.
        """
        self._append(
            {
                "step": progress.step,
                "state": progress.state,
                "time": progress.time.isoformat(),
                **({"note": progress.note} if progress.note else {}),
                **({"known": known} if known else {}),
            }
        )
        self.progress.append(progress)
        self.known |= known

    def finish(self, outcome: Outcome) -> None:
        """Write how it ended; an ending of ``OPEN`` is not one, and is not written.

        Raises:
            OSError: the disk does not take it.
        """
        if outcome.ending is Ending.OPEN:
            return
        rule = outcome.verdict.diagnoses[0].rule.id if outcome.verdict and outcome.verdict.diagnoses else ""
        self._append(
            {
                "ending": outcome.ending,
                "time": datetime.now(UTC).isoformat(),
                "container": outcome.container,
                "reason": outcome.reason,
                "log": outcome.log,
                "known": {"rule": rule} if rule else {},
            }
        )
        self.known |= {"rule": rule} if rule else {}
        self.outcome = replace(outcome, journal=self.id)
        with suppress(OSError):
            os.truncate(self.path, self._size)

    def begun(self, step: Step) -> bool:
        """Whether a step was begun."""
        return any(entry.step is step for entry in self.progress)

    def discard(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)

    def _append(self, data: Mapping[str, Any]) -> None:
        line = _line(data)
        with self.path.open("r+b", buffering=0) as file:
            _write(file.fileno(), line, self._size)
            os.fdatasync(file.fileno())
        self._size += len(line)


def check_folder(root: Path | None = None) -> None:
    """Whether a journal can be begun, as far as that is known without writing anything.

    Args:
        root: stands for the state folder of sgdoctor.

    Raises:
        UserError: the folder cannot be written to, or not be made.
    """
    folder = journal_dir(root)
    there = next(one for one in (folder, *folder.parents) if os.path.lexists(one))
    if not there.is_dir():
        raise _unwritable(folder, os.strerror(errno.ENOTDIR))
    if not os.access(there, os.W_OK | os.X_OK):
        is_read_only = os.statvfs(there).f_flag & os.ST_RDONLY
        raise _unwritable(folder, os.strerror(errno.EROFS if is_read_only else errno.EACCES))


def _unwritable(folder: Path, why: str) -> UserError:
    return UserError(
        f"The journal of the relaunch cannot be written in {folder}: {why}. Nothing was touched.",
        f"无法在 {folder} 写入重启记录：{why}。未做任何改动。",
    )


def read_journal(path: Path) -> Journal | None:
    """A journal from its file; None if its first line is not whole: then nothing was touched.

    A line that the machine did not get to finish, and whatever stands behind it, is left out, except an end: what has
    ended is not to be taken up again.
    """
    found = _parsed(path)
    return found if isinstance(found, Journal) else None


@dataclass(frozen=True, slots=True)
class Damaged:
    """A journal that is there, and cannot be read.

    Attributes:
        path: of the file.
        why: what is wrong with it.
        ended: whether its relaunch had an end, by its last line.
    """

    path: Path
    why: Text
    ended: bool = False

    def is_about(self, container: str) -> bool:
        """Whether its name says that it is about the container of this name."""
        return self.path.stem.partition("-")[2].rpartition("-")[0] == _safe_name(container)


def damaged_journals(container: str | None = None, root: Path | None = None) -> list[Damaged]:
    """Those that cannot be read, the oldest first; arguments as of ``journals``."""
    found = [_parsed(path) for path in sorted(journal_dir(root).glob("*.jsonl"))]
    damaged = [one for one in found if isinstance(one, Damaged)]
    return [one for one in damaged if container is None or one.is_about(container)]


def _parsed(path: Path) -> Journal | Damaged | None:
    """A journal, or why it is none; None where there is no file."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = error.strerror or str(error)
        return Damaged(path, Text(reason, reason))
    first, *lines = data.split(b"\n")
    try:
        entry = json.loads(first) if lines else {}
        journal = Journal(path, datetime.fromisoformat(entry["time"]), _intent(entry["intent"]))
    except _MALFORMED:
        whole = bool(lines) and bool(first.strip(b"\0"))
        return Damaged(path, _DAMAGED_FIRST if whole else _UNWRITTEN_FIRST, any(map(_ending_of, lines)))
    size = len(first) + 1
    for number, line in enumerate(lines[:-1]):
        try:
            _take(journal, json.loads(line))
        except _MALFORMED:
            if end := next(filter(None, map(_ending_of, lines[number:])), None):
                _take(journal, end)
            break
        size += len(line) + 1
    journal._size = size  # noqa: SLF001 - its own module
    return journal


def _ending_of(line: bytes) -> dict[str, Any] | None:
    """The line of an end; None if it is another one, or none."""
    with suppress(ValueError):
        entry = json.loads(line)
        if isinstance(entry, dict) and {"ending", "time", "container", "reason", "log"} <= entry.keys():
            return entry
    return None


def journals(container: str | None = None, root: Path | None = None, engine: str | None = None) -> list[Journal]:
    """The journals that are there, the oldest first.

    Args:
        container: only those of the container of this name.
        root: stands for the state folder of sgdoctor.
        engine: only those of the engine of this id, and those that do not say of which; None for all.
    """
    found = [read_journal(path) for path in sorted(journal_dir(root).glob("*.jsonl"))]
    kept = [one for one in found if one is not None and container in (None, one.intent.container)]
    return sorted((one for one in kept if one.intent.may_be_on(engine)), key=lambda one: one.began)


def open_journals(container: str | None = None, root: Path | None = None, engine: str | None = None) -> list[Journal]:
    """Those of ``journals`` that have no end: of relaunches that go on at this moment, or were cut off."""
    return [one for one in journals(container, root, engine) if one.outcome is None]


def seconds_of(journal: Journal) -> dict[Step, float]:
    """How long each step took; a step that was taken up again counts from its last beginning."""
    begun: dict[Step, datetime] = {}
    found: dict[Step, float] = {}
    for entry in journal.progress:
        if entry.state is StepState.BEGUN:
            begun[entry.step] = entry.time
        elif entry.step in begun:
            # The clock may have been set back meanwhile.
            found[entry.step] = max(0.0, (entry.time - begun[entry.step]).total_seconds())
    return found


def _safe_name(container: str) -> str:
    return _UNSAFE.sub("_", container)[:64]


def _create(path: Path, line: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        try:
            os.posix_fallocate(descriptor, 0, len(line) + _RESERVED)
        except OSError as error:
            # Some file systems of networks and of FUSE cannot.
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                raise
        _write(descriptor, line, 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """So that the file itself outlives a power cut, and not only what is in it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(descriptor: int, data: bytes, position: int) -> None:
    while data:
        written = os.pwrite(descriptor, data, position)
        data, position = data[written:], position + written


def _line(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _intent(data: Mapping[str, Any]) -> Intent:
    fields = dict(data)
    fields["way"], fields["purpose"] = Way(fields["way"]), Purpose(fields["purpose"])
    for name in ("connects", "original_connects"):
        fields[name] = tuple((network, endpoint) for network, endpoint in fields[name])
    fields["changes"] = tuple(Change(*change) for change in fields["changes"])
    for name in ("command", "old_command"):
        fields[name] = tuple(fields[name])
    return Intent(**fields)


def _take(journal: Journal, entry: Mapping[str, Any]) -> None:
    time_ = datetime.fromisoformat(entry["time"])
    if "ending" in entry:
        journal.outcome = Outcome(
            Ending(entry["ending"]), journal.id, entry["container"], _text(entry["reason"]), entry["log"]
        )
    else:
        note = _text(entry.get("note"))
        journal.progress.append(Progress(Step(entry["step"]), StepState(entry["state"]), time_, note))
    journal.known |= entry.get("known") or {}


def _text(data: Any) -> Text | None:
    return None if data is None else Text(*data)
