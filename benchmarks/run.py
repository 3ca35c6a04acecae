"""Speed of `sgdoctor diagnose` against the tools a person would reach for, as ratios of one run on one machine.

    python benchmarks/run.py [--mib 1024] [--rounds 5] [--dir DIR]

Prints, for a large log of a busy server with a few planted failures: sgdoctor against `cat` to a pipe and against
`rg -j1 -F -f LITERALS` with the literals of the rule base; its memory beyond the mapped file; and for a small log the
whole process against `python -c "import argparse, rich.console, regex, hyperscan"`, also with 500 more rules.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
REAL = REPO / "fixtures" / "logs" / "real"
# An installation has its modules compiled; a shell that forbids that would have them compiled at every start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
SGDOCTOR = [str(Path(sys.executable).with_name("sgdoctor")), "diagnose", "--lang", "en"]
BASELINE = [sys.executable, "-c", "import argparse, rich.console, regex, hyperscan"]

BUSY = (
    "[2026-11-30 11:{m:02d}:{s:02d}] Decode batch, #running-req: 6, #full token: {n}, full token usage: 0.{u:02d}, "
    "mamba num: 24, mamba usage: 0.01, cuda graph: True, gen throughput (token/s): 19{u:02d}.63, #queue-req: 0\n"
    "[2026-11-30 11:{m:02d}:{s:02d}] Prefill batch, #new-seq: 1, #new-token: {n}, #cached-token: 0, full token usage: 0.0{u:02d}, "
    "mamba usage: 0.01, #running-req: 0, #queue-req: 0, #pending-token: 0, cuda graph: False, input throughput (token/s): 336.4\n"
    '[2026-11-30 11:{m:02d}:{s:02d}] INFO:     127.0.0.1:5{n:04d} - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
)


def write_large_log(path: Path, mib: int) -> None:
    """A start, then traffic with four planted request failures, then the death of the server by the dtype mistake."""
    start = (REAL / "dtype-float16-hybrid-long-prompt.log").read_bytes()
    ready = start.index(b"The server is fired up and ready to roll!")
    boot, death = start[: ready + 42], start[ready + 42 :]
    traffic = "".join(BUSY.format(m=n // 60 % 60, s=n % 60, n=n % 10_000, u=n % 97) for n in range(20_000)).encode()
    planted = (
        b"[2026-11-30 11:30:00] Input length (38001 tokens) exceeds the maximum allowed length (21735 tokens). "
        b"Use a shorter input or enable --allow-auto-truncate.\n"
    )
    size = mib << 20
    with path.open("wb") as file:
        file.write(boot)
        written, blocks = len(boot), 0
        while written < size - len(death):
            written += file.write(traffic)
            blocks += 1
            if blocks % max(1, size // len(traffic) // 4) == 0:
                written += file.write(planted)
        file.write(death)


def seconds(command: Sequence[str], *, stdin: Path | None = None, env: dict[str, str] | None = None) -> float:
    """Wall clock of one whole process whose output goes to a pipe."""
    with (stdin or Path(os.devnull)).open("rb") as source:
        start = time.perf_counter()
        done = subprocess.run(command, stdin=source, capture_output=True, check=False, env=env)
        taken = time.perf_counter() - start
    if done.returncode not in (0, 3, 4, 5):
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.decode()[-400:]}")
    return taken


def cat_to_pipe(path: Path) -> float:
    """``cat FILE`` into a pipe that is read and thrown away."""
    start = time.perf_counter()
    with subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        buffer = bytearray(1 << 20)
        while process.stdout.readinto(buffer):  # type: ignore[attr-defined]
            pass
    return time.perf_counter() - start


def best(rounds: int, *measures: Callable[[], float]) -> list[float]:
    """The median of each measure, taken in turn so that all of them see the same machine."""
    taken = [[measure() for measure in measures] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*taken, strict=True)]


def peak_beyond(command: Sequence[str], path: Path) -> float:
    """MiB of anonymous memory at the peak: the resident peak of a run on the large log, less the file's own pages.

    ``ru_maxrss`` counts mapped file pages too, so the child is asked for its private peak through /proc by a watcher.
    """
    process = subprocess.Popen([*command, str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        for line in status.splitlines():
            if line.startswith("RssAnon:"):
                peak = max(peak, int(line.split()[1]))
        time.sleep(0.005)
    process.wait()
    return peak / 1024


def many_rules(folder: Path, count: int) -> None:
    """``count`` user rules made from one built-in rule under new ids."""
    source = next(iter(sorted((REPO / "rules" / "memory").glob("*.yaml")))).read_text()
    identity = next(line.split()[1] for line in source.splitlines() if line.startswith("id:"))
    name = next(line.split()[1] for line in source.splitlines() if line.startswith("name:"))
    folder.mkdir(parents=True)
    for number in range(count):
        text = source.replace(identity, f"USR{number:03d}").replace(f"name: {name}", f"name: user-{number}")
        text = text.replace("literals: [", f'literals: ["a literal of user rule {number:03d}", ')
        (folder / f"user-{number}.yaml").write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--mib", type=int, default=1024, help="size of the large log")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dir", type=Path, default=None, help="where the large log is written")
    options = parser.parse_args()

    from sgdoctor.rules.base import load_rule_base

    literals = load_rule_base().literals
    with tempfile.TemporaryDirectory(dir=options.dir) as name:
        folder = Path(name)
        large = folder / "large.log"
        write_large_log(large, options.mib)
        print(f"large log: {large.stat().st_size / 2**20:.0f} MiB, {len(literals)} literals")
        cat_to_pipe(large)  # warms the page cache

        measures: list[Callable[[], float]] = [
            lambda: seconds([*SGDOCTOR, str(large)]),
            lambda: cat_to_pipe(large),
        ]
        if rg := shutil.which("rg"):
            patterns = folder / "literals"
            patterns.write_text("\n".join(literals))
            measures.append(lambda: seconds([rg, "-j1", "-F", "-c", "-f", str(patterns), str(large)]))
        times = best(options.rounds, *measures)
        print(f"sgdoctor diagnose      {times[0]:6.2f} s")
        print(f"cat to a pipe          {times[1]:6.2f} s   sgdoctor / cat = {times[0] / times[1]:.2f}")
        if len(times) > 2:
            print(f"rg -j1 -F -f literals  {times[2]:6.2f} s   sgdoctor / rg  = {times[0] / times[2]:.2f}")
        print(f"memory beyond the file {peak_beyond(SGDOCTOR, large):6.0f} MiB")
        large.unlink()

        small = REAL / "article27-mfs-0.80.log"
        user = folder / "config" / "sgdoctor" / "rules"
        many_rules(user, 500)
        more = {
            **os.environ,
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_CACHE_HOME": str(folder / "cache"),
        }
        seconds([*SGDOCTOR, str(small)], env=more)  # compiles the larger rule base once
        start = best(
            max(10, options.rounds),
            lambda: seconds(BASELINE),
            lambda: seconds([*SGDOCTOR, str(small)]),
            lambda: seconds([*SGDOCTOR, str(small)], env=more),
        )
        print(f"start-up: imports alone {start[0] * 1000:.0f} ms; diagnose of a small log {start[1] * 1000:.0f} ms")
        print(f"  sgdoctor / imports = {start[1] / start[0]:.2f}, with 500 more rules {start[2] / start[0]:.2f}")


if __name__ == "__main__":
    main()
