"""One way to put a model or an engine right without touching either: files to write and edits of the launch."""

from dataclasses import dataclass
from enum import StrEnum

from sgdoctor.launch.change import Change
from sgdoctor.patches.sitecustomize import Part
from sgdoctor.texts import Text


class PatchKind(StrEnum):
    """What is to be put right."""

    LAYER_TYPES = "layer-types"
    MODEL_TYPE = "model-type"


class Means(StrEnum):
    """How, in the order of preference."""

    DATA = "data"
    UPGRADE = "upgrade"
    PIN = "pin"
    SITECUSTOMIZE = "sitecustomize"


@dataclass(frozen=True, slots=True)
class PatchFile:
    """A file to be written on the host.

    Attributes:
        name: relative to ``PatchSite.folder``.
        content: the bytes of it.
        mode: its permissions; the container may run as another user, who only reads it.
        among: absolute path of a folder whose other files are linked beside it; empty where it stands alone.
    """

    name: str
    content: bytes
    mode: int = 0o644
    among: str = ""


@dataclass(frozen=True, slots=True)
class PatchSite:
    """What is known of the place where a patch has to work; every part but the folder may be unknown.

    Attributes:
        folder: host folder for the files, written as it stands in a mount: absolute, or ``./name`` for compose.
        config: content of the model's config.json.
        config_path: absolute path of that config.json inside the container.
        pythonpath: PYTHONPATH that the container has now, be it from the launch or from the image.
        bare: whether the engine is a process of this machine, which sees ``folder`` as it is and has no mounts.
        serves_as: name that clients know the model by, where it comes from the path of the model; else None.
        sglang: version of SGLang in the image.
        transformers: version of transformers in the image.
        startup: what stands at the place of the start-up file now, and in the one that the launch has.
        model_type: of ``MODEL_TYPE`` the name that is registered twice; of ``LAYER_TYPES`` the type of the model.
    """

    folder: str
    config: bytes | None = None
    config_path: str | None = None
    pythonpath: str | None = None
    bare: bool = False
    serves_as: str | None = None
    sglang: str | None = None
    transformers: str | None = None
    model_type: str | None = None
    startup: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class PatchPlan:
    """One way to put it right.

    Attributes:
        kind: what is put right.
        means: how.
        files: what has to be written before the start.
        changes: edits of the launch; a ``file.mount`` has the path in the container as its name and the path on the
            host as its value, and is read-only.
        safety: ``safe``, ``unsafe`` (works, but is to be confirmed) or ``manual``, as of fixes of rules.
        why: what is done and why it is right.
        effect: what it costs, what may go wrong.
        verify: how to see that it works.
        undo: how to get rid of it.
        parts: what a generated start-up file among ``files`` is made of.
    """

    kind: PatchKind
    means: Means
    files: tuple[PatchFile, ...]
    changes: tuple[Change, ...]
    safety: str
    why: Text
    effect: Text
    verify: Text
    undo: Text
    parts: tuple[Part, ...] = ()
