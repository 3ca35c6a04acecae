"""Launches as text: commands to copy, and what differs between two of them."""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from difflib import unified_diff as difflib_unified_diff
from itertools import pairwise
from typing import Final, NamedTuple

from sgdoctor.launch.docker_values import CDI_PREFIX, gpus_text, port_text, size_text
from sgdoctor.launch.flag_edits import is_flag
from sgdoctor.launch.model import Gpus, Launch, Mount
from sgdoctor.launch.shell import quoted

_INDENT: Final = "  "
_NO_NEWLINE: Final = "\\ No newline at end of file\n"


class WordChange(NamedTuple):
    """One place at which two commands differ.

    Attributes:
        flag: whose value it is; empty where a flag itself, or a word that belongs to none, changed.
        removed: words of the old command.
        added: words of the new command.
    """

    flag: str
    removed: tuple[str, ...]
    added: tuple[str, ...]


def command_line(argv: Sequence[str], flags_at: int | None = None) -> str:
    """A command to be typed into a shell.

    Args:
        argv: its words.
        flags_at: index of the first flag: each flag then stands on a line of its own. None for all on one line.
    """
    if flags_at is None:
        return _quoted(argv)
    return _on_lines([argv[:flags_at], *flag_groups(argv[flags_at:])], 1)


def flag_groups(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Words of a command, each flag together with its values; the words before the first flag come first."""
    starts = [index for index, word in enumerate(words) if index == 0 or is_flag(word)]
    return [tuple(words[start:end]) for start, end in pairwise([*starts, len(words)])]


def docker_run(
    launch: Launch, *, options: Sequence[tuple[str, ...]] = (), inherited: int = 0, program: str = "docker"
) -> str:
    """The ``docker run`` command that starts this launch, one option a line.

    Args:
        launch: of any origin; one without an image gets a place for its name.
        options: more of them, each with its value, behind those that the launch knows of.
        inherited: how many words at the start of ``launch.command`` come from the image, and are not written.
        program: ``docker``, or ``podman``, which takes the same options.
    """
    command = launch.command or launch.argv
    written = command[inherited:]
    given = [*_options(launch), *options]
    if written and launch.entrypoint > inherited:
        # Only the first word of an entrypoint can be given this way.
        given.append(("--entrypoint", written[0]))
        written = written[1:]
    lines = [(program, "run", "-d"), *given, (launch.image or "IMAGE",)]
    return _on_lines([*lines, *_command_groups(launch, written)], 1)


def _options(launch: Launch) -> list[tuple[str, ...]]:
    options: list[tuple[str, ...]] = [("--name", launch.name)] if launch.name else []
    options += gpu_options(launch.gpus or Gpus())
    if launch.shm_bytes is not None:
        options.append(("--shm-size", size_text(launch.shm_bytes)))
    options += [
        (option, value)
        for option, value in (("--ipc", launch.ipc), ("--network", launch.network), ("--restart", launch.restart))
        if value is not None
    ]
    if launch.init:
        options.append(("--init",))
    options += [("-p", port_text(port)) for port in launch.ports]
    options += [volume_option(mount) for mount in launch.mounts]
    options += [("-e", name if value is None else f"{name}={value}") for name, value in launch.env.items()]
    return options


def gpu_options(gpus: Gpus) -> list[tuple[str, ...]]:
    """As ``docker run`` takes them. With a runtime and no device request, the variables of the launch name the GPUs."""
    options: list[tuple[str, ...]] = [("--runtime", gpus.runtime)] if gpus.runtime else []
    if gpus.driver == "cdi":
        ids = ("all",) if gpus.count == -1 else gpus.device_ids
        return [*options, *(("--device", f"{CDI_PREFIX}{one}") for one in ids)]
    text = gpus_text(gpus)
    if text is not None and not gpus.from_env:
        options.append(("--gpus", text))
    return options


def volume_option(mount: Mount) -> tuple[str, str]:
    """As ``docker run -v`` or ``--tmpfs`` takes it."""
    if mount.kind == "tmpfs":
        return ("--tmpfs", mount.target)
    source = f"{mount.source}:" if mount.source else ""
    # An anonymous volume has no place for options.
    return ("-v", f"{source}{mount.target}{':ro' if mount.read_only and source else ''}")


def _command_groups(launch: Launch, written: Sequence[str]) -> list[tuple[str, ...]]:
    """The engine's program on one line and each of its flags on the next; anything else, such as a script, on one."""
    start = len(written) - len(launch.argv)
    if start < 0 or tuple(written[start:]) != launch.argv or not launch.flags_at:
        return [tuple(written)] if written else []
    border = start + launch.flags_at
    return [tuple(written[:border]), *flag_groups(written[border:])]


def unified_diff(old: str, new: str, name: str) -> str:
    """What ``patch -p1`` takes to make ``new`` out of ``old``; empty if they are the same.

    Args:
        old: a whole text.
        new: a whole text.
        name: of the file that holds it.
    """
    # A blank in a file's name ends it, unless a tab follows (GNU diffutils, "Detailed unified").
    path = name.lstrip("/")
    tab = "\t" if " " in path else ""
    lines = difflib_unified_diff(_lines(old), _lines(new), f"a/{path}{tab}", f"b/{path}{tab}")
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}" for line in lines)


def _lines(text: str) -> list[str]:
    # Not `splitlines`: it also splits at characters that stand inside a line for `patch`.
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def word_changes(old: Sequence[str], new: Sequence[str]) -> tuple[WordChange, ...]:
    """Where two commands differ, word by word, in their order.

    Inside a word that is a shell's script it is the script's own words that are compared.
    """
    changes: list[WordChange] = []
    for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        removed, added = tuple(old[start:end]), tuple(new[new_start:new_end])
        if tag == "equal":
            continue
        if len(removed) == len(added) == 1 and len(removed[0].split()) > 1:
            changes += word_changes(removed[0].split(), added[0].split())
        else:
            changes.append(WordChange(_flag_before(old, start, (*removed, *added)), removed, added))
    return tuple(changes)


def _flag_before(words: Sequence[str], start: int, changed: Iterable[str]) -> str:
    if start and is_flag(words[start - 1]) and not any(is_flag(word) for word in changed):
        return words[start - 1]
    return ""


def word_diff(old: Sequence[str], new: Sequence[str]) -> str:
    """The same on one line: ``--mem-fraction-static [-0.80-] {+0.92+}``, as ``git diff --word-diff`` writes it."""
    parts = []
    for change in word_changes(old, new):
        removed = f"[-{_quoted(change.removed)}-]" if change.removed else ""
        added = f"{{+{_quoted(change.added)}+}}" if change.added else ""
        parts.append(" ".join(part for part in (change.flag, removed, added) if part))
    return "  ".join(parts)


def _on_lines(groups: Iterable[Sequence[str]], depth: int) -> str:
    return f" \\\n{_INDENT * depth}".join(_quoted(group) for group in groups if group)


def _quoted(words: Iterable[str]) -> str:
    return " ".join(quoted(word) for word in words)
