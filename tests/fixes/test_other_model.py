"""Whether a log is of the model that a launch serves."""

import shlex

import pytest

from sgdoctor.engines.sglang.flags.schemas import schema
from sgdoctor.fixes.other_model import other_model
from sgdoctor.launch.commands import find_engine
from sgdoctor.launch.found import Refused
from sgdoctor.launch.model import Launch, Origin

FLAGS = "--context-length 65536 --reasoning-parser qwen3"


def launch(words: str) -> Launch:
    found = find_engine(shlex.split(words))
    assert not isinstance(found, Refused)
    return Launch(Origin.COMMAND, found.argv, found.flags_at)


def judged(words: str, path: str, **facts: object) -> bool | None:
    """Whether it is certain that the two are not one model; None where nothing speaks for it."""
    logged = {"args.model_path": path, **{f"args.{name}": value for name, value in facts.items()}}
    found = other_model(launch(words), logged, schema("0.5.15"))
    return None if found is None else found.certain


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("/models/hf/Qwen/Qwen3-8B", "/data/Qwen3-8B/"),
        ("Qwen/Qwen3-8B", "/root/.cache/huggingface/hub/models--Qwen--Qwen3-8B/snapshots/b968826d9c46dd6066d109ea"),
        ("/models/Qwen3-8B-AWQ", "Qwen/qwen3_8b"),
        ("/model", "/models/Qwen3-8B"),
        ("/models/Qwen3-8B", "/mnt/model"),
        ("$MODEL", "/models/Qwen3-8B"),
    ],
)
def test_one_model_has_many_paths(model: str, path: str) -> None:
    assert judged(f"sglang serve --model-path '{model}' --context-length 4096", path, context_length=8192) is None


def test_the_name_for_clients_is_the_same() -> None:
    words = "sglang serve --model-path /m/first --served-model-name chat --context-length 4096"

    assert judged(words, "/m/second", served_model_name="chat", context_length=8192) is None
    assert judged(words, "/m/second", served_model_name="talk", context_length=8192)


def test_a_model_without_its_flag_counts() -> None:
    assert judged("sglang serve Qwen/Qwen3-8B", "/models/Qwen3-4B")
    assert judged("sglang serve Qwen/Qwen3-8B", "/models/Qwen3-8B") is None


@pytest.mark.parametrize(
    ("path", "certain"),
    [
        ("/m/Qwen3-4B", True),  # of another size, whatever else is the same
        ("/m/mine-8", None),  # a copy of that size that was started with the same flags
        ("/m/mine", False),  # the same flags, and nothing about the size
    ],
)
def test_equal_flags_speak_for_one_model(path: str, certain: bool | None) -> None:
    assert (
        judged(f"sglang serve --model-path /m/Qwen3-8B {FLAGS}", path, context_length=65536, reasoning_parser="qwen3")
        is certain
    )


def test_other_flags_speak_against_it() -> None:
    words = f"sglang serve --model-path /m/Qwen3-8B {FLAGS}"

    assert judged(words, "/m/mine-8", context_length=None, reasoning_parser=None)
    # What is changed from start to start does not.
    words = f"sglang serve --model-path /m/Qwen3-8B {FLAGS} --mem-fraction-static 0.9"
    assert judged(words, "/m/mine-8", context_length=65536, reasoning_parser="qwen3", mem_fraction_static=0.8) is None


def test_one_flag_that_was_changed_since_does_not_make_another_model() -> None:
    words = f"sglang serve --model-path /m/Qwen3-8B {FLAGS} --port 30001"

    assert judged(words, "/m/mine-8", context_length=65536, reasoning_parser="qwen3", port=30002) is None


def test_a_log_that_names_no_model() -> None:
    assert other_model(launch("sglang serve --model-path /m/a"), {}, schema("0.5.15")) is None
