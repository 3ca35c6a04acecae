"""Nothing gets into a launch but one value of its flag."""

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgdoctor.engines.sglang.flags.schemas import schema
from sgdoctor.errors import UserError
from sgdoctor.fixes.flag_tables import refuse_unread
from sgdoctor.fixes.plan import Knowledge, plan_for
from sgdoctor.fixes.values import asked, may_enter
from sgdoctor.launch.change import Change
from sgdoctor.launch.flag_edits import flag_edits, given_flags, with_edits
from tests.fixes.samples import ENGINE, flags_of, verdict_on, words

ATTACKS = [
    "; rm -rf /",
    "--trust-remote-code",
    "0.9 --trust-remote-code",
    "0.9\n--trust-remote-code",
    "0.9\r--trust-remote-code",
    "$(touch /tmp/x)",
    "`id`",
    "${HF_TOKEN}",
    "a'b",
    'a"b',
    "x\x00y",
    "x\u2028y",
    "-e",
    "",
    " ",
    "0.9 # comment",
    "a" * 5000,
]
# Pieces that mean something to a shell, YAML, Docker or argparse, and pieces that look harmless.
HOSTILE = st.lists(
    st.sampled_from([*ATTACKS, "0.9", "auto", "bfloat16", "--", "=", ":", "|", "&&", "\t", "\\", "{", "}", "*", "~"]),
    min_size=1,
    max_size=4,
).map("".join)


@pytest.mark.parametrize("value", ATTACKS)
@pytest.mark.parametrize("flag", ["--dtype", "--mem-fraction-static", "--cuda-graph-bs-decode", "--model-path"])
def test_a_value_from_a_log_is_a_plain_word_or_nothing(flag: str, value: str) -> None:
    assert not may_enter(Change("flag.set", flag, value), flags_of(), {flag})


@pytest.mark.parametrize(
    "change",
    [
        Change("flag.set", "--trust-remote-code"),
        Change("flag.set", "--no-such-flag", "1"),
        Change("flag.set", "--dtype"),
        Change("flag.set", "--disable-radix-cache", "true"),
        Change("flag.unset", "--api-key"),
        Change("flag.unset", "--dtype"),
        Change("env.set", "LD PRELOAD", "x"),
        Change("env.set", "A", "$(id)"),
        Change("docker.volume", "", "/:/host;rm"),
        Change("image.tag", "", "lmsysorg/sglang:latest --privileged"),
    ],
)
def test_what_a_log_may_not_ask_for(change: Change) -> None:
    assert not may_enter(change, flags_of(), {"--api-key", "--model-path"})


@pytest.mark.parametrize(
    "change",
    [
        Change("flag.set", "--mem-fraction-static", "0.92"),
        Change("flag.set", "--disable-radix-cache"),
        Change("flag.set", "--cuda-graph-bs-decode", "1 2 4"),
        Change("flag.unset", "--model-path"),
        Change("env.set", "SGLANG_MAMBA_CONV_DTYPE", "float16"),
    ],
)
def test_what_a_log_may_ask_for(change: Change) -> None:
    assert may_enter(change, flags_of(), {"--model-path"})


@settings(deadline=None)
@given(HOSTILE)
def test_a_hostile_value_in_a_log_never_becomes_part_of_a_launch(value: str) -> None:
    line = f"launch_server.py: error: argument --dtype: invalid choice: '{value}' (choose from 'auto', '{value}', 'half')\n"
    unknown = f"launch_server.py: error: unrecognized arguments: --dtyp {value}\n"
    document = words("--model-path /m --dtyp x --dtype y")
    known = {flag.flag for flag in given_flags(document.launch.argv, 3, flags_of())}
    for text in (line, unknown):
        plan = plan_for(document, Knowledge(flags_of(), lambda _: (), verdict_on(text.encode())))
        after = given_flags(plan.after.argv, 3, flags_of())

        assert {flag.flag for flag in after} - known <= {"--dtype"}
        for flag in after:
            assert all(word.replace("_", "").isalnum() or word == "/m" for word in flag.values)


@pytest.mark.parametrize(
    "value", ["--trust-remote-code", "0.9\n--x", "0.9\rx", "x\x00y", "x\u2028y", "-e", "", " ", "a" * 5000]
)
def test_a_wish_that_is_no_value_is_refused(value: str) -> None:
    with pytest.raises(UserError) as error:
        asked([f"--dtype={value}"], [], [], flags_of())

    assert "\n" not in error.value.en


@given(st.sampled_from(["--dtype", "--model-path", "--cuda-graph-bs-decode", "--json-model-override-args"]), HOSTILE)
def test_a_wish_is_one_value_of_its_flag_or_is_refused(flag: str, value: str) -> None:
    before = (*ENGINE, "--model-path", "/m", "--port", "1")
    try:
        changes = asked([f"{flag}={value}"], [], [], flags_of())
    except UserError:
        return
    after = with_edits(before, flag_edits(before, 3, changes, flags_of()))
    typed = shlex.split(shlex.join(after))
    found = {one.flag: one.values for one in given_flags(typed, 3, flags_of())}

    assert after == typed
    assert {"--model-path", "--port", flag} == found.keys()
    assert " ".join(found[flag]).split() == value.split()


@pytest.mark.parametrize(
    ("setting", "leaving", "variables", "message"),
    [
        (["dtype"], [], [], "--set --dtype: this flag needs a value"),
        (["--disable-radix-cache=1"], [], [], "takes no value"),
        (["a b=1"], [], [], "this is no flag"),
        ([], ["--dtype=x"], [], "--unset --dtype=x: this is no flag"),
        ([], [], ["A"], "write it as NAME=VALUE"),
        ([], [], ["A B=1"], "write it as NAME=VALUE"),
        ([], [], ["A=1\nB=2"], "line breaks"),
    ],
)
def test_wishes_that_cannot_be_meant(
    setting: list[str], leaving: list[str], variables: list[str], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        asked(setting, leaving, variables, flags_of())


@pytest.mark.parametrize("value", ["$(id)", "`id`", "$FRACTION", "${F:-0.9}"])
def test_what_a_shell_would_have_to_fill_in_is_no_number(value: str) -> None:
    with pytest.raises(UserError, match="this is no value of the flag"):
        refuse_unread([Change("flag.set", "--mem-fraction-static", value)], schema("0.5.15"))


def test_what_a_shell_would_fill_in_may_be_a_text() -> None:
    changes = [
        Change("flag.set", "--chat-template", "/a$b"),
        Change("env.set", "A", "$b"),
        Change("flag.set", "--x", "$"),
    ]

    refuse_unread(changes, schema("0.5.15"))


def test_wishes() -> None:
    changes = asked(["--dtype=bfloat16", "disable-radix-cache"], ["port"], ["A=b=c", "E="], flags_of())

    assert [
        Change("flag.set", "--dtype", "bfloat16"),
        Change("flag.set", "--disable-radix-cache"),
        Change("flag.unset", "--port"),
        Change("env.set", "A", "b=c"),
        Change("env.set", "E", ""),
    ] == changes
