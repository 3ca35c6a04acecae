"""What the follower asks of a container engine: Docker's API, of which podman speaks enough."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from sgdoctor.containers.clock import nanoseconds, seconds_and_nanos
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.records import Container, ExitFacts
from sgdoctor.containers.transport import Connections, Stream, UnreachableError, target_of, unreachable
from sgdoctor.errors import UserError

ANSWER_SECONDS: Final = 20.0
EVENTS_SECONDS: Final = 2.0
# What `local` does when nothing is said (moby daemon/logger/local: defaultMaxFileSize).
_LOCAL_FILE: Final = 20 << 20
_SIZES: Final = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_SECOND: Final = 10**9
_SERVICE: Final = "com.docker.compose.service"
_PROJECT: Final = "com.docker.compose.project"


class RefusedError(UserError):
    """The engine answered with an error.

    Attributes:
        status: of HTTP.
        reason: the engine's own words.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"The container engine says: {reason}", f"容器引擎返回：{reason}")
        self.status = status
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Look:
    """A container at one moment.

    Attributes:
        container: which.
        status: ``created``, ``running``, ``restarting``, ``exited``, ``paused``, ``removing`` or ``dead``.
        running: whether its process lives. (The engine says so of a restarting one as well; this does not.)
        facts: of the newest start; while it runs, ``exit_code`` and ``finished`` are those of the one before.
    """

    container: Container
    status: str
    running: bool
    facts: ExitFacts

    @property
    def started(self) -> int | None:
        """When the newest start began, in nanoseconds since the epoch; None if it never did."""
        return self.facts.started


@dataclass(frozen=True, slots=True)
class Listed:
    """A line of ``docker ps -a``.

    Attributes:
        id: 64 hex digits.
        name: without the slash.
        image: as asked for.
        command: entry point and arguments as one text.
        created: seconds since the epoch.
        running: whether it runs or is about to.
        service: of compose, or empty.
        status: how it is, in the engine's own words: ``Up 3 minutes``, ``Exited (1) 2 hours ago``.
        project: of compose, or empty.
    """

    id: str
    name: str
    image: str
    command: str
    created: int
    running: bool
    service: str = ""
    status: str = ""
    project: str = ""


@dataclass(frozen=True, slots=True)
class Happening:
    """``start``, ``die`` or ``oom`` of a container.

    Attributes:
        action: which.
        time: in nanoseconds since the epoch.
        exit_code: of ``die``.
    """

    action: str
    time: int
    exit_code: int | None


class Client:
    """Read-only calls to one engine. Not for two threads at once, except ``cancel``."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.connections = Connections(endpoint)
        self._version = ""
        self._podman = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()

    def cancel(self) -> None:
        """End whatever call is going on, in any thread, and refuse new ones."""
        self.connections.cancel()

    def inspect(self, name: str) -> Look | None:
        """A container by name or id; None if there is none.

        Raises:
            UnreachableError: the engine does not answer.
            RefusedError: it does not want to.
            CancelledError: ``cancel`` was called.
        """
        data = self.container_data(name)
        return None if data is None else _look(data)

    def container_data(self, name: str) -> dict[str, Any] | None:
        """All that the engine says of a container; None if there is none; raises as ``inspect``."""
        return self._data(f"/containers/{name}/json")

    def image_data(self, name: str) -> dict[str, Any] | None:
        """All that the engine says of an image by name or id; None if there is none; raises as ``inspect``."""
        return self._data(f"/images/{name}/json")

    def volume_data(self, name: str) -> dict[str, Any] | None:
        """All that the engine says of a volume; None if there is none; raises as ``inspect``."""
        return self._data(f"/volumes/{name}")

    def info(self) -> dict[str, Any]:
        """What the engine says of itself and its machine; raises as ``inspect``."""
        data: dict[str, Any] = self._json("/info")
        return data

    def containers_data(self) -> list[dict[str, Any]]:
        """All that the engine lists of its containers, running or not; raises as ``inspect``."""
        data: list[dict[str, Any]] = self._json("/containers/json", {"all": "1"})
        return data

    def api_version(self) -> tuple[int, int]:
        """Version of the engine's API that is spoken; raises as ``inspect``."""
        major, _, minor = self._negotiated().partition(".")
        return int(major), int(minor)

    def is_podman(self) -> bool:
        """Whether it is podman, whose logs go on over the next starts of a container; raises as ``inspect``."""
        self._negotiated()
        return self._podman

    def containers(self, service: str = "") -> list[Listed]:
        """Containers, running or not, running ones first and the newest of each kind first; raises as ``inspect``.

        Args:
            service: only those of this service of compose.
        """
        query = {"all": "1"}
        if service:
            query["filters"] = json.dumps({"label": [f"{_SERVICE}={service}"]})
        entries = [_listed(entry) for entry in self._json("/containers/json", query)]
        return sorted(entries, key=lambda entry: (not entry.running, -entry.created))

    def cpu_seconds(self, container_id: str) -> float | None:
        """Processor time that a container has used since it started; None if it does not run; raises as ``inspect``."""
        try:
            stats = self._json(f"/containers/{container_id}/stats", {"stream": "0", "one-shot": "1"})
        except RefusedError as error:
            if error.status == 404:
                return None
            raise
        used = ((stats.get("cpu_stats") or {}).get("cpu_usage") or {}).get("total_usage")
        return used / 1e9 if isinstance(used, int) and used else None

    def happenings(self, container_id: str, since: int) -> list[Happening]:
        """Starts and ends of a container that the engine still remembers; it forgets soon.

        Args:
            container_id: whose.
            since: in nanoseconds since the epoch.
        """
        filters = {"container": [container_id], "event": ["start", "die", "died", "oom"], "type": ["container"]}
        # "died" is podman's own word: 4.3.1 tells "die", but does not find it.
        # An end in the past makes the engine answer with what it has and close.
        until = max(since, time.time_ns())
        query = {"filters": json.dumps(filters), "since": seconds_and_nanos(since), "until": seconds_and_nanos(until)}
        if self.is_podman():
            # It tells nothing between times with fractions (4.3.1), and ends by a word of its own.
            query |= {"since": str(since // _SECOND), "until": str(until // _SECOND + 1), "stream": "false"}
        try:
            # The engine of another machine may take "now" for the future, and would wait for it.
            text = self._text("/events", query, EVENTS_SECONDS)
        except RefusedError:
            return []
        told = [_happening(line) for line in text.split(b"\n") if line.strip()]
        return [happening for happening in told if happening is not None and happening.time >= since]

    def log(
        self,
        container_id: str,
        *,
        since: int | None,
        follow: bool,
        until: int | None = None,
        tail: int | None = None,
    ) -> Stream:
        """The log of a container with time stamps, as docker frames it.

        Args:
            container_id: whose.
            since: only lines of this time or later, in nanoseconds since the epoch; None for all of them.
            follow: whether it goes on until the container ends; with podman, over its next starts as well.
            until: only lines of this time or earlier.
            tail: only so many lines from the end.

        Raises:
            RefusedError: the log driver keeps nothing that can be read (501), or the container is gone (404).
        """
        query = {"stdout": "1", "stderr": "1", "timestamps": "1", "follow": "1" if follow else "0"}
        query["tail"] = "all" if tail is None else str(tail)
        if since is not None:
            if self.is_podman():
                # A line is known by its place in its second (see ``Demux``), which must come as a whole.
                since = since // _SECOND * _SECOND
            # RFC 3339 makes the API fail, and whole seconds would repeat lines.
            query["since"] = seconds_and_nanos(since)
        if until is not None:
            query["until"] = seconds_and_nanos(until)
        return self._open(f"/containers/{container_id}/logs", query)

    def _data(self, path: str) -> dict[str, Any] | None:
        try:
            data: dict[str, Any] = self._json(path)
        except RefusedError as error:
            # Podman answers 500 about a container that is removed at this moment.
            if error.status == 404 or "no such container" in error.reason:
                return None
            raise
        return data

    def _json(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        text = self._text(path, query)
        try:
            return json.loads(text)
        except ValueError:
            # Cut off: the engine ended while it answered.
            raise unreachable(self.connections.endpoint, ConnectionResetError(104, "the answer was cut off")) from None

    def _text(self, path: str, query: Mapping[str, str] | None = None, timeout: float = ANSWER_SECONDS) -> bytes:
        stream = self._open(path, query)
        try:
            return stream.read_all(timeout)
        finally:
            stream.close()

    def _open(self, path: str, query: Mapping[str, str] | None = None) -> Stream:
        version = self._negotiated()
        try:
            stream = Stream(self.connections, target_of(f"/v{version}{path}", query), ANSWER_SECONDS)
        except UnreachableError:
            # It may come back as another version.
            self._version = ""
            raise
        if stream.status < 300:
            return stream
        try:
            raise RefusedError(stream.status, reason_of(stream.read_all(ANSWER_SECONDS), stream.status))
        finally:
            stream.close()

    def _negotiated(self) -> str:
        """Version of the API, asked for once."""
        if not self._version:
            self._version, self._podman = self._negotiate()
        return self._version

    def _negotiate(self) -> tuple[str, bool]:
        stream = Stream(self.connections, "/version", ANSWER_SECONDS)
        try:
            text = stream.read_all(ANSWER_SECONDS)
        finally:
            stream.close()
        try:
            told = json.loads(text)
            version = str(told["ApiVersion"])
            parts = [str(part["Name"]) for part in told.get("Components") or ()]
        except (ValueError, LookupError, TypeError, AttributeError):
            raise unreachable(self.connections.endpoint, OSError(0, reason_of(text, stream.status))) from None
        return version, any("podman" in part.lower() for part in parts)


def reason_of(body: bytes, status: int) -> str:
    """What the engine says in the answer to a request that it refuses."""
    try:
        reason = json.loads(body)["message"]
    except (ValueError, LookupError, TypeError):
        reason = body[:200].decode("utf-8", "replace").strip()
    return str(reason) or f"HTTP {status}"


def _look(data: Mapping[str, Any]) -> Look:
    config = data.get("Config") or {}
    state = data.get("State") or {}
    log = (data.get("HostConfig") or {}).get("LogConfig") or {}
    status = str(state.get("Status") or "")
    container = Container(
        id=str(data["Id"]),
        name=str(data.get("Name") or "").lstrip("/"),
        image=str(config.get("Image") or ""),
        image_id=str(data.get("Image") or ""),
        command=(str(data.get("Path") or ""), *map(str, data.get("Args") or ())),
        tty=bool(config.get("Tty")),
        driver=str(log.get("Type") or ""),
        rotates_at=_rotates_at(str(log.get("Type") or ""), log.get("Config") or {}),
        service=str((config.get("Labels") or {}).get(_SERVICE) or ""),
        ports=_ports((data.get("HostConfig") or {}).get("PortBindings") or {}),
    )
    facts = ExitFacts(
        exit_code=state.get("ExitCode"),
        error=str(state.get("Error") or ""),
        oom_killed=bool(state.get("OOMKilled")),
        restart_count=int(data.get("RestartCount") or 0),
        started=nanoseconds(state.get("StartedAt")),
        finished=nanoseconds(state.get("FinishedAt")),
        restarting=status == "restarting",
        removed=status in ("removing", "dead"),
    )
    return Look(container, status, bool(state.get("Running")) and not facts.restarting, facts)


def _ports(bindings: Mapping[str, Any]) -> str:
    """What was published, as asked for: ``{"30000/tcp": [{"HostIp": "", "HostPort": "15433"}]}``."""
    pairs = {
        f"{binding['HostPort']}->{inner.partition('/')[0]}"
        for inner, outer in bindings.items()
        for binding in outer or ()
        if binding.get("HostPort")
    }
    return ", ".join(sorted(pairs))


def _rotates_at(driver: str, options: Mapping[str, str]) -> int | None:
    if driver not in ("json-file", "local"):
        return None
    text = str(options.get("max-size") or "").strip().lower().removesuffix("b")
    if not text or text == "-1":
        return _LOCAL_FILE if driver == "local" and not text else None
    try:
        return int(float(text.rstrip("kmg")) * _SIZES.get(text[-1], 1))
    except ValueError:
        return None


def _listed(entry: Mapping[str, Any]) -> Listed:
    names = entry.get("Names") or [""]
    return Listed(
        id=str(entry["Id"]),
        # A link of another container stands there as "/other/alias".
        name=next((str(name) for name in names if str(name).count("/") < 2), str(names[0])).lstrip("/"),
        image=str(entry.get("Image") or ""),
        command=str(entry.get("Command") or ""),
        created=int(entry.get("Created") or 0),
        running=entry.get("State") in ("running", "restarting", "paused"),
        service=str((entry.get("Labels") or {}).get(_SERVICE) or ""),
        status=str(entry.get("Status") or ""),
        project=str((entry.get("Labels") or {}).get(_PROJECT) or ""),
    )


def _happening(line: bytes) -> Happening | None:
    try:
        entry = json.loads(line)
        code = (entry["Actor"]["Attributes"] or {}).get("exitCode")
        return Happening(str(entry["Action"]), int(entry["timeNano"]), None if code is None else int(code))
    except (ValueError, LookupError, TypeError):
        return None
