"""The options of one SGLang version, looked up the way argparse does it."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import Any, Final

from sgdoctor.launch.model import Arity

SWITCH: Final = "0"
"""``Option.nargs`` of an option that takes no value."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option of the command line, or a field of the server's arguments that the command line cannot set.

    Attributes:
        flag: its first name, with dashes.
        dest: the field of ``ServerArgs`` that it sets.
        aliases: its other names.
        type: of one value: ``str``, ``int``, ``float``, ``bool`` for a switch, else the name of the engine's parser,
            such as ``json.loads`` or ``human_readable_int``.
        choices: the accepted values as they are typed; empty where any is.
        nargs: empty for exactly one value, ``0`` for a switch, else argparse's ``?``, ``*``, ``+`` or a number.
        default: what holds where the option is not given, a value of JSON; None also where the engine decides later.
        required: whether it has to be given.
        deprecated: whether the engine warns that it will go.
        replaced_by: what the engine says to use instead; empty if nothing.
        no_cli: whether the command line has no such flag.
    """

    flag: str
    dest: str
    aliases: tuple[str, ...] = ()
    type: str = "str"
    choices: tuple[str, ...] = ()
    nargs: str = ""
    default: Any = None
    required: bool = False
    deprecated: bool = False
    replaced_by: str = ""
    no_cli: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """All its names, the first one first."""
        return (self.flag, *self.aliases)

    @property
    def arity(self) -> Arity:
        """How many values it takes."""
        if self.nargs == SWITCH:
            return Arity.NONE
        return Arity.ONE if self.nargs in ("", "?", "1") else Arity.MANY


@dataclass(frozen=True, slots=True)
class Schema:
    """What one version accepts; a ``launch.model.FlagTable``.

    Attributes:
        version: the version that this is known from.
        exact: whether that is the version that was asked for; else it is the nearest known one.
        options: all of them, those without a flag included.
        names: every flag and alias of the command line.
    """

    version: str
    exact: bool
    options: tuple[Option, ...]
    names: frozenset[str] = field(init=False, repr=False, compare=False)
    _by_name: Mapping[str, Option] = field(init=False, repr=False, compare=False)
    _sorted: Sequence[str] = field(init=False, repr=False, compare=False)
    _matches: dict[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_name = {name: option for option in self.options if not option.no_cli for name in option.names}
        object.__setattr__(self, "names", frozenset(by_name))
        object.__setattr__(self, "_by_name", by_name)
        object.__setattr__(self, "_sorted", sorted(by_name))
        object.__setattr__(self, "_matches", {})

    def option(self, flag: str) -> Option | None:
        """The option of a name, an alias or an abbreviation that fits only one name; None if there is none."""
        found = self.matches(flag)
        return self._by_name[found[0]] if len(found) == 1 else None

    def matches(self, flag: str) -> tuple[str, ...]:
        """The names that argparse takes ``flag`` for: itself, else all that begin with it."""
        if flag in self._by_name:
            return (flag,)
        # Only long options may be abbreviated here: SGLang has no short ones.
        if len(flag) <= 2:
            return ()
        if flag not in self._matches:
            self._matches[flag] = self._beginning(flag)
        return self._matches[flag]

    def _beginning(self, flag: str) -> tuple[str, ...]:
        """The names that begin with ``flag``, in the order of the options."""
        first = bisect_left(self._sorted, flag)
        found = set(takewhile(lambda name: name.startswith(flag), islice(self._sorted, first, None)))
        return tuple(name for name in self._by_name if name in found) if len(found) > 1 else tuple(found)

    def arity(self, flag: str) -> Arity | None:
        """How many values ``flag`` takes; None for a flag that this version does not have."""
        option = self.option(flag)
        return None if option is None else option.arity

    def canonical(self, flag: str) -> str:
        """The first name of ``flag``: of an alias or an unambiguous abbreviation, else itself."""
        option = self.option(flag)
        return flag if option is None else option.flag
