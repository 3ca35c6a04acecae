"""Which source answers, and the thread that reads it."""

import threading
from collections.abc import Callable, Sequence

from sgdoctor.gpu import reasons
from sgdoctor.gpu.machine import Machine
from sgdoctor.gpu.model import GpuReading
from sgdoctor.gpu.owners import Owner
from sgdoctor.gpu.recorded import RecordedSource
from sgdoctor.gpu.source import FirstAnswering, Sampler, Unavailable, best_source, memory_series
from tests.gpu.samples import ID, RECORDINGS, recorded_server

GPUS = (RECORDINGS / "nvidia-smi" / "gpus.csv").read_text(encoding="utf-8")
WAIT = 10


def inside(argv: Sequence[str]) -> str:
    return GPUS if argv[1].startswith("--query-gpu") else ""


class Switched:
    """A source that has data or has none, as the test says."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.there = True
        self.closed = 0

    def read(self) -> GpuReading:
        gpus = recorded_server()[0].gpus
        return GpuReading(1.0, gpus, self.name) if self.there else Unavailable(reasons.NO_SMI).read()

    def close(self) -> None:
        self.closed += 1


class Reading(Switched):
    """Lets the test wait for readings, and hold one up."""

    def __init__(self, act: Callable[[], object] = lambda: None) -> None:
        super().__init__("nvml")
        self.act = act
        self.count = threading.Semaphore(0)

    def read(self) -> GpuReading:
        self.count.release()
        self.act()
        return super().read()


def test_the_first_source_with_data_answers_and_comes_back_when_it_can() -> None:
    first, second = Switched("nvml"), Switched("nvidia-smi")
    source = FirstAnswering([first, second])
    answers = [source.read().source]
    first.there = False
    answers.append(source.read().source)
    first.there = True
    answers.append(source.read().source)

    assert answers == ["nvml", "nvidia-smi", "nvml"]


def test_when_none_has_data_the_first_one_says_why_not() -> None:
    source = FirstAnswering([Unavailable(reasons.MISMATCH), Unavailable(reasons.NO_SMI)])

    assert source.read()[1:] == ((), "", reasons.MISMATCH)


def test_closing_closes_all() -> None:
    sources = [Switched("nvml"), Switched("nvidia-smi")]
    FirstAnswering(sources).close()

    assert [each.closed for each in sources] == [1, 1]


def test_gpus_of_this_machine_are_not_shown_for_another_one() -> None:
    reading = best_source(remote="build-box").read()

    assert (reading.gpus, reading.source) == ((), "")
    assert "build-box" in reading.reason.en
    assert "build-box" in reading.reason.zh


def test_what_the_container_on_another_machine_sees_is_shown() -> None:
    reading = best_source(remote="build-box", inside=inside, container=Owner("", ID, "sgl")).read()

    assert (reading.source, [gpu.name for gpu in reading.gpus]) == ("nvidia-smi", ["NVIDIA H200"])


def test_this_machine_answers_with_gpus_or_a_reason() -> None:
    source = best_source(machine=Machine())
    reading = source.read()
    source.close()

    assert bool(reading.gpus) is not bool(reading.reason.en)


def test_the_thread_keeps_the_last_readings() -> None:
    source = Reading()
    sampler = Sampler(source, per_second=1000, keep=5)
    sampler.start()
    for _ in range(20):
        assert source.count.acquire(timeout=WAIT)
    ended = sampler.stop()

    assert ended
    assert len(sampler.history()) == 5
    assert sampler.history()[-1] == sampler.latest
    assert source.closed == 1


def test_each_reading_is_told() -> None:
    told: list[GpuReading] = []
    arrived = threading.Semaphore(0)

    def on_reading(reading: GpuReading) -> None:
        told.append(reading)
        arrived.release()

    sampler = Sampler(RecordedSource(recorded_server()), per_second=1000, on_reading=on_reading)
    sampler.start()
    for _ in range(len(recorded_server())):
        assert arrived.acquire(timeout=WAIT)
    sampler.stop()

    assert [each.time for each in recorded_server()] == [each.time for each in told][: len(recorded_server())]


def test_stopping_does_not_wait_for_the_next_reading() -> None:
    source = Reading()
    sampler = Sampler(source, per_second=0.001)
    sampler.start()
    assert source.count.acquire(timeout=WAIT)

    assert sampler.stop()


def test_a_driver_that_hangs_does_not_hold_up_the_end() -> None:
    free = threading.Event()
    source = Reading(lambda: free.wait(WAIT))
    sampler = Sampler(source)
    sampler.start()
    assert source.count.acquire(timeout=WAIT)
    ended = sampler.stop()
    free.set()

    assert not ended
    assert sampler.stop()


def test_a_source_that_breaks_is_told_and_read_on() -> None:
    broken = [True]

    def act() -> None:
        if broken and broken.pop():
            raise RuntimeError

    source = Reading(act)
    sampler = Sampler(source, per_second=1000)
    sampler.start()
    for _ in range(3):
        assert source.count.acquire(timeout=WAIT)
    sampler.stop()

    assert reasons.of_exception(RuntimeError()) == sampler.history()[0].reason
    assert sampler.history()[1].gpus


def test_a_sampler_that_was_never_started_stops() -> None:
    assert Sampler(Switched("nvml")).stop()


def test_memory_over_time_has_gaps_where_there_was_no_data() -> None:
    first, second = recorded_server()[0], recorded_server()[-1]
    gap = Unavailable(reasons.NO_GPU).read()
    gpu = first.gpus[0]

    expected = (gpu.used_mib, None, second.gpus[0].used_mib)
    assert expected == memory_series([first, gap, second], gpu.uuid)
