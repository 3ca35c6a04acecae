"""Other ways to an engine of the tests: a port, TLS, ssh."""

import contextlib
import select
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sgdoctor.containers.endpoint import Tls

SSH = "ssh://me@gpu-box:2222"
"""Where an engine is after `ssh_to`."""


def mutual_tls(folder: Path) -> tuple[Tls, ssl.SSLContext]:
    """What a client and a server need that ask each other who they are; the files lie in a folder."""
    key, certificate = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=certificate)
    context.load_cert_chain(certificate, key)
    context.verify_mode = ssl.CERT_REQUIRED
    return Tls(authority=certificate, certificate=certificate, key=key), context


def ssh_to(url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program `ssh` in a folder on the path; it runs what a remote shell would: the words behind `--` and the host."""
    program = folder / "ssh"
    program.write_text(f'#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift 3\nexec docker -H {url} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


@contextlib.contextmanager
def gate(path: str, context: ssl.SSLContext | None = None, most: int | None = None) -> Iterator[int]:
    """A TCP port in front of a socket of this machine.

    Args:
        path: of the socket.
        context: for TLS.
        most: of each connection's answers this many bytes come, and then nothing more.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        threads: list[threading.Thread] = []

        def accept() -> None:
            while True:
                try:
                    plain, _ = server.accept()
                except OSError:
                    return
                threads.append(threading.Thread(target=serve, args=(plain,)))
                threads[-1].start()

        def serve(plain: socket.socket) -> None:
            with plain, contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as inner:
                outer = context.wrap_socket(plain, server_side=True) if context else plain
                with outer:
                    inner.connect(path)
                    _pump(outer, inner, most)

        listener = threading.Thread(target=accept)
        listener.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            listener.join()
            for thread in threads:
                thread.join()


def _pump(outer: socket.socket, inner: socket.socket, most: int | None) -> None:
    answered = 0
    while True:
        pending = isinstance(outer, ssl.SSLSocket) and outer.pending() > 0
        ready = [outer] if pending else select.select([outer, inner], [], [])[0]
        for one, other in ((outer, inner), (inner, outer)):
            if one in ready:
                data = one.recv(1 << 16)
                if not data:
                    return
                answered += len(data) if one is inner else 0
                if most is None or answered <= most:
                    other.sendall(data)
