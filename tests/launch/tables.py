"""A small table of flags for tests of launches."""

from sgdoctor.launch.model import Arity

_ARITIES = {
    "--model-path": Arity.ONE,
    "--mem-fraction-static": Arity.ONE,
    "--dtype": Arity.ONE,
    "--host": Arity.ONE,
    "--port": Arity.ONE,
    "--context-length": Arity.ONE,
    "--tensor-parallel-size": Arity.ONE,
    "--json-model-override-args": Arity.ONE,
    "--max-running-requests": Arity.ONE,
    "--disable-radix-cache": Arity.NONE,
    "--trust-remote-code": Arity.NONE,
    "--cuda-graph-bs": Arity.MANY,
}
_ALIASES = {"--tp": "--tensor-parallel-size", "--tp-size": "--tensor-parallel-size", "--model": "--model-path"}


class SmallTable:
    """Knows a dozen flags, their aliases and their unambiguous abbreviations."""

    def arity(self, flag: str) -> Arity | None:
        return _ARITIES.get(self.canonical(flag))

    def canonical(self, flag: str) -> str:
        if flag in _ARITIES or flag in _ALIASES:
            return _ALIASES.get(flag, flag)
        longer = [name for name in _ARITIES if name.startswith(flag)]
        return longer[0] if len(longer) == 1 else flag


FLAGS = SmallTable()
