"""What an annotated field tells argparse: ``A[int, Arg(help=..., choices=...)]`` as keywords of ``add_argument``."""

import ast
from collections.abc import Sequence
from typing import NamedTuple

from sgdoctor.engines.sglang.flags.modules import Module
from sgdoctor.engines.sglang.flags.program import Program, Scope


class Field(NamedTuple):
    """A field of ``ServerArgs``, wherever it is declared."""

    module: Module
    name: str
    annotation: ast.expr
    default: ast.expr | None


class Call(NamedTuple):
    """One option as argparse is told of it: its names and the keywords of ``add_argument``."""

    scope: Scope
    names: tuple[str, ...]
    keywords: dict[str, ast.expr]
    no_cli: bool = False


def from_annotation(program: Program, field: Field) -> Call | None:
    """What ``A[type, Arg(...)]`` tells argparse; None for a field without such an annotation.

    The same rules as ``add_cli_args_from_dataclass`` in srt/arg_groups/arg_utils.py of 0.5.14 to 0.5.23.
    """
    match field.annotation:
        case ast.Subscript(value=ast.Name(id="A" | "Annotated"), slice=ast.Tuple(elts=[kind, *metadata])):
            told = _metadata(metadata)
        case _:
            return None
    if told is None:
        return None
    scope = Scope(field.module)
    keywords: dict[str, ast.expr] = {"dest": ast.Constant(field.name)}
    if "help" in told:
        keywords["help"] = told["help"]
    if field.default is not None:
        keywords["default"] = field.default
    if "action" in told:
        keywords |= {"action": told["action"], **_entries(told.get("action_kwargs"))}
    else:
        keywords |= _by_type(_resolved(program, field.module, _not_none(kind)), told)
        if "action" not in keywords and field.default is None and "nargs" not in keywords:
            keywords["required"] = told.get("required", ast.Constant(value=True))
    name = f"--{field.name.replace('_', '-')}"
    flag = program.text(told.get("cli_name"), scope) or name
    aliases = program.texts(told.get("aliases"), scope)
    return Call(scope, (flag, *aliases), keywords, no_cli=program.plain(told.get("no_cli"), scope) is True)


def _metadata(elements: Sequence[ast.expr]) -> dict[str, ast.expr] | None:
    """The keywords of ``Arg(...)``; a bare text is its ``help``. None where there is neither."""
    for element in elements:
        match element:
            case ast.Call(func=ast.Name(id="Arg"), args=arguments, keywords=keywords):
                told = {keyword.arg: keyword.value for keyword in keywords if keyword.arg}
                return {"help": arguments[0], **told} if arguments else told
            case ast.Call():
                continue
            case _:
                return {"help": element}
    return None


def _by_type(kind: ast.expr, told: dict[str, ast.expr]) -> dict[str, ast.expr]:
    """Keywords of ``add_argument`` that follow from the type of a field."""
    keywords: dict[str, ast.expr] = {name: node for name, node in told.items() if name in ("choices", "nargs")}
    parser = told.get("type_parser")
    match kind:
        case ast.Subscript(value=ast.Name(id="Literal"), slice=values):
            keywords.pop("nargs", None)
            elements = values.elts if isinstance(values, ast.Tuple) else [values]
            whole = all(isinstance(one, ast.Constant) and type(one.value) is int for one in elements)
            usual: ast.expr = ast.Name("int" if whole else "str")
            return {"choices": ast.List(list(elements)), **keywords, "type": parser or usual}
        case ast.Subscript(value=ast.Name(id="List" | "list"), slice=element) if parser is None:
            return {"nargs": ast.Constant("+"), **keywords, "type": _scalar(element)}
        case ast.Name(id="bool"):
            return {"action": ast.Constant("store_true")}
    return {**keywords, "type": parser or _scalar(kind)}


def _scalar(kind: ast.expr) -> ast.expr:
    """What argparse converts a value of this type with; anything else than a number stays text."""
    known = isinstance(kind, ast.Name) and kind.id in ("int", "float")
    return kind if known else ast.Name("str")


def _not_none(kind: ast.expr) -> ast.expr:
    """``X`` of ``Optional[X]``, ``Union[X, None]`` and ``X | None``."""
    match kind:
        case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
            return inner
        case ast.Subscript(value=ast.Name(id="Union"), slice=ast.Tuple(elts=parts)):
            rest = [part for part in parts if not _is_none(part)]
            return rest[0] if len(rest) == 1 else kind
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            if _is_none(right):
                return left
            return right if _is_none(left) else kind
    return kind


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _resolved(program: Program, module: Module, kind: ast.expr) -> ast.expr:
    """What a name of a type stands for, where it is an alias."""
    if isinstance(kind, ast.Name):
        if kind.id in module.values:
            return _not_none(module.values[kind.id])
        for origin, there in program.origins(module, kind.id):
            if there in origin.values:
                return _not_none(origin.values[there])
    return kind


def _entries(node: ast.expr | None) -> dict[str, ast.expr]:
    """The entries of ``{"a": x}`` or ``dict(a=x)``."""
    match node:
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {str(key.value): value for key, value in pairs if isinstance(key, ast.Constant)}
        case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
            return {keyword.arg: keyword.value for keyword in keywords if keyword.arg}
    return {}
