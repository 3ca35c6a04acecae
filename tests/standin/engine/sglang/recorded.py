"""The recorded runs and HTTP answers inside the image."""

import json
import shlex
from dataclasses import dataclass
from typing import Any, Protocol, Self

from .places import LOGS, RECORDED

# Asked everything, without parsers; asked a little, with parsers for thinking and tool calls.
PLAIN = "boot-hybrid"
PARSED = "cli-tool-call-parser-auto"


@dataclass(frozen=True, slots=True)
class Run:
    """One recorded run.

    Attributes:
        log: Everything it printed, raw.
        reads: (seconds since the start, bytes) of each read of its output; together they are the log.
        ending: `exit`, `serve` or `hang`.
        exit_code: As the parent saw it: negative is a signal.
        seconds: Length of the run.
        live: Whether times in lines are those of the clock, so that what is printed later gets a later time.
    """

    name: str
    log: bytes
    reads: list[tuple[float, int]]
    ending: str
    exit_code: int
    seconds: float
    command: list[str]
    live: bool = False

    @classmethod
    def load(cls, name: str) -> Self:
        """Read a run.

        Raises:
            KeyError: No run has this name.
        """
        about = json.loads((RECORDED / "runs.json").read_text())[name]
        log = (LOGS / f"{name}.log").read_bytes()
        timing = RECORDED / "timing" / f"{name}.timing"
        if timing.exists():
            reads = [(float(at), int(size)) for at, size in map(str.split, timing.read_text().splitlines())]
        else:
            reads = [(0.0, len(log))]
        command = shlex.split(about["command"])
        return cls(name, log, reads, about["ending"], about["exit_code"], about["seconds"], command)

    @property
    def model(self) -> str:
        """Path of the model, which is also the name it is served under."""
        return self.command[self.command.index("--model-path") + 1]


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer.

    Attributes:
        body: Text or parsed JSON.
        seconds: How long it took.
        said: Lines that the engine logs before it.
        death: What the engine prints instead of an answer, before it ends; None if it goes on.
    """

    status: int
    content_type: str | None
    body: Any
    seconds: float
    said: tuple[str, ...] = ()
    death: str | None = None

    def encoded(self) -> bytes:
        """The body as it was sent (the engine writes compact JSON)."""
        if isinstance(self.body, str):
            return self.body.encode()
        return json.dumps(self.body, ensure_ascii=False, separators=(",", ":")).encode()


class Server(Protocol):
    """What answers to requests."""

    def respond(self, method: str, path: str, body: bytes, key: str | None) -> Answer:
        """Answer to a request; `key` is what stands in its Authorization header."""


class Answers:
    """The answers of a run. What this run was not asked is borrowed, with its model's name put in."""

    def __init__(self, by_name: dict[str, Answer], by_path: dict[str, Answer]) -> None:
        self._by_name = by_name
        self._by_path = by_path

    @classmethod
    def of(cls, run: Run) -> Self:
        """Answers for a run: the lender has parsers if the run has them."""
        by_name: dict[str, Answer] = {}
        by_path: dict[str, Answer] = {}
        model = run.model if "--model-path" in run.command else ""
        lenders = [PLAIN, PARSED] if "--tool-call-parser" in run.command else [PLAIN]
        for owner in [*lenders, run.name]:
            for file in sorted((RECORDED / "answers" / owner).glob("*.json")):
                text = file.read_text()
                if owner != run.name and model:
                    text = text.replace("/models/qwen3_5-hybrid", model)
                entry = json.loads(text)
                if "status" not in entry:
                    continue
                headers = {key.lower(): value for key, value in entry["headers"].items()}
                answer = Answer(entry["status"], headers.get("content-type"), entry["body"], entry["seconds"])
                by_name[file.stem] = answer
                if entry["method"] == "GET":
                    by_path[entry["path"]] = answer
        return cls(by_name, by_path)

    def respond(self, method: str, path: str, body: bytes, key: str | None) -> Answer:
        """Answer to a request; recorded ones are answered without a key, too."""
        return self.get(path) if method == "GET" else self.post(path, body)

    def get(self, path: str) -> Answer:
        """Answer to a GET."""
        return self._by_path.get(path, self._by_name["get_nonexistent"])

    def post(self, path: str, body: bytes) -> Answer:
        """Answer to a POST: the recorded request that this one is most like."""
        if path == "/v1/completions":
            return self._by_name["completion"]
        if path == "/generate":
            return self._by_name["generate"]
        if path != "/v1/chat/completions":
            return self._by_name["get_nonexistent"]
        return self._by_name[kind_of_chat(body)]


def kind_of_chat(body: bytes) -> str:
    """The recorded request that a chat request is like."""
    try:
        request = json.loads(body)
    except ValueError:
        return "bad_json"
    if not isinstance(request, dict) or "messages" not in request:
        return "no_messages"
    stream = bool(request.get("stream"))
    if request.get("tools"):
        if stream:
            return "tool_auto_stream"
        return "tool_required" if request.get("tool_choice") == "required" else "tool_auto"
    if stream:
        return "chat_stream"
    thinks = request.get("chat_template_kwargs", {}).get("enable_thinking", True)
    return "chat" if thinks else "chat_no_thinking"
