"""Where paths of a launch lie on this machine."""

from pathlib import Path

import pytest

from sgdoctor.launch.host_paths import source_of, started_in
from sgdoctor.launch.model import Mount

BESIDE = Path("/home/me/project")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("/data/models", "/data/models"),
        ("./models", "/home/me/project/models"),
        ("$(pwd)/models", "/home/me/project/models"),
        ("`pwd`", "/home/me/project"),
        ("$PWD/models", "/home/me/project/models"),
        ("${PWD}/models", "/home/me/project/models"),
        ("$HOME/models", str(Path.home() / "models")),
        ("~/models", str(Path.home() / "models")),
        ("$PWDX/models", "/home/me/project/$PWDX/models"),
    ],
)
def test_sources_of_mounts(source: str, expected: str) -> None:
    assert source_of(Mount("/models", source), BESIDE) == Path(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("docker run x", "/home/me/project"),
        ("cd /opt/work\ndocker run x", "/opt/work"),
        ("cd /opt/work && docker run x", "/opt/work"),
        ("cd /opt; cd work\ndocker run x", "/opt/work"),
        ("cd sub   # here\ndocker run x", "/home/me/project/sub"),
        ('cd "$(dirname "$0")"\ndocker run x', "/home/me/project"),
        ("echo cd /opt\ndocker run x", "/home/me/project"),
    ],
)
def test_the_folder_that_a_script_changes_to(text: str, expected: str) -> None:
    assert started_in(text, BESIDE) == Path(expected)
