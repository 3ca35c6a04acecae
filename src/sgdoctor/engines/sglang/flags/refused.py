"""Combinations of flags that the engine refuses, or that end the start."""

from collections.abc import Iterator
from typing import Final

from sgdoctor.engines.sglang.flags.bounds import Bounds, beyond
from sgdoctor.engines.sglang.flags.constraints import Constraint, Finding, both, needs, unset
from sgdoctor.engines.sglang.flags.settings import Settings
from sgdoctor.engines.sglang.versions import version_key
from sgdoctor.launch.change import Change
from sgdoctor.texts import Text

_CHUNK: Final = 2048
"""The smallest prefill chunk that SGLang chooses by itself; all others are multiples of it."""
_FEW: Final = 12
"""Numbers of one flag that are shown."""
_LONGEST: Final = 24
"""Digits of a number that are shown."""
_LEAST_PERCENT: Final = 10
"""From here on a static fraction above 1 was meant in percent."""
_WINDOW_SHARE: Final = "0.5.9"
_BY_NAME: Final = {"mem_fraction_static": "0", "swa_full_tokens_ratio": _WINDOW_SHARE}
"""Fields with a constraint of their own, and since when: what is out of bounds there is told once."""


def _nodes(settings: Settings) -> Finding | None:
    tp, pp, nodes = (settings.number(field) or 1 for field in ("tp_size", "pp_size", "nnodes"))
    if not tp * pp % nodes:
        return None
    return Finding(
        Text(
            f"`{settings.flag('nnodes')} {nodes}` does not divide {tp * pp} ranks evenly",
            f"{tp * pp} 个 rank 无法平均分到 `{settings.flag('nnodes')} {nodes}` 个节点",
        ),
        ("nnodes", "tp_size"),
    )


def _attention_groups(settings: Settings) -> Finding | None:
    tp, dp = settings.number("tp_size") or 1, settings.number("dp_size") or 1
    if not settings.on("enable_dp_attention") or dp <= 1 or not tp % dp:
        return None
    return Finding(
        Text(
            f"With `--enable-dp-attention`, `{settings.flag('tp_size')}` has to be a multiple of "
            f"`{settings.flag('dp_size')}`: {tp} and {dp}",
            f"使用 `--enable-dp-attention` 时，`{settings.flag('tp_size')}` 必须是 "
            f"`{settings.flag('dp_size')}` 的整数倍：现在是 {tp} 和 {dp}",
        ),
        ("dp_size", "tp_size"),
    )


def _nodes_with_data_parallelism(settings: Settings) -> Finding | None:
    several = (settings.number("dp_size") or 1) > 1 and (settings.number("nnodes") or 1) > 1
    return (
        needs(settings, "dp_size", "enable_dp_attention")
        if several and not settings.on("enable_dp_attention")
        else None
    )


def _gpu_indices(settings: Settings) -> Finding | None:
    base, step = settings.number("base_gpu_id"), settings.number("gpu_id_step")
    if base is not None and base < 0:
        return Finding(
            Text("`--base-gpu-id` counts from 0", "`--base-gpu-id` 从 0 开始"),
            ("base_gpu_id",),
            unset(settings, "base_gpu_id"),
        )
    if step is not None and step < 1:
        return Finding(
            Text("`--gpu-id-step` is at least 1", "`--gpu-id-step` 至少为 1"),
            ("gpu_id_step",),
            unset(settings, "gpu_id_step"),
        )
    return None


def _colon(settings: Settings) -> Finding | None:
    field = "served_model_name" if settings.has("served_model_name") else "model_path"
    name = str(settings.value(field) or "")
    if ":" not in name or "://" in name:
        return None
    return Finding(
        Text(
            f"`{name}` cannot be the served name: a colon separates model and adapter",
            f"`{name}` 不能作为服务模型名：冒号用于分隔模型与适配器",
        ),
        (field,),
        (Change("flag.set", "--served-model-name", name.replace(":", "-").rpartition("/")[2]),),
    )


def _pages(settings: Settings) -> Finding | None:
    page = settings.number("page_size")
    chunk = settings.number("chunked_prefill_size") if settings.has("chunked_prefill_size") else _CHUNK
    if not settings.has("page_size") or not page or not chunk or chunk <= 0 or not chunk % page:
        return None
    if settings.value("disaggregation_mode") == "decode":
        return None
    return Finding(
        Text(
            f"A prefill chunk of {chunk} tokens is not made of whole pages of {page}",
            f"{chunk} 个 token 的 prefill 分块不是 {page} 个 token 一页的整数倍",
        ),
        ("chunked_prefill_size", "page_size"),
        (Change("flag.set", settings.flag("page_size"), "64"),) if not settings.has("chunked_prefill_size") else (),
    )


def _host_cache(settings: Settings) -> Finding | None:
    if not (settings.on("enable_hierarchical_cache") and settings.on("disable_radix_cache")):
        return None
    return both(settings, "enable_hierarchical_cache", "disable_radix_cache", drop="disable_radix_cache")


def _tokenizer_batching(settings: Settings) -> Finding | None:
    if not (settings.on("enable_tokenizer_batch_encode") and settings.on("enable_dynamic_batch_tokenizer")):
        return None
    return both(
        settings,
        "enable_tokenizer_batch_encode",
        "enable_dynamic_batch_tokenizer",
        drop="enable_tokenizer_batch_encode",
    )


def _one_pool(settings: Settings) -> Finding | None:
    if not settings.on("enable_unified_memory"):
        return None
    if settings.value("speculative_algorithm") is not None:
        return both(settings, "enable_unified_memory", "speculative_algorithm")
    for field in ("enable_hierarchical_cache", "enable_lmcache"):
        if settings.on(field):
            return both(settings, "enable_unified_memory", field)
    backend = settings.value("attention_backend")
    if backend in (None, "triton"):
        return None
    return Finding(
        Text(
            f"`--enable-unified-memory` needs `--attention-backend triton`, not {backend}",
            f"`--enable-unified-memory` 需要 `--attention-backend triton`，而不是 {backend}",
        ),
        ("attention_backend", "enable_unified_memory"),
        (Change("flag.set", settings.flag("attention_backend"), "triton"),),
    )


def _compiled_padding(settings: Settings) -> Finding | None:
    if not (settings.on("disable_cuda_graph_padding") and settings.on("enable_torch_compile")):
        return None
    return both(settings, "disable_cuda_graph_padding", "enable_torch_compile", drop="disable_cuda_graph_padding")


def _certificate(settings: Settings) -> Finding | None:
    for field, other in (("ssl_keyfile", "ssl_certfile"), ("ssl_certfile", "ssl_keyfile")):
        if settings.has(field) and not settings.has(other):
            return needs(settings, field, other)
    return None


def _priorities(settings: Settings) -> Finding | None:
    policy = settings.value("schedule_policy")
    if not settings.on("enable_priority_scheduling") or policy in ("fcfs", "lof"):
        return None
    return Finding(
        Text(
            f"Priority scheduling works with `--schedule-policy fcfs` or `lof`, not `{policy}`",
            f"优先级调度只支持 `--schedule-policy fcfs` 或 `lof`，不支持 `{policy}`",
        ),
        ("schedule_policy", "enable_priority_scheduling"),
        (Change("flag.set", settings.flag("schedule_policy"), "fcfs"),),
    )


def _metrics_folder(settings: Settings) -> Finding | None:
    if not settings.on("export_metrics_to_file") or settings.has("export_metrics_to_file_dir"):
        return None
    return needs(settings, "export_metrics_to_file", "export_metrics_to_file_dir")


def _breakable_decode(settings: Settings) -> Finding | None:
    if settings.value("cuda_graph_backend_decode") != "breakable":
        return None
    return Finding(
        Text(
            "Decoding cannot be captured with `breakable`: the capture fails for every model",
            "解码不能用 `breakable` 捕获：任何模型都会捕获失败",
        ),
        ("cuda_graph_backend_decode",),
        unset(settings, "cuda_graph_backend_decode"),
    )


def _adapters(settings: Settings) -> Finding | None:
    if not settings.on("enable_lora") or settings.has("lora_paths"):
        return None
    missing = [field for field in ("max_lora_rank", "lora_target_modules") if not settings.has(field)]
    if not missing:
        return None
    flags = " ".join(f"`{settings.flag(field)}`" for field in missing)
    return Finding(
        Text(
            f"`--enable-lora` without `--lora-paths` needs {flags}",
            f"只写 `--enable-lora` 而不写 `--lora-paths` 时，还需要 {flags}",
        ),
        ("enable_lora",),
    )


def _fraction(settings: Settings) -> Finding | None:
    fraction = settings.number("mem_fraction_static")
    if fraction is None or 0 < fraction < 1:
        return None
    percent = fraction / 100 if _LEAST_PERCENT <= fraction < 100 else None
    return Finding(
        Text(
            f"`{settings.flag('mem_fraction_static')} {fraction:g}` is not a fraction between 0 and 1",
            f"`{settings.flag('mem_fraction_static')} {fraction:g}` 不是 0 到 1 之间的小数",
        ),
        ("mem_fraction_static",),
        (Change("flag.set", settings.flag("mem_fraction_static"), f"{percent:g}"),) if percent else (),
        Text(
            "It is the share of the free memory that weights and caches get, such as 0.85; without the flag SGLang "
            "chooses one.",
            "它是权重与缓存所占空闲显存的比例，例如 0.85；不写这个参数时由 SGLang 选择。",
        ),
    )


def _sizes(settings: Settings) -> Iterator[Finding]:
    version = version_key(settings.schema.version)
    for field, option in settings.options_given():
        since = _BY_NAME.get(field)
        if since is not None and version >= version_key(since):
            continue
        found = list(beyond(option, settings.value(field)))
        if not found:
            continue
        english, chinese = _in_words(found[0][1])
        numbers = [_written(number) for number, _ in found[:_FEW]] + ["…"] * (len(found) > _FEW)
        flag, several = f"{settings.flag(field)} {' '.join(numbers)}", len(found) > 1
        yield Finding(
            Text(
                f"`{flag}` {'are' if several else 'is'} out of range: {'each' if several else 'it'} is {english}",
                f"`{flag}` 超出范围：{'每个' if several else ''}应{chinese}",
            ),
            (field,),
        )


def _in_words(bounds: Bounds) -> tuple[str, str]:
    least, most = bounds.least, bounds.most
    if least is None:
        return f"at most {most:,}", f"不超过 {most:,}"
    if bounds.open:
        return f"above {least:,} and at most {most:,}", f"大于 {least:,} 且不超过 {most:,}"
    return f"{least:,} to {most:,}", f"在 {least:,} 到 {most:,} 之间"


def _written(number: float) -> str:
    """A number as a person reads it; of one with many digits only how large it is."""
    text = str(number)
    digits = text.lstrip("-")
    return text if len(text) <= _LONGEST else f"{text[: -len(digits)]}{digits[0]}e+{len(digits) - 1}"


def _window_share(settings: Settings) -> Finding | None:
    ratio = settings.number("swa_full_tokens_ratio")
    if ratio is None or 0 < ratio <= 1:
        return None
    return Finding(
        Text(
            f"`{settings.flag('swa_full_tokens_ratio')}` is above 0 and at most 1",
            f"`{settings.flag('swa_full_tokens_ratio')}` 必须大于 0 且不超过 1",
        ),
        ("swa_full_tokens_ratio",),
        unset(settings, "swa_full_tokens_ratio"),
    )


def _language_head(settings: Settings) -> Finding | None:
    # With one data-parallel group the engine switches both off before it looks.
    if (settings.number("dp_size") or 1) <= 1 or not settings.on("enable_dp_lm_head"):
        return None
    return None if settings.on("enable_dp_attention") else needs(settings, "enable_dp_lm_head", "enable_dp_attention")


def _halves(settings: Settings) -> Finding | None:
    if not (settings.on("encoder_only") and settings.on("language_only")):
        return None
    return both(settings, "encoder_only", "language_only")


def _flash_attention_3(settings: Settings) -> Finding | None:
    sm = settings.facts.get("gpu.sm")
    if not isinstance(sm, int) or 80 <= sm <= 90:
        return None
    return _not_on_this_gpu(settings, "fa3", f"sm{sm}")


def _trtllm(settings: Settings) -> Finding | None:
    sm = settings.facts.get("gpu.sm")
    if not isinstance(sm, int) or sm in (100, 103):
        return None
    return _not_on_this_gpu(
        settings, "trtllm_mha", f"sm{sm}", fields=("attention_backend", "prefill_attention_backend")
    )


def _not_on_this_gpu(
    settings: Settings,
    backend: str,
    gpu: str,
    fields: tuple[str, ...] = ("attention_backend", "prefill_attention_backend", "decode_attention_backend"),
) -> Finding | None:
    for field in fields:
        if settings.value(field) == backend:
            return Finding(
                Text(
                    f"`{settings.flag(field)} {backend}` does not run on this GPU ({gpu})",
                    f"`{settings.flag(field)} {backend}` 不能在这块 GPU（{gpu}）上运行",
                ),
                (field,),
                unset(settings, field),
            )
    return None


_ARGS: Final = "srt/server_args.py, from 0.5.20 on srt/arg_groups/validation_hook.py"
_REFUSED_BY_NAME: Final = "SGL132"

REFUSED: Final = (
    Constraint("nodes-uneven", _nodes, "fatal", _ARGS, rule="SGL127"),
    Constraint("dp-attention-uneven", _attention_groups, "fatal", _ARGS, "0.5.2", "0.5.21", "SGL133"),
    Constraint("dp-over-nodes", _nodes_with_data_parallelism, "fatal", _ARGS, "", "0.5.21", "SGL133"),
    Constraint("gpu-index", _gpu_indices, "fatal", _ARGS, rule="SGL131"),
    Constraint("served-name-colon", _colon, "fatal", _ARGS, "0.5.9", rule="SGL120"),
    Constraint("chunk-not-whole-pages", _pages, "fatal", _ARGS, "0.5.2", rule="SGL121"),
    Constraint("host-cache-without-radix", _host_cache, "fatal", _ARGS, "0.5.2", rule="SGL122"),
    Constraint("tokenizer-batching-twice", _tokenizer_batching, "fatal", _ARGS, "0.5.3.post3", rule="SGL129"),
    Constraint("unified-memory", _one_pool, "fatal", _ARGS, "0.5.15", "0.5.15.post1", _REFUSED_BY_NAME),
    Constraint("compile-without-padding", _compiled_padding, "fatal", _ARGS, "0.5.12", rule=_REFUSED_BY_NAME),
    Constraint("certificate-incomplete", _certificate, "fatal", _ARGS, "0.5.10", rule=_REFUSED_BY_NAME),
    Constraint("priority-policy", _priorities, "fatal", _ARGS, "0.5.3.post3", rule=_REFUSED_BY_NAME),
    Constraint("metrics-without-folder", _metrics_folder, "fatal", _ARGS, "0.5.9", rule=_REFUSED_BY_NAME),
    Constraint(
        "decode-graph-breakable",
        _breakable_decode,
        "fatal",
        "srt/model_executor/runner_backend/breakable_cuda_graph_backend.py",
        "0.5.14",
        rule="SGL501",
    ),
    Constraint("lora-incomplete", _adapters, "fatal", _ARGS, "0.5.2", rule="SGL834"),
    Constraint(
        "fraction-out-of-range", _fraction, "error", "srt/model_executor: pools are free memory x fraction - weights"
    ),
    Constraint("size-out-of-range", _sizes, "fatal", "srt/server_args.py: divides by them, allocates and binds them"),
    Constraint("window-share", _window_share, "fatal", _ARGS, _WINDOW_SHARE, rule=_REFUSED_BY_NAME),
    Constraint("language-head-alone", _language_head, "fatal", _ARGS, "0.5.2", "0.5.21", _REFUSED_BY_NAME),
    Constraint("two-halves", _halves, "fatal", _ARGS, "0.5.9", rule=_REFUSED_BY_NAME),
    Constraint(
        "gpu-not-for-fa3", _flash_attention_3, "fatal", "srt/layers/attention/attention_registry.py", rule="SGL540"
    ),
    Constraint("gpu-not-for-trtllm", _trtllm, "fatal", _ARGS, "0.5.10", "0.5.18", "SGL541"),
)
