"""Where rules lie: those of sgdoctor, those of the user, and the cache of their compiled form.

``platformdirs`` costs more than the cache saves; the few directories that are asked for on every start are those of
the XDG specification, and only other systems load it.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

USER_RULES_ENV: Final = "SGDOCTOR_RULES"
"""Further directories with rules, separated as in PATH."""

MUTE_FILE: Final = "mute.yaml"


def built_in_dir() -> Path:
    """The rule base: ``sgdoctor/rulebase`` of an installed package, ``rules`` at the top of a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "rulebase"
    return installed if installed.is_dir() else package.parents[1] / "rules"


def fixtures_dir() -> Path | None:
    """The logs that tests of rules name: ``fixtures/logs`` of a checkout; None in an installed package."""
    logs = Path(__file__).parents[3] / "fixtures" / "logs"
    return logs if logs.is_dir() else None


def test_log(rule_file: str, log: str, logs: Path | None) -> Path | None:
    """The file that a test of a rule names: beside the rule, else below ``fixtures/logs``.

    Args:
        rule_file: the file of the rule.
        log: as the test names it.
        logs: the directory of the fixtures; None where there is none.

    Returns:
        Where it should be; None for a built-in rule of an installed package, whose logs stayed in the repository.
    """
    beside = Path(rule_file).parent / log
    if logs is None and Path(rule_file).is_relative_to(built_in_dir()):
        return None
    return beside if logs is None or beside.is_file() else logs / log


def user_rules_dir() -> Path:
    """The directory of the user's own rules; it need not exist."""
    return _user_dir("XDG_CONFIG_HOME", ".config", "user_config_path") / "rules"


def user_dirs() -> tuple[Path, ...]:
    """The directories with rules of the user, later ones win: the configuration's, then those of ``SGDOCTOR_RULES``."""
    extra = os.environ.get(USER_RULES_ENV, "")
    return (user_rules_dir(), *(Path(part) for part in extra.split(os.pathsep) if part))


def cache_dir() -> Path:
    """The directory for what can be computed again; it need not exist."""
    return _user_dir("XDG_CACHE_HOME", ".cache", "user_cache_path")


def rule_files(directory: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The YAML files below a directory, sorted, as paths relative to it with ``/``; nothing where it is absent."""
    for relative, entry in sorted(_walk(directory, "")):
        yield relative, entry.stat()


def _walk(directory: Path | str, prefix: str, depth: int = 8) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        try:
            if entry.is_dir():
                if depth and not (entry.is_symlink() and _contains(entry.path, directory)):
                    yield from _walk(entry.path, f"{prefix}{entry.name}/", depth - 1)
            elif entry.name.endswith((".yaml", ".yml")) and entry.is_file():
                yield f"{prefix}{entry.name}", entry
        except OSError:
            continue


def _contains(target: str, directory: Path | str) -> bool:
    """Whether a link leads to a directory that it lies in: a way without an end."""
    real = os.path.realpath(target)
    return (os.path.realpath(directory) + os.sep).startswith(real.rstrip(os.sep) + os.sep)


def _user_dir(variable: str, below_home: str, function: str) -> Path:
    if os.name == "posix" and sys.platform not in ("darwin", "android"):
        base = os.environ.get(variable, "")
        # The specification wants relative paths ignored.
        return (Path(base) if base.startswith("/") else _home() / below_home) / "sgdoctor"
    import platformdirs  # noqa: PLC0415 - 20 ms

    path: Path = getattr(platformdirs, function)("sgdoctor", appauthor=False)
    return path


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        # No HOME and no account of that number, as with `docker run --user 54321`: a place where nothing is found and
        # nothing can be kept.
        return Path(os.devnull)
