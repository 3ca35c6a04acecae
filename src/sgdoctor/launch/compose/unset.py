"""Variables of a service that are not set: Compose warns and puts nothing there (compose-spec, interpolation)."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from sgdoctor.errors import UserError
from sgdoctor.launch.compose.interpolation import Reference
from sgdoctor.launch.compose.project import Service
from sgdoctor.launch.compose.reading import env_entries
from sgdoctor.launch.compose.scalars import layer_of
from sgdoctor.launch.compose.values import Fields, Items, Text, Value
from sgdoctor.launch.engine_words import OPTIONS_VARIABLE
from sgdoctor.launch.model import Problem
from sgdoctor.texts import Text as Message

# Where nothing in the place of a variable makes another launch, or none.
_NEEDED: Final = ("image", "entrypoint", "command")


class Unset(NamedTuple):
    """A variable without a value and without a default.

    Attributes:
        name: of the variable.
        key: of the service, under which it stands.
        file: name of the file.
        line: number of its line there.
        needed: whether the launch cannot be told without it.
    """

    name: str
    key: str
    file: str
    line: int
    needed: bool


def unset_in(service: Service) -> list[Unset]:
    """The variables of a service that are not set, in the order of its keys."""
    found = [
        Unset(one.name, key, text.file.name, _line(text, one), key in _NEEDED and not _is_harmless(text, one, part))
        for key, parts in service.fields.items()
        for part in parts
        for text in _texts(part)
        for one in text.interpolated.references
        if one.value is None and not one.has_default and one.name in text.interpolated.unset
    ]
    return list(dict.fromkeys(found))


def refuse_unset(name: str, service: Service) -> None:
    """Refuses a service whose image or command is not known without a variable that is not set.

    Args:
        name: of the launch, for the error.
        service: which.

    Raises:
        UserError: it names the variables, their lines, and where they can be given.
    """
    needed = [one for one in unset_in(service) if one.needed]
    if not needed:
        return
    first = needed[0].name
    inside = {entry[0] for entry in env_entries(service.fields.get("environment", ()))}
    own = next((one.name for one in needed if one.name in inside and one.key != "image"), None)
    dollars_en = f"; the container's own variable is written $${own}" if own else ""
    dollars_zh = f"；容器自己的变量要写成 $${own}" if own else ""
    raise UserError(
        f"{name}: not set: {_listed(needed, 'en')}; Compose puts nothing there. Give a value in the file .env beside "
        f"the compose file or in the shell: {first}=... sgdoctor ...{dollars_en}",
        f"{name}：未设置：{_listed(needed, 'zh')}；Compose 会用空值代替。请在 compose 文件旁的 .env 文件"
        f"或 shell 中给出值：{first}=... sgdoctor ...{dollars_zh}",
    )


def unset_problems(service: Service) -> Iterator[Problem]:
    """That variables are not set without which the launch is known all the same."""
    others = [one for one in unset_in(service) if not one.needed]
    if others:
        yield Problem(
            "variable-not-set",
            "notice",
            Message(
                f"not set, so that Compose puts nothing there: {_listed(others, 'en')}",
                f"未设置，Compose 会用空值代替：{_listed(others, 'zh')}",
            ),
        )


def _listed(found: Iterable[Unset], lang: str) -> str:
    if lang == "zh":
        return "、".join(f"{one.name}（{one.file} 第 {one.line} 行，`{one.key}`）" for one in found)
    return ", ".join(f"{one.name} ({one.file}:{one.line}, `{one.key}`)" for one in found)


def _texts(value: Value) -> Iterator[Text]:
    if isinstance(value, Text):
        yield value
    elif isinstance(value, Items):
        for item in value.items:
            yield from _texts(item)
    elif isinstance(value, Fields):
        for inner in value.fields.values():
            yield from _texts(inner)


def _is_harmless(text: Text, reference: Reference, part: Value) -> bool:
    """Whether it stands for any number of flags, none as well: ``$EXTRA_ARGS`` as a word of its own."""
    written = text.node.value
    if not OPTIONS_VARIABLE.fullmatch(written[reference.start : reference.end]):
        return False
    before, behind = written[: reference.start], written[reference.end :]
    alone = (not before or before[-1].isspace()) and (not behind or behind[0].isspace())
    # As an item of a list it is an argument without a character in it.
    return alone and bool(isinstance(part, Text) or before.strip() or behind.strip())


def _line(text: Text, reference: Reference) -> int:
    layer = layer_of(text.node, text.file.text)
    if layer is None:
        return text.node.line
    return text.file.text.count("\n", 0, layer.span(reference.start, reference.end).start) + 1
