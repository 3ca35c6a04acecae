"""What a launch would do with the memory of its card: the articles' starts, before them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sgdoctor.launch.change import Change
from sgdoctor.preflight.memory import Forecast, forecast
from sgdoctor.preflight.model import Finding, Situation, Status
from tests.preflight.model_folders import Folder, decoder, write
from tests.preflight.model_situations import findings, of_folder, troubles
from tests.preflight.models import LLAMA_8B, QWEN3_8B, founding_27b, founding_35b

CONTEXT = ("--context-length", "65536")


@pytest.fixture(scope="module")
def model_27b(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(founding_27b(), tmp_path_factory.mktemp("models") / "Qwen3.6-27B-AWQ-INT4")


@pytest.fixture(scope="module")
def model_35b(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(founding_35b(), tmp_path_factory.mktemp("models") / "Qwen-3.6-35B-A3B")


def memory(situation: Situation) -> list[Finding]:
    return findings(situation, "memory-pools")


@pytest.mark.parametrize(
    ("fraction", "rule", "phase"),
    [("0.80", "SGL401", "state_cache"), ("0.88", "SGL402", "state_cache"), (None, "SGL401", "state_cache")],
)
def test_too_little_for_the_states_of_the_27b(fraction: str | None, rule: str, phase: str, model_27b: Path) -> None:
    flags = ("--mem-fraction-static", fraction) if fraction else ()
    (found,) = memory(of_folder(model_27b, *CONTEXT, *flags, cards="3090"))

    assert (Status.FAIL, rule, phase) == (found.status, found.prevents, found.phase)
    (change,) = found.changes
    assert ("flag.set", "--mem-fraction-static") == (change.kind, change.name)
    assert 0.9 <= float(change.value or 0) <= 0.94
    assert [] == [one for one in memory(of_folder(model_27b, *_set(change), cards="3090")) if one.status is Status.FAIL]


@pytest.mark.parametrize("fraction", ["1.5", "0", "92"])
def test_what_is_no_fraction_is_told_by_the_flags_alone(fraction: str, model_27b: Path) -> None:
    (found,) = memory(of_folder(model_27b, *CONTEXT, "--mem-fraction-static", fraction, cards="3090"))

    assert (Status.SKIPPED, ()) == (found.status, found.changes)
    assert found.detail is not None
    assert "from 0." in found.detail.en


def test_without_a_fraction_that_fits_the_card_is_told_as_well(model_27b: Path) -> None:
    (found,) = memory(of_folder(model_27b, "--mem-fraction-static", "1.5", cards="12GiB:sm86"))

    assert Status.FAIL is found.status


def test_one_request_is_no_plural(model_27b: Path) -> None:
    flags = ("--context-length", "16384", "--mem-fraction-static", "0.92")
    (one, _) = memory(of_folder(model_27b, *flags, "--max-running-requests", "1", cards="3090"))
    (more, _) = memory(of_folder(model_27b, *flags, "--max-running-requests", "4", cards="h100"))

    assert one.title.en.endswith(" 1 request at once")
    assert more.title.en.endswith(" requests at once")


def _set(change: Change) -> tuple[str, str]:
    return change.name, change.value or ""


def test_the_27b_at_the_fraction_of_the_article(model_27b: Path) -> None:
    situation = of_folder(
        model_27b, *CONTEXT, "--mem-fraction-static", "0.92", "--cuda-graph-max-bs-decode", "8", cards="3090"
    )
    start, context = memory(situation)
    found = forecast(situation)

    assert isinstance(found, Forecast)
    assert found.solution.now is not None
    assert 7 == found.solution.now.slots
    assert pytest.approx(21473, rel=0.02) == found.solution.now.kv_tokens
    assert (Status.PASS, None) == (start.status, start.prevents)
    assert (Status.WARN, "SGL441") == (context.status, context.prevents)
    assert context.changes


def test_the_35b_of_the_article(model_35b: Path) -> None:
    flags = (*CONTEXT, "--mamba-full-memory-ratio", "0.7", "--cuda-graph-max-bs-decode", "1", "--dtype", "bfloat16")
    situation = of_folder(model_35b, *flags, "--mem-fraction-static", "0.92", cards="3090")
    found = forecast(situation)

    assert isinstance(found, Forecast)
    assert found.solution.now is not None
    assert pytest.approx(83_600, rel=0.02) == found.solution.now.kv_tokens
    assert [] == troubles(situation)


def test_a_model_that_is_larger_than_the_card(tmp_path: Path) -> None:
    folder = write(Folder(QWEN3_8B, decoder(QWEN3_8B)), tmp_path)
    (found,) = memory(of_folder(folder, cards="8GiB:sm86"))

    assert (Status.FAIL, "SGL411", "weights", ()) == (found.status, found.prevents, found.phase, found.changes)


@pytest.mark.parametrize("context", ["30000000", "1000000000000"])
def test_a_context_that_is_too_long_for_any_card_is_named_as_the_cause(context: str, model_27b: Path) -> None:
    (found,) = memory(of_folder(model_27b, "--context-length", context, cards="3090"))

    assert Status.FAIL == found.status
    assert f"a context of {int(context):,} tokens does not fit" in found.title.en
    assert f"{int(context):,} 个 token 的上下文放不进" in found.title.zh
    assert "The context of" in (found.detail.en if found.detail else "")
    changes = {change.name: change.value or "" for change in found.changes}
    fits = changes["--context-length"]
    assert f"the largest that fits is {int(fits):,}" in found.title.en
    flags = [part for change in changes.items() for part in change]
    assert [Status.PASS, Status.PASS] == [one.status for one in memory(of_folder(model_27b, *flags, cards="3090"))]
    flags[flags.index(fits)] = str(int(fits) + 1024)
    assert Status.PASS != memory(of_folder(model_27b, *flags, cards="3090"))[-1].status


def test_others_hold_memory_of_the_card(tmp_path: Path) -> None:
    folder = write(Folder(QWEN3_8B, decoder(QWEN3_8B)), tmp_path)
    free = of_folder(folder, cards="3090")
    (card,) = free.host.cards
    taken = replace(card, free_mib=card.free_mib - 12_000, holders=(("container llama", 12_000.0),))
    (found,) = memory(replace(free, host=replace(free.host, cards=(taken,))))

    assert [] == troubles(free)
    assert (Status.FAIL, "SGL411") == (found.status, found.prevents)
    assert found.detail is not None
    assert "container llama 11.7 GiB" in found.detail.en


def test_two_cards_share_the_weights(tmp_path: Path) -> None:
    folder = write(Folder(QWEN3_8B, decoder(QWEN3_8B)), tmp_path)
    found = forecast(of_folder(folder, "--tp-size", "2", cards="2x3090"))

    assert isinstance(found, Forecast)
    assert pytest.approx(15.26 / 2, abs=0.02) == found.start.weights_gib


def test_weights_that_are_loaded_smaller_than_they_lie(tmp_path: Path) -> None:
    text = {**LLAMA_8B, "num_hidden_layers": 1}
    wide = {name: ("F32", shape) for name, (_, shape) in decoder(text).items()}
    predicting: Any = {"mtp.fc.weight": ("F32", (4096, 8192))}
    whole = forecast(of_folder(write(Folder(text, decoder(text)), tmp_path / "a")))
    found = forecast(of_folder(write(Folder(text, {**wide, **predicting}), tmp_path / "b")))

    assert isinstance(whole, Forecast)
    assert isinstance(found, Forecast)
    assert pytest.approx(whole.start.weights_gib) == found.start.weights_gib


@pytest.mark.parametrize(
    ("flags", "cards"), [((), ""), (("--quantization", "fp8"), "3090"), (("--cpu-offload-gb", "8"), "3090")]
)
def test_what_cannot_be_computed_is_skipped(flags: tuple[str, ...], cards: str, tmp_path: Path) -> None:
    folder = write(Folder(QWEN3_8B, decoder(QWEN3_8B)), tmp_path)

    assert [Status.SKIPPED] == [one.status for one in memory(of_folder(folder, *flags, cards=cards))]


def test_nothing_without_a_launch(tmp_path: Path) -> None:
    situation = of_folder(write(Folder(QWEN3_8B, {}), tmp_path))

    assert [] == memory(replace(situation, launch=None))
