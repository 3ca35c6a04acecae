"""Rows of the table of keys as bindings of Textual."""

from collections.abc import Collection, Mapping, Sequence

from textual.binding import Binding

from sgdoctor.tui.keys import KEYS, Key, Scope, name_of
from sgdoctor.tui.log_keys import LOG_KEYS


def app_bindings() -> list[Binding]:
    """What the app answers to wherever the keyboard is. The bar at the bottom is not made from these."""
    return [_binding(key, key.action) for key in KEYS if key.scope is Scope.APP]


def pane_bindings() -> list[Binding]:
    """What a pane that scrolls answers to."""
    return [_binding(key, key.action) for key in KEYS if key.scope is Scope.PANE]


def forwarded(actions: Collection[str]) -> list[Binding]:
    """What a window hands on to the app, which does not see the keys of a window."""
    return [_binding(key, f"app.{key.action}") for key in KEYS if key.scope is Scope.APP and key.action in actions]


def keymap(table: Sequence[Key]) -> Mapping[str, str]:
    """The keys that the user changed, by the ids of bindings."""
    usual = {name_of(key): key.keys for key in (*KEYS, *LOG_KEYS)}
    return {name_of(key): ",".join(key.keys) for key in table if usual[name_of(key)] != key.keys}


def _binding(key: Key, action: str) -> Binding:
    return Binding(",".join(key.keys), action, key.help.en, show=False, id=name_of(key))
