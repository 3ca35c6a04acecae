"""The demonstration: two recorded starts, said to be recordings, from nothing but the package."""

import json
import os
import subprocess
import sys
import tomllib

import pytest

from sgdoctor.demo import recording
from sgdoctor.demo.recording import NOTES, load_recording, replay
from sgdoctor.watching.feeds import Begun, Output
from tests.conftest import LOGS, REPO

FAILED, CURED = "article27-mfs-0.80", "article27-w19.28-mfs-0.92"


def demo(*arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sgdoctor", "demo", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, **(environment or {})},
    )


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_without_a_terminal_it_prints_both_starts_and_says_what_they_are(lang: str) -> None:
    done = demo("--speed", "50", "--lang", lang)

    assert (done.returncode, done.stderr) == (0, "")
    for note in ("failing", "cured", "over-in-lines"):
        assert NOTES[note].in_language(lang) in done.stdout.splitlines()
    failure, _, second = done.stdout.partition(NOTES["cured"].in_language(lang))
    assert "SGL401" in failure
    assert "--mem-fraction-static 0.93" in failure
    assert "20,267" in second
    assert second.splitlines()[-1] == {
        "en": "healthy: ready after 38 s, nothing is wrong.",
        "zh": "正常：服务在 38 秒后就绪，没有问题。",
    }[lang]  # fmt: skip


def test_what_is_said_about_the_recording_stands_where_it_belongs() -> None:
    lines = demo("--speed", "50", "--lang", "en").stdout.splitlines()
    told = [
        NOTES["failing"].en,
        next(line for line in lines if line.endswith("19.03 GiB, 0.2 s")),
        next(line for line in lines if line.startswith("failed at state cache")),
        NOTES["pause"].en,
        "--- attempt 2",
        NOTES["cured"].en,
        next(line for line in lines if "ready  " in line),
        NOTES["over-in-lines"].en,
    ]

    assert [line for line in lines if line in told] == told


@pytest.mark.parametrize("speed", ["0", "-1", "nan", "1e9"])
def test_a_speed_that_is_none_is_refused(speed: str) -> None:
    done = demo(f"--speed={speed}")

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_lines_need_neither_textual_nor_docker_nor_the_driver() -> None:
    code = (
        "import sys; from sgdoctor.cli.main import main; code = main(['demo', '--plain', '--speed', '500']);"
        "sys.exit(code or any(name in sys.modules for name in ('textual', 'docker', 'pynvml')))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)

    assert done.returncode == 0


def test_the_log_is_the_recorded_one_but_for_the_clock_of_the_second_start() -> None:
    script = [entry for _, entry in load_recording().script]
    second = [number for number, entry in enumerate(script) if isinstance(entry, Begun)][1]
    failed = b"".join(entry for entry in script[:second] if isinstance(entry, bytes))
    cured = b"".join(entry for entry in script[second:] if isinstance(entry, bytes))
    original = (LOGS / "real" / f"{CURED}.log").read_bytes()

    assert failed == (LOGS / "real" / f"{FAILED}.log").read_bytes()
    assert recording._CLOCK.sub(b"", cured) == recording._CLOCK.sub(b"", original[: len(cured)])
    assert original[len(cured) :].splitlines()[0].endswith(b"Draining requests and shutting down...")
    assert [entry.data for entry in script if isinstance(entry, Output)] == [b"sgdoctor  | demo exited with code 137\n"]


def test_the_second_start_begins_after_the_first_has_ended() -> None:
    clocks = [
        found[0] for _, entry in load_recording().script if isinstance(entry, bytes)
        for found in recording._CLOCK.finditer(entry)
    ]  # fmt: skip

    assert clocks == sorted(clocks)
    assert clocks[0] == b"2026-11-30 11:11:07"


def test_the_card_follows_the_clock_of_the_script() -> None:
    now = [0.0]
    _, card = replay(10.0, lambda: now[0])
    seen = {}
    for name, at in (("before", 0.0), ("weights", 3.62), ("dead", 5.0), ("serving", 100.0)):
        now[0] = at
        gpu = card.read().gpus[0]
        seen[name] = (gpu.used_mib, [process.container for process in gpu.processes])

    assert seen["before"] == (624.0, [])
    assert seen["dead"] == (624.0, [])
    assert seen["serving"] == (24145.0, ["recording"])
    assert seen["weights"] == (1313.0, ["recording"])
    assert gpu.total_mib == 25107.0


def test_a_wheel_brings_the_files_along() -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    shipped = {target: source for source, target in included.items() if target.startswith("sgdoctor/demo/")}

    assert sorted(shipped) == sorted(
        f"sgdoctor/demo/recorded/{name}.{kind}" for name in (FAILED, CURED) for kind in ("log", "timing", "jsonl")
    )
    assert all((REPO / source).is_file() for source in shipped.values())
    assert json.loads((REPO / shipped[f"sgdoctor/demo/recorded/{FAILED}.jsonl"]).read_text().splitlines()[0])["gpus"]
