"""Reads a model folder: everything that its small files and the headers of its large ones say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from sgdoctor.engines.sglang.memory.pools import GIB
from sgdoctor.engines.sglang.memory.weights import INDEX
from sgdoctor.engines.sglang.quantisation import Quantisation, quantisation_of
from sgdoctor.preflight.models.files import FolderFile, JsonFile, file_at, files_of, json_file, leftovers_of
from sgdoctor.preflight.models.gguf import Gguf, read_gguf
from sgdoctor.preflight.models.shards import Index, Shard, ShardState, index_of, safetensors_shards, torch_shards

CONFIG: Final = "config.json"
TOKENIZER_CONFIG: Final = "tokenizer_config.json"
TEMPLATE_FILES: Final = ("chat_template.jinja", "chat_template.json")
"""Beside ``tokenizer_config.json``, in the order in which transformers looks for them."""
_TORCH_INDEX: Final = "pytorch_model.bin.index.json"
_DOCUMENTS: Final = (
    CONFIG,
    TOKENIZER_CONFIG,
    "generation_config.json",
    "preprocessor_config.json",
    "processor_config.json",
    "video_preprocessor_config.json",
    "special_tokens_map.json",
    "chat_template.json",
    "params.json",
    "quantize_config.json",
    "hf_quant_config.json",
    "quant_model_description.json",
    INDEX,
    _TORCH_INDEX,
)
"""JSON files that are read at once; ``tokenizer.json`` is large, so only the check of the tokenizer reads it."""
# `*.pt` only where there is nothing else: srt/model_loader/loader.py DefaultModelLoader._prepare_weights.
_TORCH: Final = ("*.bin", "*.pt")
_NO_WEIGHTS: Final = frozenset({"training_args.bin", "optimizer.bin", "optimizer.pt", "scheduler.pt", "scheduler.bin"})
_LARGEST_TEMPLATE: Final = 1 << 20
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model on disk.

    Attributes:
        path: as the engine sees it.
        here: the same folder, or the GGUF file, on this machine.
        files: of the folder, by name.
        documents: JSON files that are there, by name.
        shards: files with weights: safetensors, else those of torch.
        index: which file holds which tensor; None without an index, or where it is broken.
        gguf: heads of GGUF files, in the order of their names.
        template_file: content of ``chat_template.jinja``; None if there is none.
        leftovers: traces of downloads that were not finished.
        root: folder of this machine that the engine sees with everything below it, so that links in it work; None
            where the engine sees all.
    """

    path: str
    here: Path
    files: Mapping[str, FolderFile] = field(default_factory=dict)
    documents: Mapping[str, JsonFile] = field(default_factory=dict)
    shards: tuple[Shard, ...] = ()
    index: Index | None = None
    gguf: tuple[Gguf, ...] = ()
    template_file: str | None = None
    leftovers: tuple[str, ...] = ()
    root: Path | None = None

    @property
    def config(self) -> dict[str, Any] | None:
        """Content of ``config.json``; None if there is none that can be read."""
        return self.value(CONFIG)

    @property
    def language(self) -> Mapping[str, Any]:
        """The configuration of the language model alone: the nested part of ``config.json``, where it has one."""
        config = self.config or _NOTHING
        nested = config.get("text_config") or config.get("llm_config") or config.get("language_config")
        return nested if isinstance(nested, dict) else config

    @property
    def settings(self) -> Mapping[str, Any]:
        """``config.json`` with what the nested part of the language model says instead."""
        return {**(self.config or _NOTHING), **self.language}

    @property
    def architectures(self) -> tuple[str, ...]:
        """Names of the model's classes."""
        names = (self.config or _NOTHING).get("architectures")
        return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()

    @property
    def model_type(self) -> str:
        """Of ``config.json``; empty if it has none."""
        value = (self.config or _NOTHING).get("model_type")
        return value if isinstance(value, str) else ""

    @property
    def quantisation(self) -> Quantisation | None:
        """How the weights are quantised; None where they are not, or only GGUF says."""
        beside = {name: document.value for name, document in self.documents.items() if document.value is not None}
        return quantisation_of(self.config, beside)

    @property
    def used_shards(self) -> tuple[Shard, ...]:
        """The files that the engine reads: those that the index names, all without one."""
        if self.index is None:
            return self.shards
        named = set(self.index.files)
        return tuple(shard for shard in self.shards if shard.name in named) or self.shards

    @property
    def weights_gib(self) -> float | None:
        """Size of the weights in GiB; None where a file is not whole or there is none."""
        if self.gguf:
            return sum(file.size for file in self.gguf) / GIB
        shards = self.used_shards
        if not shards or any(shard.state is not ShardState.WHOLE for shard in shards):
            return None
        return sum(shard.header.data_bytes if shard.header else shard.size for shard in shards) / GIB

    def value(self, name: str) -> dict[str, Any] | None:
        """What a JSON file holds; None if it is not there or broken."""
        document = self.documents.get(name)
        return None if document is None else document.value


def read_folder(
    path: str, here: Path, root: Path | None = None, covered: Mapping[str, Path] = MappingProxyType({})
) -> ModelFolder:
    """Read a model.

    Args:
        path: as the engine sees it.
        here: the folder on this machine, or a GGUF file.
        root: folder of this machine that the engine sees; None where it sees all.
        covered: files of this machine that are mounted over files of the folder, by their names there.
    """
    if here.is_file():
        own = file_at(here)
        beside = {} if own is None else {own.name: own}
        return ModelFolder(path, here, beside, gguf=(read_gguf(here),), root=root)
    files = files_of(here)
    documents = {
        name: json_file(covered.get(name, here / name))
        for name in _DOCUMENTS
        if name in covered or _is_there(files, name)
    }
    shards = safetensors_shards(here, _matching(files, "*.safetensors"))
    index = index_of(INDEX, documents[INDEX].value) if INDEX in documents else None
    if not shards:
        shards = torch_shards(here, next((found for one in _TORCH if (found := _matching(files, one))), []))
        index = index_of(_TORCH_INDEX, documents[_TORCH_INDEX].value) if _TORCH_INDEX in documents else index
    return ModelFolder(
        path,
        here,
        files,
        documents,
        shards,
        index,
        tuple(read_gguf(here / file.name) for file in _matching(files, "*.gguf")),
        _template_file(here, files),
        leftovers_of(here),
        root,
    )


def _matching(files: Mapping[str, FolderFile], pattern: str) -> list[FolderFile]:
    return [file for name, file in files.items() if fnmatchcase(name, pattern) and name not in _NO_WEIGHTS]


def _is_there(files: Mapping[str, FolderFile], name: str) -> bool:
    file = files.get(name)
    return file is not None and not file.dangling


def _template_file(here: Path, files: Mapping[str, FolderFile]) -> str | None:
    file = files.get(TEMPLATE_FILES[0])
    if file is None or file.dangling or file.size > _LARGEST_TEMPLATE:
        return None
    try:
        return (here / file.name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
