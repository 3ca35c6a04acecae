"""Whose processes are whose, and on which machine."""

import pytest

from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.watching.cards import other_machine


@pytest.mark.parametrize(
    ("url", "machine"),
    [
        ("unix:///var/run/docker.sock", ""),
        ("tcp://127.0.0.1:2375", ""),
        ("tcp://localhost:2376", ""),
        ("tcp://[::1]:2376", ""),
        ("tcp://gpu-box:2376", "gpu-box"),
        ("tcp://192.168.1.7:2375", "192.168.1.7"),
        ("tcp://[fe80::1]:2375", "fe80::1"),
        ("ssh://me@gpu-box", "gpu-box"),
        ("ssh://gpu-box:2222", "gpu-box"),
        ("ssh://me@localhost", ""),
    ],
)
def test_the_machine_of_an_engine(url: str, machine: str) -> None:
    assert other_machine(Endpoint(url)) == machine
