"""What of a large log is read, and that it gives the same answer as reading all of it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgdoctor.diagnosis import line_counts, pipeline, regions, slices
from sgdoctor.diagnosis.model import Verdict
from sgdoctor.logs.literals import build_index
from sgdoctor.rules.base import RuleBase, load_rule_base


@pytest.fixture(scope="module")
def base() -> RuleBase:
    return load_rule_base()


def answer(verdict: Verdict) -> object:
    return (
        verdict.state,
        verdict.attempt,
        verdict.attempts,
        (verdict.first_line, verdict.last_line),
        [(found.rule.id, found.severity, [e.line for e in found.evidence]) for found in verdict.diagnoses],
        [notice.rule for notice in verdict.notices],
        {name: fact.value for name, fact in verdict.facts.items()},
    )


LOGS = (
    "boot-dense", "bcg-decode-hybrid", "cli-typo-flag", "cli-article-launch-script", "cfg-moe-layertypes-short",
    "oom-weights", "article27-mfs-0.80", "sigterm-busy",
)  # fmt: skip


def test_windows_give_the_answer_of_the_whole_log(logs: Path, base: RuleBase, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {name: (logs / "real" / f"{name}.log").read_bytes().rstrip(b"\n") + b"\n" for name in LOGS}
    texts["all of them"] = b"".join(texts.values())
    texts["a crash loop"] = texts["cli-typo-flag"] * 3 + texts["bcg-decode-hybrid"] * 3
    whole = {name: answer(pipeline.diagnose_bytes(text, name, base)[-1]) for name, text in texts.items()}
    monkeypatch.setattr(pipeline, "WHOLE_BELOW", 0)

    windows = {name: answer(pipeline.diagnose_bytes(text, name, base)[-1]) for name, text in texts.items()}

    assert whole == windows


def test_all_attempts_of_a_large_log(logs: Path, base: RuleBase, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (logs / "real" / "bcg-decode-dense.log").read_bytes() * 3 + (logs / "real" / "boot-dense.log").read_bytes()
    monkeypatch.setattr(pipeline, "WHOLE_BELOW", 0)

    verdicts = pipeline.diagnose_bytes(text, "x", base, all_attempts=True)

    assert [(verdict.attempt, verdict.attempts, verdict.state.value) for verdict in verdicts] == [
        (1, 4, "failed"),
        (2, 4, "failed"),
        (3, 4, "failed"),
        (4, 4, "healthy"),
    ]


def surveyed(
    data: bytes, *literals: bytes, look: Callable[[int], regions.Mark | None] = lambda _: None
) -> regions.Survey:
    return regions.survey(data, build_index(literals), literals, literals[:1], look)


def test_a_log_of_nothing_but_hits_keeps_the_first_and_the_last() -> None:
    data = b"CUDA out of memory\n" * 200_000 + b"the rare text\n" + b"CUDA out of memory\n" * 1000

    survey = surveyed(data, b"no such marker", b"CUDA out of memory", b"the rare text")

    assert len(survey.hits) < 40
    assert survey.hits[0] == 0
    assert survey.hits[-1] == len(data) - 19
    assert data.index(b"the rare text") in survey.hits


def test_literals_across_slices_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "STEP", 64)
    monkeypatch.setattr(line_counts, "STEP", 64)
    data = b"." * 60 + b"needle in hay" + b"." * 55 + b"needle in hay"

    assert surveyed(data, b"no such marker", b"needle in hay").hits == (60, 128)


@given(
    st.lists(st.integers(0, 400), max_size=12),
    st.lists(st.integers(0, 60), min_size=1, max_size=60),
    st.integers(0, 200),
)
@settings(max_examples=200)
def test_windows_are_whole_lines_in_order_and_hold_every_hit(hits: list[int], lengths: list[int], start: int) -> None:
    data = b"".join(b"x" * length + b"\n" for length in lengths)
    start = data.rfind(b"\n", 0, start) + 1
    hits = sorted({hit for hit in hits if start <= hit < len(data)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regions, "_EDGE", 20)
        patch.setattr(regions, "_AROUND", 16)
        windows = regions.windows(data, start, hits)

    assert all(any(begin <= hit < end for begin, end in windows) for hit in hits)
    assert all(begin == start or data[begin - 1 : begin] == b"\n" for begin, _ in windows)
    assert all(end == len(data) or data[end - 1 : end] == b"\n" for _, end in windows)
    assert [edge for window in windows for edge in window] == sorted(edge for window in windows for edge in window)


def gone_over(
    data: bytes, *literals: bytes, processors: int, step: int = 64
) -> tuple[list[slices.Hits], slices.Slices]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "STEP", step)
        patch.setattr(os, "cpu_count", lambda: processors)
        over = slices.Slices(data, build_index(literals), literals)
        return list(over.hits()), over


@given(st.lists(st.sampled_from([b"needle in hay", b"hay", b"\n", b"line", b"\xff"]), max_size=80))
def test_several_processors_find_what_one_finds(parts: list[bytes]) -> None:
    data = b"".join(parts)
    literals = (b"needle in hay", b"hayline")

    alone, over_alone = gone_over(data, *literals, processors=1)
    together, over_together = gone_over(data, *literals, processors=4)

    assert alone == together
    assert over_alone.line_ends == over_together.line_ends


@pytest.mark.parametrize("processors", [1, 4])
def test_a_flood_is_thinned_and_hides_nothing_else(processors: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "SLICE_HITS", 20)
    data = b"quiet\n" * 30 + b"the flood\n" * 100 + b"the rare text\n" + b"the flood\n" * 40 + b"the rare text\n"

    hits, over = gone_over(data, b"the flood", b"the rare text", processors=processors, step=256)
    rare = [offset for piece in hits for offset, literal in piece if literal == 1]

    assert rare == [data.index(b"the rare text"), data.rindex(b"the rare text")]
    assert over.flooded == {0}
    assert sum(over.line_ends) == data.count(b"\n")


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(1, 50))
def test_lines_are_numbered_from_one(lengths: list[int], step: int) -> None:
    data = b"".join(b"x" * length + b"\n" for length in lengths)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_counts, "STEP", step)
        counts = line_counts.LineCounts(data, gone_over(data, b"nothing", processors=1, step=step)[1].line_ends)

        assert [counts.number_at(at) for at in range(len(data))] == [
            data[:at].count(b"\n") + 1 for at in range(len(data))
        ]
