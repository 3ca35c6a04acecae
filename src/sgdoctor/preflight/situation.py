"""Gathers everything that checks look at, from all sides at the same time."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.engines.sglang.flags.schemas import schema
from sgdoctor.errors import UserError
from sgdoctor.fixes.changed import as_meant
from sgdoctor.fixes.config_file import WithConfig, with_config
from sgdoctor.fixes.flag_tables import likeliest
from sgdoctor.launch.docker_run import DockerRun
from sgdoctor.launch.engine_command import EngineCommand
from sgdoctor.launch.host_paths import source_of, started_in
from sgdoctor.launch.model import Document, FlagTable, Launch
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.cards import named_cards
from sgdoctor.preflight.deadline import asked_together
from sgdoctor.preflight.engine import (
    EngineFacts,
    ImageRead,
    endpoint_or_reason,
    engine_facts,
    image_of,
    late,
    may_be_elsewhere,
)
from sgdoctor.preflight.host import host_of, questions
from sgdoctor.preflight.model import HostFacts, Situation
from sgdoctor.preflight.model_folder import covered_files, model_of
from sgdoctor.preflight.models.folder import ModelFolder, read_folder
from sgdoctor.texts import Text

SECONDS: Final = 2.5
"""That this machine and its engine have to answer; checks themselves take the rest of three seconds."""
SECONDS_ELSEWHERE: Final = 10.0
"""The same for an engine behind a network, to which every question is a connection of its own."""
_CACHES: Final = ("cache", "huggingface", "modelscope", "hub")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user says instead of what is there.

    Attributes:
        gpu: cards, as ``cards.named_cards`` reads them; empty for those of the machine.
        model: folder of the model; None for the one that the launch names.
        version: of SGLang; empty for that of the image.
        seconds: that everybody who is asked has; None for the usual time.
    """

    gpu: str = ""
    model: Path | None = None
    version: str = ""
    seconds: float | None = None


def situation_for(document: Document | None, beside: Path, wanted: Wanted | None = None) -> Situation:
    """Everything there is to know about a launch before its start.

    Args:
        document: the launch; None where only the host is checked.
        beside: folder of this machine that relative paths of the launch start from.
        wanted: what the user says.

    Raises:
        UserError: a card is not known, or there is no such model folder.
    """
    wanted = wanted or Wanted()
    launch = document.launch if document is not None else None
    if isinstance(document, DockerRun | EngineCommand):
        beside = started_in(document.text, beside)
    simulated = named_cards(wanted.gpu) if wanted.gpu else ()
    in_container = launch is None or launch.image is not None
    endpoint, reason = endpoint_or_reason()
    answers = _answers(endpoint, launch.image if launch is not None else None, wanted)
    engine = _engine(answers, endpoint, reason)
    host = host_of(
        answers, engine, in_container=in_container, simulated=simulated, folders=_written_folders(launch, beside)
    )
    image = _image(answers, launch)
    version = wanted.version or (image.facts.sglang if image is not None else None) or None
    flags = image.flags if image is not None and not wanted.version else None
    flags = flags or (schema(version) if version else likeliest(document, {}))
    config = None
    if document is not None:
        document_read = with_config(document, flags, beside)
        launch = as_meant(document_read, document_read.problems, flags)
        config = document_read.config if isinstance(document_read, WithConfig) else None
    model, why = _model(launch, wanted, flags, beside, image, host=host)
    return Situation(
        host=host,
        document=document,
        launch=launch,
        image=image.facts if image is not None else None,
        model=model,
        model_reason=why,
        version=version,
        flags=flags,
        beside=beside,
        config=config,
    )


def _answers(endpoint: Endpoint | None, image: str | None, wanted: Wanted) -> dict[str, Any]:
    asked: dict[str, Callable[[], Any]] = dict(questions())
    with ExitStack() as stack:
        clients = []
        if endpoint is not None:
            clients.append(one := stack.enter_context(Client(endpoint)))
            asked["engine"] = lambda: engine_facts(one)
        if endpoint is not None and image:
            clients.append(other := stack.enter_context(Client(endpoint)))
            asked["image"] = lambda: image_of(other, image)
        far = endpoint is not None and may_be_elsewhere(endpoint)
        seconds = wanted.seconds or (SECONDS_ELSEWHERE if far else SECONDS)

        def give_up() -> None:
            for client in clients:
                client.cancel()

        return asked_together(asked, seconds, give_up)


def _engine(answers: dict[str, Any], endpoint: Endpoint | None, reason: Text | None) -> EngineFacts:
    if endpoint is None:
        return EngineFacts(reason=reason)
    found: EngineFacts | None = answers.get("engine")
    return found or EngineFacts(endpoint.url, may_be_elsewhere(endpoint), reason=late(endpoint.url))


def _image(answers: dict[str, Any], launch: Launch | None) -> ImageRead | None:
    if launch is None or not launch.image:
        return None
    found: ImageRead | None = answers.get("image")
    # Without an answer the name of the image still says something.
    return found or image_of(None, launch.image)


def _model(
    launch: Launch | None, wanted: Wanted, flags: FlagTable, beside: Path, image: ImageRead | None, *, host: HostFacts
) -> tuple[ModelFolder | None, Text | None]:
    if wanted.model is not None:
        if not wanted.model.exists():
            raise UserError(f"--model {wanted.model}: not there", f"--model {wanted.model}：不存在")
        inside = asked_by(launch, flags).value("--model-path")
        covered = covered_files(launch, inside, beside) if launch is not None and inside else {}
        return read_folder(inside or str(wanted.model), wanted.model, covered=covered), None
    if launch is None:
        return None, Text("no launch was named", "没有指定启动配置")
    config = (image.facts.config if image is not None else None) or {}
    entries = (config.get("Config") or {}).get("Env") or ()
    env = dict(str(entry).partition("=")[::2] for entry in entries)
    return model_of(launch, flags, beside, env, host=host)


def _written_folders(launch: Launch | None, beside: Path) -> Sequence[Path]:
    """Folders of this machine that downloads of the launch go to."""
    if launch is None:
        return ()
    if launch.image is None:
        return (Path.home() / ".cache" / "huggingface",)
    return tuple(
        source_of(mount, beside)
        for mount in launch.mounts
        if mount.kind == "bind" and not mount.read_only and any(word in mount.target.lower() for word in _CACHES)
    )
