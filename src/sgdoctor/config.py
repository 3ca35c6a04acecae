"""What the user set in ``config.toml``, and what the app remembers from one time to the next."""

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from sgdoctor.messages import LANGUAGES
from sgdoctor.texts import Text

PANES: Final = ("startup", "diagnosis", "log", "gpu")
"""The panes of the app by name, in the order of their keys."""

GPU_RATES: Final = (0.1, 5.0)
"""Least and most readings of the GPUs a second."""


@dataclass(frozen=True, slots=True)
class Config:
    """Settings of the app.

    Attributes:
        theme: name of a theme; empty for the one that was used last.
        language: ``en`` or ``zh``; empty for that of the command line and the locale.
        gpu_rate: readings of the GPUs a second.
        panes: the panes that are shown, by name.
        keys: keys by action, over those of the table in ``tui.keys``.
        reports: folder for saved reports; None for the usual one.
        read_only: whether nothing may be acted on.
        problems: what in the file was not understood, one line each.
    """

    theme: str = ""
    language: str = ""
    gpu_rate: float = 1.0
    panes: tuple[str, ...] = PANES
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reports: Path | None = None
    read_only: bool = False
    problems: tuple[Text, ...] = ()

    def in_language(self, asked: str) -> "Config":
        """With the language that the command line asks for; empty where it asks for none."""
        return replace(self, language=asked or self.language)


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the app was left with.

    Attributes:
        theme: name of the theme; empty for the usual one.
        language: ``en`` or ``zh``; empty for that of the locale.
        benign: whether harmless lines were listed.
        pane: the pane that had the keyboard.
    """

    theme: str = ""
    language: str = ""
    benign: bool = False
    pane: str = "diagnosis"


def config_path() -> Path:
    """Where the settings stand: ``$XDG_CONFIG_HOME/sgdoctor/config.toml`` on Linux."""
    import platformdirs  # noqa: PLC0415 - only where it is needed

    return platformdirs.user_config_path("sgdoctor") / "config.toml"


def state_dir() -> Path:
    """Where the app keeps what it remembers and the reports it saves."""
    import platformdirs  # noqa: PLC0415

    return platformdirs.user_state_path("sgdoctor")


def load_config(path: Path | None = None) -> Config:
    """The settings of the user.

    Args:
        path: of the file; None for the usual one.

    Returns:
        What was understood; ``problems`` names the rest. A file that does not exist is no problem.
    """
    where = path or config_path()
    try:
        plain = tomllib.loads(where.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Config()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return Config(problems=(Text(f"{where}: cannot be used: {reason}", f"{where}：无法使用：{reason}"),))
    return _Reader(where).config(plain)


class _Reader:
    def __init__(self, where: Path) -> None:
        self._where = where
        self._problems: list[Text] = []

    def config(self, plain: Mapping[str, Any]) -> Config:
        config = Config()
        for name, value in plain.items():
            match name, value:
                case "theme", str():
                    config = replace(config, theme=value)
                case "language", str() if value in LANGUAGES:
                    config = replace(config, language=value)
                case "gpu_rate", int() | float() if value is not True and GPU_RATES[0] <= value <= GPU_RATES[1]:
                    config = replace(config, gpu_rate=float(value))
                case "panes", list() if value and all(entry in PANES for entry in value):
                    config = replace(config, panes=tuple(entry for entry in PANES if entry in value))
                case "reports", str() if value:
                    config = replace(config, reports=Path(value).expanduser())
                case "read_only", bool():
                    config = replace(config, read_only=value)
                case "keys", dict():
                    config = replace(config, keys=self._keys(value))
                case (("theme" | "language" | "gpu_rate" | "panes" | "reports" | "read_only" | "keys"), _):
                    self._problem(f"{name} = {value!r}", "not a value for it", "不是可用的值")
                case _:
                    self._problem(name, "no such setting", "没有这个设置")
        return replace(config, problems=tuple(self._problems))

    def _keys(self, table: Mapping[str, Any]) -> Mapping[str, tuple[str, ...]]:
        keys: dict[str, tuple[str, ...]] = {}
        for action, value in table.items():
            entries = [value] if isinstance(value, str) else value
            if isinstance(entries, list) and entries and all(isinstance(entry, str) and entry for entry in entries):
                keys[action] = tuple(entries)
            else:
                self._problem(f"keys.{action} = {value!r}", "not a key or a list of keys", "不是按键或按键列表")
        return keys

    def _problem(self, what: str, en: str, zh: str) -> None:
        self._problems.append(Text(f"{self._where}: {what}: {en}", f"{self._where}：{what}：{zh}"))


def load_remembered(path: Path | None = None) -> Remembered:
    """What the app was left with; the usual state where that cannot be read."""
    try:
        plain = json.loads((path or _remembered_path()).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return Remembered()
    if not isinstance(plain, dict):
        return Remembered()
    kept = asdict(Remembered())
    kept.update({name: plain[name] for name, value in kept.items() if isinstance(plain.get(name), type(value))})
    return Remembered(**kept)


def save_remembered(remembered: Remembered, path: Path | None = None) -> None:
    """Keep what the app was left with.

    Raises:
        OSError: it cannot be written.
    """
    where = path or _remembered_path()
    where.parent.mkdir(parents=True, exist_ok=True)
    fresh = where.with_name(f"{where.name}.{os.getpid()}")
    fresh.write_text(json.dumps(asdict(remembered)), encoding="utf-8")
    fresh.replace(where)


def _remembered_path() -> Path:
    return state_dir() / "watch.json"
