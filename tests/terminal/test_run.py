"""``sgdoctor run --tui`` in a real terminal, with the stand-in as the engine."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.test_run import ENGINE, FITS, SERVER, free_port
from tests.processes.conftest import alive, pid_in, until
from tests.terminal.tmux import Screen


def child_of(parent: int) -> int:
    found = subprocess.run(["pgrep", "-P", str(parent), "-f", "sgdoctor"], capture_output=True, text=True, check=True)
    return int(found.stdout.split()[0])


def engines_at(port: str) -> list[int]:
    """The engines that were started with a port, with what they leave behind; not who started them."""
    words = (b"sglang.launch_server\0", f"--port\0{port}".encode())
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            line = path.read_bytes()
            pid = int(path.parent.name)
            ours = all(word in line for word in words) or line == b"sleep\0" + f"9{port}\0".encode()
            if ours and b"sgdoctor" not in line and alive(pid):
                found.append(pid)
    return found


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Screen]:
    given = {
        "XDG_STATE_HOME": str(tmp_path),
        "STANDIN_SCENARIO": "decide",
        "STANDIN_MODEL": "qwen3.6-27b",
        "PYTHONPATH": str(ENGINE),
    }
    with Screen(environment=given) as terminal:
        yield terminal


def test_leaving_the_app_stops_the_server(screen: Screen, tmp_path: Path) -> None:
    note = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))"
    source = f"import os, sys; {note}; os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    command = " ".join(FITS[1:])
    screen.run(f'sgdoctor run --tui --name sgl -- {sys.executable} -c "{source}" {command} --port {free_port()}')
    engine = pid_in(tmp_path / "pid")
    screen.until("✔ READY", "sgl")

    screen.press("q")

    screen.until("Stopping the server", "sgl: stopped by you; it served for")
    assert 0 == screen.ended()
    until(lambda: not alive(engine), "the engine lives")


def test_a_failure_leads_to_the_plan_and_the_next_start(screen: Screen) -> None:
    screen.run(f"sgdoctor run --tui --name sgl -- {' '.join(SERVER)} --port {free_port()}")
    screen.until("FAILED", "SGL401")

    screen.press("q")
    screen.until("Start it again like this? [y/N]")
    screen.type("y\n")
    screen.until("✔ READY")
    screen.press("q")

    assert 0 == screen.ended()


def test_it_heals_in_the_app_without_a_key(screen: Screen) -> None:
    screen.run(f"sgdoctor run --tui --heal --name sgl -- {' '.join(SERVER)} --port {free_port()}")

    screen.until("✔ READY")
    screen.press("q")

    screen.until("The next start, with --mem-fraction-static 0.92", "sgl: stopped by you; it served for")
    assert 0 == screen.ended()


def test_the_language_that_is_asked_for_counts_more_than_the_remembered_one(screen: Screen, tmp_path: Path) -> None:
    (tmp_path / "sgdoctor").mkdir()
    (tmp_path / "sgdoctor" / "watch.json").write_text('{"language": "zh"}')
    screen.run(f"sgdoctor run --lang en --tui --name sgl -- {' '.join(FITS)} --port {free_port()}")

    screen.until("✔ READY")
    screen.press("q")

    screen.until("sgl: stopped by you; it served for")
    assert 0 == screen.ended()


def test_crash_plan_new_start_and_back_in_the_app(screen: Screen, tmp_path: Path) -> None:
    port = free_port()
    screen.run(f"sgdoctor run --tui --name sgl -- {' '.join(SERVER)} --port {port}")
    screen.until("FAILED", "SGL401 ●●●", "Plan (f)  1 change")

    screen.press("f")
    screen.until("Relaunch sgl (", ") with 1 change", "  - ", "  + ", "--mem-fraction-static 0.92", "expected to serve")
    screen.press("Enter")
    screen.until("Relaunch sgl (process ", "It has ended.", "The launch of now is kept, for the way back", " No ")
    screen.escape("Please confirm")
    screen.press("Enter")
    screen.until("Please confirm")
    screen.press("y")
    screen.until("✔ start the new server", "✔ wait until it serves", "sgl serves with the new launch", "✔ READY")
    (serving,) = engines_at(port)

    screen.escape("serves with the new launch")
    screen.press("u")
    screen.until("as at start 1?", "That launch failed", "It is started, and not waited for", "is going to be stopped")
    screen.press("y")
    screen.until("✔ stop the old server", "sgl is started as at start 1, which failed before", "✖ FAILED")
    assert not alive(serving)
    screen.escape("which failed before")
    screen.press("q")
    # What served is no launch that must not be tried again.
    screen.until("The next start, with --mem-fraction-static 0.92", "Start it again like this? [y/N]")
    screen.type("n\n")
    assert 3 == screen.ended()
    screen.run("sgdoctor history sgl")
    screen.until(
        "1  ",
        "+ --mem-fraction-static 0.92",
        "- --mem-fraction-static 0.92",
        "back to an earlier launch",
        "sgl: 3 starts; none runs now.",
    )
    screen.ended()


@pytest.mark.parametrize("moment", ["serving", "waiting", "stopping"])
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_no_process_is_left_whatever_goes_on(screen: Screen, moment: str, number: int) -> None:
    port = free_port()
    slow = "STANDIN_PACE=20 " if moment == "waiting" else ""
    # It outlives the engine, and is deaf to all but SIGKILL.
    deaf = f'(trap \\"\\" INT TERM; sleep 9{port}) & ' if moment == "stopping" else ""
    command = f'bash -c "{deaf}exec {" ".join(SERVER)} --port {port}"'
    screen.run(f"{slow}sgdoctor run --tui --name sgl -- {command}")
    screen.until("FAILED", "SGL401")
    screen.press("r")
    screen.until("Please confirm")
    screen.press("y")
    if moment == "waiting":
        screen.until("▶ wait until it serves", lambda _: bool(engines_at(port)))
    else:
        screen.until("sgl serves with the new launch")
        screen.escape("serves with the new launch")
    if moment == "stopping":
        screen.press("u")
        screen.until("Please confirm")
        screen.press("y")
        screen.until("▶ stop the old server")
    assert engines_at(port)

    os.kill(child_of(int(screen.ask("pane_pid"))), number)

    until(lambda: not engines_at(port), "an engine lives")
    assert screen.ended() in (0, 130)
