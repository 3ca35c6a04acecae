"""The image `sglang-standin`: Debian's Python, a shell, the stand-in and what it replays. No registry is asked."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from sgdoctor.engines.sglang.flags.schemas import schema
from tests.docker.dockerd import PrivateDockerd
from tests.docker.images import Root, import_image
from tests.standin.flags_source import with_flags

VERSION = "0.5.15"
IMAGE = f"sglang-standin:v{VERSION}"
HERE = Path(__file__).parent
LOGS = HERE.parent.parent / "fixtures" / "logs" / "real"
SOURCES = HERE.parent.parent / "src" / "sgdoctor"
# What decides: flags and memory, and what they import.
SGDOCTOR = ("*.py", "launch/*.py", "logs/*.py", "engines/**/*.py", "engines/sglang/data/flag_schemas.json")

PYTHON = Path("/usr/bin/python3")
DIST_PACKAGES = "usr/lib/python3/dist-packages"
PACKAGES = ("python{}-minimal", "libpython{}-minimal", "libpython{}-stdlib")
# Parts of the standard library that nothing in the image uses.
UNUSED = re.compile(
    r"/share/|/(idlelib|lib2to3|ensurepip|distutils|tkinter|unittest|pydoc_data|curses|sqlite3|config-[^/]*)/"
)

SHELL = b'#!/bin/sh\nexec /bin/sh "$@"\n'
SGLANG = b"""#!/usr/bin/python3
from sglang.cli.main import main
main()
"""
# A start script as users mount it in front of the engine; it has the guard that the engine's child processes need.
WRAPPER = b"""import sys
from sglang.launch_server import main
if __name__ == "__main__":
    print("launch_selode.py: patches applied", file=sys.stderr, flush=True)
    main(sys.argv[1:])
"""


def build_standin(host: PrivateDockerd) -> None:
    """Build and import the image."""
    root = Root()
    root.busybox()
    root.file("bin/bash", SHELL, 0o755)
    _python(root)
    _sources(root)
    for file in sorted((HERE / "recorded").rglob("*")):
        if file.is_file():
            root.file(f"opt/standin/{file.relative_to(HERE / 'recorded')}", file.read_bytes())
    for log in sorted(LOGS.glob("*.log")):
        root.file(f"opt/standin/logs/{log.name}", log.read_bytes())
    root.file("usr/local/bin/sglang", SGLANG, 0o755)
    root.file("launch_selode.py", WRAPPER)
    root.folder("var/lib/standin")
    changes = [
        "ENV PATH=/usr/local/bin:/usr/bin:/bin PYTHONUNBUFFERED=1",
        "LABEL sgdoctor.standin=1",
        "WORKDIR /sgl-workspace",
    ]
    import_image(host, IMAGE, root.done(), changes)


def _sources(root: Root) -> None:
    """Add the stand-in, and the parts of sgdoctor that it computes with, compiled as the image's Python wants them."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name in ("sglang", "transformers"):
            shutil.copytree(HERE / "engine" / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for pattern in SGDOCTOR:
            for file in SOURCES.glob(pattern):
                copy = folder / file.relative_to(SOURCES.parent)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)
        flags = folder / "sglang" / "srt" / "server_args.py"
        flags.write_text(with_flags(flags.read_text(), schema(VERSION)))
        (folder / "sglang" / "version.py").write_text(f'__version__ = "{VERSION}"\n')
        moved = ["-s", scratch, "-p", f"/{DIST_PACKAGES}", scratch]
        compiler = [str(PYTHON), "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
        subprocess.run([*compiler, *moved], check=True)
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                root.file(f"{DIST_PACKAGES}/{file.relative_to(folder)}", file.read_bytes())


def _python(root: Root) -> None:
    """Add the machine's Debian Python: its packages' files, their compiled forms, the libraries of the program."""
    program = PYTHON.resolve()
    version = program.name.removeprefix("python")
    packages = [package.format(version) for package in PACKAGES]
    listed = subprocess.run(["dpkg", "-L", *packages], capture_output=True, text=True, check=True).stdout
    for path in sorted({Path(line) for line in listed.splitlines()}):
        if path.is_symlink() or not path.is_file() or UNUSED.search(str(path)):
            continue
        _add(root, path)
        compiled = path.parent / "__pycache__" / f"{path.stem}.cpython-{version.replace('.', '')}.pyc"
        if path.suffix == ".py" and compiled.exists():
            _add(root, compiled)
    root.link("usr/bin/python3", program.name)
    for library in re.findall(
        r"(/\S+) \(0x", subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    ):
        root.file(library.lstrip("/"), Path(library).read_bytes(), 0o755)


def _add(root: Root, path: Path) -> None:
    # The time of the source is part of a compiled file: without it Python compiles the library anew at every start.
    status = path.stat()
    mode = 0o755 if os.access(path, os.X_OK) else 0o644
    root.file(str(path).lstrip("/"), path.read_bytes(), mode, int(status.st_mtime))
