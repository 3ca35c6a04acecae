"""What a launch script does when Python runs it: imports, patches, starts of the engine. Nothing is run here."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

_STARTERS: Final = frozenset({"run_server", "launch_server", "launch_server_cli", "Engine"})
_RUNNERS: Final = frozenset({"runpy.run_module", "runpy.run_path"})
_PROGRAMS: Final = ("subprocess.", "os.system", "os.exec", "os.spawn", "os.posix_spawn")
_IMPORT_ERRORS: Final = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
_ATTRIBUTE_ERRORS: Final = frozenset({"AttributeError", "Exception", "BaseException"})


@dataclass(frozen=True, slots=True)
class Function:
    """A function or lambda that a patch puts in: what callers may pass by name.

    Attributes:
        name: as defined; ``lambda`` for one without a name.
        line: where it is defined.
        parameters: names that can be passed by keyword.
        any_keyword: whether it takes ``**keywords``.
    """

    name: str
    line: int
    parameters: tuple[str, ...]
    any_keyword: bool


class Import(NamedTuple):
    """An import that is carried out; ``name`` is what is taken out of the module, None for the module itself."""

    line: int
    module: str
    name: str | None
    caught: bool


class Patch(NamedTuple):
    """An assignment to an attribute of something imported; ``function`` is None where the script does not define it."""

    line: int
    target: str
    function: Function | None
    caught: bool


class Use(NamedTuple):
    """An attribute that has to exist because it is read."""

    line: int
    target: str
    caught: bool


class Rebinding(NamedTuple):
    """A function that only takes the place of an imported name inside of the script."""

    line: int
    origin: str
    function: Function


class Start(NamedTuple):
    """A start of the engine.

    Attributes:
        line: of the call.
        entry: what is called, with its module.
        guarded: whether a process that imports the script leaves it out.
        how: ``call``; ``module`` where runpy takes the place of the script as the main module; ``program`` where
            another program is started.
    """

    line: int
    entry: str
    guarded: bool
    how: str


Action = Import | Patch | Use | Rebinding | Start


@dataclass(slots=True)
class _Place:
    """Circumstances of a statement."""

    guarded: bool = False
    import_caught: bool = False
    attribute_caught: bool = False

    def within(self, *, guarded: bool = False, imports: bool = False, attributes: bool = False) -> "_Place":
        return _Place(self.guarded or guarded, self.import_caught or imports, self.attribute_caught or attributes)


@dataclass(slots=True)
class Script:
    """A script as read.

    Attributes:
        actions: what happens at its start, in order; calls of its own functions are followed.
        unused: functions at the top that nothing in the script refers to.
    """

    actions: list[Action] = field(default_factory=list)
    unused: list[Function] = field(default_factory=list)


def read_script(tree: ast.Module) -> Script:
    """Follows a script from its first statement on."""
    reader = _Reader(tree)
    reader.block(tree.body, _Place())
    return Script(reader.actions, reader.unused(tree))


class _Reader:
    def __init__(self, tree: ast.Module) -> None:
        self.actions: list[Action] = []
        self._origins: dict[str, str] = {}
        self._functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda] = {}
        self._running: set[str] = set()
        self._loads = [
            node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        ]

    def unused(self, tree: ast.Module) -> list[Function]:
        return [
            _function(node)
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and not node.decorator_list
            and node.name not in self._loads
        ]

    def block(self, body: Sequence[ast.stmt], place: _Place) -> None:
        for statement in body:
            self._statement(statement, place)

    def _statement(self, node: ast.stmt, place: _Place) -> None:
        match node:
            case ast.Import():
                for alias in node.names:
                    self._origins[alias.asname or alias.name.partition(".")[0]] = (
                        alias.name if alias.asname else alias.name.partition(".")[0]
                    )
                    self.actions.append(Import(node.lineno, alias.name, None, place.import_caught))
            case ast.ImportFrom(module=str(module), level=0):
                for alias in node.names:
                    self._origins[alias.asname or alias.name] = f"{module}.{alias.name}"
                    self.actions.append(Import(node.lineno, module, alias.name, place.import_caught))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._functions[node.name] = node
            case ast.Assign():
                self._expression(node.value, place)
                for target in node.targets:
                    self._assign(target, node.value, place)
            case ast.If():
                self._if(node, place)
            case ast.Try():
                caught = {name for handler in node.handlers for name in _caught(handler)}
                inner = place.within(imports=bool(caught & _IMPORT_ERRORS), attributes=bool(caught & _ATTRIBUTE_ERRORS))
                self.block(node.body, inner)
                for handler in node.handlers:
                    self.block(handler.body, place)
                self.block([*node.orelse, *node.finalbody], place)
            case ast.ClassDef() | ast.ImportFrom():
                pass
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self._expression(child, place)
                    elif isinstance(child, ast.withitem):
                        self._expression(child.context_expr, place)
                self.block([child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)], place)

    def _if(self, node: ast.If, place: _Place) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        self._expression(node.test, place)
        asks = any(isinstance(part, ast.Name) and part.id == "hasattr" for part in ast.walk(node.test))
        self.block(node.body, place.within(guarded=_asks_for_main(node.test), attributes=asks))
        self.block(node.orelse, place)

    def _assign(self, target: ast.expr, value: ast.expr, place: _Place) -> None:
        function = self._function_of(value)
        if isinstance(target, ast.Attribute):
            self._patch(target.lineno, self._dotted(target), function, place)
        elif isinstance(target, ast.Name):
            dotted = self._dotted(value)
            origin = self._origins.pop(target.id, None)
            if isinstance(value, ast.Lambda):
                self._functions[target.id] = value
            if origin is not None and function is not None:
                self.actions.append(Rebinding(target.lineno, origin, function))
            elif dotted is not None:
                self._origins[target.id] = dotted

    def _patch(self, line: int, target: str | None, function: Function | None, place: _Place) -> None:
        if target is not None:
            self.actions.append(Patch(line, target, function, place.attribute_caught))

    def _expression(self, node: ast.expr, place: _Place) -> None:
        """The calls and the attributes in an expression; bodies of lambdas do not run here."""
        for part in _running_parts(node):
            if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Load):
                dotted = self._dotted(part)
                if dotted is not None:
                    self.actions.append(Use(part.lineno, dotted, place.attribute_caught))
        for part in _running_parts(node):
            if isinstance(part, ast.Call):
                self._call(part, place)

    def _call(self, node: ast.Call, place: _Place) -> None:
        called = self._dotted(node.func)
        if isinstance(node.func, ast.Name) and called is None:
            if node.func.id == "setattr" and len(node.args) == 3:
                owner, name = self._dotted(node.args[0]), _text(node.args[1])
                target = f"{owner}.{name}" if owner and name else None
                self._patch(node.lineno, target, self._function_of(node.args[2]), place)
            else:
                self._follow(node.func.id, place)
        elif called is not None:
            self._called(node, called, place)
        # `asyncio.run(main())` holds a call of its own, `atexit.register(main)` hands it over: the former is followed.

    def _called(self, node: ast.Call, called: str, place: _Place) -> None:
        words = [text for part in ast.walk(node) if isinstance(part, ast.expr) and (text := _text(part))]
        names_engine = any("sglang" in word for word in words)
        if called == "importlib.import_module" and words:
            self.actions.append(Import(node.lineno, words[0], None, place.import_caught))
        elif called in _RUNNERS and names_engine:
            how = "module" if _replaces_main(node, called) else "call"
            self.actions.append(Start(node.lineno, words[0], place.guarded, how))
        elif called.startswith(_PROGRAMS) and names_engine:
            self.actions.append(Start(node.lineno, called, place.guarded, "program"))
        elif called.startswith("sglang.") and called.rpartition(".")[2] in _STARTERS:
            self.actions.append(Start(node.lineno, called, place.guarded, "call"))

    def _follow(self, name: str, place: _Place) -> None:
        """What a function of the script does, at the place where it is called."""
        function = self._functions.get(name)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and name not in self._running:
            self._running.add(name)
            self.block(function.body, place)
            self._running.discard(name)

    def _function_of(self, value: ast.expr) -> Function | None:
        """The function of the script that ``value`` is, also as ``staticmethod(function)``."""
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and len(value.args) == 1:
            return self._function_of(value.args[0]) if value.func.id in {"staticmethod", "classmethod"} else None
        if isinstance(value, ast.Lambda):
            return _function(value)
        if isinstance(value, ast.Name) and value.id in self._functions and value.id not in self._origins:
            return _function(self._functions[value.id], value.id)
        return None

    def _dotted(self, node: ast.expr) -> str | None:
        """What an expression names, from its module on; None where it is nothing imported."""
        if isinstance(node, ast.Name):
            return self._origins.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self._dotted(node.value)
            return None if owner is None else f"{owner}.{node.attr}"
        return None


def _running_parts(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not isinstance(node, ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _running_parts(child)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str = "lambda") -> Function:
    arguments = node.args
    parameters = tuple(one.arg for one in (*arguments.args, *arguments.kwonlyargs))
    defined = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else name
    return Function(defined, node.lineno, parameters, arguments.kwarg is not None)


def _asks_for_main(test: ast.expr) -> bool:
    """`__name__ == "__main__"`, in either order, alone or as one part of an `and`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(_asks_for_main(part) for part in test.values)
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = (test.left, test.comparators[0])
    names = {side.id for side in sides if isinstance(side, ast.Name)}
    return names == {"__name__"} and "__main__" in map(_text, sides)


def _caught(handler: ast.ExceptHandler) -> set[str]:
    if handler.type is None:
        return {"BaseException"}
    return {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}


def _replaces_main(node: ast.Call, called: str) -> bool:
    """Whether runpy puts another module in the place of `__main__`, from which spawned children take what to import.

    Lib/runpy.py of Python 3.12: ``run_path`` always does, ``run_module`` with ``alter_sys``.
    """
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    if called.endswith("run_path"):
        return True
    alter = keywords.get("alter_sys") or (node.args[3] if len(node.args) > 3 else None)
    return isinstance(alter, ast.Constant) and bool(alter.value)


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
