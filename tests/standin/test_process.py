"""The stand-in as a process without a container: what it prints, answers, and how it ends."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

import pytest

from tests.conftest import REPO
from tests.standin.parity import Log

AS_ITSELF = [sys.executable, "-m", "tests.standin.engine"]
AS_THE_ENGINE = [sys.executable, "-m", "sglang.launch_server"]
ENGINE = Path(__file__).parent / "engine"
FITS = ["--model-path", "/m", "--mem-fraction-static", "0.92", "--context-length", "65536"]
LIMIT_S = 20


class Process:
    """A running stand-in."""

    def __init__(self, program: list[str], words: list[str], **told: str) -> None:
        self.port = free_port()
        environment = {**os.environ, "STANDIN_SCENARIO": "decide", "STANDIN_MODEL": "qwen3.6-27b", **told}
        environment["PYTHONPATH"] = str(ENGINE if program is AS_THE_ENGINE else REPO)
        self._process = subprocess.Popen(
            [*program, *words, "--port", str(self.port)],
            env=environment,
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
    def log(self) -> Log:
        return Log(bytes(self._printed))

    def printed(self, text: str) -> None:
        limit = time.monotonic() + LIMIT_S
        while text.encode() not in self._printed:
            assert time.monotonic() < limit, f"{text!r} is not printed: {self._printed[-600:]!r}"
            time.sleep(0.01)

    def stop(self) -> int:
        self._process.send_signal(signal.SIGTERM)
        return self.ended()

    def ended(self) -> int:
        code = self._process.wait(LIMIT_S)
        self._reader.join()
        return code

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def ask(self, path: str, body: Any = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", data, timeout=LIMIT_S) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read() or b"null")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.mark.parametrize("program", [AS_ITSELF, AS_THE_ENGINE])
def test_serves_until_it_is_stopped(program: list[str]) -> None:
    with Process(program, FITS) as process:
        process.printed("ready to roll!")
        asked = [process.ask("/health"), process.ask("/v1/models")[0]]
        code = process.stop()

    assert [(200, None), 200] == asked
    assert -signal.SIGKILL == code
    lines = process.log.lines
    assert any('"GET /v1/models HTTP/1.1" 200 OK' in line for line in lines)
    assert "kill_process_tree called" in lines[-1]
    assert [] == process.log.rules


@pytest.mark.parametrize(
    ("words", "code", "rule"),
    [
        (["--model-path", "/m"], -signal.SIGKILL, "SGL401"),
        ([*FITS, "--enable-moe-magic"], 2, "SGL109"),
        ([*FITS, "--context-length", "1000000"], 1, "SGL211"),
        ([*FITS, "--dtype", "half"], -signal.SIGKILL, "SGL203"),
    ],
)
def test_fails(words: list[str], code: int, rule: str) -> None:
    with Process(AS_THE_ENGINE, words) as process:
        assert code == process.ended()
        assert [rule] == process.log.rules


def test_port_that_is_taken_is_found_last_and_hangs() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [*AS_THE_ENGINE, *FITS, "--port", str(port)]
        told = {"STANDIN_SCENARIO": "decide", "STANDIN_MODEL": "qwen3.6-27b", "PYTHONPATH": str(ENGINE)}
        process = subprocess.Popen(command, env={**os.environ, **told}, stderr=subprocess.PIPE)
        assert process.stderr is not None
        with process.stderr:
            for line in process.stderr:
                if b"[Errno 98]" in line:
                    break
            process.send_signal(signal.SIGTERM)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.3)
            process.kill()
            process.wait()

    assert f"('127.0.0.1', {port}): address already in use".encode() in line


def test_prompt_that_ends_the_server() -> None:
    with Process(AS_ITSELF, FITS, STANDIN_PREFILL_GIB="9") as process:
        process.printed("ready to roll!")
        short, _ = process.ask("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hello."}]})
        with contextlib.suppress(OSError):
            process.ask("/v1/chat/completions", {"messages": [{"role": "user", "content": "word " * 3000}]})
        code = process.ended()

    assert 200 == short
    assert -signal.SIGKILL == code
    assert "SGL415" == process.log.rules[0]


def test_variable_that_cannot_be_read_is_named() -> None:
    with Process(AS_THE_ENGINE, FITS, STANDIN_CARD="24") as process:
        assert 64 == process.ended()
        assert b"stand-in: STANDIN_CARD='24' is no card; one is written 24GiB:sm86\n" == process.log.data


def test_keeps_a_pace() -> None:
    with Process(AS_THE_ENGINE, FITS, STANDIN_PACE="30") as process:
        process.printed("sglang serve --model-path")
        with pytest.raises(urllib.error.URLError):
            process.ask("/health")
        process.printed("Init torch distributed begin.")

        # 18 recorded seconds lie between the two lines.
        assert b"ready to roll!" not in process.log.data


def test_lingers_after_a_child_died_while_it_served() -> None:
    words = ["--model-path", "/m", "--mem-fraction-static", "0.92", "--dtype", "half", "--skip-server-warmup"]
    told = {"STANDIN_MODEL": "qwen3.6-35b-a3b", "STANDIN_LINGER": "3600"}
    with Process(AS_ITSELF, words, **told) as process:
        process.printed("Uvicorn running")
        with contextlib.suppress(OSError):
            urllib.request.urlopen(
                f"http://127.0.0.1:{process.port}/v1/chat/completions",
                json.dumps({"messages": [{"role": "user", "content": "Hello."}]}).encode(),
                timeout=0.5,
            )
        process.printed("Waiting 60.0 seconds for CUDA coredumps")

        assert process.runs
