"""Draws the pictures of docs/images: moments of the recording that `sgdoctor demo` plays, in the real app.

    python tools/pictures.py [--png FOLDER]

They are drawn by a fixed clock, so that they change only when the app, a rule or the recording does. `--png` writes
PNG files too, to look at; it needs rsvg-convert (Debian: librsvg2-bin) and a font with Chinese characters.
"""

import argparse
import asyncio
import html
import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from rich.cells import cell_len
from textual.pilot import Pilot

from sgdoctor.cli.watch_log_doctor import LogDoctor
from sgdoctor.config import Config
from sgdoctor.demo.recording import SUBJECT, load_recording
from sgdoctor.diagnosis.verdict import LiveClock
from sgdoctor.gpu.model import GpuReading
from sgdoctor.gpu.recorded import RecordedSource
from sgdoctor.rules.base import load_rule_base
from sgdoctor.tui.app import SgdoctorApp
from sgdoctor.tui.history import History
from sgdoctor.tui.ports import Options
from sgdoctor.tui.screens.plan import PlanScreen
from sgdoctor.watching.feeds import Begun, Output, Standing
from sgdoctor.watching.live import Live
from sgdoctor.watching.load import LoadMeter
from sgdoctor.watching.model import Link, Snapshot
from sgdoctor.watching.stages import Now, ready_in, stages_of
from sgdoctor.watching.store import LineStore

IMAGES: Final = Path(__file__).resolve().parent.parent / "docs" / "images"
CHAR_WIDTH: Final = 12.2
"""Of a cell in Rich's SVG (rich/console.py: 20 pixels times 0.61)."""
_READINGS_EVERY: Final = 1.25
_QUIET: Final = 1.0
"""Seconds since the last line."""
_PATIENCE: Final = 20.0
_TICK: Final = 0.05
_QUIET_TICKS: Final = 14
_TEXT: Final = re.compile(
    r'<text (?P<style>class="[^"]*") x="(?P<x>[^"]*)" (?P<y>y="[^"]*") textLength="[^"]*"(?P<rest>[^>]*)>'
    r"(?P<text>[^<]*)</text>"
)


class Moment(StrEnum):
    """Where the recording stands still."""

    FAILED = "failed"
    CAPTURING = "capturing"
    READY = "ready"


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture: a moment, and the keys pressed then."""

    moment: Moment
    lang: str = "en"
    size: tuple[int, int] = (120, 36)
    theme: str = "dark"
    keys: tuple[str, ...] = ()


PICTURES: Final[Mapping[str, Picture]] = {
    "failed": Picture(Moment.FAILED),
    "failed.zh": Picture(Moment.FAILED, lang="zh"),
    "failed-80x24": Picture(Moment.FAILED, size=(80, 24)),
    "evidence": Picture(Moment.FAILED, keys=("n",)),
    "plan": Picture(Moment.FAILED, size=(120, 44), keys=("f",)),
    "plan.zh": Picture(Moment.FAILED, lang="zh", size=(120, 44), keys=("f",)),
    "starting": Picture(Moment.CAPTURING),
    "starting.zh": Picture(Moment.CAPTURING, lang="zh"),
    "ready": Picture(Moment.READY),
    "ready.zh": Picture(Moment.READY, lang="zh", theme="light"),
}


class Still:
    """A session that stands still at one moment of the recording.

    Attributes:
        readings: of the card until then.
    """

    gpu_name = ""

    def __init__(self, moment: Moment) -> None:
        self.lines = LineStore()
        self._live = Live(load_rule_base(user_dirs=()), self.lines)
        self._meter = LoadMeter()
        self._tail = b""
        self._standing = Standing(Link.WAITING)
        self._seconds = 0.0
        self._began = 0.0
        self._play(moment)
        self.snapshot = self._moment()

    def start(self, on_snapshot: Callable[[Snapshot], None], on_failure: Callable[[Exception], None]) -> None:
        """Gives the moment."""
        del on_failure
        on_snapshot(self.snapshot)

    def note_activity(self) -> None:
        """Nothing goes on."""

    def step_back(self, seconds: float) -> None:
        """Nothing is read."""
        del seconds

    def show_attempt(self, number: int | None) -> None:
        """There is only this moment."""
        del number

    def stop(self) -> None:
        """Nothing runs."""

    @property
    def readings(self) -> tuple[GpuReading, ...]:
        """Readings of the card until the moment, at the pace of the demonstration."""
        now = [0.0]
        source = RecordedSource(load_recording().readings, lambda: now[0])
        readings = []
        while now[0] < self._seconds:
            readings.append(source.read())
            now[0] += _READINGS_EVERY
        now[0] = self._seconds
        return (*readings, source.read())

    def _play(self, moment: Moment) -> None:
        for wait, arrival in load_recording().script:
            self._seconds += wait
            match arrival:
                case bytes():
                    # What follows the last line end is a progress bar.
                    whole, end, self._tail = (self._tail + arrival).rpartition(b"\n")
                    self._live.add(whole + end)
                    self._meter.take(self._live.samples)
                    if moment is Moment.CAPTURING and b"Capturing batches" in self._tail:
                        break
                case Output():
                    self._live.add(arrival.data, added=arrival.added)
                case Begun():
                    self._live.begin_start(arrival.started)
                    self._meter.clear()
                    self._began = self._seconds
                case Standing():
                    self._standing = arrival
                    if moment is Moment.FAILED and arrival.link is Link.WAITING:
                        break
        self._seconds += _QUIET

    def _moment(self) -> Snapshot:
        goes_on = self._standing.link is Link.FOLLOWING
        clock = LiveClock(_QUIET, self._seconds - self._began) if goes_on else None
        verdict = self._live.judge(tail=self._tail, clock=clock, full=True)
        first, last = self._live.clocks
        since = (last - first).total_seconds() + _QUIET if first is not None and last is not None else None
        now = Now(_QUIET, since) if goes_on else Now()
        stages = stages_of(verdict, now, lambda _: None, going_on=goes_on)
        facts = verdict.facts
        return Snapshot(
            subject=SUBJECT._replace(
                engine=f"{verdict.engine} {verdict.version}",
                model=str(facts["model_path"].value).rpartition("/")[2],
                ports=str(facts["port"].value),
            ),
            link=self._standing.link,
            note=self._standing.note,
            attempts=self._live.attempts(verdict),
            verdict=verdict,
            stages=stages,
            ready_in=ready_in(verdict, stages, now, None) if goes_on else None,
            uptime=None,
            load=self._meter.load,
            lines=len(self.lines),
        )


async def drawn(picture: Picture) -> str:
    """A picture as SVG."""
    still = Still(picture.moment)
    base = load_rule_base(user_dirs=())
    doctor = LogDoctor(base, lambda: still.snapshot)
    app = SgdoctorApp(
        still, None, Options(lang=picture.lang, config=Config(theme=picture.theme), base=base, doctor=doctor)
    )
    history = History()
    for reading in still.readings[:-1]:
        history = history.with_reading(reading)
    app.view = replace(app.view, history=history)
    async with app.run_test(size=picture.size) as pilot:
        app.take_reading(still.readings[-1])
        async with asyncio.timeout(_PATIENCE):
            while app.view.snapshot is None or app.view.reading is None:
                await pilot.pause(_TICK)
            while picture.moment is Moment.FAILED and app.view.forecast is None:
                await pilot.pause(_TICK)
            await pilot.press(*picture.keys)
            while "f" in picture.keys and not isinstance(app.screen, PlanScreen):
                await pilot.pause(_TICK)
            app.clear_notifications()
            return await _at_rest(app, pilot)


async def _at_rest(app: SgdoctorApp, pilot: Pilot[int]) -> str:
    """The screen when nothing has changed for longer than the slowest title takes to follow."""
    svg, quiet = "", 0
    while quiet < _QUIET_TICKS:
        await pilot.pause(_TICK)
        before, svg = svg, app.export_screenshot(title="sgdoctor")
        quiet = quiet + 1 if svg == before else 0
    return tidied(svg)


def tidied(svg: str) -> str:
    """The SVG as every program draws it alike.

    Without fonts from the network; with Chinese text as wide as its cells (Rich counts characters); with text placed
    where it begins, because some programs drop spaces before it.
    """
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    # Rich numbers each picture by its content, which would change every line of it with every word.
    return _TEXT.sub(_placed, re.sub(r"terminal-\d+", "t", svg))


def _placed(found: re.Match[str]) -> str:
    text = html.unescape(found["text"]).replace("\xa0", " ")
    shown = text.strip()
    if not shown:
        return ""
    x = float(found["x"]) + CHAR_WIDTH * (len(text) - len(text.lstrip()))
    length = CHAR_WIDTH * cell_len(shown)
    content = html.escape(shown, quote=False).replace(" ", "&#160;")
    head = f'<text {found["style"]} x="{x:g}" {found["y"]} textLength="{length:g}"{found["rest"]}>'
    return f"{head}{content}</text>"


def words(svg: str) -> list[str]:
    """What stands in a picture, piece by piece, whatever the libraries that drew it make of colours and shapes."""
    return [html.unescape(found["text"]).replace("\xa0", " ") for found in _TEXT.finditer(svg)]


def draw(name: str) -> str:
    """The SVG of a picture by name."""
    return asyncio.run(drawn(PICTURES[name]))


def main() -> None:
    """Writes all pictures."""
    parser = argparse.ArgumentParser(description="Draw the pictures of docs/images.")
    parser.add_argument("--png", type=Path, metavar="FOLDER", help="write PNG files too, into this folder")
    png: Path | None = parser.parse_args().png
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        path = IMAGES / f"{name}.svg"
        path.write_text(draw(name), encoding="utf-8")
        print(path)
        if png is not None:
            png.mkdir(parents=True, exist_ok=True)
            # librsvg stretches letters to a given length in its own way; without it the font's own widths hold.
            with tempfile.NamedTemporaryFile("w", suffix=".svg", encoding="utf-8") as plain:
                plain.write(re.sub(r' textLength="[^"]*"', "", path.read_text(encoding="utf-8")))
                plain.flush()
                subprocess.run(  # noqa: S603
                    ["rsvg-convert", "--output", str(png / f"{name}.png"), plain.name],  # noqa: S607
                    check=True,
                )


if __name__ == "__main__":
    main()
