"""An engine as a child: in a process group of its own, with one pipe for all that it prints, ended as a whole."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sgdoctor.errors import UserError
from sgdoctor.processes import guard

_LAST_WISH: Final = 3
_PIPE_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Patience:
    """How long an engine that is to end is given, in seconds.

    Attributes:
        interrupt: after SIGINT.
        terminate: after SIGTERM.
        hurried: after SIGTERM, where the user has asked twice.
        kill: after SIGKILL; then nobody can end it.
    """

    interrupt: float = 15.0
    terminate: float = 10.0
    hurried: float = 3.0
    kill: float = 10.0


class Child:
    """Runs from the moment that it is made.

    Args:
        words: the command.
        env: all of its variables.
        patience: how long it is given to end.

    Attributes:
        pid: of the engine's first process.
        output: descriptor of what it prints on both streams; does not block. Its owner closes it.
        code: with which the first process ended, negative for a signal; None while it runs.
        left: how many processes it left behind when it ended.
        over: whether no process of it is left, or none that can be ended.
        killed: whether it had to be killed because it did not stop.
        stuck: whether a process of it cannot be ended: it hangs in the kernel, and may hold the GPU.

    Raises:
        UserError: the command cannot be run.
    """

    def __init__(self, words: Sequence[str], env: Mapping[str, str], patience: Patience | None = None) -> None:
        self.code: int | None = None
        self.left = 0
        self.over = False
        self.killed = self.stuck = False
        self._patience = patience or Patience()
        self._wishes = 0
        self._heard = 0
        self._next: list[tuple[float, str]] = []
        self._given_up: float | None = None
        self._told = b""
        control, self._control = os.pipe()
        self._status, status = os.pipe()
        self.output, output = os.pipe()
        _widen(output)
        given = (control, status, output)
        try:
            self._guard = subprocess.Popen(  # noqa: S603 - our own script, and the user's own command
                [sys.executable, "-I", "-S", guard.__file__, *map(str, given), *words],
                env=env,
                pass_fds=given,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        finally:
            for descriptor in given:
                os.close(descriptor)
        for descriptor in (self.output, self._status):
            os.set_blocking(descriptor, False)
        self.pid = self._first_words(words)

    @property
    def status(self) -> int:
        """Descriptor that becomes readable when ``attend`` has something to take in; -1 once it is over."""
        return self._status

    @property
    def stopping(self) -> bool:
        """Whether it was asked to stop."""
        return self._wishes > 0

    def stop(self) -> None:
        """Ask it to stop; each further call is more urgent. For any thread and for handlers of signals."""
        self._wishes += 1

    def kill(self) -> None:
        """Let it end at once, with everything below it."""
        self._wishes = max(self._wishes, _LAST_WISH)

    def members(self) -> list[int]:
        """Ids of its processes that live."""
        return [pid for pid, _ in guard.below(self._guard.pid)]

    def attend(self) -> None:
        """Do what is due and take in what has happened; to be called some times a second, by one thread."""
        self._listen()
        now = time.monotonic()
        if self._wishes > self._heard and not self.over:
            self._heard = self._wishes
            self._next = self._escalation(now)
        while self._next and self._next[0][0] <= now:
            self._tell(self._next.pop(0)[1])
        if self._given_up is not None and now > self._given_up and not self.over:
            # In an uninterruptible call of a driver, mostly: nobody should wait for it.
            self.stuck = True
            self._let_go()

    def close(self) -> None:
        """End it if it runs, and wait for that."""
        self.kill()
        while not self.over:
            self.attend()
            if not self.over:
                time.sleep(0.01)

    # ------------------------------------------------------------ parts

    def _escalation(self, now: float) -> list[tuple[float, str]]:
        patience = self._patience
        match self._heard:
            case 1:
                term = now + patience.interrupt
                return [(now, "I"), (term, "T"), (term + patience.terminate, "K")]
            case 2:
                return [(now, "T"), (now + patience.hurried, "K")]
            case _:
                return [(now, "K")]

    def _tell(self, command: str) -> None:
        if command == "K":
            self._given_up = time.monotonic() + self._patience.kill
            self.killed = self.code is None
        with suppress(BrokenPipeError):
            os.write(self._control, command.encode())

    def _first_words(self, words: Sequence[str]) -> int:
        """The id of the engine.

        Raises:
            UserError: it could not be started.
        """
        os.set_blocking(self._status, True)
        said = b""
        while not said.endswith(b"\n") and (part := os.read(self._status, 1)):
            said += part
        os.set_blocking(self._status, False)
        word, _, number = said.decode().partition(" ")
        if word == "began":
            return int(number)
        self._end_guard()
        os.close(self.output)
        reason = os.strerror(int(number)) if word == "failed" else "?"
        raise UserError(f"{words[0]}: cannot be run: {reason}", f"{words[0]}：无法运行：{reason}")

    def _listen(self) -> None:
        if self.over:
            return
        gone = False
        with suppress(BlockingIOError):
            while True:
                part = os.read(self._status, 4096)
                if not part:
                    gone = True
                    break
                self._told += part
        *lines, self._told = self._told.split(b"\n")
        for line in lines:
            word, _, number = line.decode().partition(" ")
            if word == "ended":
                self.code = int(number)
            elif word == "left":
                self.left = int(number)
        if gone:
            self._end_guard()

    def _end_guard(self) -> None:
        """The guard has nothing more to say."""
        self._let_go()
        if self._guard.wait() != 0 and self.code is None:
            # Somebody killed the guard, and with it went the engine.
            self.code = -signal.SIGKILL

    def _let_go(self) -> None:
        self.over = True
        for descriptor in (self._control, self._status):
            os.close(descriptor)
        self._control = self._status = -1


def _widen(pipe: int) -> None:
    """Room for a moment in which nobody reads, so that the engine does not wait."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):  # users have a limit for all of their pipes
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def program_of(words: Sequence[str]) -> Path:
    """The file that a command runs.

    Raises:
        UserError: there is none.
    """
    from shutil import which  # noqa: PLC0415 - slow to load

    name = words[0]
    found = which(name)
    if found is not None:
        return Path(found)
    if " " in name.strip():
        raise UserError(
            f"{name!r} is one word here; give the command without quotes around it",
            f"{name!r} 在这里是一个词；请不要给整条命令加引号",
        )
    if Path(name).is_file():
        raise UserError(f"{name}: not executable; chmod +x {name}", f"{name}：没有执行权限；chmod +x {name}")
    raise UserError(f"{name}: no such program", f"{name}：没有这个程序")
