"""Whether links in the model folder work inside the container."""

import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import ClassVar, Final

from sgdoctor.launch.change import Change
from sgdoctor.launch.host_paths import host_path
from sgdoctor.launch.model import Launch
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.preflight.models.files import FolderFile
from sgdoctor.preflight.models.folder import ModelFolder
from sgdoctor.texts import Text

_RULE: Final = "SGL306"
_SNAPSHOTS: Final = "snapshots"


class ModelLinks:
    """Follows symbolic links as the container would: only to what is mounted."""

    id: ClassVar[str] = "model-links"
    area: ClassVar[Area] = Area.MODEL
    title: ClassVar[Text] = Text("Links", "链接")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """Links that leave what is mounted, such as those of a Hugging Face cache of which only a part is."""
        model, launch = situation.model, situation.launch
        if model is None or launch is None or model.root is None:
            return
        links = [file for file in model.files.values() if file.target is not None and not file.dangling]
        if not links:
            return
        lost = [file for file in links if not _works(file, model, launch, situation.beside)]
        if not lost:
            yield Finding(Status.PASS, Text("links stay within what is mounted", "链接均指向已挂载的内容"))
            return
        yield Finding(
            Status.FAIL,
            Text(
                f"links to places that are not mounted: {len(lost)} of the files",
                f"{len(lost)} 个文件是链接，其目标没有挂载",
            ),
            f"{lost[0].name} -> {lost[0].target}",
            prevents=_RULE,
            changes=_whole_repository(model),
            detail=Text(
                "In a Hugging Face cache `snapshots` holds links into `blobs`: mount the folder above both.",
                "Hugging Face 缓存中 `snapshots` 里的文件是指向 `blobs` 的链接：请挂载它们共同的上级目录。",
            ),
            phase="config",
        )


def _works(file: FolderFile, model: ModelFolder, launch: Launch, beside: Path) -> bool:
    assert file.target is not None
    assert model.root is not None
    written = (model.here / file.name).readlink()
    if written.is_absolute():
        inside = host_path(launch, str(written), beside)
        return inside is not None and inside.exists()
    return file.target.is_relative_to(Path(os.path.realpath(model.root)))


def _whole_repository(model: ModelFolder) -> tuple[Change, ...]:
    """The mount of the whole repository of a cache, and the path of the snapshot in it."""
    here = Path(os.path.realpath(model.here))
    if here.parent.name != _SNAPSHOTS:
        return ()
    repository = here.parent.parent
    inside = PurePosixPath("/models") / repository.name
    return (
        Change("docker.volume", "", f"{repository}:{inside}:ro"),
        Change("flag.set", "--model-path", str(inside / _SNAPSHOTS / here.name)),
    )
