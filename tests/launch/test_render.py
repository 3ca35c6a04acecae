"""Launches as text, and what differs between two of them."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sgdoctor.launch.model import Gpus, Launch, Mount, Origin, Port
from sgdoctor.launch.render import (
    WordChange,
    command_line,
    docker_run,
    flag_groups,
    unified_diff,
    word_changes,
    word_diff,
)
from sgdoctor.launch.shell import words

ARGV = ("python3", "-m", "sglang.launch_server", "--model-path", "/models/m", "--tp", "2", "--enable-mixed-chunk")
WORD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


def launch(**parts: object) -> Launch:
    return Launch(**({"origin": Origin.CONTAINER, "argv": ARGV, "flags_at": 3, "image": "sglang:1"} | parts))  # type: ignore[arg-type]


def test_command_on_one_line_and_on_many() -> None:
    assert "python3 -m sglang.launch_server --model-path /models/m --tp 2 --enable-mixed-chunk" == command_line(ARGV)
    assert (
        "python3 -m sglang.launch_server \\\n  --model-path /models/m \\\n  --tp 2 \\\n  --enable-mixed-chunk"
    ) == command_line(ARGV, 3)


@given(st.lists(WORD, min_size=1), st.integers(0, 5))
def test_a_shell_reads_the_words_back(given: list[str], flags_at: int) -> None:
    text = command_line(given, min(flags_at, len(given)))

    assert given == [word.text for word in words(text)]


@pytest.mark.parametrize("flags_at", [None, 1])
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORD.filter(lambda word: "\r" not in word), min_size=1))
def test_a_real_shell_reads_the_words_back(flags_at: int | None, given: list[str]) -> None:
    text = command_line(["printf", r"%s\0", *given], flags_at)

    said = subprocess.run(["bash", "-c", text], capture_output=True, check=True).stdout

    assert given == said.decode().split("\0")[:-1]


def test_negative_numbers_are_values() -> None:
    assert [("a",), ("--x", "-1"), ("--y",), ("-z", "b")] == flag_groups(["a", "--x", "-1", "--y", "-z", "b"])


def test_whole_docker_run() -> None:
    text = docker_run(
        launch(
            name="sgl",
            command=("/entry.sh", *ARGV),
            entrypoint=1,
            gpus=Gpus(device_ids=("0", "1")),
            env={"HF_TOKEN": None, "NOTE": "it's $5"},
            ports=(Port(30000, 15433), Port(30001, None, "127.0.0.1", "udp"), Port(30002, 1, "::1")),
            mounts=(
                Mount("/models", "/data/my models", "bind", read_only=True),
                Mount("/cache", "cache", "volume"),
                Mount("/scratch", None, "volume"),
                Mount("/tmp", None, "tmpfs"),
            ),
            shm_bytes=32 << 30,
            ipc="host",
            network="sgl-net",
            restart="on-failure:3",
            init=True,
        ),
        options=[("--ulimit", "memlock=-1")],
        inherited=1,
    )

    assert text == (
        "docker run -d \\\n"
        "  --name sgl \\\n"
        """  --gpus '"device=0,1"' \\\n"""
        "  --shm-size 32g \\\n"
        "  --ipc host \\\n"
        "  --network sgl-net \\\n"
        "  --restart on-failure:3 \\\n"
        "  --init \\\n"
        "  -p 15433:30000 \\\n"
        "  -p 127.0.0.1::30001/udp \\\n"
        "  -p '[::1]:1:30002' \\\n"
        "  -v '/data/my models:/models:ro' \\\n"
        "  -v cache:/cache \\\n"
        "  -v /scratch \\\n"
        "  --tmpfs /tmp \\\n"
        "  -e HF_TOKEN \\\n"
        """  -e 'NOTE=it'"'"'s $5' \\\n"""
        "  --ulimit memlock=-1 \\\n"
        "  sglang:1 \\\n"
        "  python3 -m sglang.launch_server \\\n"
        "  --model-path /models/m \\\n"
        "  --tp 2 \\\n"
        "  --enable-mixed-chunk"
    )


def test_docker_run_of_a_bare_command() -> None:
    text = docker_run(Launch(Origin.COMMAND, ARGV, 3, ARGV))

    assert ["docker", "run", "-d", "IMAGE", *ARGV] == [word.text for word in words(text)]


def test_entrypoint_of_its_own() -> None:
    text = docker_run(
        launch(command=("bash", "-c", "sglang serve"), entrypoint=1, argv=("sglang", "serve"), flags_at=2)
    )

    assert text.endswith("--entrypoint bash \\\n  sglang:1 \\\n  -c 'sglang serve'")


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        (Gpus(), []),
        (Gpus(count=-1), ["--gpus", "all"]),
        (Gpus(count=2), ["--gpus", "2"]),
        (Gpus(device_ids=("1",)), ["--gpus", "device=1"]),
        (Gpus(device_ids=("1",), runtime="nvidia"), ["--runtime", "nvidia", "--gpus", "device=1"]),
        (Gpus(device_ids=("1",), runtime="nvidia", from_env=True), ["--runtime", "nvidia"]),
        (Gpus(device_ids=("0", "1"), driver="cdi"), ["--device", "nvidia.com/gpu=0", "--device", "nvidia.com/gpu=1"]),
        (Gpus(count=-1, driver="cdi"), ["--device", "nvidia.com/gpu=all"]),
    ],
)
def test_gpus(gpus: Gpus, expected: list[str]) -> None:
    text = docker_run(launch(gpus=gpus))

    assert ["docker", "run", "-d", *expected, "sglang:1", *ARGV] == [word.text for word in words(text)]


def test_diff_of_texts() -> None:
    old = "services:\n  sgl:\n    command: >\n      --tp 1\n"

    assert unified_diff(old, old.replace("1", "2"), "compose.yaml") == (
        "--- a/compose.yaml\n"
        "+++ b/compose.yaml\n"
        "@@ -1,4 +1,4 @@\n"
        " services:\n"
        "   sgl:\n"
        "     command: >\n"
        "-      --tp 1\n"
        "+      --tp 2\n"
    )
    assert "" == unified_diff(old, old, "compose.yaml")


def test_missing_newline_at_the_end_is_said() -> None:
    assert unified_diff("a", "b\n", "x").endswith("-a\n\\ No newline at end of file\n+b\n")
    assert unified_diff("a\n", "b", "x").endswith("-a\n+b\n\\ No newline at end of file\n")


LINE = st.text(st.sampled_from("ab \r\x0c\u2028\x85"), max_size=3)
TEXT = st.builds(lambda lines, end: "\n".join(lines) + end, st.lists(LINE, max_size=6), st.sampled_from(["", "\n"]))


@pytest.mark.parametrize("name", ["compose.yaml", "my file.sh"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=TEXT, new=TEXT)
def test_diff_is_what_patch_takes(tmp_path: Path, name: str, old: str, new: str) -> None:
    file = tmp_path / name
    file.write_text(old, newline="")

    diff = unified_diff(old, new, name)
    if diff:
        # An empty text is a missing file to patch.
        file.touch()
        command = [shutil.which("patch") or "patch", "-p1", "--binary", "--no-backup-if-mismatch", "--quiet"]
        done = subprocess.run(command, input=diff.encode(), cwd=tmp_path, capture_output=True, check=False)
        assert b"" == done.stdout + done.stderr

    assert new.encode() == (file.read_bytes() if file.exists() else b"")


def test_difference_of_commands() -> None:
    new = (*ARGV[:6], "1", *ARGV[7:], "--dtype", "bfloat16")

    assert (WordChange("--tp", ("2",), ("1",)), WordChange("", (), ("--dtype", "bfloat16"))) == word_changes(ARGV, new)
    assert "--tp [-2-] {+1+}  {+--dtype bfloat16+}" == word_diff(ARGV, new)
    assert "" == word_diff(ARGV, ARGV)


def test_difference_inside_a_script() -> None:
    old = ["bash", "-c", "cd /x && sglang serve --tp 1 | tee log"]
    new = ["bash", "-c", "cd /x && sglang serve --tp 2 | tee log"]

    assert "--tp [-1-] {+2+}" == word_diff(old, new)


@given(
    st.lists(st.sampled_from(["--a", "--b", "1", "2 3"]), max_size=8), st.lists(st.sampled_from(["--a", "1", "4 3"]))
)
def test_difference_names_what_left_and_what_came(old: list[str], new: list[str]) -> None:
    changes = word_changes(old, new)

    removed = [word for change in changes for word in change.removed]
    added = [word for change in changes for word in change.added]
    assert bool(changes) == (old != new)
    assert len(" ".join(old).split()) - len(" ".join(removed).split()) == len(" ".join(new).split()) - len(
        " ".join(added).split()
    )
