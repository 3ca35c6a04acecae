"""``sgdoctor run --tui`` in a real terminal, with the stand-in as the engine."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_run import ENGINE, FITS, SERVER, free_port
from tests.processes.conftest import alive, pid_in, until
from tests.terminal.tmux import Screen


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
