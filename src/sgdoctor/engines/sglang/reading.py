"""From the events of one attempt to phases and facts: every line goes to the reader of its first word."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Final

from sgdoctor.engines.base import PhaseName, Reading
from sgdoctor.engines.sglang import errors, markers, memory
from sgdoctor.engines.sglang.arguments import is_argument_error, read_argument_error
from sgdoctor.engines.sglang.facts import FactBook, is_foremost, number, whole, word
from sgdoctor.engines.sglang.phases import Course, seconds_between
from sgdoctor.engines.sglang.server_args import is_server_args, read_server_args
from sgdoctor.engines.sglang.versions import WORDINGS, Bounds, bounds_by_fields
from sgdoctor.logs.event import Event, EventKind

_USAGE: Final = ("usage: ", "[-", "-", "{", "[")
_QUANT: Final = re.compile(r"(?<!\w)quant=([\w.+-]+)")
_BACKEND: Final = re.compile(r"Attention backend not specified\. Use (\w+) backend")
_LATE_WEIGHTS: Final = re.compile(r"Committed real weights .*? in ([\d.]+) s")
_THROUGHPUT: Final = re.compile(r"throughput \(token/s\): ([\d.]+)")
_USAGE_SHARE: Final = re.compile(r"(?<!mamba )(?<!swa )token usage: ([\d.]+)")


class Reader:
    """Reads one attempt, event by event."""

    def __init__(self) -> None:
        self.book = FactBook()
        self.course = Course()
        self._wordings = Bounds()
        self._wording_line = 0
        self._fields: dict[str, object] = {}
        self._fields_line = 0
        self._usage: list[str] = []
        self._weights_loads = 0
        self._after_weights = False
        self._pools_done = False
        self._failed = False
        self._printed_minimum: float | None = None
        self._clocks: dict[bool, datetime] = {}
        self._ready_line: int | None = None
        self._shutdown_line: int | None = None
        self._recognised = False
        self._first_line = 0
        self._last_line = 0

    def take(self, event: Event) -> None:
        """Read one event."""
        if not self._first_line:
            self._first_line = event.first
        self._last_line = max(self._last_line, event.last)
        if event.time is not None:
            self._clocks.setdefault(event.time.tzinfo is None, event.time)
        foremost = is_foremost(event.rank)
        if foremost:
            self.course.see(event)
        match event.kind:
            case EventKind.LINE:
                self._line(event)
            case EventKind.DATA:
                self._data(event)
            case EventKind.PROGRESS:
                self._progress(event)
            case EventKind.TRACEBACK:
                self._traceback(event)
            case EventKind.EXIT:
                self._exit(event)
        if foremost:
            self.course.seen(event)

    def wording(self, name: str, event: Event) -> None:
        """Narrow the version down by a wording of ``versions.WORDINGS``."""
        self._wordings = self._wordings.within(WORDINGS[name])
        self._wording_line = self._wording_line or event.line.number

    # What kind of event it is.

    def _line(self, event: Event) -> None:
        text = event.text
        first = text.partition(" ")[0]
        reader = _READERS.get(first)
        if reader is not None:
            self._recognised = True
            if self.course.current is None:
                self.course.begin(PhaseName.ARGS, event)
            reader(self, event, text)
            return
        if self.course.current in (None, PhaseName.DOCKER):
            self._before_the_engine(event, text)
        if self._after_weights and text.startswith(("quant=", "avail mem=", "mem usage=")):
            self._weights_end_parts(event, text)
        elif "KV Cache " in text[:48] and ("allocated" in text or "upper bound" in text):
            self._kv_cache(event, text)
        elif "KV cache allocated" in text:
            self._kv_cache(event, text)
        elif text.startswith("max_total_num_tokens="):
            self._recognised = True
            self._summary(event, text)
        elif is_argument_error(text):
            self._argument_error(event, text)
        elif errors.may_hold_figures(text):
            self._figures(event, text)
        else:
            self._rest(event, text)

    def _before_the_engine(self, event: Event, text: str) -> None:
        if event.line.engine or "launch_server.py" in text or "sglang" in text[:60]:
            self.course.begin(PhaseName.ARGS, event)
        elif text.startswith(markers.DOCKER_STARTS):
            self.course.begin(PhaseName.DOCKER, event)

    def _rest(self, event: Event, text: str) -> None:
        if "is still supported, but 'sglang serve'" in text:
            self._recognised = True
            self.wording("entry_warning", event)
        elif "Retract requests" in text:
            self._retraction(event, text)
        elif "exit code" in text:
            self._child_exit(event, text)
        elif "sglang:" in text and (image := markers.IMAGE_VERSION.search(text)):
            self.book.put("version", image[1], event.line)
        elif text[0:1] in "sStTPN" and len(text) < 80 and (package := markers.PACKAGE_VERSION.match(text)):
            name = {"S": "version", "s": "version", "T": "transformers_version"}.get(package[1][0], "torch_version")
            name = "transformers_version" if package[1] == "transformers" else name
            self.book.put(name, package[2], event.line)

    def _data(self, event: Event) -> None:
        text = event.text
        if is_server_args(text):
            self._recognised = True
            if self.course.current in (None, PhaseName.DOCKER):
                self.course.begin(PhaseName.ARGS, event)
            self._arguments(event, text)
        elif text.startswith(_USAGE):
            self._usage.append(text)
            if text.startswith("usage: "):
                self._recognised = self._recognised or "sglang" in text[:40] or "launch_server" in text[:40]
                self.course.begin(PhaseName.ARGS, event)

    def _progress(self, event: Event) -> None:
        text = event.text
        count = markers.PROGRESS_COUNT.search(text)
        if count is None:
            return
        if "shards:" in text:
            self.book.put("shards_loaded", int(count[1]), event.line)
            self.book.put("shards_total", int(count[2]), event.line)
        elif text.startswith(("Capturing ", "Compiling ")):
            self.course.begin(PhaseName.GRAPH_CAPTURE, event)
            self.book.put("capture_done", int(count[1]), event.line)
            self.book.put("capture_total", int(count[2]), event.line)
            if avail := markers.AVAIL_MEM.search(text):
                self.book.put("capture_avail_gib", float(avail[1]), event.line)

    def _traceback(self, event: Event) -> None:
        if event.header.startswith(("Scheduler hit", "TokenizerManager hit", "DetokenizerManager hit")):
            self._failed = self._recognised = True
        frames = [frame for raised in event.raised for frame in raised.frames]
        if self.course.current in (None, PhaseName.DOCKER, PhaseName.ARGS) and frames:
            if self.course.current is not PhaseName.ARGS:
                self.course.begin(PhaseName.ARGS, event)
            # srt/server_args.py reads the model's configuration before the arguments are printed.
            if any("config" in frame.file.rpartition("/")[2] for frame in frames):
                self.course.begin(PhaseName.CONFIG, event)
        if any(raised.type == "KeyboardInterrupt" for raised in event.raised):
            self._shutdown(event, event.text)
        if errors.may_hold_figures(event.text):
            self._figures(event, event.text)

    def _exit(self, event: Event) -> None:
        code = markers.EXIT_CODE.search(event.text)
        if code is not None:
            self.book.put("exit_code", int(code[1]), event.line)

    # Readers of single wordings.

    def _arguments(self, event: Event, text: str) -> None:
        fields = read_server_args(event.line.text)
        for name, value in fields.items():
            self.book.put_argument(name, value, event.line)
        self._fields, self._fields_line = fields, event.line.number
        for fact, field in (
            ("model_path", "model_path"),
            ("fraction", "mem_fraction_static"),
            ("attention_backend", "attention_backend"),
            ("host", "host"),
            ("port", "port"),
        ):
            self.book.put(fact, fields.get(field), event.line)
        self.course.then(PhaseName.CONFIG, event)

    def _argument_error(self, event: Event, text: str) -> None:
        for name, value in read_argument_error(text, self._usage).items():
            self.book.put(f"args_error.{name}", value, event.line)
        if self.course.current is None:
            self.course.begin(PhaseName.ARGS, event)

    def _init(self, event: Event, text: str) -> None:
        old = text.startswith("Init torch distributed")
        if not old and not text.startswith("Init parallel"):
            return
        self.wording("init_torch" if old else "init_parallel", event)
        if " begin" in text:
            if is_foremost(event.rank):
                self.course.begin(PhaseName.DISTRIBUTED, event)
        elif " ends" in text:
            seconds = number(text, "elapsed")
            if old:
                self.wording("init_without_elapsed" if seconds is None else "init_elapsed", event)
            self.book.put_first("distributed_seconds", seconds, event.line)
            if is_foremost(event.rank) and not self._weights_loads:
                self.course.end(PhaseName.DISTRIBUTED, event, seconds, number(text, "mem usage"))

    def _baseline(self, event: Event, text: str) -> None:
        if text.startswith("Memory pool end"):
            self.book.put("mem_after_pools_gib", number(text, "avail mem"), event.line)
            if is_foremost(event.rank):
                self._pools_done = True
                self.course.end(PhaseName.KV_CACHE, event)

    def _weights(self, event: Event, text: str) -> None:
        foremost = is_foremost(event.rank)
        if text.startswith("Load weight begin"):
            self._after_weights = False
            self.book.put_first("mem_before_weights_gib", number(text, "avail mem"), event.line)
            if foremost:
                self._weights_loads += 1
                self.course.begin_weights(event)
        elif late := _LATE_WEIGHTS.search(text):
            self.book.put("weights_seconds", float(late[1]), event.line)
        elif text.startswith("Load weight end"):
            seconds = number(text, "elapsed")
            self.wording("weights_without_elapsed" if seconds is None else "weights_elapsed", event)
            if "dtype=" in text:
                self.wording("weights_dtype", event)
            elif "avail mem=" in text:
                self.wording("weights_without_dtype", event)
            self._weights_end_parts(event, text)
            if foremost:
                self._after_weights = True
                self.course.end(PhaseName.WEIGHTS, event, seconds, number(text, "mem usage"))
                self.course.then(PhaseName.KV_CACHE, event)

    def _weights_end_parts(self, event: Event, text: str) -> None:
        # The second load of a start is that of a draft model; the pools are made from what is left after both.
        name = "draft_weights_gib" if self._weights_loads > 1 else "weights_gib"
        self.book.put(name, number(text, "mem usage"), event.line)
        self.book.put("mem_after_weights_gib", number(text, "avail mem"), event.line)
        if self._weights_loads < 2:
            self.book.put("weights_seconds", number(text, "elapsed"), event.line)
            self.book.put("architecture", word(text, "type"), event.line)
            self.book.put("weights_dtype", word(text, "dtype"), event.line)
            if quant := _QUANT.search(text):
                self.book.put("quantisation", quant[1], event.line)

    def _state_cache(self, event: Event, text: str) -> None:
        if not text.startswith("Mamba Cache"):
            return
        sizes = {name: number(text, name) for name in ("conv_state", "ssm_state")}
        extra = [number(text, "intermediate_ssm_state_cache"), number(text, "intermediate_conv_window_cache")]
        known = [size for size in (*sizes.values(), *extra) if size is not None]
        total = round(sum(known), 4) if known else None
        for name, size in sizes.items():
            self.book.put_first(f"{name}_gib", size, event.line)
        self.book.put_first("state_slots", whole(text, "max_mamba_cache_size"), event.line)
        self.book.put_first("state_gib", total, event.line)
        self.book.put("is_hybrid", True, event.line)
        if is_foremost(event.rank):
            self.course.end_state_cache(event, total)

    def _kv_cache(self, event: Event, text: str) -> None:
        self._recognised = True
        if "Retract requests" in text:
            self._retraction(event, text)
            return
        tokens = whole(text, "#tokens")
        if tokens is None:
            return
        if "is allocated" in text:
            self.wording("kv_dtype" if "dtype" in text else "kv_without_dtype", event)
        elif "upper bound" in text or "Post-capture" in text:
            self.wording("kv_upper_bound", event)
        sizes = [size for key in ("K", "V", "KV") if (size := number(text, key)) is not None]
        total = round(sum(sizes), 4) if sizes else None
        if is_foremost(event.rank) and "Post-capture" in text:
            self.book.put("kv_tokens", tokens, event.line)
            self.book.put("kv_gib", total, event.line)
        elif not self._pools_done:
            # Models with sliding windows make several pools; the largest holds whole requests.
            if is_foremost(event.rank) and total is not None:
                total = round(total + (self.book.value("kv_gib") or 0), 4)
                self.course.add_kv_cache(event, sum(sizes))
            self.book.put("kv_gib", total, event.line)
            self.book.raise_to("kv_tokens", tokens, event.line)
            self.book.put("kv_dtype", word(text, "dtype"), event.line)

    def _capture(self, event: Event, text: str) -> None:
        found = markers.CAPTURE.match(text)
        if found is None:
            return
        what, avail = found["what"], number(text, "avail mem")
        self.wording("capture_named" if re.match(r"target|draft \w+$", what) else "capture_unnamed", event)
        if "num_tokens_per_bs=" in text:
            self.wording("tokens_per_bs", event)
        elif "num_tokens_per_req=" in text:
            self.wording("tokens_per_req", event)
        foremost = is_foremost(event.rank)
        if found["edge"] == "begin":
            if foremost:
                self.course.begin(PhaseName.GRAPH_CAPTURE, event)
            return
        seconds = number(text, "elapsed")
        seconds = number(text, "Time elapsed") if seconds is None else seconds
        taken = number(text, "mem usage")
        kind = "prefill" if "prefill" in what or "piecewise" in what else "decode"
        if foremost:
            for name, value in ((f"{kind}_graph", (seconds, taken)), ("graph", (seconds, taken))):
                for unit, amount in zip(("seconds", "gib"), value, strict=True):
                    if amount is not None:
                        before = self.book.value(f"{name}_{unit}") or 0
                        self.book.put(f"{name}_{unit}", round(before + amount, 4), event.line)
            self.course.end(PhaseName.GRAPH_CAPTURE, event, seconds, taken)
        self.book.put("mem_after_graphs_gib", avail, event.line)

    def _disable(self, event: Event, text: str) -> None:
        _, because, reason = text.partition("prefill CUDA graph because ")
        if because:
            self.book.put("prefill_graph_disabled", reason.rstrip(".")[:200], event.line)

    def _breakable(self, event: Event, text: str) -> None:
        if "disabling prefill CUDA graph" in text:
            self.book.put_first("prefill_graph_disabled", text.partition(";")[0][:200], event.line)

    def _attention(self, event: Event, text: str) -> None:
        if found := _BACKEND.match(text):
            self.book.put_first("attention_backend", found[1], event.line)

    def _summary(self, event: Event, text: str) -> None:
        names = (
            "max_total_num_tokens",
            "chunked_prefill_size",
            "max_prefill_tokens",
            "max_running_requests",
            "context_len",
        )
        for name in names:
            self.book.put(name, whole(text, name), event.line)
        self.book.put("available_gpu_mem_gib", number(text, "available_gpu_mem"), event.line)

    def _info(self, event: Event, text: str) -> None:
        if markers.UVICORN_RUNNING in text:
            if url := markers.URL.search(text):
                self.book.put("host", url[1].strip("[]"), event.line)
                self.book.put("port", int(url[2]), event.line)
            self.course.end(PhaseName.HTTP, event)
            self.course.then(PhaseName.WARMUP, event)
        elif "Started server process" in text or "Waiting for application startup" in text:
            self.course.begin(PhaseName.HTTP, event)
        elif text.endswith("Shutting down"):
            self._shutdown(event, text)

    def _ready(self, event: Event, text: str) -> None:
        if not text.startswith(markers.READY):
            return
        self.book.put("ready", True, event.line)  # noqa: FBT003 - a fact's value
        self._ready_line = self._ready_line or event.line.number
        if event.time is not None and (first := self._clocks.get(event.time.tzinfo is None)):
            self.book.put_first("ready_seconds", seconds_between(first, event.time), event.line)
        if self.course.current is PhaseName.WARMUP:
            self.course.end(PhaseName.WARMUP, event)
        self.course.begin(PhaseName.SERVING, event)

    def _shutdown(self, event: Event, text: str) -> None:
        # A dying child makes the parent shut down as well; then nobody asked for it.
        asked = text.startswith(("SIGTERM received", "Signal SIGTERM received", "Gracefully")) or not self._failed
        if self._failed or not asked or self._shutdown_line is not None:
            return
        self._shutdown_line = event.first
        self.course.begin(PhaseName.SHUTDOWN, event)

    def _sigquit(self, event: Event, text: str) -> None:
        self._failed = self._failed or "igquit" in text or "SIGQUIT" in text

    def _child_exit(self, event: Event, text: str) -> None:
        code = markers.EXIT_CODE.search(text)
        if code is None:
            return
        self._failed = True
        if text.startswith("Subprocess"):
            self.wording("subprocess_crashed", event)
        self.book.put("child_exit_code", int(code[1]), event.line)
        self.book.put_first("exit_code", int(code[1]), event.line)

    def _rank(self, event: Event, text: str) -> None:
        if "scheduler is dead" in text:
            self.wording("rank_is_dead", event)
            self._failed = True
        self._child_exit(event, text)

    def _batch(self, event: Event, text: str) -> None:
        if not is_foremost(event.rank) or " batch" not in text[:14]:
            return
        self.wording("batch_full_stop" if text[6:14].rstrip().endswith(".") else "batch_comma", event)
        if "#pending-token" in text:
            self.wording("pending_token", event)
        book, decode = self.book, text.startswith("Decode")
        if speed := _THROUGHPUT.search(text):
            book.put("decode_tokens_per_second" if decode else "prefill_tokens_per_second", float(speed[1]), event.line)
        if decode:
            book.count("decode_lines", event.line)
            if "cuda graph: False" in text:
                book.count("decode_eager_lines", event.line)
        if share := _USAGE_SHARE.search(text):
            book.put("token_usage", float(share[1]), event.line)
            book.raise_to("token_usage_max", float(share[1]), event.line)
        book.raise_to("running_requests_max", whole(text, "#running-req"), event.line)
        book.raise_to("queue_max", whole(text, "#queue-req"), event.line)

    def _retraction(self, event: Event, _text: str) -> None:
        if is_foremost(event.rank):
            self.book.count("retractions", event.line)

    def _figures(self, event: Event, text: str) -> None:
        found = errors.read_figures(text)
        for name, value in found.facts.items():
            self.book.put(name, value, event.line)
        self._printed_minimum = found.fraction_min or self._printed_minimum
        for wording in found.wordings:
            self._recognised = True
            self.wording(wording, event)

    # The end.

    def finish(self) -> Reading:
        """What was read."""
        book = self.book
        bounds = self._version()
        hybrid = bool(book.value("is_hybrid") or book.value("args.uses_mamba_radix_cache"))
        if hybrid:
            book.add_derived(
                "state_slots_needed",
                book.value("state_slots_needed") or memory.slots_needed(book.value),
                book.line("state_slots", "args.mamba_radix_cache_strategy"),
            )
        known = memory.figures(book.value, slots_from_pool=book.value("state_gib") is not None, high=bounds.high)
        line = book.line("state_slots", "mem_after_weights_gib")
        if hybrid:
            book.add_derived("state_fraction_min", memory.state_fraction_min(known), line)
        minimum = memory.kv_fraction_min(known, self._printed_minimum)
        book.add_derived("kv_fraction_min", minimum, book.line("mem_after_weights_gib", "fraction"))
        if self._first_line:
            book.add_derived("lines", self._last_line - self._first_line + 1, self._first_line)
        return Reading(
            phases=tuple(self.course.finish(hybrid=hybrid)),
            facts=dict(book.facts),
            ready_line=self._ready_line,
            shutdown_line=self._shutdown_line,
            recognised=self._recognised,
        )

    def _version(self) -> Bounds:
        exact = self.book.value("version")
        if exact is not None:
            bounds, line = Bounds(exact, exact), self.book.line("version")
        elif len(self._fields) >= _WHOLE_ARGUMENTS:
            bounds, line = bounds_by_fields(self._fields).within(self._wordings), self._fields_line
        else:
            bounds, line = self._wordings, self._wording_line
        self.book.add_derived("version_min", bounds.low, line)
        self.book.add_derived("version_max", bounds.high, line)
        return bounds


_WHOLE_ARGUMENTS: Final = 100
"""No version has fewer fields; a line with fewer was cut off."""

_READERS: Final[Mapping[str, Callable[[Reader, Event, str], None]]] = {
    "Init": Reader._init,
    "Memory": Reader._baseline,
    "Load": Reader._weights,
    "Mamba": Reader._state_cache,
    "KV": Reader._kv_cache,
    "Capture": Reader._capture,
    "Disable": Reader._disable,
    "Breakable": Reader._breakable,
    "Attention": Reader._attention,
    "INFO:": Reader._info,
    "The": Reader._ready,
    "SIGTERM": Reader._shutdown,
    "Gracefully": Reader._shutdown,
    "Signal": Reader._shutdown,
    "Received": Reader._sigquit,
    "SIGQUIT": Reader._sigquit,
    "Subprocess": Reader._child_exit,
    "Rank": Reader._rank,
    "Exit": Reader._child_exit,
    "Decode": Reader._batch,
    "Prefill": Reader._batch,
}


def read_events(events: Iterable[Event]) -> Reading:
    """Phases and facts of one attempt."""
    reader = Reader()
    for event in events:
        reader.take(event)
    return reader.finish()
