"""The command line as the engine's argparse takes it, by the flag schema of a version."""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

from sgdoctor.engines.sglang.flags.model import SWITCH, Option, Schema
from sgdoctor.engines.sglang.flags.schemas import schema
from sgdoctor.engines.sglang.flags.values import JSON_TEXTS, human_readable_int

# `sglang serve` is the program of every message, whatever started it (0.5.15).
PROGRAM: Final = "sglang serve"
NOTICE: Final = (
    "\033[1;33m'{flag}' is deprecated and will be removed in a future release. Use '{instead}' instead.\033[0m\n"
)
NO_FOLDER: Final = Path("/nonexistent")


class RefusedError(Exception):
    """The arguments are refused, or only help was asked for.

    Attributes:
        usage: what argparse prints about all flags.
        message: the last line; empty for help.
    """

    def __init__(self, usage: str, message: str) -> None:
        super().__init__(message)
        self.usage = usage
        self.message = message


@dataclass(frozen=True, slots=True)
class Arguments:
    """The flags of one start.

    Attributes:
        words: of the command, behind the name of the program.
        version: whose flags these are.
        schema: the flags of that version.
        given: value by field of `ServerArgs`, of the flags that were given.
        notices: about deprecated flags, in the order of the command.
    """

    words: tuple[str, ...]
    version: str
    schema: Schema
    given: Mapping[str, Any]
    notices: tuple[str, ...] = ()
    _defaults: Mapping[str, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_defaults", {one.dest: one.default for one in reversed(self.schema.options)})

    def value(self, name: str) -> Any:
        """The value of a field: given, else the default; None for a field that the version does not have."""
        return self.given.get(name, self._defaults.get(name))

    def has(self, name: str) -> bool:
        """Whether a flag sets this field."""
        return name in self.given

    @property
    def fields(self) -> dict[str, Any]:
        """All fields with their values, in the order of the schema."""
        names = dict.fromkeys(one.dest for one in self.schema.options)
        return {name: self.value(name) for name in names}


def parse(words: Sequence[str], version: str) -> Arguments:
    """Read a command line.

    Args:
        words: behind the name of the program.
        version: of SGLang.

    Raises:
        RefusedError: argparse would end the program.
    """
    known = schema(version, added=NO_FOLDER)
    notices: list[str] = []
    parser = _Parser(prog=PROGRAM, argument_default=argparse.SUPPRESS)
    for option in known.options:
        if not option.no_cli:
            parser.add_argument(*option.names, **_keywords(option, notices))
    return Arguments(tuple(words), version, known, vars(parser.parse_args(list(words))), tuple(notices))


class _Parser(argparse.ArgumentParser):
    """Raises what argparse prints, and quotes choices as Python 3.12 does, with which the engine runs."""

    def error(self, message: str) -> NoReturn:
        raise RefusedError(self.format_usage(), f"{self.prog}: error: {message}\n")

    def print_help(self, file: Any = None) -> NoReturn:
        raise RefusedError(self.format_help(), "")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and str(value) not in action.choices:
            among = ", ".join(repr(choice) for choice in action.choices)
            raise argparse.ArgumentError(action, f"invalid choice: {value!r} (choose from {among})")


def _keywords(option: Option, notices: list[str]) -> dict[str, Any]:
    keywords: dict[str, Any] = {"dest": option.dest, "required": option.required}
    if option.nargs == SWITCH:
        keywords |= {"action": "store_const", "const": _meaning(option)}
    else:
        keywords["type"] = _reader(option)
        if option.choices:
            keywords["choices"] = option.choices
        if option.nargs:
            keywords["nargs"] = int(option.nargs) if option.nargs.isdigit() else option.nargs
    if option.deprecated:
        keywords["action"] = _deprecated(option, notices)
    return keywords


def _meaning(option: Option) -> Any:
    """What a switch sets its field to: a deprecated one stands for a value of another flag."""
    _, _, value = option.replaced_by.partition("=")
    if value and option.dest.replace("_", "-") != option.flag.lstrip("-"):
        return value
    return not option.flag.startswith("--no-")


def _deprecated(option: Option, notices: list[str]) -> type[argparse.Action]:
    switch = option.nargs == SWITCH

    class Deprecated(argparse.Action):
        def __init__(self, *, const: Any = None, nargs: Any = None, **keywords: Any) -> None:
            super().__init__(const=const, nargs=0 if switch else nargs, **keywords)

        def __call__(
            self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, name: str | None = None
        ) -> None:
            if option.replaced_by:
                notices.append(NOTICE.format(flag=name, instead=option.replaced_by))
            setattr(namespace, self.dest, self.const if switch else values)

    return Deprecated


def _reader(option: Option) -> Callable[[str], Any]:
    """Converts one value; its name stands in the message about a value that it cannot read."""
    readers: Mapping[str, Callable[[str], Any]] = {
        "int": int,
        "float": float,
        "human_readable_int": human_readable_int,
        "json.loads": json.loads,
        "json_list_type": json_list_type,
        "nullable_str": nullable_str,
        "parse_cuda_graph_config_arg": parse_cuda_graph_config_arg,
    }
    return str if option.flag in JSON_TEXTS else readers.get(option.type, str)


def json_list_type(text: str) -> Any:
    """A list in JSON."""
    return json.loads(text)


def parse_cuda_graph_config_arg(text: str) -> Any:
    """The configuration of the graphs in JSON."""
    return json.loads(text)


def nullable_str(text: str) -> str | None:
    """A text, or nothing."""
    return None if text in ("", "None") else text
