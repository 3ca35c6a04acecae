"""The installed program in a real terminal, on logs: what a person sees, presses and gets back."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import LOGS
from tests.terminal.tmux import Screen

FAILED = LOGS / "real" / "article27-mfs-0.80.log"
LOOP = LOGS / "composed" / "crash-loop.log"


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Screen]:
    with Screen(environment={"XDG_STATE_HOME": str(tmp_path)}) as terminal:
        yield terminal


def test_a_failed_start_is_read_with_a_few_keys(screen: Screen) -> None:
    screen.run(f"sgdoctor watch --file {FAILED}")
    screen.until("✖ FAILED", "SGL401 ●●●", "▶ 141 │", "--mem-fraction-static 0.93", "23.2 GiB")

    screen.press("n")
    screen.until("▶✖ 141", "Computed max_mam")
    screen.press("z")
    whole = screen.until("raise RuntimeError(", "scheduler = Scheduler(")
    assert "SGL401 ●●●" not in whole
    screen.press("z")
    screen.until("SGL401 ●●●")

    screen.press("/")
    screen.until("Ctrl+R")
    screen.type("sigquit")
    screen.until("match 2 of 2", "Received sigquit from a child process")
    screen.press("Enter")
    screen.until(lambda text: "Ctrl+R" not in text)
    screen.escape("match 2 of 2")

    screen.press("?")
    screen.until("next line of evidence, in the log", "follow the newest line, or stop")
    screen.escape("follow the newest line, or stop")
    screen.press("2", "e")
    screen.until("SGL401", "state-cache-empty")
    screen.escape("state-cache-empty")
    screen.until("✖ FAILED", "SGL401 ●●●")

    screen.press("q")
    assert screen.ended() == 3


def test_the_starts_of_a_crash_loop(screen: Screen) -> None:
    screen.run(f"sgdoctor watch --file {LOOP}")
    screen.until("✖ FAILED", "start 5 of 5", "SGL402 ●●●")

    screen.press("[")
    screen.until("start 4 of 5")
    screen.press("a")
    screen.until("1 ✖ The server does not know this argument", "always the newest")
    screen.escape("always the newest")
    screen.press("]")
    screen.until("start 5 of 5")

    screen.press("C-c")
    assert screen.ended() == 3


def test_every_size_and_back(screen: Screen) -> None:
    screen.run(f"sgdoctor watch --file {FAILED}")
    before = screen.until("✖ FAILED", "SGL401 ●●●", "▶ 141 │")

    screen.resize(20, 5)
    screen.until("✖ FAILED", lambda text: len(text.splitlines()) <= 5)
    screen.resize(80, 24)
    small = screen.until("SGL401 ●●●", "1 Start-up", "q Quit")
    assert "▶ 141 │" in small
    screen.press("3")
    screen.until("kill_process_tree called")
    screen.press("2")
    screen.until("SGL401 ●●●")
    screen.resize(120, 36)
    screen.until("▶ 141 │", "3 Log", "4 GPU", lambda text: text.splitlines()[:3] == before.splitlines()[:3])

    screen.press("q")
    assert screen.ended() == 3


def test_both_languages(screen: Screen) -> None:
    screen.run(f"sgdoctor --lang zh watch --file {FAILED}")
    screen.until("✖ 失败", "权重没有给混合模型的状态缓存留下显存", "q 退出")
    screen.press("?")
    screen.until("日志中的下一行证据")
    screen.escape("日志中的下一行证据")

    screen.press("l")
    screen.until("✖ FAILED", "q Quit")
    screen.press("q")
    assert screen.ended() == 3


def test_ctrl_c_at_any_moment(screen: Screen) -> None:
    # Python has begun when it says so; before, it answers to Ctrl-C in its own way.
    program = 'print("now", flush=True); from sgdoctor.__main__ import main; raise SystemExit(main())'
    command = f"python -c '{program}' watch --file {FAILED}"
    for seconds in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7):
        screen.run(command)
        screen.until(lambda text: re.search(r"^ ?(now|sgdoctor )", text, re.MULTILINE) is not None)
        # From the first import until the first screen is drawn.
        screen.wait(seconds)
        screen.press("C-c")
        assert screen.ended() in (0, 3, 130)


def test_what_others_wrote_into_the_log_stays_text(screen: Screen, tmp_path: Path) -> None:
    log = tmp_path / "hostile.log"
    evil = b"\x1b]0;taken over\x07\x1b[2J\x1b[31m[bold red]markup[/] \xe2\x80\xae\x9b31m\x1bP0\x1b\\ \x1b[?1049l end of line\n"
    lines = FAILED.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join((*lines[:20], evil, *lines[20:], evil)))
    title = screen.ask("pane_title")

    screen.run(f"sgdoctor watch --file {log}")
    screen.until("✖ FAILED", "SGL401 ●●●")
    screen.press("3", "G")
    screen.until("[bold red]markup[/]", "end of line")

    assert screen.ask("pane_title") == title
    assert screen.ask("alternate_on") == "1"
    screen.press("q")
    assert screen.ended() == 3


def test_the_demonstration(screen: Screen) -> None:
    screen.run("sgdoctor demo --speed 30")
    screen.until("A recording", "✖ FAILED", "SGL401 ●●●", "--mem-fraction-static 0.93")
    screen.until("start 2 of 2", "✔ READY", "weights 19.28", "End of the recording")
    screen.press("[")
    screen.until("✖ FAILED", "start 1 of 2", "SGL401 ●●●")
    screen.press("r")
    screen.until("This is the demonstration")
    screen.press("q")
    assert screen.ended() == 0
