"""Relaunching a container with changes: what must be true before anything is touched, and then the transaction."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from sgdoctor.containers.client import Client
from sgdoctor.containers.transport import UnreachableError
from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.inspection import CreateBody, Inspection
from sgdoctor.launch.inspection.reading import mapping
from sgdoctor.launch.model import FlagTable
from sgdoctor.relaunch import texts
from sgdoctor.relaunch.claim import check_free
from sgdoctor.relaunch.compare import losses, same_settings
from sgdoctor.relaunch.compose import ComposeService, Edition, open_service, relaunch_service
from sgdoctor.relaunch.engine import NO_POLICY, Engine
from sgdoctor.relaunch.journal import Journal, open_journals
from sgdoctor.relaunch.launches import launches_of, names_of
from sgdoctor.relaunch.lock import locked
from sgdoctor.relaunch.model import Ending, Intent, Outcome, Patience, Progress, Purpose, Readiness, Watcher
from sgdoctor.relaunch.transaction import Transaction
from sgdoctor.texts import Text

BESIDE: Final = ".sgd-new"
"""Behind the name of a new container until it takes the place of the old one."""
ASIDE: Final = ".sgd-old"
"""Behind the name of an old container that is kept."""

_KEPT: Final = re.compile(rf"(.+?)(?:{re.escape(ASIDE)}|{re.escape(BESIDE)})(?:\.\d+)?")
_SWARM: Final = "com.docker.swarm.service.name"
_KUBERNETES: Final = "io.kubernetes.pod.name"


def quiet(_: Progress) -> None:
    """A watcher that nobody listens to."""


def refusal(client: Client, document: Inspection) -> Text | None:
    """Why this container is not to be relaunched; None if it may be, one of Compose through its file.

    Args:
        client: of its engine.
        document: the container.

    Raises:
        UserError: the engine does not answer.
    """
    try:
        examined(client, document)
    except UnreachableError:
        raise
    except UserError as error:
        return error.message
    return None


def examined(client: Client, document: Inspection) -> ComposeService | None:
    """The service of a container that may be relaunched; None for one that is not of Compose.

    Args:
        client: of its engine.
        document: the container.

    Raises:
        UserError: why it may not, or the engine does not answer.
    """
    why = _untouchable(client, document)
    if why is not None:
        raise _refuse(why)
    return None if document.compose is None else open_service(client, document)


def is_kept(name: str, of: str) -> bool:
    """Whether a name is one that only a relaunch of the container ``of`` gives."""
    kept = _KEPT.fullmatch(name)
    return kept is not None and kept[1] == of


def _untouchable(client: Client, document: Inspection) -> Text | None:
    labels = mapping(mapping(document.data.get("Config")).get("Labels"))
    status = mapping(document.data.get("State")).get("Status")
    if client.is_podman():
        return texts.PODMAN
    if labels.get(_SWARM):
        return texts.managed("Swarm")
    if labels.get(_KUBERNETES):
        return texts.managed("Kubernetes")
    if kept := _KEPT.fullmatch(document.name):
        return texts.kept(document.name, kept[1])
    return {"paused": texts.PAUSED, "removing": texts.GOING, "dead": texts.GOING}.get(str(status))


def is_same(client: Client, document: Inspection, changes: Sequence[Change], flags: FlagTable) -> bool:
    """Whether a container with ``changes`` would be as this one is.

    Args:
        client: of its engine.
        document: the container.
        changes: of the plan.
        flags: of the engine's version.

    Raises:
        UserError: the engine's flags cannot be edited safely, or the container engine does not answer.
    """
    if any(change.kind == "image.tag" and change.value != document.launch.image for change in changes):
        return False  # the name is shown, even where it is one of the same image
    asked, now = (dict(document.body(one, flags)[0].body) for one in (changes, ()))
    images = [client.image_data(str(body.pop("Image", ""))) or {} for body in (asked, now)]
    return asked == now and images[0].get("Id") == images[1].get("Id")


def left_behind(client: Client, container: str) -> list[str]:
    """Paths in a container that are not as in its image, and that a new container does not have.

    Args:
        client: of the engine.
        container: name or id.

    Raises:
        UserError: the engine does not answer, or does not know the container.
    """
    return Engine(client).changes(container)


def relaunch(
    client: Client,
    document: Inspection,
    changes: Sequence[Change],
    flags: FlagTable,
    *,
    planned: Edition | None = None,
    accept_drift: bool = False,
    readiness: Readiness,
    patience: Patience | None = None,
    watcher: Watcher = quiet,
    root: Path | None = None,
) -> Outcome:
    """Let a container with ``changes`` take the place of one; for one of Compose its file is edited.

    Runs until the new server serves or the old one is back; whatever goes wrong, the outcome says so.

    Args:
        client: of the engine.
        document: the container, as the plan was made from it.
        changes: of the plan.
        flags: of the engine's version.
        planned: of one of Compose, what was asked before consent; None to ask it now.
        accept_drift: whether to go on where Compose would change more than that, see ``compose.drift``.
        readiness: knows when the new server serves.
        patience: how long is waited.
        watcher: told of each step.
        root: stands for the state folder of sgdoctor.
    """
    try:
        why = _untouchable(client, document)
        if why is not None:
            return Outcome(Ending.REFUSED, reason=why)
        if document.compose is not None:
            return relaunch_service(
                client,
                document,
                changes,
                flags,
                planned=planned,
                accept_drift=accept_drift,
                readiness=readiness,
                patience=patience or Patience(),
                watcher=watcher,
                root=root,
            )
        made, _ = document.body(changes, flags)
        command = document.edited(changes, flags).launch.command
    except UserError as error:
        return Outcome(Ending.REFUSED, reason=error.message)
    return replace_container(
        client,
        document,
        made,
        changes=tuple(changes),
        command=command,
        readiness=readiness,
        patience=patience or Patience(),
        watcher=watcher,
        root=root,
    )


def replace_container(
    client: Client,
    document: Inspection,
    made: CreateBody,
    *,
    changes: tuple[Change, ...] = (),
    command: tuple[str, ...],
    adopt: str = "",
    purpose: Purpose = Purpose.RELAUNCH,
    readiness: Readiness,
    patience: Patience,
    watcher: Watcher,
    root: Path | None,
) -> Outcome:
    """Let another container take the place of one.

    Args:
        client: of the engine.
        document: the container that gives its place away.
        made: the request for the other one.
        changes: by which its launch differs.
        command: of its launch.
        adopt: id of one that is there and was made by such a request; empty to make one.
        purpose: why.
        readiness: knows when its server serves.
        patience: how long is waited.
        watcher: told of each step.
        root: stands for the state folder of sgdoctor.
    """
    engine = Engine(client)
    try:
        identity = engine.identity()
        with locked(document.name, root, identity):
            intent = _intent(engine, document, made, adopt=adopt, identity=identity, root=root)
            journal = Journal.begin(replace(intent, purpose=purpose, changes=changes, command=command), root)
            return Transaction(
                engine, journal, readiness=readiness, patience=patience, watcher=watcher, root=root
            ).begin()
    except UserError as error:
        return Outcome(Ending.REFUSED, reason=error.message)


def check_place(client: Client, document: Inspection, *, adopt: str = "", root: Path | None = None) -> None:
    """Whether another container may take the place of one, as far as can be known before anything is touched.

    Args:
        client: of the engine.
        document: the container that gives its place away.
        adopt: id of the one that takes it; empty if one is made.
        root: stands for the state folder of sgdoctor.

    Raises:
        UserError: why it may not, or the engine does not answer.
    """
    engine = Engine(client)
    _place(engine, document, adopt=adopt, identity=engine.identity(), root=root)


class _Place(NamedTuple):
    """Where another container is about to go.

    Attributes:
        old: inspection of the container that is there.
        original: what that would be made again from.
        taken: names by ids of all containers.
    """

    old: dict[str, Any]
    original: CreateBody
    taken: dict[str, str]


def _place(engine: Engine, document: Inspection, *, adopt: str, identity: str, root: Path | None) -> _Place:
    """The place of a container, once everything that can be known before was found in order.

    Raises:
        UserError: something was not.
    """
    name = document.name
    unfinished = open_journals(name, root, identity)
    if unfinished:
        raise _refuse(texts.cut_off(name, unfinished[-1].id))
    check_free(engine, name)
    old = engine.inspect(str(document.data["Id"]))
    if old is None:
        raise _refuse(texts.old_gone(name))
    if mapping(old.get("State")).get("Status") == "paused":
        raise _refuse(texts.PAUSED)
    if changed := same_settings(document.data, old):
        raise _refuse(texts.changed_meanwhile(name, changed))
    original, _ = document.body((), _NO_FLAGS)
    if lost := losses(original.body, document.image, old):
        raise _refuse(texts.lost(lost))
    there = engine.client.containers()
    # Those that are kept have the name that it had then.
    names = {name, *names_of(launches_of(name, root, identity, str(old["Id"])))}
    beside = [
        entry.name
        for entry in there
        if entry.running and (entry.id == adopt or any(is_kept(entry.name, one) for one in names))
    ]
    if beside:
        raise _refuse(texts.kept_runs(name, beside[0]))
    taken = {entry.id: entry.name for entry in there}
    for other in engine.relaunched():
        if taken.get(other, "").startswith(f"{name}{BESIDE}"):
            raise _refuse(texts.foreign(name, taken[other]))
    return _Place(old, original, taken)


def _intent(
    engine: Engine, document: Inspection, made: CreateBody, *, adopt: str, identity: str, root: Path | None
) -> Intent:
    """What is about to be done.

    Raises:
        UserError: as ``check_place``.
    """
    name = document.name
    old, original, taken = _place(engine, document, adopt=adopt, identity=identity, root=root)
    host = mapping(made.body.get("HostConfig"))
    return Intent(
        container=name,
        engine=identity,
        endpoint=engine.client.connections.endpoint.url,
        old=old,
        image=str(old.get("Image") or ""),
        ran=mapping(old.get("State")).get("Status") in ("running", "restarting"),
        body={**made.body, "HostConfig": {**host, "RestartPolicy": dict(NO_POLICY)}},
        connects=made.connects,
        platform=made.platform,
        policy=mapping(host.get("RestartPolicy")),
        original=original.body,
        original_connects=original.connects,
        adopt=adopt,
        beside=taken.get(adopt) or _free(f"{name}{BESIDE}", taken.values()),
        aside=_free(f"{name}{ASIDE}", taken.values()),
        old_command=document.launch.command,
    )


class _NoFlags:
    """Knows no flag: for a request without changes."""

    def arity(self, flag: str) -> None:
        del flag

    def canonical(self, flag: str) -> str:
        return flag


_NO_FLAGS: Final = _NoFlags()


def _free(name: str, taken: Iterable[str]) -> str:
    """The name, with a number behind it if somebody has it."""
    there = set(taken)
    number, free = 1, name
    while free in there:
        number += 1
        free = f"{name}.{number}"
    return free


def _refuse(why: Text) -> UserError:
    return UserError(why.en, why.zh)
