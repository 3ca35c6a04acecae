"""Recordings: written, read, replayed."""

from pathlib import Path

import pytest

from sgdoctor.gpu import reasons
from sgdoctor.gpu.model import Gpu, GpuProcess, GpuReading
from sgdoctor.gpu.recorded import RecordedSource, from_json, read_recording, to_json, without, write_recording
from tests.gpu.samples import RECORDINGS, busiest, recorded_server

ALL = sorted(RECORDINGS.glob("*.jsonl"))


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_a_recording_is_written_as_it_was_read(path: Path, tmp_path: Path) -> None:
    write_recording(tmp_path / "again", read_recording(path))

    assert path.read_text(encoding="utf-8") == (tmp_path / "again").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_times_of_a_recording_rise(path: Path) -> None:
    times = [reading.time for reading in read_recording(path)]

    assert times == sorted(set(times))


def test_every_field_survives() -> None:
    process = GpuProcess(7, "Xorg", None, "id", "名", graphics=True)
    gpu = Gpu(1, "MIG-1", "卡", 86, 1.5, 1.0, 0.5, 3, 40, 1.25, 2.5, (process,), 0.25, 4, (reasons.LOST,))
    reading = GpuReading(1.5, (gpu,), "nvml", reasons.NO_GPU)

    assert reading == from_json(to_json(reading))


@pytest.mark.parametrize("line", ["", "{", "7", "[]", "{}", '{"time": 1, "gpus": [{}], "source": "", "reason": {}}'])
def test_what_is_no_reading_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_json(line)


def test_replay_one_after_the_other_and_then_the_last_for_ever() -> None:
    readings = recorded_server()
    source = RecordedSource(readings)
    actual = [source.read() for _ in range(len(readings) + 2)]

    assert [*readings, readings[-1], readings[-1]] == [each._replace(source="nvml") for each in actual]
    assert {"recorded"} == {each.source for each in actual}


@pytest.mark.parametrize(("position", "place"), [(-5.0, 0), (0.0, 0), (0.49, 0), (0.51, 1), (5.01, 10), (1e9, -1)])
def test_replay_by_a_clock(position: float, place: int) -> None:
    readings = recorded_server()

    assert readings[place].time == RecordedSource(readings, lambda: position).read().time


def test_a_recorded_gap_keeps_its_reason() -> None:
    gap = GpuReading(1.0, (), "", reasons.NOT_LOADED)

    assert gap == RecordedSource([gap]).read()


def test_an_empty_recording_cannot_be_replayed() -> None:
    with pytest.raises(ValueError, match="empty"):
        RecordedSource([])


def test_without_the_ballast_the_card_is_a_small_one() -> None:
    for reading in read_recording(RECORDINGS / "article27-w19.28-mfs-0.92.jsonl"):
        (gpu,) = without(reading, 2715).gpus

        assert gpu.total_mib == 143771.0 - 118664.0
        assert (gpu.used_mib or 0.0) + (gpu.free_mib or 0.0) == gpu.total_mib
        assert 2715 not in [process.pid for process in gpu.processes]


def test_without_a_process_that_is_not_there_nothing_changes() -> None:
    assert busiest() == without(busiest(), 1)
