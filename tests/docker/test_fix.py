"""``fix`` with the name of a real container, made by Docker or by Compose."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import docker
import pytest

from tests.docker.dockerd import PrivateDockerd

RUN = "article27-mfs-0.80"
FLAGS = "--model-path /models/skel27 --dtype bfloat16 --context-length 65536 --mem-fraction-static 0.80"
COMPOSE = """\
services:
  sgl:
    image: {image}
    command: python3 -m sglang.launch_server {flags}
"""


def fix(host: PrivateDockerd, *arguments: str, folder: Path | None = None) -> tuple[int, dict[str, Any], str]:
    done = subprocess.run(
        [sys.executable, "-m", "sgdoctor", "fix", *arguments, "--format", "json"],
        env=os.environ | {"DOCKER_HOST": host.url},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


def create(client: docker.DockerClient, image: str, **options: Any) -> Any:
    argv = ["python3", "-m", "sglang.launch_server", *shlex.split(FLAGS)]
    environment = {"STANDIN_SCENARIO": RUN, "HF_TOKEN": "hf_abcdefghijklmnop1234"}
    return client.containers.create(image, argv, name="sgl", environment=environment, network_mode="none", **options)


def test_a_dead_container(docker_host: PrivateDockerd, docker_client: docker.DockerClient, standin_image: str) -> None:
    container = create(docker_client, standin_image)
    container.start()
    container.wait()
    before = container.attrs
    code, data, errors = fix(docker_host, "sgl")
    container.reload()
    step, *_ = data["plan"]["steps"]

    assert (3, "", "container", "sgl") == (code, errors, data["origin"], data["log"])
    assert ["SGL401"] == [diagnosis["rule"] for diagnosis in data["diagnoses"]]
    assert ("found", "fitting-fraction") == (step["basis"], step["id"])
    assert "-  --mem-fraction-static 0.80" in data["plan"]["diff"]
    assert "***" == data["launch"]["env"]["HF_TOKEN"]
    assert before["Config"] == container.attrs["Config"]
    assert 1 == len(docker_client.containers.list(all=True))


def test_a_container_that_never_started_is_a_launch_without_a_log(
    docker_host: PrivateDockerd, docker_client: docker.DockerClient, standin_image: str
) -> None:
    create(docker_client, standin_image)
    code, data, errors = fix(docker_host, "sgl", "--set", "mem-fraction-static=0.92")

    # No GPU was asked for: that is wrong without any log.
    assert (3, "", None) == (code, errors, data["log"])
    assert ["no-gpu-asked-for"] == [problem["id"] for problem in data["problems"] if problem["severity"] == "fatal"]
    assert "0.92" == data["plan"]["changes"][0]["value"]


@pytest.mark.parametrize("target", ["sgl", "compose.yaml", "compose.yaml:sgl"])
def test_a_container_of_compose_is_its_file_and_the_file_has_its_log(
    docker_host: PrivateDockerd,
    docker_client: docker.DockerClient,
    standin_image: str,
    tmp_path: Path,
    target: str,
) -> None:
    file = tmp_path / "compose.yaml"
    file.write_text(COMPOSE.format(image=standin_image, flags=FLAGS))
    # What Compose 2 and later put on its containers.
    labels = {
        "com.docker.compose.project": "work",
        "com.docker.compose.service": "sgl",
        "com.docker.compose.project.config_files": str(file),
        "com.docker.compose.project.working_dir": str(tmp_path),
        "com.docker.compose.version": "2.29.7",
        "com.docker.compose.container-number": "1",
    }
    container = create(docker_client, standin_image, labels=labels)
    container.start()
    container.wait()
    code, data, errors = fix(docker_host, target, "--write", folder=tmp_path)

    assert (3, "", "compose", "sgl") == (code, errors, data["origin"], data["log"])
    assert data["plan"]["steps"][0]["rule"] == "SGL401"
    assert "--mem-fraction-static 0.80" not in file.read_text()


def test_a_command_with_the_log_of_a_container(
    docker_host: PrivateDockerd, docker_client: docker.DockerClient, standin_image: str
) -> None:
    container = create(docker_client, standin_image)
    container.start()
    container.wait()
    code, data, errors = fix(docker_host, "--from", "sgl", f"python3 -m sglang.launch_server {FLAGS}")

    assert (3, "", "command") == (code, errors, data["origin"])
    assert data["plan"]["changes"]


def test_unknown_names_list_those_that_are_there(
    docker_host: PrivateDockerd, docker_client: docker.DockerClient, standin_image: str
) -> None:
    create(docker_client, standin_image)
    code, _, errors = fix(docker_host, "sglang")

    assert 2 == code
    assert "neither a file nor a container of this name. Containers: sgl" in errors
