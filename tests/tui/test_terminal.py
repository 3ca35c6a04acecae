"""The installed program on a real (pseudo) terminal: it leaves it as it was, however it is ended."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from tests.tui.moments import REAL, data_of

LOG = REAL / "article27-w19.28-mfs-0.88.log"
RESTORED = b"\x1b[?1049l"


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, command: list[str], columns: int = 120, rows: int = 36, *, controlling: bool = True) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
            # Its controlling terminal, so that Ctrl-C is a signal as long as nobody has asked for keys.
            preexec_fn=(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if controlling else None,  # noqa: PLW1509 - the test has no other thread
        )
        os.close(slave)
        self.output = b""

    def read(self, seconds: float) -> bool:
        """Take what comes; False at the end."""
        if not select.select([self._master], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:
            return False
        self.output += data
        return bool(data)

    def until(self, text: str | bytes) -> None:
        limit = time.monotonic() + 30
        while (text not in self.plain) if isinstance(text, str) else (text not in self.output):
            assert time.monotonic() < limit, self.plain[-2000:]
            assert self.read(0.1), self.plain[-2000:]

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def vanish(self) -> int:
        """The window is closed."""
        os.close(self._master)
        return self.process.wait(30)

    def wait(self) -> int:
        limit = time.monotonic() + 30
        while self.read(0.1):
            if time.monotonic() > limit:
                self.process.kill()
        os.close(self._master)
        return self.process.wait(30)

    @property
    def outside(self) -> str:
        """What was written before the app took the screen, and after it gave it back."""
        before, _, rest = self.output.partition(b"\x1b[?1049h")
        return (before + rest.rpartition(RESTORED)[2]).decode("utf-8", "replace")

    @property
    def plain(self) -> str:
        return re.sub(rb"\x1b\[[0-9;?<>=]*[A-Za-z]", b"", self.output).decode("utf-8", "replace")


def watch(*options: str, log: Path = LOG) -> Terminal:
    return Terminal([sys.executable, "-m", "sgdoctor", "watch", "--file", str(log), *options])


@pytest.mark.slow
@pytest.mark.parametrize("way", [b"q", b"\x03", b"\x11", signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_however_it_is_ended_the_terminal_is_as_it_was(way: bytes | signal.Signals) -> None:
    terminal = watch()
    terminal.until("SGL402")
    if isinstance(way, bytes):
        terminal.type(way)
    else:
        terminal.process.send_signal(way)
    code = terminal.wait()

    assert code == 3
    assert RESTORED in terminal.output
    assert b"\x1b[?25h" in terminal.output
    assert "Traceback" not in terminal.outside


@pytest.mark.slow
@pytest.mark.parametrize(
    "sign", [b"", b"\x1b[?1049h", b"\x1b[?25l", b"WAITING"], ids=["import", "screen", "cursor", "first"]
)
def test_ctrl_c_while_it_comes_up_leaves_the_terminal_as_it_was(sign: bytes) -> None:
    terminal = watch()
    if sign:
        terminal.until(sign)
    else:
        time.sleep(0.4)
    terminal.process.send_signal(signal.SIGINT)
    code = terminal.wait()

    assert code in (0, 3, -signal.SIGINT)
    assert (b"\x1b[?1049h" in terminal.output) == (RESTORED in terminal.output)
    assert "Traceback" not in terminal.outside


@pytest.mark.slow
@pytest.mark.parametrize("controlling", [True, False], ids=["with SIGHUP", "without a word"])
def test_it_ends_with_its_terminal(*, controlling: bool) -> None:
    terminal = Terminal([sys.executable, "-m", "sgdoctor", "watch", "--file", str(LOG)], controlling=controlling)
    terminal.until("SGL402")

    assert terminal.vanish() in (3, 129)


@pytest.mark.slow
def test_an_error_of_the_app_is_one_line_on_a_restored_terminal() -> None:
    program = (
        "import sys\n"
        "from tests.tui.moments import ToldSession, data_of\n"
        "from sgdoctor.tui.app import run_app\n"
        "from sgdoctor.tui.ports import Options\n"
        "try:\n"
        "    run_app(ToldSession(data_of('boot-dense'), 'no snapshot'), None, Options())\n"
        "except AttributeError as error:\n"
        "    print('raised', type(error).__name__)\n"
    )
    terminal = Terminal([sys.executable, "-c", program])
    code = terminal.wait()

    assert code == 0
    assert "raised AttributeError" in terminal.output.rpartition(RESTORED)[2].decode()
    assert "Traceback" not in terminal.outside


@pytest.mark.slow
@pytest.mark.parametrize(("until", "code"), [("", 3), ("The server is fired up", 0)], ids=["failed", "ready"])
def test_until_ready_ends_by_itself(tmp_path: Path, until: str, code: int) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(data_of("warm-dense" if until else "skel27-mfs-0.80", until=until))
    terminal = watch("--until-ready", "--speed", "1000", log=log)

    assert terminal.wait() == code
    assert RESTORED in terminal.output
    assert "Traceback" not in terminal.outside


@pytest.mark.slow
def test_the_language_that_the_command_line_asks_for_goes_before_the_one_of_last_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for options, said in (
        (("--lang", "zh"), "状态缓存只有 3 个槽"),
        ((), "状态缓存只有 3 个槽"),
        (("--lang", "en"), "fewer slots (3)"),
    ):
        terminal = watch(*options)
        terminal.until(said)
        terminal.type(b"q")
        assert terminal.wait() == 3
