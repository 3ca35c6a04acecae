"""The engine's launch in a command: directly, behind wrappers, or in the script of a shell; read and edited."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.engine_words import (
    MENTION,
    OPTIONS_VARIABLE,
    SCRIPTS,
    TALKING,
    EngineAt,
    engine_at,
    shell_script_at,
)
from sgdoctor.launch.flag_edits import WordEdit, flag_edits, is_flag, with_edits
from sgdoctor.launch.model import Editable, EditState, FlagTable
from sgdoctor.launch.script import (
    Command,
    assignment,
    commands,
    declared,
    gap_before,
    literal_variables,
    resolved,
    resolved_words,
    word_splices,
)
from sgdoctor.launch.shell import Splice, Word, line_of, quoted, spliced, words
from sgdoctor.texts import Text

_EXPORT: Final = re.compile(r"\bexport[ \t]+\Z")
_COMMAND_END: Final = re.compile(r"[ \t]*(?:[\r\n;&|)]|\Z)")
_YES: Final = Editable(EditState.YES)

CONFIG_NOTE: Final = Text("the file of --config may set the same flags", "--config 的文件里可能也有同样的参数")
"""As long as nobody has looked into the file."""
_TELLING: Final = frozenset({"--model-path", "--model", "--port"})

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


def find_engine(command: Sequence[str]) -> Found | Refused:
    """The launch in a container's entrypoint and command, which no shell reads."""
    found = engine_in(Command(tuple(Word(text, 0, 0, text) for text in command)))
    return found or nothing_in(command)


def edit(command: Sequence[str], changes: Iterable[Change], flags: FlagTable) -> list[str]:
    """Entrypoint and command with changes of flags, and of variables that the command itself sets, made.

    Raises:
        UserError: the launch cannot be edited; it says why and which flags to type.
    """
    changes = list(changes)
    found = find_engine(command)
    if isinstance(found, Refused):
        raise refusal(found.why, changes)
    if found.shell is None:
        return with_edits(command, found.word_edits(changes, flags))
    result = list(command)
    result[found.shell] = spliced(found.source, found.splices(changes, flags))
    return result


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


def engine_in(
    command: Command, source: str = "", variables: Mapping[str, str] | None = None, exported: Sequence[Word] = ()
) -> Found | Refused | None:
    """The launch in one command; None where it is no launch.

    Args:
        command: which.
        source: the text that it stands in; empty for plain words.
        variables: that are known where it stands.
        exported: ``NAME=value`` words that it inherits.
    """
    variables = variables or {}
    texts = command.texts
    if place := engine_at(texts):
        return Found(command, place, source, variables, tuple(exported))
    shell = shell_script_at(texts)
    if shell is None:
        return None
    script = command.words[shell]
    behind = engine_at(texts[shell + 1 :])
    if behind and ("$@" in script.text or "$*" in script.text):
        moved = EngineAt(behind.program + shell + 1, behind.flags_at + shell + 1, behind.engine)
        return Found(command, moved, source, variables, tuple(exported))
    if behind or engine_at([script.text, *texts[shell + 1 :]]):
        return _SHELL_TAKES_ONE_WORD
    inner = engine_in_script(script.text, variables if script.expands else {})
    if isinstance(inner, Found):
        return _SHELL_IN_SHELL if inner.script else replace(inner, shell=shell, script=script, outer=command.words)
    return inner


def engine_in_script(source: str, variables: Mapping[str, str] | None = None) -> Found | Refused:
    """The one launch in a shell text.

    Args:
        source: the text.
        variables: that are known where it is read.
    """
    try:
        tokens = words(source)
    except UserError as error:
        return Refused(error.message, "unbalanced-quotes")
    return engine_in_tokens(source, tokens, variables)


def engine_in_tokens(
    source: str, tokens: Sequence[Word], variables: Mapping[str, str] | None = None
) -> Found | Refused:
    """The one launch in a shell text of which the words are known.

    Args:
        source: the text.
        tokens: its words and operators.
        variables: that are known where it is read.
    """
    every = commands(tokens)
    values = {**(variables or {}), **literal_variables(every)}
    found: list[tuple[Command, Found | Refused]] = []
    exported: list[Word] = []
    for command in every:
        launch = engine_in(command, source, values, exported)
        if launch is not None and not (isinstance(launch, Refused) and not launch.id):
            found.append((command, launch))
        if command.words and command.words[0].text == "export":
            exported += declared(command)
    if hidden := _hidden(source, tokens, every):
        return hidden
    if not found:
        scripts = [word.text for command in every for word in command.words if word.text.endswith(SCRIPTS)]
        return nothing_in(scripts) if scripts else _NO_LAUNCH
    if len(found) > 1:
        named = [(_told(command, launch), line_of(source, command.words[0].start)) for command, launch in found]
        return Refused(
            Text(
                "the engine is started more than once: "
                + ", ".join(f"`{told}` (line {line})" for told, line in named)
                + "; give one of them alone",
                "引擎被启动了不止一次："
                + "、".join(f"`{told}`（第 {line} 行）" for told, line in named)
                + "；请只给出其中一个",
            ),
            SEVERAL,
        )
    command, launch = found[0]
    if command.in_loop:
        return _refused_at(source, command.words[0].start, "launch-in-loop", "is started in a loop", "在循环里启动")
    return launch


def nothing_in(texts: Sequence[str]) -> Refused:
    """That a command starts no engine in plain sight."""
    program = next((text for text in texts if text.endswith(SCRIPTS)), texts[0] if texts else "")
    if not program or is_flag(program):
        return Refused(Text("what the image itself runs is not known from here", "镜像自带的启动命令在这里无法得知"))
    return Refused(
        Text(
            f"the engine is started inside {program}, which cannot be seen from here",
            f"引擎在 {program} 内部启动，这里看不到其中的命令",
        )
    )


def _told(command: Command, launch: Found | Refused) -> str:
    """What tells one launch from another: its program, the model and the port."""
    if isinstance(launch, Refused):
        return " ".join(command.texts[:2])
    argv = launch.argv
    told = list(argv[: launch.flags_at])
    for index, word in enumerate(argv[launch.flags_at :], launch.flags_at):
        name, equals, _ = word.partition("=")
        if name in _TELLING:
            told += argv[index : index + (1 if equals else 2)]
    return " ".join(told)


_NO_LAUNCH: Final = Refused(Text("no command in it starts the engine", "其中没有启动引擎的命令"))
_SHELL_TAKES_ONE_WORD: Final = Refused(
    Text(
        "sh -c takes one word as its script, and the words behind it are lost; put the whole command in quotes",
        "sh -c 只把后面的一个词当作脚本，其余的词会丢失；请用引号把整条命令括起来",
    ),
    "shell-takes-one-word",
)
_SHELL_IN_SHELL: Final = Refused(
    Text("the engine is started by a shell inside another shell", "引擎由 shell 里的另一个 shell 启动"),
    "shell-in-shell",
)


def _hidden(source: str, tokens: Iterable[Word], every: Iterable[Command]) -> Refused | None:
    """A launch where words cannot be edited: in a here-document, in ``eval``, in ``$(...)``."""
    for token in tokens:
        if token.operator and token.text == "\n" and (mention := MENTION.search(token.raw)):
            return _refused_at(
                source,
                token.start + mention.start(),
                "launch-in-here-document",
                "stands in a here-document",
                "写在 here-document 里",
            )
        if any(_starts_engine(piece.text[2:-1]) for piece in token.pieces if piece.text[:2] == "$("):
            return _refused_at(
                source, token.start, "launch-in-substitution", "is started inside $(...)", "在 $(...) 里启动"
            )
    for command in every:
        program = command.words[0].text if command.words else ""
        quoted_in = next((word for word in command.words[1:] if _is_command(word)), None)
        if quoted_in is not None and program != "eval" and engine_in(command) is None and program not in TALKING:
            return _refused_at(
                source,
                quoted_in.start,
                "launch-in-word",
                f"is started by {program}, in quotes",
                f"写在 {program} 的引号里",
            )
        if command.words and command.words[0].text == "eval" and MENTION.search(" ".join(command.texts)):
            return _refused_at(source, command.words[0].start, "launch-in-eval", "is started by eval", "由 eval 启动")
    return None


def _is_command(word: Word) -> bool:
    """Whether one word of a command is a command that starts an engine, as those of ``tmux`` and ``ssh`` are."""
    return " " in word.text and not word.expands and _starts_engine_safely(word.text)


def _starts_engine_safely(source: str) -> bool:
    try:
        return _starts_engine(source)
    except UserError:
        return False


def _starts_engine(source: str) -> bool:
    """Whether a command substitution starts an engine; most only look for its process."""
    if not MENTION.search(source):
        return False
    return any(engine_at(command.texts) for command in commands(words(source)))


def _refused_at(source: str, index: int, name: str, en: str, zh: str) -> Refused:
    line = line_of(source, index)
    return Refused(Text(f"the engine {en} (line {line})", f"引擎{zh}（第 {line} 行）"), name)


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
