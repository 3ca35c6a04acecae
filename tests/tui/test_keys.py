"""The table of keys: every row does something, says so in both languages, and can be changed."""

from collections import Counter

import pytest

from sgdoctor.tui.app import SgdoctorApp
from sgdoctor.tui.bindings import keymap
from sgdoctor.tui.keys import GROUPS, KEYS, Key, Scope, as_markdown, name_of, shown_key, table_with
from sgdoctor.tui.log_keys import LOG_KEYS
from sgdoctor.tui.panes.diagnosis import DiagnosisPane
from sgdoctor.tui.panes.gpu import GpuPane
from sgdoctor.tui.panes.startup import StartupPane
from sgdoctor.tui.widgets import Pane

ALL = (*KEYS, *LOG_KEYS)


def test_no_key_stands_for_two_actions_of_the_app() -> None:
    counts = Counter(entry for key in KEYS for entry in key.keys)

    assert {entry: count for entry, count in counts.items() if count > 1} == {}


def test_names_are_unique() -> None:
    counts = Counter(map(name_of, ALL))

    assert {name: count for name, count in counts.items() if count > 1} == {}


@pytest.mark.parametrize("key", KEYS, ids=name_of)
def test_every_row_has_an_action(key: Key) -> None:
    method = "action_" + key.action.partition("(")[0]
    owners = (SgdoctorApp,) if key.scope is Scope.APP else (Pane, StartupPane, DiagnosisPane, GpuPane)

    assert all(hasattr(owner, method) for owner in owners)


@pytest.mark.parametrize("key", ALL, ids=name_of)
def test_every_row_is_told_in_both_languages(key: Key) -> None:
    assert key.help.en
    assert key.help.zh
    assert bool(key.label.en) == bool(key.label.zh)


def test_a_key_of_the_user_is_taken_from_its_old_owner() -> None:
    table, problems = table_with({"save": ("c",)})
    keys = {name_of(key): key.keys for key in table}

    assert problems == ()
    assert keys["save"] == ("c",)
    assert keys["copy"] == ()


def test_unknown_actions_and_clashes_are_named() -> None:
    _, problems = table_with({"fly": ("x",), "save": ("S",), "copy": ("S",)})

    assert [problem.en for problem in problems] == [
        "[keys] fly: there is no such action",
        "[keys] S stands for both save and copy",
    ]


def test_the_keymap_holds_only_what_was_changed() -> None:
    table, _ = table_with({"save": ("S", "f2"), "log.wrap": ("W",)}, ALL)

    assert keymap(table) == {"save": "S,f2", "log.wrap": "W"}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_readme_table_has_every_row(lang: str) -> None:
    text = as_markdown(lang, ALL)

    for key in ALL:
        assert key.help.in_language(lang) in text
        assert f"`{shown_key(key.keys[0])}`" in text
    for title in GROUPS.values():
        assert title.in_language(lang) in text


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("space", "Space"), ("backspace", "Backspace"), ("shift+up", "Shift+↑"), ("shift+tab", "Shift+Tab"),
        ("ctrl+c", "Ctrl+C"), ("ctrl+pageup", "Ctrl+PgUp"), ("f1", "F1"), ("f12", "F12"), ("G", "G"), ("f", "f"),
        ("slash", "/"), ("left_square_bracket", "["),
    ],
)  # fmt: skip
def test_keys_are_written_as_on_the_keyboard(key: str, shown: str) -> None:
    assert shown == shown_key(key)
