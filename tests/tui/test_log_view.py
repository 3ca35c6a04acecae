"""The log pane, driven as a person would."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from textual.app import App, ComposeResult
from textual.events import MouseScrollUp
from textual.pilot import Pilot

from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.rules.model import Severity
from sgdoctor.texts import Text
from sgdoctor.tui.log_canvas import AT_ONCE
from sgdoctor.tui.log_cursor import COPY_MOST
from sgdoctor.tui.log_filter import ERRORS, EVERYTHING
from sgdoctor.tui.log_pane import LogPane
from sgdoctor.tui.view import View
from sgdoctor.watching.model import AttemptSummary, LineKind, LineMark, Link, Load, Snapshot, Subject
from tests.tui.log_lines import MemoryLines, crashed, numbered

Screen = Callable[[], list[str]]


class PaneApp(App[None]):
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, lines: MemoryLines, lang: str = "en") -> None:
        super().__init__()
        self.pane = LogPane(lines, lang=lang)

    def compose(self) -> ComposeResult:
        yield self.pane

    def on_mount(self) -> None:
        self.pane.focus()

    def rows(self) -> list[str]:
        """What is on the screen, without the frame."""
        strips = self.screen._compositor.render_strips()
        rows = ["".join(segment.text for segment in strip) for strip in strips]
        return [row[1:-2].rstrip() for row in rows[1:-1]]

    @property
    def title_text(self) -> str:
        return self.pane.title_content().plain


def driven(
    lines: MemoryLines, do: Callable[[PaneApp, Pilot[None]], Awaitable[None]], *, size: tuple[int, int] = (60, 12)
) -> None:
    async def run() -> None:
        app = PaneApp(lines)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await do(app, pilot)

    asyncio.run(run())


async def until(pilot: Pilot[None], true: Callable[[], bool]) -> None:
    for _ in range(500):
        await pilot.pause(0.01)
        if true():
            return
    raise AssertionError(pilot.app.rows())  # type: ignore[attr-defined]


# ---------------------------------------------------------------- scrolling and following


def test_it_begins_at_the_end_and_follows() -> None:
    lines = numbered(100)

    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        assert app.rows()[-1] == "   100 line 100"
        lines.append("line 101")
        app.pane.wake()
        await until(pilot, lambda: app.rows()[-1] == "   101 line 101")
        assert app.title_text == "Log  following ─ all ─ 101 lines"

    driven(lines, do)


@pytest.mark.parametrize("key", ["up", "k", "pageup", "g", "home", "space", "shift+up"])
def test_any_upward_move_ends_following(key: str) -> None:
    lines = numbered(100)

    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await pilot.press(key)
        before = app.rows()
        lines.append("new")
        app.pane.view.look()
        await pilot.pause()
        assert before == app.rows()
        assert not app.pane.view.following
        assert "paused" in app.title_text

    driven(lines, do)


@pytest.mark.parametrize("keys", [["G"], ["end"], ["space"], ["down"] * 3, ["pagedown"] * 2])
def test_following_resumes_at_the_end(keys: list[str]) -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await pilot.press("up", "up", "up")
        assert "paused" in app.title_text
        await pilot.press(*keys)
        assert app.pane.view.following
        assert app.rows()[-1] == "   100 line 100"

    driven(numbered(100), do)


def test_the_wheel_ends_following_and_resumes_it() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        app.pane.view._on_mouse_scroll_up(_wheel(app))
        await pilot.pause()
        assert "paused" in app.title_text
        app.pane.view._on_mouse_scroll_down(_wheel(app))  # type: ignore[arg-type]
        await pilot.pause()
        assert app.pane.view.following

    driven(numbered(100), do)


def _wheel(app: PaneApp) -> MouseScrollUp:
    return MouseScrollUp(app.pane.view, 5, 5, 0, 0, 0, shift=False, meta=False, ctrl=False)


def test_first_and_last_line() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await pilot.press("g")
        assert app.rows()[0] == "▶    1 line 1"
        await pilot.press("j", "down")
        assert app.pane.view.cursor == 3
        await pilot.press("pagedown")
        assert "   10 line 10" in app.rows()[0]

    driven(numbered(100), do)


def test_lines_are_appended_from_another_thread() -> None:
    lines = MemoryLines()

    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        assert app.rows()[0] == " No lines yet."

        def write() -> None:
            for number in range(1, 5001):
                lines.append(f"line {number}")
                app.pane.wake()

        writer = threading.Thread(target=write)
        writer.start()
        await until(pilot, lambda: not writer.is_alive() and app.rows()[-1] == "  5000 line 5000")

    driven(lines, do)


def test_another_store_is_shown_from_its_end() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await pilot.press("g", "x")
        app.pane.show_lines(MemoryLines(["other 1", "other 2"]))
        await pilot.pause()
        assert app.rows()[:3] == ["     1 other 1", "     2 other 2", ""]

    driven(numbered(100), do)


# ---------------------------------------------------------------- size, columns, wrapping


def test_resizing_keeps_the_line_at_the_top_and_the_end_in_sight() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await pilot.resize_terminal(20, 5)
        await pilot.pause()
        assert app.rows() == ["    98 line 98", "    99 line 99", "   100 line 100"]
        await pilot.press("g", "pagedown", "pagedown")
        top = app.rows()[0][2:]
        await pilot.resize_terminal(120, 40)
        await pilot.pause()
        assert top == app.rows()[0][2:]

    driven(numbered(100), do)


def test_long_lines_are_cut_and_shown_by_columns() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        assert app.rows()[0].endswith("…")
        await pilot.press(*["right"] * 20)
        await pilot.pause()
        assert app.rows()[0].endswith("END")
        await pilot.press(*["left"] * 20)
        await pilot.pause()
        assert app.rows()[0] == "     1 " + "0123456789" * 4 + "012345678…"

    driven(MemoryLines(["0123456789" * 15 + "END"]), do)


def test_long_lines_are_wrapped_and_the_bar_counts_their_rows() -> None:
    text = "0123456789" * 20 + "END"

    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await pilot.press("w")
        await pilot.pause()
        rows = app.rows()
        assert ["   300 " + text[:50], "       " + text[50:100]] == rows[-5:-3]
        assert rows[-1] == "       END"
        assert app.pane.view.virtual_size.height == 1500
        await pilot.press("g")
        await pilot.pause()
        assert "▶    1 " + text[:50] == app.rows()[0]
        app.pane.jump_to(150)
        await pilot.pause()
        assert [place for place, row in enumerate(app.rows()) if row.startswith("▶  150 ")] == [3]
        await pilot.press("w")
        await pilot.pause()
        assert any(row.startswith("▶  150 ") and row.endswith("…") for row in app.rows())

    driven(MemoryLines([text] * 300), do)


def test_a_line_higher_than_the_screen_is_read_row_by_row() -> None:
    text = "".join(f"{number:<10}" for number in range(200))

    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await pilot.press("w", "g", "down", "down")
        await pilot.pause()
        assert app.rows()[0] == "       10        11        12        13        14"
        await pilot.press("up")
        await pilot.pause()
        assert app.rows()[0] == "       5         6         7         8         9"

    driven(MemoryLines([text, "last"]), do)


def test_wrapped_lines_are_followed() -> None:
    lines = MemoryLines(["x" * 120] * 50)

    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await pilot.press("w")
        for number in range(70):
            lines.append("y" * 60 + str(number))
            app.pane.view.look()
        await pilot.pause()
        assert app.rows()[-2:] == ["   120 " + "y" * 50, "       " + "y" * 10 + "69"]

    driven(lines, do)


def test_chinese_keeps_the_frame_in_place() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        for keys in ((), ("right",), ("w", "g")):
            await pilot.press(*keys)
            await pilot.pause()
            strips = app.screen._compositor.render_strips()
            assert [strip.cell_length for strip in strips] == [60] * 12
        assert app.rows()[:2] == ["▶    1 " + "显存不足" * 6 + "显", "       " + "存不足" + "显存不足" * 5 + "显存"]

    driven(MemoryLines(["显存不足" * 40, "a显" * 60, "🚀 e\u0301 \u200d\ufe0f" * 30]), do)


def test_escapes_and_markup_are_text() -> None:
    lines = MemoryLines(["[bold]not bold[/] [red", "\x1b[31mred\x1b[0m\x1b]0;title\x07", "[@click=app.quit]no[/]"])

    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        assert app.rows()[:3] == ["     1 [bold]not bold[/] [red", "     2 red", "     3 [@click=app.quit]no[/]"]
        app.pane.search("[bold]")
        await until(pilot, lambda: "[bold]: 1 match" in app.title_text)
        assert app.pane.border_title is not None

    driven(lines, do)


def test_as_written_brings_the_time_back() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await pilot.press("T")
        await pilot.pause()
        assert app.rows()[0] == "     1 [2026-01-02 09:14:01] line 1"

    driven(numbered(1), do)


# ---------------------------------------------------------------- folds, marks, filters

FOLDED = [
    "     1 ── start 1 ── server_args=ServerArgs(model_path='m') ───────────────",
    "     2 Load weight begin.",
    " ✔   3 Acceleration is not supported",
    " ✖   4 Traceback  ▸ 2 frames · RuntimeError: the cache does not fit SGL201",
    "     5 Traceback  ▸ 1 frame · ValueError: another",
    " ✖  12 Killed child                                                 SGL900",
    "    13 The container ended with 1.",
]


def test_a_start_that_died() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        assert app.rows()[:7] == FOLDED

    driven(crashed(), do, size=(78, 20))


def test_enter_unfolds_and_folds() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await pilot.press("g", "j", "j", "j", "enter")
        await pilot.pause()
        rows = app.rows()
        assert rows[3] == "▶    4 Traceback (most recent call last):  ▾"
        assert [int(row[3:6]) for row in rows[4:10]] == [5, 6, 8, 9, 10, 12]
        await pilot.press("j", "j", "enter")
        await pilot.pause()
        assert app.pane.view.cursor == 4
        assert [row[2:] for row in FOLDED] == [row[2:] for row in app.rows()[:7]]

    driven(crashed(), do, size=(78, 20))


def test_a_click_unfolds() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await pilot.click(app.pane.view, offset=(20, 4))
        await pilot.pause()
        assert "▾" in app.rows()[4]
        assert [int(row[3:6]) for row in app.rows()[5:7]] == [7, 11]

    driven(crashed(), do, size=(78, 20))


def test_all_folds_at_once() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await pilot.press("F")
        assert app.pane.view.count == 13
        await pilot.press("F")
        assert app.pane.view.count == 7

    driven(crashed(), do)


def test_a_fold_that_is_still_arriving_counts_on() -> None:
    lines = MemoryLines()
    lines.append("Traceback (most recent call last):", LineMark(LineKind.TRACEBACK_HEAD, 1))

    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        for count in range(1, 4):
            lines.append('  File "a.py", line 1, in f', LineMark(LineKind.TRACEBACK, 1, head=1))
            app.pane.view.look()
            await pilot.pause()
            assert f"▸ {count} frame" in app.rows()[0]
            assert app.rows()[1] == ""

    driven(lines, do)


def test_marks_that_change_are_drawn() -> None:
    lines = numbered(5)

    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        lines.remark(3, LineMark(LineKind.ERROR, 1, "SGL101", Severity.ERROR))
        lines.remark(4, LineMark(LineKind.TRACEBACK, 1, head=3))
        app.pane.view.look()
        await pilot.pause()
        assert app.rows()[2:4] == [" ✖   3 line 3                                     SGL101", "     5 line 5"]

    driven(lines, do)


def test_filters_go_round_and_new_lines_pass_them() -> None:
    lines = crashed()

    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await pilot.press("x")
        assert app.title_text == "Log  following ─ errors ─ 5 of 13 lines"
        lines.append("fine")
        lines.append("worse", LineMark(LineKind.ERROR, 1))
        app.pane.view.look()
        await pilot.pause()
        assert app.rows()[4:7] == ["    13 The container ended with 1.", "    15 worse", ""]
        await pilot.press("x")
        assert "stages" in app.title_text
        await pilot.press("x")
        assert app.pane.view.wanted == EVERYTHING

    driven(lines, do)


def test_the_line_under_the_cursor_says_the_rule_and_the_rank() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await pilot.press("up", "o")
        await pilot.pause()
        assert "SGL900" in app.title_text
        assert app.pane.view.count == 1
        await pilot.press("o")
        assert app.pane.view.count == 7
        app.pane.jump_to(5)
        await pilot.press("O")
        assert "TP1" in app.title_text
        await pilot.press("escape")
        assert app.pane.view.wanted == EVERYTHING

    driven(crashed(), do)


def test_harmless_lines_are_hidden_under_any_filter() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await pilot.press("B")
        assert app.pane.view.count == 6
        assert "harmless hidden" in app.title_text
        app.pane.filter(ERRORS)
        assert app.pane.view.wanted.hide_benign
        await pilot.press("B")
        assert app.pane.view.wanted == ERRORS

    driven(crashed(), do)


def test_a_filter_that_nothing_passes_says_so() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await pilot.press("x")
        await pilot.pause()
        assert app.rows()[0] == " No line passes this filter. Esc shows all."

    driven(numbered(3), do)


def test_many_lines_are_filtered_by_a_worker() -> None:
    lines = MemoryLines(["x"] * AT_ONCE)
    lines.append("bad", LineMark(LineKind.ERROR, 1))

    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: not app.pane.view.looking)
        await pilot.press("x")
        await until(pilot, lambda: app.rows()[0].endswith(f"{AT_ONCE + 1} bad") and not app.pane.view.looking)
        assert app.pane.jump_to(100_000)
        await until(pilot, lambda: any(row.startswith("▶ 100000") for row in app.rows()))
        lines.remark(AT_ONCE, LineMark(LineKind.TRACEBACK, 1))
        app.pane.view.look()
        assert app.pane.view.count == AT_ONCE
        lines.remark(1, LineMark(LineKind.TRACEBACK, 1))
        app.pane.view.look()
        await until(pilot, lambda: app.pane.view.count == AT_ONCE - 1)

    driven(lines, do)


# ---------------------------------------------------------------- jumping


def test_a_jump_opens_the_fold_and_comes_back() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        assert app.pane.jump_to(10)
        await pilot.pause()
        row = next(row for row in app.rows() if row.startswith("▶"))
        assert row.startswith("▶✖  10 RuntimeError: the cache does not fit")
        assert app.pane.view.flash == 10
        await pilot.press("backspace")
        assert app.pane.view.following
        assert not app.pane.jump_back()

    driven(crashed(), do, size=(78, 20))


def test_a_jump_drops_a_filter_that_hides_the_line() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        app.pane.filter(ERRORS)
        app.pane.jump_to(2)
        assert (app.pane.view.wanted, app.pane.view.cursor) == (EVERYTHING, 2)
        app.pane.filter(ERRORS)
        app.pane.jump_to(10)
        assert app.pane.view.cursor == 10

    driven(crashed(), do)


def test_a_jump_goes_back_to_the_same_rows() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await pilot.press("g", *["pagedown"] * 3, "down", "down")
        before = app.rows()
        app.pane.jump_to(90)
        app.pane.jump_to(5)
        await pilot.pause()
        assert before != app.rows()
        await pilot.press("backspace", "backspace")
        await pilot.pause()
        assert before == app.rows()

    driven(numbered(100), do)


def test_there_is_no_jump_to_a_line_that_is_not_there() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        assert [app.pane.jump_to(number) for number in (0, 101, 100)] == [False, False, True]

    driven(numbered(100), do)


# ---------------------------------------------------------------- search


def test_searching_while_typing() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await pilot.press("g", "/", *"line 42")
        await until(pilot, lambda: app.rows()[-1].endswith("match 1 of 1"))
        assert app.pane.view.cursor == 42
        await pilot.press("enter", "g", "n")
        await pilot.pause()
        assert app.pane.view.cursor == 42
        assert "/line 42: match 1 of 1" in app.title_text
        await pilot.press("escape")
        assert app.pane.view.search is None

    driven(numbered(100), do)


def test_next_and_previous_match() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        assert app.pane.search("line 1[05]$", regex=True)
        await until(pilot, lambda: "2 matches" in app.title_text)
        await pilot.press("g", "n")
        assert app.pane.view.cursor == 10
        await pilot.press("n")
        assert app.pane.view.cursor == 15
        await pilot.press("n")
        assert app.pane.view.cursor == 10
        await pilot.press("N")
        assert app.pane.view.cursor == 15

    driven(numbered(100), do)


def test_a_match_in_a_fold_is_unfolded_and_one_outside_the_filter_left_out() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        app.pane.search("e")
        await until(pilot, lambda: app.pane.view.search.complete)  # type: ignore[union-attr]
        await pilot.press("g", "n", "n", "n", "n", "n")
        assert app.pane.view.cursor == 6
        app.pane.filter(ERRORS)
        await pilot.press("g", "n")
        assert app.pane.view.cursor == 4

    driven(crashed(), do)


def test_a_broken_expression_is_shown_not_raised() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await pilot.press("/", "ctrl+r", "(", "a")
        await until(pilot, lambda: "cannot be searched for" in app.rows()[-1])
        await pilot.press(")")
        await until(pilot, lambda: app.rows()[-1].endswith("no match"))

    driven(numbered(10), do, size=(100, 12))


def test_new_lines_are_searched_too() -> None:
    lines = numbered(3)

    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        app.pane.search("line")
        await until(pilot, lambda: "of 3" in app.title_text)

        def more() -> bool:
            lines.append("line")
            app.pane.wake()
            return len(app.pane.view.search.matches) > 3  # type: ignore[union-attr]

        await until(pilot, more)

    driven(lines, do)


def test_a_match_behind_the_edge_comes_into_sight() -> None:
    lines = MemoryLines(["x" * 300 + " memory " + "x" * 300, "memory first", "y" * 40 + " memory"])

    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        assert app.pane.search("memory")
        await until(pilot, lambda: "match 3 of 3" in app.title_text)
        for _ in range(3):
            await pilot.press("n")
            await pilot.pause()
            assert "memory" in next(row for row in app.rows() if row.startswith("▶"))
        assert app.pane.view.column == 0
        app.pane.view.wrapping = True
        app.pane.view.scroll_to(y=0, animate=False)
        await pilot.press("g", "N", "N")
        await pilot.press("n", "n")
        await pilot.pause()
        assert app.pane.view.cursor == 1
        assert any("memory" in row and "x" in row for row in app.rows())

    driven(lines, do, size=(60, 6))


def test_a_search_from_the_newest_line_on_shows_the_newest_match() -> None:
    lines = numbered(200)

    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await pilot.press("/", *"line 1")
        await until(pilot, lambda: app.pane.view.cursor == 199)
        await pilot.press("escape", "g", "/", *"line 1")
        await until(pilot, lambda: app.pane.view.cursor == 1)

    driven(lines, do)


# ---------------------------------------------------------------- selecting and copying


def test_the_selection_is_copied_without_secrets() -> None:
    lines = MemoryLines(["one", "export HF_TOKEN=hf_abcdefghijklmnopqrst", "three"])

    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        assert app.rows()[1] == "     2 export HF_TOKEN=hf_***"
        await pilot.press("g", "y")
        assert app.clipboard == "one"
        await pilot.press("shift+down", "shift+down", "y")
        assert app.clipboard.splitlines()[0] == "one"
        assert "abcdefgh" not in app.clipboard
        assert app.clipboard.splitlines()[2] == "three"
        assert "3 selected" in app.title_text
        await pilot.press("escape")
        assert app.pane.view.selected is None

    driven(lines, do)


def test_what_is_folded_away_is_copied_too() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        app.pane.jump_to(4)
        await pilot.press("y")
        assert app.clipboard.splitlines() == [app.pane.view.lines.text(number) for number in (4, 6, 8, 9, 10)]

    driven(crashed(), do)


async def drag(app: PaneApp, pilot: Pilot[None], start: tuple[int, int], end: tuple[int, int]) -> None:
    await pilot.mouse_down(app.pane.view, offset=start)
    await pilot.hover(app.pane.view, offset=end)
    await pilot.mouse_up(app.pane.view, offset=end)


def test_lines_are_selected_with_the_mouse_from_their_numbers_on() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await drag(app, pilot, (4, 2), (10, 5))
        assert app.pane.view.selected == (93, 96)
        await pilot.press("ctrl+c")
        assert app.clipboard == "line 93\nline 94\nline 95\nline 96"
        assert app.pane.view.selected is None

    driven(numbered(100), do)


@pytest.mark.parametrize(
    ("start", "end", "copied"),
    [
        ((7, 0), (10, 0), "line"),
        ((10, 0), (7, 0), "line"),
        ((12, 0), (40, 0), "91"),
        ((12, 0), (10, 2), "91\nline 92\nline"),
        ((10, 2), (12, 0), "91\nline 92\nline"),
    ],
)
def test_text_is_selected_with_the_mouse(start: tuple[int, int], end: tuple[int, int], copied: str) -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await drag(app, pilot, start, end)
        await pilot.press("y")
        assert app.clipboard == copied
        await pilot.press("escape", "y")
        assert app.clipboard == f"line {91 + end[1]}"

    driven(numbered(100), do)


def test_selected_text_of_wide_characters_wrapped_rows_and_other_columns() -> None:
    lines = MemoryLines(["显存不足：需要 3.5 GiB", "x" * 60 + " ValueError", "export HF_TOKEN=hf_abcdefghijklmnopqrst"])

    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await drag(app, pilot, (7, 0), (13, 0))
        await pilot.press("y")
        assert app.clipboard == "显存不足"
        await drag(app, pilot, (7, 2), (40, 2))
        await pilot.press("y")
        assert app.clipboard == "export HF_TOKEN=hf_***"
        await pilot.press("right", "right")
        await drag(app, pilot, (7 + 61 - 16, 1), (7 + 63 - 16, 1))
        await pilot.press("y")
        assert app.clipboard == "Val"
        await pilot.press("w")
        await drag(app, pilot, (7 + 61 - 50, 2), (56, 2))
        await pilot.press("y")
        assert app.clipboard == "ValueError"

    driven(lines, do)


def test_a_part_of_a_fold_is_copied_as_it_stands_there_and_whole_folds_with_all_lines() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        app.pane.jump_to(4)
        await pilot.pause()
        head = next(y for y, row in enumerate(app.rows()) if row.lstrip("▶✖ ").startswith("4 "))
        await drag(app, pilot, (7, head), (11, head))
        assert app.pane.view.selected_text() == ("Trace", 1, 1)
        await drag(app, pilot, (7, head - 1), (7, head + 1))
        texts = app.pane.view.selected_text()[0].splitlines()
        assert [app.pane.view.lines.text(number) for number in (6, 8, 9, 10)] == texts[-4:]

    driven(crashed(), do)


def test_selected_text_is_seen() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await drag(app, pilot, (8, 1), (9, 1))
        row = list(app.pane.view.render_line(1))
        assert [segment.text for segment in row][3:6] == ["l", "in", "e 92"]
        assert row[3].style != row[4].style
        assert row[3].style == row[5].style
        assert app.pane.view.render_line(1).cell_length == app.pane.view.render_line(2).cell_length

    driven(numbered(100), do)


def test_a_huge_selection_is_copied_in_part() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        await pilot.press("g", "shift+down")
        app.pane.view.cursor = COPY_MOST + 10
        text, taken, total = app.pane.view.selected_text()
        assert (taken, total) == (COPY_MOST, COPY_MOST + 10)
        assert len(text.splitlines()) == COPY_MOST

    driven(numbered(COPY_MOST + 20), do)


# ---------------------------------------------------------------- looks


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "ansi-dark", "ansi-light"])
def test_every_theme_tells_errors_and_the_cursor_apart(theme: str) -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        app.theme = theme
        await pilot.press("g")
        await pilot.pause()
        view = app.pane.view
        plain, error = view.render_line(1), view.render_line(5)
        assert list(plain)[-1].style != list(error)[3].style
        assert list(view.render_line(0))[3].style != list(view.render_line(1))[3].style
        assert all(segment.style is None or segment.style.color is not None for segment in error)

    driven(crashed(), do)


def test_a_view_brings_its_language_and_the_start_that_was_chosen() -> None:
    lines = crashed()
    for number in range(40):
        lines.append(
            "again" if number else "server_args", LineMark(LineKind.BORDER if not number else LineKind.PLAIN, 2)
        )

    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        starts = (_start(1, 1, 13), _start(2, 14, 53))
        view = View(snapshot=_snapshot(starts), lang="zh")
        app.pane.show(replace(view, chosen=1))
        await pilot.pause()
        assert app.title_text.startswith("3 日志  已暂停")
        assert app.pane.view.cursor == 1
        app.pane.show(view)
        assert app.pane.view.following

    driven(lines, do)


def _start(number: int, first: int, last: int) -> AttemptSummary:
    return AttemptSummary(number, State.FAILED, None, None, first, last, Text("", ""))


def _snapshot(starts: tuple[AttemptSummary, ...]) -> Snapshot:
    verdict = Verdict(State.FAILED, 2, 2, 14, 53, Text("", ""), (), (), None, {}, (), "sglang", "")
    return Snapshot(
        Subject("file", "x"), Link.ENDED, Text("", ""), starts, verdict, (), None, None, Load(), starts[-1].last_line
    )


def test_it_speaks_chinese_at_once() -> None:
    async def do(app: PaneApp, pilot: Pilot[None]) -> None:
        app.pane.show_in("zh")
        await pilot.pause()
        assert app.title_text == "日志  跟随中 ─ 全部 ─ 13 行"
        assert "第 1 次启动" in app.rows()[0]

    driven(crashed(), do)
