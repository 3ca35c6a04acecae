"""``sgdoctor watch`` line by line: phases, cards, the verdict last, and exit codes."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from sgdoctor.cli.main import main
from sgdoctor.cli.watch_plain import watch_plain
from sgdoctor.texts import Text
from sgdoctor.watching.model import Link, Snapshot
from sgdoctor.watching.session import Session
from tests.conftest import LOGS
from tests.tui.moments import snapshot_of

REAL = LOGS / "real"
SGDOCTOR = [sys.executable, "-m", "sgdoctor", "watch"]


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """A copy of a log that nobody has written for long: fresh files may still grow."""
    return tmp_path / "server.log"


def put(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    return str(path)


def log(name: str) -> bytes:
    return (REAL / f"{name}.log").read_bytes()


def until(data: bytes, text: bytes) -> bytes:
    return data[: data.index(text)].rpartition(b"\n")[0] + b"\n"


def test_a_healthy_start_is_a_line_for_each_phase(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["watch", "--plain", "--file", put(finished, log("boot-hybrid"))])
    lines = capsys.readouterr().out.splitlines()

    assert code == 0
    assert lines == [
        "10:41:33 arguments",
        "10:41:54 model configuration  21 s",
        "10:41:54 distributed set-up   0.09 GiB, 0.2 s",
        "10:41:55 weights              0.26 GiB, 1/1 shards, 0.2 s",
        "10:41:55 state cache          9.00 GiB, 3,001 slots",
        "10:41:55 KV cache             10.00 GiB, 2,621,682 tokens",
        "10:41:57 graph capture        0.14 GiB, 2.4 s",
        "10:41:57 HTTP server",
        "10:41:59 warm-up              2.0 s",
        "10:41:59 ready                http://127.0.0.1:30000",
        "healthy: stopped on request, nothing is wrong.",
    ]


def test_a_failure_is_one_card_with_the_verdict_last(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["watch", "--file", put(finished, log("bcg-decode-hybrid"))])
    out = capsys.readouterr().out

    assert code == 3
    assert out.count("SGL501 bcg-decode-output") == 1
    assert "graph capture  " not in out.partition("SGL501")[0]
    last = out[out.rindex("\n\n") :]
    assert last.strip().startswith("failed at graph capture: ")


def test_it_speaks_chinese(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["watch", "--lang", "zh", "--file", put(finished, log("boot-hybrid"))])
    lines = capsys.readouterr().out.splitlines()

    assert code == 0
    assert "10:41:55 KV 缓存        10.00 GiB，2,621,682 个 token" in lines
    assert lines[-1] == "已按要求停止，没有问题。"


def test_earlier_starts_are_a_line_each(capsys: pytest.CaptureFixture[str], finished: Path) -> None:
    data = (LOGS / "composed" / "crash-loop.log").read_bytes()

    code = main(["watch", "--file", put(finished, data)])
    out = capsys.readouterr().out

    assert code == 3
    assert out.startswith("attempt 1 failed: ")
    assert "\n--- attempt 5\n" in out
    assert out.count("What to do") == 1


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (until(log("boot-hybrid"), b"SIGTERM received"), 0),
        (log("bcg-decode-hybrid"), 3),
        (until(log("boot-hybrid"), b"Load weight end"), 5),
        (log("boot-hybrid"), 5),
        (b"nothing of interest\n", 5),
    ],
    ids=["serves", "failed", "ends before it serves", "was stopped", "unknown"],
)
def test_until_ready_is_zero_only_when_it_serves(finished: Path, data: bytes, expected: int) -> None:
    assert main(["watch", "--until-ready", "--file", put(finished, data)]) == expected


def test_a_log_on_standard_input_is_watched_to_its_end() -> None:
    done = subprocess.run([*SGDOCTOR, "-"], input=log("boot-dense"), capture_output=True, check=False)

    assert done.returncode == 0
    assert done.stdout.decode().splitlines()[-1] == "healthy: stopped on request, nothing is wrong."
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("lang", "expected"),
    [
        ("en", "healthy: ready after 28 s, nothing is wrong. Serving on http://127.0.0.1:30000"),
        ("zh", "正常：服务在 28 秒后就绪，没有问题。服务地址：http://127.0.0.1:30000"),
    ],
)
def test_until_ready_leaves_while_the_log_goes_on(lang: str, expected: str) -> None:
    command = [*SGDOCTOR, "--lang", lang, "--until-ready", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(until(log("boot-hybrid"), b"SIGTERM received"))
        process.stdin.flush()
        code = process.wait(20)
        last = process.stdout.read().decode().splitlines()[-1]

    assert (code, last) == (0, expected)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(
    "data",
    [
        log("boot-hybrid"),
        until(log("boot-hybrid"), b"SIGTERM received"),
        until(log("boot-hybrid"), b"Load weight end"),
        log("bcg-decode-hybrid"),
        b"nothing of interest\n",
    ],
    ids=["stopped", "serves", "starts", "failed", "unknown"],
)
def test_the_last_line_is_that_of_diagnose(
    finished: Path, capsys: pytest.CaptureFixture[str], data: bytes, lang: str
) -> None:
    path = put(finished, data)

    main(["diagnose", "--lang", lang, path])
    expected = capsys.readouterr().out.splitlines()[-1]
    main(["watch", "--lang", lang, "--file", path])

    assert capsys.readouterr().out.splitlines()[-1] == expected


class SlowEnd:
    """A session of a container that stays up for a moment after its server has failed (a fake)."""

    def __init__(self, failed: Snapshot, ended: Snapshot) -> None:
        self._told, self._ended = failed, ended
        self.over = False

    def start(self, on_snapshot: Callable[[Snapshot], None], on_failure: Callable[[Exception], None]) -> None:
        del on_failure
        self._give = on_snapshot
        self._give(self._told)
        self._later = threading.Timer(2.5, self._end)
        self._later.start()

    def _end(self) -> None:
        self._told, self.over = self._ended, True
        self._give(self._told)

    def snapshot(self) -> Snapshot:
        return self._told

    def stop(self) -> None:
        self._later.join()


def test_the_verdict_is_the_last_line_where_the_end_of_a_container_comes_late(
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = log("bcg-decode-hybrid")
    ended = snapshot_of(data, link=Link.ENDED, note=Text("sgl has ended.", "sgl 已结束。"))

    code = watch_plain(cast("Session", SlowEnd(snapshot_of(data), ended)), "en")

    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    assert (code, lines[-2]) == (3, "sgl has ended.")
    assert lines[-1].startswith("failed at graph capture: ")
    # The card had been printed before, with the same line at its end.
    assert lines.count(lines[-1]) == 2


def test_ctrl_c_leaves_with_the_answer_so_far(tmp_path: Path) -> None:
    data = until(log("boot-hybrid"), b"Capture target decode CUDA graph end")
    with subprocess.Popen(
        [*SGDOCTOR, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(data)
        process.stdin.flush()
        first = process.stdout.readline()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        process.wait(20)
        out, err = process.communicate()

    assert first == b"10:41:33 arguments\n"
    assert err == b""
    assert out.decode().splitlines()[-1] == "starting: graph capture, nothing is wrong so far, not ready yet."
    assert process.returncode == 0


def test_a_reader_that_leaves_ends_it_without_a_word(tmp_path: Path) -> None:
    path = put(tmp_path / "a.log", log("bcg-decode-hybrid"))
    command = " ".join([*SGDOCTOR, "--file", path, "|", "head", "-n", "1"])

    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=False, timeout=30)

    assert (done.stderr, done.stdout.count(b"\n")) == (b"", 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--speed", "2"], "--speed is for --file"),
        (["--speed", "0", "--file", "x"], "--speed: 0 is not a number above 0"),
        (["name", "--file", "x"], "give a container or --file, not both"),
        (["--plain", "logs/a.log"], "Follow a log file: sgdoctor watch --file logs/a.log"),
        (["--file", "/dev/null/x.log"], "cannot be opened"),
        (["--rules", "/dev/null", "--file", "x"], "/dev/null is not a folder"),
    ],
)
def test_misuse_is_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["watch", *arguments])
    err = capsys.readouterr().err

    assert (code, err.count("\n")) == (2, 1)
    assert message in err


def test_without_a_container_engine_it_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///dev/null/docker.sock")

    code = main(["watch"])

    assert code == 2
    assert "/dev/null/docker.sock" in capsys.readouterr().err


def test_an_engine_that_may_be_up_later_is_waited_for_and_said_to_be(tmp_path: Path) -> None:
    environment = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/docker.sock"}
    with subprocess.Popen(
        [*SGDOCTOR, "sgl", "--plain"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        told = process.stderr.readline().decode()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)

    assert told.startswith(f"sgdoctor: No container engine answers at unix://{tmp_path}/docker.sock.")
    assert told.endswith("Waiting for the engine.\n")
    assert out == b""


def test_a_script_does_not_wait_for_an_engine_that_is_not_there(tmp_path: Path) -> None:
    environment = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/docker.sock"}

    done = subprocess.run(
        [*SGDOCTOR, "sgl", "--until-ready"], env=environment, capture_output=True, check=False, timeout=20
    )

    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)
    assert b"No container engine answers" in done.stderr


def test_what_stays_wrong_with_an_engine_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def answer_without_tls(listener: socket.socket) -> None:
        with listener.accept()[0] as connection:
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer_without_tls, args=(listener,))
        thread.start()
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{listener.getsockname()[1]}")
        monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
        monkeypatch.setenv("DOCKER_CERT_PATH", str(tmp_path))
        code = main(["watch", "sgl", "--plain"])
        thread.join()

    assert code == 2
    assert "TLS failed" in capsys.readouterr().err


def test_line_mode_loads_neither_the_app_nor_the_driver(finished: Path) -> None:
    put(finished, log("boot-dense"))
    script = (
        "import sys; from sgdoctor.cli.main import main; "
        f"code = main(['watch', '--plain', '--file', {str(finished)!r}]); "
        "print(code, [name for name in ('textual', 'docker', 'pynvml', 'pydantic', 'yaml') if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1].startswith("0 [")
    assert "textual" not in done.stdout.splitlines()[-1]
    assert "pynvml" not in done.stdout.splitlines()[-1]
