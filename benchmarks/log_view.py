"""The log pane under load: the longest tick, how fast keys are answered, memory. Prints figures, judges none.

    python benchmarks/log_view.py [--lines 1000000] [--rate 50000] [--seconds 60] [--size 120x40]

A thread appends lines to a real store at a steady rate while the pane follows, is wrapped, filtered and searched;
keys are pressed all the time. A second part opens a store that already holds many lines.
"""

import argparse
import asyncio
import resource
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from textual.app import App, ComposeResult

from sgdoctor.rules.model import Severity
from sgdoctor.tui.log_filter import ERRORS, EVERYTHING, LineFilter, of_rank
from sgdoctor.tui.log_pane import LogPane
from sgdoctor.watching.marks import RuleMark
from sgdoctor.watching.model import LineKind
from sgdoctor.watching.store import LineStore

BATCH = 500
TRACEBACK = (
    "[2026-11-30 11:03:10 TP{r}] Scheduler hit an exception: Traceback (most recent call last):",
    '  File "/usr/local/lib/python3.12/dist-packages/sglang/srt/managers/scheduler.py", line 3120, in run',
    "    scheduler = Scheduler(server_args, port_args)",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB.",
)
BUSY = (
    "[2026-11-30 11:{m:02d}:{s:02d} TP{r}] Decode batch, #running-req: 6, #full token: {n}, token usage: 0.{u:02d}, "
    "cuda graph: True, gen throughput (token/s): 19{u:02d}.63, #queue-req: 0"
)


def batch() -> bytes:
    """``BATCH`` lines, a traceback among them."""
    lines = [BUSY.format(m=n // 60 % 60, s=n % 60, n=n * 37, u=n % 97, r=n % 2) for n in range(BATCH - len(TRACEBACK))]
    lines[100:100] = [line.format(r=0) for line in TRACEBACK]
    return "\n".join(lines).encode() + b"\n"


class Writer:
    """Fills a store, with marks as a session would set them."""

    def __init__(self, store: LineStore) -> None:
        self.store = store
        self._batch = batch()
        self._stop = threading.Event()

    def write(self) -> None:
        before = len(self.store)
        self.store.append(self._batch)
        head = before + 101
        self.store.marks.set_kind(head, LineKind.TRACEBACK_HEAD)
        for number in range(head + 1, head + len(TRACEBACK)):
            self.store.marks.set_head(number, head)

    def fill(self, count: int) -> None:
        while len(self.store) < count:
            self.write()

    @contextmanager
    def writing(self, rate: int, pane: LogPane) -> Iterator[None]:
        """Writes ``rate`` lines a second from a thread."""
        thread = threading.Thread(target=self._run, args=(rate, pane), daemon=True)
        self._stop.clear()
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _run(self, rate: int, pane: LogPane) -> None:
        began, written, marked = time.perf_counter(), 0, 0.0
        while not self._stop.is_set():
            self.write()
            pane.wake()
            written += BATCH
            now = time.perf_counter()
            if now - marked > 0.5:
                # Now and then a rule is found in what was written a while ago.
                marked, number = now, max(1, len(self.store) - 300)
                span = range(number, number + 1)
                self.store.marks.replace(span, {number: RuleMark("SGL201", Severity.ERROR)}, ())
            ahead = began + written / rate - now
            if ahead > 0:
                time.sleep(ahead)


class Timed(App[Any]):
    """Notes when what a key did is painted."""

    handled = False
    first_paint = 0.0

    def timed(self) -> None:
        self.painted = asyncio.Event()

    async def run_action(self, *arguments: Any, **named: Any) -> bool:
        done = await super().run_action(*arguments, **named)
        self.handled = self.handled or done
        return done

    def _display(self, screen: Any, renderable: Any) -> None:
        super()._display(screen, renderable)
        self.first_paint = self.first_paint or time.perf_counter()
        if self.handled:
            self.handled = False
            self.painted.set()


class Bench(Timed):
    def __init__(self, store: LineStore) -> None:
        super().__init__()
        self.pane = LogPane(store)

    def compose(self) -> ComposeResult:
        yield self.pane

    def on_mount(self) -> None:
        self.pane.focus()


def waited() -> float:
    """Seconds that this thread could have run and other programs had the processor."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


class Ticks:
    """How late the loop of the app wakes up, and how late it would on a machine of its own."""

    def __init__(self) -> None:
        self.late: list[float] = []
        self.own: list[float] = []

    async def run(self) -> None:
        before, before_waited = time.perf_counter(), waited()
        while True:
            await asyncio.sleep(0.005)
            now, now_waited = time.perf_counter(), waited()
            self.late.append(now - before - 0.005)
            self.own.append(self.late[-1] - (now_waited - before_waited))
            before, before_waited = now, now_waited


async def answered(app: Timed, key: str) -> float | None:
    """Seconds from a key to the screen that shows what it did; None if it changed nothing."""
    app.timed()
    began = time.perf_counter()
    app.simulate_key(key)
    try:
        await asyncio.wait_for(app.painted.wait(), 2)
    except TimeoutError:
        return None
    return time.perf_counter() - began


def memory_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def told(name: str, store: LineStore, ticks: Ticks, keys: list[float]) -> None:
    late = sorted(ticks.late)
    print(
        f"{name:<18} {len(store):>11,} lines   tick worst {late[-1] * 1000:4.0f} ms "
        f"({max(ticks.own) * 1000:.0f} less other programs), 99 % {late[len(late) * 99 // 100] * 1000:3.0f} ms   "
        f"key worst {max(keys) * 1000:4.0f} ms, median {statistics.median(keys) * 1000:3.0f} ms   {memory_mib():4.0f} MiB"
    )


async def measured(app: Bench, store: LineStore, name: str, seconds: float, presses: list[str]) -> None:
    ticks, keys = Ticks(), []
    task = asyncio.create_task(ticks.run())
    end = time.perf_counter() + seconds
    place = 0
    while time.perf_counter() < end or place < len(presses):
        keys += [taken] if (taken := await answered(app, presses[place % len(presses)])) is not None else []
        place += 1
        await asyncio.sleep(0.05)
    task.cancel()
    told(name, store, ticks, keys)


async def until(true: Any) -> float:
    began = time.perf_counter()
    while not true():  # noqa: ASYNC110 - what is waited for is no event
        await asyncio.sleep(0.01)
    return time.perf_counter() - began


async def live(rate: int, seconds: float, size: tuple[int, int]) -> None:
    store = LineStore()
    writer = Writer(store)
    writer.fill(1000)
    app = Bench(store)
    print(f"{rate:,} lines a second, {size[0]}x{size[1]}; {memory_mib():.0f} MiB before")
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        with writer.writing(rate, app.pane):
            share = seconds / 6
            await measured(app, store, "following", share * 2, ["space", "space"])
            await measured(app, store, "reading above", share, ["up", "pageup", "up", "down"])
            app.pane.view.following = True
            app.pane.filter(ERRORS)
            await measured(app, store, "following errors", share, ["space", "space"])
            app.pane.filter(EVERYTHING)
            app.pane.search("out of memory")
            await measured(app, store, "searching", share, ["n", "N", "G"])
            app.pane.end_search()
            app.pane.view.following = True
            app.pane.view.wrapping = True
            await measured(app, store, "wrapped", share, ["space", "space", "pageup", "G"])
        await until(lambda: not app.pane.view.looking)
        print(f"rows shown: {app.pane.view.count:,} of {len(store):,}")


async def many(count: int, size: tuple[int, int]) -> None:
    store = LineStore()
    Writer(store).fill(count)
    held = memory_mib()
    app = Bench(store)
    began = time.perf_counter()
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        print(
            f"{count:,} lines already there ({held:.0f} MiB): first paint {(time.perf_counter() - began) * 1000:.0f} ms",
            end="",
        )
        print(f", all taken in after {await until(lambda: not app.pane.view.looking) * 1000:.0f} ms more")
        moves = ["g", "pagedown", "G", "up", "pageup", "down"]
        await measured(app, store, "moving", 3, moves)
        filters: list[tuple[str, LineFilter]] = [
            ("errors", ERRORS),
            ("all", EVERYTHING),
            ("one rank", of_rank("TP1")),
            ("without harmless", LineFilter(hide_benign=True)),
        ]
        for name, wanted in filters:
            ticks = Ticks()
            task = asyncio.create_task(ticks.run())
            app.pane.view.filter(wanted)
            taken = await until(lambda: not app.pane.view.looking)
            task.cancel()
            print(f"filter {name:<27} {taken * 1000:6.0f} ms, worst tick {max(ticks.late) * 1000:4.0f} ms")
        app.pane.view.filter(EVERYTHING)
        await until(lambda: not app.pane.view.looking)
        for pattern, regex in (("OutOfMemory", False), ("out of memory", False), (r"usage: 0\.96", True)):
            ticks = Ticks()
            task = asyncio.create_task(ticks.run())
            app.pane.search(pattern, regex=regex)
            search = app.pane.view.search
            assert search is not None
            taken = await until(lambda search=search: search.complete)
            task.cancel()
            print(
                f"search {pattern:<27} {taken * 1000:6.0f} ms, worst tick {max(ticks.late) * 1000:4.0f} ms, "
                f"{len(search.matches):,} matches"
            )
        app.pane.end_search()
        app.pane.view.wrapping = True
        await measured(app, store, "moving, wrapped", 3, moves)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--rate", type=int, default=50_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--size", default="120x40")
    options = parser.parse_args()
    width, _, height = options.size.partition("x")
    size = int(width), int(height)
    asyncio.run(live(options.rate, options.seconds, size))
    asyncio.run(many(options.lines, size))


if __name__ == "__main__":
    main()
