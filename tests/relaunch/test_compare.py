"""What a container has otherwise than it was asked for; captured inspections of containers as people start them."""

import copy
import json
from typing import Any

import pytest

from sgdoctor.launch.inspection.body import CreateBody, create_body
from sgdoctor.relaunch.compare import Difference, differences, losses, same_settings
from tests.conftest import REPO

INSPECTIONS = REPO / "fixtures" / "launches" / "inspections"
NAMES = sorted(path.stem for path in INSPECTIONS.glob("*.json") if path.stem.startswith(("article", "rich", "two")))


def load(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Inspections of a container and of its image."""
    image = "rich" if name == "rich" else "sglang"
    [container] = json.loads((INSPECTIONS / f"{name}.json").read_text())
    [of_image] = json.loads((INSPECTIONS / "images" / f"{image}.json").read_text())
    return container, of_image


def made_by(made: CreateBody, container: dict[str, Any]) -> dict[str, Any]:
    """Inspection of a container made like another one: its anonymous volumes have names in the request."""
    found = copy.deepcopy(container)
    found["HostConfig"] |= {"Binds": made.body["HostConfig"]["Binds"], "Mounts": made.body["HostConfig"].get("Mounts")}
    # While it is made it has no restart policy.
    found["HostConfig"]["RestartPolicy"] = {"Name": "no"}
    return found


@pytest.mark.parametrize("name", NAMES)
def test_request_says_all_of_the_container_and_the_container_is_as_asked(name: str) -> None:
    container, image = load(name)
    made = create_body(container, image)
    found = made_by(made, container)

    assert [] == losses(made.body, image, container)
    assert [] == [one for one in differences(made.body, made.connects, image, found) if one.is_loss]


@pytest.mark.parametrize(
    ("part", "field", "value", "named"),
    [
        ("HostConfig", "ShmSize", 67108864, "HostConfig.ShmSize"),
        ("HostConfig", "DeviceRequests", None, "HostConfig.DeviceRequests"),
        ("HostConfig", "Ulimits", [], "HostConfig.Ulimits"),
        ("HostConfig", "Sysctls", {}, "HostConfig.Sysctls.net.core.somaxconn"),
        ("Config", "Cmd", ["python3"], "Config.Cmd"),
        ("Config", "StopSignal", "SIGTERM", "Config.StopSignal"),
        ("Config", "Labels", {}, "Config.Labels.mine"),
    ],
)
def test_field_that_the_engine_dropped_is_a_loss(part: str, field: str, value: Any, named: str) -> None:
    container, image = load("rich")
    made = create_body(container, image)
    found = made_by(made, container)
    found[part][field] = value

    lost = [one.field for one in differences(made.body, made.connects, image, found) if one.is_loss]

    assert named in lost


def test_volume_and_network_that_are_others() -> None:
    container, image = load("rich")
    made = create_body(container, image)
    found = made_by(made, container)
    for mount in found["Mounts"]:
        if mount["Destination"] == "/anon":
            mount["Name"] = "0" * 64
    del found["NetworkSettings"]["Networks"]["labnet2"]
    found["NetworkSettings"]["Networks"]["labnet1"]["IPAMConfig"] = None

    lost = [one.field for one in differences(made.body, made.connects, image, found) if one.is_loss]

    assert ["Mounts./anon", "Networks.labnet1.IPAMConfig", "Networks.labnet2"] == sorted(lost)


def test_what_the_engine_adds_is_no_loss() -> None:
    container, image = load("article-27b")
    made = create_body(container, image)
    found = made_by(made, container)
    found["HostConfig"]["CgroupParent"] = "/new"

    told = differences(made.body, made.connects, image, found)

    assert [("HostConfig.CgroupParent", False)] == [(one.field, one.is_loss) for one in told]


def test_order_of_the_environment_means_nothing_and_its_values_are_not_shown() -> None:
    container, _ = load("rich")
    before, now = copy.deepcopy(container), copy.deepcopy(container)
    now["Config"]["Env"].reverse()
    before["Config"]["Env"].append("HF_TOKEN=hf_secret")

    [changed] = same_settings(before, now)

    assert 'Config.Env: ["HF_TOKEN=..."] -> []' == str(changed)


def test_changed_policy_and_name_and_networks_are_seen() -> None:
    before, _ = load("rich")
    now = copy.deepcopy(before)
    now["Name"] = "/other"
    now["HostConfig"]["RestartPolicy"] = {"Name": "always"}
    now["NetworkSettings"]["Networks"]["third"] = {}

    assert ["HostConfig.RestartPolicy", "Name", "Networks"] == sorted(one.field for one in same_settings(before, now))


def test_long_values_are_cut() -> None:
    assert 200 == len(Difference("Config.Cmd", ["x" * 500], None).shown(["x" * 500]))
