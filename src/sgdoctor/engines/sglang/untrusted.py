"""Lines of a log that quote what others wrote: never matched, whatever they contain."""

from typing import Final

from sgdoctor.engines.sglang.server_args import HEADS
from sgdoctor.logs.line import Line
from sgdoctor.logs.shapes import exception
from sgdoctor.patterns import lazy_pattern

_STARTS: Final = (
    *HEADS,
    "server_args: ",
    "usage: ",
    "Namespace(",
    "Receive: ",
    "Finish: ",
    "Received request",
    "GenerateReqInput(",
    "EmbeddingReqInput(",
    "ChatCompletionRequest(",
    "CompletionRequest(",
    "BatchTokenizedGenerateReqInput(",
    "TokenizedGenerateReqInput(",
    "self.cur_batch.reqs=",
    "scheduler.cur_batch.reqs=",
    "self.last_batch.reqs=",
    "scheduler.last_batch.reqs=",
    "reqs=[Req(",
    "[Req(",
    "Req(rid=",
    "Executing: ",
    "Launch command: ",
    "launch_command=",
    "Command: ",
    "+ ",
    "{",
    "[{",
    "data: {",
)
# `INFO:     127.0.0.1:51314 - "GET /model_info HTTP/1.1" 200 OK`, with or without the level in front of it.
_ACCESS: Final = lazy_pattern(r"""(?:[A-Z]+:\s+)?\[?[\w.:%-]*[\w\]]:\d+ - "[A-Z]+ """)
# An option of a usage or help text: indented, one or more brackets, a flag.
_OPTION: Final = lazy_pattern(r"\s{2,}[\[({|]*-{1,2}[A-Za-z]")
# A member of a JSON body printed over several lines, or a shell's echo of a command with such a body.
_MEMBER: Final = lazy_pattern(r"""\s*"[^"\s]{1,64}"\s*:\s""")
# The one line of `docker inspect` that says why a container ended.
_KILLED_FOR_MEMORY: Final = lazy_pattern(r"""\s*"OOMKilled"\s*:\s*true,?\s*$""")
# Prompts inside dumps of requests that begin with something else (crash dumps, watchdog reports, other engines).
_DUMPED: Final = (
    " obj=GenerateReqInput(",
    " obj=EmbeddingReqInput(",
    "origin_input_text=",
    "sampling_params=SamplingParams(",
    "'messages': [{",
    '"messages": [{',
    '"messages":[{',
    ": prompt: '",
)
# A conversation that somebody's own logger prints. An exception may quote one too, and stays an exception.
_SPOKEN: Final = (
    "'role': '",
    '"role": "',
    "'content': ",
    '"content": ',
    "content='",
    'content="',
    "'prompt': ",
    '"prompt": ',
    "prompt='",
    'prompt="',
    "prompt: '",
    'prompt: "',
    "<|im_start|>",
)


def is_data(line: Line) -> bool:
    """Whether ``line`` holds text of others: requests, prompts, access lines, arguments, usage texts, JSON bodies."""
    text = line.text
    if not text:
        return False
    if text[0] == " ":
        return bool(_OPTION.match(text) or _is_member(text)) or text.lstrip(" ").startswith(("{", "[{"))
    if text.startswith(_STARTS):
        # Bars and lists of the engine begin with a bracket too, but not with these.
        return True
    if text[0] == '"' and _is_member(text):
        return True
    if ' - "' in text[:80] and _ACCESS.match(text):
        return True
    if any(mark in text for mark in _DUMPED):
        return True
    return any(mark in text for mark in _SPOKEN) and exception(text) is None


def _is_member(text: str) -> bool:
    return _MEMBER.match(text) is not None and _KILLED_FOR_MEMORY.match(text) is None
