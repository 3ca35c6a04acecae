"""Changes of the command of a service."""

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Sequence as SequenceABC
from typing import Final

from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.compose.command_words import CommandPart, script_splices, word_splices
from sgdoctor.launch.compose.edits import Way
from sgdoctor.launch.compose.lines import CannotSpliceError
from sgdoctor.launch.compose.nodes import alias_replaced, field_added, own_value
from sgdoctor.launch.compose.reading import command_parts, engine_of
from sgdoctor.launch.compose.repair import Repair, repairs
from sgdoctor.launch.compose.scalars import written
from sgdoctor.launch.compose.state import NoPlaceError, State, others_changed, others_kept, tried, variable_reason
from sgdoctor.launch.compose.texts import VariableError
from sgdoctor.launch.flag_edits import WordEdit, with_edits
from sgdoctor.launch.found import Found, Refused, refusal
from sgdoctor.launch.model import FlagTable
from sgdoctor.launch.shell import spliced, words
from sgdoctor.texts import Text

KINDS: Final = frozenset({"flag.set", "flag.unset", "docker.command"})
"""Changes that can only be made in the command."""

_KEYS: Final = frozenset({"command", "entrypoint"})
_MAX_REPAIRS: Final = 20
_NO_SAFE_PLACE: Final = Text("there is no way to write it that changes nothing else", "没有不影响其他内容的写法")
_ACROSS: Final = Text(
    "the change lies on both sides of entrypoint and command", "修改同时涉及 entrypoint 和 command 两部分"
)
_BEHIND_SHELL: Final = Text(
    "the command stands behind a shell or a script; it has to be edited there",
    "命令在 shell 或脚本之中，需要在那里修改",
)


def repaired(state: State) -> State:
    """With the mistakes of writing put right that have one meaning."""
    for _ in range(_MAX_REPAIRS):
        after = next(filter(None, (_with_repair(state, one) for one in _repairs(state))), None)
        if after is None:
            break
        state = after
    return state


def _repairs(state: State) -> Iterator[Repair]:
    for part in command_parts(state.service):
        if part.value is not None and part.value.file is state.file:
            yield from repairs(part, state.place.home)


def _with_repair(state: State, repair: Repair) -> State | None:
    after = tried(state, repair.way)
    if after is None or after.file.text == state.file.text or not others_kept(state, after, {repair.key}):
        return None
    now = next(part for part in command_parts(after.service) if part.key == repair.key)
    return after if now.texts == repair.want else None


def is_in_command(state: State, change: Change) -> bool:
    """Whether a change has to be made in the command: one of a flag, or of a variable that the command itself sets."""
    if change.kind in KINDS:
        return True
    found = engine_of(state.service)
    return change.kind in ("env.set", "env.unset") and isinstance(found, Found) and change.name in found.assigned


def with_command_change(state: State, change: Change, flags: FlagTable) -> State:
    """The project with a change of the command made.

    Raises:
        UserError: the launch cannot be edited safely.
        NoPlaceError: the change has to be made elsewhere.
    """
    found = engine_of(state.service)
    if change.kind == "docker.command":
        return _with_words(state, _program_edits(state, found, change), change)
    if isinstance(found, Refused):
        raise refusal(found.why, [change])
    if found.shell is None:
        return _with_words(state, found.word_edits([change], flags), change)
    return _with_script(state, found, found.shell, change, flags)


def _program_edits(state: State, found: Found | Refused, change: Change) -> list[WordEdit]:
    """The program that starts the engine, put before the flags or in the place of another one."""
    entrypoint, command = command_parts(state.service)
    program = tuple(word.text for word in words(change.value or ""))
    if isinstance(found, Found) and found.shell is None:
        return [WordEdit(found.place.program, found.place.flags_at, program)]
    if isinstance(found, Refused) and command.words and command.texts[0].startswith("--"):
        at = len(entrypoint.words)
        return [WordEdit(at, at, program)]
    raise NoPlaceError(_BEHIND_SHELL)


def _with_script(state: State, found: Found, shell: int, change: Change, flags: FlagTable) -> State:
    """A change inside the script of a shell, which is one word."""
    parts = command_parts(state.service)
    border = len(parts[0].words)
    part, index = (parts[0], shell) if shell < border else (parts[1], shell - border)
    splices = found.splices([change], flags)
    if not splices:
        return state
    want = _texts(parts)
    want[shell] = spliced(found.source, splices)

    def way() -> Iterator[tuple[Way, list[str]]]:
        yield script_splices(part.words[index], splices), want

    return _first_good(state, way, part, change)


def _with_words(state: State, edits: SequenceABC[WordEdit], change: Change) -> State:
    if not edits:
        return state
    parts = command_parts(state.service)
    old = _texts(parts)
    part, here = _one_side(parts, edits, change)

    def ways() -> Iterator[tuple[Way, list[str]]]:
        try:
            yield word_splices(part, here), with_edits(old, edits)
        except VariableError as error:
            # The last of several equal flags counts: one behind the variable is right, and keeps it.
            if change.kind != "flag.set" or part is not (parts[1] if parts[1].words else parts[0]):
                raise
            if not _brings_flag(part, error, change):
                raise
            flag = (change.name,) if change.value is None else (change.name, change.value)
            yield word_splices(part, [WordEdit(len(part.words), len(part.words), flag)]), [*old, *flag]

    return _first_good(state, ways, part, change)


def _one_side(
    parts: tuple[CommandPart, CommandPart], edits: SequenceABC[WordEdit], change: Change
) -> tuple[CommandPart, list[WordEdit]]:
    """Edits of entrypoint and command together as edits of the one that they are all in."""
    border = len(parts[0].words)
    if all(edit.end <= border and (edit.start < border or not parts[1].words) for edit in edits):
        return parts[0], list(edits)
    if any(edit.start < border for edit in edits):
        raise refusal(_ACROSS, [change])
    return parts[1], [WordEdit(edit.start - border, edit.end - border, edit.words) for edit in edits]


def _texts(parts: tuple[CommandPart, CommandPart]) -> list[str]:
    return [*parts[0].texts, *parts[1].texts]


def _brings_flag(part: CommandPart, error: VariableError, change: Change) -> bool:
    """Whether the variable brings the flag itself, and not only its value."""
    return any(word.text.partition("=")[0] == change.name and error.reference in word.references for word in part.words)


def _first_good(
    state: State, ways: Callable[[], Iterable[tuple[Way, list[str]]]], part: CommandPart, change: Change
) -> State:
    """The first way whose result has the words intended and leaves everything else as it is."""
    if part.value is None or part.value.file is not state.file:
        raise _elsewhere(part, change)
    why = _NO_SAFE_PLACE
    try:
        for way, want in ways():
            after = tried(state, way)
            if after is None or _texts(command_parts(after.service)) != want:
                continue
            if others_kept(state, after, _KEYS):
                return after
            if (copied := _with_own_command(state, part, want)) is not None:
                return copied
            if names := ", ".join(others_changed(state, after)):
                why = Text(f"it would change {names} as well", f"这样会同时改变 {names}")
    except CannotSpliceError:
        pass
    except VariableError as error:
        raise NoPlaceError(variable_reason(state.project, error, change)) from None
    raise refusal(why, [change])


def _elsewhere(part: CommandPart, change: Change) -> UserError:
    if part.value is None:
        return refusal(_NO_SAFE_PLACE, [change])
    name, line = part.value.file.name, part.value.node.line
    return refusal(
        Text(f"`{part.key}` is written in {name}:{line}", f"`{part.key}` 写在 {name} 第 {line} 行"), [change]
    )


def _with_own_command(state: State, part: CommandPart, want: SequenceABC[str]) -> State | None:
    """A command of its own for a service that shares it with others; None where that would lose a variable."""
    home, file = state.place.home, state.file
    if any(word.references for word in part.words):
        return None
    entrypoint, command = command_parts(state.service)
    texts = want[len(entrypoint.words) :] if part.key == "command" else want[: len(want) - len(command.words)]
    texts = [text.replace("$", "$$") for text in texts]
    block = [f"- {written(text, like='', in_flow=False)}" for text in texts]
    flow = ", ".join(written(text, like="", in_flow=True) for text in texts)
    try:
        if own_value(home, part.key) is None:
            way = [field_added(file.text, home, part.key, block, f"[{flow}]")]
        else:
            way = [alias_replaced(file.text, home, part.key, block)]
        after = tried(state, way)
    except CannotSpliceError:
        return None
    if after is None or _texts(command_parts(after.service)) != list(want) or not others_kept(state, after, _KEYS):
        return None
    return after
