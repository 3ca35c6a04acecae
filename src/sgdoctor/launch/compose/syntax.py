"""The syntax of a YAML file: every node with its place, aliases and merge keys left as they are written."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import yaml

from sgdoctor.errors import UserError

_MAX_NODES: Final = 100_000
_MAX_DEPTH: Final = 60
_PROPERTIES: Final = re.compile(r"(?:[&!][^\s,\[\]{}]*(?:\s|#[^\r\n]*)+)*")
_SPACES: Final = re.compile(r" *")
_BLANKS: Final = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """What all nodes have.

    Attributes:
        start: index of the first character, anchor and tag left out.
        end: index behind the last character as the scanner sees it; of block collections and block scalars it may
            stand behind blank lines and comments.
        line: number of the line of ``start``, from 1.
        anchor: name without ``&``; None if it has none.
        tag: such as ``!reset``; None if none is written.
    """

    start: int
    end: int
    line: int
    anchor: str | None
    tag: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Scalar(_Node):
    """A text; ``style`` is one of ``' " | >``, or empty for a plain one."""

    value: str
    style: str


@dataclass(frozen=True, slots=True, eq=False)
class Sequence(_Node):
    """A list; ``flow`` is the form in brackets."""

    items: "tuple[Node, ...]"
    flow: bool


@dataclass(frozen=True, slots=True, eq=False)
class Mapping(_Node):
    """A mapping; keys are in their order and may be there twice."""

    pairs: "tuple[tuple[Scalar, Node], ...]"
    flow: bool


@dataclass(frozen=True, slots=True, eq=False)
class Alias(_Node):
    """``*name`` and the node that it stands for."""

    target: "Node"


Node: TypeAlias = Scalar | Sequence | Mapping | Alias


def parse(text: str, name: str) -> Node | None:
    """The syntax tree of the one document in ``text``; None if there is none.

    Raises:
        UserError: the text is not YAML, it says where; or it has several documents, or is made to be endless.
    """
    try:
        return _Builder(text, name, yaml.parse(text, Loader=_Loader)).document()
    except yaml.MarkedYAMLError as error:
        mark, what = error.problem_mark or error.context_mark, error.problem or error.context or "?"
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise UserError(
            f"{name}:{line}:{column}: not valid YAML: {what}",
            f"{name} 第 {line} 行第 {column} 列：不是有效的 YAML：{what}",
        ) from None
    except yaml.YAMLError as error:
        what = str(error).splitlines()[0]
        raise UserError(f"{name}: not valid YAML: {what}", f"{name}：不是有效的 YAML：{what}") from None


def own_pair(mapping: Mapping, key: str) -> tuple[Scalar, Node] | None:
    """Key and value of ``key`` as written in this mapping itself, the last if there are several."""
    return next((pair for pair in reversed(mapping.pairs) if pair[0].value == key), None)


def resolved(node: Node) -> "Scalar | Sequence | Mapping":
    """The node that ``node`` stands for."""
    while isinstance(node, Alias):
        node = node.target
    return node


def is_merge_key(key: Scalar) -> bool:
    """Whether ``key`` is ``<<`` without quotes."""
    return key.value == "<<" and not key.style


def text_end(node: Node, text: str) -> int:
    """Index behind the last character of ``node`` that is no blank, line end or comment."""
    if isinstance(node, Sequence) and not node.flow and node.items:
        return text_end(node.items[-1], text)
    if isinstance(node, Mapping) and not node.flow and node.pairs:
        return text_end(node.pairs[-1][1], text)
    if isinstance(node, Scalar) and node.style in ("|", ">"):
        return node.start + len(text[node.start : node.end].rstrip())
    return node.end


class _Loader(yaml.BaseLoader):
    """The pure Python scanner, whose marks count characters of the text as it is."""

    def scan_to_next_token(self) -> None:
        """Passes over blanks, comments and line breaks.

        Unlike the original it takes tabs for blanks where libyaml does (scanner.c, yaml_parser_scan_to_next_token),
        and with it the Go port that Compose reads with: behind a key and before a comment.
        """
        if self.index == 0 and self.peek() == "\ufeff":
            self.forward()
        while True:
            self._skip_blanks(tabs=bool(self.flow_level or not self.allow_simple_key))
            if self.peek() == "#":
                while self.peek() not in "\0\r\n\x85\u2028\u2029":
                    self.forward()
            if not self.scan_line_break():  # type: ignore[no-untyped-call]
                return
            if not self.flow_level:
                self.allow_simple_key = True

    def scan_block_scalar_breaks(self, indent: int) -> tuple[list[str], yaml.Mark]:
        """Passes over the line breaks, and the blanks at the beginning of a line, of a block scalar."""
        chunks = []
        end_mark = self.get_mark()
        self._skip_blanks(indent - self.column)
        while self.peek() in "\r\n\x85\u2028\u2029":
            chunks.append(self.scan_line_break())  # type: ignore[no-untyped-call]
            end_mark = self.get_mark()
            self._skip_blanks(indent - self.column)
        return chunks, end_mark

    def _skip_blanks(self, most: int | None = None, *, tabs: bool = False) -> None:
        """Passes over blanks all at once; ``forward`` asks of each character whether it ends a line."""
        start = self.pointer
        end = len(self.buffer) if most is None else start + max(0, most)
        match = (_BLANKS if tabs else _SPACES).match(self.buffer, start, end)
        assert match is not None
        passed = match.end() - start
        self.pointer += passed
        self.index += passed
        self.column += passed


class _Builder:
    """Makes nodes of events."""

    def __init__(self, text: str, name: str, events: Iterator[yaml.Event]) -> None:
        self._text = text
        self._name = name
        self._events = events
        self._anchors: dict[str, Node] = {}
        self._count = 0
        self._depth = 0

    def document(self) -> Node | None:
        root: Node | None = None
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    line = _mark(event.start_mark).line + 1
                    raise UserError(
                        f"{self._name}:{line}: a second YAML document begins here; put it into a file of its own",
                        f"{self._name} 第 {line} 行：这里开始了第二个 YAML 文档；请把它放到单独的文件里",
                    )
                root = self._node(next(self._events))
        return root

    def _node(self, event: yaml.Event) -> Node:
        assert isinstance(event, yaml.NodeEvent)
        self._count += 1
        if self._count > _MAX_NODES or self._depth > _MAX_DEPTH:
            raise UserError(f"{self._name}: too large for a compose file", f"{self._name}：作为 compose 文件太大了")
        mark, end = _mark(event.start_mark), _mark(event.end_mark).index
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise yaml.MarkedYAMLError(problem=f"found undefined alias {event.anchor!r}", problem_mark=mark)
            target = self._anchors[event.anchor]
            return Alias(mark.index, end, mark.line + 1, None, None, target)
        start, tag = mark.index, getattr(event, "tag", None)
        if event.anchor is not None or tag is not None:
            matched = _PROPERTIES.match(self._text, start)
            start = matched.end() if matched else start
        line = mark.line + 1 + self._text.count("\n", mark.index, start)
        node: Node
        if isinstance(event, yaml.ScalarEvent):
            style = event.style if event.style in ("'", '"', "|", ">") else ""
            node = Scalar(min(start, end), end, line, event.anchor, tag, event.value, style)
        elif isinstance(event, yaml.SequenceStartEvent):
            items = []
            self._depth += 1
            while not isinstance(inner := next(self._events), yaml.SequenceEndEvent):
                items.append(self._node(inner))
            self._depth -= 1
            end = _mark(inner.end_mark).index
            node = Sequence(start, end, line, event.anchor, tag, tuple(items), bool(event.flow_style))
        else:
            assert isinstance(event, yaml.MappingStartEvent)
            pairs = []
            self._depth += 1
            while not isinstance(inner := next(self._events), yaml.MappingEndEvent):
                key = self._node(inner)
                named = resolved(key)
                if not isinstance(named, Scalar):
                    raise yaml.MarkedYAMLError(
                        problem="a key has to be a plain text", problem_mark=_mark(inner.start_mark)
                    )
                pairs.append((named, self._node(next(self._events))))
            self._depth -= 1
            end = _mark(inner.end_mark).index
            node = Mapping(start, end, line, event.anchor, tag, tuple(pairs), bool(event.flow_style))
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node


def _mark(mark: object) -> yaml.Mark:
    """The pure Python scanner always gives one."""
    assert isinstance(mark, yaml.Mark)
    return mark
