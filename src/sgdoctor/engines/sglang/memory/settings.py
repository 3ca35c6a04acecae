"""The flags that decide on memory, typed: from the command of a launch or from the arguments that a log lists."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

_KV_BYTES: Final = {"fp8_e5m2": 1, "fp8_e4m3": 1, "bf16": 2, "bfloat16": 2, "float16": 2, "mxfp8": 1}
_SSM_BYTES: Final = {"float32": 4, "bfloat16": 2, "float16": 2}
_UNITS: Final = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "ki": 1024, "mi": 1024**2, "gi": 1024**3}


@dataclass(frozen=True, slots=True)
class Settings:
    """Flags that decide on memory; None where they were not given.

    Attributes:
        fraction: ``--mem-fraction-static``.
        chunk: ``--chunked-prefill-size``, tokens; -1 for off.
        max_prefill: ``--max-prefill-tokens``.
        decode_max_bs: largest batch with a decode graph.
        decode_sizes: the batches of decode graphs, where they were listed.
        decode_graph: backend of decode graphs, ``disabled`` for none.
        prefill_graph: backend of prefill graphs, ``disabled`` for none.
        prefill_max_bs: longest chunk with a prefill graph, in tokens.
        strategy: ``--mamba-radix-cache-strategy``.
        radix_off: ``--disable-radix-cache``.
        overlap_off: ``--disable-overlap-schedule``.
        ratio: ``--mamba-full-memory-ratio``.
        state_slots: ``--max-mamba-cache-size``.
        requests: ``--max-running-requests``.
        max_tokens: ``--max-total-tokens``.
        context: ``--context-length``.
        page: ``--page-size``.
        kv_dtype: ``--kv-cache-dtype``.
        ssm_dtype: ``--mamba-ssm-dtype``.
        attention: ``--attention-backend``.
        tp: cards of tensor parallelism.
        pp: stages of pipeline parallelism.
        dp: data-parallel workers.
        algorithm: of speculative decoding.
        draft_tokens: ``--speculative-num-draft-tokens``.
        window_ratio: ``--swa-full-tokens-ratio``.
        windows_off: ``--disable-hybrid-swa-memory``.
        old_window_ratio: ``--hybrid-kvcache-ratio`` of versions before 0.5.9.
        hierarchical: ``--enable-hierarchical-cache``.
        sparse_prefill: ``--dsa-prefill-backend``.
        sparse_decode: ``--dsa-decode-backend``.
    """

    fraction: float | None = None
    chunk: int | None = None
    max_prefill: int | None = None
    decode_max_bs: int | None = None
    decode_sizes: tuple[int, ...] = ()
    decode_graph: str | None = None
    prefill_graph: str | None = None
    prefill_max_bs: int | None = None
    strategy: str | None = None
    radix_off: bool = False
    overlap_off: bool = False
    ratio: float = 0.9
    state_slots: int | None = None
    requests: int | None = None
    max_tokens: int | None = None
    context: int | None = None
    page: int = 1
    kv_dtype: str | None = None
    ssm_dtype: str | None = None
    attention: str | None = None
    tp: int = 1
    pp: int = 1
    dp: int = 1
    algorithm: str | None = None
    draft_tokens: int | None = None
    window_ratio: float | None = None
    windows_off: bool = False
    old_window_ratio: float | None = None
    hierarchical: bool = False
    sparse_prefill: str | None = None
    sparse_decode: str | None = None

    @property
    def kv_bytes(self) -> int | None:
        """Bytes of one value of the KV cache; None where the model decides, or for packed formats."""
        return _KV_BYTES.get(self.kv_dtype or "")

    @property
    def kv_bytes_unknown(self) -> bool:
        """Whether the KV cache has a format of which the size is not modelled (scales beside packed values)."""
        return self.kv_dtype not in (None, "auto") and self.kv_bytes is None

    @property
    def ssm_bytes(self) -> int | None:
        """Bytes of one value of a recurrent state; None where the model decides."""
        return _SSM_BYTES.get(self.ssm_dtype or "")

    @property
    def asked_slots(self) -> int | None:
        """Slots of the state cache that the flags ask for; None where they follow from the memory."""
        if self.state_slots is not None:
            return self.state_slots
        return self.requests if self.radix_off else None

    @property
    def graphs(self) -> tuple[Any, ...]:
        """What decides on the graphs: equal for two launches that capture the same ones."""
        return (self.decode_max_bs, self.decode_sizes, self.decode_graph, self.prefill_graph, self.prefill_max_bs)


def whole_number(value: Any) -> int | None:
    """A number of tokens or requests as a person types it: ``65536``, ``64k`` (64000, as SGLang reads it), ``64Ki``."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    found = re.fullmatch(r"(-?\d+(?:\.\d+)?)\s*([kmg]i?)?", str(value).strip(), re.IGNORECASE)
    return int(float(found[1]) * _UNITS[(found[2] or "").lower()]) if found else None


def _real(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if 0 < number < 100 else None


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and re.fullmatch(r"[\w.+-]{1,40}", value) else None


def _switch(value: Any) -> bool:
    return value is True or value in ("", "true", "True")


def _sizes(value: Any) -> tuple[int, ...]:
    items = value if isinstance(value, list | tuple) else str(value).replace(",", " ").split()
    numbers = [whole_number(item) for item in items]
    return tuple(number for number in numbers if number is not None and number > 0)


_READERS: Final[Mapping[str, tuple[Callable[[Any], Any], tuple[str, ...]]]] = {
    "fraction": (_real, ("mem_fraction_static",)),
    "chunk": (whole_number, ("chunked_prefill_size",)),
    "max_prefill": (whole_number, ("max_prefill_tokens",)),
    "decode_max_bs": (whole_number, ("cuda_graph_max_bs_decode", "cuda_graph_max_bs")),
    "decode_sizes": (_sizes, ("cuda_graph_bs_decode", "cuda_graph_bs")),
    "decode_graph": (_word, ("cuda_graph_backend_decode",)),
    "prefill_graph": (_word, ("cuda_graph_backend_prefill",)),
    "prefill_max_bs": (whole_number, ("cuda_graph_max_bs_prefill", "piecewise_cuda_graph_max_tokens")),
    "strategy": (_word, ("mamba_radix_cache_strategy", "mamba_scheduler_strategy")),
    "radix_off": (_switch, ("disable_radix_cache",)),
    "overlap_off": (_switch, ("disable_overlap_schedule",)),
    "ratio": (_real, ("mamba_full_memory_ratio",)),
    "state_slots": (whole_number, ("max_mamba_cache_size",)),
    "requests": (whole_number, ("max_running_requests",)),
    "max_tokens": (whole_number, ("max_total_tokens",)),
    "context": (whole_number, ("context_length",)),
    "page": (whole_number, ("page_size",)),
    "kv_dtype": (_word, ("kv_cache_dtype",)),
    "ssm_dtype": (_word, ("mamba_ssm_dtype",)),
    "attention": (_word, ("attention_backend",)),
    "tp": (whole_number, ("tp_size", "tensor_parallel_size", "tp")),
    "pp": (whole_number, ("pp_size", "pipeline_parallel_size", "pp")),
    "dp": (whole_number, ("dp_size", "data_parallel_size", "dp")),
    "algorithm": (_word, ("speculative_algorithm",)),
    "draft_tokens": (whole_number, ("speculative_num_draft_tokens",)),
    "window_ratio": (_real, ("swa_full_tokens_ratio",)),
    "windows_off": (_switch, ("disable_hybrid_swa_memory",)),
    "old_window_ratio": (_real, ("hybrid_kvcache_ratio",)),
    "hierarchical": (_switch, ("enable_hierarchical_cache",)),
    "sparse_prefill": (_word, ("dsa_prefill_backend", "nsa_prefill_backend")),
    "sparse_decode": (_word, ("dsa_decode_backend", "nsa_decode_backend")),
}
"""Reader and names of the arguments, the newest name first. A flag is its argument with dashes."""

_GRAPHS_OFF: Final = (
    ("disable_cuda_graph", ("decode_graph", "prefill_graph")),
    ("disable_decode_cuda_graph", ("decode_graph",)),
    ("disable_prefill_cuda_graph", ("prefill_graph",)),
    ("disable_piecewise_cuda_graph", ("prefill_graph",)),
)
_PHASE: Final = re.compile(r"(decode|prefill)=PhaseConfig\(backend='(\w+)', max_bs=(\d+|None)")


def settings_of_arguments(value: Callable[[str], Any]) -> Settings:
    """The settings that were in force, by the arguments that a log lists.

    Args:
        value: gives an argument by its name (``mem_fraction_static``), None where the log does not list it.
    """
    settings = _read(value)
    # From 0.5.14 on what became of the flags for graphs is told by one object.
    for phase, backend, size in _PHASE.findall(str(value("cuda_graph_config") or "")):
        resolved = {f"{phase}_graph": backend}
        if size != "None":
            resolved[f"{phase}_max_bs"] = int(size)
        settings = replace(settings, **resolved)
    return settings


def settings_of_flags(flags: Mapping[str, Any]) -> Settings:
    """The settings of a command.

    Args:
        flags: value by flag, dashes included; True or None for a switch.
    """
    given = {name.lstrip("-").replace("-", "_"): True if value is None else value for name, value in flags.items()}
    return _read(given.get)


def _read(value: Callable[[str], Any]) -> Settings:
    read: dict[str, Any] = {}
    for name, (reader, sources) in _READERS.items():
        given = next((found for source in sources if (found := value(source)) is not None), None)
        meant = None if given is None else reader(given)
        if meant is not None:
            read[name] = meant
    for argument, phases in _GRAPHS_OFF:
        if _switch(value(argument)):
            read |= dict.fromkeys(phases, "disabled")
    for name in ("page", "tp", "pp", "dp"):
        if read.get(name, 1) < 1:
            del read[name]
    return Settings(**read)


assert set(_READERS) == {field.name for field in fields(Settings)}
