"""What the flags of a launch ask for, by flag; aliases and abbreviations count as the flag that they stand for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from sgdoctor.launch.flag_edits import NO_FLAGS, Given, given_flags
from sgdoctor.launch.model import FlagTable, Launch
from sgdoctor.texts import Text

_ALIASES: Final = {
    "--model": "--model-path",
    "--tp": "--tp-size",
    "--tensor-parallel-size": "--tp-size",
    "--pp": "--pp-size",
    "--pipeline-parallel-size": "--pp-size",
}
"""For engines of which no table of flags is at hand."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The flags of a launch; of equal ones the last counts, as argparse has it."""

    _given: Mapping[str, Given] = field(default_factory=dict)
    _launch: Launch | None = None

    def value(self, flag: str) -> str | None:
        """Its value as typed; None where it is not given or has none."""
        given = self._given.get(flag)
        return given.values[-1] if given is not None and given.values else None

    def has(self, flag: str) -> bool:
        """Whether it is given."""
        return flag in self._given

    def where(self, flag: str) -> Text | None:
        """Its place in the command; None where it is not given."""
        given = self._given.get(flag)
        return None if given is None or self._launch is None else self._launch.place_of(given.start)

    def values(self) -> dict[str, str | None]:
        """Value by flag; of several values of one flag as one text, None for a switch."""
        return {flag: " ".join(given.values) or None for flag, given in self._given.items()}


def asked_by(launch: Launch | None, flags: FlagTable | None) -> Asked:
    """The flags of a launch; none of them without one."""
    if launch is None or not launch.argv:
        return Asked()
    table = NO_FLAGS if flags is None else flags
    given = given_flags(launch.argv, launch.flags_at, table)
    return Asked({_ALIASES.get(name := table.canonical(one.flag), name): one for one in given}, launch)
