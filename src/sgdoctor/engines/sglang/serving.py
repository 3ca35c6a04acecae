"""Readers of the lines that SGLang prints once it is up, when it fails, and when it ends."""

from typing import Final

from sgdoctor.engines.base import PhaseName
from sgdoctor.engines.sglang import errors, markers
from sgdoctor.engines.sglang.attempt import Attempt
from sgdoctor.engines.sglang.facts import is_foremost, whole
from sgdoctor.engines.sglang.phases import seconds_between
from sgdoctor.logs.event import Event
from sgdoctor.patterns import lazy_pattern

_THROUGHPUT: Final = lazy_pattern(r"throughput \(token/s\): ([\d.]+)")
_USAGE_SHARE: Final = lazy_pattern(r"(?<!mamba )token usage: ([\d.]+)")


def ready(attempt: Attempt, event: Event, text: str) -> None:
    """The one line that says that the server serves."""
    if not text.startswith(markers.READY):
        return
    attempt.book.put("ready", value=True, line=event.line)
    attempt.ready_line = attempt.ready_line or event.line.number
    if event.time is not None and (first := attempt.clocks.get(event.time.tzinfo is None)):
        attempt.book.put_first("ready_seconds", seconds_between(first, event.time), event.line)
    if attempt.course.current is PhaseName.WARMUP:
        attempt.course.end(PhaseName.WARMUP, event)
    attempt.course.begin(PhaseName.SERVING, event)


def shutdown(attempt: Attempt, event: Event, _text: str) -> None:
    """Somebody asked for the end: SIGTERM or Ctrl-C."""
    # A dying child makes the parent shut down as well; then nobody asked for it.
    if attempt.failed or attempt.shutdown_line is not None:
        return
    attempt.shutdown_line = event.first
    attempt.course.begin(PhaseName.SHUTDOWN, event)


def sigquit(attempt: Attempt, _event: Event, text: str) -> None:
    """A child died and took the server along."""
    attempt.failed = attempt.failed or "igquit" in text or "SIGQUIT" in text


def child_exit(attempt: Attempt, event: Event, text: str) -> None:
    """How a child process ended."""
    code = markers.EXIT_CODE.search(text)
    if code is None:
        return
    attempt.failed = True
    if text.startswith("Subprocess"):
        attempt.wording("subprocess_crashed", event)
    attempt.book.put("child_exit_code", int(code[1]), event.line)
    attempt.book.put_first("exit_code", int(code[1]), event.line)


def rank(attempt: Attempt, event: Event, text: str) -> None:
    """``Rank 0 scheduler is dead`` (to 0.5.9), ``Rank 0 scheduler died during initialization`` (0.5.10 on)."""
    if "scheduler is dead" in text:
        attempt.wording("rank_is_dead", event)
        attempt.failed = True
    child_exit(attempt, event, text)


def batch(attempt: Attempt, event: Event, text: str) -> None:
    """``Prefill batch`` and ``Decode batch``; only the first card counts."""
    if text.startswith("Decode out of memory happened"):
        # To 0.4.6; later versions say "KV cache pool is full".
        retraction(attempt, event, text)
        return
    if not is_foremost(event.rank):
        return
    attempt.wording("batch_full_stop" if text[6:14].rstrip().endswith(".") else "batch_comma", event)
    if "#pending-token" in text:
        attempt.wording("pending_token", event)
    book, decode = attempt.book, text.startswith("Decode")
    if speed := _THROUGHPUT.search(text):
        book.put("decode_tokens_per_second" if decode else "prefill_tokens_per_second", float(speed[1]), event.line)
    if decode:
        book.count("decode_lines", event.line)
        if "cuda graph: False" in text:
            book.count("decode_eager_lines", event.line)
    if shares := _USAGE_SHARE.findall(text):
        # Of two pools the fuller one decides, as it does in SGLang's own metric (get_max_pool_usage).
        usage = max(float(share) for share in shares)
        book.put("token_usage", usage, event.line)
        book.raise_to("token_usage_max", usage, event.line)
    book.raise_to("running_requests_max", whole(text, "#running-req"), event.line)
    book.raise_to("queue_max", whole(text, "#queue-req"), event.line)


def retraction(attempt: Attempt, event: Event, _text: str) -> None:
    """Requests were taken back because the KV pool was full."""
    if is_foremost(event.rank):
        attempt.book.count("retractions", event.line)


def figures(attempt: Attempt, event: Event, text: str) -> None:
    """Figures in error texts."""
    found = errors.read_figures(text)
    for name, value in found.facts.items():
        attempt.book.put(name, value, event.line)
    attempt.printed_minimum = found.fraction_min or attempt.printed_minimum
    for wording in found.wordings:
        attempt.recognised = True
        attempt.wording(wording, event)


def bind_failed(attempt: Attempt, _event: Event, text: str) -> None:
    """Uvicorn could not listen: the shutdown that follows was not asked for."""
    attempt.failed = attempt.failed or "address already in use" in text
