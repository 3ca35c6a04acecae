"""Stands between sgdoctor and an engine, so that no process of the engine outlives sgdoctor, however that ends.

It is run as a script of its own, by the bare interpreter: it imports nothing but the standard library, and little of
it. A parent-death signal alone would do for the engine's first process only: those below a shell or a wrapper would go
on and keep the GPU. This process adopts them (PR_SET_CHILD_SUBREAPER), and the end of its control pipe tells it that
sgdoctor is gone.

Words: the descriptors of the control pipe, of the status pipe and of the output, then the command. On the control pipe
come ``I``, ``T`` and ``K``: SIGINT and SIGTERM for the engine's process group, and the end of everything. On the status
pipe go lines: ``began PID``, ``failed ERRNO``, ``ended CODE`` (negative for a signal), ``left COUNT`` once processes
that the engine left behind are going to be ended.
"""

import errno
import os
import select
import signal
import sys
import time
from contextlib import suppress

_SET_PDEATHSIG = 1  # linux/prctl.h
_SET_CHILD_SUBREAPER = 36
# Children of SGLang end by themselves when their parent has (PR_SET_PDEATHSIG, srt/utils kill_itself_when_parent_died).
_LEFT_SECONDS = 3.0
_TERM_SECONDS = 5.0
_KILL_EVERY = 0.2
_IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
# Python ignores these, and what is ignored stays so in the engine.
_RESTORED = (*_IGNORED, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ)


class Guard:
    """Starts the engine, passes signals on, and is there until the last process of it is gone.

    Args:
        control: descriptor to read from.
        status: descriptor to write to.
    """

    def __init__(self, control: int, status: int) -> None:
        self._control = control
        self._status = status
        self._pid = 0
        self._ended = False
        self._steps: list[tuple[float, int]] = []
        """What is still to be done, and when: the times are ascending."""
        self._left = False

    def run(self, words: list[str], output: int) -> int:
        """Returns once nothing is left of the engine."""
        _prctl(_SET_CHILD_SUBREAPER, 1)
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        wake, waker = os.pipe()
        os.set_blocking(waker, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        problem = self._start(words, output)
        os.close(output)
        if problem:
            self._say(f"failed {problem}")
            return 1
        self._say(f"began {self._pid}")
        while self._reap():
            self._wait(wake)
            self._take_steps()
        return 0

    # ------------------------------------------------------------ the engine

    def _start(self, words: list[str], output: int) -> int:
        """Start the engine; the number of the error, 0 for none."""
        report, reporter = os.pipe()
        parent = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                os.setpgid(0, 0)
                _prctl(_SET_PDEATHSIG, signal.SIGKILL)
                if os.getppid() != parent:
                    os._exit(1)
                nothing = os.open(os.devnull, os.O_RDONLY)
                for source, target in ((nothing, 0), (output, 1), (output, 2)):
                    os.dup2(source, target)
                signal.set_wakeup_fd(-1)
                for number in _RESTORED:
                    signal.signal(number, signal.SIG_DFL)
                os.execvp(words[0], words)  # noqa: S606 - the user's own command, word by word
            except OSError as error:
                os.write(reporter, str(error.errno or errno.EINVAL).encode())
            os._exit(127)
        os.close(reporter)
        with suppress(OSError):
            # Whoever is first: no signal may go to a group that is not there yet.
            os.setpgid(self._pid, self._pid)
        problem = os.read(report, 16)
        os.close(report)
        return int(problem or b"0")

    def _reap(self) -> bool:
        """Take the ends of processes; whether any is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._pid:
                self._ended = True
                self._say(f"ended {os.waitstatus_to_exitcode(status)}")
                self._plan_end(_LEFT_SECONDS)

    # ------------------------------------------------------------ signals

    def _wait(self, wake: int) -> None:
        """Until something happens or is to be done."""
        seconds = None if not self._steps else max(0.0, self._steps[0][0] - time.monotonic())
        ready = select.select([fd for fd in (self._control, wake) if fd >= 0], [], [], seconds)[0]
        if wake in ready:
            with suppress(BlockingIOError):
                if signal.SIGTERM in os.read(wake, 256):
                    self._plan_end(0.0)
        if self._control in ready:
            self._obey(os.read(self._control, 16))

    def _obey(self, commands: bytes) -> None:
        if not commands:
            os.close(self._control)
            self._control = -1
            self._plan_end(0.0)
        for command in commands:
            match chr(command):
                case "I":
                    self._signal(signal.SIGINT)
                case "T":
                    self._signal(signal.SIGTERM)
                case "K":
                    self._steps = [(time.monotonic(), signal.SIGKILL)]

    def _plan_end(self, seconds: float) -> None:
        """Everything ends from then on, unless that is planned already."""
        now = time.monotonic()
        if not self._steps or self._steps[0][0] > now + seconds:
            self._steps = [(now + seconds, signal.SIGTERM), (now + seconds + _TERM_SECONDS, signal.SIGKILL)]

    def _take_steps(self) -> None:
        while self._steps and self._steps[0][0] <= time.monotonic():
            number = self._steps.pop(0)[1]
            if self._ended and not self._left:
                self._left = True
                if count := len(below(os.getpid())):
                    self._say(f"left {count}")
            self._signal(number)
            if number == signal.SIGKILL:
                # Until the last one is gone: a process may have been made meanwhile.
                self._steps = [(time.monotonic() + _KILL_EVERY, signal.SIGKILL)]

    def _signal(self, number: int) -> None:
        """To the group of the engine; what ends it reaches those that left the group, too."""
        if not self._ended:
            # The group is there as long as its first process was not waited for.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, number)
        if number == signal.SIGINT:
            return
        for pid, group in below(os.getpid()):
            if self._ended or group != self._pid:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)

    def _say(self, text: str) -> None:
        with suppress(OSError):  # nobody listens any more
            os.write(self._status, f"{text}\n".encode())


def below(ancestor: int) -> list[tuple[int, int]]:
    """The processes below one that live, with their groups; none on systems without ``/proc``."""
    children: dict[int, list[tuple[int, int]]] = {}
    with suppress(OSError):
        for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib is slow to load
            if not name.isdigit():
                continue
            with suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                # The name of the program may hold blanks and brackets.
                fields = file.read().rpartition(b")")[2].split()
                if fields[0] != b"Z":
                    children.setdefault(int(fields[1]), []).append((int(name), int(fields[2])))
    found: list[tuple[int, int]] = []
    waiting = [ancestor]
    while waiting:
        below = children.pop(waiting.pop(), [])
        found += below
        waiting += [pid for pid, _ in below]
    return found


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        from ctypes import CDLL  # noqa: PLC0415 - not everywhere

        CDLL(None).prctl(option, value, 0, 0, 0)


def main(arguments: list[str]) -> int:
    """As the module says."""
    control, status, output = map(int, arguments[:3])
    for descriptor in (control, status, output):
        os.set_inheritable(descriptor, False)  # noqa: FBT003
    return Guard(control, status).run(arguments[3:], output)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
