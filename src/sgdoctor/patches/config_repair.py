"""A copy of a config.json whose lists of layers have the right length, everything else byte for byte as it was."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sgdoctor.errors import UserError
from sgdoctor.patches.layer_lists import LayerList, as_written, layer_lists
from sgdoctor.patches.layer_pattern import derived_kinds
from sgdoctor.texts import Text

# More layers than any model has; a number from an untrusted file must not decide how much is written.
_MOST_LAYERS: Final = 10_000
_OPENING_BLANK: Final = re.compile(r"\[([ \t\n\r]*)")


@dataclass(frozen=True, slots=True)
class RepairedList:
    """One list of the wrong length.

    Attributes:
        name: its path, such as ``text_config.layer_types``.
        had: how many entries it has.
        needs: how many it has to have: ``num_hidden_layers`` beside it.
        determined: whether the right list follows from the config.
        certain: whether the config itself says what the list has to be; otherwise it continues what is there.
        why: how the right list follows, or why it does not.
    """

    name: str
    had: int
    needs: int
    determined: bool
    certain: bool
    why: Text


@dataclass(frozen=True, slots=True)
class Repair:
    """What is wrong with the lists of a config, and the corrected copy.

    Attributes:
        lists: all lists of the wrong length.
        content: the corrected copy; None if a list is not determined, for then the copy would be refused as well.
    """

    lists: tuple[RepairedList, ...]
    content: bytes | None

    @property
    def certain(self) -> bool:
        """Whether all lists are certain."""
        return self.content is not None and all(one.certain for one in self.lists)


def repaired_config(config: bytes | str) -> Repair | None:
    """The config with its ``layer_types`` (and ``mlp_layer_types``) as long as ``num_hidden_layers`` says.

    Only the entries that are missing or too many are touched. New ones are written as those that are there: one per
    line, with the same indentation, where the list is so.

    Args:
        config: content of a config.json.

    Returns:
        None where no list has the wrong length.

    Raises:
        UserError: it is no JSON object in UTF-8.
    """
    text = config if isinstance(config, str) else _decoded(config)
    wrong = [
        (found, count)
        for found in layer_lists(text)
        if (count := _layers(found)) is not None and count != len(found.entries)
    ]
    if not wrong:
        return None
    outcomes = [
        (found, count, derived_kinds(found.entries, count, found.config, of_mlp=found.path[-1] == "mlp_layer_types"))
        for found, count in wrong
    ]
    lists = tuple(
        RepairedList(found.name, len(found.entries), count, result.kinds is not None, result.certain, result.why)
        for found, count, result in outcomes
    )
    new = [(found, result.kinds) for found, _, result in outcomes if result.kinds is not None]
    return Repair(lists, _spliced(text, new).encode() if len(new) == len(outcomes) else None)


def _decoded(config: bytes) -> str:
    try:
        return config.decode()
    except UnicodeDecodeError as error:
        raise UserError("config.json is not UTF-8 text", "config.json 不是 UTF-8 文本") from error


def _layers(found: LayerList) -> int | None:
    count = found.config.get("num_hidden_layers")
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 < count <= _MOST_LAYERS else None


def _spliced(text: str, lists: Sequence[tuple[LayerList, tuple[str, ...]]]) -> str:
    """The text with these lists, which stand in the order of the text, made anew."""
    result = text
    for found, kinds in reversed(lists):
        result = result[: found.start] + _array(text, found, kinds) + result[found.end :]
    _prove(text, result, lists)
    return result


def _array(text: str, found: LayerList, kinds: tuple[str, ...]) -> str:
    """The array as text: the old one, cut off or continued."""
    kept = min(len(found.spans), len(kinds))
    if not kept:
        return json.dumps(list(kinds))
    last = found.spans[-1][1]
    opening = _OPENING_BLANK.match(text, found.start)
    assert opening is not None
    between = text[found.spans[0][1] : found.spans[1][0]] if len(found.spans) > 1 else f",{opening[1] or ' '}"
    added = "".join(between + json.dumps(kind) for kind in kinds[kept:])
    return text[found.start : found.spans[kept - 1][1]] + added + text[last : found.end]


def _prove(old: str, new: str, lists: Sequence[tuple[LayerList, tuple[str, ...]]]) -> None:
    """Reads both texts anew: nothing but these lists differs, not even the spelling of a number."""
    expected = as_written(old)
    for found, kinds in lists:
        _replace(expected, found.path, list(kinds))
    if as_written(new) != expected:
        raise AssertionError(f"the copy differs in more than {', '.join(found.name for found, _ in lists)}")


def _replace(value: Any, path: tuple[str, ...], kinds: list[str]) -> None:
    pairs = value[1]
    at = max(index for index, (key, _) in enumerate(pairs) if key == path[0])
    if len(path) == 1:
        pairs[at] = (path[0], kinds)
    else:
        _replace(pairs[at][1], path[1:], kinds)
