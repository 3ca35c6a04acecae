"""A dozen pictures of the app; with UPDATE_PICTURES=1 in the environment they are drawn anew, to be looked at."""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sgdoctor.config import Config
from sgdoctor.watching.model import Load, Snapshot
from tests.tui.moments import data_of, reading_at, snapshot_of
from tests.tui.test_app import FAILED, READY, desk

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
    load = Load(87.3, 3, 1, 0.42, 0.33, tuple(60.0 + (13 * step) % 40 for step in range(60)))
    return snapshot_of(READY, live=True, name="sgl-selode", uptime=3725.0, load=load)


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
)
MOMENTS = {"starting": (STARTING, starting), "failed": (FAILED, failed), "ready": (READY, ready)}


def name_of(picture: Picture) -> str:
    size = f"{picture.size[0]}x{picture.size[1]}"
    return "-".join((picture.moment, size, picture.lang, picture.theme, *picture.keys))


def plain(svg: str) -> str:
    """Without the numbers that Rich makes up for each picture."""
    return re.sub(r"terminal-\d+", "terminal", svg)


@pytest.mark.slow
@pytest.mark.parametrize("picture", SHOWN, ids=name_of)
async def test_picture(picture: Picture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, moment = MOMENTS[picture.moment]
    used = 0.6 if picture.moment == "failed" else 21.9
    options: dict[str, Any] = {"size": picture.size, "lang": picture.lang, "config": Config(theme=picture.theme)}
    async with desk(data, moment(), **options) as one:
        readings = [reading_at(min(used, 0.6 + max(0, step - 8) * 0.9)) for step in range(60)]
        history = one.app.view.history
        for reading in readings[:-1]:
            history = history.with_reading(reading)
        one.app.draw(replace(one.app.view, history=history))
        one.app.take_reading(readings[-1])
        await one.settled(lambda: one.app.view.reading is readings[-1])
        await one.press(*picture.keys)
        await one.pilot.pause(0.3)
        svg = plain(one.app.export_screenshot(title="sgdoctor watch"))
    stored = PICTURES / f"{name_of(picture)}.svg"
    if os.environ.get("UPDATE_PICTURES") == "1":
        PICTURES.mkdir(exist_ok=True)
        stored.write_text(svg, encoding="utf-8")
    drawn = tmp_path / stored.name
    drawn.write_text(svg, encoding="utf-8")

    assert stored.read_text(encoding="utf-8") == svg, f"look at {drawn}; UPDATE_PICTURES=1 keeps it"
