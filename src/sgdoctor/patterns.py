"""Regular expressions that are compiled when a log first needs them.

Compiling the hundred patterns of this package takes 15 ms (Python 3.11), a tenth of a whole `sgdoctor diagnose`; most
logs need a third of them.
"""

import re
from typing import Any, Final, cast

_METHODS: Final = ("search", "match", "fullmatch", "finditer", "findall", "sub", "split")


class _Lazy:
    """Stands for a compiled pattern until its first use; from then on its methods are those of the compiled one."""

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._source, self._flags)
        self.__dict__.update({method: getattr(compiled, method) for method in _METHODS})
        return getattr(compiled, name)


def lazy_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """As ``re.compile(source, flags)``, but compiled at the first use."""
    return cast("re.Pattern[str]", _Lazy(source, flags))
