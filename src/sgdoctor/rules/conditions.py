"""The conditions of rules: a small closed language over facts and captures.

simpleeval walks the parsed expression; nothing here can call, import or reach into an object. The language is made
smaller than simpleeval's: dotted names are names (``args.tp_size``), numbers have no power and strings no arithmetic,
so that no condition can take long.
"""

import ast
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

MAX_LENGTH: Final = 500

FUNCTIONS: Final = ("min", "max", "abs", "round", "len", "lower", "v")


class ConditionError(ValueError):
    """A text that is no condition; the message says what is wrong with it."""


def holds(condition: str, names: Mapping[str, Any]) -> bool:
    """Whether a condition is true.

    Args:
        condition: an expression of ``docs/rule-format.md``; an empty one is true.
        names: values by name, dots included; a name that is not there is None.

    Returns:
        False also where the condition trips over a value: a comparison with None, a text in place of a number.

    Raises:
        ConditionError: the condition is not of the language.
    """
    return not condition or bool(value(condition, names))


def value(expression: str, names: Mapping[str, Any]) -> Any:
    """The value of an expression; None where it trips over a value.

    Raises:
        ConditionError: the expression is not of the language.
    """
    tree = _parsed(expression)
    try:
        return _evaluator()(names).eval(expression, previously_parsed=tree)
    except (TypeError, ValueError, ArithmeticError, AttributeError, RecursionError):
        return None


def names_in(expression: str) -> frozenset[str]:
    """The names that an expression asks for, dots included.

    Raises:
        ConditionError: the expression is not of the language.
    """
    return frozenset(_dotted(node) for node in _walk(_parsed(expression)) if _is_name(node))


_ALLOWED: Final = (
    *(ast.Expr, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.IfExp),
    *(ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Is, ast.IsNot),
    *(ast.Call, ast.Name, ast.Attribute, ast.Constant, ast.Tuple, ast.List, ast.Load),
)


@lru_cache(maxsize=1024)
def _parsed(expression: str) -> ast.Expr:
    if len(expression) > MAX_LENGTH:
        raise ConditionError(f"longer than {MAX_LENGTH} characters")
    try:
        body = ast.parse(expression.strip()).body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ConditionError(f"not an expression ({reason})") from error
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        raise ConditionError("not one expression")
    for node in _walk(body[0]):
        if not isinstance(node, _ALLOWED):
            raise ConditionError(f"{type(node).__name__} is not part of the language")
        if isinstance(node, ast.Call) and not (
            isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS and not node.keywords
        ):
            raise ConditionError(f"only the functions {', '.join(FUNCTIONS)} can be called")
        if isinstance(node, ast.Constant) and not isinstance(node.value, str | int | float | None):
            raise ConditionError(f"{node.value!r} is not a number, a text or None")
        if isinstance(node, ast.Attribute) and not _is_name(node):
            raise ConditionError("a dot is only part of a name, such as args.tp_size")
    return body[0]


def _is_name(node: ast.AST) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _dotted(node: ast.AST) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    assert isinstance(node, ast.Name)
    return ".".join((node.id, *reversed(parts)))


def _walk(tree: ast.AST) -> list[ast.AST]:
    """Every node, but of a dotted name only its outermost and of a call not the function's name."""
    nodes: list[ast.AST] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        if isinstance(node, ast.Call):
            waiting += node.args
        elif not (isinstance(node, ast.Attribute) and _is_name(node)):
            waiting += ast.iter_child_nodes(node)
    return nodes


def _number(operate: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def checked(left: Any, right: Any) -> Any:
        if not isinstance(left, int | float) or not isinstance(right, int | float):
            raise TypeError("arithmetic is for numbers")
        return operate(left, right)

    return checked


def _lower(text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError("lower() is for texts")
    return text.lower()


def _version(text: Any) -> Any:
    from packaging.version import Version  # noqa: PLC0415 - few conditions compare versions

    if not isinstance(text, str):
        raise TypeError("v() is for texts")
    return Version(text)


@lru_cache(maxsize=1)
def _evaluator() -> Callable[[Mapping[str, Any]], Any]:
    import operator  # noqa: PLC0415
    import warnings  # noqa: PLC0415

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import simpleeval  # noqa: PLC0415 - and `ast` above are loaded for rules that have a condition

    operators = {
        kind: operate for kind, operate in simpleeval.DEFAULT_OPERATORS.items() if issubclass(kind, _ALLOWED)
    } | {
        ast.Add: _number(operator.add),
        ast.Sub: _number(operator.sub),
        ast.Mult: _number(operator.mul),
        ast.Mod: _number(operator.mod),
    }
    functions = {
        "min": min,
        "max": max,
        "abs": abs,
        "round": round,
        "len": len,
        "lower": _lower,
        "v": _version,
    }

    class Evaluator(simpleeval.SimpleEval):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self, names: Mapping[str, Any]) -> None:
            super().__init__(operators=operators, functions=functions, names=names)
            self.nodes |= {
                ast.Name: self._eval_dotted,
                ast.Attribute: self._eval_dotted,
                ast.Tuple: self._eval_several,
                ast.List: self._eval_several,
            }

        def _eval_dotted(self, node: ast.AST) -> Any:
            return self.names.get(_dotted(node))

        def _eval_several(self, node: ast.Tuple | ast.List) -> tuple[Any, ...]:
            return tuple(self._eval(element) for element in node.elts)

    return Evaluator
