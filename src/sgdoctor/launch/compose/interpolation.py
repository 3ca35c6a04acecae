"""Variables in a compose file: ``$NAME``, ``${NAME:-default}`` and the like, with the place of every character."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from sgdoctor.errors import UserError
from sgdoctor.launch.compose.layers import Layer, Place
from sgdoctor.launch.compose.lines import CannotSpliceError
from sgdoctor.launch.shell import Splice

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATOR: Final = re.compile(r":?[-+?]")


@dataclass(frozen=True, slots=True)
class Reference:
    """A variable in a text.

    Attributes:
        name: of the variable.
        start: index of its ``$`` in the text as written.
        end: index behind it.
        value: what the environment says; None if it is not set there.
        default: the span of the default in the text as written, where the default is what counts.
        shown: the characters of the interpolated text that it stands for, half open.
        has_default: whether one is written.
    """

    name: str
    start: int
    end: int
    value: str | None
    default: Place | None
    shown: Place
    has_default: bool


@dataclass(slots=True)
class Interpolated:
    """A text with its variables in place.

    Attributes:
        layer: the new text above the one that was written.
        references: in their order; those inside of defaults come behind the one that they stand in.
        unset: names that have neither a value nor a default, for which Compose puts nothing.
    """

    layer: Layer
    references: list[Reference] = field(default_factory=list)
    unset: list[str] = field(default_factory=list)

    def references_in(self, start: int, end: int) -> list[Reference]:
        """Those that stand, in whole or in part, between two places of the new text; empty ones inside count."""
        return [
            one
            for one in self.references
            if (one.shown.start < end and one.shown.end > start)
            or (one.shown.start == one.shown.end and start <= one.shown.start <= end)
        ]


def interpolate(written: str, environment: Mapping[str, str], where: str = "") -> Interpolated:
    """``written`` with its variables in place.

    Args:
        written: value of a YAML scalar.
        environment: of the shell and of the environment file.
        where: what the text is, for the error: ``services.sgl.image``.

    Raises:
        UserError: a variable that has to be set is not, or ``${`` is not closed.
    """
    reader = _Reader(written, environment, where)
    reader.read(0, len(written))
    layer = Layer("".join(reader.parts), reader.places, len(written), lambda new, _at: new.replace("$", "$$"))
    return Interpolated(layer, reader.references, reader.unset)


def with_new_default(reference: Reference, value: str) -> Splice:
    """The change of the text as written that gives a variable another default and keeps it a variable.

    Raises:
        CannotSpliceError: the value cannot stand in a default.
    """
    if any(char in value for char in "{}"):
        raise CannotSpliceError
    new = value.replace("$", "$$")
    if reference.default is not None:
        return Splice(reference.default.start, reference.default.end, new)
    if reference.has_default or reference.value is not None:
        raise CannotSpliceError
    return Splice(reference.start, reference.end, f"${{{reference.name}:-{new}}}")


class _Reader:
    """Goes through a text, and through the defaults in it."""

    def __init__(self, written: str, environment: Mapping[str, str], where: str) -> None:
        self._written = written
        self._environment = environment
        self._where = where
        self.parts: list[str] = []
        self.places: list[Place] = []
        self.references: list[Reference] = []
        self.unset: list[str] = []

    def read(self, at: int, end: int) -> None:
        text = self._written
        while at < end:
            if text[at] != "$":
                run = text.find("$", at, end)
                run = end if run < 0 else run
                self.parts.append(text[at:run])
                self.places += map(Place, range(at, run), range(at + 1, run + 1))
                at = run
            elif text.startswith("$$", at):
                self._put("$", at, at + 2)
                at += 2
            elif text.startswith("${", at):
                at = self._braced(at, end)
            elif name := _NAME.match(text, at + 1, end):
                self._variable(name[0], Place(at, name.end()), "", Place(at, at))
                at = name.end()
            else:
                # Compose leaves a lonely `$` as it is.
                self._put("$", at, at + 1)
                at += 1

    def _put(self, text: str, start: int, end: int) -> None:
        self.parts.append(text)
        self.places += [Place(start, end)] * len(text)

    def _braced(self, start: int, limit: int) -> int:
        text = self._written
        close = self._closing(start, limit)
        name = _NAME.match(text, start + 2, limit)
        operator = _OPERATOR.match(text, name.end(), limit) if name else None
        if close < 0 or name is None or (operator is None and name.end() != close):
            shown = text[start : close + 1 if close >= 0 else limit]
            raise UserError(
                f"{self._where}: `{shown}` is not a valid variable; a literal `$` is written `$$`",
                f"{self._where}：`{shown}` 不是有效的变量写法；字面的 `$` 要写成 `$$`",
            )
        argument = operator.end() if operator else close
        self._variable(name[0], Place(start, close + 1), operator[0] if operator else "", Place(argument, close))
        return close + 1

    def _closing(self, start: int, limit: int) -> int:
        text, depth, at = self._written, 0, start
        while at < limit:
            if text.startswith("${", at):
                depth += 1
                at += 2
            elif text[at] == "}":
                depth -= 1
                if not depth:
                    return at
                at += 1
            else:
                at += 1
        return -1

    def _variable(self, name: str, whole: Place, operator: str, argument: Place) -> None:
        value = self._environment.get(name)
        counts = bool(value) if operator.startswith(":") else value is not None
        kind = operator[-1:]
        if kind == "?" and not counts:
            why = self._written[argument.start : argument.end]
            raise UserError(
                f"{self._where}: the variable {name} has to be set" + (f": {why}" if why else ""),
                f"{self._where}：变量 {name} 必须设置" + (f"：{why}" if why else ""),
            )
        before = len(self.places)
        index = len(self.references)
        default = None
        if kind == "-" and not counts:
            default = argument
            self.read(*argument)
        elif kind == "+":
            if counts:
                inner = interpolate(self._written[argument.start : argument.end], self._environment, self._where)
                self._put(inner.layer.text, *whole)
        elif value is not None:
            self._put(value, *whole)
        else:
            self.unset.append(name)
        shown = Place(before, len(self.places))
        self.references.insert(
            index, Reference(name, *whole, value if counts else None, default, shown, kind in ("-", "+"))
        )
