"""Prints a recorded run, serves while it serves, and ends as it ended."""

import errno
import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NoReturn

from .recorded import Answer, Run, Server

# Lines of the log at which the engine's behaviour changes (all measured on 0.5.15).
UVICORN = b"Uvicorn running on"
READY = b"The server is fired up and ready to roll!"
CHILD_DIED = b"SIGQUIT received."
COREDUMPS = b"seconds for CUDA coredumps before exiting."
STOPPING = b"SIGTERM received."

ACCESS_LINE = re.compile(rb'INFO:     [\d.]+:\d+ - "')
# What a run says instead of "Uvicorn running" when the port is taken; it then hangs.
TAKEN_RUN = "cli-port-in-use"
TAKEN_LINE = b"ERROR:    [Errno 98]"

STAMP = re.compile(rb"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", re.MULTILINE)
PAUSE = re.compile(rb"(?:Sleeping|Waiting) ([\d.]+) seconds")

STOPS = (signal.SIGTERM, signal.SIGINT)
TERMINATED = 143


class StoppedError(Exception):
    """SIGTERM or SIGINT came."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast time runs.

    Attributes:
        factor: Recorded seconds in a second; 0: no time passes.
        linger: Seconds of the wait for core dumps, or None: recorded like the rest.
    """

    factor: float
    linger: float | None

    def seconds(self, recorded: float) -> float:
        """How long this many recorded seconds take."""
        return max(recorded, 0) / self.factor if self.factor > 0 else 0.0


class Engine:
    """One start of the stand-in."""

    def __init__(
        self, run: Run, server: Server, *, address: tuple[str, int], pace: Pace, ignore_term: bool, split: bool
    ) -> None:
        self._run = run
        self._pace = pace
        self._split = split
        self._ignore_term = ignore_term
        self._address = address
        self._server = _Server(server, pace, self)
        self._stream = sys.stderr.fileno()
        self._at_line_start = True

    def run(self) -> NoReturn:
        """Replay the run to its end."""
        # Blocked and asked for only while it waits, so that a stop never cuts a line in two.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
        if self._ignore_term:
            _ignore(signal.SIGTERM)
        log = self._run.log
        serves = self._run.ending == "serve"
        stopping = _line_start(log, STOPPING) if serves else len(log)
        try:
            self._print(0, stopping)
            if serves:
                _wait(None)
            if self._run.ending == "hang":
                _hang()
            _wait(self._pace.seconds(self._run.seconds - self._run.reads[-1][0]))
        except StoppedError:
            _ignore(*STOPS)
            if not serves or not self._server.listening:
                os._exit(TERMINATED)
            self._print(stopping, len(log), live=True)
            _kill_itself()
        if self._run.exit_code < 0 or self._run.exit_code == 128 + signal.SIGKILL:
            _kill_itself()
        os._exit(self._run.exit_code)

    def say(self, text: str) -> None:
        """Print a line of the engine's logger, now; a replay has its lines."""
        if self._run.live:
            self._write(f"[{_now()}] {text}\n".encode())

    def die(self, text: str) -> NoReturn:
        """Print what the engine prints when one of its children is gone, and end."""
        self._server.stop_answering()
        for line in text.encode().splitlines(keepends=True):
            self._write(_at_now(line) if self._run.live else line)
            pause = PAUSE.search(line)
            if COREDUMPS in line and self._pace.linger is not None:
                time.sleep(self._pace.linger)
            elif pause is not None:
                time.sleep(self._pace.seconds(float(pause[1])))
        _kill_itself()

    def _print(self, start: int, end: int, *, live: bool = False) -> None:
        """Print this part of the log read by read, in its time, and act at the lines that change something."""
        turns = self._turns()
        clock = 0.0 if start == 0 else None
        position = 0
        for at, size in self._run.reads:
            begin, stop = max(position, start), min(position + size, end)
            position += size
            if begin >= stop:
                continue
            if self._pace.linger is not None and stop == len(self._run.log) and COREDUMPS in self._run.log:
                _wait(self._pace.linger)
            else:
                _wait(0.0 if clock is None else self._pace.seconds(at - clock))
            clock = at
            for cut in sorted({stop, *(turn for turn in turns if begin <= turn <= stop)}):
                part = self._run.log[begin:cut]
                self._write(_at_now(part) if live and self._run.live else part)
                begin = cut
                if cut in turns:
                    turns.pop(cut)()

    def _turns(self) -> dict[int, Callable[[], None]]:
        """Offsets in the log, and what happens there."""
        log = self._run.log
        turns: dict[int, Callable[[], None]] = {}
        if UVICORN in log:
            turns[_line_start(log, UVICORN)] = self._listen
            if CHILD_DIED in log:
                turns[_line_end(log, CHILD_DIED)] = self._server.stop_answering
        if READY in log:
            turns[_line_end(log, READY)] = self._server.become_ready
        return turns

    def _listen(self) -> None:
        try:
            self._server.listen(self._address)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            taken = Run.load(TAKEN_RUN)
            recorded = taken.command[taken.command.index("--port") + 1]
            said = taken.log[_line_start(taken.log, TAKEN_LINE) :].replace(recorded.encode(), b"%d" % self._address[1])
            said = said.replace(b"127.0.0.1", self._address[0].encode())
            self._write(_at_now(said) if self._run.live else said)
            _hang()

    def _write(self, data: bytes) -> None:
        if not self._split:
            _write_all(sys.stderr.fileno(), data)
            return
        # A read may end inside a line: the rest of it goes where its beginning went.
        for line in data.splitlines(keepends=True):
            if self._at_line_start:
                self._stream = sys.stdout.fileno() if ACCESS_LINE.search(line) else sys.stderr.fileno()
            self._at_line_start = line.endswith(b"\n")
            _write_all(self._stream, line)


class _Server:
    """HTTP: refused until `listen`, 503 from /health until `become_ready`, and no answer after `stop_answering`."""

    def __init__(self, answers: Server, pace: Pace, engine: Engine) -> None:
        self.answers = answers
        self.pace = pace
        self.engine = engine
        self.listening = False
        self.ready = False
        self.dead = threading.Event()

    def listen(self, address: tuple[str, int]) -> None:
        """Bind and serve in a thread.

        Raises:
            OSError: The address is taken.
        """
        handler = type("Handler", (_Handler,), {"owner": self})
        server = _HTTPServer(address, handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.listening = True

    def become_ready(self) -> None:
        """The warm-up is done."""
        self.ready = True

    def stop_answering(self) -> None:
        """The main thread cleans up after a child: connections are taken and never answered."""
        self.dead.set()


class _HTTPServer(ThreadingHTTPServer):
    # Without it a port of another container in TIME_WAIT would count as taken; a listening one still does.
    allow_reuse_address = True
    daemon_threads = True

    def server_bind(self) -> None:
        # HTTPServer's own asks the name service for the host's name, which takes seconds without a network.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "uvicorn", ""
    owner: _Server

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _answer(self, body: bytes) -> None:
        path = self.path.partition("?")[0]
        if path in {"/health", "/health_generate"} and not self.owner.ready:
            self._send(Answer(503, None, "", 0.0))
        else:
            self._send(self.owner.answers.respond(self.command, path, body, self.headers.get("Authorization")))

    def log_message(self, *args: object) -> None:
        """Print nothing: the replay has the recorded access lines."""

    def _send(self, answer: Answer) -> None:
        if self.owner.dead.is_set():
            threading.Event().wait()
        if answer.death is not None:
            self.owner.engine.die(answer.death)
        time.sleep(self.owner.pace.seconds(answer.seconds))
        for line in answer.said:
            self.owner.engine.say(line)
        client, port = self.client_address[:2]
        phrase = HTTPStatus(answer.status).phrase
        self.owner.engine.say(
            f'INFO:     {client}:{port} - "{self.command} {self.path} HTTP/1.1" {answer.status} {phrase}'
        )
        body = answer.encoded()
        self.send_response(answer.status)
        if answer.content_type is not None:
            self.send_header("content-type", answer.content_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _wait(seconds: float | None) -> None:
    """Let time pass, for ever with None.

    Raises:
        StoppedError: A stop came, now or before.
    """
    if seconds is None:
        signal.sigwait(STOPS)
        raise StoppedError
    if signal.sigtimedwait(STOPS, seconds) is not None:
        raise StoppedError


def _ignore(*signals: signal.Signals) -> None:
    # Unblocked too: a blocked signal is kept even when it is ignored.
    for number in signals:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)


def _hang() -> NoReturn:
    """What the engine does when its port is taken: it waits for a shutdown that never comes, and outlives SIGTERM."""
    _ignore(*STOPS)
    while True:
        signal.pause()


def _kill_itself() -> NoReturn:
    """The engine's own end: SIGKILL to itself. The kernel spares process 1 of a container, which then exits with 0."""
    os.kill(os.getpid(), signal.SIGKILL)
    os._exit(0)


def _now() -> str:
    return datetime.now().strftime("%Y-%m-%d %H:%M:%S")  # noqa: DTZ005 - the engine logs local time


def _at_now(data: bytes) -> bytes:
    """Lines with the time of now."""
    return STAMP.sub(f"[{_now()}".encode(), data)


def _line_start(log: bytes, text: bytes) -> int:
    return log.rindex(b"\n", 0, log.index(text)) + 1


def _line_end(log: bytes, text: bytes) -> int:
    return log.index(b"\n", log.index(text)) + 1


def _write_all(stream: int, data: bytes) -> None:
    while data:
        data = data[os.write(stream, data) :]
