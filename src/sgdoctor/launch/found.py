"""The launch that was found in a command, with its edits, or why none can be read and edited."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.engine_words import OPTIONS_VARIABLE, EngineAt
from sgdoctor.launch.flag_edits import WordEdit, flag_edits, is_flag
from sgdoctor.launch.model import Editable, EditState, FlagTable
from sgdoctor.launch.script import Command, assignment, gap_before, resolved, resolved_words, word_splices
from sgdoctor.launch.shell import Splice, Word, quoted
from sgdoctor.texts import Text

_EXPORT: Final = re.compile(r"\bexport[ \t]+\Z")
_COMMAND_END: Final = re.compile(r"[ \t]*(?:[\r\n;&|)]|\Z)")
_YES: Final = Editable(EditState.YES)

CONFIG_NOTE: Final = Text("the file of --config may set the same flags", "--config 的文件里可能也有同样的参数")
"""As long as nobody has looked into the file."""

SEVERAL: Final = "several-launches"
"""``Refused.id`` of a text that starts the engine more than once."""

MISTAKES: Final = frozenset({"unbalanced-quotes", "shell-takes-one-word"})
"""``Refused.id`` of what cannot run at all; the others only cannot be read or edited here."""


@dataclass(frozen=True, slots=True)
class Refused:
    """No launch that can be read and edited.

    Attributes:
        why: the reason, for the user.
        id: of the mistake, in kebab case; empty where the launch is only out of sight.
    """

    why: Text
    id: str = ""

    @property
    def editable(self) -> Editable:
        """That it is not."""
        return Editable(EditState.NO, self.why)


@dataclass(frozen=True, slots=True)
class Found:
    """One command that starts an engine.

    Attributes:
        command: the words.
        place: of the engine in them.
        source: the text that the words have their places in; empty where they are plain words.
        variables: what is known of the variables in them.
        exported: ``NAME=value`` words of the same text that the command inherits.
        shell: index of the shell's script in the whole command, if ``source`` is one.
        script: the word of that script.
        outer: words of the whole command then.
    """

    command: Command
    place: EngineAt
    source: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    exported: tuple[Word, ...] = ()
    shell: int | None = None
    script: Word | None = None
    outer: tuple[Word, ...] = ()

    @property
    def whole(self) -> tuple[str, ...]:
        """The whole command, with wrappers and shell."""
        return tuple(resolved_words(self.outer or self.command.words, self.variables))

    @property
    def argv(self) -> tuple[str, ...]:
        """Its words, program first; variables that have one literal value are filled in."""
        return tuple(resolved_words(self.command.words[self.place.program :], self.variables))

    @property
    def flags_at(self) -> int:
        """Index in ``argv`` of the first word behind program, module and sub-command."""
        return len(resolved_words(self.command.words[self.place.program : self.place.flags_at], self.variables))

    @property
    def assigned(self) -> dict[str, Word]:
        """The words with which the command itself sets variables for the engine."""
        wrapped = _env_words(self.command.words[: self.place.program])
        every = [*self.exported, *self.command.assignments, *wrapped]
        return {pair[0]: word for word in every if (pair := assignment(word))}

    @property
    def env(self) -> dict[str, str | None]:
        """The variables that the command itself sets for the engine."""
        return {name: resolved(word, self.variables).partition("=")[2] for name, word in self.assigned.items()}

    @property
    def editable(self) -> Editable:
        """That it is, and what is to be known about it."""
        notes = _notes(self.command.words[self.place.flags_at :])
        if not notes:
            return _YES
        return Editable(EditState.NOTE, Text("; ".join(n.en for n in notes), "；".join(n.zh for n in notes)))

    def word_edits(self, changes: Iterable[Change], flags: FlagTable) -> list[WordEdit]:
        """The changes of flags, and of variables that the command sets, as edits of ``command.words``."""
        changes = list(changes)
        edits = flag_edits(_masked(self.command.words), self.place.flags_at, changes, flags)
        return sorted([*self._env_edits(changes), *edits])

    def splices(self, changes: Iterable[Change], flags: FlagTable) -> list[Splice]:
        """The same as splices of ``source``, and of what is assigned elsewhere in it."""
        changes = list(changes)
        gap = self._gap()
        edits = self.word_edits(changes, flags)
        splices = word_splices(self.source, self.command.words, edits, self.command.end, gap)
        outside = {name: word for name, word in self.assigned.items() if word not in self.command.words}
        for change in changes:
            word = outside.get(change.name) if change.kind in ("env.set", "env.unset") else None
            if word is not None:
                splices.append(_assignment_splice(self.source, word, change))
        return splices

    def _env_edits(self, changes: Iterable[Change]) -> list[WordEdit]:
        """Edits of ``env NAME=value`` words in front of the program."""
        edits = []
        for change in changes:
            word = self.assigned.get(change.name) if change.kind in ("env.set", "env.unset") else None
            if word is not None and word in self.command.words:
                at = self.command.words.index(word)
                new = () if change.kind == "env.unset" else (f"{change.name}={change.value or ''}",)
                edits.append(WordEdit(at, at + 1, new))
        return edits

    def _gap(self) -> str:
        """What stands between the flags, so that a new one is laid out like the others."""
        last = next((word for word in reversed(self.command.words[self.place.flags_at :]) if is_flag(word.text)), None)
        return (gap_before(self.source, last) if last else "") or " "


def refusal(why: Text, changes: Iterable[Change]) -> UserError:
    """That a launch cannot be edited, with the flags that the user can type himself."""
    typed = [
        change.name + ({"flag.set": " ", "env.set": "="}[change.kind] + quoted(change.value) if change.value else "")
        for change in changes
        if change.kind in ("flag.set", "env.set")
    ]
    if not typed:
        return UserError(f"this launch cannot be edited: {why.en}", f"无法修改这个启动命令：{why.zh}")
    flags = " ".join(typed)
    return UserError(
        f"this launch cannot be edited: {why.en}; put this in by hand: {flags}",
        f"无法修改这个启动命令：{why.zh}；请手动加上：{flags}",
    )


def _env_words(wrappers: Iterable[Word]) -> Iterator[Word]:
    """The ``NAME=value`` words of ``env`` and ``sudo`` in front of a program."""
    follows = False
    for word in wrappers:
        if word.text.rpartition("/")[2] in ("env", "sudo"):
            follows = True
        elif follows and assignment(word):
            yield word
        else:
            follows = follows and word.text.startswith("-")


def _masked(found: Sequence[Word]) -> list[str]:
    """The texts of words, where what stands for several flags, and blank ones, look like flags: they are no values."""
    return [f"--{word.text}" if _no_value(word) else word.text for word in found]


def _no_value(word: Word) -> bool:
    return not word.text.strip() or (word.expands and OPTIONS_VARIABLE.fullmatch(word.raw) is not None)


def _notes(arguments: Sequence[Word]) -> list[Text]:
    several = [word.raw for word in arguments if word.expands and _no_value(word)]
    values = [word.raw for word in arguments if word.expands and not _no_value(word)]
    notes = []
    if several:
        raw = ", ".join(several)
        notes.append(
            Text(f"{raw} may set the same flags; the last one counts", f"{raw} 里可能也有同样的参数，以最后一个为准")
        )
    if values:
        raw = ", ".join(values)
        notes.append(
            Text(
                f"a change of what comes from a variable ({raw}) writes the plain value in its place",
                f"修改来自变量的值（{raw}）时会直接写成固定值",
            )
        )
    if any(word.text.partition("=")[0] == "--config" for word in arguments):
        notes.append(CONFIG_NOTE)
    return notes


def _assignment_splice(source: str, word: Word, change: Change) -> Splice:
    if change.kind == "env.set":
        return Splice(word.start, word.end, quoted(f"{change.name}={change.value or ''}", word.raw))
    alone = _EXPORT.search(source, 0, word.start)
    if alone and _COMMAND_END.match(source, word.end):
        # `export` without a name would print every variable.
        return Splice(alone.start(), word.end, f"unset {change.name}")
    end = word.end
    while end < len(source) and source[end] in " \t":
        end += 1
    return Splice(word.start, end, "")
