"""The file of a service with an edit, and what Compose makes of it: asked before anybody has to wait for it."""

import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from sgdoctor.containers.client import Client
from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.inspection import Inspection
from sgdoctor.launch.model import FlagTable
from sgdoctor.relaunch.compose import texts
from sgdoctor.relaunch.compose.program import ComposeError, ComposeProject, ProjectWords
from sgdoctor.relaunch.compose.service import ComposeService, drift, refused
from sgdoctor.relaunch.steps import FailedError
from sgdoctor.writing import Found, check_replaceable

# What a launch is made of; other changes were never meant for the file.
_OF_LAUNCH: Final = ("flag.", "env.", "docker.", "image.", "file.mount")


@dataclass(frozen=True, slots=True)
class Edition:
    """A service with an edit of its file that was not written yet.

    Attributes:
        service: as it is.
        text: of the file with the edit.
        command: of the service with it.
        changes: that the edit makes; empty for one that takes others back.
        hash: of the service with it; empty where Compose was not asked.
    """

    service: ComposeService
    text: str = field(repr=False)
    command: tuple[str, ...]
    changes: tuple[Change, ...] = ()
    hash: str = ""


def edition(service: ComposeService, changes: Sequence[Change], flags: FlagTable) -> Edition:
    """A service with changes.

    Args:
        service: as it is.
        changes: of a plan.
        flags: of the engine's version.

    Raises:
        UserError: a change has no place in the file, or nothing is left to change.
    """
    edited = service.document.edited(changes, flags)
    left = [why for change, why in edited.left if change.kind.startswith(_OF_LAUNCH)]
    if left:
        raise refused(texts.left_out(left))
    if edited.text == service.document.text:
        raise refused(texts.NO_SUCH_CHANGE)
    return Edition(service, edited.text, edited.launch.command, tuple(changes))


def asked(client: Client, inspection: Inspection, planned: Edition, *, accept_drift: bool) -> Edition:
    """The same, once all that can be known before consent was found in order: behind that, each start of Compose costs.

    Args:
        client: of the engine.
        inspection: the container of the service.
        planned: the edition.
        accept_drift: whether it does not matter that Compose would change more than that, see ``drift``.

    Raises:
        UserError: Compose would change more than that, or not that; the file cannot be written; or the engine does not
            answer.
    """
    found = None if accept_drift else drift(client, inspection, planned.service)
    if found is not None:
        raise UserError(f"{found.en} (--accept-drift)", f"{found.zh}（--accept-drift）")
    before = planned.service.document.text
    check_replaceable(Found(planned.service.path, before.encode(), before))
    return rehearsed(planned)


def rehearsed(planned: Edition) -> Edition:
    """The same with its hash, once Compose has read it from a folder of its own: that of the user is not written to.

    Where Compose cannot read it from there, as one that sees only some folders, or a file that is only extended, it is
    asked later, with the file in its place.

    Args:
        planned: the edition.

    Raises:
        UserError: the edit would change other services as well, or not what is wanted.
    """
    service = planned.service
    with tempfile.TemporaryDirectory(prefix="sgdoctor-") as folder:
        copy = Path(folder, service.path.name)
        copy.write_bytes(planned.text.encode())
        words = service.words.with_file(service.path, copy)
        if words == service.words:
            return planned
        try:
            found = hash_of_edit(service.project, words, service.origin.service, service.hashes, planned.command)
        except ComposeError:
            return planned
        except FailedError as failure:
            raise refused(failure.reason) from None
    return replace(planned, hash=found)


def hash_of_edit(
    project: ComposeProject, words: ProjectWords, service: str, before: Mapping[str, str], command: Sequence[str]
) -> str:
    """The hash of a service in edited files, once it is known that nothing else changes by them.

    Args:
        project: the commands of Compose.
        words: with the edited file.
        service: name of the one that is edited.
        before: the hashes of all services as they were.
        command: that the edited service is to have.

    Raises:
        ComposeError: the files are not right.
        FailedError: other services change as well, this one does not, or it gets another command.
    """
    with ThreadPoolExecutor(1) as other:
        read = other.submit(project.command, service, words)
        after = project.hashes(tuple(before), words)
        found = read.result()
    if others := sorted(name for name in {*before, *after} if name != service and before.get(name) != after.get(name)):
        raise FailedError(texts.touches_others(others))
    if service not in after or after[service] == before.get(service):
        raise FailedError(texts.NOTHING_CHANGES)
    if found is not None and found != tuple(command):
        raise FailedError(texts.reads_otherwise(" ".join(command), " ".join(found)))
    return after[service]
