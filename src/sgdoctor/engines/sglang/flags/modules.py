"""A Python file as the names that it gives to things, without running it."""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_ENUMS: Final = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})


@dataclass(frozen=True, slots=True)
class Module:
    """A parsed file.

    Attributes:
        name: dotted.
        values: expressions that names of the module stand for.
        functions: by name.
        classes: by name.
        imports: names that come from elsewhere, with their module and their name there (None for the module itself).
        stars: modules of which all names are imported.
    """

    name: str
    values: Mapping[str, ast.expr]
    functions: Mapping[str, ast.FunctionDef]
    classes: Mapping[str, ast.ClassDef]
    imports: Mapping[str, tuple[str, str | None]]
    stars: Sequence[str] = ()


def parse_module(name: str, text: str, *, package: bool) -> Module | None:
    """The names of a file; None where it is not Python that this interpreter can read.

    Args:
        name: dotted.
        text: of the file.
        package: whether it is an ``__init__.py``.
    """
    try:
        return names_of(name, ast.parse(text), package=package)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def names_of(name: str, tree: ast.Module, *, package: bool) -> Module:
    """The names of a module; those in branches of ``if`` and ``try`` count where nothing before gives them."""
    values: dict[str, ast.expr] = {}
    functions: dict[str, ast.FunctionDef] = {}
    classes: dict[str, ast.ClassDef] = {}
    imports: dict[str, tuple[str, str | None]] = {}
    stars: list[str] = []
    for statement in _unfolded(tree.body):
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                values.setdefault(target, value)
            case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value):
                values.setdefault(target, value)
            case ast.FunctionDef():
                functions.setdefault(statement.name, statement)
            case ast.ClassDef():
                classes.setdefault(statement.name, statement)
            case ast.Import(names=aliases):
                for alias in aliases:
                    whole = alias.name if alias.asname else alias.name.partition(".")[0]
                    imports.setdefault(alias.asname or whole, (whole, None))
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                stars.append(_source(statement, name, package=package))
            case ast.ImportFrom(names=aliases):
                source = _source(statement, name, package=package)
                for alias in aliases:
                    imports.setdefault(alias.asname or alias.name, (source, alias.name))
    return Module(name, values, functions, classes, imports, stars)


def _unfolded(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        match statement:
            case ast.If(body=first, orelse=second):
                yield from _unfolded([*first, *second])
            case ast.Try(body=first):
                yield from _unfolded(first)
            case _:
                yield statement


def _source(statement: ast.ImportFrom, module: str, *, package: bool) -> str:
    if not statement.level:
        return statement.module or ""
    parts = module.split(".")
    kept = parts[: len(parts) - statement.level + (1 if package else 0)]
    return ".".join([*kept, *([statement.module] if statement.module else [])])


def class_values(node: ast.ClassDef) -> dict[str, ast.expr]:
    """The expressions that a class body gives to names, the defaults of its fields among them."""
    values: dict[str, ast.expr] = {}
    for statement in node.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                values[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                values[name] = value
    return values


def is_enum(node: ast.ClassDef) -> bool:
    """Whether a class is an enum by the names of its bases."""
    return any(ast.unparse(base).rpartition(".")[2] in _ENUMS for base in node.bases)
