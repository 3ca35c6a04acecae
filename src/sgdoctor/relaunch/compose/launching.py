"""Relaunching a service of Compose with changes, and taking changes of its file back."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from sgdoctor.containers.client import Client
from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.compose.state import State
from sgdoctor.launch.inspection import Inspection
from sgdoctor.launch.inspection.reading import mapping
from sgdoctor.launch.model import FlagTable
from sgdoctor.relaunch import texts as common
from sgdoctor.relaunch.claim import check_free
from sgdoctor.relaunch.compare import same_settings
from sgdoctor.relaunch.compose import texts
from sgdoctor.relaunch.compose.edition import Edition, edition
from sgdoctor.relaunch.compose.merging import merged
from sgdoctor.relaunch.compose.service import ComposeService, drift, open_service, refused, too_many
from sgdoctor.relaunch.compose.transaction import ComposeTransaction
from sgdoctor.relaunch.engine import Engine
from sgdoctor.relaunch.journal import Journal, open_journals
from sgdoctor.relaunch.lock import locked
from sgdoctor.relaunch.model import Ending, Intent, Outcome, Patience, Purpose, Readiness, Watcher, Way
from sgdoctor.writing import Found, backup_path, check_replaceable

_IMAGE: Final = "image.tag"


def relaunch_service(
    client: Client,
    inspection: Inspection,
    changes: Sequence[Change],
    flags: FlagTable,
    *,
    planned: Edition | None = None,
    accept_drift: bool = False,
    readiness: Readiness,
    patience: Patience,
    watcher: Watcher,
    root: Path | None = None,
) -> Outcome:
    """Edit the file of a service and let Compose make its container anew.

    Runs until the new server serves or the file and the old one are back; whatever goes wrong, the outcome says so.

    Args:
        client: of the engine.
        inspection: the container, as the plan was made from it.
        changes: of the plan.
        flags: of the engine's version.
        planned: what was asked before consent; None to ask it now.
        accept_drift: whether to go on where Compose would change more than that, see ``drift``.
        readiness: knows when the new server serves.
        patience: how long is waited.
        watcher: told of each step.
        root: stands for the state folder of sgdoctor.
    """
    try:
        if planned is None or not _holds(client, inspection, planned, changes):
            planned = edition(open_service(client, inspection), changes, flags)
    except UserError as error:
        return Outcome(Ending.REFUSED, reason=error.message)
    return _carry_out(
        client,
        inspection,
        planned,
        accept_drift=accept_drift,
        readiness=readiness,
        patience=patience,
        watcher=watcher,
        root=root,
    )


def _holds(client: Client, inspection: Inspection, planned: Edition, changes: Sequence[Change]) -> bool:
    """Whether what was asked before consent is still the answer, by all that is known without a start of Compose."""
    service = planned.service
    return (
        planned.changes == tuple(changes)
        and service.origin == inspection.compose
        and service.is_current()
        and too_many(client, service.origin, service.document) is None
    )


def return_edition(client: Client, inspection: Inspection, edits: Sequence[tuple[str, str]]) -> Edition:
    """A service with edits of its file taken back; what somebody else edited in it meanwhile stays.

    Args:
        client: of the engine.
        inspection: the container.
        edits: that lead back, in their order: of each a text and what it becomes.

    Raises:
        UserError: the file was edited in the same places, or says all that already; or the engine does not answer.
    """
    service = open_service(client, inspection)
    text: str | None = service.document.text
    for base, wanted in edits:
        text = merged(base, wanted, text) if text is not None else None
    if text is None:
        raise refused(texts.edited_since(str(service.path)))
    if text == service.document.text:
        raise refused(texts.NO_SUCH_CHANGE)
    return Edition(service, text, _command_with(service, text))


def return_service(
    client: Client,
    inspection: Inspection,
    edits: Sequence[tuple[str, str]],
    *,
    planned: Edition | None = None,
    accept_drift: bool = False,
    readiness: Readiness,
    patience: Patience,
    watcher: Watcher,
    root: Path | None = None,
) -> Outcome:
    """Take edits of the file of a service back, and let Compose make its container from that.

    Args:
        client: of the engine.
        inspection: the container.
        edits: as of ``return_edition``.
        planned: what that was before consent; None to ask it now.
        accept_drift: as of ``relaunch_service``, as the other arguments.
        readiness: knows when its server serves.
        patience: how long is waited.
        watcher: told of each step.
        root: stands for the state folder of sgdoctor.
    """
    try:
        if planned is None or not _holds(client, inspection, planned, ()):
            planned = return_edition(client, inspection, edits)
    except UserError as error:
        return Outcome(Ending.REFUSED, reason=error.message)
    return _carry_out(
        client,
        inspection,
        planned,
        purpose=Purpose.ROLLBACK,
        accept_drift=accept_drift,
        readiness=readiness,
        patience=patience,
        watcher=watcher,
        root=root,
    )


def _carry_out(
    client: Client,
    inspection: Inspection,
    planned: Edition,
    *,
    purpose: Purpose = Purpose.RELAUNCH,
    accept_drift: bool,
    readiness: Readiness,
    patience: Patience,
    watcher: Watcher,
    root: Path | None,
) -> Outcome:
    engine, service = Engine(client), planned.service
    try:
        identity = engine.identity()
        with locked(inspection.name, root, identity):
            if unfinished := open_journals(inspection.name, root, identity):
                raise refused(common.cut_off(inspection.name, unfinished[-1].id))
            check_free(engine, inspection.name)
            old = engine.inspect(str(inspection.data["Id"]))
            if old is None:
                raise refused(common.old_gone(inspection.name))
            if changed := same_settings(inspection.data, old):
                raise refused(common.changed_meanwhile(inspection.name, changed))
            if not accept_drift and (why := drift(client, inspection, service)):
                raise refused(why)
            before = service.document.text
            check_replaceable(Found(service.path, before.encode(), before))
            intent = Intent(
                container=inspection.name,
                way=Way.COMPOSE,
                purpose=purpose,
                engine=identity,
                endpoint=client.connections.endpoint.url,
                old=old,
                image=str(old.get("Image") or ""),
                ran=mapping(old.get("State")).get("Status") in ("running", "restarting"),
                changes=planned.changes,
                command=planned.command,
                old_command=inspection.launch.command,
                facts=_facts(planned),
            )
            journal = Journal.begin(intent, root)
            return ComposeTransaction(
                engine,
                journal,
                readiness=readiness,
                patience=patience,
                watcher=watcher,
                root=root,
                asked=planned,
            ).begin()
    except UserError as error:
        return Outcome(Ending.REFUSED, reason=error.message)


def _facts(planned: Edition) -> dict[str, Any]:
    service = planned.service
    words = service.words
    return {
        "name": words.name,
        "folder": words.folder,
        "files": words.files,
        "env_files": words.env_files,
        "variables": dict(words.variables),
        "hashes": dict(service.hashes),
        "file": str(service.path),
        "before": service.document.text,
        "after": planned.text,
        "backup": str(backup_path(service.path, datetime.now())),  # noqa: DTZ005 - a name for people, in their time
        "pull": any(change.kind == _IMAGE for change in planned.changes),
    }


def _command_with(service: ComposeService, text: str) -> tuple[str, ...]:
    """The command of the service with another text of its file."""
    document = service.document
    state = State(document.project, document.service, document.file_name)
    return replace(state, project=document.project.with_text(state.file, text)).launch.command
