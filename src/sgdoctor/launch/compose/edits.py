"""Changes of a launch as splices of a compose file.

Every function gives the ways in which a change can be written, the best first; which of them is right is decided by
reading the result. None of them has to be certain that it is.
"""

import re
from collections.abc import Callable, Iterator
from collections.abc import Mapping as MappingABC
from collections.abc import Sequence as SequenceABC
from dataclasses import dataclass
from typing import Final

from sgdoctor.launch.change import Change
from sgdoctor.launch.compose.lines import CannotSpliceError
from sgdoctor.launch.compose.nodes import (
    field_added,
    is_in_flow,
    items_added,
    items_removed,
    own_value,
    pair_added,
    pair_removed,
    replaced,
    style_of,
)
from sgdoctor.launch.compose.project import Service
from sgdoctor.launch.compose.reading import device_requests, env_entries
from sgdoctor.launch.compose.scalars import written
from sgdoctor.launch.compose.syntax import Alias, Mapping, Scalar, Sequence, own_pair, resolved
from sgdoctor.launch.compose.texts import replaced_text
from sgdoctor.launch.compose.values import Fields, Items, SourceFile, Text, Value
from sgdoctor.launch.docker_values import read_gpus, read_port, read_ulimit, read_volume
from sgdoctor.launch.model import Gpus
from sgdoctor.launch.shell import Splice

Way = list[Splice]

_HERE: Final = re.compile(r"^(?:\$\(pwd\)|\$PWD|\$\{PWD\})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a service is written.

    Attributes:
        file: that is to be edited.
        service: with everything merged into it.
        home: the mapping of the service in this file.
    """

    file: SourceFile
    service: Service
    home: Mapping

    def parts(self, key: str) -> list[Value]:
        """What this file says about ``key``, the part that counts first."""
        return [part for part in reversed(self.service.fields.get(key, ())) if part.file is self.file]

    def in_flow(self, node: Mapping | Sequence | Scalar) -> bool:
        """Whether ``node`` stands inside of brackets."""
        return self.file.root is not None and is_in_flow(self.file.root, node)


Ways = Callable[[Place, Change], Iterator[Way]]


def ways_of(place: Place, change: Change) -> Iterator[Way] | None:
    """The ways in which ``change`` can be written; None where this form has no place for its kind."""
    way = _WAYS.get(change.kind)
    return way(place, change) if way else None


def fields_of(kind: str) -> frozenset[str]:
    """The keys of a service that a change of ``kind`` may touch."""
    return _FIELDS.get(kind, frozenset())


def _scalar(key: str) -> Ways:
    """The ways for a key that has one text."""

    def ways(place: Place, change: Change) -> Iterator[Way]:
        value = change.value or ""
        for part in place.parts(key)[:1]:
            if isinstance(part, Text):
                yield replaced_text(part, 0, len(part.text), value, None)
        own = own_value(place.home, key)
        text = written(_doubled(value), like="", in_flow=place.home.flow)
        if isinstance(own, Alias):
            yield [Splice(own.start, own.end, text)]
        elif isinstance(own, Scalar) and not own.style and own.start == own.end:
            yield [Splice(own.start, own.end, f" {text}")]
        elif own is None:
            yield [field_added(place.file.text, place.home, key, [f" {text}"], text)]

    return ways


def _env_set(place: Place, change: Change) -> Iterator[Way]:
    name, value = change.name, change.value or ""
    entries = [(part, at) for part in place.parts("environment") for one, _, at in env_entries((part,)) if one == name]
    for part, at in reversed(entries):
        if isinstance(part, Fields):
            yield _env_value(place, at, value)
        elif "=" in at.text:
            yield replaced_text(at, len(name) + 1, len(at.text), value, None)
        else:
            yield [replaced(at.node, _doubled(f"{name}={value}"), in_flow=place.in_flow(at.node))]
    yield from _entry_added(place, "environment", (name, value), f"{name}={value}")


def _env_value(place: Place, at: Text, value: str) -> Way:
    if at.is_null:
        text = written(_doubled(value), like="", in_flow=place.in_flow(at.node))
        return [Splice(at.node.start, at.node.end, text if at.node.end > at.node.start else f" {text}")]
    node = at.node
    if not node.style and node.value == at.text:
        return [replaced(node, _doubled(value), in_flow=place.in_flow(node))]
    return replaced_text(at, 0, len(at.text), value, None)


def _entry_added(place: Place, key: str, pair: tuple[str, str], item: str) -> Iterator[Way]:
    """An entry for a key that is a list of texts or a mapping; the key is made if it is not there."""
    text = place.file.text
    for part in place.parts(key):
        if isinstance(part, Items):
            yield [_item_added(place, part, item)]
        elif isinstance(part, Fields):
            like = style_of(part.node.pairs[-1][1]) if part.node.pairs else ""
            value = written(_doubled(pair[1]), like=like, in_flow=part.node.flow)
            yield [pair_added(text, part.node, written(pair[0], like="", in_flow=part.node.flow), value)]
    own = own_pair(place.home, key)
    name = written(pair[0], like="", in_flow=True)
    value = written(_doubled(pair[1]), like="", in_flow=True)
    shared = _shared_anchor(place, key, own[1] if own else None)
    if own is None:
        block = [f"{name}: {value}"] if not shared else [f"<<: *{shared}", f"{name}: {value}"]
        inner = f"{{{'<<: *' + shared + ' , ' if shared else ''}{name}: {value}}}"
        yield [field_added(text, place.home, key, block, inner)]
    elif isinstance(own[1], Alias) and shared:
        yield [Splice(own[1].start, own[1].end, f"{{<<: *{shared} , {name}: {value}}}")]


def _shared_anchor(place: Place, key: str, own: "Alias | Scalar | Sequence | Mapping | None") -> str | None:
    """The name of the mapping that the value comes from, where it has one."""
    if isinstance(own, Alias):
        return own.target.anchor if isinstance(own.target, Mapping) else None
    parts = place.parts(key)
    return parts[0].node.anchor if own is None and parts and isinstance(parts[0], Fields) else None


def _item_added(place: Place, part: Items, item: str) -> Splice:
    like = style_of(part.node.items[-1]) if part.node.items else '"'
    in_flow = part.node.flow or place.in_flow(part.node)
    return items_added(
        place.file.text, part.node, len(part.node.items), [written(_doubled(item), like=like, in_flow=in_flow)]
    )


def _env_unset(place: Place, change: Change) -> Iterator[Way]:
    way: Way = []
    for part in place.parts("environment"):
        names = [name for name, _, _ in env_entries((part,))]
        way += _taken_out(place, "environment", part, [name == change.name for name in names], change.name)
    if way:
        yield way


def _taken_out(place: Place, key: str, part: Value, hits: SequenceABC[bool], name: str) -> Way:
    """Items of a list, or the entry of a mapping, taken out; with the last of them goes the key."""
    text = place.file.text
    if not any(hits):
        return []
    if all(hits):
        return [pair_removed(text, place.home, key)]
    if isinstance(part, Items):
        found = [index for index, hit in enumerate(hits) if hit]
        return [splice for index in found for splice in items_removed(text, part.node, index, index + 1)]
    if isinstance(part, Fields):
        return [pair_removed(text, part.node, name)]
    raise CannotSpliceError


def _port(place: Place, change: Change) -> Iterator[Way]:
    port = read_port(change.value or "")
    for part in place.parts("ports"):
        if not isinstance(part, Items):
            continue
        for item in part.items:
            if isinstance(item, Text) and item.text.partition("/")[0].rpartition(":")[2] == str(port.container):
                yield replaced_text(item, 0, len(item.text), change.value or "", None)
            elif isinstance(item, Fields) and _is(item, "target", str(port.container)):
                published = item.fields.get("published")
                if isinstance(published, Text) and not port.host_ip:
                    yield [replaced(published.node, str(port.host), in_flow=place.in_flow(published.node))]
    yield from _list_added(place, "ports", change.value or "")


def volume_of(change: Change) -> str | None:
    """What ``docker.volume`` and ``file.mount`` put into ``volumes``; None for a mount without an absolute target."""
    if change.kind == "file.mount":
        return f"{change.value}:{change.name}:ro" if change.name.startswith("/") else None
    # Compose runs no shell; relative paths begin at its file.
    return _HERE.sub(".", change.value or "")


def _volume(place: Place, change: Change) -> Iterator[Way]:
    value = volume_of(change)
    if value is None:
        return
    mount = read_volume(value)
    for part in place.parts("volumes"):
        for item in part.items if isinstance(part, Items) else ():
            if isinstance(item, Text) and read_volume(item.text).target == mount.target:
                yield replaced_text(item, 0, len(item.text), value, None)
    yield from _list_added(place, "volumes", value)


def _list_added(place: Place, key: str, item: str) -> Iterator[Way]:
    for part in place.parts(key):
        if isinstance(part, Items):
            yield [_item_added(place, part, item)]
    quoted = written(_doubled(item), like="" if key == "volumes" else '"', in_flow=True)
    yield [field_added(place.file.text, place.home, key, [f"- {quoted}"], f"[{quoted}]")]


def _ulimit(place: Place, change: Change) -> Iterator[Way]:
    soft, hard = read_ulimit(change.value or "")
    name = change.name
    short, long = str(soft), f"{{soft: {soft}, hard: {hard}}}"
    value = short if soft == hard else long
    for part in place.parts("ulimits"):
        if not isinstance(part, Fields):
            continue
        present = own_value(part.node, name)
        if isinstance(present, Scalar):
            yield [Splice(present.start, present.end, value)]
        elif isinstance(present, Mapping):
            limits = part.fields[name]
            yield [
                Splice(one.node.start, one.node.end, str(limit))
                for key, limit in (("soft", soft), ("hard", hard))
                if isinstance(limits, Fields) and isinstance(one := limits.fields.get(key), Text)
            ]
        elif present is None:
            yield [pair_added(place.file.text, part.node, name, value)]
    yield [field_added(place.file.text, place.home, "ulimits", [f"{name}: {value}"], f"{{{name}: {value}}}")]


def _gpus(place: Place, change: Change) -> Iterator[Way]:
    wanted = read_gpus(change.value or "")
    requests = [one for one in device_requests(place.service) if one.file is place.file]
    if len(requests) == 1:
        yield from _request_ways(place, requests[0], wanted)
    if not requests:
        runtime = place.service.text("runtime") or ""
        if "nvidia" in runtime:
            # Asked for through the runtime: a device request beside it would be a second voice.
            yield from _env_set(place, Change("env.set", "NVIDIA_VISIBLE_DEVICES", _visible(wanted)))
        # Not `gpus:`, which Compose knows since 2.30 only.
        ask = _request(wanted)
        block = ["resources:", "\treservations:", "\t\tdevices:", "\t\t\t- driver: nvidia", f"\t\t\t  {ask}"]
        flow = f"{{resources: {{reservations: {{devices: [{{driver: nvidia, {ask}, capabilities: [gpu]}}]}}}}}}"
        yield [field_added(place.file.text, place.home, "deploy", [*block, "\t\t\t  capabilities: [gpu]"], flow)]


def _request(wanted: Gpus) -> str:
    if wanted.device_ids:
        return "device_ids: [" + ", ".join(f'"{one}"' for one in wanted.device_ids) + "]"
    return "count: all" if wanted.count == -1 else f"count: {wanted.count}"


def _request_ways(place: Place, request: Fields | Text, wanted: Gpus) -> Iterator[Way]:
    if isinstance(request, Text):
        own = own_pair(place.home, "gpus")
        if own and not place.home.flow:
            yield [Splice(request.node.start, request.node.end, f"[{{driver: nvidia, {_request(wanted)}}}]")]
        return
    key, _, value = _request(wanted).partition(": ")
    present = {name for name in ("device_ids", "count") if own_pair(request.node, name)}
    if present == {key}:
        node = resolved(request.fields[key].node)
        if isinstance(node, Scalar) or node.flow:
            yield [Splice(node.start, node.end, value)]
        else:
            yield _lines_for_list(place, node, wanted)
    elif len(present) == 1:
        other = present.pop()
        written_there = own_pair(request.node, other)
        if written_there and (
            isinstance(written_there[1], Scalar) or (isinstance(written_there[1], Sequence) and written_there[1].flow)
        ):
            yield [Splice(written_there[0].start, written_there[1].end, f"{key}: {value}")]
        else:
            yield [
                pair_removed(place.file.text, request.node, other),
                pair_added(place.file.text, request.node, key, value),
            ]
    elif not present:
        yield [pair_added(place.file.text, request.node, key, value)]


def _lines_for_list(place: Place, node: Sequence | Mapping, wanted: Gpus) -> Way:
    """Ids of a list with one item on each line."""
    if not isinstance(node, Sequence):
        raise CannotSpliceError
    text, ids = place.file.text, wanted.device_ids
    way: Way = []
    for index, item in enumerate(node.items[: len(ids)]):
        if not isinstance(item, Scalar):
            raise CannotSpliceError
        if item.value != ids[index]:
            way.append(replaced(item, ids[index], in_flow=False))
    if len(ids) < len(node.items):
        way += items_removed(text, node, len(ids), len(node.items))
    more = ids[len(node.items) :]
    if more:
        like = style_of(node.items[-1])
        way.append(items_added(text, node, len(node.items), [written(one, like=like, in_flow=False) for one in more]))
    return way


def _visible(wanted: Gpus) -> str:
    """As ``NVIDIA_VISIBLE_DEVICES`` takes it."""
    if wanted.count == -1:
        return "all"
    return ",".join(wanted.device_ids or map(str, range(wanted.count or 0))) or "none"


def _is(fields: Fields, key: str, text: str) -> bool:
    value = fields.fields.get(key)
    return isinstance(value, Text) and value.text == text


def _doubled(value: str) -> str:
    """With every ``$`` as Compose wants a literal one."""
    return value.replace("$", "$$")


_WAYS: Final[MappingABC[str, Ways]] = {
    "env.set": _env_set,
    "env.unset": _env_unset,
    "docker.shm_size": _scalar("shm_size"),
    "docker.ipc": _scalar("ipc"),
    "docker.runtime": _scalar("runtime"),
    "docker.restart": _scalar("restart"),
    "docker.user": _scalar("user"),
    "docker.name": _scalar("container_name"),
    "docker.memory": _scalar("mem_limit"),
    "docker.gpus": _gpus,
    "docker.port": _port,
    "docker.volume": _volume,
    "file.mount": _volume,
    "docker.ulimit": _ulimit,
    "image.tag": _scalar("image"),
}
_FIELDS: Final[MappingABC[str, frozenset[str]]] = {
    "env.set": frozenset({"environment"}),
    "env.unset": frozenset({"environment"}),
    "docker.shm_size": frozenset({"shm_size"}),
    "docker.ipc": frozenset({"ipc"}),
    "docker.runtime": frozenset({"runtime"}),
    "docker.restart": frozenset({"restart"}),
    "docker.user": frozenset({"user"}),
    "docker.name": frozenset({"container_name"}),
    "docker.memory": frozenset({"mem_limit"}),
    "docker.gpus": frozenset({"gpus", "deploy", "environment"}),
    "docker.port": frozenset({"ports"}),
    "docker.volume": frozenset({"volumes"}),
    "file.mount": frozenset({"volumes"}),
    "docker.ulimit": frozenset({"ulimits"}),
    "image.tag": frozenset({"image"}),
    "flag.set": frozenset({"command", "entrypoint"}),
    "flag.unset": frozenset({"command", "entrypoint"}),
    "docker.command": frozenset({"command", "entrypoint"}),
}
