"""The keys that cure, under their keys: a fake doctor acts on nothing, and every question, step and end is seen."""

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from rich.console import Console
from textual.widgets import Input

from sgdoctor.cli.watch_log_doctor import LogDoctor
from sgdoctor.config import Config
from sgdoctor.fixes.memory.solution import Interval
from sgdoctor.relaunch.model import Progress
from sgdoctor.texts import Text
from sgdoctor.tui.doctor import Ended
from sgdoctor.tui.screens.confirm import ConfirmScreen
from sgdoctor.tui.screens.course import CourseScreen
from sgdoctor.tui.screens.dialog import Dialog
from sgdoctor.tui.screens.plan import PlanScreen
from sgdoctor.tui.screens.report import ReportScreen
from sgdoctor.tui.view import Forecast
from sgdoctor.watching.model import Link, Snapshot
from tests.tui.doctors import FAILED as WENT_BACK
from tests.tui.doctors import NAME, NOW, FakeDoctor
from tests.tui.moments import base, data_of, snapshot_of
from tests.tui.test_app import FAILED, READY, Desk, desk

CONTEXT = [{"-": "minus", " ": "space"}.get(letter, letter) for letter in "--context-length 30000"]


class Ward(Desk):
    """An app at work with a doctor."""

    doctor: FakeDoctor

    @property
    def window(self) -> Any:
        return self.app.screen

    async def opened(self, kind: type[Any], *keys: str) -> Any:
        """Press keys, and wait for a window of this kind."""
        await self.press(*keys)
        await self.settled(lambda: isinstance(self.app.screen, kind))
        await self.pilot.pause()
        return self.app.screen

    async def plan(self) -> PlanScreen:
        screen = await self.opened(PlanScreen, "f")
        assert isinstance(screen, PlanScreen)
        return screen

    async def computed(self, *keys: str) -> None:
        """Press keys, and wait for the plan that they lead to."""
        await self.press(*keys)
        await self.settled(lambda: self.window.settled)

    async def refused(self, *keys: str) -> None:
        await self.press(*keys)
        await self.settled(lambda: self.window._problem is not None)

    async def under_way(self, key: str = "r") -> None:
        """An errand that goes on."""
        await self.opened(ConfirmScreen, key)
        await self.opened(CourseScreen, "y")
        await self.settled(lambda: self.app.view.course is not None and self.app.view.course.current is not None)

    async def over(self) -> None:
        self.doctor.go.set()
        await self.settled(lambda: self.app.view.course is not None and self.app.view.course.ended is not None)

    async def said(self, text: str) -> None:
        await self.settled(lambda: any(text in toast for toast in self.toasts))

    @property
    def values(self) -> list[str | None]:
        return [change.value for change in self.window.draft.answer.plan.changes]


@asynccontextmanager
async def ward(data: bytes = FAILED, moment: Snapshot | None = None, **options: Any) -> AsyncIterator[Ward]:
    moment = moment or snapshot_of(data)
    doctor = FakeDoctor(moment, file=options.pop("file", ""))
    doctor.open = options.pop("open", None)
    async with desk(data, moment, doctor=doctor, clock=lambda: NOW, **options) as one:
        one.__class__ = Ward
        assert isinstance(one, Ward)
        one.doctor = doctor
        yield one
        doctor.go.set()


# ---------------------------------------------------------------- the plan


async def test_the_plan_says_what_changes_and_what_comes_of_it() -> None:
    async with ward(size=(120, 44)) as one:
        await one.plan()
        screen = one.screen

    for text in (
        f"Relaunch {NAME} (3f1c9a2bd0e4) with 1 change",
        "[x] Set --mem-fraction-static to 0.93",
        "--mem-fraction-static 0.93",
        "0.90 … 0.98",
        "-   --mem-fraction-static 0.88",
        "+   --mem-fraction-static 0.93",
        "KV tokens",
        "now       0.88    19.28   0.57     11,844         0",
        "then      0.93    19.28   1.15     21,543         1",
        "✖ now: fails: RuntimeError: Hybrid",
        "✔ then: expected to serve",
        "The start takes 25 s",
        "Lost: 2 files",
        "Relaunch    Write file    Copy command    Preflight    Cancel",
    ):
        assert text in screen


async def test_a_value_is_edited_and_everything_follows() -> None:
    async with ward(size=(120, 44)) as one:
        await one.plan()
        await one.computed("down", "down", *"0.97")
        better = (one.values, one.screen)
        await one.refused("x")
        wrong = (one.window._problem.en, one.values)
        await one.press("escape")

    assert ["0.97"] == better[0]
    assert "+   --mem-fraction-static 0.97" in better[1]
    assert "29,773" in better[1]
    assert (
        "`0.97x` is not a value for `--mem-fraction-static`. It takes a number with a decimal point",
        ["0.97"],
    ) == wrong
    assert one.doctor.asked.count("act") == 0


async def test_nothing_is_done_with_a_plan_that_is_not_the_one_on_the_screen() -> None:
    async with ward() as one:
        await one.plan()
        await one.refused("down", "down", *"0.9x")
        await one.press("up", "up", "enter", "enter")

        assert isinstance(one.window, PlanScreen)
        assert "relaunch" not in one.doctor.asked


async def test_steps_are_left_and_other_ways_are_taken() -> None:
    async with ward(size=(120, 60)) as one:
        plan = await one.plan()
        await one.computed("down", "space")
        none = (one.values, one.screen)
        other = next(row for row in plan.rows if row.step.id == "no-prefix-cache")
        ticks = list(plan.query("Tick"))
        one.window.set_focus(ticks[plan.rows.index(other)])
        await one.computed("space")
        taken = [row.step.id for row in plan.rows if row.on]
        flags = [change.name for change in plan.draft.answer.plan.changes]
        one.window.set_focus(ticks[0])
        await one.computed("space")
        back = [row.step.id for row in plan.rows if row.on]

    assert [] == none[0]
    assert "no changes" in none[1]
    assert ["no-prefix-cache"] == taken
    assert ["--disable-radix-cache", "--max-running-requests", "--mem-fraction-static"] == flags
    # Both set the fraction.
    assert ["fitting-fraction"] == back


async def test_a_wish_is_typed() -> None:
    async with ward(size=(120, 60)) as one:
        plan = await one.plan()
        one.window.set_focus(plan._wish)
        await one.refused(*CONTEXT[:9], "q", "enter")
        unknown = plan._problem.en if plan._problem is not None else ""
        plan._wish.clear()
        await one.refused(*CONTEXT[:-5], *"0", "enter")
        absurd = plan._problem.en if plan._problem is not None else ""
        plan._wish.clear()
        await one.computed(*CONTEXT, "enter")
        context = one.values
        await one.press(*CONTEXT[:16], "enter")
        await one.settled(lambda: any(not field.value for field in plan._taken.query(Input)))
        await one.settled(lambda: plan._problem is not None)
        empty = (one.app.focused is plan._taken.query(Input).last(), plan._problem.en if plan._problem else "")
        await one.computed(*"2048")
        await one.press("escape")

    assert "--context" in unknown
    assert "`--context-length 0` is out of range: it is 1 to 2,147,483,647" == absurd
    assert ["0.93", "30000"] == context
    assert empty[0]
    assert "would not take this for a value" in empty[1]
    assert "draft ['0.93', '2048']" in one.doctor.asked


async def test_left_and_right_go_through_the_buttons() -> None:
    async with ward() as one:
        plan = await one.plan()
        seen = []
        for key in ("right", "right", "right", "right", "left"):
            await one.press(key)
            seen.append(one.app.focused.choice)  # type: ignore[union-attr]
        await one.press("enter")

        assert ["copy", "check", "cancel", "relaunch", "cancel"] == seen
        assert one.app.screen is one.app.main
        assert not plan.is_running


async def test_copy_command_and_preflight_of_the_plan() -> None:
    async with ward() as one:
        await one.plan()
        await one.computed("down", "down", *"0.97")
        await one.press("up", "c")
        copied = one.app.clipboard
        await one.opened(ReportScreen, "p")
        report = one.screen
        await one.press("escape")
        back = isinstance(one.window, PlanScreen)

    assert "--mem-fraction-static 0.97" in copied
    assert "everything is ready" in report
    assert "preflight ['0.97']" in one.doctor.asked
    assert back


async def test_a_file_is_written_after_asking() -> None:
    async with ward(file="compose.yaml") as one:
        await one.plan()
        await one.opened(ConfirmScreen, "w")
        asked = one.screen
        await one.opened(CourseScreen, "y")
        await one.over()

    assert "Write compose.yaml?" in asked
    assert ["write", "act"] == one.doctor.asked[-2:]


async def test_why_a_button_does_nothing_is_said() -> None:
    async with ward() as one:
        await one.plan()
        await one.press("w")
        await one.said("no compose file or script")
        await one.press("escape")
        one.doctor.refused = Text("containers of podman are left alone", "不处理 podman 的容器")
        plan = await one.plan()
        await one.press("r")
        await one.said("containers of podman are left alone")
        disabled = [button.choice for button in plan._buttons if button.disabled]

    assert ["relaunch", "write"] == disabled


@pytest.mark.parametrize(("recorded", "why"), [(False, "log and no container"), (True, "a recorded run")])
async def test_of_a_log_the_plan_can_be_seen_and_nothing_be_done(recorded: bool, why: str) -> None:
    moment = snapshot_of(FAILED)
    moment = moment._replace(subject=moment.subject._replace(kind="file"))
    async with desk(FAILED, moment, doctor=LogDoctor(base(), lambda: moment, recorded=recorded)) as one:
        keys = one.screen.splitlines()[-1]
        for key in ("r", "u", "h"):
            one.app.clear_notifications()
            await one.press(key)
            await one.settled(lambda: any(why in toast for toast in one.toasts))
        await one.press("f")
        await one.settled(lambda: isinstance(one.app.screen, PlanScreen))
        shown = one.screen
        one.app.clear_notifications()
        await one.press("r")
        await one.settled(lambda: any(f"{why}: there is nothing to act on" in toast for toast in one.toasts))

    assert "The launch as the log shows it with 1 change" in shown
    assert not [label for label in ("Relaunch", "Roll back", "Heal") if label in keys]
    assert "Preflight" in keys


def test_a_log_that_tells_its_version_is_checked_against_it() -> None:
    moment = snapshot_of(FAILED)
    version = LogDoctor(base(), lambda: moment).draft().answer.version
    page = io.StringIO()

    LogDoctor(base(), lambda: moment).preflight(None)(Console(file=page, width=200), "en")

    assert version
    assert f"SGLang {version}" in page.getvalue()
    assert "The version of SGLang is not known" not in page.getvalue()


async def test_what_is_said_while_one_waits_does_not_stand_in_front_of_the_answer() -> None:
    async with ward() as one:
        one.doctor.awake.clear()
        await one.press("f")
        await one.said("Looking at")
        one.doctor.awake.set()
        await one.settled(lambda: isinstance(one.app.screen, PlanScreen))

        assert not [toast for toast in one.toasts if "Looking at" in toast]


async def test_a_server_that_is_fine_has_an_empty_plan() -> None:
    async with ward(READY, snapshot_of(READY, live=True, uptime=3.0)) as one:
        await one.press("r")
        await one.said("Nothing is to be changed. f opens the plan")
        await one.plan()
        await one.press("r")
        await one.said("Nothing is to be changed.")

    assert "relaunch" not in one.doctor.asked


async def test_plan_and_question_in_chinese_and_in_the_other_language_at_once() -> None:
    async with ward(size=(80, 24), lang="zh") as one:
        await one.plan()
        chinese = one.screen
        await one.press("l")
        english = one.screen
        await one.opened(ConfirmScreen, "enter")
        asked = one.screen

    assert f"重启 {NAME}（3f1c9a2bd0e4）：1 处改动" in chinese
    assert f"Relaunch {NAME} (3f1c9a2bd0e4) with 1 change" in english
    assert f"Relaunch {NAME} (3f1c9a2bd0e4)?" in asked


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (20, 8), (200, 50)])
async def test_every_size_shows_the_buttons_or_survives(size: tuple[int, int]) -> None:
    async with ward(size=size) as one:
        await one.plan()
        plan = one.screen
        await one.opened(ConfirmScreen, "enter")
        asked = one.screen
        await one.opened(CourseScreen, "y")
        steps = one.screen

    if size[0] >= 80:
        assert "Cancel" in plan
        assert " No " in asked
        assert "wait until it serves" in steps


async def test_a_button_that_has_the_keyboard_is_in_sight() -> None:
    async with ward(size=(60, 20)) as one:
        await one.plan()
        first = one.screen
        await one.press("left")
        await one.settled(lambda: "Cancel" in one.screen)
        await one.press("right")
        await one.settled(lambda: "Relaunch    Write" in one.screen)

    assert "Cancel" not in first


# ---------------------------------------------------------------- consent


@pytest.mark.parametrize(("key", "kind"), [("r", "relaunch"), ("u", "rollback"), ("h", "heal")])
async def test_nothing_acts_without_a_yes_to_a_screen_that_names_the_container(key: str, kind: str) -> None:
    async with ward() as one:
        for no in ("escape", "n", "q", "enter", "space"):
            await one.opened(ConfirmScreen, key)
            asked = one.screen
            await one.press(no)
            assert one.app.screen is one.app.main
        quiet = "act" not in one.doctor.asked
        await one.opened(ConfirmScreen, key)
        await one.opened(CourseScreen, "right", "enter")

    assert NAME in asked
    assert quiet
    assert [kind, "act"] == one.doctor.asked[-2:]


async def test_what_is_going_to_be_stopped_is_said() -> None:
    async with ward() as one:
        await one.opened(ConfirmScreen, "u")
        shown = one.screen

    assert "▲ It runs, and is going to be stopped." in shown
    assert "- --a 1" in shown
    assert "+ --a 2" in shown


@pytest.mark.parametrize("options", [{"read_only": True}, {"config": Config(read_only=True)}])
async def test_read_only_acts_on_nothing_and_says_so(options: dict[str, Any]) -> None:
    async with ward(**options) as one:
        for key in ("r", "u", "h"):
            one.app.clear_notifications()
            await one.press(key)
            await one.said("Read-only")
        await one.plan()
        for key in ("r", "enter"):
            one.app.clear_notifications()
            await one.press(key)
            await one.said("Read-only")
        await one.opened(ReportScreen, "p")

    assert not {"relaunch", "rollback", "heal", "write", "act"} & set(one.doctor.asked)


async def test_without_a_doctor_it_is_said() -> None:
    async with desk() as one:
        for key in ("f", "r", "u", "h", "p"):
            one.app.clear_notifications()
            await one.press(key)
            assert one.toasts == ["There is nothing to act on here."]


async def test_what_the_doctor_refuses_is_said() -> None:
    async with ward() as one:
        one.doctor.refused = Text("It is paused.", "它已暂停。")
        await one.press("u")
        await one.said("It is paused.")

        assert one.app.screen is one.app.main


async def test_who_went_elsewhere_gets_no_window() -> None:
    async with ward() as one:
        one.doctor.awake.clear()
        await one.press("f", "question_mark")
        one.doctor.awake.set()
        await one.settled(lambda: not one.app._asks)

        assert not any(isinstance(screen, PlanScreen) for screen in one.app.screen_stack)


# ---------------------------------------------------------------- steps


async def test_steps_are_seen_as_they_are_taken_and_what_came_of_it() -> None:
    async with ward(size=(120, 44)) as one:
        await one.plan()
        await one.opened(ConfirmScreen, "enter")
        await one.opened(CourseScreen, "y")
        await one.settled(lambda: "graph capture" in one.screen)
        going = one.screen
        await one.over()
        done = one.screen
        await one.press("escape")

        assert one.app.screen is one.app.main
    for text in (
        f"Relaunching {NAME}",
        "✔ stop the old server  0.7 s",
        "▶ wait until it serves  1:39",
        "0:31  graph capture",
    ):
        assert text in going
    for text in (
        "✔ wait until it serves  1:07",
        "✔ put the restart policy back",
        "✔ sgl-qwen27b serves with the new launch",
    ):
        assert text in done


async def test_hidden_steps_stay_in_a_line_and_come_back_with_their_key() -> None:
    async with ward() as one:
        await one.under_way()
        await one.press("escape")
        line = one.screen
        await one.opened(CourseScreen, "h")
        await one.press("escape", "q", "escape", "escape")
        await one.over()
        await one.said("serves with the new launch")
        calm = one.screen

    assert f"▶ Relaunching {NAME}  wait until it serves 1 min 39 s · graph capture  (f)" in line
    assert "▶ Relaunching" not in calm


async def test_a_failure_shows_its_diagnosis_and_opens_the_window() -> None:
    verdict = snapshot_of(data_of("article27-mfs-0.80")).verdict
    async with ward(size=(120, 50)) as one:
        one.doctor.ends = WENT_BACK
        one.doctor.ended = Ended(
            done=False,
            text=Text("it failed and was undone; the old server runs again", "失败并已撤销；旧服务已重新运行"),
            verdict=verdict,
            notes=(Text("Its log: /state/spool/1.log", "日志：/state/spool/1.log"),),
        )
        await one.under_way()
        await one.press("escape")
        await one.over()
        await one.settled(lambda: isinstance(one.window, CourseScreen))
        screen = one.screen

    for text in (
        "✖ wait until it serves: The KV cache",
        "✔ start the old server again",
        "SGL401",
        "Its log:",
        "✖ it failed",
    ):
        assert text in screen


async def test_stopping_asks_and_goes_back() -> None:
    async with ward() as one:
        await one.under_way()
        await one.opened(ConfirmScreen, "c")
        asked = one.screen
        await one.press("n")
        going = "stop" not in one.doctor.asked
        await one.opened(ConfirmScreen, "c")
        await one.press("y")
        await one.settled(lambda: one.app.view.course is not None and one.app.view.course.ended is not None)
        screen = one.screen
        await one.press("c")

        assert isinstance(one.window, CourseScreen)
    assert f"Stop and go back to what {NAME} was?" in asked
    assert going
    assert "✖ stopped by you; everything is as before" in screen


async def test_leaving_in_the_middle_asks_and_leaves_once_everything_is_back() -> None:
    async with ward() as one:
        await one.under_way()
        await one.opened(ConfirmScreen, "q")
        await one.press("escape")
        stays = one.app.is_running
        await one.press("escape")
        await one.opened(ConfirmScreen, "ctrl+c")
        await one.press("y")
        await one.settled(lambda: one.app._exit)

        assert stays
        assert one.doctor.asked[-1] == "stop"


async def test_one_errand_at_a_time() -> None:
    async with ward() as one:
        await one.under_way()
        await one.press("escape")
        for key in ("f", "r", "u", "h", "p"):
            await one.opened(CourseScreen, key)
            await one.press("escape")

        assert 1 == one.doctor.asked.count("act")


async def test_healing_reports_every_try() -> None:
    async with ward() as one:
        one.doctor.begins = (Text("Relaunch 1 of at most 3", "第 1 次重启（最多 3 次）"), *one.doctor.begins)
        one.doctor.ended = Ended(
            done=True,
            text=Text("healed after 1 relaunch", "已修好"),
            report=lambda console, lang: console.print(f"What was tried ({lang})"),
        )
        await one.under_way("h")
        going = one.screen
        await one.press("escape")
        await one.over()
        await one.settled(lambda: isinstance(one.window, CourseScreen))
        await one.opened(ReportScreen, "enter")
        report = one.screen
        await one.press("l")
        chinese = one.screen
        await one.press("escape", "escape")
        await one.press("enter")

    assert "wait until it serves" in going
    assert "What was tried (en)" in report
    assert "What was tried (zh)" in chinese


async def test_an_error_of_the_errand_is_said() -> None:
    async with ward() as one:
        one.doctor.broken = ConnectionResetError("the engine went away")
        await one.opened(ConfirmScreen, "r")
        await one.opened(CourseScreen, "y")
        await one.settled(lambda: "ConnectionResetError: the engine went away" in one.screen)


# ---------------------------------------------------------------- what is known without asking


async def test_an_open_journal_is_said_and_r_goes_on() -> None:
    cut_off = Text("a relaunch of sgl was cut off", "重启中断")
    async with ward(open=cut_off) as one:
        await one.settled(lambda: "! a relaunch of sgl was cut off" in one.screen)
        await one.opened(ConfirmScreen, "r")
        asked = one.screen
        one.doctor.open = None
        await one.opened(CourseScreen, "y")
        await one.over()
        await one.press("escape")
        await one.settled(lambda: "cut off" not in one.screen)

    assert "Go on with the relaunch" in asked
    assert "resume" in one.doctor.asked


async def test_cards_and_details_say_what_the_plan_comes_to() -> None:
    text = "Plan (f)  1 change · works from 0.90 to 0.98; recommended 0.93"
    async with ward(size=(200, 50)) as one:
        await one.settled(lambda: text in one.screen)
        await one.press("enter")
        await one.settled(lambda: text in one.screen)

    assert 1 == one.doctor.asked.count("draft")


@pytest.mark.parametrize(
    ("forecast", "shown"),
    [
        (Forecast("SGL402", 0), ""),
        (Forecast("SGL999", 1), ""),
        (Forecast("SGL402", 2), "Plan (f)  2 changes"),
        (Forecast("SGL402", 1, Interval(0.95, 0.9, 0.9)), "Plan (f)  1 change"),
        (
            Forecast("SGL402", 0, impossible=Text("24 GiB are too few.", "24 GiB 不够。")),
            "Plan (f)  does not fit this card: 24 GiB are too few.",
        ),
    ],
)
async def test_a_forecast_says_only_what_it_knows(forecast: Forecast, shown: str) -> None:
    from dataclasses import replace

    async with desk(size=(200, 50)) as one:
        one.app.draw(replace(one.app.view, forecast=forecast))
        await one.pilot.pause()
        screen = one.screen

    assert bool(shown) == ("Plan (f)" in screen)
    assert shown in screen


async def test_what_was_never_started_can_be_checked() -> None:
    moment = snapshot_of(b"", link=Link.WAITING)
    async with ward(b"", moment) as one:
        shown = one.screen
        await one.opened(ReportScreen, "p")
        report = one.screen

    assert "p checks its launch first" in shown
    assert "everything is ready" in report
    assert "preflight" in one.doctor.asked


async def test_the_window_of_steps_is_a_dialog_that_follows_the_view() -> None:
    async with ward() as one:
        await one.under_way()
        before = one.screen
        await one.press("l")
        after = one.screen

        assert isinstance(one.window, Dialog)
    assert "wait until it serves" in before
    assert "等待服务就绪" in after
    assert all(isinstance(event, Progress) for event in one.doctor.ends)
