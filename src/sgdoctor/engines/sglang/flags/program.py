"""What expressions of a Python program mean, found out without running it.

Only what definitions of flags are made of: literals, names and their imports, attributes of classes and enums, sums of
lists, comprehensions, and functions that only return such an expression.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from sgdoctor.engines.sglang.flags.modules import Module, class_values, is_enum, names_of, parse_module
from sgdoctor.engines.sglang.flags.sources import Sources

_DEPTH: Final = 40
_COLLECTIONS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "list": list,
    "tuple": list,
    "sorted": sorted,
    # The order of a set is that of its text: there is no other that stays the same.
    "set": lambda items: list(dict.fromkeys(items)),
    "frozenset": lambda items: list(dict.fromkeys(items)),
}
_TEXT_METHODS: Final = frozenset({"lower", "upper", "strip", "title"})
_OUTSIDE: Final[Mapping[str, Any]] = {"sys.maxsize": (1 << 63) - 1, "argparse.SUPPRESS": None}


class UnknownValueError(Exception):
    """An expression whose value cannot be told without running the program."""


class Opaque(NamedTuple):
    """A value that is only passed on: a class, a call.

    Attributes:
        text: its expression.
    """

    text: str


class Member(NamedTuple):
    """A member of an enum."""

    name: str
    value: Any


class Found(NamedTuple):
    """A class or a function, with the module that it stands in."""

    module: Module
    node: ast.ClassDef | ast.FunctionDef


@dataclass(slots=True)
class Scope:
    """Where an expression stands.

    Attributes:
        module: whose names it sees.
        local: values of names that were given inside a function.
    """

    module: Module
    local: dict[str, Any] = field(default_factory=dict)


class Program:
    """The modules of a package, parsed when they are first needed."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self._modules: dict[str, Module | None] = {}

    def module(self, name: str) -> Module | None:
        """A module by its dotted name; None if it is not part of the sources or no Python."""
        if name not in self._modules:
            path = name.replace(".", "/")
            text = self.sources.read(f"{path}.py")
            package = text is None
            text = self.sources.read(f"{path}/__init__.py") if text is None else text
            self._modules[name] = None if text is None else parse_module(name, text, package=package)
        return self._modules[name]

    def find(self, module: Module, name: str, depth: int = 0) -> Found | None:
        """The class or function that ``name`` stands for in ``module``, through its imports."""
        if depth > _DEPTH:
            return None
        if node := module.classes.get(name) or module.functions.get(name):
            return Found(module, node)
        for origin, there in self.origins(module, name):
            if found := self.find(origin, there, depth + 1):
                return found
        return None

    def origins(self, module: Module, name: str) -> Iterator[tuple[Module, str]]:
        """The modules that ``name`` may have been imported from, with its name there."""
        source, there = module.imports.get(name, ("", None))
        for possible in [source] if there is not None else [] if source else module.stars:
            origin = self.module(possible)
            if origin is not None:
                yield origin, there or name

    def plain(self, node: ast.expr | None, scope: Scope) -> Any:
        """The value of an expression as JSON has it; None where there is none or it cannot be told."""
        if node is None:
            return None
        try:
            return _plain(self.value(node, scope))
        except UnknownValueError:
            return None

    def text(self, node: ast.expr | None, scope: Scope) -> str:
        """The text that an expression comes to; empty where it comes to something else."""
        value = self.plain(node, scope)
        return value if isinstance(value, str) else ""

    def texts(self, node: ast.expr | None, scope: Scope) -> tuple[str, ...]:
        """The items of a list as text; none where the expression comes to something else."""
        value = self.plain(node, scope)
        return tuple(str(item) for item in value) if isinstance(value, list | dict) else ()

    def value(self, node: ast.expr, scope: Scope, depth: int = 0) -> Any:
        """What an expression comes to: values of JSON, ``Member``, ``Opaque``.

        Raises:
            UnknownValueError: it cannot be told.
        """
        if depth > _DEPTH:
            raise UnknownValueError(ast.unparse(node))

        def inner(part: ast.expr) -> Any:
            return self.value(part, scope, depth + 1)

        match node:
            case ast.Constant(value=value):
                return value
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                items: list[Any] = []
                for part in parts:
                    items += _iterated(inner(part.value)) if isinstance(part, ast.Starred) else [inner(part)]
                return items
            case ast.Dict(keys=keys, values=values):
                result: dict[Any, Any] = {}
                for key, entry in zip(keys, values, strict=True):
                    if key is None:
                        result |= inner(entry)
                    else:
                        result[inner(key)] = self._passed_on(entry, scope, depth)
                return result
            case ast.Name(id=name):
                return self._name(name, scope, depth)
            case ast.Attribute(value=ast.Name(id=base), attr=name) if f"{base}.{name}" in _OUTSIDE:
                return _OUTSIDE[f"{base}.{name}"]
            case ast.Attribute(value=owner, attr=name):
                return self._attribute(owner, name, scope, depth)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -_number(inner(operand), node)
            case ast.BinOp(left=left, op=operator, right=right):
                return _combined(inner(left), operator, inner(right), node)
            case ast.Subscript(value=owner, slice=index):
                try:
                    return inner(owner)[inner(index)]
                except (LookupError, TypeError):
                    raise UnknownValueError(ast.unparse(node)) from None
            case ast.JoinedStr(values=pieces):
                return "".join(str(inner(piece)) for piece in pieces)
            case ast.FormattedValue(value=inside, conversion=-1, format_spec=None):
                return inner(inside)
            case ast.ListComp(elt=element, generators=[generator]) | ast.SetComp(elt=element, generators=[generator]):
                return self._comprehension(element, generator, scope, depth)
            case ast.Call():
                return self._call(node, scope, depth)
        raise UnknownValueError(ast.unparse(node))

    def _passed_on(self, node: ast.expr, scope: Scope, depth: int) -> Any:
        try:
            return self.value(node, scope, depth + 1)
        except UnknownValueError:
            return Opaque(ast.unparse(node))

    def _name(self, name: str, scope: Scope, depth: int) -> Any:
        if name in scope.local:
            return scope.local[name]
        module = scope.module
        if name in module.values:
            return self.value(module.values[name], Scope(module), depth + 1)
        found = self.find(module, name)
        if found is not None and isinstance(found.node, ast.ClassDef) and is_enum(found.node):
            return self._members(found, depth)
        if found is None and depth <= _DEPTH:
            for origin, there in self.origins(module, name):
                with suppress(UnknownValueError):
                    return self._name(there, Scope(origin), depth + 1)
        raise UnknownValueError(name)

    def _attribute(self, owner: ast.expr, name: str, scope: Scope, depth: int) -> Any:
        if isinstance(owner, ast.Name) and owner.id not in scope.local:
            found = self.find(scope.module, owner.id)
            if found is not None and isinstance(found.node, ast.ClassDef):
                return self._class_attribute(found, name, depth)
            source, there = scope.module.imports.get(owner.id, ("", None))
            module = self.module(source if there is None else f"{source}.{there}")
            if module is not None:
                return self._name(name, Scope(module), depth + 1)
        value = self.value(owner, scope, depth + 1)
        if isinstance(value, Member) and name in ("name", "value"):
            return value.name if name == "name" else value.value
        raise UnknownValueError(f"{ast.unparse(owner)}.{name}")

    def _class_attribute(self, found: Found, name: str, depth: int) -> Any:
        assert isinstance(found.node, ast.ClassDef)
        if is_enum(found.node):
            for member in self._members(found, depth):
                if member.name == name:
                    return member
        values = class_values(found.node)
        if name not in values:
            raise UnknownValueError(f"{found.node.name}.{name}")
        # Inside a class body its earlier names are seen without the class.
        local = {
            other: self._passed_on(expression, Scope(found.module), depth)
            for other, expression in values.items()
            if other != name and isinstance(expression, ast.Constant)
        }
        return self.value(values[name], Scope(found.module, local), depth + 1)

    def _members(self, found: Found, depth: int) -> list[Member]:
        assert isinstance(found.node, ast.ClassDef)
        return [
            Member(name, self._passed_on(expression, Scope(found.module), depth))
            for name, expression in class_values(found.node).items()
            if not name.startswith("_")
        ]

    def _comprehension(self, element: ast.expr, generator: ast.comprehension, scope: Scope, depth: int) -> list[Any]:
        if generator.ifs or not isinstance(generator.target, ast.Name):
            raise UnknownValueError(ast.unparse(element))
        items = _iterated(self.value(generator.iter, scope, depth + 1))
        return [
            self.value(element, Scope(scope.module, {**scope.local, generator.target.id: item}), depth + 1)
            for item in items
        ]

    def _call(self, node: ast.Call, scope: Scope, depth: int) -> Any:
        match node:
            case ast.Call(func=ast.Name(id=name), args=[argument]) if name in _COLLECTIONS:
                return _COLLECTIONS[name](_iterated(self.value(argument, scope, depth + 1)))
            case ast.Call(func=ast.Attribute(value=owner, attr="keys" | "values" as which), args=[]):
                table = self.value(owner, scope, depth + 1)
                if isinstance(table, dict):
                    return list(getattr(table, which)())
            case ast.Call(func=ast.Attribute(value=owner, attr=method), args=[]) if method in _TEXT_METHODS:
                text = self.value(owner, scope, depth + 1)
                if isinstance(text, str):
                    return getattr(text, method)()
            case ast.Call(func=ast.Name(id=name), args=[]) if not node.keywords:
                found = self.find(scope.module, name)
                if found is not None and isinstance(found.node, ast.FunctionDef):
                    return self._returned(found.node, found.module, depth)
        raise UnknownValueError(ast.unparse(node))

    def _returned(self, function: ast.FunctionDef, module: Module, depth: int) -> Any:
        """What a function without arguments returns; of several answers the last that can be told."""
        # An import inside the function counts for it alone.
        inner = names_of(module.name, ast.Module(function.body, []), package=False)
        seen = replace(module, values={**module.values, **inner.values}, imports={**module.imports, **inner.imports})
        for statement in reversed([one for one in ast.walk(function) if isinstance(one, ast.Return)]):
            if statement.value is not None:
                try:
                    return self.value(statement.value, Scope(seen), depth + 1)
                except UnknownValueError:
                    continue
        raise UnknownValueError(function.name)


def _plain(value: Any) -> Any:
    if isinstance(value, Opaque):
        raise UnknownValueError(value.text)
    if isinstance(value, Member):
        return _plain(value.value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise UnknownValueError(repr(value))


def _iterated(value: Any) -> list[Any]:
    if isinstance(value, list | dict):
        return list(value)
    raise UnknownValueError(repr(value))


def _number(value: Any, node: ast.expr) -> Any:
    if isinstance(value, int | float):
        return value
    raise UnknownValueError(ast.unparse(node))


def _combined(left: Any, operator: ast.operator, right: Any, node: ast.expr) -> Any:
    match operator, left, right:
        case ast.Add(), str(), str():
            return left + right
        case ast.Add(), list(), list():
            return left + right
        case ast.BitOr(), dict(), dict():
            return left | right
        case ast.BitOr(), list(), list():
            return list(dict.fromkeys([*left, *right]))
        case ast.Add(), int() | float(), int() | float():
            return left + right
        case ast.Sub(), int() | float(), int() | float():
            return left - right
        case ast.Mult(), int() | float(), int() | float():
            return left * right
        case ast.LShift(), int(), int() if 0 <= right < 64:
            return left << right
    raise UnknownValueError(ast.unparse(node))
