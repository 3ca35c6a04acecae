"""Requests for containers like inspected ones, field by field; the real daemon has its say in tests/docker."""

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from sgdoctor.launch.inspection import create_body
from tests.launch.inspections import container, image_of

NEW_API = (1, 47)
ID = "0123456789ab" + "c" * 52


def inspected(**parts: Mapping[str, Any]) -> dict[str, Any]:
    """An inspection with few fields; ``Config``, ``HostConfig`` and others are added to."""
    data: dict[str, Any] = {
        "Id": ID,
        "Image": "sha256:1",
        "Config": {"Hostname": ID[:12], "Image": "sglang:1", "Cmd": ["sglang", "serve"]},
        "HostConfig": {"NetworkMode": "default"},
        "Mounts": [],
        "NetworkSettings": {"Networks": {"bridge": {"IPAMConfig": None, "MacAddress": "02:42:ac:11:00:02"}}},
    }
    for part, fields in parts.items():
        data[part] = {**data[part], **fields}
    return data


def body(data: Mapping[str, Any], image: Mapping[str, Any] | None = None, api: tuple[int, int] = (1, 41)) -> Any:
    return create_body(data, image, api).body


def test_the_inspection_is_left_alone() -> None:
    data = container("rich")
    before = copy.deepcopy(data)

    made = create_body(data, image_of(data))
    made.body["HostConfig"]["Mounts"][0]["Target"] = "/elsewhere"

    assert before == data


@pytest.mark.parametrize(
    ("config", "host", "sent"),
    [
        ({}, {}, None),
        ({"Hostname": "chosen"}, {}, "chosen"),
        ({"Hostname": "chosen"}, {"NetworkMode": "container:other"}, None),
        ({"Hostname": "chosen"}, {"UTSMode": "host"}, None),
    ],
)
def test_hostname(config: dict[str, Any], host: dict[str, Any], sent: str | None) -> None:
    assert sent == body(inspected(Config=config, HostConfig=host)).get("Hostname")


IMAGE = {
    "Id": "sha256:1",
    "RepoTags": ["sglang:1"],
    "Os": "linux",
    "Architecture": "arm64",
    "Variant": "v8",
    "Config": {
        "Env": ["PATH=/bin", "A=1"],
        "Labels": {"a": "1", "b": "2"},
        "Entrypoint": ["/entry"],
        "Cmd": ["bash"],
        "Volumes": {"/data": {}},
        "ExposedPorts": {"30000/tcp": {}},
        "WorkingDir": "/w",
    },
}


def test_what_the_image_says_is_not_sent() -> None:
    config = {
        "Env": ["PATH=/bin", "A=2", "B=3"],
        "Labels": {"a": "1", "b": "3", "c": "4"},
        "Entrypoint": ["/entry"],
        "Cmd": ["sglang"],
        "ExposedPorts": {"30000/tcp": {}, "80/tcp": {}},
        "WorkingDir": "/w",
        "User": "1000",
    }

    made = body(inspected(Config=config), IMAGE)

    assert ["A=2", "B=3"] == made["Env"]
    assert {"b": "3", "c": "4"} == made["Labels"]
    assert {"80/tcp": {}} == made["ExposedPorts"]
    assert ["sglang"] == made["Cmd"]
    assert "1000" == made["User"]
    assert not {"Entrypoint", "WorkingDir"} & made.keys()


@pytest.mark.parametrize(
    ("entrypoint", "command", "sent"),
    [
        (["/entry"], ["bash"], {}),
        (["/entry"], ["sglang"], {"Cmd": ["sglang"]}),
        (["/mine"], ["sglang"], {"Entrypoint": ["/mine"], "Cmd": ["sglang"]}),
        # An entrypoint of its own keeps the image's command away.
        (["/mine"], ["bash"], {"Entrypoint": ["/mine"], "Cmd": ["bash"]}),
        (["/mine"], None, {"Entrypoint": ["/mine"], "Cmd": None}),
        (None, ["sglang"], {"Entrypoint": [""], "Cmd": ["sglang"]}),
    ],
)
def test_entrypoint_and_command(entrypoint: Any, command: Any, sent: dict[str, Any]) -> None:
    made = body(inspected(Config={"Entrypoint": entrypoint, "Cmd": command}), IMAGE)

    assert sent == {name: made[name] for name in ("Entrypoint", "Cmd") if name in made}


@pytest.mark.parametrize(
    ("image", "sent", "notes"),
    [
        (IMAGE, "sglang:1", 0),
        ({**IMAGE, "RepoTags": ["other:1"]}, "sha256:1", 1),
        ({**IMAGE, "RepoTags": []}, "sha256:1", 1),
        # Nothing is known of the image but its id.
        (None, "sha256:1", 0),
    ],
)
def test_image(image: dict[str, Any] | None, sent: str, notes: int) -> None:
    made = create_body(inspected(), image)

    assert sent == made.body["Image"]
    assert notes == len(made.notes)


def test_image_without_a_tag_is_the_latest() -> None:
    image = {**IMAGE, "RepoTags": ["sglang:latest"]}

    assert "sglang" == body(inspected(Config={"Image": "sglang"}), image)["Image"]


def test_platform_is_known_from_the_image() -> None:
    assert "linux/arm64/v8" == create_body(inspected(), IMAGE).platform
    assert create_body(inspected(), None).platform is None


VOLUME = {"Type": "volume", "Name": "f" * 64, "Destination": "/data", "RW": True}


def test_anonymous_volume_of_the_image_is_pinned() -> None:
    data = inspected(Config={"Volumes": {"/data": {}, "/other": {}}})
    data["Mounts"] = [VOLUME]

    made = body(data, {"Config": {}})

    assert [f"{'f' * 64}:/data"] == made["HostConfig"]["Binds"]
    assert {"/other": {}} == made["Volumes"]


def test_read_only_anonymous_volume_stays_so() -> None:
    data = inspected()
    data["Mounts"] = [{**VOLUME, "RW": False}]

    assert [f"{'f' * 64}:/data:ro"] == body(data)["HostConfig"]["Binds"]


def test_named_volume_is_not_pinned_again() -> None:
    data = inspected(HostConfig={"Binds": ["cache:/data"]})
    data["Mounts"] = [{**VOLUME, "Name": "cache"}]

    assert ["cache:/data"] == body(data)["HostConfig"]["Binds"]


def test_anonymous_mount_gets_its_source() -> None:
    data = inspected(HostConfig={"Mounts": [{"Type": "volume", "Target": "/data", "VolumeOptions": {"NoCopy": True}}]})
    data["Mounts"] = [VOLUME]

    made = body(data)["HostConfig"]

    assert [{**data["HostConfig"]["Mounts"][0], "Source": "f" * 64}] == made["Mounts"]
    assert not made.get("Binds")


def test_option_that_the_daemon_adds_for_the_hosts_processes() -> None:
    host = {"SecurityOpt": ["label=disable", "seccomp=unconfined"]}

    assert ["seccomp=unconfined"] == body(inspected(HostConfig={**host, "PidMode": "host"}))["HostConfig"][
        "SecurityOpt"
    ]
    assert host["SecurityOpt"] == body(inspected(HostConfig=host))["HostConfig"]["SecurityOpt"]


def test_removal_at_exit_gives_way_to_a_restart_policy() -> None:
    made = create_body(inspected(HostConfig={"AutoRemove": True, "RestartPolicy": {"Name": "always"}}), None)
    kept = create_body(inspected(HostConfig={"AutoRemove": True, "RestartPolicy": {"Name": "no"}}), None)

    assert made.body["HostConfig"]["AutoRemove"] is False
    assert "--rm" in made.notes[0].en
    assert kept.body["HostConfig"]["AutoRemove"] is True
    assert () == kept.notes


@pytest.mark.parametrize("mode", ["host", "none", "container:other"])
def test_shared_networks_have_no_endpoints(mode: str) -> None:
    data = inspected(HostConfig={"NetworkMode": mode}, Config={"MacAddress": "02:42:ac:1f:4d:aa"})

    made = create_body(data, None, NEW_API)

    assert {} == made.body["NetworkingConfig"]["EndpointsConfig"]
    assert () == made.connects


def test_two_networks_before_and_after_one_request_could_name_both() -> None:
    data = container("rich")
    endpoints = {
        "labnet1": {"IPAMConfig": {"IPv4Address": "172.31.77.50"}, "Aliases": ["richalias"]},
        "labnet2": {"IPAMConfig": {"IPv4Address": "172.31.78.60"}, "Aliases": ["second"]},
    }

    old, new = create_body(data, image_of(data)), create_body(data, image_of(data), NEW_API)

    assert {"labnet1": endpoints["labnet1"]} == old.body["NetworkingConfig"]["EndpointsConfig"]
    assert (("labnet2", endpoints["labnet2"]),) == old.connects
    assert endpoints == new.body["NetworkingConfig"]["EndpointsConfig"]
    assert () == new.connects


def test_chosen_hardware_address_moves_to_the_network() -> None:
    data = inspected(Config={"MacAddress": "02:42:ac:1f:4d:aa"})

    old, new = body(data), body(data, api=NEW_API)

    assert "02:42:ac:1f:4d:aa" == old["MacAddress"]
    assert {"bridge": {}} == old["NetworkingConfig"]["EndpointsConfig"]
    assert "MacAddress" not in new
    assert {"bridge": {"MacAddress": "02:42:ac:1f:4d:aa"}} == new["NetworkingConfig"]["EndpointsConfig"]


def test_hardware_address_that_the_daemon_made_up_is_not_sent() -> None:
    for api in ((1, 41), NEW_API):
        assert "02:42:ac:11:00:02" not in str(body(inspected(), api=api))


def test_fields_without_a_rule_go_back_as_they_are() -> None:
    made = body(inspected(Config={"StopTimeout": 7}, HostConfig={"NanoCpus": 1, "SomethingNew": {"a": [1]}}))

    assert 7 == made["StopTimeout"]
    assert {"a": [1]} == made["HostConfig"]["SomethingNew"]
    assert 1 == made["HostConfig"]["NanoCpus"]
