"""Edits read back by Compose itself, where it is installed (`docker-compose` of version 2 or later, or the plugin)."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sgdoctor.launch.change import Change
from tests.launch.compose.test_edits import STYLES, opened, text_with
from tests.launch.tables import FLAGS


def _compose() -> list[str] | None:
    for words in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(words[0]):
            asked = subprocess.run([*words, "version", "--short"], capture_output=True, text=True, check=False)
            if not asked.returncode and not asked.stdout.startswith("1."):
                return words
    return None


COMPOSE = _compose()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(COMPOSE is None, reason="Compose is not installed")]


@pytest.mark.parametrize("value", ["0.8", 'it\'s $HOME: "x" # y', '{"a": [1, 2]}', "a|b;c (d) `e` \\f", "模型 é", ""])
@pytest.mark.parametrize("style", STYLES)
def test_compose_reads_what_was_written(style: str, value: str, tmp_path: Path) -> None:
    assert COMPOSE is not None
    changes = [
        Change("flag.set", "--dtype", value),
        Change("flag.set", "--model-path", value),
        Change("env.set", "X", value),
    ]
    edited = opened(text_with(STYLES[style])).edited(changes, FLAGS)
    (tmp_path / "compose.yaml").write_bytes(edited.text.encode())

    done = subprocess.run(
        [*COMPOSE, "config", "--format", "json"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        check=True,
    )

    service = json.loads(done.stdout)["services"]["llm"]
    words = [word.replace("$$", "$") for word in [*(service["entrypoint"] or []), *service["command"]]]
    assert words == list(edited.launch.command)
    assert value == service["environment"]["X"].replace("$$", "$")
