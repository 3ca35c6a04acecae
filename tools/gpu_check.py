"""Proves the GPU readings on a real card: against ``nvidia-smi``, and with processes that hold known amounts.

Usage: ``python tools/gpu_check.py [several] FOLDER`` on a machine with otherwise idle NVIDIA GPUs. FOLDER receives
the report ``gpu-check.md``, the recording ``recorded.jsonl`` and what ``nvidia-smi`` printed. UUIDs are replaced. No
setting of the card is touched. Parts that need root (a control group, a PID namespace, hidden device files) say so
when skipped.
"""
# ruff: noqa: S603, S607 - it runs itself and the system's own tools

import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Final

from sgdoctor.gpu.ledger import LogMemory, PartKind, ledger
from sgdoctor.gpu.machine import this_machine
from sgdoctor.gpu.model import Gpu, GpuProcess, GpuReading
from sgdoctor.gpu.nvml import NvmlSource
from sgdoctor.gpu.owners import ProcessTable
from sgdoctor.gpu.recorded import from_json, to_json, write_recording
from sgdoctor.gpu.smi import SmiSource, run_here
from sgdoctor.gpu.source import Sampler

CONTAINER: Final = "5" * 8 + "c0ffee" * 9 + "55"
NAMES: Final = {CONTAINER: "sgl-check"}
SERVER: Final = LogMemory(weights_gib=18.0, state_gib=1.125, kv_gib=1.5, graph_gib=0.0625)
UUID: Final = "GPU-00000000-0000-4000-8000-00000000000"


class Holder:
    """A child process that holds GPU memory on command, on one card."""

    def __init__(self, card: int = 0) -> None:
        self._child = subprocess.Popen(
            [sys.executable, __file__, "hold"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "CUDA_VISIBLE_DEVICES": str(card), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"},
        )
        self.pid = self._child.pid

    def tell(self, command: str) -> None:
        """Has one command carried out and waits for that."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(f"{command}\n")
        self._child.stdin.flush()
        answer = self._child.stdout.readline().strip()
        if answer != "done":
            raise SystemExit(f"{command}: {answer or 'no answer'}")

    def end(self) -> None:
        """Ends the process, which gives its memory back."""
        self._child.communicate("")


def hold() -> None:
    """The child: ``open``, ``take BYTES``, ``give``, ``work SECONDS``, one command a line, until the input ends."""
    cuda = ctypes.CDLL("libcuda.so.1")
    blocks: list[tuple[ctypes.c_uint64, int]] = []

    def call(name: str, *arguments: object) -> None:
        code = getattr(cuda, name)(*arguments)
        if code:
            raise SystemExit(f"{name}: CUDA error {code}")

    for line in sys.stdin:
        command, *rest = line.split()
        if command == "open":
            call("cuInit", 0)
            context = ctypes.c_void_p()
            call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
            call("cuCtxSetCurrent", context)
        elif command == "take":
            block = ctypes.c_uint64()
            call("cuMemAlloc_v2", ctypes.byref(block), ctypes.c_size_t(int(rest[0])))
            blocks.append((block, int(rest[0])))
        elif command == "give":
            call("cuMemFree_v2", blocks.pop()[0])
        elif command == "work":
            end = time.monotonic() + float(rest[0])
            block, size = blocks[0]
            while time.monotonic() < end:
                for _ in range(20):
                    call("cuMemsetD32_v2", block, ctypes.c_uint(7), ctypes.c_size_t(size // 4))
                call("cuCtxSynchronize")
        print("done", flush=True)


def nvml() -> NvmlSource:
    """The source under test."""
    return NvmlSource(ProcessTable(NAMES), this_machine())


def peek() -> None:
    """Inside a PID namespace: what NVML and nvidia-smi list, before and after taking 512 MiB there."""
    source, smi = nvml(), SmiSource(ProcessTable(NAMES), this_machine())
    before = source.read()
    holder = Holder()
    holder.tell("open")
    holder.tell(f"take {512 << 20}")
    print(json.dumps([holder.pid, to_json(before), to_json(source.read()), to_json(smi.read())]), flush=True)
    sys.stdin.readline()
    holder.end()


def vanish() -> None:
    """Inside a mount namespace: the device files are hidden and come back."""
    source = nvml()
    answers = [source.read()]
    devices = [str(path) for path in Path("/dev").glob("nvidia*") if path.is_char_device()]
    for device in devices:
        subprocess.run(["mount", "--bind", "/dev/null", device], check=True)
    source.close()
    answers += [source.read(), SmiSource(ProcessTable(), this_machine()).read(), source.read()]
    for device in devices:
        subprocess.run(["umount", device], check=True)
    time.sleep(1.1)
    answers.append(source.read())
    print(json.dumps([f"{answer.source or 'none'}: {len(answer.gpus)} GPUs. {answer.reason.en}" for answer in answers]))


@contextmanager
def control_group(pid: int) -> Iterator[str]:
    """Puts a process into a control group named as Docker names them; gives what the kernel then says of it."""
    roots = [
        (Path("/sys/fs/cgroup"), f"docker-{CONTAINER}.scope"),
        (Path("/sys/fs/cgroup/unified"), f"docker-{CONTAINER}.scope"),
        (Path("/sys/fs/cgroup/pids"), f"docker-{CONTAINER}"),
    ]
    for root, name in roots:
        if not (root / "cgroup.procs").exists():
            continue
        group = root / name
        try:
            group.mkdir()
            (group / "cgroup.procs").write_text(str(pid))
        except OSError as error:
            print(f"no control group below {root}: {error}")
            continue
        try:
            lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
            yield next((line for line in lines if CONTAINER in line), "").replace(CONTAINER, "<id>")
        finally:
            os.sync()
            for _ in range(50):
                try:
                    group.rmdir()
                    break
                except OSError:
                    time.sleep(0.1)
        return
    yield ""


def of(gpu: Gpu, pid: int) -> GpuProcess:
    """A process in a reading."""
    return next((each for each in gpu.processes if each.pid == pid), GpuProcess(pid, "not listed", None))


def nameless(gpu: Gpu) -> Gpu:
    """A GPU without the serial number of its own."""
    return gpu._replace(uuid=f"{UUID}{gpu.number}")


def smi_text(query: str, folder: Path, name: str) -> None:
    """Keeps what nvidia-smi prints, for the tests of its parser."""
    text = run_here(["nvidia-smi", *query.split()])
    for gpu in nvml().read().gpus:
        text = text.replace(gpu.uuid, f"{UUID}{gpu.number}")
    (folder / name).write_text(text)


class Report:
    """The lines of gpu-check.md."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, *lines: str) -> None:
        """Adds lines and shows them."""
        self.lines += lines
        print(*lines, sep="\n", flush=True)

    def compare(self, title: str) -> None:
        """Both sources at the same time, field by field."""
        ours, theirs = nvml().read(), SmiSource(ProcessTable(NAMES), this_machine()).read()
        self.add("", f"{title}:", "", "| field | NVML | nvidia-smi |", "|---|---|---|")
        for left, right in zip(map(nameless, ours.gpus), map(nameless, theirs.gpus), strict=True):
            for field in Gpu._fields:
                if field not in ("processes", "notes"):
                    self.add(f"| {field} | {getattr(left, field)} | {getattr(right, field)} |")
            for process in left.processes:
                other = of(right, process.pid)
                self.add(f"| process: {process.name} | {process.used_mib} | {other.used_mib} ({other.name}) |")
            self.add(f"| notes | {[note.en for note in left.notes]} | {[note.en for note in right.notes]} |")


def main(folder: Path) -> None:
    """Runs all parts and writes the report."""
    report = Report()
    first = nvml().read()
    card = first.gpus[0]
    version = run_here(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]).strip()
    report.add(
        "# GPU readings on a real card",
        "",
        f"`tools/gpu_check.py` on one {card.name}, driver {version}, {time.strftime('%Y-%m-%d', time.gmtime())}."
        " Sizes in MiB. Memory was taken with `cuMemAlloc` by child processes.",
        "Not tried: MIG, WSL 2, a desktop's processes, a real container engine.",
        "",
        "## Against nvidia-smi",
        "",
        "`used_mib` counts the driver's reserve, nvidia-smi's own \"used\" does not; the column shows what sgdoctor"
        " makes of its output.",
    )
    report.compare("Idle")
    known_amounts(report, folder)
    server(report, folder)
    namespaces(report, folder)
    cost(report)
    (folder / "gpu-check.md").write_text("\n".join(report.lines) + "\n")


def known_amounts(report: Report, folder: Path) -> None:
    """Two processes take known amounts."""
    source = nvml()
    one, two = Holder(), Holder()
    report.add("", "## Known amounts", "", "| step | process 1 | process 2 | used by all |", "|---|---|---|---|")

    def row(step: str) -> tuple[float | None, float | None]:
        gpu = source.read().gpus[0]
        first, second = of(gpu, one.pid).used_mib, of(gpu, two.pid).used_mib
        report.add(f"| {step} | {first} | {second} | {gpu.used_mib} |")
        return first, second

    row("nobody")
    one.tell("open")
    base, _ = row("process 1: CUDA context")
    two.tell("open")
    _, other = row("process 2: CUDA context")
    one.tell(f"take {1024 << 20}")
    after, _ = row("process 1 takes 1024")
    two.tell(f"take {3000 << 20}")
    _, other_after = row("process 2 takes 3000")
    one.tell(f"take {7 << 20}")
    row("process 1 takes 7")
    one.tell("give")
    one.tell("give")
    back, _ = row("process 1 gives both back")
    assert None not in (base, other, after, other_after, back)
    report.add(
        "",
        f"Differences: process 1 {after - base:+.0f} for 1024, process 2 {other_after - other:+.0f} for 3000;"
        f" back to {back - base:+.0f}.",
    )
    report.compare("Both sources while the two processes live")
    smi_text(
        "--query-compute-apps=gpu_uuid,pid,used_gpu_memory,process_name --format=csv,noheader,nounits",
        folder,
        "processes.csv",
    )
    smi_text(
        "--query-gpu=index,uuid,compute_cap,memory.total,memory.used,memory.free,memory.reserved,utilization.gpu,"
        "temperature.gpu,power.draw,enforced.power.limit,name --format=csv,noheader,nounits",
        folder,
        "gpus.csv",
    )
    smi_text("--query-gpu=index,flux.capacitor --format=csv,noheader,nounits", folder, "unknown-field.txt")
    one.end()
    two.end()
    report.add("", f"After both have ended, {source.read().gpus[0].used_mib} are in use.")
    source.close()


def several(folder: Path) -> None:
    """On a machine with several cards: each process is found on its own card, and a server that runs on all of them."""
    source, report = nvml(), Report()
    cards = source.read().gpus
    holders = [Holder(card.number) for card in cards]
    report.add(
        "# GPU readings with several cards",
        "",
        f"`tools/gpu_check.py several` on {len(cards)} {cards[0].name}. Sizes in MiB.",
        "",
        "| step | card | used | process: size |",
        "|---|---|---|---|",
    )

    def row(step: str) -> None:
        for card in source.read().gpus:
            held = ", ".join(
                f"{number}: {of(card, holder.pid).used_mib}"
                for number, holder in enumerate(holders)
                if of(card, holder.pid).used_mib is not None
            )
            report.add(f"| {step} | {card.number} | {card.used_mib} | {held} |")

    row("nobody")
    for holder in holders:
        holder.tell("open")
    row("a context on each card")
    for number, holder in enumerate(holders):
        holder.tell(f"take {1000 * (number + 1) << 20}")
    row("1000 on card 0, 2000 on card 1, ...")
    report.compare("Both sources")
    with control_group(holders[-1].pid) as group:
        reading = source.read()
        found = [(card.number, process.container_name) for card in reading.gpus for process in card.processes]
        report.add("", f"Last process in a control group of Docker's naming ({group!r}): {found}")
        holders[-1].end()
    for holder in holders[:-1]:
        holder.end()
    row("after all have ended")
    write_recording(folder / "several.jsonl", [reading._replace(gpus=tuple(nameless(card) for card in reading.gpus))])
    (folder / "gpu-check-several.md").write_text("\n".join(report.lines) + "\n")


def server(report: Report, folder: Path) -> None:
    """A stand-in for a server grows in the steps of a start-up, beside another program, while samples are recorded."""
    sampler = Sampler(nvml(), per_second=2)
    sampler.start()
    other, engine = Holder(), Holder()
    report.add(
        "",
        "## A server in a container, beside another program",
        "",
        "One process takes memory in the steps of a start-up, in a control group of the name that Docker gives; another"
        ' one holds 2048 and its context. NVML proves the sizes of "other" (what the server\'s process holds beyond the'
        ' four amounts that a log would name: its CUDA context, 518) and of "other programs".',
        "",
    )
    with control_group(engine.pid) as group:
        report.add(f"Control group of the server's process: `{group}`" if group else "No control group could be made.")
        other.tell("open")
        other.tell(f"take {2048 << 20}")
        time.sleep(1.5)
        engine.tell("open")
        time.sleep(1)
        engine.tell(f"take {int(SERVER.weights_gib * 1024) << 20}")
        engine.tell("work 1.5")
        for gib in (SERVER.state_gib, SERVER.kv_gib, SERVER.graph_gib):
            engine.tell(f"take {int(gib * 1024) << 20}")
            time.sleep(1)
        engine.tell("work 4")
        gpu = nvml().read().gpus[0]
        process = of(gpu, engine.pid)
        report.add("", f"NVML's list names it {process.name!r} in container {process.container_name!r}.", "")
        stack = ledger(gpu, SERVER, container=CONTAINER if group else "", pids=() if group else (engine.pid,))
        assert stack is not None
        taken = {PartKind.WEIGHTS: 18432, PartKind.STATE: 1152, PartKind.KV: 1536, PartKind.GRAPHS: 64}
        report.add("| part | taken | shown |", "|---|---|---|")
        for part in stack.parts:
            report.add(f"| {part.title.en} | {taken.get(part.kind, '')} | {part.mib:.2f} |")
        report.add(f"| sum | {stack.total_mib:.2f} | {sum(part.mib for part in stack.parts):.2f} |")
        report.add("", f"Attributed: {stack.attributed}. Notes: {[note.en for note in stack.notes]}")
        engine.end()
        time.sleep(1.5)
    other.end()
    time.sleep(1)
    began = time.monotonic()
    ended = sampler.stop()
    stopped = time.monotonic() - began
    readings = [
        GpuReading(each.time, tuple(nameless(gpu) for gpu in each.gpus), each.source, each.reason)
        for each in sampler.history()
    ]
    write_recording(folder / "recorded.jsonl", readings)
    steps = [later.time - earlier.time for earlier, later in pairwise(readings)]
    report.add(
        "",
        f"{len(readings)} samples at 2 Hz were recorded, {min(steps):.2f} to {max(steps):.2f} s apart;"
        f" the thread ended: {ended}, after {stopped * 1000:.0f} ms.",
    )


def namespaces(report: Report, folder: Path) -> None:
    """What can be seen across PID namespaces, and a driver whose device files vanish."""
    report.add("", "## Across PID namespaces", "")
    outside = Holder()
    outside.tell("open")
    outside.tell(f"take {1024 << 20}")
    command = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, __file__, "peek"]
    inner = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert inner.stdout is not None
    answer = inner.stdout.readline()
    if answer:
        seen = nvml().read().gpus[0]
        report.add(f"Outside, processes seen: {[(each.name, each.used_mib) for each in seen.processes]}")
        report.add(f"Host numbers: {sorted(each.pid for each in seen.processes)}, outer holder {outside.pid}")
        pid, *lines = json.loads(answer)
        for title, line in zip(("NVML before", "NVML after taking 512", "nvidia-smi after"), lines, strict=True):
            gpu = from_json(line).gpus[0]
            listed = [(each.pid, each.name, each.used_mib) for each in gpu.processes]
            report.add("", f"Inside ({title}), own holder is {pid}: {listed}; notes {[note.en for note in gpu.notes]}")
    else:
        report.add("No PID namespace could be made.")
    inner.communicate("\n")
    outside.end()
    report.add("", "## Device files hidden, and back", "", "In a mount namespace of its own:", "")
    gone = subprocess.run(
        ["unshare", "--mount", sys.executable, __file__, "vanish"], capture_output=True, text=True, check=False
    )
    if gone.returncode:
        report.add(f"Not possible here: {gone.stderr.strip().splitlines()[-1:]}")
        return
    steps = ("at first", "hidden, NVML", "hidden, nvidia-smi", "hidden, NVML while it waits", "back, 1.1 s later")
    report.add(*(f"- {step}: {answer}" for step, answer in zip(steps, json.loads(gone.stdout), strict=True)))
    hide = "for d in /dev/nvidia*; do [ -c $d ] && mount --bind /dev/null $d; done; nvidia-smi; echo exit $?"
    (folder / "hidden.txt").write_text(run_here(["unshare", "--mount", "sh", "-c", hide]))


def cost(report: Report) -> None:
    """How long readings take, and a library that somebody else shut down."""
    import pynvml  # noqa: PLC0415 - the tool runs where the library is

    source = nvml()
    began = time.monotonic()
    source.read()
    opened = time.monotonic() - began
    holder = Holder()
    holder.tell("open")
    began, busy = time.monotonic(), time.process_time()
    for _ in range(200):
        source.read()
    took, worked = time.monotonic() - began, time.process_time() - busy
    smi = SmiSource(ProcessTable(), this_machine())
    began = time.monotonic()
    for _ in range(5):
        smi.read()
    asked = time.monotonic() - began
    holder.end()
    pynvml.nvmlShutdown()
    again = source.read()
    source.close()
    report.add(
        "",
        "## Cost",
        "",
        f"Opening and first reading {opened * 1000:.0f} ms; a reading {took * 5:.2f} ms ({worked * 5:.2f} ms of CPU);"
        f" by nvidia-smi {asked * 200:.0f} ms.",
        f"After a foreign `nvmlShutdown` the next reading comes from {again.source!r} with {len(again.gpus)} GPUs.",
    )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["hold"]:
            hold()
        case ["peek"]:
            peek()
        case ["vanish"]:
            vanish()
        case ["several", target]:
            several(Path(target))
        case [target]:
            main(Path(target))
        case _:
            sys.exit(__doc__)
