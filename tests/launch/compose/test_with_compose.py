"""Edits read back by Compose itself."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from sgdoctor.launch.change import Change
from tests.composes import modern, needed
from tests.launch.compose.test_edits import STYLES, opened, text_with
from tests.launch.tables import FLAGS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("value", ["0.8", 'it\'s $HOME: "x" # y', '{"a": [1, 2]}', "a|b;c (d) `e` \\f", "模型 é", ""])
@pytest.mark.parametrize("style", STYLES)
def test_compose_reads_what_was_written(style: str, value: str, tmp_path: Path) -> None:
    compose = needed(modern())
    changes = [
        Change("flag.set", "--dtype", value),
        Change("flag.set", "--model-path", value),
        Change("env.set", "X", value),
    ]
    edited = opened(text_with(STYLES[style])).edited(changes, FLAGS)
    (tmp_path / "compose.yaml").write_bytes(edited.text.encode())

    done = subprocess.run(
        [*compose, "config", "--format", "json"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        check=True,
    )

    service = json.loads(done.stdout)["services"]["llm"]
    words = [word.replace("$$", "$") for word in [*(service["entrypoint"] or []), *service["command"]]]
    assert words == list(edited.launch.command)
    assert value == service["environment"]["X"].replace("$$", "$")
