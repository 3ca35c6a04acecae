"""From the events of one attempt to phases and facts: every line goes to the reader of its first word."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from sgdoctor.engines.base import PhaseName, Reading
from sgdoctor.engines.sglang import errors, markers, serving, startup
from sgdoctor.engines.sglang.argparse_errors import is_argument_error
from sgdoctor.engines.sglang.attempt import Attempt
from sgdoctor.engines.sglang.facts import is_foremost
from sgdoctor.engines.sglang.memory import derived
from sgdoctor.engines.sglang.server_args import is_server_args, read_server_args
from sgdoctor.engines.sglang.versions import Bounds, bounds_by_fields, bounds_by_flags
from sgdoctor.logs.event import Event, EventKind

if TYPE_CHECKING:
    from sgdoctor.engines.sglang.memory.fractions import Advice

_USAGE: Final = ("usage: ", "[-", "-", "{")
_WHOLE_ARGUMENTS: Final = 100
"""No version has fewer fields or flags; a text with fewer was cut off."""
_HEADERS: Final = ("Scheduler hit", "TokenizerManager hit", "DetokenizerManager hit", "DataParallelController hit")
_LONGEST_PACKAGE_LINE: Final = 80

_READERS: Final[Mapping[str, Callable[[Attempt, Event, str], None]]] = {
    "Init": startup.init,
    "Memory": startup.memory_line,
    "Load": startup.weights,
    "Mamba": startup.state_cache,
    "KV": startup.kv_cache,
    "SWAKVPool": startup.window_pool,
    "Capture": startup.capture,
    "Disable": startup.disabled_graph,
    "Breakable": startup.breakable,
    "Attention": startup.attention_backend,
    "INFO:": startup.http,
    "ERROR:": serving.bind_failed,
    "SIGTERM": serving.shutdown,
    "Signal": serving.shutdown,
    "Gracefully": serving.shutdown,
    "SIGQUIT": serving.sigquit,
    "Subprocess": serving.child_exit,
    "Exit": serving.child_exit,
    "Rank": serving.rank,
    "Decode": serving.batch,
    "Prefill": serving.batch,
}


def read_events(events: Iterable[Event]) -> Reading:
    """Phases and facts of one attempt; ``events`` are in log order and may have gaps."""
    attempt = Attempt()
    for event in events:
        attempt.first_line = attempt.first_line or event.first
        attempt.last_line = max(attempt.last_line, event.last)
        if event.time is not None:
            attempt.clocks.setdefault(event.time.tzinfo is None, event.time)
        foremost = is_foremost(event.rank)
        if foremost:
            attempt.course.see(event)
        _KINDS[event.kind](attempt, event)
        if foremost:
            attempt.course.seen(event)
    return _finish(attempt)


def _line(attempt: Attempt, event: Event) -> None:
    text = event.text
    course = attempt.course
    if course.current in (None, PhaseName.DOCKER):
        _before_the_engine(attempt, event)
    reader = _READERS.get(text.partition(" ")[0])
    if reader is not None and _is_own(text):
        attempt.recognised = attempt.recognised or not text.startswith(markers.SHARED_STARTS)
        reader(attempt, event, text)
    elif text.startswith(markers.READY):
        attempt.recognised = True
        serving.ready(attempt, event, text)
    elif text.startswith("max_total_num_tokens="):
        attempt.recognised = True
        startup.summary(attempt, event, text)
    elif attempt.after_weights and text.startswith(("quant=", "avail mem=", "mem usage=")):
        startup.weights_end_parts(attempt, event, text)
    elif ("KV Cache " in text[:48] or "KV cache allocated" in text[:64]) and "#tokens" in text:
        attempt.recognised = True
        startup.kv_cache(attempt, event, text)
    elif is_argument_error(text):
        _argument_error(attempt, event)
    elif errors.may_hold_figures(text):
        serving.figures(attempt, event, text)
    else:
        _rest(attempt, event)


def _is_own(text: str) -> bool:
    """Whether a line whose first word the engine uses may be the engine's: lines of other programs begin alike."""
    return text.startswith(markers.OWN_STARTS)


# How the parent says that a rank of it died, at any time.
_OF_A_DEATH: Final = ("SIGQUIT received", "Subprocess ")


def _before_the_engine(attempt: Attempt, event: Event) -> None:
    text = event.text
    # Ranks are started once the arguments are read: a line of or about one begins an excerpt, which does not tell how
    # far the start was.
    if event.rank or markers.CHILD_FAILED in text or text.startswith(_OF_A_DEATH):
        return
    if event.line.engine or "launch_server.py" in text or "/sglang/" in text:
        attempt.course.begin(PhaseName.ARGS, event)
    elif text.startswith(markers.DOCKER_STARTS):
        attempt.course.begin(PhaseName.DOCKER, event)


def _rest(attempt: Attempt, event: Event) -> None:
    text, book = event.text, attempt.book
    if "is still supported, but 'sglang serve'" in text:
        attempt.recognised = True
        attempt.wording("entry_warning", event)
    elif markers.CHILD_FAILED in text:
        serving.sigquit(attempt, event, text)
    elif "sglang:" in text and (image := markers.IMAGE_VERSION.search(text)):
        book.put("version", image[1], event.line)
    elif len(text) <= _LONGEST_PACKAGE_LINE and (package := markers.PACKAGE_VERSION.match(text)):
        book.put(markers.PACKAGE_FACTS[package[1]], package[2], event.line)


def _data(attempt: Attempt, event: Event) -> None:
    text = event.text
    if is_server_args(text):
        attempt.recognised = True
        if attempt.course.current in (None, PhaseName.DOCKER):
            attempt.course.begin(PhaseName.ARGS, event)
        _arguments(attempt, event)
    elif markers.CHAT_REFUSED in text[:120] and text.endswith(" 400 Bad Request"):
        attempt.book.count("chat_refused", event.line)
    elif text.startswith(_USAGE):
        attempt.usage.append(text)
        if text.startswith(("usage: sglang", "usage: launch_server")):
            attempt.recognised = True
            attempt.course.begin(PhaseName.ARGS, event)


def _arguments(attempt: Attempt, event: Event) -> None:
    # The text of an event is shortened; the line has all fields.
    fields = read_server_args(event.line.text)
    book = attempt.book
    for name, value in fields.items():
        book.put_argument(name, value, event.line)
    attempt.fields, attempt.fields_line = frozenset(fields), event.line.number
    for fact, name in (
        ("model_path", "model_path"),
        ("fraction", "mem_fraction_static"),
        ("attention_backend", "attention_backend"),
        ("host", "host"),
        ("port", "port"),
    ):
        book.put(fact, fields.get(name), event.line)
    attempt.course.then(PhaseName.CONFIG, event)


def _argument_error(attempt: Attempt, event: Event) -> None:
    from sgdoctor.engines.sglang.arguments import read_argument_error  # noqa: PLC0415 - seldom needed, slow to load

    for name, value in read_argument_error(event.text, attempt.usage).items():
        attempt.book.put(f"args_error.{name}", value, event.line)
    if attempt.course.current is None:
        attempt.course.begin(PhaseName.ARGS, event)


def _progress(attempt: Attempt, event: Event) -> None:
    text, book = event.text, attempt.book
    count = markers.PROGRESS_COUNT.search(text)
    if count is None:
        return
    if "shards:" in text:
        book.put("shards_loaded", int(count[1]), event.line)
        book.put("shards_total", int(count[2]), event.line)
    elif text.startswith(("Capturing ", "Compiling ")):
        attempt.course.begin(PhaseName.GRAPH_CAPTURE, event)
        book.put("capture_done", int(count[1]), event.line)
        book.put("capture_total", int(count[2]), event.line)
        if avail := markers.AVAIL_MEM.search(text):
            book.put("capture_avail_gib", float(avail[1]), event.line)


def _traceback(attempt: Attempt, event: Event) -> None:
    course = attempt.course
    if event.header.startswith(_HEADERS):
        attempt.failed = attempt.recognised = True
    frames = [frame for raised in event.raised for frame in raised.frames]
    if course.current in (None, PhaseName.DOCKER, PhaseName.ARGS) and frames:
        # Of a stack without the lines before it only that of the program itself tells how far the start was.
        if course.current is None and any(frame.function == "<module>" for frame in frames):
            course.begin(PhaseName.ARGS, event)
        # srt/server_args.py reads the model's configuration before it prints the arguments.
        if course.current is not None and any("config" in frame.file.rpartition("/")[2] for frame in frames):
            course.begin(PhaseName.CONFIG, event)
    if any("/sglang/" in frame.file for frame in frames):
        attempt.recognised = True
    if any(raised.type == "KeyboardInterrupt" for raised in event.raised):
        serving.shutdown(attempt, event, event.text)
    if errors.may_hold_figures(event.text):
        serving.figures(attempt, event, event.text)


def _exit(attempt: Attempt, event: Event) -> None:
    code = markers.EXIT_CODE.search(event.text)
    if code is None:
        return
    if event.text.startswith(("Subprocess ", "Rank ", "Exit code")):
        serving.rank(attempt, event, event.text)
    else:
        attempt.book.put("exit_code", int(code[1]), event.line)


_KINDS: Final[Mapping[EventKind, Callable[[Attempt, Event], None]]] = {
    EventKind.LINE: _line,
    EventKind.DATA: _data,
    EventKind.PROGRESS: _progress,
    EventKind.TRACEBACK: _traceback,
    EventKind.EXIT: _exit,
}


def _finish(attempt: Attempt) -> Reading:
    """What follows from all that was read."""
    book = attempt.book
    bounds = _version(attempt)
    hybrid = bool(book.value("is_hybrid") or book.value("args.uses_mamba_radix_cache"))
    if hybrid:
        needed = book.value("state_slots_needed") or derived.slots_needed(book.value)
        line = book.line("state_slots_needed", "args.mamba_radix_cache_strategy", "state_slots")
        book.add_derived("state_slots_needed", needed, line)
    known = derived.figures(book.value, slots_from_pool=book.value("state_gib") is not None, high=bounds.high)
    chunk = book.value("chunked_prefill_size") or book.value("args.chunked_prefill_size")
    _add_fractions(attempt, known, chunk, hybrid=hybrid)
    book.add_derived(
        "chunk_half", derived.chunk_half(chunk), book.line("chunked_prefill_size", "args.chunked_prefill_size")
    )
    if attempt.first_line:
        book.add_derived("lines", attempt.last_line - attempt.first_line + 1, attempt.first_line)
    return Reading(
        phases=tuple(attempt.course.finish(hybrid=hybrid)),
        facts=dict(book.facts),
        ready_line=attempt.ready_line,
        shutdown_line=attempt.shutdown_line,
        recognised=attempt.recognised,
    )


def _add_fractions(attempt: Attempt, known: derived.Figures, chunk: Any, *, hybrid: bool) -> None:
    """What the static fraction has to be: by the whole model where the log tells it, else by its figures alone."""
    book = attempt.book
    state_minimum = derived.state_fraction_min(known) if hybrid else None
    minimum = derived.kv_fraction_min(known, attempt.printed_minimum)
    floor = derived.fraction_floor(minimum, state_minimum, hybrid=hybrid)
    lower = derived.fraction_lower(book.value, floor)
    graphs = derived.prefill_graphs(book.value("args.cuda_graph_config"))
    fitting = derived.fitting_fraction(known, floor, chunk, graphs)
    advice = _advice(attempt, known)
    if advice is not None:
        floor = advice.span.low
        state_minimum = floor if hybrid else None
        fitting, lower = (advice.best, None) if advice.too_low else (None, advice.best)
    line = book.line("mem_after_weights_gib", "fraction")
    book.add_derived("state_fraction_min", state_minimum, book.line("state_slots", "mem_after_weights_gib"))
    book.add_derived("kv_fraction_min", minimum, line)
    book.add_derived("fraction_floor", floor, line)
    book.add_derived("fraction_lower", lower, book.line("fraction"))
    book.add_derived("solver.fraction", fitting, line)
    if advice is not None and advice.best is not None:
        book.add_derived("solver.high", advice.span.high, line)
        low, safe, high = advice.span
        book.add_derived("solver.safe", safe if low <= safe < high else None, line)
    if advice is not None and advice.relief is not None:
        fraction = advice.relief.fraction
        book.add_derived("solver.chunk", advice.chunk, book.line("chunked_prefill_size", "fraction"))
        book.add_derived("solver.chunk_fraction", None if fraction == known.fraction else fraction, line)


def _advice(attempt: Attempt, known: derived.Figures) -> "Advice | None":
    if not attempt.failed or known.pre is None or known.fraction is None:
        return None
    from sgdoctor.engines.sglang.memory.fractions import advice_of  # noqa: PLC0415 - most logs do without it

    return advice_of(attempt.book.facts)


def _version(attempt: Attempt) -> Bounds:
    """Bounds of the version: what the log says, else the fields or the flags it lists, else its wordings."""
    book = attempt.book
    exact = book.value("version")
    if exact is not None:
        bounds, line = Bounds(exact, exact), book.line("version")
    elif len(attempt.fields) >= _WHOLE_ARGUMENTS:
        bounds, line = bounds_by_fields(attempt.fields).within(attempt.wordings), attempt.fields_line
    else:
        bounds, line = attempt.wordings, attempt.wording_line
        flags = markers.flags_in(attempt.usage)
        if len(flags) >= _WHOLE_ARGUMENTS:
            bounds, line = bounds_by_flags(flags).within(bounds), book.line("args_error.kind")
    book.add_derived("version_min", bounds.low, line)
    book.add_derived("version_max", bounds.high, line)
    return bounds
