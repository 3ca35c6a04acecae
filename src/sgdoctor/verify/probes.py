"""The questions, in the order in which each makes sense only after the one before."""

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from sgdoctor.texts import Text
from sgdoctor.verify import texts
from sgdoctor.verify.answers import fault_of_chat, said
from sgdoctor.verify.calls import Calls, NoReplyError, Reply
from sgdoctor.verify.model import Bounds, Check, Grade, Server, Verification

# Long enough that states of Gated DeltaNet layers are written at a boundary of the prefix cache (64 tokens), where a
# server with the wrong dtype dies that survived its own short warm-up (srt/layers/attention/linear, SGLang 0.5.15).
_QUESTION: Final = (
    "A baker opens the shop at six in the morning. By eight o'clock the first forty loaves are sold, and a second "
    "batch of sixty loaves comes out of the oven. At ten a school orders twenty-five loaves for the next day, and at "
    "noon the baker closes for an hour to rest. In the afternoon another thirty loaves are sold to people on their "
    "way home, and whatever is left goes to the kitchen of the old town hall. When does the baker open the shop? "
    "Answer in one short sentence."
)
_TOKENS: Final = 64
_OK: Final = 200
_BAD_REQUEST: Final = 400
_NO_ENTRY: Final = frozenset({401, 403})
_SHOWN: Final = 160

Answer = tuple[Grade, Text]


def verify(server: Server, calls: Calls, bounds: Bounds | None = None) -> Verification:
    """Ask a server; what cannot be asked is skipped, and nothing after a failure is.

    Args:
        server: which.
        calls: to it.
        bounds: of the time.
    """
    return Verification(tuple(_Questions(server, calls, bounds or Bounds()).ask()))


class _Questions:
    def __init__(self, server: Server, calls: Calls, bounds: Bounds) -> None:
        self._server = server
        self._calls = calls
        self._bounds = bounds
        self._model = server.name

    def ask(self) -> Iterator[Check]:
        goes_on = True
        for name, title, question in (
            ("health", texts.HEALTH, self._health),
            ("models", texts.MODELS, self._models),
            ("chat", texts.CHAT, self._chat),
        ):
            check = _timed(name, title, question) if goes_on else Check(name, Grade.SKIPPED, title, texts.NOT_ASKED)
            goes_on = check.grade is Grade.PASSED
            yield check

    def _health(self) -> Answer:
        reply = self._calls.get("/health", self._bounds.health)
        return (Grade.PASSED, texts.HEALTHY) if reply.status == _OK else self._refusal("/health", reply)

    def _models(self) -> Answer:
        reply = self._calls.get("/v1/models", self._bounds.models)
        if reply.status != _OK:
            return self._refusal("/v1/models", reply)
        names = _names(reply.data)
        if not names:
            return Grade.FAILED, texts.NO_MODELS
        wanted = self._server.name
        if wanted is not None and wanted not in names:
            return Grade.FAILED, texts.other_name(wanted, ", ".join(names))
        self._model = wanted or names[0]
        return Grade.PASSED, texts.models(", ".join(names))

    def _chat(self) -> Answer:
        if not self._server.chats:
            return Grade.SKIPPED, texts.NO_CHAT
        path = "/v1/chat/completions"
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": _QUESTION}],
            "max_tokens": _TOKENS,
            "temperature": 0,
        }
        reply = self._calls.post(path, body, self._bounds.chat)
        if reply.status == _BAD_REQUEST and b"chat template" in reply.body.lower():
            return Grade.SKIPPED, texts.NO_TEMPLATE
        if reply.status != _OK:
            return self._refusal(path, reply)
        fault = fault_of_chat(reply.data)
        return (Grade.PASSED, texts.answered(said(reply.data))) if fault is None else (Grade.FAILED, fault)

    def _refusal(self, path: str, reply: Reply) -> Answer:
        if reply.status in _NO_ENTRY:
            return (Grade.SKIPPED, texts.NO_KEY) if self._server.key is None else (Grade.FAILED, texts.WRONG_KEY)
        return Grade.FAILED, texts.refused(path, reply.status, _complaint(reply))


def _timed(name: str, title: Text, question: Callable[[], Answer]) -> Check:
    began = time.monotonic()
    try:
        grade, detail = question()
    except NoReplyError as error:
        grade, detail = Grade.FAILED, error.why
    return Check(name, grade, title, detail, time.monotonic() - began)


def _names(data: Any) -> list[str]:
    listed = data.get("data") if isinstance(data, dict) else None
    entries = listed if isinstance(listed, list) else []
    return [str(one["id"]) for one in entries if isinstance(one, dict) and one.get("id")]


def _complaint(reply: Reply) -> str:
    """What the server says about a refusal, in one line."""
    data = reply.data
    if isinstance(data, dict):
        inner = data.get("error")
        data = data.get("message") or (inner.get("message") if isinstance(inner, dict) else inner) or data.get("detail")
    text = data if isinstance(data, str) else ""
    return " ".join(text.split())[:_SHOWN]
