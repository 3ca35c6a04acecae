"""docker-py as it is set up here; calls to a real engine are made in tests/docker."""

from pathlib import Path

import pytest

from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.sdk import open_api, told
from sgdoctor.containers.transport import CancelledError, Connections, UnreachableError
from sgdoctor.errors import UserError


@pytest.mark.parametrize(
    "text", ["[]", '{"auths": {"a.example": {"auth": "!!"}}}', '{"proxies": []}', '{"auths": {"a": 1}}']
)
def test_a_broken_configuration_of_docker_is_named(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text(text)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))

    with (
        pytest.raises(UserError, match=f"{tmp_path}/config.json: this configuration"),
        open_api(Connections(Endpoint("unix:///none")), "1.41", 1.0),
    ):
        pass


def test_nobody_answers(tmp_path: Path) -> None:
    connections = Connections(Endpoint(f"unix://{tmp_path}/none"))

    with (
        pytest.raises(UnreachableError, match="No container engine answers"),
        open_api(connections, "1.41", 1.0) as api,
        told(connections),
    ):
        api.version()


def test_calls_after_a_cancel(tmp_path: Path) -> None:
    connections = Connections(Endpoint(f"unix://{tmp_path}/none"))
    connections.cancel()

    with pytest.raises(CancelledError), open_api(connections, "1.41", 1.0) as api, told(connections):
        api.version()


def test_an_engine_that_is_too_old() -> None:
    with (
        pytest.raises(UnreachableError, match=r"1\.24"),
        open_api(Connections(Endpoint("unix:///none")), "1.20", 1.0),
    ):
        pass
