"""The plan as the user edits it, and the steps of an errand: pure functions."""

from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from sgdoctor.engines.sglang.flags.schemas import schema
from sgdoctor.errors import UserError
from sgdoctor.fixes.memory.solution import Interval
from sgdoctor.fixes.model import Basis, Plan, Step
from sgdoctor.launch.change import Change
from sgdoctor.launch.model import Gpus, Launch, Mount, Origin, Port
from sgdoctor.relaunch.model import Progress, StepState
from sgdoctor.relaunch.model import Step as Stage
from sgdoctor.texts import Text
from sgdoctor.tui.course import Taken, rows_with
from sgdoctor.tui.doctor import Choice
from sgdoctor.tui.drafting import Hint, Row, choice_of, edited, hint_for, rows_of, toggled, with_wish
from sgdoctor.tui.panes.plan import diff_lines, kept_text
from sgdoctor.tui.printed import printed

FLAGS = schema("0.5.15")
NOTHING = Launch(Origin.COMMAND, ())
FRACTION = Change("flag.set", "--mem-fraction-static", "0.92")
LOWER = Change("flag.set", "--mem-fraction-static", "0.90")
RADIX = Change("flag.set", "--disable-radix-cache")
FILE = (Change("file.mount", "/patch", "/here/patch"), Change("env.set", "PYTHONPATH", "/patch"))
BEGAN = datetime(2026, 11, 30, 9, tzinfo=UTC)


def step(name: str, *changes: Change) -> Step:
    return Step(name, changes, Basis.FOUND, Text(name, name))


@pytest.fixture
def rows() -> tuple[Row, ...]:
    plan = Plan(
        (step("raise", FRACTION), step("patch", *FILE)),
        NOTHING,
        NOTHING,
        alternatives=(step("radix", RADIX, LOWER), step("advice")),
    )
    return rows_of(plan)


def test_steps_are_taken_and_other_ways_with_changes_are_offered(rows: tuple[Row, ...]) -> None:
    assert [("raise", True, False), ("patch", True, False), ("radix", False, True)] == [
        (row.step.id, row.on, row.offered) for row in rows
    ]
    # What mounts a file is taken as a whole.
    assert [True, False, False] == [rows[0].is_editable(0), rows[1].is_editable(0), rows[2].is_editable(0)]
    assert Choice(("patch",), (FRACTION,)) == choice_of(rows, FLAGS)


def test_a_way_that_is_taken_puts_out_what_contradicts_it(rows: tuple[Row, ...]) -> None:
    other = toggled(rows, 2, FLAGS)
    none = toggled(other, 2, FLAGS)

    assert [False, True, True] == [row.on for row in other]
    assert Choice(("patch",), (RADIX, LOWER)) == choice_of(other, FLAGS)
    assert [False, True, False] == [row.on for row in none]


def test_values_are_checked(rows: tuple[Row, ...]) -> None:
    good = edited(rows, 0, 0, "0.95")
    bad = edited(rows, 0, 0, "--oops")

    assert (FRACTION._replace(value="0.95"),) == choice_of(good, FLAGS).changes
    for broken in (bad, edited(rows, 0, 0, ""), edited(rows, 0, 0, "1\n2")):
        with pytest.raises(UserError):
            choice_of(broken, FLAGS)


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("--context-length 4096", Change("flag.set", "--context-length", "4096")),
        ("--context-length=4096", Change("flag.set", "--context-length", "4096")),
        ("  --disable-radix-cache ", RADIX),
        ("-disable-radix-cache", Change("flag.unset", "--disable-radix-cache")),
        ("SGLANG_X=1", Change("env.set", "SGLANG_X", "1")),
        ("--mem-fraction-static", Change("flag.set", "--mem-fraction-static", "")),
    ],
)
def test_wishes_become_rows(rows: tuple[Row, ...], text: str, change: Change) -> None:
    more = with_wish(rows, text, FLAGS)
    again = with_wish(more, text, FLAGS)

    assert [False, False, False, True] == [row.offered for row in more]
    assert change in more[2].changes
    assert more[2].on
    # The same wish again takes the place of the first.
    assert len(more) == len(again)
    # It goes before a step about the same flag.
    assert ("mem-fraction" not in text) == more[0].on


@pytest.mark.parametrize("text", ["--no-such-flag 1", "--context_length 5", "nonsense", "--disable-radix-cache=1", "-"])
def test_what_is_no_wish_is_said(rows: tuple[Row, ...], text: str) -> None:
    with pytest.raises(UserError):
        with_wish(rows, text, FLAGS)


def test_hints() -> None:
    interval = Interval(0.9, 0.93, 0.98)
    fraction = [hint_for(FRACTION._replace(value=value), FLAGS, interval) for value in ("0.92", "0.99", "x", None)]

    assert [(interval, False), (interval, True), (interval, True), (interval, True)] == [
        (one.interval, one.outside) for one in fraction
    ]
    assert Hint(type="float") == hint_for(FRACTION, FLAGS, None)
    assert "bfloat16" in hint_for(Change("flag.set", "--dtype", "auto"), FLAGS, interval).choices
    assert Hint() == hint_for(FILE[1], FLAGS, interval)
    assert Hint() == hint_for(Change("flag.set", "--unheard-of", "1"), FLAGS, interval)


def test_what_is_kept() -> None:
    launch = Launch(
        Origin.CONTAINER, (), image="lmsysorg/sglang", mounts=(Mount("/m"),), ports=(Port(30000, 15433), Port(80)),
        shm_bytes=32 << 30, ipc="host", gpus=Gpus(("0",)), restart="always", env={"A": "1", "B": "2"},
    )  # fmt: skip

    assert "image, 1 mount, ports 15433, 80, shm 32 GiB, ipc host, GPU 0, restart always, 2 variables" == kept_text(
        launch, "en"
    )
    assert "镜像、全部 GPU" == kept_text(Launch(Origin.CONTAINER, (), image="x", gpus=Gpus(count=-1)), "zh")
    assert "" == kept_text(NOTHING, "en")


def test_a_diff_is_shown_without_names_and_without_secrets() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n same\n-old hf_secret\n+new\n@@ -9 +9 @@\n rest\n"

    lines = [line.plain for line in diff_lines(diff, lambda text: text.replace("hf_secret", "***"), 40)]

    assert ["  same", "- old ***", "+ new", "  ⋮", "  rest"] == lines
    assert [] == diff_lines("", str, 40)


# ---------------------------------------------------------------- steps


def event(seconds: float, state: StepState, note: str = "", stage: Stage = Stage.READY) -> Progress:
    return Progress(stage, state, BEGAN + timedelta(seconds=seconds), Text(note, note) if note else None)


def told(*events: Progress | Text) -> tuple[Taken, ...]:
    rows: tuple[Taken, ...] = ()
    for one in events:
        rows = rows_with(rows, one, BEGAN)
    return rows


def test_steps_become_rows() -> None:
    heading = Text("first", "第一次")

    rows = told(
        heading,
        event(0, StepState.BEGUN, stage=Stage.START),
        event(1, StepState.DONE, stage=Stage.START),
        event(1, StepState.BEGUN),
        event(2, StepState.BEGUN, "weights"),
        event(3, StepState.BEGUN, "weights"),
        event(5, StepState.BEGUN, "graphs"),
        event(9, StepState.FAILED, "too large"),
        event(9, StepState.BEGUN),
    )

    assert [None, Stage.START, Stage.READY, Stage.READY] == [row.step for row in rows]
    assert [StepState.DONE, StepState.DONE, StepState.FAILED, StepState.BEGUN] == [row.state for row in rows]
    assert ((1.0, Text("weights", "weights")), (4.0, Text("graphs", "graphs"))) == rows[2].phases
    assert Text("too large", "too large") == rows[2].note
    assert rows[3].ended is None


def test_a_step_whose_beginning_was_not_told_has_a_row_all_the_same() -> None:
    rows = told(event(3, StepState.DONE))

    assert [(Stage.READY, StepState.DONE)] == [(row.step, row.state) for row in rows]


# ---------------------------------------------------------------- printed reports


def test_a_report_keeps_its_lines_and_takes_the_colours_of_the_theme() -> None:
    def write(console: Console) -> None:
        console.print("fine", style="bold green")
        console.print("")
        console.print("[red]not markup[/red]  内容", style="dim")

    lines = printed(write, 40)

    assert ["fine", "", "[red]not markup[/red]  内容"] == [line.plain for line in lines]
    assert ["$success bold"] == [str(span.style) for span in lines[0].spans]
    assert ["$muted"] == [str(span.style) for span in lines[2].spans]
