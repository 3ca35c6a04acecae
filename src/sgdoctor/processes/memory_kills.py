"""Whether the kernel killed one of some processes because memory ran out, as far as it lets us know."""

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

_LOG: Final = Path("/dev/kmsg")
_CGROUPS: Final = Path("/sys/fs/cgroup")
_KILLS: Final = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)
# mm/oom_kill.c: "oom-kill:constraint=...,task=python3,pid=4711,uid=0" and "Out of memory: Killed process 4711 (...)"
_KILLED: Final = re.compile(rb"oom-kill:.*[,:]pid=(\d+)|Killed process (\d+)")
_RECORD: Final = 8192


class MemoryKills:
    """Looks from the moment that it is made; few users can read the kernel log, all the counters of a cgroup.

    Args:
        log: of the kernel.
        counter: file of the cgroup; None for that of this process.
    """

    def __init__(self, log: Path = _LOG, counter: Path | None = None) -> None:
        self._counter = counter or _own_counter()
        self._before = _count(self._counter)
        self._log = -1
        with suppress(OSError):
            self._log = os.open(log, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self._log, 0, os.SEEK_END)

    def hit(self, pids: frozenset[int]) -> bool:
        """Whether it did; to be asked once, at the end.

        Args:
            pids: of the processes that are meant.
        """
        in_log = bool(pids & self._killed())
        if self._log >= 0:
            os.close(self._log)
            self._log = -1
        return in_log or _count(self._counter) > self._before

    def _killed(self) -> set[int]:
        found: set[int] = set()
        while self._log >= 0:
            try:
                record = os.read(self._log, _RECORD)
            except BrokenPipeError:  # records were overwritten before they were read
                continue
            except OSError:
                break
            if not record:
                break
            found.update(int(match[1] or match[2]) for match in _KILLED.finditer(record))
        return found


def _own_counter() -> Path | None:
    """The file that counts such kills in the cgroup of this process; None where there is none."""
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            number, controllers, path = line.split(":", 2)
            if number == "0":
                file = _CGROUPS / path.lstrip("/") / "memory.events"
            elif "memory" in controllers.split(","):
                file = _CGROUPS / "memory" / path.lstrip("/") / "memory.oom_control"
            else:
                continue
            if file.is_file():
                return file
    return None


def _count(file: Path | None) -> int:
    if file is not None:
        with suppress(OSError, UnicodeDecodeError):
            found = _KILLS.search(file.read_text())
            return int(found[1]) if found is not None else 0
    return 0
