"""Changes that are meant and not written yet."""

from sgdoctor.engines.sglang.flags.schemas import schema
from sgdoctor.launch.amended import Amended, merged
from sgdoctor.launch.change import Change
from sgdoctor.launch.docker_run import read_shell

FLAGS = schema("0.5.15")
TEXT = "docker run --gpus all -e A=1 lmsysorg/sglang:v0.5.15 python3 -m sglang.launch_server --model-path /m --tp 2\n"


def setting(name: str, value: str | None = None) -> Change:
    return Change("flag.set", name, value)


def test_the_last_word_counts() -> None:
    before = [setting("--tp-size", "4"), Change("env.set", "A", "2"), setting("--dtype", "half")]
    after = [setting("--tensor-parallel-size", "1"), Change("env.unset", "A")]

    assert (before[2], *after) == merged(before, after, FLAGS)


def test_changes_go_on_from_those_that_are_meant() -> None:
    document = read_shell(TEXT, "run.sh")
    amended = Amended(document, [setting("--mem-fraction-static", "0.9"), setting("--tp", "1")], FLAGS)
    edited = amended.edited([setting("--mem-fraction-static", "0.8"), setting("--dtype", "bfloat16")], FLAGS)

    assert ("--tp", "1", "--mem-fraction-static", "0.9") == amended.launch.argv[-4:]
    assert ("--tp", "1", "--mem-fraction-static", "0.8", "--dtype", "bfloat16") == edited.launch.argv[-6:]
    assert TEXT == document.text
    assert "--tp 1" in amended.text


def test_what_the_changes_put_right_is_no_problem_any_more() -> None:
    document = read_shell(TEXT.replace("--tp", "\u2013\u2013tp"), "run.sh")
    (problem,) = [one for one in document.problems if one.changes]
    amended = Amended(document, problem.changes, FLAGS)

    assert [] == [one for one in amended.problems if one.changes]
    assert ("--tp", "2") == amended.launch.argv[-2:]
