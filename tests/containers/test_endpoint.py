"""Which engine is meant, by the rules of the docker command."""

import hashlib
import json
import socket
import ssl
from pathlib import Path

import pytest

from sgdoctor.containers import once
from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint, Tls, find_endpoint
from sgdoctor.containers.once import open_file_or_container
from sgdoctor.containers.transport import UnreachableError, unreachable
from sgdoctor.errors import UserError


def add_context(home: Path, name: str, host: str, *, skip_verify: bool = False, tls: bool = False) -> None:
    key = hashlib.sha256(name.encode()).hexdigest()
    meta = home / ".docker" / "contexts" / "meta" / key
    meta.mkdir(parents=True)
    endpoint = {"Host": host, "SkipTLSVerify": skip_verify}
    (meta / "meta.json").write_text(json.dumps({"Name": name, "Endpoints": {"docker": endpoint}}))
    if tls:
        folder = home / ".docker" / "contexts" / "tls" / key / "docker"
        folder.mkdir(parents=True)
        for file in ("ca.pem", "cert.pem", "key.pem"):
            (folder / file).touch()


def env(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), "XDG_RUNTIME_DIR": str(home / "run"), **more}


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("unix:///run/user/1000/docker.sock", "unix:///run/user/1000/docker.sock"),
        ("/tmp/d.sock", "unix:///tmp/d.sock"),
        ("tcp://gpu-box:2375", "tcp://gpu-box:2375"),
        ("tcp://gpu-box", "tcp://gpu-box:2375"),
        ("tcp://[::1]", "tcp://[::1]:2375"),
        ("gpu-box:4000", "tcp://gpu-box:4000"),
        ("ssh://me@gpu-box:22", "ssh://me@gpu-box:22"),
    ],
)
def test_docker_host_wins(tmp_path: Path, host: str, url: str) -> None:
    add_context(tmp_path, "other", "tcp://elsewhere:1")

    assert find_endpoint(env(tmp_path, DOCKER_HOST=host, DOCKER_CONTEXT="other")) == Endpoint(url, "DOCKER_HOST")


def test_tls_by_variables(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").touch()
    found = find_endpoint(
        env(tmp_path, DOCKER_HOST="tcp://gpu-box", DOCKER_TLS_VERIFY="1", DOCKER_CERT_PATH=str(tmp_path))
    )

    assert found == Endpoint("tcp://gpu-box:2376", "DOCKER_HOST", Tls(authority=tmp_path / "ca.pem"))


def test_current_context_with_its_certificates(tmp_path: Path) -> None:
    add_context(tmp_path, "box", "tcp://gpu-box:2376", tls=True)
    (tmp_path / ".docker" / "config.json").write_text('{"currentContext": "box"}')
    found = find_endpoint(env(tmp_path))

    assert (found.url, found.origin) == ("tcp://gpu-box:2376", "context box")
    assert found.tls is not None
    assert found.tls.verify
    assert found.tls.key is not None


def test_context_that_skips_verification(tmp_path: Path) -> None:
    add_context(tmp_path, "box", "tcp://gpu-box:2376", skip_verify=True)

    assert find_endpoint(env(tmp_path, DOCKER_CONTEXT="box")).tls == Tls(verify=False)


def test_unknown_context_is_explained_in_both_languages(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        find_endpoint(env(tmp_path, DOCKER_CONTEXT="gone"))

    assert "'gone' does not exist" in caught.value.en
    assert "'gone' 不存在" in caught.value.zh


def test_address_of_windows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be used"):
        find_endpoint(env(tmp_path, DOCKER_HOST="npipe:////./pipe/docker_engine"))


def test_rootless_socket_and_podman(tmp_path: Path) -> None:
    if Path("/var/run/docker.sock").exists():
        pytest.skip("this machine has a Docker of its own")
    podman = tmp_path / "run" / "podman" / "podman.sock"
    podman.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(podman))
        only_podman = find_endpoint(env(tmp_path))
        with socket.socket(socket.AF_UNIX) as rootless:
            rootless.bind(str(tmp_path / "run" / "docker.sock"))
            both = find_endpoint(env(tmp_path))

    assert only_podman == Endpoint(f"unix://{podman}", "socket")
    assert both == Endpoint(f"unix://{tmp_path}/run/docker.sock", "socket")


def test_nobody_at_the_socket(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError) as caught:
        Client(Endpoint(f"unix://{tmp_path}/none.sock", "socket")).inspect("x")

    assert "Is it running?" in caught.value.en
    assert "它在运行吗" in caught.value.zh
    assert caught.value.nobody_there


def test_a_name_without_a_file_and_without_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(once, "find_endpoint", lambda: Endpoint(f"unix://{tmp_path}/none.sock", "socket"))
    with pytest.raises(UserError) as caught, open_file_or_container("sgl"):
        pass

    assert caught.value.en.startswith("sgl: no such file. No container engine answers at ")


def test_refused_socket_is_an_engine_that_is_down(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
    with pytest.raises(UnreachableError) as caught:
        Client(Endpoint(f"unix://{tmp_path}/s", "socket")).inspect("x")

    assert "Is it running?" in caught.value.en
    assert not caught.value.nobody_there


def test_forbidden_socket_names_the_way_in() -> None:
    error = unreachable(Endpoint("unix:///var/run/docker.sock"), PermissionError(13, "Permission denied"))

    assert "usermod -aG docker" in error.en
    assert "docker 组" in error.zh


def test_bad_certificate_names_the_files() -> None:
    error = unreachable(Endpoint("tcp://box:2376", tls=Tls()), ssl.SSLCertVerificationError("self-signed certificate"))

    assert "ca.pem" in error.en


def test_ssh_without_a_client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="ssh is not installed"):
        Client(Endpoint("ssh://me@box")).inspect("x")


def test_ssh_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "ssh"
    program.write_text("#!/bin/sh\necho 'me@box: Permission denied (publickey).' >&2\nexit 255\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    client = Client(Endpoint("ssh://me@box"))
    with pytest.raises(UnreachableError, match=r"Permission denied \(publickey\)"):
        client.inspect("x")

    assert client.connections.open_count == 0
