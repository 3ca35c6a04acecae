"""Edits of the command: every style, and nothing but the words that were meant."""

from collections.abc import Mapping

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.compose import ComposeDocument, open_compose
from sgdoctor.launch.model import Document
from tests.launch.compose.corpus import SHELL, files_of, services
from tests.launch.tables import FLAGS

BEFORE = "# a comment\nx-a: &a {k: 'v'}   # kept\nservices:\n  other: {image: nginx, labels: *a}\n  llm:\n    image: sglang\n"
AFTER = "    # behind\n    environment:\n      - A=1   # kept\n    ports: ['1:1']\n"

# The command in every style; each starts `python3 -m sglang.launch_server --mem-fraction-static 0.9 --dtype half`.
STYLES = {
    "folded": "    command: >   # why\n      python3 -m sglang.launch_server\n        --mem-fraction-static 0.9\n        --dtype half\n",
    "folded-strip": "    command: >-\n      python3 -m sglang.launch_server\n      --mem-fraction-static=0.9\n      --dtype half\n\n",
    "folded-one-line": "    command: >-\n      python3 -m sglang.launch_server --mem-fraction-static 0.9 --dtype half\n",
    "folded-explicit": "    command: >2\n       python3 -m sglang.launch_server\n      --mem-fraction-static 0.9\n      --dtype half\n",
    "literal": "    command: |\n      python3 -m sglang.launch_server\n      --mem-fraction-static 0.9\n      --dtype half\n",
    "plain": "    command: python3 -m sglang.launch_server --mem-fraction-static 0.9 --dtype half   # note\n",
    "plain-lines": "    command: python3 -m sglang.launch_server\n      --mem-fraction-static 0.9\n      --dtype half\n",
    "double": '    command: "python3 -m sglang.launch_server --mem-fraction-static 0.9 --dtype half"\n',
    "double-lines": '    command: "python3 -m sglang.launch_server \\\n      --mem-fraction-static 0.9\n      --dtype half"\n',
    "single": "    command: 'python3 -m sglang.launch_server --mem-fraction-static 0.9 --dtype half'\n",
    "single-lines": "    command: 'python3 -m sglang.launch_server\n      --mem-fraction-static 0.9\n      --dtype half'\n",
    "shell-quotes": "    command: >-\n      python3 -m sglang.launch_server --mem-fraction-static '0.9' --dtype \"half\"\n",
    "flow": '    command: [python3, -m, sglang.launch_server, --mem-fraction-static, "0.9", --dtype, half]   # note\n',
    "flow-lines": '    command: [\n      python3, -m, sglang.launch_server,\n      --mem-fraction-static, "0.9",  # of it\n      --dtype, half,\n    ]\n',
    "block": '    command:\n      - python3\n      - -m\n      - sglang.launch_server\n      # of it\n      - --mem-fraction-static\n      - "0.9"   # note\n      - --dtype\n      - half\n',
    "block-flush": "    command:\n    -  'python3'\n    -  '-m'\n    -  'sglang.launch_server'\n    -  '--mem-fraction-static=0.9'\n    -  '--dtype'\n    -  'half'\n",
    "anchored": "    command: &c !!str >-\n      python3 -m sglang.launch_server\n      --mem-fraction-static 0.9\n      --dtype half\n",
    "bash-flow": '    command: [bash, -c, "cd /w && python3 -m sglang.launch_server --mem-fraction-static 0.9 --dtype half | tee log"]\n',
    "bash-literal": "    command:\n      - bash\n      - -lc\n      - |\n        cd /w\n        exec python3 -m sglang.launch_server \\\n          --mem-fraction-static 0.9 \\\n          --dtype half\n",
    "bash-folded": "    entrypoint: [bash, -c]\n    command:\n      - >-\n        exec python3 -m sglang.launch_server\n        --mem-fraction-static 0.9\n        --dtype half\n",
    "bash-plain": '    command: bash -c "python3 -m sglang.launch_server --mem-fraction-static 0.9 --dtype half"\n',
}
WRITTEN = ("--mem-fraction-static", "0.9", "--dtype", "half")

values = st.one_of(
    st.sampled_from(["0.88", "1", "a b", "it's", 'say "x"', "$HOME", "${X:-y}", "#", "a: b", "a #b", "{'a': 1}", '{"a": [1, 2]}',
                     "é", "模型", "", "yes", "null", "a,b", "[x]", "&x", "*x", "!x", "%x", "@x", "`x`", "a|b", "a>b", "\\", "a\\nb", "'", '"', "~", "-1", "a\u00a0b"]),
    st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp", "Cf", "Co", "Cn")), max_size=12),
)  # fmt: skip


def text_with(command: str, *, line_end: str = "\n", final: bool = True) -> str:
    text = (BEFORE + command + AFTER).replace("\n", line_end)
    return text if final else text.removesuffix(line_end)


def opened(text: str, environment: Mapping[str, str] | None = None) -> ComposeDocument:
    return open_compose([("compose.yaml", text)], "llm", environment or {})


def argv_with(document: ComposeDocument) -> list[str]:
    """The flags, `--flag=value` as two words."""
    words = document.launch.argv[document.launch.flags_at :]
    return [part for word in words for part in (word.split("=", 1) if word[:2] == "--" else [word])]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("style", STYLES)
@settings(max_examples=12, deadline=None)
@given(value=values, flag=st.sampled_from(["--dtype", "--mem-fraction-static", "--model-path"]), final=st.booleans())
def test_setting_a_flag_changes_its_words_alone(style: str, line_end: str, value: str, flag: str, final: bool) -> None:
    text = text_with(STYLES[style], line_end=line_end, final=final)
    want = list(WRITTEN)
    if flag in want:
        want[want.index(flag) + 1] = value
    else:
        want += [flag, value]

    edited = opened(text).edited([Change("flag.set", flag, value)], FLAGS)

    after = opened(edited.text)
    assert want == argv_with(after)
    assert edited.launch == after.launch
    assert comments(text) == comments(edited.text)
    assert_only_the_command_differs(text, edited.text)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("flag", ["--dtype", "--mem-fraction-static"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_unsetting_a_flag_takes_its_words_out(style: str, flag: str, line_end: str) -> None:
    text = text_with(STYLES[style], line_end=line_end)
    at = WRITTEN.index(flag)

    edited = opened(text).edited([Change("flag.unset", flag)], FLAGS)

    assert [*WRITTEN[:at], *WRITTEN[at + 2 :]] == argv_with(opened(edited.text))
    assert_only_the_command_differs(text, edited.text)


def assert_only_the_command_differs(old: str, new: str) -> None:
    line_end = "\r\n" if "\r\n" in old else "\n"
    before, after = BEFORE.replace("\n", line_end), AFTER.replace("\n", line_end)
    tail = after if old.endswith(line_end) else after.removesuffix(line_end)
    assert new.startswith(before)
    assert new.endswith(tail)
    middle = new.removeprefix(before).removesuffix(tail)
    assert [line for line in middle.split("\n") if line.endswith("\r")] == (
        [*middle.split("\n")[:-1]] if line_end == "\r\n" else []
    )
    parsed_old, parsed_new = yaml.safe_load(old), yaml.safe_load(new)
    for parsed in (parsed_old, parsed_new):
        del parsed["services"]["llm"]["command"]
    assert parsed_old == parsed_new


def comments(text: str) -> set[str]:
    """Those at the ends of lines."""
    ends = (line.rpartition("#")[2].strip() for line in text.splitlines() if "#" in line)
    return {end for end in ends if end in ("why", "note", "of it", "kept", "behind")}


@pytest.mark.parametrize(
    ("style", "line"),
    [
        ("folded", "        --mem-fraction-static 0.88"),
        ("folded-strip", "      --mem-fraction-static=0.88"),
        ("literal", "      --mem-fraction-static 0.88"),
        ("plain-lines", "      --mem-fraction-static 0.88"),
        ("double-lines", "      --mem-fraction-static 0.88"),
        ("single-lines", "      --mem-fraction-static 0.88"),
        ("flow-lines", '      --mem-fraction-static, "0.88",  # of it'),
        ("block", '      - "0.88"   # note'),
        ("block-flush", "    -  '--mem-fraction-static=0.88'"),
        ("bash-literal", "          --mem-fraction-static 0.88 \\"),
        ("bash-folded", "        --mem-fraction-static 0.88"),
    ],
)  # fmt: skip
def test_one_value_is_one_changed_line(style: str, line: str) -> None:
    text = text_with(STYLES[style])

    edited = opened(text).edited([Change("flag.set", "--mem-fraction-static", "0.88")], FLAGS)

    changed = [new for old, new in zip(text.splitlines(), edited.text.splitlines(), strict=True) if old != new]
    assert [line] == changed


@pytest.mark.parametrize(
    ("style", "lines"),
    [
        ("folded", ["        --context-length 4096", "        --trust-remote-code"]),
        ("folded-strip", ["      --context-length 4096", "      --trust-remote-code"]),
        ("plain-lines", ["      --context-length 4096", "      --trust-remote-code"]),
        ("block", ["      - --context-length", '      - "4096"', "      - --trust-remote-code"]),
        ("block-flush", ["    -  '--context-length'", "    -  '4096'", "    -  '--trust-remote-code'"]),
    ],
)  # fmt: skip
def test_new_flags_are_laid_out_like_the_others(style: str, lines: list[str]) -> None:
    text = text_with(STYLES[style])
    changes = [Change("flag.set", "--context-length", "4096"), Change("flag.set", "--trust-remote-code")]

    edited = opened(text).edited(changes, FLAGS)

    old = text.splitlines()
    assert lines == [line for line in edited.text.splitlines() if line not in old]


@pytest.mark.parametrize(("name", "service"), list(services()))
def test_without_a_change_every_byte_stays(name: str, service: str) -> None:
    document = open_compose(files_of(name), service, SHELL)
    assert document.path is not None

    assert document.path.read_bytes() == document.edited([], FLAGS).text.encode()


@pytest.mark.parametrize(("name", "service"), list(services()))
def test_corpus_takes_a_flag_or_says_why_not(name: str, service: str) -> None:
    document = open_compose(files_of(name), service, SHELL)
    change = Change("flag.set", "--max-running-requests", "3")

    if not document.launch.argv or (name, service) == ("extends-same-file.yaml", "base"):
        with pytest.raises(UserError, match=r"--max-running-requests 3$"):
            document.edited([change], FLAGS)
    else:
        edited = document.edited([change], FLAGS)

        argv = list(edited.launch.argv)
        assert () == edited.left
        assert "3" == argv[argv.index("--max-running-requests") + 1]


def test_a_command_that_another_service_extends_is_not_changed() -> None:
    document = open_compose(files_of("extends-same-file.yaml"), "base", SHELL)

    with pytest.raises(UserError, match="it would change llm as well"):
        document.edited([Change("flag.unset", "--mem-fraction-static")], FLAGS)


def test_program_in_the_place_of_another() -> None:
    edited = opened(text_with(STYLES["folded"])).edited([Change("docker.command", value="sglang serve")], FLAGS)

    assert ("sglang", "serve", *WRITTEN) == edited.launch.argv


def test_program_before_flags_that_stand_alone() -> None:
    text = text_with("    command: --model-path /m\n")
    changes = [Change("flag.set", "--dtype", "half"), Change("docker.command", value="python3 -m sglang.launch_server")]

    edited = opened(text).edited(changes, FLAGS)

    assert "    command: python3 -m sglang.launch_server --model-path /m --dtype half\n" in edited.text


def test_nothing_is_written_where_the_image_has_the_command() -> None:
    document = opened(text_with(""))

    with pytest.raises(UserError, match=r"--dtype half"):
        document.edited([Change("flag.set", "--dtype", "half")], FLAGS)


def test_the_last_file_that_has_the_command_is_edited() -> None:
    document = open_compose(files_of("override"), None, SHELL)

    edited = document.edited([Change("flag.set", "--mem-fraction-static", "0.8")], FLAGS)

    assert document.path is not None
    assert "docker-compose.override.yml" == document.path.name
    assert document.text.replace('"0.88"', '"0.8"') == edited.text


def test_an_extended_service_is_edited_where_it_is_written() -> None:
    document = open_compose(files_of("extends-other-file"), "llm", SHELL)

    edited = document.edited([Change("flag.set", "--mem-fraction-static", "0.8")], FLAGS)

    assert document.path is not None
    assert "common.yaml" == document.path.name
    assert document.text.replace("0.9", "0.8") == edited.text


def test_a_merged_command_of_one_service_is_edited_at_its_anchor() -> None:
    document = open_compose(files_of("anchors.yaml"), "llm", SHELL)

    edited = document.edited([Change("flag.set", "--mem-fraction-static", "0.8")], FLAGS)

    assert document.text.replace("static 0.9", "static 0.8") == edited.text


def test_a_shared_command_is_written_into_the_one_service() -> None:
    document = open_compose(files_of("anchors-shared.yaml"), "left", SHELL)

    edited = document.edited([Change("flag.set", "--mem-fraction-static", "0.8")], FLAGS)

    after = open_compose([("compose.yaml", edited.text)], "right", SHELL)
    assert "0.9" in after.launch.argv
    assert "0.8" in edited.launch.argv
    assert document.editable.why is not None
    assert "right" in document.editable.why.en


VARIABLES = "    command: >-\n      python3 -m sglang.launch_server\n      --model-path ${DIR:-/models}/m\n      --mem-fraction-static ${F:-0.9}\n      --dtype ${D}\n      ${ARGS:-}\n"


def test_of_a_variable_that_is_not_set_the_default_is_changed() -> None:
    edited = opened(text_with(VARIABLES)).edited([Change("flag.set", "--mem-fraction-static", "0.8")], FLAGS)

    assert text_with(VARIABLES.replace("${F:-0.9}", "${F:-0.8}")) == edited.text


def test_only_the_literal_part_of_a_value_is_changed() -> None:
    edited = opened(text_with(VARIABLES)).edited([Change("flag.set", "--model-path", "/models/n")], FLAGS)

    assert text_with(VARIABLES.replace("}/m", "}/n")) == edited.text


@pytest.mark.parametrize(
    ("environment", "change", "name"),
    [
        ({"F": "0.7"}, Change("flag.set", "--mem-fraction-static", "0.8"), "F"),
        ({"DIR": "/x"}, Change("flag.set", "--model-path", "/y/m"), "DIR"),
        ({"ARGS": "--tp 2 --trust-remote-code"}, Change("flag.unset", "--trust-remote-code"), "ARGS"),
    ],
)  # fmt: skip
def test_a_variable_with_a_value_is_never_lost(environment: dict[str, str], change: Change, name: str) -> None:
    document = opened(text_with(VARIABLES), environment)

    edited = document.edited([change], FLAGS)

    assert document.text == edited.text
    [(left, why)] = edited.left
    assert change == left
    assert name in why.en
    assert name in why.zh


def test_a_flag_that_a_variable_brings_is_overruled_behind_it() -> None:
    document = opened(text_with(VARIABLES), {"ARGS": "--tp 2", "D": "half"})

    edited = document.edited([Change("flag.set", "--tp", "4")], FLAGS)

    assert ("--tp", "2", "--tp", "4") == edited.launch.argv[-4:]
    assert "      ${ARGS:-}\n      --tp 4\n" in edited.text


def test_a_new_flag_stands_behind_a_variable_and_not_in_its_default() -> None:
    text = text_with("    command: sglang serve --model-path /m --dtype ${D:-half}\n")

    edited = opened(text).edited([Change("flag.set", "--trust-remote-code")], FLAGS)

    assert "--dtype ${D:-half} --trust-remote-code\n" in edited.text


SHAPES = "x-path: &path /models/m\nx-cmd: &cmd\n  - sglang\n  - serve\n  - --model-path\n  - /m\nservices:\n  llm:\n    image: sglang\n"


@pytest.mark.parametrize(
    ("command", "changes", "expected"),
    [
        (
            "    command: [sglang, serve, --model-path, *path, --dtype, half]\n",
            [Change("flag.set", "--model-path", "/x")],
            "    command: [sglang, serve, --model-path, /x, --dtype, half]\n",
        ),
        (
            "    command: sglang serve --dtype ${D} --model-path /m\n",
            [Change("flag.set", "--dtype", "half")],
            "    command: sglang serve --dtype ${D:-half} --model-path /m\n",
        ),
        (
            "    command: sglang serve --dtype a --dtype=b\n",
            [Change("flag.set", "--dtype", "half")],
            "    command: sglang serve --dtype a --dtype=half\n",
        ),
        (
            "    command: [sglang, serve, --cuda-graph-bs, '1', '2', '3', --dtype, a]\n",
            [Change("flag.set", "--cuda-graph-bs", "4 8")],
            "    command: [sglang, serve, --cuda-graph-bs, '4', '8', --dtype, a]\n",
        ),
        (
            "    command:\n      - sglang\n      - serve\n      - --cuda-graph-bs\n      - '1'\n      - --dtype\n      - a\n",
            [Change("flag.set", "--cuda-graph-bs", "4 8")],
            "    command:\n      - sglang\n      - serve\n      - --cuda-graph-bs\n      - '4'\n      - '8'\n      - --dtype\n      - a\n",
        ),
        (
            "    command: env A=1 sglang serve --model-path /m\n",
            [Change("env.set", "A", "2 3")],
            "    command: env 'A=2 3' sglang serve --model-path /m\n",
        ),
        (
            "    command: [bash, -c, 'export A=1; sglang serve --model-path /m']\n",
            [Change("env.set", "A", "2 3")],
            "    command: [bash, -c, 'export A=''2 3''; sglang serve --model-path /m']\n",
        ),
        (
            "    command: sglang serve --model-path /m --api-key $$K --served-model-name a$$b\n",
            [Change("flag.set", "--served-model-name", "a$c")],
            "    command: sglang serve --model-path /m --api-key $$K --served-model-name a$$c\n",
        ),
        (
            "    command: *cmd\n  other:\n    image: x\n    command: *cmd\n",
            [Change("flag.set", "--dtype", "half")],
            "    command:\n      - sglang\n      - serve\n      - --model-path\n      - /m\n      - --dtype\n      - half\n  other:\n    image: x\n    command: *cmd\n",
        ),
        (
            "    command: *cmd\n",
            [Change("flag.set", "--model-path", "/m")],
            "    command: *cmd\n",
        ),
    ],
)  # fmt: skip
def test_shapes(command: str, changes: list[Change], expected: str) -> None:
    edited = opened(SHAPES + command).edited(changes, FLAGS)

    assert SHAPES + expected == edited.text
    assert () == edited.left


def test_it_is_a_document() -> None:
    document: Document = opened(text_with(STYLES["folded"]))

    assert "compose.yaml:llm" == document.name
