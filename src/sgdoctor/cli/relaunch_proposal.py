"""What ``sgdoctor relaunch`` is about to do with a container, and why it will not."""

import argparse
import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sgdoctor.cli.fix_answer import answer_for
from sgdoctor.cli.relaunch_texts import words
from sgdoctor.containers.client import Client
from sgdoctor.containers.launches import container_document
from sgdoctor.containers.spool import state_dir
from sgdoctor.containers.transport import UnreachableError
from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.errors import UserError
from sgdoctor.fixes.model import Answer
from sgdoctor.launch.change import KINDS, Change
from sgdoctor.launch.flag_edits import given_flags
from sgdoctor.launch.inspection import Inspection
from sgdoctor.redaction import HIDDEN
from sgdoctor.relaunch import texts
from sgdoctor.relaunch.compose import ComposeService, Edition, asked, edition
from sgdoctor.relaunch.dependents import dependents
from sgdoctor.relaunch.journal import check_folder
from sgdoctor.relaunch.kept_image import kept_image
from sgdoctor.relaunch.launching import check_place, examined, is_same, left_behind
from sgdoctor.report.wording import change_text
from sgdoctor.targets import AsDockerRun, open_target
from sgdoctor.texts import Text
from sgdoctor.watching.history import History, Key
from sgdoctor.watching.stages import BANDS, Now, stages_of
from sgdoctor.writing import read_text

if TYPE_CHECKING:
    from sgdoctor.rules.base import RuleBase

_TAG: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_IMAGE_VERSION: Final = re.compile(r":v?(\d+\.\d+\.\d+(?:\.?post\d+)?)")
_MOUNTS: Final = frozenset({"file.mount", "docker.volume"})


class Expected(NamedTuple):
    """How long a start is going to take.

    Attributes:
        low: seconds.
        high: likewise.
        source: ``learned`` from earlier starts here, ``last`` from its own last one, ``bands`` for what is usual.
    """

    low: float
    high: float
    source: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """One relaunch, before anybody agreed to it.

    Attributes:
        container: name.
        id: of it.
        inspection: the container, as the plan was made from it.
        answer: with the plan.
        runs: whether it runs, or is about to.
        start: how long the new start takes.
        folder: that the files of the plan are written into.
        lost: paths in the container that a new one does not have.
        dependents: what other containers lose, one line for each kind.
        kept_image: what is to be known of an image whose name names another one by now; None of others.
        refused: why it is not to be done; None if it may be.
        edition: of one of Compose, its file with the changes, as Compose reads it.
    """

    container: str
    id: str
    inspection: Inspection
    answer: Answer
    runs: bool
    start: Expected
    folder: Path
    lost: tuple[str, ...] = ()
    refused: Text | None = None
    dependents: tuple[Text, ...] = ()
    kept_image: Text | None = None
    edition: Edition | None = None

    @property
    def changes(self) -> tuple[Change, ...]:
        """Of the plan."""
        return self.answer.plan.changes

    @property
    def serves(self) -> bool:
        """Whether somebody would miss it while it is down, as far as its log tells."""
        verdict = self.answer.verdict
        return self.runs and (verdict is None or verdict.state not in (State.FAILED, State.UNDETERMINED))

    @property
    def through_compose(self) -> bool:
        """Whether its file is the place for the changes."""
        return self.inspection.compose is not None

    @property
    def removes_itself(self) -> bool:
        """Whether the old container is gone once it is stopped."""
        return bool((self.inspection.data.get("HostConfig") or {}).get("AutoRemove"))


def propose(client: Client, name: str, base: "RuleBase", arguments: argparse.Namespace) -> Proposal:
    """What is to be done, with everything that can be known before.

    Args:
        client: of the engine.
        name: of the container, its id or service.
        base: the rules.
        arguments: of the command line.

    Raises:
        UserError: there is no such container, or a wish cannot be fulfilled.
    """
    inspection = container_document(client, name)
    identity = str(inspection.data["Id"])
    wishes = argparse.Namespace(
        choose=arguments.fix, set=arguments.set, unset=arguments.unset, env=arguments.env, version=arguments.version
    )
    more: list[Change] = []
    if arguments.image is not None:
        image = full_image(arguments.image, inspection.launch.image or "")
        more.append(Change("image.tag", "", image))
        if wishes.version is None and (found := _IMAGE_VERSION.search(image)):
            wishes.version = found[1]
    if arguments.plan is not None:
        more += planned(arguments.plan, inspection)
    only = bool(more or arguments.fix or arguments.set or arguments.unset or arguments.env)
    # The id, so that a file of the container's name is not taken for it.
    with open_target([identity], None) as target:
        folder = Path.cwd() if target.file is None else target.file.path.absolute().parent
        document = target.document
        if isinstance(document, AsDockerRun):
            inspection = document.inspection
        answer = answer_for(replace(target, name=inspection.name), base, wishes, more, only=only)
    return proposal_of(client, inspection, answer, folder, accept_drift=arguments.accept_drift)


def proposal_of(
    client: Client, inspection: Inspection, answer: Answer, folder: Path, *, accept_drift: bool
) -> Proposal:
    """What a plan for a container comes to.

    Args:
        client: of the engine.
        inspection: the container, as the plan was made from it.
        answer: with the plan.
        folder: that the files of the plan are written into.
        accept_drift: whether it does not matter that Compose would change more than the plan.

    Raises:
        UserError: the engine does not answer.
    """
    status = (inspection.data.get("State") or {}).get("Status")
    identity = str(inspection.data["Id"])
    proposal = Proposal(
        container=inspection.name,
        id=identity,
        inspection=inspection,
        answer=answer,
        runs=status in ("running", "restarting"),
        start=expected_start(answer, inspection),
        folder=folder,
    )
    try:
        check_folder()
        service = examined(client, inspection)
        why = _refused(client, proposal, service)
        if why is None and service is not None:
            # All that Compose has to be asked is asked before consent: behind it each of its starts is waited for.
            edited = edition(service, proposal.changes, answer.flags)
            proposal = replace(proposal, edition=asked(client, inspection, edited, accept_drift=accept_drift))
        elif why is None:
            check_place(client, inspection)
    except UnreachableError:
        raise
    except UserError as error:
        why = error.message
    if why is not None:
        return replace(proposal, refused=why)
    mounted = [str(mount.get("Destination")) for mount in inspection.data.get("Mounts") or ()]
    others = () if proposal.through_compose else dependents(client, identity)
    return replace(
        proposal,
        lost=lost_paths(left_behind(client, identity), mounted),
        dependents=others,
        kept_image=kept_image(client, inspection, proposal.changes),
    )


def full_image(given: str, now: str) -> str:
    """The image that is meant: a mere tag is one of the same image.

    Args:
        given: by the user.
        now: of the container.
    """
    if not _TAG.fullmatch(given) or not now or now.startswith("sha256:"):
        return given
    repository = now.partition("@")[0]
    head, slash, tail = repository.rpartition("/")
    return f"{head}{slash}{tail.partition(':')[0]}:{given}"


def planned(file: str, inspection: Inspection) -> list[Change]:
    """The changes of a plan that ``sgdoctor fix --format json`` printed.

    Args:
        file: in which it stands.
        inspection: the container that it is for.

    Raises:
        UserError: it is no such plan, secrets are hidden in it, or it was made for another launch.
    """
    try:
        data = json.loads(read_text(Path(file)).text)
        if data["schema"] != 1:
            raise ValueError(f"schema {data['schema']}")  # noqa: TRY301 - one way to say what is wrong with it
        changes = [Change(str(one["kind"]), str(one["name"]), one["value"]) for one in data["plan"]["changes"]]
        argv, image = [str(word) for word in data["launch"]["argv"]], data["launch"]["image"]
        unknown = next((one.kind for one in changes if one.kind not in KINDS), None)
        if unknown is not None or not all(one.value is None or isinstance(one.value, str) for one in changes):
            raise ValueError(unknown or "value")  # noqa: TRY301
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        why = f"{type(error).__name__} {error}" if isinstance(error, LookupError) else str(error)
        raise _error("plan.unreadable", file=file, why=why) from None
    if any(HIDDEN in (one.value or "") for one in changes):
        raise _error("plan.hidden", file=file)
    launch = inspection.launch
    same = len(argv) == len(launch.argv) and all(
        HIDDEN in word or word == now for word, now in zip(argv, launch.argv, strict=True)
    )
    if not same or image not in (None, launch.image):
        raise _error("plan.other", file=file, name=inspection.name)
    return changes


# ---------------------------------------------------------------- why not


def _refused(client: Client, proposal: Proposal, service: ComposeService | None) -> Text | None:
    """Why this is not to be done; None if it may be, as far as Compose has no say in it."""
    plan, inspection = proposal.answer.plan, proposal.inspection
    if not plan.changes:
        return _text("nothing")
    if (reason := plan.refused) is not None:
        return _both(lambda lang: words(lang, "refused.edit", why=reason.in_language(lang)))
    if service is not None:
        return None
    if why := _no_place(proposal) or _missing(client, proposal):
        return why
    # The files of a plan may be new where the container that reads them is not.
    same = not plan.files and is_same(client, inspection, plan.changes, proposal.answer.flags)
    return texts.SAME if same else None


def _no_place(proposal: Proposal) -> Text | None:
    """Changes that would silently not be made."""
    asked = set(proposal.changes)
    left = [one for one in proposal.answer.plan.left if one.change in asked]
    if not left:
        return None

    def text(lang: str) -> str:
        changes = ", ".join(change_text(one.change, lang) for one in left if one.change is not None)
        why = "; ".join(dict.fromkeys(one.why.in_language(lang) for one in left))
        return words(lang, "refused.left", changes=changes, why=why)

    return _both(text)


def _missing(client: Client, proposal: Proposal) -> Text | None:
    """What the new container needs and is not there."""
    plan = proposal.answer.plan
    image = next((one.value for one in plan.changes if one.kind == "image.tag"), None)
    if image is not None and client.image_data(image) is None:
        return _text("refused.image", image=image)
    if client.connections.endpoint.scheme != "unix":
        return _text("refused.files") if plan.files else None
    written = {str(proposal.folder / file.path) for file in plan.files}
    for change in plan.changes:
        if change.kind not in _MOUNTS:
            continue
        source = change.value or "" if change.kind == "file.mount" else (change.value or "").partition(":")[0]
        is_there = os.path.lexists(source) or any(file == source or file.startswith(f"{source}/") for file in written)
        if source.startswith("/") and not is_there:
            return _text("refused.sources", path=source)
    return None


# ---------------------------------------------------------------- what to expect


def expected_start(answer: Answer, inspection: Inspection) -> Expected:
    """How long the start is going to take: as learned here, as the last one, or as usual."""
    verdict = answer.verdict
    learned = History(state_dir() / "starts.jsonl").usual(_key(answer, inspection), "ready")
    if learned is not None:
        return Expected(*learned, "learned")
    ready = _fact(verdict, "ready_seconds")
    if isinstance(ready, int | float) and ready > 0:
        return Expected(ready * 0.9, ready * 1.2, "last")
    if verdict is None:
        usual = list(BANDS.values())
    else:
        stages = stages_of(verdict, Now(), lambda _: None, going_on=False)
        usual = [stage.usual for stage in stages if stage.usual is not None] or list(BANDS.values())
    return Expected(sum(low for low, _ in usual), sum(high for _, high in usual), "bands")


def _key(answer: Answer, inspection: Inspection) -> Key:
    """The kind of start, as watching knows it."""
    launch, flags = answer.plan.after, answer.flags
    given = {flags.canonical(one.flag): one.values for one in given_flags(launch.argv, launch.flags_at, flags)}
    model = (given.get("--model-path") or ("",))[-1].rstrip("/").rpartition("/")[2]
    quantisation = _fact(answer.verdict, "quantisation") or _fact(answer.verdict, "args.quantization") or ""
    return Key(model, str(quantisation), str((inspection.data.get("Config") or {}).get("Image") or ""))


def _fact(verdict: Verdict | None, name: str) -> Any:
    fact = verdict.facts.get(name) if verdict is not None else None
    return None if fact is None else fact.value


def lost_paths(changed: Sequence[str], mounted: Sequence[str]) -> tuple[str, ...]:
    """What is only in the container: a folder is listed for each change below it, and for each mount.

    Args:
        changed: paths that are not as in the image.
        mounted: paths that something is mounted at.
    """
    there = sorted(changed, key=lambda path: path.split("/"))
    leaves = (path for path, following in pairwise([*there, ""]) if not following.startswith(f"{path}/"))
    return tuple(path for path in leaves if not any(f"{at}/".startswith(f"{path}/") for at in mounted))


def _text(key: str, **values: Any) -> Text:
    return Text(words("en", key, **values), words("zh", key, **values))


def _both(text: Callable[[str], str]) -> Text:
    return Text(text("en"), text("zh"))


def _error(key: str, **values: Any) -> UserError:
    text = _text(key, **values)
    return UserError(text.en, text.zh)
