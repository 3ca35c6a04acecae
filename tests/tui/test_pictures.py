"""A dozen pictures of the app; with UPDATE_PICTURES=1 in the environment they are drawn anew, to be looked at."""

import os
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sgdoctor.config import Config
from sgdoctor.tui.screens.confirm import ConfirmScreen
from sgdoctor.tui.screens.course import CourseScreen
from sgdoctor.tui.screens.plan import PlanScreen
from sgdoctor.watching.model import Load, Snapshot
from tests.tui.doctors import NOW, FakeDoctor
from tests.tui.moments import data_of, reading_at, snapshot_of
from tests.tui.test_app import FAILED, READY, Desk, desk

PICTURES = Path(__file__).parent / "pictures"
# Of a start with real weights: its log is a recorded one.
STARTING = data_of("skel27-mfs-0.92", until="Capturing batches (bs=")


def starting() -> Snapshot:
    return snapshot_of(
        STARTING, live=True, name="sgl-selode", ready_in=(130, 145), elapsed=47.0,
        learned=lambda phase: (171.0, 184.0) if phase == "graph_capture" else None,
    )  # fmt: skip


def failed() -> Snapshot:
    return snapshot_of(FAILED, attempts=3)


def ready() -> Snapshot:
    load = Load(87.3, 3, 1, 0.42, 0.33, speed_history=tuple(60.0 + (13 * step) % 40 for step in range(60)))
    return snapshot_of(READY, live=True, name="sgl-selode", uptime=3725.0, load=load)


# What the keys of a picture wait for, by the window that they open.
WINDOWS = {"f": PlanScreen, "r": ConfirmScreen, "u": ConfirmScreen, "y": CourseScreen}


class Picture(NamedTuple):
    moment: str
    size: tuple[int, int]
    lang: str
    theme: str
    keys: tuple[str, ...] = ()


SHOWN = (
    Picture("starting", (120, 40), "en", "dark"),
    Picture("starting", (80, 24), "en", "light", ("1",)),
    Picture("starting", (200, 50), "zh", "light"),
    Picture("failed", (120, 40), "en", "dark"),
    Picture("failed", (120, 40), "zh", "light"),
    Picture("failed", (80, 24), "en", "dark", ("2",)),
    Picture("failed", (80, 24), "zh", "light", ("2",)),
    Picture("failed", (200, 50), "en", "dark"),
    Picture("failed", (120, 40), "en", "dark", ("enter",)),
    Picture("failed", (80, 24), "en", "light", ("a",)),
    Picture("ready", (120, 40), "en", "light"),
    Picture("ready", (80, 24), "zh", "dark", ("4",)),
    Picture("ready", (120, 40), "zh", "dark", ("question_mark",)),
    Picture("failed", (120, 40), "en", "dark", ("f",)),
    Picture("failed", (120, 40), "zh", "light", ("f",)),
    Picture("failed", (80, 24), "en", "light", ("f",)),
    Picture("failed", (80, 24), "zh", "dark", ("f",)),
    Picture("failed", (120, 40), "en", "light", ("r",)),
    Picture("failed", (80, 24), "zh", "dark", ("r",)),
    Picture("failed", (120, 40), "en", "dark", ("r", "y")),
    Picture("failed", (120, 40), "zh", "light", ("r", "y")),
    Picture("failed", (80, 24), "en", "dark", ("r", "y")),
    Picture("failed", (120, 40), "en", "dark", ("r", "y", "escape")),
)
MOMENTS = {"starting": (STARTING, starting), "failed": (FAILED, failed), "ready": (READY, ready)}


def name_of(picture: Picture) -> str:
    size = f"{picture.size[0]}x{picture.size[1]}"
    return "-".join((picture.moment, size, picture.lang, picture.theme, *picture.keys))


def plain(svg: str) -> str:
    """Without the numbers that Rich makes up for each picture."""
    return re.sub(r"terminal-\d+", "terminal", svg)


def _is_shown(one: Desk, window: type[Any]) -> bool:
    return isinstance(one.app.screen, window)


@pytest.mark.slow
@pytest.mark.parametrize("picture", SHOWN, ids=name_of)
async def test_picture(picture: Picture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, moment = MOMENTS[picture.moment]
    used = 0.6 if picture.moment == "failed" else 21.9
    shown = moment()
    doctor = FakeDoctor(shown)
    options: dict[str, Any] = {
        "size": picture.size, "lang": picture.lang, "config": Config(theme=picture.theme), "doctor": doctor,
        "clock": lambda: NOW,
    }  # fmt: skip
    async with desk(data, shown, **options) as one:
        await one.settled(lambda: picture.moment != "failed" or one.app.view.forecast is not None)
        readings = [reading_at(min(used, 0.6 + max(0, step - 8) * 0.9)) for step in range(60)]
        history = one.app.view.history
        for reading in readings[:-1]:
            history = history.with_reading(reading)
        one.app.draw(replace(one.app.view, history=history))
        one.app.take_reading(readings[-1])
        await one.settled(lambda: one.app.view.reading is readings[-1])
        for key in picture.keys:
            await one.press(key)
            if (window := WINDOWS.get(key)) is not None and picture.moment == "failed":
                await one.settled(partial(_is_shown, one, window))
        await one.settled(lambda: "y" not in picture.keys or "graph" in str(one.app.view.course))
        await one.pilot.pause(0.3)
        one.app.clear_notifications()
        await one.pilot.pause()
        svg = plain(one.app.export_screenshot(title="sgdoctor watch"))
        doctor.go.set()
    stored = PICTURES / f"{name_of(picture)}.svg"
    if os.environ.get("UPDATE_PICTURES") == "1":
        PICTURES.mkdir(exist_ok=True)
        stored.write_text(svg, encoding="utf-8")
    drawn = tmp_path / stored.name
    drawn.write_text(svg, encoding="utf-8")

    assert stored.read_text(encoding="utf-8") == svg, f"look at {drawn}; UPDATE_PICTURES=1 keeps it"
