"""The engine's launch in a command: directly, behind wrappers, or in the script of a shell."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.engine_words import (
    MENTION,
    SCRIPTS,
    TALKING,
    EngineAt,
    engine_at,
    routes_only,
    shell_script_at,
)
from sgdoctor.launch.flag_edits import is_flag, with_edits
from sgdoctor.launch.found import SEVERAL, Found, Refused, refusal
from sgdoctor.launch.model import FlagTable
from sgdoctor.launch.script import (
    Command,
    commands,
    declared,
    literal_variables,
)
from sgdoctor.launch.shell import Word, line_of, spliced, words
from sgdoctor.texts import Text

_TELLING: Final = frozenset({"--model-path", "--model", "--port"})


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
    if routes_only(texts):
        return Refused(
            Text(
                "it starts a router, which takes none of the engine's flags",
                "它启动的是路由程序，不接受引擎的参数",
            )
        )
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
