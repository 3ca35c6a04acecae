"""The flags of one command as the engine sees them: by the field that they set, with its default where none does."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from sgdoctor.engines.sglang.flags.model import Option, Schema
from sgdoctor.engines.sglang.flags.values import read_values
from sgdoctor.launch.flag_edits import Given, given_flags
from sgdoctor.texts import Text

_NOTHING: Final[Mapping[str, Any]] = {}
# Up to 0.5.13 argparse has names of its own for these, which `ServerArgs.from_cli_args` then sets.
_FIELDS: Final = {
    "tensor_parallel_size": "tp_size",
    "pipeline_parallel_size": "pp_size",
    "data_parallel_size": "dp_size",
    "expert_parallel_size": "ep_size",
}


class Settings:
    """A command's flags, looked up by field.

    Fields keep their names while flags are renamed, so a check that asks for fields holds for many versions.

    Args:
        words: the command.
        start: index of the first word that may be a flag.
        schema: of the version that it is for.
        facts: what else is known of the start, by the names in ``docs/facts.md``.
    """

    def __init__(self, words: Sequence[str], start: int, schema: Schema, facts: Mapping[str, Any] = _NOTHING) -> None:
        self.words = words
        self.start = start
        self.schema = schema
        self.facts = facts
        self.given = given_flags(words, start, schema)
        self._by_field: dict[str, tuple[Given, Option]] = {}
        for one in self.given:
            option = schema.option(one.flag)
            if option is not None:
                # argparse takes the last of several.
                self._by_field[_field(option)] = one, option
        self._options = {_field(option): option for option in reversed(schema.options)}

    def knows(self, field: str) -> bool:
        """Whether this version has the field."""
        return field in self._options

    def has(self, *fields: str) -> bool:
        """Whether one of the fields is set by a flag."""
        return any(field in self._by_field for field in fields)

    def options_given(self) -> Iterable[tuple[str, Option]]:
        """The fields that a flag sets, with its option."""
        return ((field, option) for field, (_, option) in self._by_field.items())

    def value(self, field: str) -> Any:
        """The value of a field: of its flag, else its default; None too where the value cannot be read."""
        found = self._by_field.get(field)
        if found is None:
            option = self._options.get(field)
            return None if option is None else option.default
        given, option = found
        try:
            return read_values(option, given.values)
        except ValueError:
            return None

    def number(self, field: str) -> int | float | None:
        """The value of a field where it is a number."""
        value = self.value(field)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    def on(self, field: str) -> bool:
        """Whether a switch is on."""
        return self.value(field) is True

    def flag(self, field: str) -> str:
        """The flag of a field as the user knows it: as typed, else by its name; the field where it has none."""
        if field in self._by_field:
            return self._by_field[field][0].flag
        option = self._options.get(field)
        return field if option is None or option.no_cli else option.flag

    def where(self, *fields: str) -> Text | None:
        """The place of the first of the fields that a flag sets."""
        for field in fields:
            if field in self._by_field:
                return place_of(self._by_field[field][0].start)
        return None


def _field(option: Option) -> str:
    """The field of ``ServerArgs`` that an option sets in the end."""
    return _FIELDS.get(option.dest, option.dest)


def place_of(index: int) -> Text:
    """A word of a command, counted from 1."""
    return Text(f"word {index + 1}", f"第 {index + 1} 个词")
