"""Pasted engine commands and scripts without containers."""

import pytest

from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.engine_command import read_engine_command
from sgdoctor.launch.model import EditState, Origin
from tests.launch.tables import FLAGS

SCRIPT = """#!/bin/bash
MODEL=/models/Qwen3-8B
export CUDA_VISIBLE_DEVICES=0 HF_HUB_OFFLINE=1
exec python3 -m sglang.launch_server \\
  --model-path $MODEL \\
  --port 30000 >> log 2>&1
"""


def test_what_a_command_says() -> None:
    text = "$ CUDA_VISIBLE_DEVICES=1 numactl -N 0 python3 -m sglang.launch_server --model-path /m 2>&1 | tee log"

    launch = read_engine_command(text).launch

    assert Origin.COMMAND is launch.origin
    assert ("python3", "-m", "sglang.launch_server", "--model-path", "/m") == launch.argv == launch.command
    assert 3 == launch.flags_at
    assert {"CUDA_VISIBLE_DEVICES": "1"} == launch.env
    assert launch.image is None
    assert launch.gpus is None


def test_what_a_script_says() -> None:
    launch = read_engine_command(SCRIPT).launch

    assert Origin.SCRIPT is launch.origin
    assert ("--model-path", "/models/Qwen3-8B", "--port", "30000") == launch.argv[launch.flags_at :]
    assert {"CUDA_VISIBLE_DEVICES": "0", "HF_HUB_OFFLINE": "1"} == launch.env


def test_a_shell_stands_between() -> None:
    launch = read_engine_command("bash -lc 'source x; sglang serve --a'").launch

    assert ("sglang", "serve", "--a") == launch.argv
    assert ("bash", "-lc", "source x; sglang serve --a") == launch.command


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ("sglang serve --a", [Change("env.set", "A", "1"), Change("env.set", "B", "x y")],
         "A=1 B='x y' sglang serve --a"),
        ("$ A=1 sglang serve", [Change("env.set", "B", "2"), Change("env.set", "A", "3")], "$ A=3 B=2 sglang serve"),
        ("A=1 B=2 sglang serve", [Change("env.unset", "A"), Change("env.unset", "C")], "B=2 sglang serve"),
        ("cd /x && nohup sglang serve &", [Change("env.set", "A", "1")], "cd /x && A=1 nohup sglang serve &"),
        ('bash -c "sglang serve --a 1"', [Change("env.set", "A", 'x"y'), Change("flag.set", "--a", "2")],
         "bash -c \"A='x\\\"y' sglang serve --a 2\""),
        ("export A=1; sglang serve", [Change("env.unset", "A")], "unset A; sglang serve"),
        (SCRIPT, [Change("env.unset", "CUDA_VISIBLE_DEVICES")], SCRIPT.replace("CUDA_VISIBLE_DEVICES=0 ", "")),
        (SCRIPT, [Change("flag.set", "--port", "8000"), Change("flag.set", "--tp", "2")],
         SCRIPT.replace("30000", "8000 \\\n  --tp 2")),
        ("sglang serve –a", [Change("flag.set", "--b")], "sglang serve -a --b"),
        ("sglang serve –a", [Change("text.repair")], "sglang serve -a"),
        ("sglang serve \\\r\n --a\r\n", [Change("flag.set", "--a", "1")], "sglang serve \\\n --a 1\n"),
        ("sglang serve --a\r\n", [Change("flag.set", "--b", "1")], "sglang serve --a --b 1\r\n"),
        ("sglang serve --a \\", [Change("flag.set", "--b")], "sglang serve --a --b \\"),
    ],
)  # fmt: skip
def test_edits(text: str, changes: list[Change], expected: str) -> None:
    edited = read_engine_command(text).edited(changes, FLAGS)

    assert expected == edited.text
    assert () == edited.left
    assert read_engine_command(expected).launch == edited.launch


@pytest.mark.parametrize(
    ("text", "change", "why"),
    [
        ("sglang serve –a", Change("docker.ipc", value="host"), "without a container"),
        ("sglang serve –a", Change("file.edit", "config.json"), "without a container"),
        ("sudo sglang serve –a", Change("env.set", "A", "1"), "sudo"),
    ],
)
def test_what_has_no_place_is_left(text: str, change: Change, why: str) -> None:
    edited = read_engine_command(text).edited([change], FLAGS)

    assert text == edited.text
    assert [change] == [one for one, _ in edited.left]
    assert why in edited.left[0][1].en


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ls -l", "run.sh: no command in it starts the engine"),
        ("bash start.sh", "run.sh: the engine is started inside start.sh, which cannot be seen from here"),
        (
            "sglang serve --a\nsglang serve --b",
            (
                "run.sh: the engine is started more than once: `sglang serve` (line 1), `sglang serve` (line 2); "
                "give one of them alone"
            ),
        ),
        ("\nsglang serve 'x", "run.sh: line 2: ' is not closed"),
        ("", "run.sh: no command in it starts the engine"),
    ],
)
def test_what_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        read_engine_command(text, "run.sh")

    assert message == error.value.en
    assert error.value.zh.startswith("run.sh：")


def test_what_is_read_but_not_edited() -> None:
    text = "while true; do\n  sglang serve --a\ndone"
    document = read_engine_command(text)

    assert EditState.NO is document.editable.state
    assert () == document.launch.argv
    assert text == document.edited([], FLAGS).text
    with pytest.raises(UserError, match=r"in a loop \(line 2\); put this in by hand: --dtype half"):
        document.edited([Change("flag.set", "--dtype", "half")], FLAGS)


def test_typography_is_a_problem_with_its_place() -> None:
    [problem] = read_engine_command("sglang serve \\\n  –tp 1").problems

    assert "typographic-dash" == problem.id
    assert problem.where is not None
    assert ("line 2", "第 2 行") == problem.where
