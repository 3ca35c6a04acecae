"""Questions to real servers, well-behaved and not."""

import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest

from sgdoctor.verify.calls import Calls, NoReplyError
from sgdoctor.verify.model import Bounds, Grade, Server, Verification
from sgdoctor.verify.probes import verify
from tests.standin.engine.sglang.recorded import Answer
from tests.standin.parity import start

Respond = Callable[["Handler"], None]
SHORT = Bounds(0.5, 0.5, 0.5)


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers as the test says."""

    def do_GET(self) -> None:
        cast("Any", self.server).respond(self)

    do_POST = do_GET  # noqa: N815 - its name in the standard library

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass

    def reply(self, status: int, body: Any = "") -> None:
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    @property
    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))


@contextmanager
def serving(respond: Respond) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    cast("Any", server).respond = respond
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def asked(respond: Respond, bounds: Bounds = SHORT, **about: Any) -> Verification:
    with serving(respond) as address:
        server = Server(address, **about)
        return verify(server, Calls(server), bounds)


def grades(verification: Verification) -> list[Grade]:
    return [check.grade for check in verification.checks]


def standin(flags: str = "", **told: str) -> Respond:
    """The server of a launch of Qwen3-8B."""
    decided = start(f"--model-path /models/8b {flags}", STANDIN_MODEL="qwen3-8b", **told)

    def respond(handler: Handler) -> None:
        key = handler.headers.get("Authorization")
        answer: Answer = decided.server.respond(handler.command, handler.path, handler.body, key)
        handler.reply(answer.status, answer.body)

    return respond


def healthy(handler: Handler) -> bool:
    """Answers what comes before the question; whether it did."""
    if handler.path == "/health":
        handler.reply(200)
    elif handler.path == "/v1/models":
        handler.reply(200, {"data": [{"id": "m"}]})
    else:
        return False
    return True


def test_server_that_works() -> None:
    found = asked(standin("--served-model-name eight"), name="eight")

    assert found.verified
    assert (None, None) == (found.fault, found.gap)
    assert ["healthy", "eight"] == [check.detail.en for check in found.checks[:2]]


def test_key() -> None:
    respond = standin("--api-key sk-1")

    assert asked(respond, key="sk-1").verified
    unknown, wrong = asked(respond), asked(respond, key="sk-2")
    assert [Grade.PASSED, Grade.SKIPPED, Grade.SKIPPED] == grades(unknown)
    assert (None, False) == (unknown.fault, unknown.verified)
    assert unknown.gap is not None
    assert wrong.fault is not None
    assert "sk-2" not in repr(Server("http://x", key="sk-2"))


def test_another_model_than_meant() -> None:
    found = asked(standin(), name="other")

    assert found.fault is not None
    assert "/models/8b, not other" in found.fault.en


def test_model_that_does_not_speak() -> None:
    found = asked(standin(), chats=False)

    assert [Grade.PASSED, Grade.PASSED, Grade.SKIPPED] == grades(found)
    assert found.fault is None


def test_nonsense() -> None:
    found = asked(standin(STANDIN_ANSWER="!!!!"))

    assert [Grade.PASSED, Grade.PASSED, Grade.FAILED] == grades(found)
    assert found.fault is not None


def test_nobody_there() -> None:
    server = Server("http://127.0.0.1:1")
    found = verify(server, Calls(server), SHORT)

    assert [Grade.FAILED, Grade.SKIPPED, Grade.SKIPPED] == grades(found)


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        (lambda handler: handler.reply(500, {"error": {"message": "CUDA error"}}), "500: CUDA error"),
        (lambda handler: handler.reply(503), "503"),
        (lambda handler: handler.reply(200, "no json"), "OpenAI"),
        (lambda _: None, "no answer"),
    ],
)
def test_bad_answers(answer: Respond, named: str) -> None:
    found = asked(lambda handler: None if healthy(handler) else answer(handler))

    assert found.fault is not None
    assert named in found.fault.en


def test_base_model_without_a_template() -> None:
    said = {"message": "Cannot use chat template functions because tokenizer.chat_template is not set"}
    found = asked(lambda handler: None if healthy(handler) else handler.reply(400, said))

    assert Grade.SKIPPED is found.checks[-1].grade


def drip(handler: Handler) -> None:
    """An answer that never ends and never pauses."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b" ")
        time.sleep(0.05)


@pytest.mark.parametrize("answer", [drip, lambda _: time.sleep(5)])
def test_answer_that_does_not_end_in_time(answer: Respond) -> None:
    began = time.monotonic()
    with serving(answer) as address, pytest.raises(NoReplyError) as caught:
        Calls(Server(address)).get("/health", 0.3)

    assert "within" in caught.value.why.en
    assert time.monotonic() - began < 3


def test_user_does_not_want_to_wait() -> None:
    with serving(lambda _: time.sleep(5)) as address:
        calls = Calls(Server(address))
        threading.Timer(0.2, calls.cancel).start()

        with pytest.raises(NoReplyError, match="not asked to the end"):
            calls.get("/health", 30)
        with pytest.raises(NoReplyError, match="not asked to the end"):
            calls.get("/health", 30)
