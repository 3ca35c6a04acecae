"""The engine's launch is found in a command, and edited where it stands or not at all."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.commands import edit, find_engine
from sgdoctor.launch.flag_edits import NO_FLAGS
from sgdoctor.launch.found import Found, Refused
from sgdoctor.launch.model import EditState
from tests.launch.tables import FLAGS

SERVER = "python3 -m sglang.launch_server --model-path /m"


def put(name: str, value: str | None = None) -> Change:
    return Change("flag.set", name, value)


def drop(name: str) -> Change:
    return Change("flag.unset", name)


def found(command: list[str]) -> Found:
    result = find_engine(command)
    assert isinstance(result, Found)
    return result


@pytest.mark.parametrize(
    ("command", "argv", "flags_at"),
    [
        (SERVER, SERVER, 3),
        ("/opt/nvidia/nvidia_entrypoint.sh " + SERVER, SERVER, 3),
        ("tini -- python3 -u -m sglang.launch_server --a 1", "python3 -u -m sglang.launch_server --a 1", 4),
        ("numactl --cpunodebind=0 --membind 0 " + SERVER, SERVER, 3),
        ("/usr/bin/env A=1 B=2 " + SERVER, SERVER, 3),
        ("python3 -X dev /launch_selode.py --a 1", "python3 -X dev /launch_selode.py --a 1", 4),
        ("python3 /opt/start.py --model-path /m", "python3 /opt/start.py --model-path /m", 2),
        ("/opt/venv/bin/sglang serve --a 1", "/opt/venv/bin/sglang serve --a 1", 2),
        ("python -msglang.launch_server --a", "python -msglang.launch_server --a", 2),
        ("vllm serve Qwen3-0.6B --a", "vllm serve Qwen3-0.6B --a", 2),
    ],
)
def test_a_launch_in_plain_words(command: str, argv: str, flags_at: int) -> None:
    launch = found(shlex.split(command))

    assert (tuple(shlex.split(argv)), flags_at) == (launch.argv, launch.flags_at)
    assert launch.editable.state is EditState.YES


@pytest.mark.parametrize(
    ("command", "changes", "expected"),
    [
        (f"{SERVER} --dtype float16 --tp 1", [put("--dtype", "bfloat16")], f"{SERVER} --dtype bfloat16 --tp 1"),
        (f"{SERVER} --dtype=float16", [put("--dtype", "bfloat16")], f"{SERVER} --dtype=bfloat16"),
        (SERVER, [put("--dtype", "bfloat16")], f"{SERVER} --dtype bfloat16"),
        (SERVER, [put("--disable-radix-cache")], f"{SERVER} --disable-radix-cache"),
        (f"{SERVER} --tp 1 --tp 2", [put("--tp-size", "3")], f"{SERVER} --tp 1 --tp 3"),
        (f"{SERVER} --cuda-graph-bs 1 2 4 --tp 1", [put("--cuda-graph-bs", "8")],
         f"{SERVER} --cuda-graph-bs 8 --tp 1"),
        (f"{SERVER} --watchdog-timeout -1", [drop("--watchdog-timeout")], SERVER),
        (f"{SERVER} --dtype=a --tp 1 --dtype b", [drop("--dtype")], f"{SERVER} --tp 1"),
        ("sglang serve --a 1", [put("--a", "2"), put("--b", "3")], "sglang serve --a 2 --b 3"),
        ("python3 /launch_selode.py --a 1", [put("--a", "2")], "python3 /launch_selode.py --a 2"),
        ("env A=1 B=2 sglang serve --a", [Change("env.set", "A", "3"), Change("env.unset", "B")],
         "env A=3 sglang serve --a"),
        ("sglang serve --a", [Change("env.set", "A", "3"), Change("flag.lower", "--a")], "sglang serve --a"),
        ("bash -c 'exec \"$@\"' - sglang serve --a 1", [put("--a", "2")], "bash -c 'exec \"$@\"' - sglang serve --a 2"),
    ],
)  # fmt: skip
def test_words_are_edited(command: str, changes: list[Change], expected: str) -> None:
    assert shlex.split(expected) == edit(shlex.split(command), changes, FLAGS)


@pytest.mark.parametrize(
    ("script", "changes", "expected"),
    [
        (
            "pip install x && exec python3 -m sglang.launch_server --dtype float16 \\\n  --j '{\"a\": 1}' 2>&1 | tee /log",
            [put("--dtype", "bfloat16"), put("--trust-remote-code")],
            "pip install x && exec python3 -m sglang.launch_server --dtype bfloat16 \\\n  --j '{\"a\": 1}' \\\n  --trust-remote-code 2>&1 | tee /log",
        ),
        (
            "sglang serve --dtype 'float16' --port \"30000\" >log &",
            [put("--dtype", "bfloat16"), put("--port", "8000")],
            "sglang serve --dtype 'bfloat16' --port \"8000\" >log &",
        ),
        (
            "sglang serve --mem-fraction-static ${MEM:-0.9} # why",
            [put("--mem-fraction-static", "0.88")],
            "sglang serve --mem-fraction-static 0.88 # why",
        ),
        ("sglang serve $SGL_ARGS", [put("--dtype", "a b")], "sglang serve $SGL_ARGS --dtype 'a b'"),
        ("sglang serve --new $SGL_ARGS", [put("--new", "1")], "sglang serve --new 1 $SGL_ARGS"),
        (
            "sglang serve --cuda-graph-bs 1 2 \\\n --tp 1; sleep 1",
            [put("--cuda-graph-bs", "1 2 4 8"), drop("--tp")],
            "sglang serve --cuda-graph-bs 1 2 4 8; sleep 1",
        ),
        (
            "export A=1\nB=2 C=3 sglang serve --a",
            [Change("env.set", "A", "x y"), Change("env.unset", "B")],
            "export A='x y'\nC=3 sglang serve --a",
        ),
        (
            "cat > f <<'EOF'\nit's \"text\nEOF\nsglang serve --a 1",
            [put("--a", "2")],
            "cat > f <<'EOF'\nit's \"text\nEOF\nsglang serve --a 2",
        ),
        ("kill $(pgrep -f sglang.launch_server); sglang serve", [put("--a")],
         "kill $(pgrep -f sglang.launch_server); sglang serve --a"),
    ],
)  # fmt: skip
def test_scripts_are_edited(script: str, changes: list[Change], expected: str) -> None:
    assert ["bash", "-lc", expected] == edit(["bash", "-lc", script], changes, FLAGS)


def test_variables_stand_behind_env_only() -> None:
    launch = found(shlex.split("sudo -E A=1 env -i B=2 wrapper --mount type=bind C=3 sglang serve"))

    assert {"A": "1", "B": "2"} == launch.env


def test_what_is_known_of_variables_is_filled_in() -> None:
    script = 'M=/models/x\nARGS="--tp 2 --dtype half"\nexport N=1\npython3 -m sglang.launch_server --model-path $M $ARGS --x $Y'

    launch = found(["sh", "-c", script])

    assert (*shlex.split("python3 -m sglang.launch_server --model-path /models/x --tp 2 --dtype half --x"), "$Y") == (
        launch.argv
    )
    assert {"N": "1"} == launch.env


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("sglang serve $SGL_ARGS", "$SGL_ARGS may set the same flags"),
        ('sglang serve "${ARGS[@]}" --a', '"${ARGS[@]}" may set the same flags'),
        ("sglang serve --m ${MEM:-0.9}", "${MEM:-0.9}"),
        ("sglang serve --config c.yaml", "--config"),
    ],
)
def test_what_is_to_be_known_of_an_edit(script: str, words: str) -> None:
    editable = found(["sh", "-c", script]).editable

    assert EditState.NOTE is editable.state
    assert editable.why is not None
    assert words in editable.why.en


@pytest.mark.parametrize(
    ("command", "name", "words"),
    [
        (["/start.sh"], "", "inside /start.sh"),
        (["tini", "--", "/entry.sh"], "", "inside /entry.sh"),
        (["bash", "/start.sh"], "", "inside /start.sh"),
        ([], "", "what the image itself runs"),
        (["sh", "-c", "sglang serve --a & sglang serve --b"], "several-launches", "`sglang serve` (line 1), `sglang"),
        (["sh", "-c", "for i in 1 2\ndo\n  sglang serve --p $i\ndone"], "launch-in-loop", "in a loop (line 3)"),
        (["sh", "-c", "eval 'sglang serve --a'"], "launch-in-eval", "eval (line 1)"),
        (["sh", "-c", "cat >x <<E\nsglang serve\nE\nbash x"], "launch-in-here-document", "here-document"),
        (["sh", "-c", "P=$(sglang serve --a)"], "launch-in-substitution", "$(...)"),
        (["sh", "-c", "sglang serve '--a"], "unbalanced-quotes", "line 1: ' is not closed"),
        (["sh", "-c", "bash -c 'sglang serve --a'"], "shell-in-shell", "inside another shell"),
        (["bash", "-c", "python3", "-m", "sglang.launch_server"], "shell-takes-one-word", "one word"),
        (["sh", "-c", "echo sglang serve"], "", "no command in it"),
    ],
)
def test_what_is_refused(command: list[str], name: str, words: str) -> None:
    refused = find_engine(command)

    assert isinstance(refused, Refused)
    assert name == refused.id
    assert words in refused.why.en
    with pytest.raises(UserError, match=r"put this in by hand: --dtype bfloat16 A='b c'") as error:
        edit(command, [put("--dtype", "bfloat16"), Change("env.set", "A", "b c")], FLAGS)
    assert refused.why.zh in error.value.zh


values = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8).filter(
    lambda word: not word.startswith("--")
)


@given(st.lists(st.sampled_from(["--other", "--tp=2", "--x"]) | values, max_size=8), values)
def test_what_is_not_named_stays_in_place(rest: list[str], value: str) -> None:
    argv = [*shlex.split(SERVER), *rest]

    result = edit(argv, [put("--dtype", value)], NO_FLAGS)

    assert result == [*argv, "--dtype", value]


@given(st.lists(values, max_size=5), values)
def test_a_script_says_what_its_words_say(rest: list[str], value: str) -> None:
    argv = [*shlex.split(SERVER), "--x", *rest, "--dtype", "old", "--y"]

    result = edit(["bash", "-c", shlex.join(argv) + " | tee log"], [put("--dtype", value)], NO_FLAGS)

    assert result[2].startswith(shlex.join(argv[:-2])[: -len("old")])
    assert [*argv[:-2], value, "--y"] == list(found(result).argv)
