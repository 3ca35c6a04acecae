"""Images made on the spot from files of the machine's Debian packages: no registry is asked."""

import contextlib
import io
import shutil
import subprocess
import tarfile
from pathlib import Path

from tests.docker.engine import Engine

BUSYBOX = "sgdoctor-test/busybox:1"


class Root:
    """A root file system as a tar archive in memory, reproducible: owner root, and the times of the files are given."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO()
        self._tar = tarfile.TarFile(fileobj=self._bytes, mode="w")
        for folder in ("bin", "dev", "etc", "proc", "root", "sys", "tmp"):
            self.folder(folder)
        self.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n")
        self.file("etc/group", b"root:x:0:\n")

    def folder(self, name: str) -> None:
        """Add an empty folder."""
        entry = tarfile.TarInfo(name)
        entry.type, entry.mode = tarfile.DIRTYPE, 0o755
        self._tar.addfile(entry)

    def file(self, name: str, data: bytes, mode: int = 0o644, changed: int = 0) -> None:
        """Add a file; `changed` is its time (seconds since 1970)."""
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode, entry.mtime = len(data), mode, changed
        self._tar.addfile(entry, io.BytesIO(data))

    def link(self, name: str, target: str) -> None:
        """Add a symbolic link."""
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, target, 0o777
        self._tar.addfile(entry)

    def busybox(self) -> None:
        """Add busybox and its applets to /bin (its package must be the static one)."""
        program = shutil.which("busybox")
        assert program is not None
        self.file("bin/busybox", Path(program).read_bytes(), 0o755)
        applets = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
        for applet in applets:
            if applet != "busybox":
                self.link(f"bin/{applet}", "busybox")

    def done(self) -> bytes:
        """Close the archive and give it."""
        self._tar.close()
        return self._bytes.getvalue()


def import_image(host: Engine, name: str, root: bytes, changes: list[str]) -> None:
    """Make an image of one layer. `changes` are Dockerfile lines (ENV, LABEL, CMD, ENTRYPOINT, EXPOSE, ...)."""
    with contextlib.closing(host.client(timeout=120)) as client:
        # Name and tag as one: podman drops a tag that comes apart from it.
        client.api.import_image_from_data(root, repository=name, changes=changes)


def build_busybox(host: Engine) -> None:
    """Import the image with a shell."""
    root = Root()
    root.busybox()
    import_image(host, BUSYBOX, root.done(), ["ENV PATH=/bin", 'CMD ["sh"]'])
