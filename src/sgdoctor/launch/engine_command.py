"""A launch that was pasted as the engine's own command, or stands in a script without a container."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import dropwhile, pairwise
from typing import Final

from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.commands import engine_in_tokens
from sgdoctor.launch.found import SEVERAL, Found, Refused, refusal
from sgdoctor.launch.model import Editable, Edited, FlagTable, Launch, Origin, Problem
from sgdoctor.launch.shell import Splice, Word, quoted, spliced, splices_inside, words
from sgdoctor.launch.typography import REPAIR, Repaired, repaired
from sgdoctor.texts import Text

UNREADABLE: Final = frozenset({"", "unbalanced-quotes", SEVERAL})
"""Why a text cannot be taken for one launch at all; the empty one is that none is in it."""

_NO_PLACE: Final = Text("a command without a container has no place for it", "不在容器里的命令没有地方写它")
_OF_UNIT: Final = ("=", "=-", "=@", "=:", "=+", "=!")
_UNIT: Final = Text(
    "a systemd unit sets it with a line of its own: Environment=", "systemd 单元用单独一行 Environment= 设置"
)
_SUDO: Final = Text(
    "sudo does not pass variables on; give it to the command itself", "sudo 不会传递环境变量；请直接写给命令本身"
)


@dataclass(frozen=True, slots=True)
class EngineCommand:
    """A command line, or a script, that starts an engine outside of containers.

    Attributes:
        name: what the user calls it.
        text: as written.
        plain: as it was meant.
        found: the launch in ``plain``.
        launch: what it says.
    """

    name: str
    text: str
    plain: Repaired
    found: Found | Refused
    launch: Launch

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What people get wrong in this form, found here."""
        return self.plain.problems

    @property
    def editable(self) -> Editable:
        """Whether ``edited`` can work."""
        return self.found.editable

    def edited(self, changes: Sequence[Change], flags: FlagTable) -> Edited:
        """The text with ``changes`` made and nothing else changed; see ``typography`` for what was broken before.

        Raises:
            UserError: the text cannot be edited safely; it says why and which flags to type.
        """
        if not changes:
            return Edited(self.text, self.launch)
        if isinstance(self.found, Refused):
            raise refusal(self.found.why, changes)
        splices = [*self.found.splices(changes, flags)]
        left = []
        for change in changes:
            match change.kind:
                case "env.set" if change.name not in self.found.assigned:
                    if self.found.command.words[0].text == "sudo":
                        left.append((change, _SUDO))
                    elif self.plain.text[: self.found.command.words[0].start].endswith(_OF_UNIT):
                        left.append((change, _UNIT))
                    else:
                        splices.append(self._new_assignment(change))
                case "flag.set" | "flag.unset" | "env.set" | "env.unset" | "text.repair":
                    pass
                case _:
                    left.append((change, _NO_PLACE))
        if not splices and REPAIR not in changes:
            return Edited(self.text, self.launch, tuple(left))
        if self.found.script is not None:
            splices = splices_inside(self.found.script, splices)
        new = read_engine_command(spliced(self.plain.text, splices), self.name)
        return Edited(new.text, new.launch, tuple(left))

    def _new_assignment(self, change: Change) -> Splice:
        assert isinstance(self.found, Found)
        place = self.found.command.words[0].start
        return Splice(place, place, f"{change.name}={quoted(change.value or '')} ")


def read_engine_command(text: str, name: str = "command") -> EngineCommand:
    """The launch in a pasted command line or a script; a prompt before it is passed over.

    Raises:
        UserError: the text starts no engine, or more than one, or quotes in it do not close.
    """
    plain = repaired(text)
    try:
        tokens = words(plain.text)
    except UserError as error:
        raise UserError(f"{name}: {error.en}", f"{name}：{error.zh}") from None
    return engine_command(text, name, plain, tokens)


def engine_command(text: str, name: str, plain: Repaired, tokens: Sequence[Word]) -> EngineCommand:
    """The launch in a text that was read already; see ``read_engine_command``.

    Args:
        text: as written.
        name: what the user calls it.
        plain: the text as it was meant.
        tokens: the words of that.

    Raises:
        UserError: as ``read_engine_command``.
    """
    found = engine_in_tokens(plain.text, tokens)
    if isinstance(found, Refused) and found.id in UNREADABLE:
        raise UserError(f"{name}: {found.why.en}", f"{name}：{found.why.zh}")
    origin = Origin.SCRIPT if is_script(plain.text, tokens) else Origin.COMMAND
    return EngineCommand(name, text, plain, found, _launch(found, origin))


def _launch(found: Found | Refused, origin: Origin) -> Launch:
    if isinstance(found, Refused):
        return Launch(origin, ())
    argv = found.argv
    command = found.whole if found.script is not None else argv
    return Launch(origin, argv, found.flags_at, command, found.env, engine=found.place.engine)


def is_script(text: str, tokens: Sequence[Word]) -> bool:
    """Whether a shell text, of which the words are known, has commands on more than one line."""
    breaks = [token.operator and token.text == "\n" for token in tokens]
    begun = dropwhile(bool, breaks)
    return text.startswith("#!") or any(before and not after for before, after in pairwise(begun))
