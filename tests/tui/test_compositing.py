"""What has moved is drawn again: the terminal shows what the app means to show."""

import asyncio
import random
from dataclasses import replace

import pytest

from sgdoctor.watching.model import Link
from tests.tui.glass import Glass
from tests.tui.moments import reading_at, snapshot_of
from tests.tui.test_app import FAILED, READY, STARTING, Desk, desk

WAITING = snapshot_of(b"", link=Link.WAITING)


async def rest(one: Desk) -> None:
    for _ in range(6):
        await one.pilot.pause()
        await asyncio.sleep(0.02)


async def test_a_verdict_that_grows_leaves_no_row_of_before() -> None:
    async with desk(FAILED, WAITING, size=(80, 24)) as one:
        glass = Glass(one.app)
        one.app.screen.refresh()
        await rest(one)
        main = one.app.main
        one.app.draw(replace(one.app.view, snapshot=snapshot_of(FAILED)))
        # A timer may draw between the wish for another height and the layout that grants it, and a drawing asks where
        # it is; the change of a pane that is not shown makes Textual forget that it knew.
        main._verdict._check_refresh()
        main._compositor._full_map_invalidated = True
        assert main._tabs.region.y == 4
        await rest(one)

        assert glass.rows == glass.meant
        assert glass.rows[4].startswith("  1 Start-up")


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_whatever_comes_the_terminal_shows_what_is_meant(size: tuple[int, int]) -> None:
    chance = random.Random(f"{size}")
    moments = (
        WAITING, snapshot_of(STARTING, live=True), snapshot_of(FAILED), snapshot_of(READY, live=True),
        snapshot_of(FAILED, attempts=3),
    )  # fmt: skip
    keys = [*"1234znNjkwxFbel", "enter", "escape", "tab", "down", "pagedown", "space"]
    done: list[str] = []
    async with desk(FAILED, WAITING, size=size) as one:
        glass = Glass(one.app)
        one.app.screen.refresh()
        for step in range(40):
            match chance.choice(("moment", "moment", "reading", "key", "key")):
                case "moment":
                    one.session.give(chance.choice(moments))
                    done.append("moment")
                case "reading":
                    one.app.take_reading(reading_at(20 * chance.random(), count=chance.choice((1, 1, 2))))
                    done.append("reading")
                case _:
                    done.append(chance.choice(keys))
                    await one.pilot.press(done[-1])
            if step % 4 == 3:
                await rest(one)
                assert glass.rows == glass.meant, done
