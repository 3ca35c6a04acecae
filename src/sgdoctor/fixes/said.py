"""What a launch says, to be held against what was planned."""

from collections.abc import Collection, Mapping

from sgdoctor.engines.base import Fact
from sgdoctor.launch.change import Change
from sgdoctor.launch.flag_edits import given_flags
from sgdoctor.launch.model import FlagTable, Launch


def said(launch: Launch, flags: FlagTable) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """The program of a launch, and the values of its flags: of several equal flags argparse takes the last."""
    given = given_flags(launch.argv, launch.flags_at, flags)
    return launch.argv[: launch.flags_at], {flags.canonical(one.flag): one.values for one in given}


def differs(launch: Launch, facts: Mapping[str, Fact], names: Collection[str], flags: FlagTable) -> bool:
    """Whether a launch gives one of some flags another value than a start had, as its log tells.

    Args:
        launch: which.
        facts: of the log, by name; those of ``args.*`` count.
        names: of the flags, canonical.
        flags: of the engine's version.
    """
    _, given = said(launch, flags)
    return any(
        name in names
        and values
        and (fact := facts.get(f"args.{_field(name)}"))
        and not same_value(values[-1], fact.value)
        for name, values in given.items()
    )


def _field(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")


def same_value(text: str, value: object) -> bool:
    """Whether a word of a command stands for a value that the engine printed."""
    try:
        return float(text) == float(str(value))
    except ValueError:
        return text == str(value)


def says(launch: Launch, change: Change) -> bool:
    """Whether a launch says what a change is about; of kinds that it does not tell, yes. Flags are in its words."""
    match change.kind:
        case "env.set":
            return launch.env.get(change.name) == change.value
        case "env.unset":
            return change.name not in launch.env
        case "file.mount":
            return any(mount.target == change.name for mount in launch.mounts)
        case "image.tag":
            return launch.image == change.value
        case "docker.ipc":
            return launch.ipc == change.value
    return True
