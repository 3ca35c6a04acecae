"""Reading model folders: headers of files that mean no good, links, caches, and the path through mounts."""

import json
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.engines.sglang.memory.safetensors import HeaderError, read_header
from sgdoctor.engines.sglang.models import architecture, method, model_type, newest_known
from sgdoctor.launch.change import Change
from sgdoctor.launch.model import Launch, Mount
from sgdoctor.preflight.model import Status
from sgdoctor.preflight.models import shards
from sgdoctor.preflight.models.folder import read_folder
from sgdoctor.preflight.models.gguf import read_gguf
from sgdoctor.preflight.models.shards import ShardState, missing_numbers
from sgdoctor.preflight.models.templates import fault_in
from tests.preflight.model_folders import CHAT, Folder, decoder, gguf, shard, write
from tests.preflight.model_situations import findings, launch_of, situation_of, troubles
from tests.preflight.models import config

SMALL = Folder(config("LlamaForCausalLM", "llama", (2, 64, 2, 2, 128, 256, 4096)), {})
IMAGE = "lmsysorg/sglang:v0.5.15"


def raw(header: bytes, length: int | None = None) -> bytes:
    return struct.pack("<Q", len(header) if length is None else length) + header


def entry(shape: Any = (2,), offsets: Any = (0, 2), dtype: Any = "U8") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def tensors(**entries: Any) -> bytes:
    return raw(json.dumps(entries).encode())


BAD_HEADERS = {
    "no length": b"\x01",
    "a length beyond the file": raw(b"{}", 1 << 40),
    "a length of all ones": b"\xff" * 8 + b"{}",
    "no object": raw(b"[1, 2]"),
    "no JSON": raw(b"{'a': 1}"),
    "not UTF-8": raw(b'{"\xff": 1}'),
    "nested deeply": raw(b'{"a":' * 100_000),
    "lists nested deeply": raw(b'{"a":' + b"[" * 100_000),
    "a number of many digits": raw(b'{"a": ' + b"9" * 10_000 + b"}"),
    "more entries than allowed": raw(b'{"a": [' + b"0," * 6_100_000 + b"0]}"),
    "a name that stands twice": raw(b'{"a": %s, "a": %s}' % ((json.dumps(entry()).encode(),) * 2)),
    "an entry that is none": tensors(a=[]),
    "offsets of three": tensors(a=entry(offsets=(0, 2, 3))),
    "negative offsets": tensors(a=entry(offsets=(-2, 0))),
    "offsets that run backwards": tensors(a=entry(offsets=(2, 0))),
    "offsets that are no numbers": tensors(a=entry(offsets=("0", "2"))),
    "offsets that are truths": tensors(a=entry(shape=(1,), offsets=(False, True))),
    "negative shape": tensors(a=entry(shape=(-2, -1))),
    "a huge shape": tensors(a=entry(shape=(1 << 62, 4), offsets=(0, 0))),
    "a shape that is no list": tensors(a=entry(shape="22")),
    "a shape that does not fit": tensors(a=entry(shape=(3,))),
    "overlaps": tensors(a=entry(), b=entry(offsets=(1, 3))),
    "a gap": tensors(a=entry(), b=entry(offsets=(3, 5))),
}


@pytest.mark.parametrize("name", BAD_HEADERS)
def test_headers_that_mean_no_good(name: str, tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(BAD_HEADERS[name])

    with pytest.raises(HeaderError):
        read_header(file)
    assert ShardState.DAMAGED is read_folder("/m", tmp_path).shards[0].state


@given(st.binary(max_size=64))
def test_any_bytes_are_a_header_or_none(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.mktemp("any") / "model.safetensors"
    file.write_bytes(raw(data))
    with suppress(HeaderError):
        header = read_header(file)

        assert 8 + len(data) == header.start


@pytest.mark.slow
def test_a_hundred_thousand_tensors(tmp_path: Path) -> None:
    shard(
        tmp_path / "model.safetensors", {f"model.layers.{n // 500}.x.{n % 500}": ("U8", (1,)) for n in range(100_000)}
    )

    header = read_folder("/m", tmp_path).shards[0].header
    assert header is not None
    assert (100_000, 100_000) == (len(header.tensors), header.data_bytes)


def test_too_many_tensors_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "_MOST_TENSORS", 8)
    for number in range(4):
        shard(tmp_path / f"{number}.safetensors", {f"x{n}": ("U8", (1,)) for n in range(3)})

    assert [ShardState.WHOLE] * 3 + [ShardState.UNREAD] == [one.state for one in read_folder("/m", tmp_path).shards]


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        (
            {"model-00001-of-00003.safetensors"},
            ("model-00002-of-00003.safetensors", "model-00003-of-00003.safetensors"),
        ),
        ({"m-00001-of-00002.gguf", "m-00002-of-00002.gguf"}, ()),
        ({"m-00000-of-00002.bin", "m-00001-of-00002.bin"}, ()),
        ({"model.safetensors"}, ()),
    ],
)
def test_numbers_of_files(names: set[str], missing: tuple[str, ...]) -> None:
    assert missing == missing_numbers(names)


def test_a_number_of_files_from_the_internet_is_bounded() -> None:
    assert 1000 >= len(missing_numbers({"m-00001-of-99999.safetensors"}))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GGUF",
        b"GGUF" + struct.pack("<IQQ", 1, 0, 0),
        b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 0),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60),
        b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 62),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"a" + struct.pack("<IIQ", 9, 8, 1 << 62),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"a" + struct.pack("<IIQ", 9, 9, 1) * 9,
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"a" + struct.pack("<I", 77),
    ],
)
def test_heads_of_gguf_that_mean_no_good(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(content)

    assert read_gguf(file).problem


def test_the_head_of_a_gguf_file(tmp_path: Path) -> None:
    gguf(tmp_path / "m.gguf")
    head = read_gguf(tmp_path / "m.gguf")

    assert ("qwen3", 4) == (head.values["general.architecture"], head.tensors)
    assert ("", False) == (head.problem, head.short)
    assert head.size == head.needs
    assert CHAT == head.values["tokenizer.chat_template"]


@pytest.mark.parametrize(
    ("template", "line"),
    [
        ("{% if a %}b{% endif %}", None),
        ("{%- for m in messages -%}{{- m['content'] -}}{%- endfor -%}", None),
        ("{# {% if #}{% raw %}{% if %}{{ {% endraw %}", None),
        ("{% set x = '%}' %}{{ \"it's }}\" }}{{ {'a': {'b': 1}} }}", None),
        ("{% set x %}text{% endset %}{% generation %}{% endgeneration %}{% break %}", None),
        ("{% if a %}\n{% for b in c %}\n{% endif %}", 3),
        ("text\n{% if a %}", 2),
        ("{% endif %}", 1),
        ("{{ a", 1),
        ("{% if a", 1),
        ("{# a", 1),
        ("{% raw %}", 1),
        ("{% %}", 1),
        ("{% if 'a %}", 1),
        ("{{ '" + "\\'" * 300_000, 1),
        ("{{ " + "\\" * 300_001, 1),
        ("\n{% if a %}" * 60_000, 60_001),
    ],
)
def test_blocks_of_templates(template: str, line: int | None) -> None:
    fault = fault_in(template)

    assert line == (fault.line if fault else None)


def container(path: str, *mounts: Mount, env: dict[str, str | None] | None = None, image: str = IMAGE) -> Launch:
    return launch_of("--model-path", path, image=image, mounts=mounts, env=env)


def said(launch: Launch, beside: Path) -> tuple[str, str | None, tuple[Change, ...]]:
    (found,) = findings(situation_of(launch, beside), "model-path")
    return found.status.value, found.prevents, found.changes


def test_a_path_through_a_mount(tmp_path: Path) -> None:
    write(SMALL, tmp_path / "models" / "org" / "name")
    mount = Mount("/models", "models", read_only=True)
    situation = situation_of(container("/models/org/name", mount), tmp_path)

    assert situation.model is not None
    assert ("/models/org/name", tmp_path / "models/org/name") == (situation.model.path, situation.model.here)
    assert ("pass", None, ()) == said(container("/models/org/name", mount), tmp_path)


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    here = write(SMALL, tmp_path / "models" / "org" / "Qwen3-8B-AWQ")
    mount = Mount("/models", str(tmp_path / "models"))
    meant = (Change("flag.set", "--model-path", "/models/org/Qwen3-8B-AWQ"),)

    assert ("fail", "SGL307", meant) == said(container("/models/org/Qwen3-8b-awq", mount), tmp_path)
    assert ("fail", "SGL307", meant) == said(container("/models/Qwen3-8B-AWQ", mount), tmp_path)
    assert ("fail", "SGL307", meant) == said(container(str(here), mount), tmp_path)
    assert ("fail", "SGL307", ()) == said(container("/models/other", mount), tmp_path)
    assert ("fail", "SGL307", ()) == said(container("/elsewhere/other", mount), tmp_path)
    assert ("warn", "SGL307", ()) == said(container("/elsewhere/other", mount, image="own:1"), tmp_path)


def test_a_folder_of_the_host_without_a_mount(tmp_path: Path) -> None:
    here = write(SMALL, tmp_path / "m")

    assert ("fail", "SGL307", (Change("docker.volume", "", f"{here}:{here}:ro"),)) == said(
        container(str(here)), tmp_path
    )


def test_a_folder_around_the_model(tmp_path: Path) -> None:
    write(SMALL, tmp_path / "a" / "b")
    mount = Mount("/models", str(tmp_path))

    assert ("fail", "SGL214", (Change("flag.set", "--model-path", "/models/a/b"),)) == said(
        container("/models", mount), tmp_path
    )
    (tmp_path / "empty").mkdir()
    assert ("fail", "SGL214", ()) == said(container("/models/empty", mount), tmp_path)


def test_a_file_of_the_model_instead_of_its_folder(tmp_path: Path) -> None:
    here = write(SMALL, tmp_path / "m")
    launch = launch_of("--model-path", str(here / "config.json"))

    assert ("fail", "SGL307", (Change("flag.set", "--model-path", str(here)),)) == said(launch, tmp_path)


def cached(root: Path, repository: str = "models--org--name", commit: str = "abc1234") -> Path:
    """A repository in a Hugging Face cache, with links from its snapshot to its blobs."""
    written = write(Folder(SMALL.config, decoder(SMALL.config)), root / "written")
    snapshot = root / "hub" / repository / "snapshots" / commit
    blobs = root / "hub" / repository / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for file in written.iterdir():
        file.rename(blobs / f"blob-{file.name}")
        (snapshot / file.name).symlink_to(f"../../blobs/blob-{file.name}")
    refs = root / "hub" / repository / "refs"
    refs.mkdir()
    (refs / "main").write_text(commit)
    return snapshot


def test_a_repository_in_a_mounted_cache(tmp_path: Path) -> None:
    snapshot = cached(tmp_path)
    launch = container("org/name", Mount("/root/.cache/huggingface", str(tmp_path)))
    situation = situation_of(launch, tmp_path)

    assert situation.model is not None
    assert snapshot == situation.model.here
    assert [] == troubles(situation)
    assert "links stay within what is mounted" in {one.title.en for one in findings(situation, "model-links")}


def test_a_repository_in_a_cache_of_another_place(tmp_path: Path) -> None:
    cached(tmp_path)
    mount = Mount("/cache", str(tmp_path))

    assert "pass" == said(container("org/name", mount, env={"HF_HOME": "/cache"}), tmp_path)[0]
    assert "pass" == said(container("org/name", mount, env={"HF_HUB_CACHE": "/cache/hub"}), tmp_path)[0]
    assert "skipped" == said(container("org/name", mount), tmp_path)[0]


@pytest.mark.parametrize("revision", ["../../..", "absent", "abc1234"])
def test_revisions_of_a_repository(revision: str, tmp_path: Path) -> None:
    cached(tmp_path)
    mount = Mount("/root/.cache/huggingface", str(tmp_path))
    launch = launch_of("--model-path", "org/name", "--revision", revision, image=IMAGE, mounts=(mount,))

    assert ("pass" if revision == "abc1234" else "skipped") == said(launch, tmp_path)[0]


def test_a_repository_that_is_not_here_yet(tmp_path: Path) -> None:
    details = [
        findings(situation_of(container("org/name", *mounts), tmp_path), "model-path")[0].detail
        for mounts in ((), (Mount("/root/.cache/huggingface", "hf", "volume"),))
    ]

    assert ["/hub in the container", "is mounted at"] == [
        part
        for part, detail in zip(("/hub in the container", "is mounted at"), details, strict=True)
        if detail and part in detail.en
    ]


def test_a_snapshot_without_its_blobs(tmp_path: Path) -> None:
    snapshot = cached(tmp_path)
    situation = situation_of(container("/model", Mount("/model", str(snapshot))), tmp_path)
    (found,) = findings(situation, "model-links")

    assert (Status.FAIL, "SGL306") == (found.status, found.prevents)
    repository = tmp_path / "hub" / "models--org--name"
    assert Change("docker.volume", "", f"{repository}:/models/models--org--name:ro") == found.changes[0]
    assert "/models/models--org--name/snapshots/abc1234" == found.changes[1].value


def test_links_with_absolute_paths(tmp_path: Path) -> None:
    folder = write(SMALL, tmp_path / "models" / "m")
    (folder / "model.safetensors").unlink(missing_ok=True)
    shard(tmp_path / "models" / "blob", decoder(SMALL.config))
    (folder / "model.safetensors").symlink_to(tmp_path / "models" / "blob")
    elsewhere = container("/models/m", Mount("/models", str(tmp_path / "models")))
    same = container(str(folder), Mount(str(tmp_path), str(tmp_path)))

    assert [("fail", "SGL306")] == troubles(situation_of(elsewhere, tmp_path))
    assert [] == troubles(situation_of(same, tmp_path))


def test_a_volume_cannot_be_looked_into(tmp_path: Path) -> None:
    assert "skipped" == said(container("/models/m", Mount("/models", "models", "volume")), tmp_path)[0]


def test_what_versions_support() -> None:
    assert (True, "0.5.9") == architecture("Qwen3_5MoeForConditionalGeneration", "0.5.15")[:2]
    assert (False, "0.5.9") == architecture("Qwen3_5MoeForConditionalGeneration", "0.5.5")[:2]
    assert architecture("Qwen3_5MoeForConditionalGeneration", "0.5.7").here is None
    assert architecture("LlamaForCausalLM", "9.0.0").here
    assert architecture("NewForCausalLM", "9.0.0").here is None
    assert architecture("NewForCausalLM", newest_known()).here is False
    assert model_type("kimi_k2", "0.5.15", "5.12.1").here
    assert (False, "5.3.0") == model_type("qwen3_5_moe", "0.5.5", "4.57.1")[:2]
    assert model_type("qwen3_5_moe", "0.5.15", None).here
    assert (False, "0.5.3.post3") == (method("marlin", "0.5.23").here, method("marlin", "0.5.23").until)
