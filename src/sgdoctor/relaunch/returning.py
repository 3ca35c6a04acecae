"""The way back to an earlier launch: everything about it is asked before anybody agrees to it, then it is taken."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sgdoctor.containers.client import Client
from sgdoctor.containers.launches import container_document
from sgdoctor.containers.transport import UnreachableError
from sgdoctor.errors import UserError
from sgdoctor.launch.inspection import Inspection
from sgdoctor.launch.inspection.reading import mapping
from sgdoctor.relaunch import texts
from sgdoctor.relaunch.claim import policy_word
from sgdoctor.relaunch.compose import Edition, asked, return_edition, return_service
from sgdoctor.relaunch.engine import Engine, name_of, runs
from sgdoctor.relaunch.journal import Journal, check_folder
from sgdoctor.relaunch.launches import Launched, To, edits_since, launches_of, names_of, other_engine, wanted_of
from sgdoctor.relaunch.launching import check_place, is_kept, quiet, replace_container
from sgdoctor.relaunch.model import Attempt, Ending, Outcome, Patience, Purpose, Readiness, Watcher, Way
from sgdoctor.texts import Text


@dataclass(frozen=True, slots=True)
class Return:
    """A way back, before anybody agreed to it.

    Attributes:
        document: the container that has the name.
        current: its launch.
        goal: the launch to go back to.
        names: that the container has had.
        edits: of Compose, what leads its file back.
        kept: name of the container of that launch; empty if it is gone, and of Compose, which removes it.
        edition: of Compose, the file as it is going to be.
        refused: why it is not to be done; None if it may be.
    """

    document: Inspection
    current: Attempt
    goal: Launched
    names: frozenset[str]
    edits: tuple[tuple[str, str], ...] = ()
    kept: str = ""
    edition: Edition | None = None
    refused: Text | None = None

    @property
    def wanted(self) -> Attempt:
        """The launch to go back to."""
        return self.goal.attempt

    @property
    def kept_elsewhere(self) -> str:
        """Name of the container of that launch, where somebody gave it one; empty otherwise."""
        return "" if any(is_kept(self.kept, name) for name in self.names) else self.kept


def plan_return(
    client: Client, container: str, to: To = "last-good", *, accept_drift: bool = False, root: Path | None = None
) -> Return:
    """What going back to an earlier launch comes to, with everything that can be known before.

    Args:
        client: of the engine.
        container: name, id or service.
        to: which launch.
        accept_drift: whether it does not matter that Compose would change more than that, see ``compose.drift``.
        root: stands for the state folder of sgdoctor.

    Raises:
        UserError: there is no such launch, or the engine does not answer.
    """
    document = container_document(client, container)
    engine = Engine(client)
    identity = engine.identity()
    held = str(document.data["Id"])
    current, goal = wanted_of(document.name, to, root, identity, held)
    check_engine(engine, goal.journal)
    launches = launches_of(document.name, root, identity, held)
    planned = Return(document, current.attempt, goal, frozenset({document.name, *names_of(launches)}))
    through_compose = current.attempt.way is Way.COMPOSE
    if through_compose:
        planned = replace(planned, edits=tuple(edits_since(goal, launches)))
    else:
        data = _kept(client, goal)
        planned = replace(planned, kept="" if data is None else str(data["Name"]).lstrip("/"))
    try:
        check_folder(root)
        if through_compose:
            edited = return_edition(client, document, planned.edits)
            return replace(planned, edition=asked(client, document, edited, accept_drift=accept_drift))
        check_place(client, document, adopt=goal.attempt.container if planned.kept else "", root=root)
        _check_image(client, planned)
    except UnreachableError:
        raise
    except UserError as error:
        return replace(planned, refused=error.message)
    return planned


def go_back(
    client: Client,
    planned: Return,
    *,
    accept_drift: bool = False,
    readiness: Readiness,
    patience: Patience | None = None,
    watcher: Watcher = quiet,
    root: Path | None = None,
) -> Outcome:
    """Go back to an earlier launch of a container.

    The container of that launch, or one like it where it was removed, takes the place of the one that has it now, which
    is kept. Of Compose, the file is led back.

    Args:
        client: of the engine.
        planned: what was agreed to.
        accept_drift: as of ``plan_return``, as the other arguments.
        readiness: knows when its server serves.
        patience: how long is waited.
        watcher: told of each step.
        root: stands for the state folder of sgdoctor.
    """
    patience = patience or Patience()
    if planned.refused is not None:
        return Outcome(Ending.REFUSED, reason=planned.refused)
    if planned.current.way is Way.COMPOSE:
        return return_service(
            client,
            planned.document,
            planned.edits,
            planned=planned.edition,
            accept_drift=accept_drift,
            readiness=readiness,
            patience=patience,
            watcher=watcher,
            root=root,
        )
    kept = _kept(client, planned.goal)
    return replace_container(
        client,
        planned.document,
        planned.goal.made,
        command=planned.wanted.command,
        adopt=str(kept["Id"]) if kept is not None else "",
        purpose=Purpose.ROLLBACK,
        readiness=readiness,
        patience=patience,
        watcher=watcher,
        root=root,
    )


def removed(client: Client, container: str, to: To = "last-good", root: Path | None = None) -> Text | None:
    """What is left of a container that somebody removed: no relaunch, as nothing is there whose place could be taken.

    Args:
        client: of the engine, which has no container of this name.
        container: the name.
        to: which launch is meant.
        root: stands for the state folder of sgdoctor.

    Returns:
        The commands that put a kept container back, or where its launches can be read; None if none is known.

    Raises:
        UserError: the engine does not answer.
    """
    engine = Engine(client)
    launches = [one for one in launches_of(container, root, engine.identity()) if one.attempt.way is not Way.PROCESS]
    for one in reversed(launches):
        attempt = one.attempt
        served = attempt.ending in (None, Ending.DONE)
        meant = served if to == "last-good" else attempt.number == (0 if to == "original" else to)
        if not meant or attempt.way is not Way.CONTAINER or (data := _kept(client, one)) is None:
            continue
        commands = [f"docker rename {name_of(data)} {container}"]
        policy, now = (policy_word(mapping(of.get("HostConfig"))) or "no" for of in (one.made.body, data))
        if policy != now:
            commands.append(f"docker update --restart {policy} {container}")
        if not runs(data):
            commands.append(f"docker start {container}")
        return texts.removed_and_kept(container, attempt.number, " && ".join(commands))
    return texts.removed_with_all(container) if launches else None


def check_engine(engine: Engine, journal: Journal) -> None:
    """Whether a journal is about containers of this engine.

    Raises:
        UserError: it is not, or the engine does not answer.
    """
    intent = journal.intent
    if intent.engine:
        same = intent.engine == engine.identity()
    else:
        # An old record: the engine that knows its containers is the one.
        same = engine.inspect(intent.old_id) is not None or bool(engine.made_by(journal.id))
    if not same:
        raise other_engine(journal)


def _kept(client: Client, goal: Launched) -> dict[str, Any] | None:
    identity = goal.attempt.container
    return client.container_data(identity) if identity else None


def _check_image(client: Client, planned: Return) -> None:
    """Whether a container that is gone can be made anew.

    Raises:
        UserError: its image is gone as well.
    """
    image = str(planned.goal.made.body.get("Image") or "")
    if not planned.kept and client.image_data(image) is None:
        why = texts.image_missing(image)
        raise UserError(why.en, why.zh)
