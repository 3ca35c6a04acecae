"""``sgdoctor run`` with the stand-in engine as a bare process."""

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

from sgdoctor.cli import run_texts
from sgdoctor.cli.main import main
from sgdoctor.relaunch.heal.model import End
from tests.conftest import REPO
from tests.processes.conftest import alive, until
from tests.standin.parity import put_model

ENGINE = REPO / "tests" / "standin" / "engine"
SERVER = [sys.executable, "-m", "sglang.launch_server", "--model-path", "/models/27b"]
FITS = [*SERVER, "--mem-fraction-static", "0.92"]
LIMIT_S = 40
# A container that was never started, a deadline, a way back: there is none of that here.
NEVER = {End.IDLE, End.DEADLINE, End.OPEN, End.STOPPED}


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])


def port_of(taken: socket.socket) -> list[str]:
    return ["--port", str(taken.getsockname()[1])]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "sgdoctor"


class Run:
    """``sgdoctor run`` as a process of its own."""

    def __init__(self, options: list[str], words: list[str], **told: str) -> None:
        environment = {**os.environ, "STANDIN_SCENARIO": "decide", "STANDIN_MODEL": "qwen3.6-27b", **told}
        environment["PYTHONPATH"] = str(ENGINE)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "sgdoctor", "run", "--lang", "en", "--name", "sgl", *options, "--", *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._printed = bytearray()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self.ended()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            while part := os.read(stream.fileno(), 65536):
                self._printed += part

    @property
    def text(self) -> str:
        return self._printed.decode()

    def printed(self, text: str) -> Self:
        until(lambda: text in self.text, f"{text!r} is not printed")
        return self

    @property
    def engine(self) -> int:
        found = re.findall(r"process (\d+); its log", self.text)
        return int(found[-1])

    def send(self, number: int) -> Self:
        self._process.send_signal(number)
        return self

    def ended(self) -> int:
        code = self._process.wait(LIMIT_S)
        self._reader.join()
        return code

    @property
    def last(self) -> str:
        return self.text.splitlines()[-1]


def history(capsys: pytest.CaptureFixture[str], name: str = "sgl") -> list[dict[str, Any]]:
    assert 0 == main(["history", name, "--lang", "en", "--format", "json"])
    attempts: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["attempts"]
    return attempts


def endings(attempts: list[dict[str, Any]]) -> list[tuple[int, str, str | None]]:
    return [(one["number"], one["ending"], one["rule"]) for one in attempts]


# ---------------------------------------------------------------- serving


def test_serves_until_ctrl_c(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    with Run([], [*FITS, "--port", port]) as run:
        run.printed("ready ")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=LIMIT_S) as answer:
            status = answer.status
        running = history(capsys)
        code = run.send(signal.SIGINT).ended()
        engine = run.engine

    assert (200, 0) == (status, code)
    assert not alive(engine)
    assert re.fullmatch(r"sgl: stopped by you; it served for .*s\.", run.last)
    assert "failed" not in run.text
    assert [(1, "open", None)] == endings(running)
    assert running[0]["current"]
    (attempt,) = history(capsys)
    assert ("done", False, [*FITS, "--port", port]) == (attempt["ending"], attempt["current"], attempt["command"])
    assert {"start", "ready", "serve"} == set(attempt["seconds"])
    assert 13.0 < attempt["phases"]["weights"] < 14.0
    assert b"fired up and ready to roll" in Path(attempt["log"]).read_bytes()


def test_stopped_before_it_serves(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Run([], [*FITS, "--port", free_port()], STANDIN_PACE="1") as run:
        run.printed("process ")
        until(lambda: any("still supported" in p.read_text() for p in state.glob("spool/*/*.log")), "no log")
        code = run.send(signal.SIGINT).ended()

    assert (130, "sgl: stopped by you before it served.") == (code, run.last)
    assert [(1, "stopped", None)] == endings(history(capsys))


def test_ends_what_ignores_sigterm(state: Path) -> None:
    source = (
        "import signal, sys, time\n"
        "for one in (signal.SIGINT, signal.SIGTERM): signal.signal(one, signal.SIG_IGN)\n"
        "print('up', flush=True); time.sleep(600)"
    )
    with Run([], [sys.executable, "-c", source]) as run:
        until(lambda: any(p.read_text() == "up\n" for p in state.glob("spool/*/*.log")), "no log")
        for number, told in enumerate(("Stopping the server", "three more seconds", "ended now"), 1):
            run.send(signal.SIGINT).printed(told)
            assert number == run.text.count("sgdoctor: ")
        code = run.ended()
        engine = run.engine

    assert 130 == code
    assert not alive(engine)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGKILL, -9)])
def test_nothing_is_left_however_it_ends(
    state: Path, capsys: pytest.CaptureFixture[str], number: int, code: int
) -> None:
    with Run([], [*FITS, "--port", free_port()]) as run:
        run.printed("ready ")
        assert code == run.send(number).ended()
        engine = run.engine
        until(lambda: not alive(engine), "the engine lives")

    assert [(1, "open" if number == signal.SIGKILL else "done", None)] == endings(history(capsys))
    main(["history", "sgl", "--lang", "en"])
    said = capsys.readouterr().out
    assert ("was cut off" in said) == (number == signal.SIGKILL)
    assert "sgl: 1 start; it has ended." == said.splitlines()[-1]
    assert "relaunch" not in said


def test_a_start_that_was_cut_off_is_closed_by_the_next_one(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in (signal.SIGKILL, signal.SIGINT):
        with Run([], [*FITS, "--port", free_port()]) as run:
            run.printed("ready ").send(number).ended()

    assert [(1, "failed", None), (2, "done", None)] == endings(history(capsys))
    main(["watch", "--file", str(REPO / "README.md"), "--lang", "en", "--plain"])
    assert "cut off" not in capsys.readouterr().err


def test_one_server_of_a_name(state: Path) -> None:
    with Run([], [*FITS, "--port", free_port()]) as run:
        run.printed("ready ")
        with Run([], [*FITS, "--port", free_port()]) as second:
            code = second.ended()

    assert 2 == code
    assert second.last.startswith("sgdoctor: sgl runs already, by process ")


# ---------------------------------------------------------------- failing


def test_fails_and_shows_the_plan_where_nobody_can_be_asked(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Run([], [*SERVER, "--port", free_port()]) as run:
        code = run.ended()

    assert 3 == code
    assert 1 == run.text.count("✖")
    assert "+" + " ".join([*SERVER, "--port"]) in run.text
    assert "The next start, with --mem-fraction-static 0.92" in run.text
    assert run.last.startswith("sgl does not run. The weights leave no room for the state cache")
    assert run.last.endswith("--yes, --heal")
    assert [(1, "failed", "SGL401")] == endings(history(capsys))


def test_starts_again_with_the_corrected_flags(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*SERVER, "--port", free_port()]
    with Run(["--yes"], words) as run:
        run.printed("Start 2 of sgl").printed("ready ")
        code = run.send(signal.SIGINT).ended()
    main(["history", "sgl", "--lang", "en"])
    shown = capsys.readouterr().out

    assert 0 == code
    assert "Its answers are asked for" not in run.text
    first, second = history(capsys)
    assert [(1, "failed", "SGL401"), (2, "done", None)] == endings([first, second])
    assert words == first["command"]
    assert [*words, "--mem-fraction-static", "0.92"] == second["command"]
    assert [{"kind": "flag.set", "name": "--mem-fraction-static", "value": "0.92"}] == second["changes"]
    assert first["log"] != second["log"]
    assert "    + --mem-fraction-static 0.92\n" in shown
    assert "sgl: 2 starts; none runs now." == shown.splitlines()[-1]


def test_heals_the_founding_launch(state: Path) -> None:
    with Run(["--heal"], [*SERVER, "--port", free_port()], STANDIN_GRAPHS_GIB="0.1") as run:
        run.printed("and its answers were checked. Ctrl-C stops it.")
        code = run.send(signal.SIGINT).ended()

    assert 0 == code
    assert "sgl serves after one more start, and its answers were checked." in run.text
    assert "✔ Start 2: ready and verified" in run.text
    assert "answers" in run.text.partition("Its answers are asked for.")[2]


def test_never_starts_the_same_twice_and_stops_at_what_cannot_fit(state: Path) -> None:
    with Run(["--heal", "--max-attempts", "9"], [*SERVER, "--port", free_port()], STANDIN_MODEL="qwen3-32b") as run:
        code = run.ended()
    commands = [path.read_bytes() for path in sorted(state.glob("spool/sgl/*.json"))]

    assert 3 == code
    assert run.last.startswith("sgl does not run: this model does not fit this card.")
    assert 1 <= len(commands) < 4


def test_wrong_answers_end_it_when_healing(state: Path) -> None:
    with Run(["--heal"], [*FITS, "--port", free_port()], STANDIN_ANSWER="!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!") as run:
        code = run.ended()
        engine = run.engine

    assert 5 == code
    assert not alive(engine)
    assert "what it answers is wrong" in run.last


def test_a_prompt_that_ends_the_server_is_a_failed_start(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    with Run([], [*FITS, "--port", port], STANDIN_PREFILL_GIB="9") as run:
        run.printed("ready ")
        body = json.dumps({"messages": [{"role": "user", "content": "word " * 3000}]}).encode()
        with pytest.raises(OSError):  # noqa: PT011 - whichever way a connection ends
            urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/chat/completions", body, timeout=LIMIT_S)
        code = run.ended()
    main(["history", "sgl", "--lang", "en"])

    assert 3 == code
    assert "served, then failed" in capsys.readouterr().out
    assert [(1, "failed", "SGL415")] == endings(history(capsys))


# ---------------------------------------------------------------- data instead of mounts


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The folder of a model whose list of layers is too short."""
    folder = tmp_path / "models" / "qwen"
    folder.mkdir(parents=True)
    put_model(folder, "35b-a3b", layer_types=["linear_attention"] * 3 + ["full_attention"])
    (folder / "tokenizer.json").write_text("{}")
    return folder


SHORT_LIST = ["--mem-fraction-static", "0.92", "--mamba-full-memory-ratio", "0.7"]
OF_SHORT_LIST = {"STANDIN_MODEL": "qwen3.6-35b-a3b"}


def test_a_corrected_config_stands_beside_links_to_the_model(
    state: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {one.name: one.read_bytes() for one in model.iterdir()}
    words = [*SERVER[:3], "--model-path", str(model), *SHORT_LIST, "--port", free_port()]
    with Run(["--heal"], words, **OF_SHORT_LIST) as run:
        run.printed("and its answers were checked. Ctrl-C stops it.")
        code = run.send(signal.SIGINT).ended()
    first, second = history(capsys)
    path, name = second["changes"]
    given = Path(path["value"])

    assert 0 == code
    assert [(1, "failed", "SGL204"), (2, "done", None)] == endings([first, second])
    assert given.is_relative_to(state / "run" / "sgl")
    assert given.name == "qwen"
    assert 40 == len(json.loads((given / "config.json").read_bytes())["text_config"]["layer_types"])
    assert (given / "tokenizer.json").readlink() == model / "tokenizer.json"
    # Clients know the model by its path, and go on doing so.
    assert ("--served-model-name", str(model)) == (name["name"], name["value"])
    shown = "".join(run.text.split())
    assert f"itnamesitsmodel:{model}" in shown
    assert str(given) in shown
    assert before == {one.name: one.read_bytes() for one in model.iterdir()}
    # What served stays, until it is forgotten.
    assert 0 == main(["forget", "sgl", "--yes", "--lang", "en"])
    assert f"links to a model and corrected files: {state / 'run' / 'sgl'}" in capsys.readouterr().out
    assert not (state / "run" / "sgl").exists()
    assert before == {one.name: one.read_bytes() for one in model.iterdir()}


def test_what_was_written_for_a_launch_that_never_served_is_taken_back(state: Path, model: Path) -> None:
    words = [*SERVER[:3], "--model-path", str(model), *SHORT_LIST, "--port", free_port()]
    with Run(["--heal"], words, **OF_SHORT_LIST, STANDIN_CARD="8GiB:sm86") as run:
        code = run.ended()

    assert 3 == code
    assert "--model-path" in run.text.partition("The next start, with")[2]
    assert "does not fit this card" in run.last
    assert not (state / "run").exists()


@pytest.mark.slow
def test_a_port_that_is_held_does_not_hang(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, Run([], [*FITS, *port_of(taken)]) as run:
        code = run.ended()
        engine = run.engine

    assert 3 == code
    assert not alive(engine)
    assert "It has failed and does not end by itself; it is stopped." in run.text
    assert [(1, "failed", "SGL022")] == endings(history(capsys))


@pytest.mark.slow
def test_a_server_that_is_dead_and_still_up_is_ended(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    told = {"STANDIN_MODEL": "qwen3.6-35b-a3b", "STANDIN_LINGER": "3600"}
    with Run([], [*FITS, "--dtype", "half", "--skip-server-warmup", "--port", port], **told) as run:
        run.printed("ready ")
        body = json.dumps({"messages": [{"role": "user", "content": "Hello."}]}).encode()
        with pytest.raises(OSError):  # noqa: PT011 - whichever way nobody answers
            urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/chat/completions", body, timeout=1)
        code = run.ended()
        engine = run.engine

    assert 3 == code
    assert not alive(engine)
    assert [(1, "failed", "SGL203")] == endings(history(capsys))


def test_not_ready_in_time(state: Path) -> None:
    with Run(["--ready-timeout", "1"], [*FITS, "--port", free_port()], STANDIN_PACE="1") as run:
        code = run.ended()

    assert 5 == code
    assert "It was not ready within 1 s; it is stopped." in run.text


def test_the_last_line_needs_no_end(state: Path) -> None:
    words = [sys.executable, "-c", "import sys; sys.stderr.write('CUDA error: no kernel'); sys.exit(1)"]
    with Run([], words) as run:
        code = run.ended()
    (log,) = state.glob("spool/sgl/*.log")

    assert 5 == code
    assert "CUDA error: no kernel" in run.text
    assert b"CUDA error: no kernel\n" == log.read_bytes()


def test_a_flood_of_output_is_kept_whole(state: Path) -> None:
    source = "import sys\nline = 'x' * 120\nfor n in range(200_000): print(n, line)\nsys.exit(1)"
    with Run([], [sys.executable, "-c", source]) as run:
        code = run.ended()
    (log,) = state.glob("spool/sgl/*.log")

    assert 5 == code
    assert 200_000 == log.read_bytes().count(b"\n")


def test_shells_are_edited_inside(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = f"export HF_HUB_OFFLINE=1; exec {' '.join(SERVER)} --port {free_port()}"
    with Run(["--yes"], ["bash", "-c", line]) as run:
        run.printed("Start 2 of sgl").printed("ready ").send(signal.SIGINT).ended()

    assert ["bash", "-c", f"{line} --mem-fraction-static 0.92"] == history(capsys)[1]["command"]


def test_a_script_cannot_be_edited_and_says_what_to_type(state: Path, tmp_path: Path) -> None:
    script = tmp_path / "serve.sh"
    script.write_text(f"#!/bin/sh\nexec {' '.join(SERVER)} --port {free_port()}\n")
    script.chmod(0o755)
    with Run(["--yes"], [str(script)]) as run:
        code = run.ended()

    assert 3 == code
    assert "--mem-fraction-static 0.92" in run.text
    assert "cannot be changed from here" in run.last


@pytest.mark.parametrize("options", [[], ["--heal"]])
def test_what_is_no_engine_is_not_started_again_unchanged(state: Path, options: list[str]) -> None:
    with Run(options, [sys.executable, "-c", "print('CUDA out of memory'); raise SystemExit(3)"]) as run:
        code = run.ended()

    assert 3 == code
    assert "The next start" not in run.text
    assert "the command does not show how the engine is started" in " ".join(run.text.split())
    assert "--from" not in run.text
    assert run.last.startswith("sgl does not run: only you can put this right. Diagnose the whole log")


@pytest.mark.parametrize("options", [[], ["--heal"]])
def test_what_ends_well_and_never_served_is_said_to_have_ended(state: Path, options: list[str]) -> None:
    with Run(options, [sys.executable, "-c", "print('done')"]) as run:
        code = run.ended()

    assert 5 == code
    assert "error" not in run.text
    assert "sgl does not run: it ended by itself with exit code 0, and never served." == run.last


def test_what_somebody_else_told_to_end_is_said_to_have_been(state: Path) -> None:
    with Run([], [sys.executable, "-c", "import os; os.kill(os.getpid(), 15)"]) as run:
        code = run.ended()

    assert 5 == code
    assert "sgl does not run. It ended with exit code 143 (SIGTERM: asked to stop)." == run.last


# ---------------------------------------------------------------- asking


def on_terminal(words: list[str], say: Callable[[int, bytearray], None]) -> tuple[int, str]:
    """Runs sgdoctor on a terminal; ``say`` is called with it and what was printed until it is over."""
    pid, terminal = pty.fork()
    if pid == 0:
        environment = {**os.environ, "STANDIN_SCENARIO": "decide", "STANDIN_MODEL": "qwen3.6-27b", "TERM": "xterm"}
        environment |= {"PYTHONPATH": str(ENGINE), "COLUMNS": "200"}
        os.execve(sys.executable, [sys.executable, "-m", "sgdoctor", *words], environment)
    printed = bytearray()
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        printed += part
        say(terminal, printed)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(terminal)
    return code, re.sub(r"\x1b\[[0-9;]*m", "", printed.decode().replace("\r\n", "\n"))


def answering(*pairs: tuple[bytes, bytes]) -> Callable[[int, bytearray], None]:
    waiting = list(pairs)

    def say(terminal: int, printed: bytearray) -> None:
        if waiting and waiting[0][0] in printed:
            os.write(terminal, waiting.pop(0)[1])

    return say


@pytest.mark.parametrize(
    ("answers", "code", "last"),
    [
        (((b"[y/N] ", b"y\n"), (b"ready ", b"\x03")), 0, "sgl: stopped by you; it served for"),
        (((b"[y/N] ", b"n\n"),), 3, "sgl does not run. The weights leave no room"),
        (((b"[y/N] ", b"\x03"),), 130, "Start it again like this? [y/N] ^C"),
    ],
)
def test_asks_before_it_starts_again(
    state: Path, answers: tuple[tuple[bytes, bytes], ...], code: int, last: str
) -> None:
    words = ["run", "--lang", "en", "--name", "sgl", "--", *SERVER, "--port", free_port()]
    found, text = on_terminal(words, answering(*answers))

    assert code == found
    assert text.rstrip().splitlines()[-1].startswith(last)


# ---------------------------------------------------------------- the command line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name the command"),
        (["--"], "name the command"),
        (["--max-attempts", "0", "--", "true"], "--max-attempts: 0"),
        (["--name", "a b", "--", "true"], "--name a b"),
        (["--name", "..", "--", "true"], "--name ..: letters, digits"),
        (["--ready-timeout", "0", "--", "true"], "--ready-timeout"),
        (["--tui", "--", "true"], "--tui needs a terminal"),
        (["--", "docker", "run", "x"], "in a container"),
        (["--", "no-such-program-here"], "no such program"),
        (["--", "python -m sglang.launch_server"], "without quotes"),
    ],
)
def test_what_cannot_be_meant(state: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    assert 2 == main(["run", "--lang", "en", *words])
    assert message in capsys.readouterr().err
    assert not list(state.glob("relaunch/*.jsonl"))


def test_the_dashes_may_be_left_out(state: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code = main(["run", "--lang", "en", sys.executable, "-c", "import sys; sys.exit(int(sys.argv[1]))", "3", "--", "x"])

    assert 5 == code
    assert "server does not run" in capfd.readouterr().out


def test_help_is_in_both_languages(capsys: pytest.CaptureFixture[str]) -> None:
    for lang, text in (("en", "Ctrl-C stops the server"), ("zh", "Ctrl-C 会停止服务")):
        assert 0 == main(["run", "--help", "--lang", lang])
        assert text in " ".join(capsys.readouterr().out.split())


def test_every_text_is_used() -> None:
    folder = Path(run_texts.__file__).parent
    source = "\n".join(path.read_text("utf-8") for path in folder.glob("run*.py") if path.name != "run_texts.py")
    built = ("end.", "stopping.")

    unused = [key for key in run_texts._TEXTS if f'"{key}"' not in source and not key.startswith(built)]

    assert [] == unused
    closing = {f"end.{end.value}" for end in End if end not in NEVER}
    assert closing | {"end.nobody", "end.ended", "end.told"} == {
        key for key in run_texts._TEXTS if key.startswith("end.")
    }


def test_what_was_kept_is_forgotten(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Run([], [sys.executable, "-c", "print('x')"]) as run:
        run.ended()
    kept = list(state.glob("spool/sgl/*.log"))
    code = main(["forget", "sgl", "--yes", "--lang", "en"])
    capsys.readouterr()

    assert (1, 0) == (len(kept), code)
    assert not list(state.glob("spool/sgl/*"))
    assert 2 == main(["history", "sgl", "--lang", "en"])


@pytest.mark.parametrize("command", ["rollback", "relaunch", "heal"])
def test_what_is_for_containers_says_where_a_process_is_acted_on(
    state: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{state}/no-engine.sock")
    with Run([], [sys.executable, "-c", "print('x')"]) as run:
        run.ended()
    codes = [main([command, name, "--lang", "en"]) for name in ("sgl", "other")]
    process, other = capsys.readouterr().err.splitlines()

    assert [2, 2] == codes
    assert "sgl is a process of sgdoctor run and no container" in process
    assert "No container engine answers" in other


def test_a_server_that_runs_is_not_forgotten(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Run([], [*FITS, "--port", free_port()]) as run:
        run.printed("ready ")
        code = main(["forget", "sgl", "--yes", "--lang", "en"])
        run.send(signal.SIGINT).ended()

    assert 2 == code
    assert "sgl runs" in capsys.readouterr().err
    assert 1 == len(history(capsys))
