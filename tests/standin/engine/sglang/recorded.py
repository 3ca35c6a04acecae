"""The recorded runs and HTTP answers inside the image."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

HOME = Path("/opt/standin")

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
    """

    name: str
    log: bytes
    reads: list[tuple[float, int]]
    ending: str
    exit_code: int
    seconds: float
    command: list[str]

    @classmethod
    def load(cls, name: str) -> Self:
        """Read a run.

        Raises:
            KeyError: No run has this name.
        """
        about = json.loads((HOME / "runs.json").read_text())[name]
        log = (HOME / "logs" / f"{name}.log").read_bytes()
        timing = HOME / "timing" / f"{name}.timing"
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
    """One recorded HTTP answer; `body` is text or parsed JSON, `seconds` is how long it took."""

    status: int
    content_type: str | None
    body: Any
    seconds: float

    def encoded(self) -> bytes:
        """The body as it was sent (the engine writes compact JSON)."""
        if isinstance(self.body, str):
            return self.body.encode()
        return json.dumps(self.body, ensure_ascii=False, separators=(",", ":")).encode()


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
            for file in sorted((HOME / "answers" / owner).glob("*.json")):
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
        return self._by_name[_kind_of_chat(body)]


def _kind_of_chat(body: bytes) -> str:
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
