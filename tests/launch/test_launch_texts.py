"""Every command and script of the corpus: read as meant, written again as it was, edited where it is to be edited."""

from pathlib import Path

import pytest

from sgdoctor.launch.change import Change
from sgdoctor.launch.docker_run import read_shell
from sgdoctor.launch.flag_edits import flag_edits, with_edits
from sgdoctor.launch.model import EditState
from sgdoctor.launch.shell import words
from sgdoctor.launch.typography import REPAIR, repaired
from tests.launch.launch_texts import PATHS, expected, read, readable, text_of
from tests.launch.tables import FLAGS

EDITABLE = [path for path in readable() if not expected(path).get("editable", "").startswith("no")]
STARTED = [path for path in EDITABLE if "argv" in expected(path)]
# In a variable that the script sets stand flags that the command itself has not.
PLAIN = [path for path in STARTED if "$ARGS" not in expected(path).get("editable", "")]


def ids(path: Path) -> str:
    return path.stem


def test_the_corpus_is_large_enough() -> None:
    assert len(PATHS) >= 60
    assert len(STARTED) >= 50


@pytest.mark.parametrize("path", PATHS, ids=ids)
def test_it_is_read_as_meant(path: Path) -> None:
    assert expected(path) == read(path)


@pytest.mark.parametrize("path", readable(), ids=ids)
def test_without_a_change_every_byte_stays(path: Path) -> None:
    text = text_of(path)

    edited = read_shell(text).edited([], FLAGS)

    assert text == edited.text


@pytest.mark.parametrize("path", EDITABLE, ids=ids)
def test_a_repair_changes_what_is_broken_and_nothing_else(path: Path) -> None:
    text = text_of(path)
    broken = read_shell(text)

    edited = broken.edited([REPAIR], FLAGS)

    assert repaired(text).text == edited.text
    assert (edited.text == text) == (repaired(text).problems == ())
    assert broken.launch == edited.launch
    assert () == repaired(edited.text).problems


@pytest.mark.parametrize("path", STARTED, ids=ids)
def test_an_edit_changes_exactly_its_words(path: Path) -> None:
    document = read_shell(text_of(path))
    before = words(document.edited([REPAIR], FLAGS).text)

    edited = document.edited([Change("flag.set", "--a-new-flag", "a'b c")], FLAGS)

    after = words(edited.text)
    assert len(after) - len(before) in (0, 2)
    if len(after) > len(before):
        at = [word.text for word in after].index("--a-new-flag")
        assert "a'b c" == after[at + 1].text
        assert [(word.text, word.raw) for word in before] == [(w.text, w.raw) for w in [*after[:at], *after[at + 2 :]]]
    else:
        changed = [(old, new) for old, new in zip(before, after, strict=True) if old.text != new.text]
        assert 1 == len(changed), "only the script of the shell"
    assert (*document.launch.argv, "--a-new-flag", "a'b c") == edited.launch.argv


CHANGES = [
    Change("flag.set", "--mem-fraction-static", "0.77"),
    Change("flag.set", "--cuda-graph-bs", "1 2 4"),
    Change("flag.set", "--disable-radix-cache"),
    Change("flag.unset", "--port"),
    Change("flag.unset", "--dtype"),
    Change("flag.set", "--json-model-override-args", '{"a": "it\'s $HOME `x` \\\\ \\"q\\""}'),
]


@pytest.mark.parametrize("path", PLAIN, ids=ids)
def test_the_new_text_says_what_was_asked(path: Path) -> None:
    document = read_shell(text_of(path))
    launch = document.launch

    edited = document.edited(CHANGES, FLAGS)

    edits = flag_edits(launch.argv, launch.flags_at, CHANGES, FLAGS)
    assert tuple(with_edits(launch.argv, edits)) == edited.launch.argv
    assert () == edited.left
    again = read_shell(edited.text).edited(CHANGES, FLAGS)
    assert edited.text == again.text


@pytest.mark.parametrize("path", [path for path in EDITABLE if expected(path).get("image")], ids=ids)
def test_options_of_docker_are_edited_in_their_place(path: Path) -> None:
    document = read_shell(text_of(path))

    edited = document.edited([Change("env.set", "A_NEW_ONE", "b c"), Change("docker.name", value="n2")], FLAGS)

    assert "b c" == edited.launch.env["A_NEW_ONE"]
    assert "n2" == edited.launch.name
    assert document.launch.argv == edited.launch.argv
    assert document.launch.command == edited.launch.command
    assert EditState.NO is not read_shell(edited.text).editable.state
