"""The command behind a `server_args=` line of SGLang."""

from collections.abc import Mapping
from typing import Any, Final

from sgdoctor.engines.sglang.flags.model import Option
from sgdoctor.engines.sglang.flags.schemas import schema
from sgdoctor.launch.server_args import Field, ServerArgs, open_server_args

_NUMBERS: Final = frozenset({"int", "float", "human_readable_int"})
_PROGRAM: Final = ("python3", "-m", "sglang.launch_server")
# What `ServerArgs.__post_init__` does where nothing was given (srt/server_args.py): copies of another field,
_COPIES: Final = {"tokenizer_path": "model_path", "served_model_name": "model_path"}
# numbers drawn anew at each start,
_DRAWN: Final = frozenset({"random_seed"})
# and values that it always puts in the place of None or "auto" on one CUDA card (seen in 59 logs of 0.5.15).
_FILLED: Final[Mapping[str, Any]] = {
    "device": "cuda",
    "grammar_backend": "xgrammar",
    "load_balance_method": "round_robin",
    "speculative_moe_runner_backend": "auto",
    "expert_distribution_recorder_buffer_size": 1000,
}


def logged_launch(arguments: Mapping[str, Any], version: str | None = None, name: str = "") -> ServerArgs:
    """The command that starts the engine with the arguments that it printed.

    Args:
        arguments: field and value of ``server_args=``: the facts ``args.*`` without their prefix.
        version: of the engine; None if it is not known.
        name: of the log.
    """
    flags = schema(version)
    numbers = {option.dest for option in flags.options if option.type in _NUMBERS}
    given = {
        field: value
        for field, value in arguments.items()
        if not _filled_in(field, value, arguments) and not (field in numbers and _is_no_number(value))
    }
    return open_server_args(given, _fields(flags.options), flags, _PROGRAM, name)


def _is_no_number(value: Any) -> bool:
    """Whether a text stands where the engine prints a number: a log is text of others."""
    items = value if isinstance(value, list | tuple) else (value,)
    return any(isinstance(item, str) and item != "***" for item in items)


def _filled_in(field: str, value: Any, arguments: Mapping[str, Any]) -> bool:
    if field in _DRAWN or (field in _FILLED and value == _FILLED[field]):
        return True
    return field in _COPIES and value == arguments.get(_COPIES[field])


def _fields(options: tuple[Option, ...]) -> dict[str, Field]:
    """Old names of a flag set the same field; the one that is called like it counts."""
    fields: dict[str, Field] = {}
    for option in options:
        if option.no_cli or option.flag.startswith("--no-"):
            continue
        if option.dest not in fields or f"--{option.dest.replace('_', '-')}" in option.names:
            fields[option.dest] = Field(option.flag, option.default)
    return fields
