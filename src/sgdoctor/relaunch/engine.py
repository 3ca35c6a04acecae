"""The calls that change something in a container engine."""

import errno
import json
from collections.abc import Mapping
from typing import Any, Final

from sgdoctor.containers.client import ANSWER_SECONDS, Client, RefusedError, reason_of
from sgdoctor.containers.transport import Stream, target_of, unreachable
from sgdoctor.launch.inspection.reading import mapping

LABEL: Final = "sgdoctor.relaunch"
"""Label of the containers that a relaunch made: id of its journal."""

NO_POLICY: Final[Mapping[str, Any]] = {"Name": "no", "MaximumRetryCount": 0}

# Creating may have to make a volume and copy the image's files into it; starting waits for hooks of the GPU's driver.
_SLOW_SECONDS: Final = 180.0
_NOT_MODIFIED: Final = 304
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_RUNNING: Final = frozenset({"running", "restarting", "paused"})


class Engine:
    """Calls to one engine that change containers, each of which may be repeated after its answer was lost.

    All raise ``UnreachableError`` where the engine does not answer (it may have done what it was asked for) and
    ``RefusedError`` where it says no.

    Args:
        client: reads from it, and knows the version of the API.
    """

    def __init__(self, client: Client) -> None:
        self.client = client

    def identity(self) -> str:
        """Id of the engine, the same after it was started anew."""
        return str(self._json("GET", "/info").get("ID") or "")

    def inspect(self, container: str) -> dict[str, Any] | None:
        """All that the engine says of a container; None if there is none."""
        return self.client.container_data(container)

    def made_by(self, journal: str) -> list[str]:
        """Ids of the containers that carry the label of a journal."""
        return self._labelled(f"{LABEL}={journal}")

    def relaunched(self) -> list[str]:
        """Ids of the containers that any relaunch made."""
        return self._labelled(LABEL)

    def create(self, name: str, body: Mapping[str, Any], platform: str | None = None) -> str:
        """Make a container; its id."""
        query = {"name": name}
        if platform is not None and self.client.api_version() >= (1, 41):
            query["platform"] = platform
        return str(self._json("POST", "/containers/create", query, body, seconds=_SLOW_SECONDS)["Id"])

    def connect(self, network: str, container: str, endpoint: Mapping[str, Any]) -> None:
        """Connect a container to one more network."""
        self._call("POST", f"/networks/{network}/connect", None, {"Container": container, "EndpointConfig": endpoint})

    def set_policy(self, container: str, policy: Mapping[str, Any]) -> None:
        """Give a container another restart policy."""
        self._call("POST", f"/containers/{container}/update", None, {"RestartPolicy": policy})

    def stop(self, container: str, seconds: float) -> None:
        """Let a container end by itself, and end it after ``seconds``; nothing if it does not run."""
        self._call("POST", f"/containers/{container}/stop", {"t": str(round(seconds))}, seconds=seconds + _SLOW_SECONDS)

    def rename(self, container: str, name: str) -> None:
        """Give a container another name."""
        self._call("POST", f"/containers/{container}/rename", {"name": name})

    def start(self, container: str) -> None:
        """Start a container; nothing if it runs."""
        self._call("POST", f"/containers/{container}/start", seconds=_SLOW_SECONDS)

    def remove(self, container: str) -> None:
        """End a container and remove it with the volumes that nobody named; nothing if there is none."""
        self._delete(container, {"force": "1", "v": "1"})

    def discard(self, container: str) -> None:
        """Remove a container that does not run, and none of its volumes; nothing if there is none."""
        self._delete(container, {})

    def make_volume(self, name: str, labels: Mapping[str, str]) -> Mapping[str, Any]:
        """Make a volume, unless there is one of this name; the labels of the one that is there then."""
        made = self._json("POST", "/volumes/create", None, {"Name": name, "Labels": labels}, seconds=_SLOW_SECONDS)
        return made.get("Labels") or {}

    def volumes(self, label: str) -> list[dict[str, Any]]:
        """The volumes with a label, such as ``key=value``."""
        query = {"filters": json.dumps({"label": [label]})}
        return list(self._json("GET", "/volumes", query).get("Volumes") or ())

    def remove_volume(self, name: str) -> None:
        """Remove a volume; nothing if there is none."""
        try:
            self._call("DELETE", f"/volumes/{name}", None, seconds=_SLOW_SECONDS)
        except RefusedError as error:
            if error.status != _NOT_FOUND:
                raise

    def changes(self, container: str) -> list[str]:
        """Paths in the container that are not as in its image: what a new container does not have."""
        entries = self._json("GET", f"/containers/{container}/changes", seconds=_SLOW_SECONDS) or []
        return [str(entry["Path"]) for entry in entries]

    def output(self, container: str) -> Stream:
        """What a container writes from now on, as the engine frames it; it may be one that was not started yet."""
        query = {"stream": "1", "stdout": "1", "stderr": "1"}
        return self._open("POST", f"/containers/{container}/attach", query)

    def _delete(self, container: str, query: Mapping[str, str]) -> None:
        try:
            self._call("DELETE", f"/containers/{container}", query, seconds=_SLOW_SECONDS)
        except RefusedError as error:
            # 409: the engine is removing it at this moment.
            if error.status != _NOT_FOUND and not (error.status == _CONFLICT and "in progress" in error.reason):
                raise

    def _labelled(self, label: str) -> list[str]:
        query = {"all": "1", "filters": json.dumps({"label": [label]})}
        return [str(entry["Id"]) for entry in self._json("GET", "/containers/json", query)]

    def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        *,
        seconds: float = ANSWER_SECONDS,
    ) -> bytes:
        stream = self._open(method, path, query, body, seconds)
        try:
            return stream.read_all(ANSWER_SECONDS)
        finally:
            stream.close()

    def _json(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        *,
        seconds: float = ANSWER_SECONDS,
    ) -> Any:
        answer = self._call(method, path, query, body, seconds=seconds)
        try:
            return json.loads(answer)
        except ValueError:
            # Cut off: the engine ended while it answered.
            reset = ConnectionResetError(errno.ECONNRESET, "the answer was cut off")
            raise unreachable(self.client.connections.endpoint, reset) from None

    def _open(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        seconds: float = ANSWER_SECONDS,
    ) -> Stream:
        major, minor = self.client.api_version()
        sent = None if body is None else json.dumps(body).encode()
        target = target_of(f"/v{major}.{minor}{path}", query)
        stream = Stream(self.client.connections, target, seconds, method=method, body=sent)
        if stream.status < 300 or stream.status == _NOT_MODIFIED:
            return stream
        try:
            raise RefusedError(stream.status, reason_of(stream.read_all(ANSWER_SECONDS), stream.status))
        finally:
            stream.close()


def name_of(data: Mapping[str, Any]) -> str:
    """Name of a container, by its inspection."""
    return str(data.get("Name") or "").lstrip("/")


def runs(data: Mapping[str, Any]) -> bool:
    """Whether a container runs or is about to, by its inspection."""
    return str(mapping(data.get("State")).get("Status") or "") in _RUNNING
