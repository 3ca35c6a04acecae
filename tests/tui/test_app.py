"""The app under its keys: every key and flow, with moments of real starts."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.command import CommandPalette
from textual.pilot import Pilot

from sgdoctor.config import Config, Remembered
from sgdoctor.diagnosis.model import State
from sgdoctor.texts import Text
from sgdoctor.tui.app import SgdoctorApp
from sgdoctor.tui.ports import Options
from sgdoctor.tui.screens.choose import ChooseScreen
from sgdoctor.tui.screens.detail import DetailScreen
from sgdoctor.tui.screens.explain import ExplainScreen, LaterScreen
from sgdoctor.tui.screens.help import HelpScreen
from sgdoctor.watching.model import Link, Load, Snapshot
from tests.tui.moments import STARTED, ToldSession, base, data_of, reading_at, snapshot_of

FAILED = data_of("article27-w19.28-mfs-0.88")
STARTING = data_of("boot-hybrid", until="Capturing batches (bs=")
READY = data_of("warm-moe", until="The server is fired up")


class Desk:
    """An app at work, and what a person sees of it."""

    def __init__(self, app: SgdoctorApp, session: ToldSession, pilot: Pilot[int]) -> None:
        self.app, self.session, self.pilot = app, session, pilot

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def give(self, snapshot: Snapshot) -> None:
        self.session.give(snapshot)
        await self.settled(lambda: self.app.view.snapshot is snapshot)

    async def settled(self, done: Callable[[], bool]) -> None:
        for _ in range(200):
            await self.pilot.pause()
            if done():
                await self.pilot.pause()
                return
            await asyncio.sleep(0.01)
        raise AssertionError("it did not come about")

    @property
    def screen(self) -> str:
        """What stands on the screen, as text."""
        strips = self.app.screen._compositor.render_strips(self.app.size)
        return "\n".join(strip.text.rstrip() for strip in strips)

    @property
    def toasts(self) -> list[str]:
        return [notification.message for notification in self.app._notifications]


@asynccontextmanager
async def desk(
    data: bytes = FAILED,
    snapshot: Snapshot | None = None,
    *,
    size: tuple[int, int] = (120, 36),
    **options: Any,
) -> AsyncIterator[Desk]:
    moment = snapshot_of(data) if snapshot is None else snapshot
    session = ToldSession(data, moment)
    options.setdefault("base", base())
    app = SgdoctorApp(session, None, Options(**options))
    async with app.run_test(size=size) as pilot:
        one = Desk(app, session, pilot)
        await one.settled(lambda: app.view.snapshot is moment)
        yield one


# ---------------------------------------------------------------- what is seen


async def test_a_failed_start_shows_cause_evidence_and_flags_at_once() -> None:
    async with desk(FAILED, snapshot_of(FAILED, attempts=3)) as one:
        screen = one.screen

    for text in (
        "✖ FAILED",
        "start 3 of 3",
        "2 restarts, every 41 s",
        "SGL402 ●●●",
        "▶ 138 │",
        "--mem-fraction-static 0.93",
    ):
        assert text in screen


async def test_the_pace_of_a_crash_loop_gives_way_to_the_name_and_counts_one_clock() -> None:
    moment = snapshot_of(FAILED, attempts=5)
    # The starts before the app was opened are told by the log, in another zone.
    old = tuple(one._replace(started=(one.started or 0) - 28800, by_log=True) for one in moment.attempts[:2])
    async with desk(FAILED, moment._replace(attempts=(*old, *moment.attempts[2:]))) as one:
        wide = one.screen
        await one.press("l")
        await one.pilot.resize_terminal(80, 24)
        narrow = one.screen

    assert "4 restarts, every 41 s" in wide
    assert "已重启 4 次" in narrow
    assert "约每" not in narrow


async def test_in_a_crash_loop_a_new_start_tells_why_the_one_before_failed() -> None:
    async with desk(STARTING, snapshot_of(STARTING, live=True, attempts=3)) as one:
        english = one.screen
        await one.press("l")
        chinese = one.screen

    assert "✔ Nothing is wrong so far." in english
    assert "✖ Start 2 failed: " in english
    assert "[ shows it." in english
    assert "✖ 第 2 次启动失败：" in chinese


async def test_why_the_start_before_failed_stands_above_the_card_of_the_crash_loop() -> None:
    loop = FAILED + FAILED + STARTING
    async with desk(loop, snapshot_of(loop, live=True, attempts=3)) as one:
        screen = one.screen
        await one.give(snapshot_of(FAILED, attempts=3))
        failed = one.screen

    assert screen.index("✖ Start 2 failed: ") < screen.index("SGL075")
    assert "Start 2 failed" not in failed


async def test_in_a_crash_loop_the_panes_stay_where_they_are() -> None:
    async with desk(FAILED, snapshot_of(FAILED, attempts=2)) as one:
        failed = one.app.main.diagnosis.region
        await one.give(snapshot_of(STARTING, live=True, attempts=2))
        second = one.app.main.diagnosis.region
        await one.give(snapshot_of(STARTING, live=True, attempts=3))
        third = one.app.main.diagnosis.region

    assert second.y > failed.y
    assert third == failed


async def test_the_first_thing_that_is_drawn_is_in_the_language_of_the_user() -> None:
    app = SgdoctorApp(ToldSession(b"", None), None, Options(lang="zh"))
    drawn: list[str] = []
    header = app.main._header
    shown = header.lines

    def lines(width: int) -> list[Any]:
        made = shown(width)
        drawn.extend(content.plain for content in made)
        return made

    header.lines = lines  # type: ignore[method-assign]
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()

    assert any("等待" in text for text in drawn)
    assert not any("WAITING" in text for text in drawn)


async def test_a_start_that_is_fine_says_so_and_when_it_is_ready() -> None:
    moment = snapshot_of(
        STARTING, live=True, ready_in=(130, 145), elapsed=47.0,
        learned=lambda phase: (171.0, 184.0) if phase == "graph_capture" else None,
    )  # fmt: skip
    async with desk(STARTING, moment) as one:
        screen = one.screen

    for text in ("▶ STARTING", "Nothing is wrong", "Ready in about 2 min 25 s", "7/7", "2:51-3:04 in earlier starts"):
        assert text in screen


async def test_a_serving_server_shows_its_load() -> None:
    load = Load(87.3, 3, 1, 0.42, 0.95, speed_history=(60.0, 80.0, 87.3))
    async with desk(READY, snapshot_of(READY, live=True, uptime=3725.0, load=load)) as one:
        screen = one.screen

    for text in ("✔ READY", "up 1:02:05", "87 tokens/s", "3 running", "1 queued", "KV 42 %", "state 95 %"):
        assert text in screen


async def test_before_the_first_line_it_waits() -> None:
    session = ToldSession(b"", None)
    app = SgdoctorApp(session, None, Options())
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        screen = Desk(app, session, pilot).screen

    assert "◌ WAITING" in screen
    assert "Waiting for the first line." in screen


async def test_a_note_about_the_log_is_shown() -> None:
    note = Text("sgl ended and is about to be started again.", "sgl 已退出。")
    async with desk(FAILED, snapshot_of(FAILED, link=Link.WAITING, note=note)) as one:
        assert "◌ sgl ended and is about to be started again." in one.screen


async def test_what_is_waited_for_is_said_to_its_end_where_there_is_nothing_else_to_say() -> None:
    note = Text(f"No container engine answers at unix:///{'x' * 40}/docker.sock. Waiting for the engine.", "没有。")
    moment = snapshot_of(FAILED, link=Link.WAITING, note=note)
    moment = moment._replace(lines=0, attempts=(), verdict=moment.verdict._replace(diagnoses=()))
    async with desk(FAILED, moment, size=(80, 24)) as one:
        said = " ".join(one.screen.split())

    assert "Waiting for the engine." in said


@pytest.mark.parametrize(("kind", "what"), [("container", "the server is left alone"), ("process", "stops the server")])
async def test_the_help_says_what_leaving_comes_to(kind: str, what: str) -> None:
    moment = snapshot_of(FAILED)
    async with desk(FAILED, moment._replace(subject=moment.subject._replace(kind=kind)), size=(200, 60)) as one:
        await one.press("question_mark")
        await one.settled(lambda: "Quit" in one.screen or "quit" in one.screen)
        said = next(line for line in one.screen.splitlines() if "quit" in line and " q " in line)

    assert what in said


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 50), (20, 5), (1, 1), (40, 12), (300, 12)])
async def test_header_and_verdict_are_seen_at_every_size(size: tuple[int, int]) -> None:
    async with desk(size=size) as one:
        screen = one.screen
        await one.press("1", "2", "3", "4")

    if size[0] >= 40:
        assert "FAILED" in screen
        assert "The start failed" in screen


async def test_resizing_down_and_up_again() -> None:
    async with desk() as one:
        before = one.screen
        for size in ((20, 5), (80, 24), (200, 50), (120, 36)):
            await one.pilot.resize_terminal(*size)
            await one.pilot.pause()
        await one.settled(lambda: one.screen == before)


async def test_gpus_come_and_go() -> None:
    async with desk(STARTING, snapshot_of(STARTING, live=True)) as one:
        for used in (1.0, 12.0, 21.9):
            one.app.take_reading(reading_at(used, count=2))
            await one.settled(lambda: one.app._reading is one.app.view.reading)
        await one.press("z", "4")
        two = one.screen
        one.app.take_reading(
            reading_at(21.9)._replace(gpus=(), source="", reason=Text("the driver went away", "驱动消失"))
        )
        await one.settled(lambda: "the driver went away" in one.screen)
        none = one.screen

    for text in (
        "0 RTX 3090  sm86",
        "1 RTX 3090  sm86",
        "21.9 / 24.0 GiB",
        "this container",
        "Xorg  desktop",
        "KV cache 10.00",
    ):
        assert text in two
    assert "RTX 3090" not in none
    assert "This server, by its log" in none


async def test_gpus_at_work_keep_the_session_from_calling_it_stalled() -> None:
    async with desk(STARTING, snapshot_of(STARTING, live=True)) as one:
        one.app.take_reading(reading_at(21.0, work=3))
        one.app.take_reading(reading_at(21.0, work=80))

        assert one.session.activity == 1
        assert one.session.gpu_name == "NVIDIA GeForce RTX 3090"


# ---------------------------------------------------------------- panes and moving


async def test_digits_tab_and_clicks_choose_a_pane() -> None:
    async with desk() as one:
        seen = []
        for key in ("1", "2", "3", "4", "tab", "shift+tab"):
            await one.press(key)
            seen.append(one.app.main.active)
        await one.pilot.click("#log", offset=(10, 5))
        await one.pilot.pause()

        assert seen == ["startup", "diagnosis", "log", "gpu", "startup", "gpu"]
        assert one.app.main.active == "log"


async def test_a_small_terminal_shows_one_pane_and_tabs() -> None:
    async with desk(size=(80, 24)) as one:
        await one.press("1")
        startup = one.screen
        await one.pilot.click("#tabs", offset=(17, 0))
        await one.pilot.pause()
        diagnosis = one.screen

    assert "✔ weights" in startup
    assert "Fix 1" not in startup
    assert "Fix 1" in diagnosis


async def test_zoom_and_back() -> None:
    async with desk() as one:
        before = one.screen
        await one.press("1", "z")
        zoomed = one.screen
        await one.press("z", "2")

        assert "Fix 1" not in zoomed
        assert before == one.screen


async def test_moving_in_a_pane() -> None:
    async with desk(size=(80, 24)) as one:
        pane = one.app.main.diagnosis
        at = []
        for key in ("j", "down", "k", "G", "g", "end", "home", "ctrl+d", "ctrl+u", "pagedown", "pageup"):
            await one.press(key)
            at.append(int(pane.scroll_offset.y))

    assert at[:3] == [1, 2, 1]
    assert at[3] == at[5] > 5
    assert 0 == at[4] == at[6] == at[8] == at[10]
    assert at[7] == at[9] > 5


async def test_cards_are_selected_one_after_the_other() -> None:
    moment = snapshot_of(FAILED)
    diagnosis = moment.verdict.diagnoses[0]
    several = moment._replace(verdict=moment.verdict._replace(diagnoses=(diagnosis,) * 3))
    async with desk(FAILED, several, size=(200, 50)) as one:
        chosen = [one.app.main.diagnosis.selected]
        for key in ("j", "j", "j", "k"):
            for _ in range(60):
                before = one.app.main.diagnosis.selected
                await one.press(key)
                if one.app.main.diagnosis.selected != before:
                    break
            chosen.append(one.app.main.diagnosis.selected)
        await one.press("enter")
        screen = one.app.screen

    assert chosen == [0, 1, 2, 2, 1]
    assert isinstance(screen, DetailScreen)
    assert screen.number == 1


async def test_cards_follow_the_verdict() -> None:
    async with desk(STARTING, snapshot_of(STARTING, live=True)) as one:
        calm = one.screen
        await one.give(snapshot_of(FAILED))
        failed = one.screen
        await one.give(snapshot_of(READY, live=True, uptime=1.0))
        ready = one.screen

    assert "SGL402" not in calm
    assert "SGL402 ●●●" in failed
    assert "SGL402" not in ready


# ---------------------------------------------------------------- reading


async def test_details_follow_the_log_and_turn_pages() -> None:
    async with desk() as one:
        await one.press("enter")
        shown = one.screen
        await one.press("G")
        end = one.screen
        await one.press("g", "j", "k", "ctrl+d", "ctrl+u", "left", "right")
        await one.give(snapshot_of(STARTING, live=True))
        gone = one.screen
        await one.press("escape")
        closed = one.app.screen is one.app.main

    for text in ("Diagnosis 1 of 1", "Why", "Evidence", "▶ 138 │", "What to do", "Cost:"):
        assert text in shown
    assert "https://" in end
    assert "does not hold any more" in gone
    assert closed


async def test_explain_the_selected_rule_from_pane_and_detail() -> None:
    async with desk() as one:
        await one.press("e")
        page = one.screen
        await one.press("escape", "enter", "e")
        again = isinstance(one.app.screen, ExplainScreen)
        await one.press("q")
        back = isinstance(one.app.screen, DetailScreen)

    assert "Rule SGL402" in page
    assert "How it looks in a log" in page
    assert (again, back) == (True, True)


async def test_explain_without_a_diagnosis_takes_a_notice() -> None:
    async with desk(STARTING, snapshot_of(STARTING, live=True)) as one:
        await one.press("e")

        assert isinstance(one.app.screen, ExplainScreen)


async def test_evidence_is_shown_in_the_log_from_everywhere() -> None:
    async with desk() as one:
        lines = [evidence.line for evidence in one.app.view.diagnoses[0].evidence]
        view = one.app.main.log_pane.view
        await one.press("n")
        first = view.cursor
        await one.press("n")
        second = view.cursor
        await one.press("2", "N")
        before = view.cursor
        await one.press("2", "enter", "n")
        from_detail = (one.app.screen is one.app.main, one.app.main.active, view.cursor)

    assert lines[0] == first
    assert lines[1 % len(lines)] == second
    assert lines[0] == before
    assert (True, "log", lines[1 % len(lines)]) == from_detail


async def test_no_evidence_is_said() -> None:
    async with desk(READY, snapshot_of(READY, live=True, uptime=3.0)) as one:
        await one.press("n")

        assert one.toasts == ["There is no evidence to go to."]


async def test_harmless_lines_are_folded_and_listed() -> None:
    async with desk(STARTING, snapshot_of(STARTING, live=True), size=(200, 50)) as one:
        folded = one.screen
        await one.press("b")
        listed = one.screen
        await one.press("b")
        again = one.screen

    assert "look alarming and are not (b)." in folded
    assert "Normal, not an error" in listed
    assert folded == again


async def test_harmless_lines_are_in_sight_where_the_cards_fill_the_pane() -> None:
    async with desk(FAILED, snapshot_of(FAILED), size=(80, 24)) as one:
        folded = one.screen
        await one.press("b")
        await one.settled(lambda: "Normal, not an error" in one.screen)
        await one.press("b")

    assert "look alarming and are not (b)." not in folded


async def test_starts_are_chosen_from_a_list_and_step_by_step() -> None:
    async with desk(FAILED, snapshot_of(FAILED, attempts=3)) as one:
        await one.press("a")
        shown = one.screen
        is_list = isinstance(one.app.screen, ChooseScreen)
        await one.press("j", "j", "enter")
        await one.press("a", "G", "k", "g", "enter")
        await one.press("left_square_bracket")
        await one.give(snapshot_of(FAILED, attempts=3, attempt=2))
        await one.press("left_square_bracket")
        await one.press("right_square_bracket")
        earlier = one.screen
        await one.give(snapshot_of(FAILED, attempts=3, attempt=3))
        await one.press("right_square_bracket", "a", "escape")

        assert one.session.shown == [2, None, 2, 1, None]
        assert one.toasts == ["There is no other start in this direction."]
    assert is_list
    assert re.search(r"3 ✖ 20:2\d:\d\d +0:18 +The state cache", shown)
    assert "start 2 of 3" in earlier


async def test_search_opens_in_the_log() -> None:
    async with desk() as one:
        await one.press("slash", *"sigquit")
        newest = max(number for number, line in enumerate(FAILED.split(b"\n"), 1) if b"sigquit" in line.lower())
        await one.settled(lambda: one.app.main.log_pane.view.cursor == newest)
        await one.press("enter", "q")

        assert one.app.main.active == "log"
        assert one.app._exit


async def test_keys_typed_at_once_behind_the_slash_are_for_the_search() -> None:
    async with desk() as one:
        await one.press("3", "home")
        for key, character in (("slash", "/"), *((letter, letter) for letter in "sigquit"), ("enter", "\r")):
            one.app.post_message(events.Key(key, character))
        await one.settled(lambda: one.app.main.log_pane.view.cursor == 6)

        assert one.app.main.log_pane.view.search is not None
        assert one.app.main.log_pane.view.search.pattern == "sigquit"


# ---------------------------------------------------------------- taking away


async def test_the_corrected_flags_are_copied() -> None:
    async with desk() as one:
        await one.press("c")

        assert one.app.clipboard == "--mem-fraction-static 0.93"
        assert one.toasts == ["Copied: --mem-fraction-static 0.93"]


async def test_the_corrected_command_of_a_container_is_copied() -> None:
    snapshot = snapshot_of(FAILED)
    command = ("python3", "-m", "sglang.launch_server", "--mem-fraction-static", "0.88", "--api-key", "my-secret-key")
    snapshot = snapshot._replace(subject=snapshot.subject._replace(command=command))
    async with desk(FAILED, snapshot) as one:
        await one.press("c")
        copied = one.app.clipboard

    assert copied == "python3 -m sglang.launch_server --mem-fraction-static 0.93 --api-key ***"


async def test_secrets_of_the_evidence_are_not_on_the_screen() -> None:
    data = FAILED.replace(b"RuntimeError: Hybrid", b"RuntimeError: hf_abcdefghijklmnop Hybrid", 1)
    async with desk(data, snapshot_of(data)) as one:
        screen = one.screen

    assert "hf_***" in screen
    assert "hf_abcdefghijklmnop" not in screen


async def test_nothing_to_copy_is_said() -> None:
    async with desk(READY, snapshot_of(READY, live=True, uptime=3.0)) as one:
        await one.press("c")

        assert one.toasts == ["No corrected flags to copy."]


async def test_report_and_log_are_saved_without_secrets(tmp_path: Path) -> None:
    data = FAILED.replace(b"Load weight begin.", b"HF_TOKEN=hf_abcdefghijkl [x] Load weight begin.", 1)
    async with desk(data, snapshot_of(data, attempts=2), reports=tmp_path / "r", clock=lambda: STARTED) as one:
        await one.press("s")
        await one.settled(lambda: bool(one.toasts))
        told = one.toasts

    report = tmp_path / "r" / "sgl-qwen27b-2-20260528-202640.md"
    log = report.with_suffix(".log").read_text(encoding="utf-8")
    assert [f"Saved: {report}"] == told
    assert "SGL402" in report.read_text(encoding="utf-8")
    assert data.count(b"\n") == log.count("\n")
    assert "max_mamba_cache_size=3" in log
    assert "hf_abcdefghijkl" not in log


async def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("a file", encoding="utf-8")
    async with desk(reports=tmp_path / "r") as one:
        await one.press("s")
        await one.settled(lambda: bool(one.toasts))

        assert one.toasts == ["Not saved: File exists"]


async def test_the_reserved_key_shows_the_flags_to_type() -> None:
    async with desk() as one:
        await one.press("v")
        shown = one.screen
        await one.press("c", "escape")
        copied = one.app.clipboard

    assert "Verify: a later version does this" in shown
    assert "--mem-fraction-static 0.93" in shown
    assert copied == "--mem-fraction-static 0.93"


async def test_the_reserved_key_without_a_diagnosis() -> None:
    async with desk(READY, snapshot_of(READY, live=True, uptime=3.0)) as one:
        await one.press("v")

        assert isinstance(one.app.screen, LaterScreen)
        assert "Nothing is wrong, so there is nothing to correct." in one.screen


# ---------------------------------------------------------------- program


async def test_the_language_changes_everywhere_at_once() -> None:
    async with desk() as one:
        await one.press("l")
        chinese = one.screen
        await one.press("enter")
        detail = one.screen
        await one.press("l")
        english = one.screen

    for text in ("✖ 失败", "启动过程", "诊断", "日志", "办法 1", "安全", "帮助"):
        assert text in chinese
    assert "怎么办" in detail
    assert "What to do" in english


async def test_themes_are_gone_through() -> None:
    async with desk() as one:
        names = [one.app.theme]
        for _ in range(4):
            await one.press("t")
            names.append(one.app.theme)

    assert names == ["sgdoctor-dark", "sgdoctor-light", "ansi-dark", "ansi-light", "sgdoctor-dark"]


async def test_a_theme_that_does_not_exist_is_said() -> None:
    async with desk(config=Config(theme="pink")) as one:
        assert one.toasts == ["There is no theme pink."]
        assert one.app.theme == "sgdoctor-dark"


async def test_help_lists_every_key() -> None:
    async with desk(size=(120, 90)) as one:
        await one.press("question_mark")
        is_help = isinstance(one.app.screen, HelpScreen)
        screen = one.screen
        await one.press("escape", "f1", "q")

        assert one.app.screen is one.app.main
    assert is_help
    for key in one.app.view.keys:
        assert key.help.en.split()[-1] in screen


async def test_the_palette_leads_to_another_container() -> None:
    chosen: list[str] = []
    async with desk(containers=lambda: ["sgl-other"], switch=chosen.append) as one:
        await one.press("ctrl+p", *"Watch container")
        await one.settled(lambda: "Watch container sgl-other" in one.screen)
        await one.press("enter")
        await one.settled(lambda: bool(chosen))

    assert chosen == ["sgl-other"]


async def test_the_palette_finds_actions_rules_and_starts() -> None:
    async with desk(FAILED, snapshot_of(FAILED, attempts=3)) as one:
        await one.press("ctrl+p")
        palette = isinstance(one.app.screen, CommandPalette)
        await one.press(*"SGL415")
        await one.settled(lambda: "SGL415" in one.screen.replace("SGL415", "", 1))
        await one.press("enter")
        await one.settled(lambda: isinstance(one.app.screen, ExplainScreen))
        rule = one.screen
        await one.press("escape", "ctrl+p", *"Start 2")
        await one.settled(lambda: "Start 2: failed" in one.screen)
        await one.press("enter")
        await one.settled(lambda: one.session.shown == [2])
        await one.press("ctrl+p", *"GPUs and")
        await one.settled(lambda: "GPUs and load" in one.screen)
        await one.press("enter")
        await one.settled(lambda: one.app.main.active == "gpu")

    assert palette
    assert "Rule SGL415" in rule


async def test_the_line_of_keys_can_be_clicked() -> None:
    async with desk() as one:
        line = one.screen.splitlines()[-1]
        await one.pilot.click("#keys", offset=(line.index("Help"), 0))
        await one.pilot.pause()

        assert isinstance(one.app.screen, HelpScreen)


@pytest.mark.parametrize("key", ["q", "ctrl+c", "ctrl+q"])
async def test_leaving_gives_the_exit_code_and_stops_what_was_started(key: str) -> None:
    kept: list[Remembered] = []
    codes = {State.FAILED: 3}
    async with desk(exit_code=lambda state: codes.get(state, 0), remember=kept.append) as one:
        await one.press("3", "b", "l")
        await one.pilot.press(key)

    assert (3 if key != "ctrl+q" else None) == one.app.return_value
    assert one.app.code_now() == 3
    assert one.session.stopped
    assert [Remembered("sgdoctor-dark", "zh", benign=True, pane="log")] == kept


async def test_ctrl_c_leaves_from_a_window_too() -> None:
    async with desk() as one:
        await one.press("enter", "ctrl+c")

        assert one.app._exit


async def test_it_begins_as_it_was_left() -> None:
    remembered = Remembered("sgdoctor-light", "zh", benign=True, pane="log")
    async with desk(remembered=remembered) as one:
        assert (
            one.app.theme, one.app.view.lang, one.app.view.benign, one.app.main.active
        ) == ("sgdoctor-light", "zh", True, "log")  # fmt: skip


async def test_settings_choose_panes_and_keys() -> None:
    config = Config(panes=("diagnosis", "log"), keys={"copy": ("Y",), "log.wrap": ("W",), "fly": ("x",)})
    async with desk(config=config) as one:
        await one.press("c")
        before = one.app.clipboard
        await one.press("Y")
        screen = one.screen
        await one.press("1")
        active = one.app.main.active
        await one.press("3", "w")
        cut = one.app.main.log_pane.view.wrapping
        await one.press("W")

        assert (active, cut, one.app.main.log_pane.view.wrapping) == ("diagnosis", False, True)
        assert "[keys] fly: there is no such action" in one.toasts
        assert before == ""
        assert one.app.clipboard == "--mem-fraction-static 0.93"
    assert "Start-up" not in screen


@pytest.mark.parametrize(
    ("moments", "code"),
    [
        ((snapshot_of(STARTING, live=True), snapshot_of(READY, live=True, uptime=0.0)), 0),
        ((snapshot_of(STARTING, live=True), snapshot_of(FAILED)), 3),
    ],
    ids=["ready", "failed"],
)
async def test_until_ready_leaves_by_itself(moments: tuple[Snapshot, Snapshot], code: int) -> None:
    session = ToldSession(FAILED, moments[0])
    app = SgdoctorApp(session, None, Options(until_ready=True, exit_code=lambda _: 3))
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause(0.1)
        waits = not app._exit
        session.give(moments[1])
        for _ in range(100):
            if app._exit:
                break
            await asyncio.sleep(0.02)

    assert waits
    assert code == app.return_value


async def test_one_stage_of_the_log_and_all_again() -> None:
    async with desk(FAILED, snapshot_of(FAILED)) as one:
        log = one.app.main.log_pane.view
        weights = next(phase for phase in log.phases if phase.name == "weights")
        after = log.phases[log.phases.index(weights) + 1]
        await one.press("3")
        one.app.main.log_pane.jump_to(weights.start_line + 1)
        await one.press("X")
        stage = (log.wanted.first, log.wanted.last, log.wanted.label.en)
        await one.press("X")
        everything = (log.wanted.first, log.wanted.last)

    assert stage == (weights.start_line, after.start_line - 1, "weights")
    assert everything == (1, 0)
