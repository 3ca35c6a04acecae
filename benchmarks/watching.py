"""Speed, memory and latency of a watched log, without a screen. Prints figures, judges none.

    python benchmarks/watching.py [--lines 10000000] [--rate 50000] [--seconds 20]

`flood`: a busy server's lines as fast as the session takes them, and what the process holds in memory afterwards.
`rate`: the same at a steady rate: the longest time that another thread had to wait for the interpreter.
`latency`: from the last line of a failure to the snapshot that names it, during a start and behind 100,000 lines.
`idle`: processor time of a session that waits.
"""

import argparse
import resource
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Self

from sgdoctor.diagnosis.model import State
from sgdoctor.diagnosis.pipeline import diagnose_bytes
from sgdoctor.rules.base import RuleBase, load_rule_base
from sgdoctor.watching.feeds import Output, ScriptFeed
from sgdoctor.watching.model import LineKind, Snapshot
from sgdoctor.watching.session import Session

REAL = Path(__file__).resolve().parent.parent / "fixtures" / "logs" / "real"
BUSY = (
    "[2026-11-30 11:{m:02d}:{s:02d}] Decode batch, #running-req: 6, #full token: {n}, full token usage: 0.{u:02d}, "
    "mamba num: 24, mamba usage: 0.01, cuda graph: True, gen throughput (token/s): 19{u:02d}.63, #queue-req: 0\n"
    '[2026-11-30 11:{m:02d}:{s:02d}] INFO:     127.0.0.1:5{n:04d} - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
)
PIECE_LINES = 2_000
OUT_OF_MEMORY = b"""[2026-11-30 11:03:10] Scheduler hit an exception: Traceback (most recent call last):
  File "/usr/local/lib/python3.12/dist-packages/sglang/srt/managers/scheduler.py", line 3120, in run_scheduler_process
    scheduler = Scheduler(server_args, port_args)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB. GPU 0 has a total capacity of 23.57 GiB of which 512.00 MiB is free.

[2026-11-30 11:03:10] Received sigquit from a child process. It usually means the child failed.
"""


def piece() -> bytes:
    return "".join(
        BUSY.format(m=n // 60 % 60, s=n % 60, n=n % 10_000, u=n % 97) for n in range(PIECE_LINES // 2)
    ).encode()


def start_of_a_server() -> bytes:
    data = (REAL / "boot-hybrid.log").read_bytes()
    return data[: data.index(b"SIGTERM received")].rpartition(b"\n")[0] + b"\n"


def memory_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


class Ticker:
    """Wakes every millisecond, as an app does, and notes by how much it was late."""

    def __init__(self) -> None:
        self.worst = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        before = time.perf_counter()
        while not self._stop.is_set():
            time.sleep(0.001)
            now = time.perf_counter()
            self.worst = max(self.worst, now - before)
            before = now


def run(base: RuleBase, script: Iterator[tuple[float, bytes | Output]], lines: int) -> tuple[Session, float, int]:
    session = Session(ScriptFeed(script), base)
    done = threading.Event()
    count = 0

    def take(snapshot: Snapshot) -> None:
        nonlocal count
        count += 1
        if snapshot.lines >= lines:
            done.set()

    began = time.perf_counter()

    def fail(error: Exception) -> None:
        print(f"failed: {error!r}")
        done.set()

    session.start(take, fail)
    done.wait()
    return session, time.perf_counter() - began, count


def flood(base: RuleBase, lines: int) -> None:
    start, traffic = start_of_a_server(), piece()
    pieces = lines // PIECE_LINES

    def script() -> Iterator[tuple[float, bytes | Output]]:
        yield 0.0, start
        for _ in range(pieces):
            yield 0.0, traffic

    before = memory_mib()
    with Ticker() as ticker:
        session, seconds, snapshots = run(base, script(), start.count(b"\n") + pieces * PIECE_LINES)
    print(
        f"flood: {lines:,} lines in {seconds:.1f} s: {lines / seconds:,.0f} lines/s, {snapshots} snapshots, "
        f"worst tick {1000 * ticker.worst:.0f} ms, memory {before:.0f} -> {memory_mib():.0f} MiB"
    )
    searches: tuple[tuple[str, Callable[[], Sequence[int]]], ...] = (
        ("search for a rare text", lambda: session.lines.search("fired up", regex=False, ignore_case=False)),
        (
            "search by expression, 1,000,000 lines",
            lambda: session.lines.search(r"fir\w+ up", regex=True, ignore_case=True, last=1_000_000),
        ),
        ("select errors", lambda: session.lines.select(frozenset({LineKind.ERROR, LineKind.TRACEBACK_HEAD}))),
    )
    for name, find in searches:
        began = time.perf_counter()
        found = len(find())
        print(f"       {name}: {1000 * (time.perf_counter() - began):.0f} ms, {found} found")
    session.stop()


def rate(base: RuleBase, per_second: int, seconds: int) -> None:
    start, traffic = start_of_a_server(), piece()
    pieces = per_second * seconds // PIECE_LINES
    pause = PIECE_LINES / per_second

    def script() -> Iterator[tuple[float, bytes | Output]]:
        yield 0.0, start
        for _ in range(pieces):
            yield pause, traffic

    used = time.process_time()
    with Ticker() as ticker:
        session, taken, snapshots = run(base, script(), start.count(b"\n") + pieces * PIECE_LINES)
    used = time.process_time() - used
    session.stop()
    print(
        f"rate:  {per_second:,} lines/s for {seconds} s took {taken:.1f} s, {snapshots / taken:.1f} snapshots/s, "
        f"worst tick {1000 * ticker.worst:.0f} ms, processor {100 * used / taken:.0f} %"
    )


def decisive(lines: list[bytes], base: RuleBase) -> int:
    """Index of the first line after which the answer is known."""
    return next(
        index
        for index in range(len(lines))
        if diagnose_bytes(b"".join(lines[: index + 1]), "", base)[-1].state is State.FAILED
    )


def latency(base: RuleBase, ahead: int) -> None:
    times = []
    for name in ("bcg-decode-hybrid", "boot-hybrid-flashinfer", "article27-mfs-0.80"):
        lines = (REAL / f"{name}.log").read_bytes().splitlines(keepends=True)
        if name == "boot-hybrid-flashinfer":
            lines = [line for line in lines if b"SIGTERM" not in line][:120] + OUT_OF_MEMORY.splitlines(keepends=True)
        border = decisive(lines, base)
        times.append(answer_time(base, lines, border, ahead))
    shown = ", ".join(f"{1000 * value:.0f}" for value in times)
    print(f"latency behind {ahead:,} lines: {shown} ms from the line that decides to the snapshot")


def answer_time(base: RuleBase, lines: list[bytes], border: int, ahead: int) -> float:
    traffic = piece()
    moments = {"sent": 0.0, "answer": 0.0}
    answered = threading.Event()

    def script() -> Iterator[tuple[float, bytes | Output]]:
        for line in lines[: border - 5]:
            yield 0.0, line
        for _ in range(ahead // PIECE_LINES):
            yield 0.0, traffic
        yield 2.0, b""
        for index, line in enumerate(lines[border - 5 :], border - 5):
            yield 0.005, line
            if index == border:
                # The feed asks for the next entry when it gives this one.
                moments["sent"] = time.perf_counter()

    def take(snapshot: Snapshot) -> None:
        if snapshot.verdict.state is State.FAILED and not answered.is_set():
            moments["answer"] = time.perf_counter()
            answered.set()

    session = Session(ScriptFeed(script(), end=False), base)
    session.start(take)
    answered.wait(60)
    session.stop()
    return moments["answer"] - moments["sent"]


def idle(base: RuleBase, seconds: int) -> None:
    session = Session(ScriptFeed([(0.0, start_of_a_server())], end=False), base)
    session.start(lambda _: None)
    time.sleep(2)
    used = time.process_time()
    time.sleep(seconds)
    used = time.process_time() - used
    session.stop()
    print(f"idle:  {100 * used / seconds:.2f} % of a processor while it serves in silence")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--rate", type=int, default=50_000)
    parser.add_argument("--seconds", type=int, default=20)
    arguments = parser.parse_args()
    base = load_rule_base()
    idle(base, 5)
    latency(base, 0)
    latency(base, 100_000)
    rate(base, arguments.rate, arguments.seconds)
    flood(base, arguments.lines)


if __name__ == "__main__":
    main()
