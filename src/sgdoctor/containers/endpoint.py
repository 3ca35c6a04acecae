"""Which container engine to talk to: the rules of the ``docker`` command, then the usual sockets of this machine."""

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sgdoctor.errors import UserError

_SYSTEM_SOCKET: Final = "/var/run/docker.sock"


@dataclass(frozen=True, slots=True)
class Tls:
    """What a TLS connection needs.

    Attributes:
        verify: whether the engine has to prove who it is.
        authority: file with the certificate that signed the engine's; None for those of the system.
        certificate: file with the certificate to show; None for none.
        key: file with its key.
    """

    verify: bool = True
    authority: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a container engine.

    Attributes:
        url: ``unix:///path``, ``tcp://host:port`` or ``ssh://user@host:port``.
        origin: where it was found: ``DOCKER_HOST``, ``context NAME`` or ``socket``.
        tls: for ``tcp`` only.
    """

    url: str
    origin: str = "DOCKER_HOST"
    tls: Tls | None = None

    @property
    def scheme(self) -> str:
        """``unix``, ``tcp`` or ``ssh``."""
        return self.url.partition("://")[0]

    @property
    def address(self) -> str:
        """What stands behind the scheme."""
        return self.url.partition("://")[2]


def find_endpoint(environ: Mapping[str, str] | None = None) -> Endpoint:
    """The engine that ``docker`` would talk to; where nothing is set up, the first socket that answers to its name.

    Order: ``DOCKER_HOST``, ``DOCKER_CONTEXT``, the current context of the docker command, the sockets of Docker,
    rootless Docker, Docker Desktop and podman. ``CONTAINER_HOST`` is podman's name for ``DOCKER_HOST``.

    Raises:
        UserError: the context does not exist or cannot be read, or the address has a form that cannot be used.
    """
    env = os.environ if environ is None else environ
    if host := env.get("DOCKER_HOST"):
        return _endpoint(host, "DOCKER_HOST", _tls_of(env))
    config = Path(env.get("DOCKER_CONFIG") or Path(env.get("HOME") or Path.home()) / ".docker")
    context = env.get("DOCKER_CONTEXT") or _current_context(config)
    if context and context != "default":
        return _of_context(config, context)
    if host := env.get("CONTAINER_HOST"):
        return _endpoint(host, "CONTAINER_HOST", None)
    return Endpoint(f"unix://{_socket(env)}", "socket")


def _endpoint(host: str, origin: str, tls: Tls | None) -> Endpoint:
    host = host.strip()
    scheme, mark, address = host.partition("://")
    if not mark:
        # "docker -H" takes a bare path and a bare host as well (docker/cli opts/hosts.go).
        scheme, address = ("unix", host) if host.startswith("/") else ("tcp", host)
    if scheme == "https":
        scheme, tls = "tcp", tls or Tls()
    if scheme == "http":
        scheme = "tcp"
    if scheme == "tcp":
        address = address.rstrip("/")
        if ":" not in address.rpartition("]")[2]:
            address += ":2376" if tls else ":2375"
    if scheme not in ("unix", "tcp", "ssh") or not address:
        raise UserError(
            f"{origin}={host}: this kind of address cannot be used. Use unix:///path, tcp://host:port or ssh://user@host.",
            f"{origin}={host}：不支持这种地址。请使用 unix:///路径、tcp://主机:端口 或 ssh://用户@主机。",
        )
    return Endpoint(f"{scheme}://{address}", origin, tls if scheme == "tcp" else None)


def _tls_of(env: Mapping[str, str]) -> Tls | None:
    # Any text but the empty one turns it on: docker/cli takes "0" for on as well.
    verify = bool(env.get("DOCKER_TLS_VERIFY"))
    folder = env.get("DOCKER_CERT_PATH")
    if not verify and not folder:
        return None
    path = Path(folder) if folder else Path(env.get("HOME") or Path.home()) / ".docker"
    return _tls_in(path, verify=verify)


def _tls_in(folder: Path, *, verify: bool) -> Tls:
    def file(name: str) -> Path | None:
        return folder / name if (folder / name).exists() else None

    return Tls(verify, file("ca.pem"), file("cert.pem"), file("key.pem"))


def _current_context(config: Path) -> str:
    try:
        name = json.loads((config / "config.json").read_bytes()).get("currentContext")
    except (OSError, ValueError, AttributeError):
        return ""
    return name if isinstance(name, str) else ""


def _of_context(config: Path, name: str) -> Endpoint:
    # docker/cli cli/context/store: the folder of a context is the SHA-256 of its name.
    key = hashlib.sha256(name.encode()).hexdigest()
    meta = config / "contexts" / "meta" / key / "meta.json"
    try:
        endpoint: Any = json.loads(meta.read_bytes())["Endpoints"]["docker"]
        host = str(endpoint["Host"])
    except FileNotFoundError:
        raise UserError(
            f"The Docker context {name!r} does not exist. `docker context ls` lists them; "
            "`docker context use default` goes back to the engine of this machine.",
            f"Docker 上下文 {name!r} 不存在。`docker context ls` 可列出全部；"
            "`docker context use default` 可切回本机引擎。",
        ) from None
    except (OSError, ValueError, LookupError, TypeError):
        raise UserError(
            f"The Docker context {name!r} cannot be read: {meta}", f"无法读取 Docker 上下文 {name!r}：{meta}"
        ) from None
    folder = config / "contexts" / "tls" / key / "docker"
    verify = not endpoint.get("SkipTLSVerify", False)
    tls = _tls_in(folder, verify=verify) if folder.is_dir() or not verify else None
    return _endpoint(host, f"context {name}", tls)


def _socket(env: Mapping[str, str]) -> str:
    runtime = env.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    home = env.get("HOME") or str(Path.home())
    candidates = [
        _SYSTEM_SOCKET,
        f"{runtime}/docker.sock",
        f"{home}/.docker/desktop/docker.sock",
        f"{home}/.docker/run/docker.sock",
        f"{runtime}/podman/podman.sock",
        "/run/podman/podman.sock",
    ]
    sockets = [path for path in candidates if _is_socket(path)]
    usable = (path for path in sockets if os.access(path, os.R_OK | os.W_OK))
    # One that is forbidden is still the one that the user means; the message about it says what to do.
    return next(usable, sockets[0] if sockets else _SYSTEM_SOCKET)


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(Path(path).stat().st_mode)
    except OSError:
        return False
