"""A relaunch changes one flag: everything else of the container, its volumes and their data included, is as before."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docker
import pytest

from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.launch.change import Change
from sgdoctor.relaunch.engine import LABEL
from sgdoctor.relaunch.launches import history
from sgdoctor.relaunch.model import Ending, Purpose
from tests.docker import launches
from tests.docker.dockerd import PrivateDockerd
from tests.docker.relaunching import ADDED, HURRY, NEVER, READY, SERVE, Stage, rollback
from tests.docker.test_launches import differences

# What the container `rich` of launches.py leaves out or cannot have beside the rest, as far as this daemon takes it and
# starts a container with it. `other` is a container that runs.
OTHERS = {
    "limits": (
        *("--cpu-period", "50000", "--cpu-quota", "40000", "--cpuset-mems", "0", "--memory", "256m"),
        *(
            "--memory-reservation",
            "64m",
            "--memory-swappiness",
            "10",
            "--kernel-memory",
            "64m",
            "--blkio-weight",
            "300",
        ),
        *("--oom-kill-disable", "--device-cgroup-rule", "c 1:3 r", "--cgroup-parent", "/sgd-lab"),
        *("--cgroupns", "private", "--ulimit", "core=0", "--ipc", "none", "--no-healthcheck"),
    ),
    "mounts": (
        *("--volumes-from", "other", "--volume-driver", "local", "-v", "vv:/vv"),
        *("--mount", "type=volume,dst=/q,volume-driver=local,volume-label=a=b"),
        *("--mount", "type=bind,src=/tmp,dst=/qq,bind-nonrecursive", "--tmpfs", "/x:rw,size=1m,mode=1777,exec"),
    ),
    "hosts": (
        *("--uts", "host", "--userns", "host", "--cgroupns", "host", "--network", "host", "--log-driver", "local"),
        *("--security-opt", "no-new-privileges", "--security-opt", "systempaths=unconfined"),
        *("--gpus", "all,capabilities=utility", "--runtime", "nvidia", "--restart", "always"),
    ),
    "of-others": ("--network", "container:other", "--pid", "container:other", "--ipc", "container:other"),
    "links": ("--link", "other:o", "--publish-all", "--expose", "1-3", "--add-host", "h:host-gateway"),
    "user-network": (
        *("--network", "labnet1", "--link-local-ip", "169.254.1.5", "--link", "other2:o", "--network-alias", "me"),
        *("--health-cmd", "true", "--health-start-period", "2s", "--health-timeout", "3s", "--log-driver", "none"),
    ),
}


@pytest.fixture(scope="module")
def networks(docker_host: PrivateDockerd) -> PrivateDockerd:
    launches.build_images(docker_host)
    if not docker_host_has_networks(docker_host):
        launches.make_networks(docker_host)
    return docker_host


def docker_host_has_networks(host: PrivateDockerd) -> bool:
    return "labnet1" in launches.command(host, "network", "ls", "--format", "{{.Name}}").split()


@pytest.fixture
def stage(networks: PrivateDockerd, docker_client: docker.DockerClient, tmp_path: Path) -> Stage:
    return Stage(networks, docker_client, tmp_path / "state")


def made(stage: Stage, name: str, folder: Path) -> dict[str, Any]:
    (folder / "models").mkdir(exist_ok=True)
    (folder / "launch_selode.py").touch()
    launches.make(stage.host, name, launches.recipes(folder)[name])
    return stage.inspect(name)


def undeclared(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What differs beside the command, the label and the names of anonymous volumes, which are pinned."""
    changed = differences(old, new)
    labels = [dict(value) for value in changed.pop("Config.Labels", ({}, {}))]
    for one in labels:
        one.pop(LABEL, None)
    assert labels[0] == labels[1]
    pins = ("HostConfig.Binds", "HostConfig.Mounts", "Config.Volumes")
    return {name: values for name, values in changed.items() if name not in (*pins, "Config.Cmd")}


RECIPES = sorted(
    {*launches.recipes(Path("/"))} - {"cdi", "no-engine", "flags-alone", "in-a-shell", "script-is-a-folder"}
)


@pytest.mark.parametrize("name", RECIPES)
def test_one_flag_is_all_that_changes(stage: Stage, tmp_path: Path, name: str) -> None:
    old = made(stage, name, tmp_path)

    outcome = stage.relaunch(stage.document(name))

    new = stage.inspect(name)
    assert (Ending.DONE, None) == (outcome.ending, outcome.reason)
    assert outcome.container == new["Id"] != old["Id"]
    assert {} == undeclared(old, new)
    assert "--mem-fraction-static 0.92" in " ".join(new["Config"]["Cmd"]).replace("=0.92", " 0.92")
    assert "running" == new["State"]["Status"]


@pytest.fixture
def others(stage: Stage) -> None:
    for name, network in (("other", "bridge"), ("other2", "labnet1")):
        words = ("--network", network, "--ipc", "shareable", "--stop-signal", "KILL", "-v", "/of-other")
        launches.command(stage.host, "run", "-d", "--name", name, *words, launches.IMAGE, *SERVE)


@pytest.mark.usefixtures("others")
@pytest.mark.parametrize("kind", OTHERS)
def test_options_that_do_not_go_with_others(stage: Stage, kind: str) -> None:
    launches.command(stage.host, "run", "-d", "--name", "sgl", *OTHERS[kind], launches.IMAGE, *SERVE)
    old = stage.inspect()

    outcome = stage.relaunch()

    assert (Ending.DONE, None) == (outcome.ending, outcome.reason)
    assert {} == undeclared(old, stage.inspect())


def test_hardware_address_that_somebody_chose(stage: Stage) -> None:
    stage.serve(mac_address="02:42:ac:11:77:01", network_mode="bridge")
    old = stage.inspect()

    outcome = stage.relaunch()

    assert Ending.DONE is outcome.ending
    assert {} == undeclared(old, stage.inspect())
    assert "02:42:ac:11:77:01" == stage.inspect()["NetworkSettings"]["MacAddress"]


def test_every_option_and_data_in_every_volume(stage: Stage, tmp_path: Path) -> None:
    old = made(stage, "rich", tmp_path)
    volumes = ("/anon", "/anoncli", "/mv", "/nv")
    stage.client.containers.get("rich").exec_run(
        ["sh", "-c", "; ".join(f"echo kept > {folder}/file" for folder in volumes)]
    )
    before = {one.name for one in stage.client.volumes.list()}

    outcome = stage.relaunch(stage.document("rich"))

    new = stage.inspect("rich")
    said = stage.client.containers.get("rich").exec_run(["cat", *(f"{folder}/file" for folder in volumes)]).output
    assert Ending.DONE is outcome.ending
    assert {} == undeclared(old, new)
    assert [*old["Config"]["Cmd"], *ADDED][-2:] == ADDED
    assert ["kept"] * 4 == said.decode().split()
    assert before == {one.name for one in stage.client.volumes.list()}
    assert "172.31.77.50" == new["NetworkSettings"]["Networks"]["labnet1"]["IPAddress"]
    assert "172.31.78.60" == new["NetworkSettings"]["Networks"]["labnet2"]["IPAddress"]


def test_data_survives_a_relaunch_that_fails(stage: Stage, tmp_path: Path) -> None:
    old = made(stage, "rich", tmp_path)
    stage.client.containers.get("rich").exec_run(["sh", "-c", "echo kept > /anon/file"])

    outcome = stage.relaunch(stage.document("rich"), readiness=NEVER)

    said = stage.client.containers.get("rich").exec_run(["cat", "/anon/file"]).output
    assert Ending.BACK is outcome.ending
    assert b"kept" == said.strip()
    assert {} == differences(old, stage.inspect("rich"))


@pytest.mark.parametrize("ready", [True, False])
def test_container_that_removes_itself(stage: Stage, ready: bool) -> None:
    command = ["run", "-d", "--name", "sgl", "--rm", "--network", "none", "--stop-signal", "KILL", "-v", "/data"]
    launches.command(stage.host, *command, launches.IMAGE, *SERVE)
    stage.client.containers.get("sgl").exec_run(["sh", "-c", "echo kept > /data/file"])
    old = stage.inspect()

    outcome = stage.relaunch(readiness=READY if ready else NEVER)

    new = stage.inspect()
    assert outcome.ending is (Ending.DONE if ready else Ending.BACK)
    assert {"sgl": "running"} == stage.containers
    assert new["HostConfig"]["AutoRemove"]
    assert {} == undeclared(old, new)
    assert SERVE + (ADDED if ready else []) == new["Config"]["Cmd"]
    assert b"kept" == stage.client.containers.get("sgl").exec_run(["cat", "/data/file"]).output.strip()


def test_what_a_container_that_removes_itself_said(stage: Stage) -> None:
    """Its log goes with it."""
    script = f'if test -n "$FAIL"; then echo said >&2; exit 3; fi; exec {shlex.join(SERVE)}'
    options = ("--name", "sgl", "--rm", "--network", "none", "--stop-signal", "KILL")
    launches.command(stage.host, "run", "-d", *options, launches.IMAGE, "sh", "-c", script)

    outcome = stage.relaunch(readiness=NEVER, changes=[Change("env.set", "FAIL", "1")])

    assert Ending.BACK is outcome.ending
    assert outcome.log is not None
    assert b"said\n" == Path(outcome.log).read_bytes()
    assert {"sgl"} == stage.containers.keys()


def back(stage: Stage, to: Any = "last-good", **options: Any) -> Ending:
    settings = {"readiness": READY, "patience": HURRY, "root": stage.root, **options}
    with Client(Endpoint(stage.host.url)) as client:
        return rollback(client, "sgl", to, **settings).ending


def test_history_and_the_ways_back(stage: Stage) -> None:
    first = stage.serve()
    second = stage.relaunch().container
    third = stage.relaunch(changes=[Change("flag.set", "--context-length", "8192")]).container
    stage.relaunch(changes=[Change("flag.set", "--dtype", "float16")], readiness=NEVER)

    told = history("sgl", stage.root)

    assert [first, second, third] == [one.container for one in told[:3]]
    assert [None, Ending.DONE, Ending.DONE, Ending.BACK] == [one.ending for one in told]
    assert [False, False, True, False] == [one.current for one in told]
    commands = [SERVE, [*SERVE, *ADDED], [*SERVE, *ADDED, "--context-length", "8192"]]
    assert commands == [list(one.command[-len(command) :]) for one, command in zip(told, commands, strict=False)]

    assert Ending.DONE is back(stage)
    assert second == stage.inspect()["Id"]
    assert Ending.DONE is back(stage)
    assert third == stage.inspect()["Id"]
    assert Ending.DONE is back(stage, "original")
    assert (first, "unless-stopped") == (stage.inspect()["Id"], stage.inspect()["HostConfig"]["RestartPolicy"]["Name"])
    stage.client.containers.get(third).remove()
    assert Ending.DONE is back(stage, 2)
    assert [*SERVE, *ADDED, "--context-length", "8192"] == stage.inspect()["Config"]["Cmd"]
    assert Purpose.ROLLBACK is history("sgl", stage.root)[-1].purpose
    assert 1 == stage.running


def test_launch_before_that_fails_gives_the_place_back(stage: Stage) -> None:
    first = stage.serve()
    second = stage.relaunch().container

    ending = back(stage, readiness=NEVER)

    assert Ending.BACK is ending
    assert second == stage.inspect()["Id"]
    assert {"sgl": "running", "sgl.sgd-old": "exited"} == stage.containers
    assert first == stage.inspect("sgl.sgd-old")["Id"]
