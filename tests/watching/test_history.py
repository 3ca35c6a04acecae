"""What is remembered of earlier starts."""

from pathlib import Path

import pytest

from sgdoctor.watching import history as module
from sgdoctor.watching.history import History, Key

KEY = Key("Qwen3.6-35B-A3B", "awq", "lmsysorg/sglang:v0.5.15", "RTX 3090")


def test_the_band_is_that_of_the_last_five_starts(tmp_path: Path) -> None:
    history = History(tmp_path / "starts.jsonl")
    for number, seconds in enumerate((500.0, 171.0, 180.0, 184.0, 175.0, 178.0)):
        history.learn(KEY, str(number), {"graph_capture": seconds})

    for known in (history, History(tmp_path / "starts.jsonl")):
        assert known.usual(KEY, "graph_capture") == (171.0, 184.0)
        assert known.usual(KEY, "weights") is None
        assert known.usual(KEY._replace(model="other"), "graph_capture") is None
        assert known.usual(KEY._replace(image="lmsysorg/sglang:v0.5.23"), "graph_capture") is None
        assert known.usual(Key(KEY.model, "", KEY.image), "graph_capture") == (171.0, 184.0)


def test_one_start_gives_a_wider_band_and_counts_once(tmp_path: Path) -> None:
    history = History(tmp_path / "starts.jsonl")
    history.learn(KEY, "a", {"ready": 200.0})
    history.learn(KEY, "a", {"ready": 900.0})

    assert history.usual(KEY, "ready") == pytest.approx((180.0, 220.0))


def test_damage_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "starts.jsonl"
    History(path).learn(KEY, "a", {"ready": 200.0})
    good = path.read_bytes()
    path.write_bytes(b'{"model": 1}\n\xff\xfe\n[]\n{"phases": {}}\n' + good + good[: len(good) // 2])

    assert History(path).usual(KEY, "ready") == pytest.approx((180.0, 220.0))


def test_the_file_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_BYTES", 2000)
    path = tmp_path / "starts.jsonl"
    history = History(path)
    for number in range(100):
        history.learn(KEY, str(number), {"ready": float(number)})

    assert path.stat().st_size <= 2000
    assert History(path).usual(KEY, "ready") == (95.0, 99.0)


def test_without_a_place_to_write_it_is_known_until_the_end(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    history = History(tmp_path / "file" / "starts.jsonl")
    history.learn(KEY, "a", {"ready": 200.0})

    assert history.usual(KEY, "ready") is not None


def test_a_start_without_a_model_teaches_nothing(tmp_path: Path) -> None:
    history = History(tmp_path / "starts.jsonl")
    history.learn(KEY._replace(model=""), "a", {"ready": 200.0})

    assert not (tmp_path / "starts.jsonl").exists()
