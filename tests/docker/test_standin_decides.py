"""The stand-in decides in a real container: flags of any kind, mounted models, scripts and patches."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.models.containers import Container

from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.image_files import open_image
from sgdoctor.engines.sglang.flags.extract import extract
from sgdoctor.engines.sglang.flags.schemas import schema
from tests.docker.dockerd import PrivateDockerd
from tests.docker.test_standin import Web, exit_code, printed, until
from tests.standin.parity import Log, put_model

BIG = ["--model-path", "/models/27b", "--host", "0.0.0.0", "--port", "30000", "--context-length", "65536"]
MODULE = ["python3", "-m", "sglang.launch_server"]
READY = b"ready to roll!"
# What the published reports tell people to write.
COPIED = """import sys
import transformers.configuration_utils as cu
_orig = cu.PretrainedConfig.validate_layer_type
def _patched(self):
    if 'qwen3_5_moe' in str(getattr(self, 'model_type', '')):
        return
    return _orig(self)
cu.PretrainedConfig.validate_layer_type = _patched
from transformers import AutoConfig
_register = AutoConfig.register
AutoConfig.register = lambda model_type, config, exist_ok=False: _register(model_type, config, exist_ok=True)
{start}
"""
OLD_START = "from sglang.srt.server import launch_server_cli\nlaunch_server_cli()"
NEW_START = """from sglang.launch_server import run_server
from sglang.srt.server_args import prepare_server_args
if __name__ == "__main__":
    run_server(prepare_server_args(sys.argv[1:]))"""

Start = Callable[..., Container]


@pytest.fixture
def start(docker_client: docker.DockerClient, standin_image: str) -> Start:
    """Start a container: `start(command, STANDIN_X="...", volumes=...)`."""

    def starter(command: list[str], **options: Any) -> Container:
        variables = {name: options.pop(name) for name in list(options) if name.isupper()}
        environment = {"STANDIN_SCENARIO": "decide", "STANDIN_MODEL": "qwen3.6-27b", **variables}
        return docker_client.containers.run(standin_image, command, environment=environment, detach=True, **options)

    return starter


def rules(container: Container) -> list[str]:
    return Log(container.logs()).rules


@pytest.mark.parametrize("program", [MODULE, ["sglang", "serve"]])
def test_serves(program: list[str], start: Start, docker_host: PrivateDockerd) -> None:
    container = start([*program, *BIG, "--mem-fraction-static", "0.92", "--tool-call-parser", "qwen3_coder"])

    printed(container, READY)
    tool = {"type": "function", "function": {"name": "look", "parameters": {"properties": {"at": {"type": "string"}}}}}
    with Web(docker_host, container) as web:
        assert (200, b"") == web.get("/health")
        called = json.loads(web.chat(tools=[tool])[1])
    assert "look" == called["choices"][0]["message"]["tool_calls"][0]["function"]["name"]
    assert (program is MODULE) == (b"UserWarning" in container.logs())
    container.stop(timeout=10)
    # As process 1 it cannot kill itself.
    assert 0 == exit_code(container)
    assert [] == rules(container)


@pytest.mark.parametrize(
    ("flags", "code", "rule"),
    [
        ([], 0, "SGL401"),
        (["--mem-fraction-static", "0.88"], 0, "SGL402"),
        (["--mem-fraction-static", "0.92", "--cuda-graph-backend-decode", "breakable"], 0, "SGL501"),
        (["--mem-fraction-static", "92%"], 2, "SGL113"),
        (["--tp", "2"], 0, "SGL016"),
    ],
)
def test_fails(flags: list[str], code: int, rule: str, start: Start) -> None:
    container = start([*MODULE, *BIG, *flags])

    assert code == exit_code(container)
    assert [rule] == rules(container)


def test_copied_start_script_and_the_one_that_works(start: Start, tmp_path: Path) -> None:
    put_model(tmp_path, "35b-a3b", layer_types=["linear_attention"] * 16)
    config = json.loads((tmp_path / "config.json").read_text())
    config["text_config"]["model_type"] = "qwen3_5_moe_text"
    (tmp_path / "config.json").write_text(json.dumps(config))
    told = {"STANDIN_MODEL": "qwen3.6-35b-a3b"}
    flags = ["--model-path", "/models/35b", "--mem-fraction-static", "0.92"]

    ends = []
    for name, lines in (("old", OLD_START), ("new", NEW_START)):
        script = tmp_path / f"{name}.py"
        script.write_text(COPIED.format(start=lines))
        volumes = [f"{script}:/launch_selode.py:ro", f"{tmp_path}:/models/35b:ro"]
        ends.append(start(["python3", "/launch_selode.py", *flags], volumes=volumes, **told))
    stock = start([*MODULE, *flags], volumes=[f"{tmp_path}:/models/35b:ro"], **told)

    old, new = ends
    assert 1 == exit_code(old)
    assert b"ModuleNotFoundError: No module named 'sglang.srt.server'\n" == old.logs().splitlines(keepends=True)[-1]
    assert 1 == exit_code(stock)
    assert ["SGL204"] == rules(stock)
    printed(new, READY)


def test_every_start_decides_anew(start: Start) -> None:
    container = start([*MODULE, *BIG], restart_policy={"Name": "always"})

    until(lambda: container.logs().count(b"Computed max_mamba_cache_size=") >= 3, "three starts")
    container.stop(timeout=5)


def test_flags_are_those_of_the_version(docker_host: PrivateDockerd, standin_image: str) -> None:
    with Client(Endpoint(docker_host.url)) as client, open_image(client, standin_image) as sources:
        found = extract(sources)
        transformers = sources.package_version("transformers")

    assert ("0.5.15", "5.12.1") == (found.version, transformers)
    assert set(schema("0.5.15").names) == {name for option in found.options for name in option.names}
