"""Patterns that can take long on a hostile text, found by their form."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sgdoctor.texts import Text

_OPEN_ENDED: Final = ("*", "+")


@dataclass(slots=True)
class _Atom:
    """What a quantifier would apply to."""

    dot: bool = False
    repeats: bool = False  # it, or something in it, is repeated without bound
    fixed: bool = False  # a literal character that has to be there tells one repetition from the next
    alternative: bool = False  # no atom: the bar between two branches


def _grouped(inner: Sequence[_Atom]) -> _Atom:
    """A group as one atom."""
    branches: list[list[_Atom]] = [[]]
    for atom in inner:
        if atom.alternative:
            branches.append([])
        else:
            branches[-1].append(atom)
    repeating = [branch for branch in branches if any(atom.repeats for atom in branch)]
    return _Atom(
        dot=len(inner) == 1 and inner[0].dot and not inner[0].repeats,
        repeats=bool(repeating),
        fixed=all(any(atom.fixed for atom in branch) for branch in repeating or branches),
    )


def hazards(pattern: str) -> list[Text]:
    r"""What is dangerous about a pattern; empty for a sound one.

    Looked for are a repetition within a repetition with nothing fixed between (``(\w+\s?)*``: exponential), a second
    ``.*`` (quadratic or worse) and a ``.*`` at either end (it only costs).
    """
    scan = _Scan(pattern)
    scan.run()
    found = []
    if scan.nested:
        found.append(
            Text(
                f"the pattern repeats a repetition ({scan.nested!r}); that can take exponential time,"
                " bound one of them or put fixed text between",
                f"正则中有嵌套的重复（{scan.nested!r}），可能导致指数级耗时；请限制其中一个的次数或加入固定文本",
            )
        )
    if len(scan.dots) > 1:
        found.append(
            Text(
                "the pattern has more than one unbounded `.*`; write bounded gaps such as `.{0,80}`",
                "正则中有多个不限长度的 `.*`；请改用 `.{0,80}` 这样的有界间隔",
            )
        )
    if any(start == 0 or end == len(pattern) for start, end in scan.dots):
        found.append(
            Text(
                "a `.*` at the beginning or the end of a pattern matches nothing more; leave it out",
                "正则开头或结尾的 `.*` 没有作用；请删除",
            )
        )
    return found


class _Scan:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.dots: list[tuple[int, int]] = []
        self.nested = ""

    def run(self) -> None:
        pattern = self.pattern
        position = 0
        groups: list[tuple[int, list[_Atom]]] = [(0, [])]
        start = 0
        while position < len(pattern):
            char = pattern[position]
            atoms = groups[-1][1]
            if (quantified := self._quantifier(position)) is not None and atoms and not atoms[-1].alternative:
                end, unbounded, required = quantified
                atom = atoms[-1]
                if unbounded:
                    if atom.repeats and not atom.fixed:
                        self.nested = self.nested or pattern[start:end]
                    if atom.dot:
                        self.dots.append((start, end))
                    atom.repeats = True
                atom.fixed = False if not required else atom.fixed and not unbounded
                position = end
                continue
            start = position
            if char == "\\":
                literal = not pattern[position + 1 : position + 2].isalnum()
                atoms.append(_Atom(fixed=literal))
                position += 2
            elif char == "[":
                position = self._class_end(position)
                atoms.append(_Atom())
            elif char == "(":
                groups.append((position, []))
                position = self._group_body(position)
            elif char == ")" and len(groups) > 1:
                start, inner = groups.pop()
                groups[-1][1].append(_grouped(inner))
                position += 1
            else:
                if char == "|":
                    atoms.append(_Atom(alternative=True))
                elif char not in "^$":
                    atoms.append(_Atom(dot=char == ".", fixed=char != "."))
                position += 1

    def _quantifier(self, position: int) -> tuple[int, bool, bool] | None:
        """End, whether it is unbounded, and whether it needs one at least; None where there is no quantifier."""
        rest = self.pattern[position:]
        if rest[0] in "*+?":
            end, unbounded, required = position + 1, rest[0] in _OPEN_ENDED, rest[0] == "+"
        elif rest[0] == "{" and (close := rest.find("}")) > 1 and set(rest[1:close]) <= set("0123456789,"):
            low, comma, high = rest[1:close].partition(",")
            end, unbounded, required = position + close + 1, bool(comma) and not high, low not in ("", "0")
        else:
            return None
        if self.pattern[end : end + 1] == "+":
            return end + 1, False, required  # possessive: it never gives back
        return end + (self.pattern[end : end + 1] == "?"), unbounded, required

    def _class_end(self, position: int) -> int:
        position += 1
        if self.pattern[position : position + 1] == "^":
            position += 1
        if self.pattern[position : position + 1] == "]":
            position += 1
        while position < len(self.pattern) and self.pattern[position] != "]":
            position += 2 if self.pattern[position] == "\\" else 1
        return position + 1

    def _group_body(self, position: int) -> int:
        """Position after ``(``, ``(?:``, ``(?P<name>``, ``(?=`` and their like."""
        rest = self.pattern[position:]
        if rest.startswith(("(?P<", "(?<")) and not rest.startswith(("(?<=", "(?<!")):
            return position + rest.find(">") + 1
        for opening in ("(?<=", "(?<!", "(?:", "(?=", "(?!", "(?>", "(?|"):
            if rest.startswith(opening):
                return position + len(opening)
        if rest.startswith("(?"):  # inline flags
            ends = [end for mark in ":)" if (end := rest.find(mark)) > 0]
            return position + min(ends, default=1) + (rest[min(ends, default=1)] == ":")
        return position + 1
