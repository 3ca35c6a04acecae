"""The whole app under load: longest tick, keys, memory, first paint, from line to diagnosis, idle. Judges none.

    python benchmarks/watch_app.py [--rate 50000] [--seconds 60] [--lines 10000000] [--size 120x40]

A session plays a start of a recorded server and then a busy server's lines; the app draws it without a terminal.
The time that other programs took from the thread of the app is told apart.
"""

import argparse
import asyncio
import inspect
import time
from collections.abc import Iterator
from pathlib import Path

from log_view import Ticks, Timed, answered, memory_mib

from sgdoctor.diagnosis.model import State
from sgdoctor.rules.base import RuleBase, load_rule_base
from sgdoctor.tui.app import SgdoctorApp
from sgdoctor.tui.ports import Options
from sgdoctor.watching.feeds import Output, ScriptFeed
from sgdoctor.watching.session import Session
from watching import PIECE_LINES, REAL, piece, start_of_a_server

Script = Iterator[tuple[float, bytes | Output]]
SMALL = 200


class TimedApp(Timed, SgdoctorApp):
    """The app, timed."""

    # Beside its module, as the app finds it.
    CSS_PATH = str(Path(inspect.getfile(SgdoctorApp)).with_name("sgdoctor.tcss"))


def app_of(script: Script, base: RuleBase, *, end: bool = True) -> tuple[TimedApp, Session]:
    session = Session(ScriptFeed(script, end=end), base)
    return TimedApp(session, None, Options(base=base)), session


async def pressed(app: TimedApp, keys: list[str], seconds: float) -> tuple[Ticks, list[float]]:
    ticks, times = Ticks(), []
    task = asyncio.create_task(ticks.run())
    end = time.perf_counter() + seconds
    place = 0
    while time.perf_counter() < end:
        times += [taken] if (taken := await answered(app, keys[place % len(keys)])) is not None else []
        place += 1
        await asyncio.sleep(0.1)
    task.cancel()
    return ticks, times


def told(name: str, ticks: Ticks, times: list[float], lines: int) -> None:
    late = sorted(ticks.late)
    over = sum(value > 0.1 for value in ticks.own)
    print(
        f"{name:<18} {lines:>11,} lines   tick worst {late[-1] * 1000:4.0f} ms "
        f"({max(ticks.own) * 1000:.0f} less other programs, {over} over 100), "
        f"99 % {late[len(late) * 99 // 100] * 1000:3.0f} ms   "
        f"key worst {max(times) * 1000:4.0f} ms   {memory_mib():4.0f} MiB"
    )


async def load(base: RuleBase, rate: int, seconds: float, size: tuple[int, int]) -> None:
    traffic = b"".join(piece().splitlines(keepends=True)[:SMALL])
    pause = SMALL / rate

    def script() -> Script:
        yield 0.0, start_of_a_server()
        for _ in range(int(seconds * 2 / pause)):
            yield pause, traffic

    app, session = app_of(script(), base)
    began = time.perf_counter()
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        print(f"first paint {(app.first_paint - began) * 1000:.0f} ms; then {rate:,} lines a second")
        share = seconds / 4
        for name, keys in (
            ("all panes", ["2", "down", "3", "space", "space"]),
            ("log, reading", ["3", "up", "pageup", "down"]),
            ("log alone", ["z", "G", "up", "pagedown", "z", "G"]),
            ("windows", ["question_mark", "escape", "t", "l", "2", "3", "G"]),
        ):
            before = len(session.lines)
            ticks, times = await pressed(app, keys, share)
            told(name, ticks, times, len(session.lines))
            print(f"{'':<18} {(len(session.lines) - before) / share:>11,.0f} lines/s taken in")
    session.stop()


async def flood(base: RuleBase, lines: int, size: tuple[int, int]) -> None:
    traffic = piece()

    def script() -> Script:
        yield 0.0, start_of_a_server()
        for _ in range(lines // PIECE_LINES):
            yield 0.0, traffic

    before = memory_mib()
    app, session = app_of(script(), base)
    began = time.perf_counter()
    async with app.run_test(size=size):
        ticks, times = Ticks(), []
        task = asyncio.create_task(ticks.run())
        while len(session.lines) < lines:
            times += [taken] if (taken := await answered(app, "1")) is not None else []
            await asyncio.sleep(0.2)
        seconds = time.perf_counter() - began
        task.cancel()
        await asyncio.sleep(1)
        told("flood", ticks, times, len(session.lines))
        print(f"{'':<18} {lines / seconds:>11,.0f} lines/s, memory {before:.0f} -> {memory_mib():.0f} MiB")
    session.stop()


async def latency(base: RuleBase, size: tuple[int, int]) -> None:
    log = (REAL / "article27-mfs-0.80.log").read_bytes()
    border = log.index(b"Scheduler hit an exception")
    border = log.rindex(b"\n", 0, border) + 1
    sent = 0.0

    def script() -> Script:
        nonlocal sent
        yield 0.0, log[:border]
        yield 2.0, b""
        sent = time.perf_counter()
        yield 0.0, log[border:]

    app, session = app_of(script(), base, end=False)
    async with app.run_test(size=size) as pilot:
        while True:
            await pilot.pause(0.005)
            snapshot = app.view.snapshot
            if snapshot is not None and snapshot.verdict.state is State.FAILED:
                break
        print(
            f"from the lines of a failure to its diagnosis on the screen: {(time.perf_counter() - sent) * 1000:.0f} ms"
        )
    session.stop()


async def idle(base: RuleBase, seconds: float, size: tuple[int, int]) -> None:
    app, session = app_of(iter([(0.0, start_of_a_server())]), base, end=False)
    async with app.run_test(size=size) as pilot:
        await pilot.pause(3)
        used = time.process_time()
        await asyncio.sleep(seconds)
        print(f"idle: {(time.process_time() - used) / seconds * 100:.1f} % of a processor")
    session.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--rate", type=int, default=50_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--size", default="120x40")
    options = parser.parse_args()
    width, _, height = options.size.partition("x")
    size = int(width), int(height)
    base = load_rule_base()
    asyncio.run(load(base, options.rate, options.seconds, size))
    asyncio.run(latency(base, size))
    asyncio.run(idle(base, 10, size))
    asyncio.run(flood(base, options.lines, size))


if __name__ == "__main__":
    main()
