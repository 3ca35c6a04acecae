"""The values of a compose file: aliases, merge keys and variables in place, each with the node it was written as."""

import re
from collections.abc import Iterator
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from sgdoctor.errors import UserError
from sgdoctor.launch.compose.interpolation import Interpolated, interpolate
from sgdoctor.launch.compose.syntax import Alias, Mapping, Node, Scalar, Sequence, is_merge_key, resolved

_MAX_VALUES: Final = 200_000
# gopkg.in/yaml.v3 resolve.go; `yes` and `off` are texts there.
_TYPED: Final = re.compile(
    r"|~|null|Null|NULL|true|True|TRUE|false|False|FALSE"
    r"|[-+]?(?:0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:[0-9][0-9_]*)?\.?[0-9][0-9_]*\.?(?:[eE][-+]?[0-9]+)?)"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})


@dataclass(frozen=True, slots=True, eq=False)
class SourceFile:
    """A compose file.

    Attributes:
        name: as the user knows it.
        text: with its own line ends.
        folder: where relative paths in it begin.
        root: None if the file is empty.
        path: None if the text did not come from a file.
    """

    name: str
    text: str
    folder: Path
    root: Node | None
    path: Path | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A scalar."""

    file: SourceFile
    node: Scalar
    interpolated: Interpolated

    @property
    def text(self) -> str:
        """Its value with variables in place."""
        return self.interpolated.layer.text

    @property
    def is_null(self) -> bool:
        """Whether it is written as nothing, ``null`` or ``~``."""
        return not self.node.style and self.node.value in _NULLS

    @property
    def is_typed(self) -> bool:
        """Whether YAML takes it for a number, a truth value or nothing: one with a variable in it is always a text."""
        return not self.node.style and self.node.value == self.text and _TYPED.fullmatch(self.text) is not None


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """A list."""

    file: SourceFile
    node: Sequence
    items: "tuple[Value, ...]"


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """A mapping, with what merge keys bring into it."""

    file: SourceFile
    node: Mapping
    fields: "MappingABC[str, Value]"

    def own(self, key: str) -> bool:
        """Whether ``key`` is written in this mapping itself."""
        return any(name.value == key for name, _ in self.node.pairs)


Value: TypeAlias = Text | Items | Fields


@dataclass(slots=True)
class Reader:
    """Makes values of nodes.

    Attributes:
        environment: for variables.
        count: values made so far; aliases of aliases can multiply.
    """

    environment: MappingABC[str, str]
    count: int = 0
    _open: set[int] = field(default_factory=set)

    def value(self, file: SourceFile, node: Node, where: str = "") -> Value:
        """The value of ``node``.

        Raises:
            UserError: a variable has to be set and is not; an alias contains itself; a merge key names no mapping.
        """
        self.count += 1
        if self.count > _MAX_VALUES or id(node) in self._open:
            raise UserError(f"{file.name}: aliases without end", f"{file.name}：别名无限展开")
        node = resolved(node) if isinstance(node, Alias) else node
        if isinstance(node, Scalar):
            return Text(file, node, interpolate(node.value, self.environment, f"{file.name}:{node.line}"))
        self._open.add(id(node))
        value: Value
        if isinstance(node, Sequence):
            items = (self.value(file, item, f"{where}[{index}]") for index, item in enumerate(node.items))
            value = Items(file, node, tuple(items))
        else:
            value = Fields(file, node, self._fields(file, node, where))
        self._open.discard(id(node))
        return value

    def _fields(self, file: SourceFile, node: Mapping, where: str) -> dict[str, Value]:
        merged: dict[str, Value] = {}
        own: dict[str, Value] = {}
        for key, inner in node.pairs:
            if is_merge_key(key):
                for name, value in self._merged(file, inner, where):
                    merged.setdefault(name, value)
            else:
                own[key.value] = self.value(file, inner, f"{where}.{key.value}" if where else key.value)
        return merged | own

    def _merged(self, file: SourceFile, node: Node, where: str) -> Iterator[tuple[str, Value]]:
        target = resolved(node)
        for one in target.items if isinstance(target, Sequence) else (target,):
            value = self.value(file, one, where)
            if not isinstance(value, Fields):
                raise UserError(
                    f"{file.name}:{node.line}: `<<` can only merge mappings",
                    f"{file.name} 第 {node.line} 行：`<<` 只能合并映射",
                )
            yield from value.fields.items()


def plain(value: Value) -> object:
    """A value as ordinary data, for comparing: texts with their style where it decides what they are."""
    if isinstance(value, Text):
        return None if value.is_null else value.text
    if isinstance(value, Items):
        return [plain(item) for item in value.items]
    return {name: plain(inner) for name, inner in value.fields.items()}
