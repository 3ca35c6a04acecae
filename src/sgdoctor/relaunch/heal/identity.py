"""What makes two launches the same, so that none is tried twice."""

from collections.abc import Iterable
from contextlib import suppress

from sgdoctor.fixes.model import WrittenFile
from sgdoctor.launch.flag_edits import given_flags
from sgdoctor.launch.model import FlagTable, Launch
from sgdoctor.relaunch.heal.model import Identity
from sgdoctor.relaunch.heal.moves import FRACTION


def identity_of(launch: Launch, flags: FlagTable, files: Iterable[WrittenFile] = ()) -> Identity:
    """The identity of a launch, whatever the order of its flags and variables.

    Args:
        launch: which.
        flags: of the engine's version.
        files: that were written for it.
    """
    given = given_flags(launch.argv, launch.flags_at, flags)
    # Of several equal flags argparse takes the last.
    values = {flags.canonical(one.flag): tuple(one.values) for one in given}
    behind = {index for one in given for index in range(one.start, one.end)}
    words = tuple(word for index, word in enumerate(launch.argv) if index not in behind)
    name, fraction = flags.canonical(FRACTION), None
    with suppress(ValueError, LookupError):
        fraction = float(values[name][-1])
        del values[name]
    rest = (
        words,
        frozenset(values.items()),
        frozenset(launch.env.items()),
        *(launch.image, launch.gpus, launch.ports, launch.mounts, launch.shm_bytes, launch.ipc, launch.network),
        frozenset((file.path, file.content) for file in files),
    )
    return Identity(rest, fraction)
