"""Our reading of the corpus against what Compose printed for it (`docker compose config`, recorded)."""

from typing import Any

import pytest

from sgdoctor.errors import UserError
from sgdoctor.launch.compose import open_compose
from sgdoctor.launch.compose.reading import launch_of, ulimit_of
from sgdoctor.launch.model import Gpus, Launch, Mount, Port
from tests.launch.compose.corpus import CORPUS, FOLDER, NAMES, RECORDED, REFUSED, SHELL, files_of, project_of, services

SERVICES = list(services())


def _undoubled(value: Any) -> Any:
    """`config` prints every `$` as `$$`, so that its output is a compose file again."""
    if isinstance(value, str):
        return value.replace("$$", "$")
    if isinstance(value, list):
        return [_undoubled(item) for item in value]
    return {key: _undoubled(item) for key, item in value.items()} if isinstance(value, dict) else value


@pytest.fixture(params=SERVICES, ids="/".join)
def pair(request: pytest.FixtureRequest) -> tuple[Launch, dict[str, Any], str]:
    name, service = request.param
    project = project_of(name)
    folder = CORPUS / name if (CORPUS / name).is_dir() else CORPUS
    return launch_of(project, project.services[service]), _undoubled(RECORDED[name]["services"][service]), str(folder)


def test_recordings_cover_the_corpus() -> None:
    files = {path.name for path in CORPUS.iterdir() if path.name not in ("refused", "recorded.json")}
    refused = {f"refused/{path.name}" for path in (CORPUS / "refused").iterdir()}

    assert files | refused | {"compose"} == set(RECORDED)
    assert len(NAMES) >= 60


def test_arguments(pair: tuple[Launch, dict[str, Any], str]) -> None:
    launch, recorded, _ = pair

    assert [*(recorded["entrypoint"] or []), *(recorded["command"] or [])] == list(launch.command)


def test_environment(pair: tuple[Launch, dict[str, Any], str]) -> None:
    launch, recorded, _ = pair
    set_by_command = {name: value for name, value in launch.env.items() if name == "HF_HUB_OFFLINE"}

    assert {**set_by_command, **recorded.get("environment", {})} == dict(launch.env)


def test_simple_fields(pair: tuple[Launch, dict[str, Any], str]) -> None:
    launch, recorded, _ = pair
    restart = recorded.get("restart")

    assert (recorded.get("image"), recorded.get("ipc"), recorded.get("network_mode")) == (
        launch.image, launch.ipc, launch.network,
    )  # fmt: skip
    assert (None if restart == "no" else restart) == launch.restart
    assert recorded.get("init", False) == launch.init
    assert (int(recorded["shm_size"]) if "shm_size" in recorded else None) == launch.shm_bytes


def test_ports(pair: tuple[Launch, dict[str, Any], str]) -> None:
    launch, recorded, _ = pair
    ports = [
        Port(
            container=one["target"],
            host=int(one["published"]) if "published" in one else None,
            host_ip=one.get("host_ip", ""),
            protocol=one["protocol"],
        )
        for one in recorded.get("ports", [])
    ]

    assert ports == list(launch.ports)


def test_mounts(pair: tuple[Launch, dict[str, Any], str]) -> None:
    launch, recorded, folder = pair
    outer = str(CORPUS.parent) if folder == str(CORPUS) else str(CORPUS)
    mounts = {
        Mount(one["target"], _here(one.get("source"), folder, outer), one["type"], one.get("read_only", False))
        for one in recorded.get("volumes", [])
    } | {Mount(one, None, "tmpfs") for one in recorded.get("tmpfs", [])}

    assert mounts == set(launch.mounts)


def _here(source: str | None, folder: str, outer: str) -> str | None:
    if source is None:
        return None
    return source.replace(FOLDER, folder).replace("/opt/shared", f"{outer}/shared")


def test_gpus(pair: tuple[Launch, dict[str, Any], str]) -> None:
    launch, recorded, _ = pair
    deploy = recorded.get("deploy", {}).get("resources", {}).get("reservations", {}).get("devices", [])
    requests = [*recorded.get("gpus", []), *deploy]
    ids = [one for request in requests for one in request.get("device_ids", [])]
    counts = [request["count"] for request in requests if "count" in request]

    assert launch.gpus is not None
    if launch.gpus.from_env:
        assert not requests
    else:
        assert (tuple(ids), counts[-1] if counts else None) == (launch.gpus.device_ids, launch.gpus.count)
    assert recorded.get("runtime") == launch.gpus.runtime


def test_gpus_of_the_runtime() -> None:
    launch = open_compose(files_of("literal.yaml"), None, SHELL).launch

    assert Gpus(("0", "1"), None, "nvidia", "", from_env=True) == launch.gpus


def test_limits() -> None:
    service = project_of("volumes.yaml").services["llm"]

    assert [(-1, -1), (67108864, 67108864), (1024, 2048), None] == [
        ulimit_of(service, name) for name in ("memlock", "stack", "nofile", "nproc")
    ]


# What Compose refuses and this reads all the same, so that it can be put right.
NAMED = {
    "refused/bare-number.yaml": "item-not-a-text",
    "refused/blank-in-name.yaml": "blank-in-name",
    "refused/duplicate-key.yaml": "duplicate-key",
}


@pytest.mark.parametrize("name", [name for name in REFUSED if name not in NAMED])
def test_what_compose_refuses_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(UserError) as refused:
        open_compose(files_of(name), "llm", SHELL)

    assert 1 == len(refused.value.en.splitlines()) == len(refused.value.zh.splitlines())
    assert refused.value.en.startswith(str(CORPUS / name))


@pytest.mark.parametrize(("name", "problem"), NAMED.items())
def test_what_compose_refuses_is_named(name: str, problem: str) -> None:
    document = open_compose(files_of(name), "llm", SHELL)

    assert [(problem, "fatal")] == [(one.id, one.severity) for one in document.problems]
