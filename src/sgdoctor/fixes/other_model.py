"""Whether a log that was given for a launch is of a start of another model."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from sgdoctor.engines.sglang.flags.model import Schema
from sgdoctor.fixes.said import same_value
from sgdoctor.fixes.steps import MEMORY_FLAGS
from sgdoctor.launch.flag_edits import given_flags
from sgdoctor.launch.model import Launch
from sgdoctor.patterns import lazy_pattern

_MODEL: Final = "--model-path"
_SERVED: Final = "--served-model-name"
# Either name the model again, or are what people change from start to start without changing the model.
_TELL_NOTHING: Final = MEMORY_FLAGS | {_MODEL, _SERVED, "--tokenizer-path", "--host", "--config", "--api-key"}
# Folder of the cache of Hugging Face's hub (huggingface_hub/file_download.py, `repo_folder_name`).
_HUB_FOLDER: Final = lazy_pattern(r"(?:^|/)models--[^/]+?--(?P<name>[^/]+)")
_SIZE: Final = lazy_pattern(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)b(?![a-z0-9])", re.IGNORECASE)
_SIGNS: Final = lazy_pattern(r"[^a-z0-9]")
_NUMBER: Final = lazy_pattern(r"\d+(?:\.\d+)?")
_VARIABLE: Final = frozenset("$`")
# Folders that say where a model is and not which.
_PLACES: Final = frozenset(
    {"model", "models", "checkpoint", "weights", "current", "latest", "snapshot", "main", "data"}
)


class OtherModel(NamedTuple):
    """That the names differ.

    Attributes:
        launched: the model of the launch.
        logged: the model of the log.
        certain: whether nothing speaks for one model under two names.
    """

    launched: str
    logged: str
    certain: bool


def other_model(launch: Launch, facts: Mapping[str, Any], flags: Schema) -> OtherModel | None:
    """The two models, where launch and log do not name the same one; None where they do, or one names none.

    A model has many paths: mounts, caches and copies rename it. So its last component counts, then the name for
    clients, then what else the two say.

    Args:
        launch: as it is meant, that of ``--config`` included.
        facts: values of the log by name; those of ``args.*`` count.
        flags: of the engine's version.
    """
    given = _given(launch, flags)
    path, logged_path = _model_path(launch, given), facts.get("args.model_path")
    if path is None or not isinstance(logged_path, str) or path == logged_path:
        return None
    here, there = _name(path), _name(logged_path)
    served = _name(next(iter(given.get(_SERVED, ())[-1:]), path))
    logged_served = _name(str(facts.get("args.served_model_name") or logged_path))
    if not here or not there or served.lower() == logged_served.lower() or _alike(here, there):
        return None
    sizes, logged_sizes = set(_SIZE.findall(here)), set(_SIZE.findall(there))
    if sizes and logged_sizes and not sizes & logged_sizes:
        return OtherModel(here, there, certain=True)
    equal, unequal = _compared(given, facts, flags)
    if equal > unequal and _one_size(here, there):
        return None
    return OtherModel(here, there, certain=unequal >= equal and unequal > 0)


def _given(launch: Launch, flags: Schema) -> dict[str, tuple[str, ...]]:
    return {flags.canonical(one.flag): one.values for one in given_flags(launch.argv, launch.flags_at, flags)}


def _model_path(launch: Launch, given: Mapping[str, tuple[str, ...]]) -> str | None:
    """The path or the name of the model; None where the launch leaves it to a variable, or has none."""
    words = launch.argv[launch.flags_at : launch.flags_at + 1]
    # `sglang serve MODEL` (sglang/cli/serve.py, from 0.5.16 on).
    behind_serve = "serve" in launch.argv[: launch.flags_at] and bool(words) and not words[0].startswith("-")
    path = next(iter(given.get(_MODEL, ())[-1:]), words[0] if behind_serve else None)
    return None if path is None or _VARIABLE & set(path) else path


def _name(path: str) -> str:
    """What a path calls the model; empty where its last folder has a name that any model could have."""
    hub = _HUB_FOLDER.search(path)
    name = hub["name"] if hub is not None else path.rstrip("/").rpartition("/")[2]
    return "" if name.lower() in _PLACES else name


def _alike(name: str, other: str) -> bool:
    """Whether two names are one, or one is the other with more to it, such as how it was quantised."""
    one, two = (_SIGNS.sub("", each.lower()) for each in (name, other))
    return one in two or two in one


def _one_size(name: str, other: str) -> bool:
    """Whether the size in the one name is among the numbers of the other."""
    return bool(
        set(_SIZE.findall(name)) & set(_NUMBER.findall(other)) or set(_SIZE.findall(other)) & set(_NUMBER.findall(name))
    )


def _compared(given: Mapping[str, tuple[str, ...]], facts: Mapping[str, Any], flags: Schema) -> tuple[int, int]:
    """How many flags of a launch the log has with the same value, and with another one."""
    results = list(_comparisons(given, facts, flags))
    return sum(results), len(results) - sum(results)


def _comparisons(given: Mapping[str, tuple[str, ...]], facts: Mapping[str, Any], flags: Schema) -> Iterator[bool]:
    for flag, values in given.items():
        option = flags.option(flag)
        field = f"args.{option.dest}" if option is not None else ""
        # What is as without the flag is nothing that two starts would share.
        if option is None or flag in _TELL_NOTHING or field not in facts or len(values) > 1:
            continue
        if not values:
            yield facts[field] is True
        elif not _VARIABLE & set(values[0]) and not same_value(values[0], option.default):
            yield same_value(values[0], facts[field])
