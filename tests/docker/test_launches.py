"""Launches of real containers: read, made again from the request and from the `docker run` text, compared in full."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest

from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.launches import container_document
from sgdoctor.engines.sglang.flags.schemas import schema
from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.inspection import Inspection, open_inspection
from tests.docker import launches
from tests.docker.dockerd import PrivateDockerd

FLAGS = schema("0.5.15")
# What cannot be the same in two containers, or is state.
IDENTITY = frozenset({"Hostname", "Name", "Id", "Created"})


@pytest.fixture(scope="module")
def stage(docker_host: PrivateDockerd) -> PrivateDockerd:
    """The daemon with the images and the networks that the containers need."""
    launches.build_images(docker_host)
    launches.make_networks(docker_host)
    return docker_host


@pytest.fixture
def host(stage: PrivateDockerd, docker_client: docker.DockerClient) -> PrivateDockerd:
    """The same; the containers of the test are removed after it."""
    del docker_client
    return stage


@pytest.fixture
def client(docker_host: PrivateDockerd) -> Iterator[Client]:
    with Client(Endpoint(docker_host.url)) as client:
        yield client


def made(host: PrivateDockerd, name: str, folder: Path) -> None:
    (folder / "models").mkdir(exist_ok=True)
    (folder / "launch_selode.py").touch()
    launches.make(host, name, launches.recipes(folder)[name])


def create(client: docker.DockerClient, document: Inspection, changes: list[Change]) -> dict[str, Any]:
    """The inspection of a container made by the document's request beside the old one, which is stopped."""
    request, left = document.body(changes, FLAGS)
    assert left == ()
    new = client.api.create_container_from_config(json.loads(json.dumps(request.body)), name=f"{document.name}.new")
    for network, endpoint in request.connects:
        path = client.api._url("/networks/{0}/connect", network)
        answer = client.api._post_json(path, {"Container": new["Id"], "EndpointConfig": endpoint})
        client.api._raise_for_status(answer)
    inspected: dict[str, Any] = client.api.inspect_container(new["Id"])
    return inspected


def settings(data: Mapping[str, Any], *, pins: bool) -> dict[str, Any]:
    """What somebody can have asked for, in a form in which order does not count.

    Args:
        data: inspection of a container.
        pins: whether the names of anonymous volumes count.
    """
    found = {f"Config.{name}": value for name, value in data["Config"].items() if name not in IDENTITY}
    found |= {f"HostConfig.{name}": value for name, value in data["HostConfig"].items()}
    for mount in data["Mounts"]:
        known = {name: mount.get(name) for name in ("Type", "RW", "Propagation", *(("Name", "Source") if pins else ()))}
        found[f"Mounts.{mount['Destination']}"] = known
    for network, endpoint in data["NetworkSettings"]["Networks"].items():
        # The daemon adds these at the start, or with the second network.
        made_up = (data["Id"][:12], data["Config"]["Hostname"])
        aliases = [alias for alias in endpoint["Aliases"] or () if alias not in made_up]
        found[f"Networks.{network}"] = (endpoint["IPAMConfig"], endpoint["DriverOpts"] or None, sorted(aliases))
    return {name: sorted(value, key=str) if isinstance(value, list) else value for name, value in found.items()}


def differences(old: Mapping[str, Any], new: Mapping[str, Any], *, pins: bool = True) -> dict[str, tuple[Any, Any]]:
    before, after = settings(old, pins=pins), settings(new, pins=pins)
    names = sorted(before.keys() | after.keys())
    return {name: (before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)}


RECIPES = sorted(launches.recipes(Path("/")))


@pytest.mark.parametrize("name", RECIPES)
def test_container_made_by_the_request_is_the_same(
    host: PrivateDockerd, docker_client: docker.DockerClient, client: Client, tmp_path: Path, name: str
) -> None:
    made(host, name, tmp_path)
    old = docker_client.api.inspect_container(name)

    new = create(docker_client, container_document(client, name), [])

    changed = differences(old, new)
    # The names of anonymous volumes stand in these now: the data stays.
    pinned = {key for key in ("HostConfig.Binds", "HostConfig.Mounts", "Config.Volumes") if key in changed}
    assert {} == {key: value for key, value in changed.items() if key not in pinned}
    assert bool(pinned) == (name == "rich")


def test_flag_is_the_only_thing_that_changes(
    host: PrivateDockerd, docker_client: docker.DockerClient, client: Client, tmp_path: Path
) -> None:
    made(host, "article-27b", tmp_path)
    old = docker_client.api.inspect_container("article-27b")

    new = create(
        docker_client,
        container_document(client, "article-27b"),
        [Change("flag.set", "--mem-fraction-static", "0.92"), Change("flag.set", "--dtype", "bfloat16")],
    )

    added = ["--mem-fraction-static", "0.92", "--dtype", "bfloat16"]
    assert {"Config.Cmd"} == differences(old, new).keys()
    assert old["Config"]["Cmd"] + added == new["Config"]["Cmd"]
    assert new["Config"]["Image"] == "lmsysorg/sglang:latest"


def test_data_in_anonymous_volumes_is_kept(
    host: PrivateDockerd, docker_client: docker.DockerClient, client: Client, tmp_path: Path
) -> None:
    made(host, "rich", tmp_path)
    docker_client.containers.get("rich").exec_run(
        ["sh", "-c", "echo kept > /anon/a; echo kept > /anoncli/b; echo kept > /mv/c"]
    )
    document = container_document(client, "rich")

    create(docker_client, document, [])
    docker_client.containers.get("rich").stop(timeout=1)
    again = docker_client.containers.get("rich.new")
    again.start()
    said = again.exec_run(["cat", "/anon/a", "/anoncli/b", "/mv/c"]).output

    assert [b"kept", b"kept", b"kept"] == said.split()


@pytest.mark.parametrize("name", RECIPES)
def test_docker_run_text_makes_the_same_container(
    host: PrivateDockerd, docker_client: docker.DockerClient, client: Client, tmp_path: Path, name: str
) -> None:
    made(host, name, tmp_path)
    old = docker_client.api.inspect_container(name)
    text = container_document(client, name).docker_run([], FLAGS)
    docker_client.containers.get(name).remove(force=True)

    launches.shell(host, text.replace("docker run -d", "docker create"))
    new = docker_client.api.inspect_container(name)

    changed = differences(old, new, pins=False)
    # `docker run` takes one network.
    changed.pop("Networks.labnet2", None)
    assert {} == changed


def test_new_image_does_not_inherit_the_old_one(
    host: PrivateDockerd, docker_client: docker.DockerClient, client: Client
) -> None:
    command = ["python3", "-m", "sglang.launch_server", "--model-path", "/m"]
    docker_client.containers.create(launches.RICH_IMAGE, command, name="old", environment={"MINE": "1"})

    new = create(docker_client, container_document(client, "old"), [Change("image.tag", value=launches.IMAGE)])

    assert "/sgl-workspace/sglang" == new["Config"]["WorkingDir"]
    assert ["/opt/nvidia/nvidia_entrypoint.sh"] == new["Config"]["Entrypoint"]
    assert command == new["Config"]["Cmd"]
    assert {"MINE=1", "CUDA_HOME=/usr/local/cuda"} <= set(new["Config"]["Env"])
    assert not any(entry.startswith("IMG_ONLY") for entry in new["Config"]["Env"])
    assert {"org.opencontainers.image.ref.name": "ubuntu"} == new["Config"]["Labels"]
    assert "Healthcheck" not in new["Config"]


def test_image_whose_name_moved_on_is_kept_by_id(
    host: PrivateDockerd, docker_client: docker.DockerClient, client: Client
) -> None:
    docker_client.images.get(launches.IMAGE).tag("moving", "now")
    docker_client.containers.create("moving:now", ["sglang", "serve", "--model-path", "/m"], name="old")
    docker_client.images.get(launches.RICH_IMAGE).tag("moving", "now")

    request, _ = container_document(client, "old").body([], FLAGS)

    assert docker_client.images.get(launches.IMAGE).id == request.body["Image"]
    assert ["moving:now is another image by now"] == [note.en.partition(";")[0] for note in request.notes]


def test_entrypoint_that_was_taken_away_stays_away(
    host: PrivateDockerd, docker_client: docker.DockerClient, client: Client
) -> None:
    launches.command(host, "create", "--name", "bare", "--entrypoint", "", launches.IMAGE, "sglang", "serve")
    old = docker_client.api.inspect_container("bare")

    new = create(docker_client, container_document(client, "bare"), [])

    assert old["Config"]["Entrypoint"] is None
    assert {} == differences(old, new)


def test_folder_in_the_place_of_a_script_is_named(host: PrivateDockerd, client: Client, tmp_path: Path) -> None:
    made(host, "script-is-a-folder", tmp_path)

    document = container_document(client, "script-is-a-folder")

    assert ["folder-mounted-as-script"] == [problem.id for problem in document.problems]


def test_container_that_is_not_there(host: PrivateDockerd, client: Client) -> None:
    with pytest.raises(UserError, match="nobody: there is "):
        container_document(client, "nobody")


@pytest.mark.parametrize("name", RECIPES)
def test_captured_inspections_are_those_of_this_daemon(
    host: PrivateDockerd, docker_client: docker.DockerClient, tmp_path: Path, name: str
) -> None:
    made(host, name, tmp_path)
    container, image = launches.inspected(docker_client, name)
    captured = (launches.CAPTURED / f"{name}.json").read_text().replace("/opt/ai-workspace", str(tmp_path))

    then, now = (open_inspection(document, image).launch for document in (captured, container))

    # The client of Docker 20.10 collects -v in a map: their order is another one each time.
    assert set(then.mounts) == set(now.mounts)
    assert replace(then, mounts=()) == replace(now, mounts=())


def test_chosen_hardware_address_is_kept(
    host: PrivateDockerd, docker_client: docker.DockerClient, client: Client
) -> None:
    docker_client.containers.create(launches.IMAGE, ["sglang", "serve"], name="mac", mac_address="02:42:ac:1f:4d:aa")

    new = create(docker_client, container_document(client, "mac"), [])

    assert "02:42:ac:1f:4d:aa" == new["Config"]["MacAddress"]
