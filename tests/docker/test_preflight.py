"""``preflight`` against a real engine: targets, ports, names, images, remote addresses, a throw-away container."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.temporary import TEMPORARY
from sgdoctor.containers.throwaway import run_once
from sgdoctor.launch.docker_run import read_shell
from sgdoctor.preflight.engine import engine_facts, image_of
from sgdoctor.preflight.model import DockerState
from tests.docker.dockerd import PrivateDockerd
from tests.docker.images import Root, import_image
from tests.engines.flag_sources import ANNOTATED

ENGINE = "sgdoctor-test/preflight-engine:v0.5.15-cu128"
NVIDIA_SMI = b"#!/bin/sh\necho 'GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-1)'\n"
PYTHON = b"#!/bin/sh\necho 'sglang 0.5.15'\necho 'torch 2.11.0'\n"


@pytest.fixture(scope="module")
def engine_image(docker_host: PrivateDockerd) -> str:
    """An image with the sources of an engine, a torch, and programs that answer like those of a machine with a card."""
    root = Root()
    root.busybox()
    for path, text in ANNOTATED.items():
        root.file(f"sgl-workspace/sglang/python/{path}", text.encode())
    packages = "usr/local/lib/python3.12/dist-packages"
    root.file(f"{packages}/torch/version.py", b"from typing import Optional\n__version__ = '2.11.0+cu128'\n")
    root.file(f"{packages}/transformers/__init__.py", b'__version__ = "5.12.1"\n')
    root.file("bin/nvidia-smi", NVIDIA_SMI, 0o755)
    root.file("bin/python3", PYTHON, 0o755)
    changes = ["ENV PATH=/bin", "ENV CUDA_VERSION=12.8.1", "ENV NVIDIA_VISIBLE_DEVICES=all", 'CMD ["sh"]']
    import_image(docker_host, ENGINE, root.done(), changes)
    return ENGINE


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def preflight(host: str, *arguments: str, folder: Path) -> tuple[int, dict[str, Any], str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DOCKER_")}
    done = subprocess.run(
        [sys.executable, "-m", "sgdoctor", "preflight", *arguments, "--format", "json"],
        env=environment | {"DOCKER_HOST": host, "XDG_CACHE_HOME": str(folder / "cache")},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


def told(data: dict[str, Any], check: str) -> list[tuple[str, str | None]]:
    return [(one["status"], one["prevents"]) for one in data["checks"] if one["id"] == check]


def script(folder: Path, image: str, options: str = "--gpus all", flags: str = "") -> str:
    path = folder / "run.sh"
    path.write_text(
        f"docker run {options} --name sgl {image} \\\n  python3 -m sglang.launch_server --model-path /models/m {flags}\n"
    )
    return str(path)


@contextlib.contextmanager
def by_tcp(host: PrivateDockerd) -> Iterator[str]:
    """The engine behind an address, as an engine of another machine is reached."""
    open_sockets: list[socket.socket] = []
    with socket.create_server(("", 0)) as server, contextlib.closing(_Closing(open_sockets)):
        thread = threading.Thread(target=_forward, args=(server, host.url.removeprefix("unix://"), open_sockets))
        thread.start()
        yield f"tcp://{socket.gethostname()}:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


class _Closing:
    def __init__(self, sockets: list[socket.socket]) -> None:
        self._sockets = sockets

    def close(self) -> None:
        for one in self._sockets:
            one.close()


def _forward(server: socket.socket, path: str, open_sockets: list[socket.socket]) -> None:
    pumps = []
    with contextlib.suppress(OSError):
        while True:
            caller, _ = server.accept()
            engine = socket.socket(socket.AF_UNIX)
            open_sockets += [caller, engine]
            engine.connect(path)
            for source, sink in ((caller, engine), (engine, caller)):
                pumps.append(threading.Thread(target=_pump, args=(source, sink)))
                pumps[-1].start()
    for pump in pumps:
        pump.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


# ---------------------------------------------------------------- what the engine says


def test_the_engine_and_its_containers(
    docker_host: PrivateDockerd, docker_client: docker.DockerClient, busybox_image: str
) -> None:
    docker_client.containers.create(busybox_image, name="other")
    with Client(Endpoint(docker_host.url)) as client:
        facts = engine_facts(client)

    assert (DockerState.ANSWERS, False) == (facts.state, facts.remote)
    assert "nvidia" in (facts.info or {})["Runtimes"]
    assert [["/other"]] == [entry["Names"] for entry in facts.containers]


def test_an_engine_that_is_not_there(tmp_path: Path) -> None:
    with Client(Endpoint(f"unix://{tmp_path}/no.sock")) as client:
        facts = engine_facts(client)

    assert facts.info is None
    assert DockerState.SILENT is facts.state
    assert "no.sock" in (facts.reason.en if facts.reason else "")


def test_versions_are_read_out_of_the_image_once(
    docker_host: PrivateDockerd, docker_client: docker.DockerClient, engine_image: str, cache: Path
) -> None:
    with Client(Endpoint(docker_host.url)) as client:
        first = image_of(client, engine_image, cache=cache)
        (remembered,) = cache.iterdir()
        remembered.write_text(remembered.read_text().replace("2.11.0", "9.9.9"))
        second = image_of(client, engine_image, cache=cache)

    assert (True, "0.5.15", "12.8") == (first.facts.present, first.facts.sglang, first.facts.cuda)
    assert {"torch": "2.11.0+cu128", "transformers": "5.12.1"} == first.facts.packages
    assert "9.9.9+cu128" == second.facts.packages["torch"]
    assert [] == docker_client.containers.list(all=True, filters={"label": TEMPORARY})


def test_an_image_that_is_not_here(docker_host: PrivateDockerd, cache: Path) -> None:
    with Client(Endpoint(docker_host.url)) as client:
        read = image_of(client, "lmsysorg/sglang:v0.5.15-cu129-runtime", cache=cache)

    assert (False, "0.5.15", "12.9") == (read.facts.present, read.facts.sglang, read.facts.cuda)


# ---------------------------------------------------------------- the command


def test_a_container_that_was_never_started(
    docker_host: PrivateDockerd, docker_client: docker.DockerClient, engine_image: str, tmp_path: Path
) -> None:
    docker_client.containers.create(
        engine_image,
        ["python3", "-m", "sglang.launch_server", "--model-path", "/models/m", "--port", "30000"],
        name="sgl",
        ports={"30000/tcp": 30000},
        environment={"CUDA_VISIBLE_DEVICES": "1"},
        device_requests=[docker.types.DeviceRequest(device_ids=["1"], capabilities=[["gpu"]])],
    )
    code, data, errors = preflight(docker_host.url, "sgl", "--gpu", "2x3090", folder=tmp_path)

    assert (3, "container", "0.5.15") == (code, data["origin"], data["engine"]["version"]), errors
    assert [("pass", None)] == told(data, "image-present")
    assert [("pass", None)] == told(data, "docker-reachable")
    # The name is its own.
    assert "fail" not in {status for status, _ in told(data, "launch-name")}
    assert "SGL014" in [end["rule"] for end in data["course"]]
    assert 1 == len(docker_client.containers.list(all=True))


def test_a_name_and_a_port_that_are_taken(
    docker_host: PrivateDockerd, docker_client: docker.DockerClient, engine_image: str, tmp_path: Path
) -> None:
    docker_client.containers.run(engine_image, ["sleep", "60"], name="sgl", ports={"80/tcp": 30123}, detach=True)
    target = script(tmp_path, engine_image, "--gpus all -p 30123:30000", "--port 30000")
    code, data, errors = preflight(docker_host.url, target, "--gpu", "3090", folder=tmp_path)
    rules = {one["prevents"] for one in data["checks"] if one["status"] == "fail"}

    assert 3 == code, errors
    assert {"SGL020", "SGL024"} <= rules
    assert "docker" == data["course"][0]["phase"]


def test_a_launch_that_nothing_speaks_against_in_docker(
    docker_host: PrivateDockerd, docker_client: docker.DockerClient, engine_image: str, tmp_path: Path
) -> None:
    target = script(tmp_path, engine_image, "--gpus all -p 127.0.0.1:30999:30000", "--host 0.0.0.0 --port 30000")
    _, data, errors = preflight(docker_host.url, target, "--gpu", "3090", folder=tmp_path)

    assert "" == errors
    fails = [one for one in data["checks"] if one["area"] in ("host", "launch") and one["status"] == "fail"]
    assert [] == fails


def test_an_engine_behind_an_address_is_of_another_machine(
    docker_host: PrivateDockerd, docker_client: docker.DockerClient, engine_image: str, tmp_path: Path
) -> None:
    with by_tcp(docker_host) as url:
        _, data, errors = preflight(url, script(tmp_path, engine_image), folder=tmp_path)
    remote = {one["id"] for one in data["checks"] if one["remote"]}

    assert "" == errors
    assert {"docker-reachable", "nvidia-driver", "disk-space"} <= remote
    assert [("skipped", None)] == told(data, "nvidia-driver")
    assert [] == data["host"]["cards"]


# ---------------------------------------------------------------- a throw-away container


def test_a_throw_away_container_says_what_it_gets(
    docker_host: PrivateDockerd, docker_client: docker.DockerClient, engine_image: str, tmp_path: Path
) -> None:
    target = script(tmp_path, engine_image)
    _, data, errors = preflight(docker_host.url, target, "--gpu", "3090", "--deep", "--yes", folder=tmp_path)
    (found,) = [one for one in data["checks"] if one["id"] == "container-gets-card"]

    assert "" == errors
    assert ("pass", "sglang 0.5.15, torch 2.11.0") == (found["status"], found["evidence"])
    assert "GPU 0: NVIDIA GeForce RTX 3090" in found["title"]
    assert [] == docker_client.containers.list(all=True)


def test_a_driver_that_does_not_work_is_told_by_its_rule(
    docker_host: PrivateDockerd, docker_client: docker.DockerClient, engine_image: str, tmp_path: Path
) -> None:
    broken = docker_host.folder / "gpu-broken"
    broken.touch()
    try:
        target = script(tmp_path, engine_image)
        code, data, _ = preflight(docker_host.url, target, "--gpu", "3090", "--deep", "--yes", folder=tmp_path)
    finally:
        broken.unlink()

    assert (3, [("fail", "SGL006")]) == (code, told(data, "container-gets-card"))
    assert "SGL006" == data["course"][0]["rule"]
    assert [] == docker_client.containers.list(all=True)


def test_no_container_is_started_without_a_yes(
    docker_host: PrivateDockerd, docker_client: docker.DockerClient, engine_image: str, tmp_path: Path
) -> None:
    code, data, errors = preflight(docker_host.url, script(tmp_path, engine_image), "--deep", folder=tmp_path)

    assert (2, {}) == (code, data)
    assert "--yes" in errors
    assert [] == docker_client.containers.list(all=True)


def test_a_container_that_does_not_end_is_ended(
    docker_host: PrivateDockerd, docker_client: docker.DockerClient, engine_image: str
) -> None:
    launch = read_shell(f"docker run --gpus all {engine_image} python3 -m sglang.launch_server").launch
    with Client(Endpoint(docker_host.url)) as client:
        ran = run_once(client, launch, ("sh", "-c", "echo here; sleep 600"), 2.0)

    assert ("here\n", None, "") == (ran.output, ran.exit_code, ran.error)
    assert [] == docker_client.containers.list(all=True)


def test_an_image_that_is_not_there(docker_host: PrivateDockerd, docker_client: docker.DockerClient) -> None:
    launch = read_shell("docker run --gpus all sgdoctor-test/nowhere:1 python3 -m sglang.launch_server").launch
    with Client(Endpoint(docker_host.url)) as client:
        ran = run_once(client, launch, ("true",), 20.0)

    assert "nowhere" in ran.error
    assert ran.exit_code is None
