"""Flags are changed where they stand, and nothing else is."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.launch.argv import corrected
from sgdoctor.launch.change import Change

SERVER = "python3 -m sglang.launch_server --model-path /m"


def put(name: str, value: str | None = None) -> Change:
    return Change("flag.set", name, value)


def drop(name: str) -> Change:
    return Change("flag.unset", name)


@pytest.mark.parametrize(
    ("command", "changes", "expected"),
    [
        (f"{SERVER} --dtype float16 --tp 1", [put("--dtype", "bfloat16")], f"{SERVER} --dtype bfloat16 --tp 1"),
        (f"{SERVER} --dtype=float16", [put("--dtype", "bfloat16")], f"{SERVER} --dtype=bfloat16"),
        (SERVER, [put("--dtype", "bfloat16")], f"{SERVER} --dtype bfloat16"),
        (SERVER, [put("--disable-radix-cache")], f"{SERVER} --disable-radix-cache"),
        (f"{SERVER} --a 1 --a 2", [put("--a", "3")], f"{SERVER} --a 1 --a 3"),
        (f"{SERVER} --bs 1 2 4 --tp 1", [put("--bs", "8")], f"{SERVER} --bs 8 --tp 1"),
        (f"{SERVER} --watchdog-timeout -1", [drop("--watchdog-timeout")], SERVER),
        (f"{SERVER} --a=1 --tp 1 --a 2", [drop("--a")], f"{SERVER} --tp 1"),
        ("sglang serve --a 1", [put("--a", "2"), put("--b", "3")], "sglang serve --a 2 --b 3"),
        ("python3 /launch_selode.py --a 1", [put("--a", "2")], "python3 /launch_selode.py --a 2"),
        ("/opt/nvidia/entrypoint.sh python3 -m sglang.launch_server", [put("--a", "2")],
         "/opt/nvidia/entrypoint.sh python3 -m sglang.launch_server --a 2"),
    ],
)  # fmt: skip
def test_corrected(command: str, changes: list[Change], expected: str) -> None:
    assert shlex.split(expected) == corrected(shlex.split(command), changes)


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        ('bash -c "python3 -m sglang.launch_server --a 1"', [put("--a", "2")]),
        ("/start.sh", [put("--a", "2")]),
        ("", [put("--a", "2")]),
        (SERVER, [Change("flag.lower", "--mem-fraction-static"), Change("env.set", "A", "1")]),
        (f"{SERVER} --disable-radix-cache", [put("--disable-radix-cache")]),
        (SERVER, [drop("--a")]),
    ],
)
def test_what_cannot_be_corrected_here(command: str, changes: list[Change]) -> None:
    assert corrected(shlex.split(command), changes) is None


words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(lambda word: not word.startswith("--"))


@given(st.lists(st.sampled_from(["--other", "--tp=2", "--x"]) | words, max_size=8), words)
def test_what_is_not_named_stays_in_place(rest: list[str], value: str) -> None:
    argv = [*shlex.split(SERVER), *rest]

    result = corrected(argv, [put("--dtype", value)])

    assert result == [*argv, "--dtype", value]
