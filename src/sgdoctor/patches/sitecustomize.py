"""Generating a `sitecustomize.py` that patches every process of the engine, and knowing such a file again."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from importlib.resources import files
from typing import Final

from sgdoctor import __version__
from sgdoctor.patches.versions import (
    CHECKS_EVERY_CONFIG,
    HAS_QWEN3_ASR,
    REGISTERS_QWEN3_ASR,
    Range,
)

FILE_NAME: Final = "sitecustomize.py"

# Names of model types as transformers has them; nothing else may get into generated code.
_MODEL_TYPE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}")
_REGISTER: Final = "register "
_LAYER_TYPES: Final = "layer_types of "
_CHECKSUM: Final = re.compile(r"^# sha256: ([0-9a-f]{64})\n", re.MULTILINE)
_GENERATOR: Final = re.compile(r"\A# sitecustomize\.py, written by sgdoctor (\S{1,40})\s*\n")
_PART: Final = re.compile(r"^# patch: (.{1,200}?) \[for ([^\]\n]{1,200})\]$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Part:
    """One patch of a generated file.

    Attributes:
        label: what it is called in the file and in the line that it prints: ``register qwen3_asr``.
        ranges: the versions that it is for; the first one is named when it is applied.
        template: name of its file in ``templates``, without the ending.
        function: the function in there that makes the patch.
        module: the module after whose loading it is made.
        placeholder: what stands for ``names`` in the template.
        names: model types that it is about.
    """

    label: str
    ranges: tuple[Range, ...]
    template: str
    function: str
    module: str
    placeholder: str
    names: tuple[str, ...]


def register_again(model_type: str) -> Part:
    """Lets the engine register a model type that transformers has too; all others are refused as before.

    Args:
        model_type: as in the message `... is already used by a Transformers config`.

    Raises:
        ValueError: it is not the name of a model type.
    """
    of_asr = model_type == "qwen3_asr"
    return Part(
        label=f"{_REGISTER}{model_type}",
        ranges=(HAS_QWEN3_ASR, REGISTERS_QWEN3_ASR) if of_asr else (Range("transformers", (5,), (6,)),),
        template="model_type",
        function="_register_again",
        module="transformers.models.auto.configuration_auto",
        placeholder="MODEL_TYPES",
        # The same module of SGLang registers both (srt/configs/qwen3_asr.py, 0.5.11 to 0.5.19).
        names=_checked(("qwen3_asr", "qwen3_asr_thinker") if of_asr else (model_type,)),
    )


def fill_layer_types(model_types: Sequence[str]) -> Part:
    """Fills in a `layer_types` that is too short, for models of the Qwen3-Next family.

    Args:
        model_types: ``model_type`` of the config that holds the list, such as ``qwen3_5_moe_text``.

    Raises:
        ValueError: one of them is not the name of a model type.
    """
    names = _checked(tuple(model_types))
    return Part(
        label=f"{_LAYER_TYPES}{', '.join(names)}",
        ranges=(CHECKS_EVERY_CONFIG,),
        template="layer_types",
        function="_fill_layer_types",
        module="transformers.configuration_utils",
        placeholder="CONFIG_TYPES",
        names=names,
    )


def generated(parts: Sequence[Part]) -> str:
    """The content of a `sitecustomize.py` with these patches, each with another label."""
    bodies = []
    rows = []
    kinds: Counter[str] = Counter()
    for part in parts:
        kinds[part.template] += 1
        # Patches of one kind stand beside each other under names of their own.
        nth = "" if kinds[part.template] == 1 else f"_{kinds[part.template]}"
        function = f"{part.function}{nth}"
        body = _template(part.template).replace(part.function, function)
        body = body.replace(f"_{part.placeholder}", f"_{part.placeholder}{nth}")
        bodies.append(body.replace(f"@@{part.placeholder}@@", repr(part.names)))
        ranges = tuple((one.package, one.lowest, one.below) for one in part.ranges)
        rows.append(f"    ({part.label!r}, {part.module!r}, {ranges!r}, {function}),\n")
    lines = [f"# sitecustomize.py, written by sgdoctor {__version__}"]
    lines += [f"# patch: {part.label} [for {'; '.join(map(str, part.ranges))}]" for part in parts]
    head = "\n".join(lines) + "\n"
    body = _template("frame").replace("@@PARTS@@\n", "".join(bodies)).replace("@@TABLE@@", "".join(rows))
    return f"{head}# sha256: {_checksum(head + body)}\n{body}"


class FileState(StrEnum):
    """What a file on the disk is."""

    OURS = "ours"
    EDITED = "edited"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Verified:
    """What a `sitecustomize.py` was found to be.

    Attributes:
        state: written here and unchanged; written here and changed since; not written here.
        generator: the version that wrote it; None of a foreign file.
        patches: label and versions of each patch in it, as the file says.
    """

    state: FileState
    generator: str | None = None
    patches: tuple[tuple[str, str], ...] = ()

    @property
    def current(self) -> bool:
        """Whether it is unchanged and this version of sgdoctor wrote it."""
        return self.state is FileState.OURS and self.generator == __version__


def verify(content: bytes) -> Verified:
    """Whether a file was generated here, and whether anybody changed it since."""
    text = content.decode(errors="replace")
    generator = _GENERATOR.match(text)
    if generator is None:
        return Verified(FileState.FOREIGN)
    written = _CHECKSUM.search(text)
    intact = written is not None and _checksum(text[: written.start()] + text[written.end() :]) == written[1]
    head = text[: written.start()] if written else text
    patches = tuple((found[1], found[2]) for found in _PART.finditer(head))
    return Verified(FileState.OURS if intact else FileState.EDITED, generator[1], patches)


def parts_of(content: bytes) -> tuple[Part, ...]:
    """The patches of a file that was generated here and that nobody changed; none of another file.

    A patch that this version of sgdoctor does not know is left out.
    """
    verified = verify(content)
    known = (_part_called(label) for label, _ in verified.patches) if verified.state is FileState.OURS else ()
    return tuple(part for part in known if part is not None)


def _part_called(label: str) -> Part | None:
    try:
        if label.startswith(_REGISTER):
            return register_again(label.removeprefix(_REGISTER))
        if label.startswith(_LAYER_TYPES):
            return fill_layer_types(label.removeprefix(_LAYER_TYPES).split(", "))
    except ValueError:
        pass
    return None


def _checked(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if not _MODEL_TYPE.fullmatch(name):
            raise ValueError(f"not the name of a model type: {name!r}")
    return names


def _checksum(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _template(name: str) -> str:
    return (files("sgdoctor.patches") / "templates" / f"{name}.py.in").read_text(encoding="utf-8")
