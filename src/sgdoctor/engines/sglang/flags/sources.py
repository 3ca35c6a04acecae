"""The Python sources of an SGLang that is not installed: a wheel, a folder, or files read out of an image."""

import re
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, Protocol

from sgdoctor.errors import UserError
from sgdoctor.patterns import lazy_pattern

MAX_BYTES: Final = 8 << 20
"""A source file larger than this is not read; the largest one of a release has 0.4 MiB."""

_METADATA: Final = lazy_pattern(r"^Version: *(\S+)", re.MULTILINE)
_VERSION: Final = lazy_pattern(r"""^(?:__version__ *= *)?(?:__version__|version) *= *["']([^"']+)["']""", re.MULTILINE)
_VERSION_FILES: Final = ("sglang/_version.py", "sglang/version.py")


class Sources(Protocol):
    """Files of the package, named from its parent: ``sglang/srt/server_args.py``."""

    def read(self, name: str) -> str | None:
        """The text of a file; None if there is none."""

    def below(self, folder: str) -> Iterable[str]:
        """The names of the files directly in a folder, sorted."""

    def version(self) -> str | None:
        """The version that the package says it has; None if it does not say."""


class WheelSources:
    """A ``.whl``, which is a zip archive."""

    def __init__(self, path: Path) -> None:
        """Opens the wheel.

        Raises:
            UserError: it cannot be read.
        """
        try:
            self._archive = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile) as error:
            raise UserError(f"{path}: not a wheel: {error}", f"{path}：不是 wheel 文件：{error}") from None
        self._names = frozenset(self._archive.namelist())

    def read(self, name: str) -> str | None:
        """The text of a file; None if there is none."""
        if name not in self._names or self._archive.getinfo(name).file_size > MAX_BYTES:
            return None
        try:
            return self._archive.read(name).decode("utf-8", "replace")
        except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError):
            return None

    def below(self, folder: str) -> Iterable[str]:
        """The names of the files directly in a folder, sorted."""
        return directly_below(folder, self._names)

    def version(self) -> str | None:
        """The version in its metadata."""
        found = next((name for name in self._names if re.fullmatch(r"sglang-[^/]+\.dist-info/METADATA", name)), None)
        return stated_version(self) if found is None else _metadata_version(self.read(found))


class FolderSources:
    """An unpacked wheel, ``site-packages``, a checkout, or the package's own folder."""

    def __init__(self, path: Path) -> None:
        """Finds the package.

        Raises:
            UserError: the folder holds none.
        """
        for parent in (path, path / "python", path.parent):
            if (parent / "sglang" / "srt").is_dir() and (parent != path.parent or path.name == "sglang"):
                self._root = parent
                return
        raise UserError(
            f"{path}: no sglang package in it (sglang/srt/server_args.py)",
            f"{path}：其中没有 sglang 包（sglang/srt/server_args.py）",
        )

    def read(self, name: str) -> str | None:
        """The text of a file; None if there is none."""
        path = self._root / name
        try:
            if not path.is_file() or path.stat().st_size > MAX_BYTES:
                return None
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    def below(self, folder: str) -> Iterable[str]:
        """The names of the files directly in a folder, sorted."""
        return sorted(f"{folder}/{path.name}" for path in (self._root / folder).glob("*.py"))

    def version(self) -> str | None:
        """The version in its metadata, else in its own files."""
        for metadata in sorted(self._root.glob("sglang-*.dist-info/METADATA")):
            return _metadata_version(metadata.read_text(encoding="utf-8", errors="replace"))
        return stated_version(self)


class FileSources:
    """Files that were read before.

    Args:
        files: by name, as text.
        version: what was found out about the version elsewhere.
    """

    def __init__(self, files: Mapping[str, str], version: str | None = None) -> None:
        self._files = files
        self._version = version

    def read(self, name: str) -> str | None:
        """The text of a file; None if there is none."""
        return self._files.get(name)

    def below(self, folder: str) -> Iterable[str]:
        """The names of the files directly in a folder, sorted."""
        return directly_below(folder, self._files)

    def version(self) -> str | None:
        """The version that was given, else that of the files."""
        return self._version or stated_version(self)


def open_sources(path: Path) -> Sources:
    """The sources in a wheel or a folder.

    Raises:
        UserError: there are none.
    """
    if path.is_dir():
        return FolderSources(path)
    if not path.exists():
        raise UserError(f"{path}: there is no such file or folder", f"{path}：没有这个文件或目录")
    return WheelSources(path)


def directly_below(folder: str, names: Iterable[str]) -> list[str]:
    """Those of ``names`` that lie in ``folder`` and in no folder of it."""
    prefix = f"{folder}/"
    return sorted(name for name in names if name.startswith(prefix) and "/" not in name[len(prefix) :])


def stated_version(sources: Sources) -> str | None:
    """The version that the package's own files state."""
    for name in _VERSION_FILES:
        if found := _VERSION.search(sources.read(name) or ""):
            return found[1]
    return None


def _metadata_version(text: str | None) -> str | None:
    found = _METADATA.search(text or "")
    return found[1] if found else None
