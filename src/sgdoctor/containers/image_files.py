"""The sources of an engine inside an image, read without starting anything.

A container is made from the image and never started; the engine's files are copied out of it, one by one as they are
needed, and it is removed again.
"""

import io
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from sgdoctor.containers.client import Client, RefusedError
from sgdoctor.engines.sglang.flags.sources import MAX_BYTES, directly_below, stated_version
from sgdoctor.errors import UserError
from sgdoctor.patterns import lazy_pattern

if TYPE_CHECKING:
    from sgdoctor.containers.temporary import Temporary

_MAX_FOLDER: Final = 4 * MAX_BYTES
_MAX_FILES: Final = 300
"""So many files are read at most: a program with an import that goes in circles through names ends here."""
_PACKAGE: Final = "sglang"
_PROBE: Final = "sglang/srt/server_args.py"
# The official image has an editable install there (docker/Dockerfile of 0.4 to 0.5).
_OFFICIAL: Final = "/sgl-workspace/sglang/python"
_PREFIXES: Final = ("/usr/local", "/usr", "/opt/venv", "/opt/conda", "/root/.venv", "/app/.venv")
_PYTHONS: Final = ("3.12", "3.11", "3.10", "3.13", "3.14", "3.9")
_VERSION_FILES: Final = ("version.py", "_version.py", "__init__.py")
_STATED: Final = lazy_pattern(r"(?m)^__version__\s*(?::\s*\w+\s*)?=\s*(?:version\s*=\s*)?[\"'](\d[\w.+-]{0,40})[\"']")
_TAG: Final = lazy_pattern(r"(?:^|[-_])v?(\d+\.\d+\.\d+(?:\.post\d+|rc\d+)?)(?![\d.])")


class ImageSources:
    """The files of the engine's package in an image; a ``flags.sources.Sources``. Valid inside of ``open_image``.

    Args:
        container: made from the image.
        root: folder that the package lies in.
        tag: of the image, for a version that the files do not state.
        roots: folders that other packages may lie in.
    """

    def __init__(self, container: "Temporary", root: str, tag: str, roots: Sequence[str] = ()) -> None:
        self._container = container
        self._root = root
        self._tag = tag
        self._roots = roots
        self._packages = ""
        self._files: dict[str, str | None] = {}
        self._folders: set[str] = set()

    @property
    def root(self) -> str:
        """The folder that the package lies in."""
        return self._root

    def read(self, name: str) -> str | None:
        """The text of a file; None if there is none.

        Raises:
            UserError: the container engine does not answer.
        """
        # Modules of other packages are none of the engine's definitions.
        if not name.startswith(f"{_PACKAGE}/"):
            return None
        if name not in self._files:
            if str(PurePosixPath(name).parent) in self._folders or len(self._files) >= _MAX_FILES:
                return None
            found = _copied(self._container, f"{self._root}/{name}", MAX_BYTES)
            self._files[name] = found.get(PurePosixPath(name).name)
        return self._files[name]

    def below(self, folder: str) -> Iterable[str]:
        """The names of the files directly in a folder, sorted; raises as ``read``."""
        if folder not in self._folders:
            parent = str(PurePosixPath(folder).parent)
            copied = _copied(self._container, f"{self._root}/{folder}", _MAX_FOLDER)
            self._files |= {f"{parent}/{name}": text for name, text in copied.items()}
            self._folders.add(folder)
        return directly_below(folder, [name for name, text in self._files.items() if text is not None])

    def package_version(self, package: str) -> str | None:
        """The version that another Python package of the image states, such as ``torch``; None if it is not found.

        Raises:
            UserError: the container engine does not answer.
        """
        for root in dict.fromkeys((self._packages or self._root, self._root, *self._roots)):
            for file in _VERSION_FILES:
                text = _copied(self._container, f"{root}/{package}/{file}", MAX_BYTES).get(file)
                found = _STATED.search(text or "")
                if found is not None:
                    # Packages of one Python lie beside each other.
                    self._packages = root
                    return found[1]
        return None

    def version(self) -> str | None:
        """The version that the package states, else that of the image's tag; raises as ``read``."""
        stated = stated_version(self)
        # What setuptools_scm writes where it finds no tag.
        if stated is not None and not stated.startswith("0.0.0"):
            return stated
        found = _TAG.search(self._tag)
        return found[1] if found else None


@contextmanager
def open_image(client: Client, image: str) -> Iterator[ImageSources]:
    """The engine's sources in an image, for the length of a ``with`` block.

    Args:
        client: of the engine that has the image.
        image: its name or id.

    Raises:
        UserError: the engine does not answer or does not have the image, or no SGLang is in it.
    """
    from sgdoctor.containers.temporary import temporary  # noqa: PLC0415 - docker-py is slow to import

    data = client.image_data(image)
    if data is None:
        raise UserError(
            f"{image}: this image is not here. Get it first: docker pull {image}",
            f"{image}：本机没有这个镜像。请先获取：docker pull {image}",
        )
    # An image without a command of its own could not be made into a container.
    settings = {"Image": image, "Entrypoint": ["/never-started"], "Cmd": []}
    with temporary(client, "files", settings) as container:
        root = _find(container, data)
        if root is None:
            raise UserError(
                f"{image}: no SGLang found in it ({_PROBE} in {_OFFICIAL} or the packages of its Python)",
                f"{image}：其中没有找到 SGLang（{_OFFICIAL} 或其 Python 包目录下的 {_PROBE}）",
            )
        tag = image.partition("@")[0].rpartition("/")[2].partition(":")[2]
        yield ImageSources(container, root, tag, tuple(_candidates(data.get("Config") or {})))


def _find(container: "Temporary", image: dict[str, Any]) -> str | None:
    """The folder of the image that the engine's package lies in."""
    config = image.get("Config") or {}
    for root in dict.fromkeys(_candidates(config)):
        if _copied(container, f"{root}/{_PROBE}", MAX_BYTES):
            return root
    return None


def _candidates(config: dict[str, Any]) -> Iterator[str]:
    """Folders in which the package may lie, the likeliest first."""
    variables = dict(str(entry).partition("=")[::2] for entry in config.get("Env") or ())
    yield _OFFICIAL
    yield from (path for path in variables.get("PYTHONPATH", "").split(":") if path.startswith("/"))
    work = str(config.get("WorkingDir") or "").rstrip("/")
    yield from (f"{work}/python", work or "/")
    programs = [path for path in variables.get("PATH", "").split(":") if path.startswith("/")]
    prefixes = [str(PurePosixPath(path).parent) for path in programs if path.endswith("/bin")]
    for prefix in dict.fromkeys([*prefixes, *_PREFIXES]):
        for python in _PYTHONS:
            for packages in ("site-packages", "dist-packages"):
                yield f"{prefix.rstrip('/')}/lib/python{python}/{packages}"
    yield "/usr/lib/python3/dist-packages"


def _copied(container: "Temporary", path: str, limit: int) -> dict[str, str]:
    """The Python files at a path of a container, a file or a folder, by their names from its parent.

    Raises:
        UserError: the engine does not answer, or there is more than ``limit`` bytes.
    """
    try:
        archive = container.archive(path, limit)
    except RefusedError as error:
        if error.status in (400, 404):
            return {}
        raise
    files: dict[str, str] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as entries:
            for entry in entries:
                if entry.isreg() and entry.name.endswith(".py") and entry.size <= MAX_BYTES:
                    data = entries.extractfile(entry)
                    if data is not None:
                        files[entry.name] = data.read().decode("utf-8", "replace")
    except tarfile.TarError as error:
        raise UserError(
            f"{path}: the container engine sent a broken archive: {error}", f"{path}：容器引擎返回的归档已损坏：{error}"
        ) from None
    return files
