"""Flags that the engine accepts and that do nothing, or something else than they say."""

import re
from typing import Final

from sgdoctor.engines.sglang.flags.constraints import Constraint, Finding
from sgdoctor.engines.sglang.flags.refused_states_and_drafts import DRAFT_NUMBERS, WITH_DRAFTS
from sgdoctor.engines.sglang.flags.settings import Settings
from sgdoctor.launch.change import Change
from sgdoctor.patterns import lazy_pattern
from sgdoctor.texts import Text, listed

_ADAPTER_FIELDS: Final = (
    "max_loras_per_batch",
    "max_loaded_loras",
    "max_lora_rank",
    "lora_target_modules",
    "lora_backend",
)
_HOST_CACHE_FIELDS: Final = (
    "hicache_ratio", "hicache_size", "hicache_write_policy", "hicache_io_backend", "hicache_mem_layout",
)  # fmt: skip
# Models whose linear layers are gated delta nets: by architecture, and by the names under which they are published.
_GDN: Final = ("Qwen3Next", "Qwen3_5")
_GDN_NAME: Final = lazy_pattern(r"qwen-?3[._](?:5|6)\b|qwen-?3-?next", re.IGNORECASE)


def _without(settings: Settings, fields: tuple[str, ...], *needed: str) -> Finding | None:
    """Flags that count only together with a switch; ``needed`` are the fields that turn them on."""
    given = [field for field in fields if settings.has(field)]
    if not given or settings.on(needed[0]) or settings.has(*needed):
        return None
    flags = listed([f"`{settings.flag(field)}`" for field in given])
    return Finding(
        Text(
            f"{flags.en}: no effect without `{settings.flag(needed[0])}`",
            f"{flags.zh}：没有 `{settings.flag(needed[0])}` 时不起作用",
        ),
        tuple(given),
        tuple(Change("flag.unset", settings.flag(field)) for field in given),
    )


def _idle(settings: Settings, field: str, en: str, zh: str) -> Finding:
    flag = settings.flag(field)
    return Finding(
        Text(f"`{flag}` has no effect here: {en}", f"`{flag}` 在这里不起作用：{zh}"),
        (field,),
        (Change("flag.unset", flag),),
    )


def _dynamic_chunks(settings: Settings) -> Finding | None:
    if not settings.on("enable_dynamic_chunking") or (settings.number("pp_size") or 1) > 1:
        return None
    return _idle(
        settings,
        "enable_dynamic_chunking",
        "it needs pipeline parallelism (`--pp-size` above 1)",
        "它需要流水线并行（`--pp-size` 大于 1）",
    )


def _mamba_kernels(settings: Settings) -> Finding | None:
    if not settings.has("mamba_backend"):
        return None
    architecture = str(settings.facts.get("architecture") or "")
    known = architecture.startswith(_GDN) if architecture else _GDN_NAME.search(str(settings.value("model_path") or ""))
    if not known:
        return None
    return _idle(
        settings,
        "mamba_backend",
        "this model has gated delta nets, whose kernels `--linear-attn-backend` chooses; it does not change memory",
        "该模型使用 GDN 层，其内核由 `--linear-attn-backend` 选择；它也不会改变显存占用",
    )


def _one_gpu(settings: Settings) -> Finding | None:
    if not settings.on("disable_custom_all_reduce") or (settings.number("tp_size") or 1) > 1:
        return None
    return _idle(
        settings,
        "disable_custom_all_reduce",
        "one GPU has nothing to exchange",
        "单卡没有需要交换的数据",
    )


def _one_group(settings: Settings) -> Finding | None:
    if not settings.on("enable_dp_attention") or (settings.number("dp_size") or 1) > 1:
        return None
    return _idle(
        settings,
        "enable_dp_attention",
        f"it is switched off while `{settings.flag('dp_size')}` is 1",
        f"`{settings.flag('dp_size')}` 为 1 时会被关闭",
    )


def _priority_details(settings: Settings) -> Finding | None:
    return _without(settings, ("disable_priority_preemption", "default_priority_value"), "enable_priority_scheduling")


def _request_log(settings: Settings) -> Finding | None:
    return _without(settings, ("log_requests_level", "log_requests_format"), "log_requests")


def _strategy_without_radix(settings: Settings) -> Finding | None:
    field = "mamba_radix_cache_strategy"
    if not settings.has(field) or not settings.on("disable_radix_cache"):
        return None
    return _idle(
        settings,
        field,
        "`--disable-radix-cache` takes the radix cache away",
        "`--disable-radix-cache` 已关闭 radix cache",
    )


def _draft_settings(settings: Settings) -> Finding | None:
    found = _without(settings, DRAFT_NUMBERS, "speculative_algorithm")
    return found if settings.value("speculative_algorithm") is None else None


def _adapter_settings(settings: Settings) -> Finding | None:
    return _without(settings, _ADAPTER_FIELDS, "enable_lora", "lora_paths")


def _host_cache_settings(settings: Settings) -> Finding | None:
    return _without(
        settings, _HOST_CACHE_FIELDS, "enable_hierarchical_cache", "disaggregation_decode_enable_offload_kvcache"
    )


def _mixed_chunks(settings: Settings) -> Finding | None:
    if not settings.on("enable_mixed_chunk") or settings.value("speculative_algorithm") not in WITH_DRAFTS:  # fmt: skip
        return None
    return _idle(settings, "enable_mixed_chunk", "speculative decoding switches it off", "推测解码会将其关闭")


def _draft_tokens(settings: Settings) -> Finding | None:
    steps, topk, tokens = (settings.number(field) for field in DRAFT_NUMBERS)
    if settings.value("speculative_algorithm") is None or steps is None or tokens is None or topk != 1:
        return None
    if tokens == steps + 1:
        return None
    flag = settings.flag("speculative_num_draft_tokens")
    return Finding(
        Text(
            f"`{flag} {tokens}` becomes {steps + 1}: with one branch there is one token for each step, and the first",
            f"`{flag} {tokens}` 会变为 {steps + 1}：只有一个分支时，每一步一个 token，再加上第一个",
        ),
        ("speculative_num_draft_tokens",),
        (Change("flag.set", flag, str(steps + 1)),),
    )


_ARGS: Final = "srt/server_args.py"

IDLE: Final = (
    Constraint("dynamic-chunks-idle", _dynamic_chunks, "notice", "srt/managers/scheduler.py", "0.5.9"),
    Constraint(
        "mamba-kernels-idle", _mamba_kernels, "notice", "srt/layers/attention/mamba/ops/ssu_dispatch.py", "0.5.9"
    ),
    Constraint("all-reduce-idle", _one_gpu, "notice", "srt/distributed/parallel_state.py"),
    Constraint("dp-attention-idle", _one_group, "notice", _ARGS, "0.5.2", "0.5.21"),
    Constraint("priority-details-idle", _priority_details, "notice", _ARGS, "0.5.10"),
    Constraint("request-log-idle", _request_log, "notice", "srt/utils/request_logger.py"),
    Constraint("radix-strategy-idle", _strategy_without_radix, "notice", "srt/arg_groups/overrides.py", "0.5.14"),
    Constraint("draft-numbers-idle", _draft_settings, "notice", "srt/arg_groups/speculative_hook.py"),
    Constraint("lora-settings-idle", _adapter_settings, "notice", _ARGS, "0.5.2"),
    Constraint("host-cache-settings-idle", _host_cache_settings, "notice", "srt/mem_cache", "0.5.2", "0.5.20"),
    Constraint("mixed-chunks-idle", _mixed_chunks, "notice", "srt/arg_groups/speculative_hook.py", "0.4.9", "0.5.18"),
    Constraint("draft-tokens-adjusted", _draft_tokens, "notice", "srt/arg_groups/speculative_hook.py"),
)
IDLE_FLAGS: Final = frozenset(constraint.name for constraint in IDLE)
"""Ids of the problems that these are."""
