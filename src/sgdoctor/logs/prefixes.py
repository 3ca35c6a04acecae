"""What others put in front of a line: compose, the container runtime, journald, Ray, loggers, the engine itself.

Prefixes stack in any order (``kubectl logs`` of a Ray head prints three of them), so they are taken off one by one
until none is left. The first character decides which pattern is tried: most lines of a log have no outer prefix at all.
"""

import json
import re
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final

from sgdoctor.patterns import lazy_pattern

MAX_DEPTH: Final = 8

_RANK = r"(?:[A-Z][A-Z_]*\d+|gpu(?:_id)?=\d+)"
_BARE = r"(?:(?:ATTN_|MOE_)?(?:DP|TP|PP|EP|CP)\d+|gpu(?:_id)?=\d+)"
# SGLang's format is "[%(asctime)s<rank tags>] %(message)s" (srt/utils/common.py configure_logger). Before 0.4 the clock
# had no date; reports quoted by hand drop the clock and keep the rank.
ENGINE: Final = lazy_pattern(
    r"\[(?:(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})?)|\d\d:\d\d:\d\d)"
    rf"(?P<rank>(?: {_RANK})*)\](?: |$)|\[(?P<bare>{_BARE}(?: {_BARE})*)\](?: |$)"
)

_ZONE = r"(?:Z|[+-]\d\d:?\d\d)"
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_RUNTIME = lazy_pattern(
    rf"(?P<time>\d{{4}}-\d\d-\d\dT{_CLOCK}{_ZONE})(?: (?P<stream>stdout|stderr) (?P<tag>[FP])(?::\S*)?)?(?: |$)"
)
_JOURNAL_UNIT = lazy_pattern(r"(?P<host>\S{1,64}) (?P<unit>[\w.@/-]{1,64})\[\d+\]:(?: |$)")
_JOURNAL = lazy_pattern(
    r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)? "
    r"(?P<host>\S{1,64}) (?P<unit>[\w.@/-]{1,64})\[\d+\]:(?: |$)"
)
_LOGGER = lazy_pattern(
    rf"(?P<time>\d{{4}}-\d\d-\d\d[ T]{_CLOCK}(?:{_ZONE})?) - (?:[\w.]+ - )?"
    r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) - "
)
# vLLM: "LEVEL MM-DD HH:MM:SS [file.py:12] " (older: "file.py:12] "). It names no year, so it gives no time.
_VLLM = lazy_pattern(
    r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? "
    r"(?:\[[^\]\s]{1,200}:\d+\]|[\w./-]{1,200}:\d+\])(?: |$)"
)
# Compose pads the name of the service and puts two blanks or more in front of the bar.
_COMPOSE = lazy_pattern(r"(?P<source>[A-Za-z0-9][\w.@-]{0,127})(?:(?<=[-_]\d)|(?<=[-_]\d\d)| ) *\|(?: |$)")
_WORKER = lazy_pattern(r"\((?P<source>[A-Za-z_][\w.:()<>-]{0,80} (?:pid|rank)=\d+(?:, ip=[\w.:]+)?)\)(?: |$)")
_JOB = lazy_pattern(rf"\[(?P<time>\d{{4}}-\d\d-\d\dT{_CLOCK}{_ZONE}?)\] (?P<source>\S{{1,200}}) >>(?: |$)")
_TORCH = lazy_pattern(r"\[(?P<source>rank\d+)\]:(?: |$|(?=\[))")
_POD = lazy_pattern(r"\[(?P<source>pod/[\w./-]{1,200})\](?: |$)")
_MONTHS: Final = frozenset(["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"])
_LEVELS: Final = ("INFO ", "ERRO", "WARN", "DEBU", "CRIT")


@dataclass(slots=True)
class Stripped:
    """A line without its prefixes, and what they said.

    Attributes:
        text: the rest.
        time: of the innermost prefix that named one.
        rank: the engine's rank tag.
        source: writers, the outermost first, joined by ``/``.
        stream: ``stdout``, ``stderr`` or empty.
        engine: whether the engine's bracket was among them.
        partial: the runtime cut the line here; the next line of the same writer goes on with it.
        level: that a logger named.
    """

    text: str
    time: datetime | None = None
    rank: str = ""
    source: str = ""
    stream: str = ""
    engine: bool = False
    partial: bool = False
    level: str = ""


@lru_cache(maxsize=64)
def clock(text: str) -> datetime | None:
    """The time that an ISO 8601 text names, to the microsecond; None when there is no such time."""
    try:
        return datetime.fromisoformat(text.replace(",", "."))
    except ValueError:
        return None


def may_begin(text: str) -> bool:
    """Whether ``text`` could begin with an outer prefix, judged by its first characters."""
    first = text[:1]
    if not first or first.isspace():
        return False
    if first in "[({" or first.isdigit():
        return True
    return "|" in text[:160] or text.startswith(_LEVELS) or text[:3] in _MONTHS


def strip(text: str) -> Stripped:
    """Take every prefix off ``text``.

    Leading blanks of the message survive: a traceback's frames are told by them. When the runtime says that a line is a
    piece of a longer one, stripping stops there: what follows is not the beginning of a message.
    """
    result = Stripped(text)
    for _ in range(MAX_DEPTH):
        if result.partial or result.engine or not may_begin(result.text) or not _strip_one(result):
            break
    return result


def _strip_one(result: Stripped) -> bool:
    text = result.text
    first = text[0]
    if first == "[":
        return _bracket(result)
    if first == "{":
        return _docker_json(result)
    if first == "(":
        return _named(result, _WORKER)
    if first.isdigit():
        return _dated(result) or _named(result, _COMPOSE)
    if text[:3] in _MONTHS and (found := _JOURNAL.match(text)):
        _add_source(result, found["unit"])
        result.text = text[found.end() :]
        return True
    if text.startswith(_LEVELS) and (found := _VLLM.match(text)):
        result.level = found["level"]
        result.text = text[found.end() :]
        return True
    return _named(result, _COMPOSE)


def _bracket(result: Stripped) -> bool:
    text = result.text
    if found := ENGINE.match(text):
        if found["date"]:
            result.time = clock(found["date"]) or result.time
        result.rank = (found["rank"] or found["bare"] or "").strip()
        result.engine = True
        result.text = text[found.end() :]
        return True
    return _named(result, _TORCH) or _named(result, _JOB) or _named(result, _POD)


def _dated(result: Stripped) -> bool:
    text = result.text
    if found := _LOGGER.match(text):
        result.time = clock(found["time"]) or result.time
        result.level = found["level"]
        result.text = text[found.end() :]
        return True
    found = _RUNTIME.match(text)
    if found is None:
        return False
    result.time = clock(found["time"]) or result.time
    result.text = text[found.end() :]
    if found["stream"]:
        result.stream = found["stream"]
        result.partial = found["tag"] == "P"
    elif unit := _JOURNAL_UNIT.match(result.text):
        # journalctl -o short-iso has the same clock as "docker logs -t", and then a host and a unit.
        _add_source(result, unit["unit"])
        result.text = result.text[unit.end() :]
    return True


def _named(result: Stripped, pattern: re.Pattern[str]) -> bool:
    found = pattern.match(result.text)
    if found is None:
        return False
    _add_source(result, found["source"])
    if "time" in pattern.groupindex:
        result.time = clock(found["time"]) or result.time
    result.text = result.text[found.end() :]
    return True


def _add_source(result: Stripped, source: str) -> None:
    result.source = f"{result.source}/{source}" if result.source else source


def _docker_json(result: Stripped) -> bool:
    # The json-file driver writes {"log":"...\n","stream":"stderr","time":"..."}; a line of more than 16 KiB comes in
    # pieces, and only the last one ends with a line feed.
    if not result.text.startswith('{"') or '"log"' not in result.text:
        return False
    try:
        record = json.loads(result.text)
    except (ValueError, RecursionError):
        return False
    log, stream, time = record.get("log"), record.get("stream"), record.get("time")
    if not isinstance(log, str) or not (isinstance(stream, str) and isinstance(time, str)):
        return False
    result.stream = stream if stream in ("stdout", "stderr") else ""
    result.time = clock(time) or result.time
    result.partial = not log.endswith("\n")
    result.text = log.rstrip("\n").replace("\n", " ")
    return True
