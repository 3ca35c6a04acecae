"""The `server_args=` line and its fields: what was given, and what the engine resolved."""

import re
from dataclasses import replace
from typing import Any, Final

from sgdoctor.engines.sglang.memory.defaults import choose
from sgdoctor.engines.sglang.versions import version_key

from .decision import Decision
from .script import cut

# Not in the line, or not a field: seen in every recorded line of 0.5.15.
_LEFT_OUT: Final = frozenset({"collect_tokens_histogram", "config", "prefill_round_robin_balance"})
_ORDER: Final = re.compile(r"[( ](\w+)=")
"""Names of a `ServerArgs(...)`; those inside of its values do no harm."""
_FIELDS_ONLY: Final = {"custom_sigquit_handler": None, "stat_loggers": None}
"""Fields without a flag that are in no schema."""
_SEED: Final = 471257653
_FIXED: Final = {
    "load_balance_method": "round_robin",
    "dsa_prefill_cp_mode": "round-robin-split",
    "device": "cuda",
    "sampling_backend": "flashinfer",
    "grammar_backend": "xgrammar",
    "speculative_moe_runner_backend": "auto",
    "expert_distribution_recorder_buffer_size": 1000,
    "mm_process_config": {},
    "custom_weight_loader": [],
    "page_size": 1,
    "random_seed": _SEED,
}


class _Literal(str):
    """A text that stands in the line without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def resolved(decision: Decision) -> dict[str, Any]:
    """Fields with their values once the defaults are filled in."""
    arguments, chosen, model = decision.arguments, decision.chosen, decision.model
    assert chosen is not None
    assert model is not None
    fields = arguments.fields
    filled: dict[str, Any] = {
        **_FIXED,
        "tokenizer_path": decision.path,
        "served_model_name": decision.path,
        "mem_fraction_static": round(chosen.fraction, 9),
        "chunked_prefill_size": chosen.chunk,
        "attention_backend": decision.attention,
    }
    for name, value in filled.items():
        if name in fields and not arguments.has(name):
            fields[name] = value
    if model.shape.hybrid:
        fields["mamba_radix_cache_strategy"] = decision.strategy
        fields["uses_mamba_radix_cache"] = not decision.settings.radix_off
    if version_key(arguments.version) >= (0, 5, 14):
        fields |= {"cuda_graph_config": graphs(decision), **_FIELDS_ONLY}
    order = {
        name: place for place, name in enumerate(_ORDER.findall(cut("boot-dense", "server_args=", "Using default")))
    }
    ordered = sorted(fields, key=lambda name: order.get(name, len(order)))
    return {name: fields[name] for name in ordered if name not in _LEFT_OUT}


def graphs(decision: Decision) -> dict[str, dict[str, Any]]:
    """The configuration of the graphs, as `/server_info` has it."""
    chosen, settings, model = decision.chosen, decision.settings, decision.model
    assert chosen is not None
    assert model is not None
    # The sizes are there even where nothing is captured.
    full = replace(settings, decode_graph="full", prefill_graph="breakable")
    possible = choose(full, model.shape, decision.situation.card.total_mib, decision.situation.version)
    return {
        "decode": _phase(settings.decode_graph or "full", possible.decode_sizes),
        "prefill": _phase(
            settings.prefill_graph or "breakable" if chosen.prefill_sizes else "disabled", possible.prefill_sizes
        ),
    }


def _phase(backend: str, sizes: tuple[int, ...]) -> dict[str, Any]:
    return {
        "backend": backend,
        "max_bs": sizes[-1],
        "bs": list(sizes),
        "tc_compiler": "eager",
        "full_prefill_max_req": None,
    }


def line(decision: Decision) -> str:
    """The line, without its time."""
    fields = resolved(decision)
    if "cuda_graph_config" in fields:
        phases = ", ".join(
            f"{phase}=PhaseConfig({', '.join(f'{name}={value!r}' for name, value in config.items())})"
            for phase, config in fields["cuda_graph_config"].items()
        )
        fields["cuda_graph_config"] = _Literal(f"CudaGraphConfig({phases})")
    return f"server_args=ServerArgs({', '.join(f'{name}={value!r}' for name, value in fields.items())})"
