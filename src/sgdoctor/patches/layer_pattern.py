"""Which kinds of layers a model has, from a list of the wrong length and the rest of its config."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeGuard

from sgdoctor.texts import Text

FULL: Final = "full_attention"

# Keys that name every how many layers one has full attention, and what the other layers have then.
# transformers models/qwen3_next, qwen3_5, qwen3_5_moe: full_attention_interval; models/gemma3, cohere2 and others:
# sliding_window_pattern (`_sliding_window_pattern` where it was saved from a loaded config). Read in 5.4.0 to 5.24.0.
_INTERVALS: Final = {
    "full_attention_interval": "linear_attention",
    "sliding_window_pattern": "sliding_attention",
    "_sliding_window_pattern": "sliding_attention",
}

# Model types whose config class fills a missing list with an interval of 4 (the same files).
INTERVAL_OF_4: Final = frozenset(
    {"qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text"},
)

# Layers for multi-token prediction stand behind the others in some lists (Step-3.5-Flash has 45 + 3).
_PREDICTING: Final = ("num_nextn_predict_layers", "mtp_num_hidden_layers")

# A key of this kind in a config means that not all layers have full attention.
_OTHER_KINDS: Final = (
    "linear_",
    "mamba",
    "ssm_",
    "conv",
    "sliding",
    "chunk",
    "recurrent",
    "lru",
    "interval",
    "pattern",
)


class Derived(NamedTuple):
    """What the list has to be.

    Attributes:
        kinds: one per layer; None where it is not determined.
        certain: whether the config itself says so; otherwise it is what the list says so far, continued.
        why: the reason in words.
    """

    kinds: tuple[str, ...] | None
    certain: bool
    why: Text


def derived_kinds(entries: Sequence[Any], count: int, config: Mapping[str, Any], *, of_mlp: bool = False) -> Derived:
    """The list for ``count`` layers, if it follows from what is there.

    The entries that are there are never contradicted: the result begins with them, or is their beginning.

    Args:
        entries: the list of the wrong length.
        count: number of layers.
        config: the object in which the list stands.
        of_mlp: whether it lists kinds of MLPs instead of attention.
    """
    if not all(isinstance(entry, str) for entry in entries):
        return _open("the list holds something else than names", "列表中有不是名称的内容")
    kinds = tuple(entries)
    predicting = sum(config[key] for key in _PREDICTING if _is_count(config.get(key)))
    if predicting and len(kinds) - count == predicting:
        return Derived(
            kinds[:count],
            certain=True,
            why=Text(
                f"the last {predicting} entries are the layers for multi-token prediction, which are not counted",
                f"最后 {predicting} 项是多 token 预测（MTP）层，不计入层数",
            ),
        )
    named = _dense_first(kinds, count, config) if of_mlp else _by_interval(kinds, count, config)
    return named or _by_repetition(kinds, count, config)


def _by_interval(kinds: tuple[str, ...], count: int, config: Mapping[str, Any]) -> Derived | None:
    """By a key that names the interval; None where there is none for the kinds in this list."""
    given = [(key, config[key], other) for key, other in _INTERVALS.items() if _is_count(config.get(key))]
    model_type = config.get("model_type")
    if not given and isinstance(model_type, str) and model_type in INTERVAL_OF_4:
        given = [("full_attention_interval", 4, "linear_attention")]
    for key, interval, other in given:
        if not set(kinds) <= {FULL, other}:
            continue
        whole = tuple(other if (layer + 1) % interval else FULL for layer in range(max(count, len(kinds))))
        if whole[: len(kinds)] != kinds:
            return _open(
                f"its entries contradict `{key}` {interval}",
                f"其中的条目与 `{key}`（{interval}）矛盾",
            )
        default = "" if key in config else f", the default of {model_type}"
        default_zh = "" if key in config else f"，{model_type} 的默认值"
        return Derived(
            whole[:count],
            # That the surplus entries are the wrong ones, and not the number of layers, nothing here can say.
            certain=len(kinds) < count,
            why=Text(
                f"one layer in {interval} has full attention (`{key}`{default})",
                f"每 {interval} 层有一层全注意力（`{key}`{default_zh}）",
            ),
        )
    return None


def _dense_first(kinds: tuple[str, ...], count: int, config: Mapping[str, Any]) -> Derived | None:
    dense = config.get("first_k_dense_replace")
    if not _is_count(dense) or not set(kinds) <= {"dense", "sparse"}:
        return None
    whole = ("dense",) * min(dense, count) + ("sparse",) * max(0, count - dense)
    if whole[: len(kinds)] != kinds[:count]:
        return _open(
            f"its entries contradict `first_k_dense_replace` {dense}",
            f"其中的条目与 `first_k_dense_replace`（{dense}）矛盾",
        )
    return Derived(
        whole,
        certain=len(kinds) < count,
        why=Text(
            f"the first {dense} layers are dense (`first_k_dense_replace`)",
            f"前 {dense} 层为稠密层（`first_k_dense_replace`）",
        ),
    )


def _by_repetition(kinds: tuple[str, ...], count: int, config: Mapping[str, Any]) -> Derived:
    period = _period(kinds)
    if period is None:
        return _open(
            "its entries do not repeat a pattern twice, and no key of the config names one",
            "条目没有重复出现两次以上的规律，配置中也没有给出规律的参数",
        )
    if period == 1 and (kinds[0] != FULL or _hints_at_other_kinds(config)):
        # The first layers of a hybrid are alike as well: four times `mamba` says nothing about the fifth.
        return _open(
            f"all its entries are `{kinds[0]}`, which does not say what the other layers are",
            f"所有条目都是 `{kinds[0]}`，无法由此得知其余各层的类型",
        )
    return Derived(
        tuple(kinds[layer % period] for layer in range(count)),
        certain=False,
        why=Text(
            f"its entries repeat every {period} layers"
            if period > 1
            else "all layers have full attention, and nothing in the config speaks of another kind",
            f"条目每 {period} 层重复一次" if period > 1 else "所有层都是全注意力，配置中也没有其他类型的迹象",
        ),
    )


def _period(kinds: tuple[str, ...]) -> int | None:
    """Length of the shortest pattern that the list repeats, at least two times in full."""
    for period in range(1, len(kinds) // 2 + 1):
        if all(kinds[at] == kinds[at - period] for at in range(period, len(kinds))):
            return period
    return None


def _hints_at_other_kinds(config: Mapping[str, Any]) -> bool:
    # Qwen2 and Qwen3 always carry the size of a window, and whether it is used.
    windows = config.get("use_sliding_window") is not False
    return any(
        value and any(word in key for word in _OTHER_KINDS) and (windows or "sliding" not in key)
        for key, value in config.items()
        if key != "layer_types"
    )


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _open(en: str, zh: str) -> Derived:
    return Derived(None, certain=False, why=Text(en, zh))
