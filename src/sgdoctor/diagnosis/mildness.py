"""How far a failure reaches, told by its own lines: only warned of, gone on without, of one request alone."""

from typing import Final

from sgdoctor.logs.event import Event, EventKind
from sgdoctor.patterns import lazy_pattern

_MILD_LEVELS: Final = frozenset({"DEBUG", "INFO", "WARNING"})
_NAMED: Final = r"(?:DEBUG|INFO|NOTICE|WARN(?:ING)?|[Dd]ebug|[Ii]nfo|[Nn]otice|[Ww]arn(?:ing)?)"
# How loggers begin a line. NCCL is left out on purpose: its highest level is "NCCL WARN", also for what ends a process.
_LEVEL: Final = lazy_pattern(
    # loguru, supervisord, Rust's tracing: a clock, then the level.
    rf"\s*(?:\d{{4}}-\d\d-\d\d[T ][\d:.,]{{8,18}}(?:Z|[+-]\d\d:?\d\d)?[\s|-]{{1,5}})?\[?{_NAMED}\]?(?:[:\s|]|\[\d+\]|$)"
    rf"|(?:\[[^\]]{{1,60}}\] ?){{1,2}}\[(?:{_NAMED}|W|I)\]"
    # glog and c10: "W0325 09:33:41", "[W1019 01:14:03", "[W socket.cpp:464]".
    r"|\[?[IW]\d{4} \d\d:\d\d:\d\d|\[[IW] [\w./]{1,80}:\d{1,6}\]"
    # Python's warnings, with and without the place.
    r"|(?:\S{1,400}:\d{1,6}: )?(?:[A-Za-z.]{0,60}Warning): "
    r'|time="?[^"\s]{1,40}"? level=(?:debug|info|warning)\b'
)
_GOES_ON: Final = lazy_pattern(
    r"(?i)(?<!not )(?<!cannot )(?<!to )\bfall(?:s|ing)?[ -]back\b|(?<!no )\bfallback to\b"
    r"|\bwill be (?:ignored|skipped)\b"
    r"|\bignor(?:e|ing) (?:import error|this|it\b|the )|\bskipping\b|\bretrying\b|\bcontinuing (?:with|anyway)"
)

_REQUEST_HANDLERS: Final = ("/starlette/", "/fastapi/", "/srt/entrypoints/openai/")


def is_warning(event: Event) -> bool:
    """Whether its writer calls it a warning or less. A lone exception and a folded one are told by their prefix."""
    if event.line.level in _MILD_LEVELS:
        return True
    text = event.line.text if event.kind is EventKind.LINE else event.header
    return bool(text) and _LEVEL.match(text) is not None


def goes_on(event: Event) -> bool:
    """Whether a line says itself that the program goes on: it falls back, ignores, skips, tries again."""
    if event.kind is EventKind.LINE:
        return _GOES_ON.search(event.text) is not None
    return bool(event.header) and _GOES_ON.search(event.header) is not None


def leaves_no_gpu(event: Event) -> bool:
    """Whether torch warns that CUDA did not come up: after that it has no GPU (``torch/cuda/__init__.py``)."""
    return event.kind is EventKind.LINE and "Warning: CUDA initialization: " in event.text


def fails_a_request(event: Event) -> bool:
    """Whether an exception was raised while one request was handled: the web server answers it and goes on."""
    return "hit an exception" not in event.header and any(
        frame.function == "run_asgi" or any(part in frame.file for part in _REQUEST_HANDLERS)
        for raised in event.raised
        for frame in raised.frames
    )
