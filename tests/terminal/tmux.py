"""A shell in a real terminal emulator, driven by keys and judged by what stands on its screen.

Needs tmux (Debian: tmux). Where it is missing the tests are skipped, and fail when `CI=true`.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

import pytest

LIMIT = 60.0
PROMPT = "ready>"


class Screen:
    """One terminal with a shell in it, in a tmux server of its own.

    Args:
        size: columns and rows.
        environment: on top of that of the tests.
    """

    def __init__(self, size: tuple[int, int] = (120, 36), environment: Mapping[str, str] | None = None) -> None:
        if shutil.which("tmux") is None:
            message = "tmux is not installed"
            pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)
        # A socket path has at most 107 bytes.
        self._folder = Path(tempfile.mkdtemp(prefix="sgd-", dir="/tmp"))
        program = Path(sys.executable).parent / "sgdoctor"
        given = {
            **os.environ,
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            **(environment or {}),
        }
        # pytest-xdist tells its workers the width of the terminal that it runs in; Textual would believe that.
        for variable in ("TMUX", "COLUMNS", "LINES"):
            given.pop(variable, None)
        columns, rows = map(str, size)
        # Not through the environment: the shell that tmux starts the command with may drop it.
        shell = f"PS1='{PROMPT} ' exec sh"
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", rows, shell, environment=given)

    def __enter__(self) -> Self:
        self.until(PROMPT)
        # Else Ctrl-C ends the line that is to tell the exit code, too.
        self._line("trap : INT")
        return self

    def __exit__(self, *problem: object) -> None:
        self._tmux("kill-server")
        shutil.rmtree(self._folder)

    # ------------------------------------------------------------ what a person does

    def run(self, command: str) -> None:
        """Type a command line; its exit code follows its output."""
        self._line("clear")
        self.until(lambda screen: screen == PROMPT)
        self._line(f"{command}; echo code:$?")

    def _line(self, text: str) -> None:
        self.type(text)
        self.press("Enter")

    def press(self, *keys: str) -> None:
        """Press keys, as tmux names them."""
        self._tmux("send-keys", *keys)

    def wait(self, seconds: float) -> None:
        """Let time pass: for what must hold at any moment."""
        time.sleep(seconds)

    def escape(self, text: str) -> None:
        """Press Esc, which makes this text go; the next key comes after that, for with Esc it would be another one."""
        self.press("Escape")
        self.until(lambda screen: text not in screen)

    def type(self, text: str) -> None:
        """Type a text."""
        self._tmux("send-keys", "-l", text)

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    # ------------------------------------------------------------ what a person sees

    @property
    def text(self) -> str:
        """What stands on the screen."""
        return self._tmux("capture-pane", "-p").rstrip()

    def ask(self, name: str) -> str:
        """A variable of tmux about the terminal, such as `alternate_on`."""
        return self._tmux("display-message", "-p", f"#{{{name}}}").strip()

    def until(self, *wanted: str | Callable[[str], bool], limit: float = LIMIT) -> str:
        """Wait until all of these texts stand on the screen, or are told to be; gives the screen."""
        end = time.monotonic() + limit
        while True:
            text = self.text
            missing = [each for each in wanted if not (each in text if isinstance(each, str) else each(text))]
            if not missing:
                return text
            assert time.monotonic() < end, f"not in {limit:g} s: {missing}\n{'-' * 40}\n{text}\n{'-' * 40}"
            time.sleep(0.05)

    def ended(self) -> int:
        """Wait until the command has ended; its exit code. The terminal must be as a shell needs it."""
        told = re.compile(r"code:(\d+)")
        text = self.until(lambda screen: told.search(screen) is not None, lambda screen: screen.endswith(PROMPT))
        state = {name: self.ask(name) for name in ("alternate_on", "mouse_any_flag", "cursor_flag", "keypad_flag")}
        assert state == {"alternate_on": "0", "mouse_any_flag": "0", "cursor_flag": "1", "keypad_flag": "0"}, text
        assert "Traceback" not in text, text
        found = told.search(text)
        assert found is not None
        # Lines, echo and Ctrl-C are the terminal's again.
        self._line("clear")
        self._line("stty -a")
        self.until("\nisig icanon ", " echo ")
        return int(found[1])

    def _tmux(self, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
        command = ["tmux", "-u", "-S", str(self._folder / "tmux"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=LIMIT, check=False)
        assert done.returncode == 0 or arguments == ("kill-server",), f"{arguments}: {done.stderr}"
        return done.stdout
