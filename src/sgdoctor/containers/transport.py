"""Connections to a container engine that another thread can end within milliseconds.

What is followed, watched or relaunched is read here and not with docker-py (``sdk``): a cancelled follower must not
wait for a request that hangs, a log is read with HTTP/1.0 because its body then comes without chunk frames around
docker's own, and ``import docker`` takes longer than a diagnosis.
"""

import errno
import selectors
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Final

from sgdoctor.containers.endpoint import Endpoint, Tls
from sgdoctor.errors import UserError

CONNECT_SECONDS: Final = 10.0
_TICK: Final = 0.05
_RECEIVE: Final = 1 << 18
_MAX_HEAD: Final = 1 << 16


class UnreachableError(UserError):
    """The engine does not answer; it may be back later.

    Attributes:
        nobody_there: whether this machine has no engine at all, and none was asked for.
        lasting: whether it stays so until a person changes something: rights, certificates, keys.
    """

    def __init__(self, en: str, zh: str, *, nobody_there: bool = False, lasting: bool = False) -> None:
        super().__init__(en, zh)
        self.nobody_there = nobody_there
        self.lasting = lasting


class CancelledError(Exception):
    """Somebody called ``Connections.cancel``."""


class Connection:
    """One socket to the engine.

    Attributes:
        socket: connected; for ssh one end of a pair whose other end an ``ssh`` process holds.
    """

    def __init__(
        self, sock: socket.socket, process: subprocess.Popen[bytes] | None = None, said: IO[bytes] | None = None
    ) -> None:
        self.socket = sock
        self._process = process
        self._said = said

    def shut(self) -> None:
        """Let every thread that reads from it see the end; for any thread."""
        with suppress(OSError):
            # Not the method of SSLSocket: it takes away the object that the reading thread is using.
            socket.socket.shutdown(self.socket, socket.SHUT_RDWR)

    def close(self) -> None:
        """Give back the socket and end the process."""
        self.shut()
        self.socket.close()
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
        if self._said is not None:
            self._said.close()

    def complaint(self) -> str:
        """What ``ssh`` had to say, its last line."""
        if self._said is None or self._said.closed:
            return ""
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(0.5)
        self._said.seek(0)
        lines = self._said.read(1 << 16).decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


class Connections:
    """Opens connections to one engine, and can end all of them at once.

    Attributes:
        endpoint: the engine.
        cancelled: set by ``cancel``; also what to sleep on.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.cancelled = threading.Event()
        self._lock = threading.Lock()
        self._open: set[Connection] = set()

    def cancel(self) -> None:
        """End every connection, and refuse new ones; for any thread, any number of times."""
        with self._lock:
            self.cancelled.set()
            for connection in self._open:
                connection.shut()

    def open(self) -> Connection:
        """A new connection.

        Raises:
            UnreachableError: nobody answers, or the engine may not be used by this user.
            CancelledError: ``cancel`` was called.
        """
        if self.cancelled.is_set():
            raise CancelledError
        match self.endpoint.scheme:
            case "unix":
                connection = Connection(self._unix())
            case "tcp":
                connection = Connection(self._tcp())
            case _:
                connection = _ssh(self.endpoint)
        with self._lock:
            if not self.cancelled.is_set():
                self._open.add(connection)
                return connection
        connection.close()
        raise CancelledError

    def close(self, connection: Connection) -> None:
        """Give a connection back."""
        with self._lock:
            self._open.discard(connection)
            connection.close()

    @property
    def open_count(self) -> int:
        """Number of connections that are open."""
        return len(self._open)

    def _unix(self) -> socket.socket:
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(CONNECT_SECONDS)
        try:
            sock.connect(self.endpoint.address)
        except OSError as error:
            sock.close()
            raise unreachable(self.endpoint, error) from None
        return sock

    def _tcp(self) -> socket.socket:
        host, _, port = self.endpoint.address.rpartition(":")
        host = host.strip("[]")
        try:
            sock = self._connected(socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM))
        except (OSError, ValueError) as error:
            raise unreachable(self.endpoint, error) from None
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if self.endpoint.tls is None:
            return sock
        sock.settimeout(CONNECT_SECONDS)
        try:
            return _context(self.endpoint.tls).wrap_socket(sock, server_hostname=host)
        except OSError as error:  # SSLError is one
            sock.close()
            raise unreachable(self.endpoint, error) from None

    def _connected(self, addresses: Sequence[tuple[int, int, int, str, tuple[object, ...]]]) -> socket.socket:
        failed: OSError = OSError(errno.EHOSTUNREACH, "no address")
        for family, kind, protocol, _, address in addresses:
            sock = socket.socket(family, kind, protocol)
            sock.settimeout(0)
            code = sock.connect_ex(address)
            if code == errno.EINPROGRESS:
                code = self._connecting(sock)
            if code == 0:
                return sock
            sock.close()
            failed = OSError(code, errno.errorcode.get(code, "error"))
        raise failed

    def _connecting(self, sock: socket.socket) -> int:
        """Wait in small steps: a connection that is being made cannot be shut down from another thread."""
        limit = time.monotonic() + CONNECT_SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(sock, selectors.EVENT_WRITE)
            while time.monotonic() < limit:
                if selector.select(_TICK):
                    return sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if self.cancelled.is_set():
                    sock.close()
                    raise CancelledError
        return errno.ETIMEDOUT


class Stream:
    """The body of an answer that goes on for as long as the engine likes.

    Args:
        connections: opens the one that it needs.
        target: path and query.
        timeout: seconds to wait for the answer to begin.
        method: of HTTP.
        body: JSON to be sent with it; None for none.

    Raises from the constructor:
        UnreachableError: the engine closed the connection before it answered.

    Attributes:
        status: of HTTP.
    """

    def __init__(
        self, connections: Connections, target: str, timeout: float, *, method: str = "GET", body: bytes | None = None
    ) -> None:
        self._connections = connections
        self._connection = connections.open()
        try:
            self._connection.socket.settimeout(timeout)
            head = f"{method} {target} HTTP/1.0\r\nHost: docker\r\n"
            if body is not None:
                head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            self.status, self._rest = self._head(f"{head}\r\n".encode() + (body or b""))
        except BaseException:
            self.close()
            raise

    def receive(self, timeout: float) -> bytes | None:
        """The next bytes.

        Args:
            timeout: seconds to wait for them.

        Returns:
            Nothing (``b""``) at the end, which a broken connection is as well; None when nothing came in time.

        Raises:
            CancelledError: ``Connections.cancel`` was called.
        """
        if self._rest:
            rest, self._rest = self._rest, b""
            return rest
        try:
            self._connection.socket.settimeout(timeout)
            data = self._connection.socket.recv(_RECEIVE)
        except TimeoutError:
            return None
        except OSError:
            data = b""
        if not data and self._connections.cancelled.is_set():
            raise CancelledError
        return data

    def read_all(self, timeout: float) -> bytes:
        """All that is left of a body that is short."""
        parts = []
        while part := self.receive(timeout):
            parts.append(part)
        return b"".join(parts)

    def close(self) -> None:
        """Give the connection back."""
        self._connections.close(self._connection)

    def _head(self, request: bytes) -> tuple[int, bytes]:
        """Ask; the status of the answer, and what came of its body."""
        sock = self._connection.socket
        head = b""
        try:
            sock.sendall(request)
            while b"\r\n\r\n" not in head and len(head) < _MAX_HEAD:
                part = sock.recv(_RECEIVE)
                if not part:
                    raise ConnectionResetError(errno.ECONNRESET, "closed without an answer")
                head += part
        except OSError as error:
            if self._connections.cancelled.is_set():
                raise CancelledError from None
            raise unreachable(self._connections.endpoint, error, self._connection.complaint()) from None
        lines, _, rest = head.partition(b"\r\n\r\n")
        try:
            return int(lines.split(None, 2)[1]), rest
        except (IndexError, ValueError):
            raise unreachable(self._connections.endpoint, OSError(0, "not HTTP")) from None


def _context(tls: Tls) -> ssl.SSLContext:
    # The system's own variables (REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE) have no say here, which is right: with requests
    # they replace the engine's authority.
    context = ssl.create_default_context(cafile=tls.authority)
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if tls.certificate is not None:
        context.load_cert_chain(tls.certificate, tls.key)
    return context


def _ssh(endpoint: Endpoint) -> Connection:
    address = endpoint.address.partition("/")[0]
    host, _, port = address.rpartition(":") if address.rpartition(":")[2].isdigit() else (address, "", "")
    ours, theirs = socket.socketpair()
    said = tempfile.TemporaryFile()  # noqa: SIM115 - the connection closes it
    # BatchMode: a question for a password would land in the middle of the screen, and again at every request.
    command = ["ssh", "-T", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_SECONDS:.0f}"]
    command += ["-p", port] if port else []
    try:
        process = subprocess.Popen(  # noqa: S603 - an argument list; "--" keeps a host from being an option
            [*command, "--", host, "docker", "system", "dial-stdio"],
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
            stderr=said,
            start_new_session=True,
        )
    except FileNotFoundError:
        ours.close()
        said.close()
        raise UserError(
            f"{endpoint.url}: the program ssh is not installed. Install it (apt-get install openssh-client).",
            f"{endpoint.url}：未安装 ssh 程序。请安装（apt-get install openssh-client）。",
        ) from None
    finally:
        theirs.close()
    return Connection(ours, process, said)


_STOPPED: Final = (errno.ENOENT, errno.ECONNREFUSED, errno.ENOTDIR, errno.ECONNRESET, errno.EPIPE)


def unreachable(endpoint: Endpoint, error: Exception, complaint: str = "") -> UnreachableError:
    """What to tell the user about an engine that could not be talked to.

    Args:
        endpoint: the engine.
        error: what happened.
        complaint: the words of ``ssh``.
    """
    where = endpoint.url if endpoint.origin in ("DOCKER_HOST", "socket") else f"{endpoint.url} ({endpoint.origin})"
    code = error.errno if isinstance(error, OSError) else None
    if endpoint.scheme == "ssh":
        reason = complaint or str(error)
        return UnreachableError(
            f"{where}: ssh did not get through: {reason}. It must work without questions: "
            f"ssh {endpoint.address} docker version",
            f"{where}：ssh 连接失败：{reason}。该命令必须无需交互即可运行：ssh {endpoint.address} docker version",
            lasting=True,
        )
    if isinstance(error, PermissionError):
        path = endpoint.address
        return UnreachableError(
            f"Permission denied on {path}. Add yourself to its group "
            "(sudo usermod -aG docker $USER, then log in again), or run sgdoctor with sudo.",
            f"没有权限访问 {path}。请把自己加入 docker 组"
            "（sudo usermod -aG docker $USER，然后重新登录），或用 sudo 运行 sgdoctor。",
            lasting=True,
        )
    if isinstance(error, ssl.SSLError | ssl.CertificateError):
        reason = getattr(error, "verify_message", "") or getattr(error, "reason", "") or str(error)
        return UnreachableError(
            f"{where}: TLS failed: {reason}. DOCKER_CERT_PATH must hold ca.pem, cert.pem and key.pem of this engine.",
            f"{where}：TLS 握手失败：{reason}。DOCKER_CERT_PATH 中必须有该引擎的 ca.pem、cert.pem 和 key.pem。",
            lasting=True,
        )
    if endpoint.scheme == "unix" and code in _STOPPED:
        return UnreachableError(
            f"No container engine answers at {where}. Is it running? sudo systemctl start docker",
            f"{where} 没有容器引擎响应。它在运行吗？sudo systemctl start docker",
            nobody_there=endpoint.origin == "socket" and code == errno.ENOENT,
        )
    reason = getattr(error, "strerror", None) or str(error)
    return UnreachableError(
        f"The container engine at {where} does not answer: {reason}", f"{where} 的容器引擎没有响应：{reason}"
    )


def target_of(path: str, query: Mapping[str, str] | None = None) -> str:
    """Path and query as they stand in a request."""
    from urllib.parse import quote, urlencode  # noqa: PLC0415

    # Words of a command line may hold bytes that are no text; the engine knows nothing of such a name, and says so.
    return quote(path, errors="surrogateescape") + (f"?{urlencode(query, errors='surrogateescape')}" if query else "")
