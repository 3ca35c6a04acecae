"""Combinations of flags that the engine refuses, with what it says; those of which the message is known."""

from typing import Final

from sgdoctor.engines.sglang.flags.constraints import broken
from sgdoctor.engines.sglang.flags.refused import REFUSED
from sgdoctor.engines.sglang.flags.refused_states_and_drafts import REFUSED_STATES_AND_DRAFTS
from sgdoctor.engines.sglang.flags.settings import Settings

from .arguments import Arguments
from .models import Model

_MESSAGES: Final = {
    "nodes-uneven": "AssertionError: tp_size must be divisible by number of nodes",
    "dp-attention-uneven": "AssertionError: tp_size must be divisible by dp_size",
    "dp-over-nodes": "AssertionError: multi-node data parallel is not supported unless dp attention!",
    "gpu-index": "AssertionError: base_gpu_id must be non-negative",
    "served-name-colon": (
        "AssertionError: served_model_name cannot contain a colon (':') character. The colon is reserved for the "
        "'model:adapter' syntax used in LoRA adapter specification. Invalid value: {served!r}"
    ),
    "chunk-not-whole-pages": "AssertionError: chunked_prefill_size must be divisible by page_size",
    "host-cache-without-radix": (
        "ValueError: The arguments enable-hierarchical-cache and disable-radix-cache are mutually exclusive and cannot "
        "be used at the same time."
    ),
    "tokenizer-batching-twice": (
        "ValueError: Cannot enable both --enable-tokenizer-batch-encode and --enable-dynamic-batch-tokenizer. Please "
        "choose one tokenizer batching approach."
    ),
    "certificate-incomplete": "ValueError: --ssl-keyfile requires --ssl-certfile to be specified as well.",
    "lora-incomplete": (
        "ValueError: When no initial --lora-paths is provided, you need to specify both --max-lora-rank and "
        "--lora-target-modules for LoRA initialization."
    ),
    "gpu-not-for-trtllm": (
        "ValueError: TRTLLM MHA backend for prefill is only supported on Blackwell GPUs (SM100). Please use a different "
        "backend."
    ),
    "no-buffer-pages": "AssertionError: no_buffer only supports page_size=1.",
    "no-buffer-overlap": (
        "AssertionError: no_buffer do not support overlap schedule. Try to set disable_overlap_schedule=True."
    ),
    "lazy-buffer-drafts": "AssertionError: extra_buffer_lazy unsupported with spec.",
    "pipeline-with-drafts": (
        "AssertionError: Pipeline parallelism is not compatible with overlap schedule, speculative decoding"
    ),
}
_OF_HYBRID_MODELS: Final = frozenset({"no-buffer-pages", "no-buffer-overlap", "lazy-buffer-drafts"})


def message_of(arguments: Arguments, model: Model, sm: int) -> str | None:
    """What the engine says to a combination that it refuses; None if there is none of which this is known."""
    settings = Settings(arguments.words, 0, arguments.schema, {"gpu.sm": sm})
    for problem in broken((*REFUSED, *REFUSED_STATES_AND_DRAFTS), settings):
        said = _MESSAGES.get(problem.id)
        if said is not None and (model.shape.hybrid or problem.id not in _OF_HYBRID_MODELS):
            served = arguments.value("served_model_name") or arguments.value("model_path")
            return said.format(served=served)
    return None
