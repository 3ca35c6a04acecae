"""The lists of a config.json that hold one entry per layer, with the places of their entries in the text."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from sgdoctor.errors import UserError

LIST_NAMES: Final = ("layer_types", "mlp_layer_types")
"""What `PreTrainedConfig.validate_layer_type` of transformers 5.4 to 5.24 looks at (the second one since 5.12)."""

# The largest published config.json (quantisation lists of every tensor) has a few MiB.
_LARGEST: Final = 32 * 1024 * 1024
_BLANK: Final = re.compile(r"[ \t\n\r]*")
_DECODER: Final = json.JSONDecoder()


class LayerList(NamedTuple):
    """One list with an entry per layer.

    Attributes:
        path: keys from the top of the config to the list, its own name last.
        entries: what it holds, as decoded.
        spans: start and end of each entry in the text.
        start: place of the opening bracket.
        end: place behind the closing bracket.
        config: the object in which the list stands, as decoded.
    """

    path: tuple[str, ...]
    entries: tuple[Any, ...]
    spans: tuple[tuple[int, int], ...]
    start: int
    end: int
    config: Mapping[str, Any]

    @property
    def name(self) -> str:
        """As a person writes it: ``text_config.layer_types``."""
        return ".".join(self.path)


def layer_lists(text: str) -> list[LayerList]:
    """All lists of ``LIST_NAMES`` in the objects of a config, in the order of the text.

    Objects inside of lists are passed over: transformers makes no config of them.

    Raises:
        UserError: the text is no JSON object.
    """
    if len(text) > _LARGEST:
        raise UserError(
            "config.json is larger than 32 MiB: no model config is", "config.json 超过 32 MiB：不是模型配置"
        )
    try:
        if not isinstance(json.loads(text), dict):
            raise UserError("config.json holds no JSON object", "config.json 的内容不是 JSON 对象")
        _, _, lists = _object(text, _blank(text, 0), ())
    except json.JSONDecodeError as error:
        raise UserError(
            f"config.json is not valid JSON, line {error.lineno}: {error.msg}",
            f"config.json 第 {error.lineno} 行不是有效的 JSON：{error.msg}",
        ) from error
    except (ValueError, RecursionError) as error:  # an integer of thousands of digits, thousands of brackets
        raise UserError(f"config.json cannot be read: {error}", f"无法读取 config.json：{error}") from error
    return sorted(lists, key=lambda found: found.start)


def as_written(text: str) -> Any:
    """The JSON value with all that `json.loads` drops: order of keys, keys given twice, spelling of numbers."""
    return json.loads(
        text,
        object_pairs_hook=lambda pairs: ("object", pairs),
        parse_int=lambda digits: ("number", digits),
        parse_float=lambda digits: ("number", digits),
        parse_constant=lambda name: ("number", name),
    )


def _object(text: str, at: int, path: tuple[str, ...]) -> tuple[int, dict[str, Any], list[LayerList]]:
    """The object whose brace stands at ``at``: the place behind it, its value, the lists in it. ``text`` is valid."""
    config: dict[str, Any] = {}
    below: dict[str, list[LayerList]] = {}
    spans: dict[str, tuple[int, int, tuple[tuple[int, int], ...]]] = {}
    at = _blank(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _blank(text, _blank(text, at) + 1)
        # Of a key given twice the last one counts, so what the first one held is forgotten.
        below.pop(key, None)
        spans.pop(key, None)
        if text[at] == "{":
            end, config[key], below[key] = _object(text, at, (*path, key))
        else:
            config[key], end = _DECODER.raw_decode(text, at)
            if key in LIST_NAMES and isinstance(config[key], list):
                spans[key] = at, end, tuple(_entries(text, at))
        at = _behind_comma(text, end)
    own = [
        LayerList((*path, key), tuple(config[key]), entries, start, end, config)
        for key, (start, end, entries) in spans.items()
    ]
    return at + 1, config, own + [found for lists in below.values() for found in lists]


def _entries(text: str, at: int) -> Iterator[tuple[int, int]]:
    at = _blank(text, at + 1)
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        yield at, end
        at = _behind_comma(text, end)


def _behind_comma(text: str, at: int) -> int:
    at = _blank(text, at)
    return _blank(text, at + 1) if text[at] == "," else at


def _blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    assert found is not None
    return found.end()
