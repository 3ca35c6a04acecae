"""Units of systemd: the command behind ``ExecStart=`` is read and changed like any other."""

import pytest

from sgdoctor.launch.change import Change
from sgdoctor.launch.docker_run import read_shell
from tests.launch.tables import FLAGS

HEAD = "[Unit]\nDescription=LLM\n[Service]\nEnvironment=A=b\n"
ENGINE = "python3 -m sglang.launch_server --model-path /m --dtype half"


@pytest.mark.parametrize("prefix", ["", "-", "@", "-+"])
def test_docker_in_a_unit(prefix: str) -> None:
    unit = f"{HEAD}ExecStart={prefix}/usr/bin/docker run --gpus all \\\n  lmsysorg/sglang {ENGINE}\nRestart=always\n"
    document = read_shell(unit, "sgl.service")
    edited = document.edited([Change("flag.set", "--dtype", "bfloat16")], FLAGS)

    assert document.launch.image == "lmsysorg/sglang"
    assert unit.replace("half", "bfloat16") == edited.text


def test_an_engine_in_a_unit() -> None:
    unit = f"{HEAD}ExecStart=/usr/bin/{ENGINE}\n"
    document = read_shell(unit, "sgl.service")
    edited = document.edited([Change("env.set", "A", "b"), Change("flag.set", "--tp-size", "2")], FLAGS)

    assert document.launch.argv[0] == "/usr/bin/python3"
    assert unit.replace("half", "half --tp-size 2") == edited.text
    assert ["env.set"] == [change.kind for change, _ in edited.left]
