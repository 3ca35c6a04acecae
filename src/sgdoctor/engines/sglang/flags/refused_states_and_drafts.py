"""Combinations that the engine refuses, of state caches of hybrid models, of speculative decoding, and of both."""

from typing import Final

from sgdoctor.engines.sglang.flags.constraints import Constraint, Finding, both, needs, unset
from sgdoctor.engines.sglang.flags.settings import Settings
from sgdoctor.launch.change import Change
from sgdoctor.texts import Text

WITH_DRAFTS: Final = frozenset({"EAGLE", "EAGLE3", "NEXTN", "STANDALONE"})
"""Speculative algorithms with a draft model of which the three numbers count."""
DRAFT_NUMBERS: Final = ("speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens")


def _strategy(settings: Settings) -> tuple[str, str]:
    """Field and value of the radix strategy of hybrid models, where a flag sets one and it counts."""
    for field in ("mamba_radix_cache_strategy", "mamba_scheduler_strategy"):
        if settings.has(field) and not settings.on("disable_radix_cache"):
            return field, str(settings.value(field))
    return "", ""


def _no_buffer_pages(settings: Settings) -> Finding | None:
    field, strategy = _strategy(settings)
    page = settings.number("page_size")
    if strategy != "no_buffer" or page in (None, 1):
        return None
    return Finding(
        Text(
            f"`{settings.flag(field)} no_buffer` works with pages of one token only, not {page}",
            f"`{settings.flag(field)} no_buffer` 只支持每页 1 个 token，而不是 {page}",
        ),
        ("page_size", field),
        (Change("flag.set", settings.flag("page_size"), "1"),),
    )


def _no_buffer_overlap(settings: Settings) -> Finding | None:
    field, strategy = _strategy(settings)
    if strategy != "no_buffer" or settings.on("disable_overlap_schedule") or (settings.number("pp_size") or 1) > 1:
        return None
    changes = (Change("flag.set", "--disable-overlap-schedule"),)
    return Finding(
        Text(
            f"`{settings.flag(field)} no_buffer` needs `--disable-overlap-schedule`",
            f"`{settings.flag(field)} no_buffer` 需要同时使用 `--disable-overlap-schedule`",
        ),
        (field,),
        changes,
    )


def _lazy_drafts(settings: Settings) -> Finding | None:
    field, strategy = _strategy(settings)
    if strategy != "extra_buffer_lazy" or settings.value("speculative_algorithm") is None:
        return None
    return Finding(
        Text(
            "`extra_buffer_lazy` does not work with speculative decoding in this version",
            "在这个版本中，`extra_buffer_lazy` 不支持推测解码",
        ),
        (field, "speculative_algorithm"),
        (Change("flag.set", settings.flag(field), "extra_buffer"),),
    )


def _replay(settings: Settings) -> Finding | None:
    field, strategy = _strategy(settings)
    if not settings.on("enable_linear_replayssm") or not strategy.startswith("extra_buffer"):
        return None
    return Finding(
        Text(
            f"`--enable-linear-replayssm` needs `{settings.flag(field)} no_buffer`, not {strategy}",
            f"`--enable-linear-replayssm` 需要 `{settings.flag(field)} no_buffer`，而不是 {strategy}",
        ),
        ("enable_linear_replayssm", field),
    )


def _small_states(settings: Settings) -> Finding | None:
    if not (settings.on("enable_int8_mamba_checkpoint") and settings.on("enable_hierarchical_cache")):
        return None
    return both(settings, "enable_int8_mamba_checkpoint", "enable_hierarchical_cache")


def _pipeline_drafts(settings: Settings) -> Finding | None:
    if (settings.number("pp_size") or 1) <= 1 or settings.value("speculative_algorithm") is None:
        return None
    return both(settings, "speculative_algorithm", "pp_size", drop="speculative_algorithm")


def _draft_numbers(settings: Settings) -> Finding | None:
    if settings.value("speculative_algorithm") not in WITH_DRAFTS or settings.on("speculative_adaptive"):
        return None
    if settings.has("speculative_num_steps") or not settings.has(*DRAFT_NUMBERS):
        return None
    given = [field for field in DRAFT_NUMBERS if settings.has(field)]
    return Finding(
        Text(
            f"`{settings.flag(given[0])}` without `{settings.flag('speculative_num_steps')}` ends the start with an "
            "AssertionError that says nothing: give all three draft numbers, or none",
            f"只写 `{settings.flag(given[0])}` 而不写 `{settings.flag('speculative_num_steps')}` 会以没有说明的 "
            "AssertionError 结束启动：三个草稿参数要么都写，要么都不写",
        ),
        tuple(given),
        unset(settings, *given),
    )


def _draft_width(settings: Settings) -> Finding | None:
    if settings.value("speculative_algorithm") not in WITH_DRAFTS or settings.on("speculative_adaptive"):
        return None
    if not settings.has("speculative_num_steps") or settings.has("speculative_eagle_topk"):
        return None
    return needs(
        settings,
        "speculative_num_steps",
        "speculative_eagle_topk",
        changes=(Change("flag.set", settings.flag("speculative_eagle_topk"), "1"),),
    )


def _draft_model(settings: Settings) -> Finding | None:
    if settings.value("speculative_algorithm") != "DFLASH" or settings.has("speculative_draft_model_path"):
        return None
    return needs(settings, "speculative_algorithm", "speculative_draft_model_path")


def _adapter_drafts(settings: Settings) -> Finding | None:
    algorithm = settings.value("speculative_algorithm")
    if algorithm in (None, "NGRAM") or not (settings.on("enable_lora") or settings.has("lora_paths")):
        return None
    return both(settings, "lora_paths" if settings.has("lora_paths") else "enable_lora", "speculative_algorithm")


_ARGS: Final = "srt/server_args.py, from 0.5.20 on srt/arg_groups/validation_hook.py"
_MAMBA: Final = "srt/server_args.py, from 0.5.20 on srt/arg_groups/mamba_hook.py"
_SPECULATION: Final = "srt/server_args.py, from 0.5.13 on srt/arg_groups/speculative_hook.py"
_REFUSED_BY_NAME: Final = "SGL132"

REFUSED_STATES_AND_DRAFTS: Final = (
    Constraint("no-buffer-pages", _no_buffer_pages, "fatal", _MAMBA, "0.5.14", rule="SGL124"),
    Constraint("no-buffer-overlap", _no_buffer_overlap, "fatal", _MAMBA, "0.5.14", rule="SGL123"),
    Constraint("lazy-buffer-drafts", _lazy_drafts, "fatal", _MAMBA, "0.5.14", "0.5.16", "SGL125"),
    Constraint("replay-with-buffers", _replay, "fatal", _MAMBA, "0.5.15", rule=_REFUSED_BY_NAME),
    Constraint("small-states-host-cache", _small_states, "fatal", _MAMBA, "0.5.14", rule=_REFUSED_BY_NAME),
    Constraint("pipeline-with-drafts", _pipeline_drafts, "fatal", _ARGS, "", "0.5.20", "SGL130"),
    Constraint("draft-numbers-incomplete", _draft_numbers, "fatal", _SPECULATION),
    Constraint("draft-width-missing", _draft_width, "fatal", _SPECULATION, "0.5.15", "0.5.15.post1"),
    Constraint("draft-model-missing", _draft_model, "fatal", _SPECULATION, "0.5.11", rule=_REFUSED_BY_NAME),
    Constraint("lora-with-drafts", _adapter_drafts, "fatal", _ARGS, "0.5.9", "0.5.18", _REFUSED_BY_NAME),
)
