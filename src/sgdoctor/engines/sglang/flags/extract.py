"""The options of any SGLang, read from its sources without running them.

SGLang has defined its options in three ways so far: calls of ``parser.add_argument`` in ``ServerArgs.add_cli_args`` (up
to 0.5.13), annotations of the fields of ``ServerArgs`` (0.5.14 to 0.5.19), and the same annotations in structs of
``srt/arg_groups/fields`` (from 0.5.20). Calls remained for what is deprecated or computed, so
all three are always read.
"""

import ast
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from sgdoctor.engines.sglang.flags.annotations import Call, Field, from_annotation
from sgdoctor.engines.sglang.flags.model import SWITCH, Option
from sgdoctor.engines.sglang.flags.program import Found, Program, Scope, UnknownValueError
from sgdoctor.engines.sglang.flags.sources import Sources
from sgdoctor.errors import UserError
from sgdoctor.patterns import lazy_pattern

SERVER_ARGS: Final = "sglang.srt.server_args"
FIELDS_FOLDER: Final = "sglang/srt/arg_groups/fields"

_SWITCHES: Final = frozenset({"store_true", "store_false", "store_const", "count", "help", "version"})
_DEPRECATED: Final = lazy_pattern(r"(?i)^\W*(?:note:\s*\S+\s+is\s+)?deprecated|\b(?:is|are)\s+(?:now\s+)?deprecated\b")
_USE: Final = lazy_pattern(r"\b[Uu]se\s+[`'\"]?(--[a-z0-9-]+(?:=[a-z0-9_]+)?)")
_SAID_FIRST: Final = 160
"""A help text that calls its option deprecated does so in its first characters; later ones speak of other things."""


class Extracted(NamedTuple):
    """What was found.

    Attributes:
        version: None where the sources do not say it.
        options: in the order of the command line's help.
    """

    version: str | None
    options: tuple[Option, ...]


def extract(sources: Sources) -> Extracted:
    """The options that the sources define.

    Raises:
        UserError: there is no ``ServerArgs`` in them, or it has no options: they are damaged or of an unknown kind.
    """
    program = Program(sources)
    module = program.module(SERVER_ARGS)
    found = program.find(module, "ServerArgs") if module is not None else None
    if found is None or not isinstance(found.node, ast.ClassDef):
        raise UserError(
            "no class ServerArgs in sglang/srt/server_args.py: not the sources of an SGLang server",
            "sglang/srt/server_args.py 中没有 ServerArgs 类：这不是 SGLang 服务端的源码",
        )
    reader = _Reader(program, list(_fields(program, found)))
    options: dict[tuple[str, bool], Option] = {}
    for option in [*reader.annotated(), *reader.called(found)]:
        options.setdefault((option.flag, option.no_cli), option)
    if not options:
        raise UserError(
            "no options found in sglang/srt/server_args.py: this SGLang defines them in an unknown way",
            "在 sglang/srt/server_args.py 中没有找到任何选项：该 SGLang 以未知的方式定义选项",
        )
    return Extracted(sources.version(), tuple(options.values()))


class _Reader:
    """Reads the options of one program."""

    def __init__(self, program: Program, fields: Sequence[Field]) -> None:
        self._program = program
        self._fields = fields
        self._defaults = {field.name: (field.module, field.default) for field in fields if field.default is not None}

    def annotated(self) -> Iterator[Option]:
        """The options that annotations of fields define."""
        for field in self._fields:
            call = from_annotation(self._program, field)
            if call is not None:
                yield from self._options(call)

    def called(self, server_args: Found) -> Iterator[Option]:
        """The options that ``ServerArgs.add_cli_args`` defines by itself."""
        for statement in server_args.node.body:
            if isinstance(statement, ast.FunctionDef) and statement.name == "add_cli_args":
                for call in self._calls(statement.body, Scope(server_args.module)):
                    yield from self._options(call)

    def _calls(self, body: Sequence[ast.stmt], scope: Scope) -> Iterator[Call]:
        for statement in body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    try:
                        scope.local[name] = self._program.value(value, scope)
                    except UnknownValueError:
                        scope.local.pop(name, None)
                case ast.For(target=ast.Name(id=name), iter=iterable):
                    for item in self._items(iterable, scope):
                        scope.local[name] = item
                        yield from self._calls(statement.body, scope)
                case ast.If():
                    # Which branch runs depends on the machine; what either accepts may be accepted.
                    yield from self._calls([*statement.body, *statement.orelse], scope)
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr="add_argument")) as call):
                    names = [self._program.text(argument, scope) for argument in call.args]
                    keywords = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
                    if names and all(names):
                        yield Call(Scope(scope.module, dict(scope.local)), tuple(names), keywords)

    def _items(self, iterable: ast.expr, scope: Scope) -> list[Any]:
        try:
            found = self._program.value(iterable, scope)
        except UnknownValueError:
            return []
        return list(found) if isinstance(found, list | dict) else []

    def _options(self, call: Call) -> Iterator[Option]:
        keywords, scope = call.keywords, call.scope
        action = _last_name(keywords.get("action"))
        nargs = self._nargs(action, keywords, scope)
        help_text = _words_of(keywords["help"])[:_SAID_FIRST] if "help" in keywords else ""
        deprecated = "Deprecated" in action or bool(_DEPRECATED.search(help_text))
        successor = self._program.text(keywords["new_flag"], scope) if "new_flag" in keywords else ""
        if deprecated and not successor and (said := _USE.search(help_text)):
            successor = said[1]
        option = Option(
            flag=call.names[0],
            dest=self._program.text(keywords.get("dest"), scope) or call.names[0].lstrip("-").replace("-", "_"),
            aliases=call.names[1:],
            type="bool" if nargs == SWITCH else _last_two_names(keywords.get("type")) or "str",
            choices=self._program.texts(keywords.get("choices"), scope),
            nargs=nargs,
            default=self._default(action, keywords, scope),
            required=self._program.plain(keywords.get("required"), scope) is True,
            deprecated=deprecated,
            replaced_by=successor,
            no_cli=call.no_cli,
        )
        yield option
        if action == "BooleanOptionalAction":
            names = tuple(f"--no-{name.removeprefix('--')}" for name in option.names)
            yield Option(names[0], option.dest, names[1:], "bool", nargs=SWITCH, default=option.default)

    def _nargs(self, action: str, keywords: dict[str, ast.expr], scope: Scope) -> str:
        if action in _SWITCHES or action == "BooleanOptionalAction":
            return SWITCH
        node = keywords.get("nargs")
        if node is None and action and (found := self._program.find(scope.module, action)):
            # An action of the engine's own: its constructor says what is usual.
            node = _parameter_default(found, "nargs")
        value = self._program.plain(node, scope)
        return "" if value is None else str(value)

    def _default(self, action: str, keywords: dict[str, ast.expr], scope: Scope) -> Any:
        node = keywords.get("default")
        if node is None:
            return {"store_true": False, "DeprecatedStoreTrueAction": False, "store_false": True}.get(action)
        declared = _declared(node)
        if declared in self._defaults:
            module, node = self._defaults[declared]
            return self._program.plain(_of_field(node), Scope(module))
        return self._program.plain(_of_field(node), scope)


def _fields(program: Program, server_args: Found) -> Iterator[Field]:
    """The fields of ``ServerArgs`` itself, and those of the structs that it is put together from."""
    places = [server_args]
    for name in program.sources.below(FIELDS_FOLDER):
        module = program.module(name.removesuffix(".py").replace("/", "."))
        if module is not None:
            places += [Found(module, node) for node in module.classes.values()]
    for module, node in places:
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                yield Field(module, statement.target.id, statement.annotation, statement.value)


def _declared(node: ast.expr) -> str:
    """The field that ``ServerArgs.field`` or ``_declared_default("field")`` names; empty for another expression."""
    match node:
        case ast.Attribute(value=ast.Name(id="ServerArgs" | "cls"), attr=name):
            return name
        case ast.Call(func=ast.Name(id="_declared_default"), args=[ast.Constant(value=str() as name)]):
            return name
    return ""


def _of_field(node: ast.expr) -> ast.expr:
    """The value that ``field(default=...)`` or ``field(default_factory=...)`` stands for."""
    if not isinstance(node, ast.Call) or _last_name(node.func) != "field":
        return node
    for keyword in node.keywords:
        match keyword:
            case ast.keyword(arg="default", value=value):
                return value
            case ast.keyword(arg="default_factory", value=ast.Lambda(body=value)):
                return value
            case ast.keyword(arg="default_factory", value=ast.Name(id="list")):
                return ast.List([])
            case ast.keyword(arg="default_factory", value=ast.Name(id="dict")):
                return ast.Dict([], [])
    return node


def _parameter_default(found: Found, name: str) -> ast.expr | None:
    """The default of a parameter of a class's constructor."""
    for statement in found.node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            arguments = statement.args
            named = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
            defaults = dict(zip(reversed(named), reversed(arguments.defaults), strict=False))
            return defaults.get(name)
    return None


def _last_name(node: ast.expr | None) -> str:
    """``X`` of ``X``, ``module.X`` and ``"X"``."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _last_two_names(node: ast.expr | None) -> str:
    return "" if node is None else ".".join(ast.unparse(node).split(".")[-2:])


def _words_of(node: ast.AST) -> str:
    """The literal text in an expression, in its order."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(_words_of(child) for child in ast.iter_child_nodes(node))
