"""Options read from sources in each of the three ways in which SGLang has defined them."""

import io
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.engines.sglang.flags.documents import condensed, document, from_document, options_of
from sgdoctor.engines.sglang.flags.extract import extract
from sgdoctor.engines.sglang.flags.model import Option
from sgdoctor.engines.sglang.flags.sources import FileSources, open_sources
from sgdoctor.errors import UserError
from tests.engines.flag_sources import ANNOTATED, ARGPARSE, NAMESPACES


def _options(files: dict[str, str]) -> dict[str, Option]:
    return {option.flag: option for option in extract(FileSources(files)).options}


def test_calls_of_add_argument() -> None:
    options = _options(ARGPARSE)

    assert list(options.values()) == [
        Option("--model-path", "model_path", ("--model",), required=True),
        Option("--port", "port", type="int", default=30000),
        Option("--dtype", "dtype", choices=("auto", "float16"), default="auto"),
        Option("--queue", "queue", type="int", default=(1 << 63) - 1),
        Option("--sizes", "sizes", type="int", nargs="+", default=[1, 2]),
        Option("--kind", "kind", choices=("a", "b"), default="auto"),
        Option("--parser", "parser", choices=("auto", "qwen", "glm")),
        Option("--modules", "modules", choices=("q", "k", "all"), nargs="*"),
        Option("--options", "options", type="json.loads", default="{}"),
        Option("--length", "length", type="human_readable_int"),
        Option("--quiet", "quiet", type="bool", nargs="0", default=False),
        Option("--strict", "strict", type="bool", nargs="0"),
        Option("--no-strict", "strict", type="bool", nargs="0"),
        Option("--old", "old", type="bool", nargs="0", default=False, deprecated=True, replaced_by="--new=fast"),
        Option("--new", "new"),
        # What cannot be told without running the program is left open, never guessed.
        Option("--unreadable", "unreadable"),
        Option("--max-prefill", "max_prefill", type="int"),
        Option("--max-decode", "max_decode", type="int"),
        Option("--only-here", "only_here", type="float", default=-0.5),
    ]
    assert extract(FileSources(ARGPARSE)).version == "0.5.9"


def test_annotated_fields() -> None:
    options = _options(ANNOTATED)

    assert list(options.values()) == [
        Option("--model-path", "model_path", ("--model",), required=True),
        Option("--dtype", "dtype", choices=("auto", "float16"), default="auto"),
        Option("--port", "port", type="int", default=30000),
        Option("--tensor-parallel-size", "tp_size", ("--tp-size",), type="int", default=1),
        Option("--fraction", "fraction", type="float"),
        Option("--quiet", "quiet", type="bool", nargs="0", default=False),
        Option("--sizes", "sizes", type="int", nargs="+"),
        Option("--backend", "backend", choices=("full", "breakable")),
        Option("--level", "level", type="int", choices=("0", "1"), default=0),
        Option("--phase", "phase", choices=("full", "disabled")),
        Option("--options", "options", type="json.loads"),
        Option("--paths", "paths", nargs="*"),
        Option("--injected", "injected", type="bool", nargs="0", default=False, no_cli=True),
        Option("--mode", "mode", choices=("none", "all"), default="auto"),
        Option("--tensor", "tp_size", type="int", deprecated=True, replaced_by="--tensor-parallel-size"),
        Option("--silent", "quiet", type="bool", nargs="0", default=False, deprecated=True, replaced_by="--quiet"),
    ]


def test_structs_of_namespaces() -> None:
    options = _options(NAMESPACES)

    assert sorted(options.values(), key=lambda option: option.dest) == [
        Option("---given", "_given", type="bool", nargs="0", default=False, no_cli=True),
        Option("--dtype", "dtype", choices=("auto", "float16"), default="auto"),
        Option("--model-path", "model_path", ("--model",), required=True),
        Option(
            "--no-graph",
            "no_graph",
            type="bool",
            nargs="0",
            default=False,
            deprecated=True,
            replaced_by="--graph={a,b}",
        ),
        Option("--page-size", "page_size", type="int"),
        Option("--parser", "parser", choices=("auto", "qwen", "glm"), default="auto"),
        Option("--sizes", "sizes", type="int", nargs="+", default=[]),
    ]


def _wheel(path: Path, files: dict[str, str], version: str = "") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        if version:
            archive.writestr(f"sglang-{version}.dist-info/METADATA", f"Metadata-Version: 2.4\nVersion: {version}\n")
    return path


def _unpacked(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


def test_a_wheel_and_its_version(tmp_path: Path) -> None:
    wheel = _wheel(tmp_path / "sglang.whl", ANNOTATED, "0.5.99.post1")

    assert extract(open_sources(wheel)).version == "0.5.99.post1"


@pytest.mark.parametrize("below", ["", "python", "sglang"])
def test_a_folder_given_as_parent_checkout_or_package(tmp_path: Path, below: str) -> None:
    packages = _unpacked(tmp_path / "python", ARGPARSE)
    given = {"": packages, "python": tmp_path, "sglang": packages / "sglang"}[below]

    assert extract(open_sources(given)).version == "0.5.9"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"sglang/srt/server_args.py": "def broken(:"}, "no class ServerArgs"),
        ({"sglang/srt/server_args.py": "class Other: pass"}, "no class ServerArgs"),
        ({"sglang/srt/server_args.py": "class ServerArgs: x: int = 1"}, "no options found"),
        ({"sglang/srt/server_args.py": "from sglang.srt.server_args import ServerArgs"}, "no class ServerArgs"),
        ({"sglang/srt/other.py": ""}, "no class ServerArgs"),
    ],
)
def test_sources_of_another_kind(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        extract(open_sources(_unpacked(tmp_path, files)))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off", b"no zip at all"])
def test_a_file_that_is_no_wheel(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.whl"
    file.write_bytes(content)

    with pytest.raises(UserError, match="not a wheel"):
        open_sources(file)


def test_a_wheel_that_unpacks_to_more_than_a_source_has(tmp_path: Path) -> None:
    wheel = _wheel(tmp_path / "x.whl", {"sglang/srt/server_args.py": "#" * (9 << 20)})

    assert open_sources(wheel).read("sglang/srt/server_args.py") is None


@pytest.mark.parametrize(
    "expression",
    ["[" * 90 + "]" * 90, "A", "B", "list(A)", "1 << 999999", "f()", "'a' * 10**9", "[x for x in A if x]"],
)
def test_expressions_that_go_in_circles_or_too_far_are_left_open(expression: str) -> None:
    files = {
        "sglang/srt/server_args.py": f"""
A = B
B = A
def f():
    return f()
class ServerArgs:
    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--x", choices={expression})
"""
    }

    assert _options(files)["--x"].choices == ()


_NAMES = st.from_regex(r"--[a-z]{1,6}(-[a-z]{1,4})?", fullmatch=True)
_OPTIONS = st.builds(
    Option,
    _NAMES,
    st.from_regex(r"[a-z_]{1,8}", fullmatch=True),
    st.lists(_NAMES, max_size=2).map(tuple),
    st.sampled_from(["str", "int", "bool", "json.loads"]),
    st.lists(st.text(max_size=4), max_size=3).map(tuple),
    st.sampled_from(["", "0", "+", "*"]),
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.lists(st.integers(), max_size=2)),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["", "--new", "--new=x"]),
    st.booleans(),
)
_VERSIONS = st.lists(st.lists(_OPTIONS, max_size=5, unique_by=lambda one: (one.flag, one.no_cli)), max_size=5)


@given(_VERSIONS)
def test_the_table_of_all_versions_loses_nothing(versions: list[list[Option]]) -> None:
    table = json.loads(json.dumps(condensed([(str(index), options) for index, options in enumerate(versions)])))

    for index, options in enumerate(versions):
        found = sorted(options_of(table, index), key=repr)

        assert sorted(options, key=repr) == found


@given(st.lists(_OPTIONS, max_size=5))
def test_documents_read_back(options: list[Option]) -> None:
    text = json.dumps(document("1.2", options))

    assert from_document(json.load(io.StringIO(text))) == ("1.2", tuple(options))


@pytest.mark.parametrize("data", [None, [], {}, {"version": "1"}, {"version": "1", "options": [1]}, {"options": [{}]}])
def test_documents_of_another_kind(data: object) -> None:
    with pytest.raises(ValueError, match="not a"):
        from_document(data)
