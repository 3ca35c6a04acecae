"""What is wrong with the flags of a command; names and values are held against Python's own argparse."""

import argparse
import json
import shlex
from collections.abc import Callable, Sequence
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgdoctor.engines.sglang.flags.bounds import BOUNDS, bounds_of
from sgdoctor.engines.sglang.flags.check import check_flags
from sgdoctor.engines.sglang.flags.constraints import Constraint
from sgdoctor.engines.sglang.flags.idle import IDLE
from sgdoctor.engines.sglang.flags.model import SWITCH, Option
from sgdoctor.engines.sglang.flags.refused import REFUSED
from sgdoctor.engines.sglang.flags.refused_states_and_drafts import REFUSED_STATES_AND_DRAFTS
from sgdoctor.engines.sglang.flags.schemas import schema, versions
from sgdoctor.engines.sglang.flags.values import JSON_TEXTS, human_readable_int
from sgdoctor.launch.flag_edits import flag_edits, with_edits
from sgdoctor.launch.model import Problem
from sgdoctor.rules.base import load_rule_base

START = 3
ALL_CONSTRAINTS = (*REFUSED, *REFUSED_STATES_AND_DRAFTS, *IDLE)


def _words(flags: str) -> list[str]:
    return ["python3", "-m", "sglang.launch_server", *shlex.split(flags)]


def _check(version: str, flags: str, **facts: object) -> tuple[Problem, ...]:
    return check_flags(_words(f"--model-path x {flags}"), START, schema(version), facts)


def _summary(problem: Problem) -> tuple[str, str, str | None, tuple[tuple[str, str, str | None], ...]]:
    where = problem.where.en if problem.where else ""
    return problem.id, where, problem.rule, tuple((one.kind, one.name, one.value) for one in problem.changes)


@pytest.mark.parametrize(
    ("version", "flags", "expected"),
    [
        (
            "0.5.15",
            "--max-model-len 4096",
            (
                "flag-foreign",
                "word 6",
                "SGL102",
                (("flag.unset", "--max-model-len", None), ("flag.set", "--context-length", "4096")),
            ),
        ),
        (
            "0.5.15",
            "--tensor_parallel_size 2",
            (
                "flag-underscore",
                "word 6",
                "SGL101",
                (("flag.unset", "--tensor_parallel_size", None), ("flag.set", "--tensor-parallel-size", "2")),
            ),
        ),
        (
            "0.5.20",
            "--mamba-scheduler-strategy extra_buffer",
            (
                "flag-renamed",
                "word 6",
                "SGL103",
                (
                    ("flag.unset", "--mamba-scheduler-strategy", None),
                    ("flag.set", "--mamba-radix-cache-strategy", "extra_buffer"),
                ),
            ),
        ),
        (
            "0.5.20",
            "--disable-piecewise-cuda-graph",
            (
                "flag-renamed",
                "word 6",
                "SGL103",
                (
                    ("flag.unset", "--disable-piecewise-cuda-graph", None),
                    ("flag.set", "--cuda-graph-backend-prefill", "disabled"),
                ),
            ),
        ),
        (
            # The value that the old switch stood for is gone as well.
            "0.5.22",
            "--enforce-piecewise-cuda-graph",
            ("flag-renamed", "word 6", "SGL103", (("flag.unset", "--enforce-piecewise-cuda-graph", None),)),
        ),
        (
            "0.5.13",
            "--cuda-graph-max-bs-decode 8",
            (
                "flag-newer",
                "word 6",
                "SGL104",
                (("flag.unset", "--cuda-graph-max-bs-decode", None), ("flag.set", "--cuda-graph-max-bs", "8")),
            ),
        ),
        (
            "0.5.13",
            "--cuda-graph-backend-prefill disabled",
            (
                "flag-newer",
                "word 6",
                "SGL104",
                (
                    ("flag.unset", "--cuda-graph-backend-prefill", None),
                    ("flag.set", "--disable-piecewise-cuda-graph", None),
                ),
            ),
        ),
        ("0.5.13", "--cuda-graph-backend-prefill full", ("flag-newer", "word 6", "SGL104", ())),
        (
            "0.5.20",
            "--torchao-config int4",
            ("flag-removed", "word 6", "SGL105", (("flag.unset", "--torchao-config", None),)),
        ),
        (
            "0.5.15",
            "--mem-fracton-static 0.9",
            (
                "flag-misspelled",
                "word 6",
                "SGL106",
                (("flag.unset", "--mem-fracton-static", None), ("flag.set", "--mem-fraction-static", "0.9")),
            ),
        ),
        ("0.5.15", "--enable-mla", ("flag-misspelled", "word 6", "SGL106", ())),
        (
            "0.5.15",
            "--xyzzy-plugh 1",
            ("flag-unknown", "word 6", "SGL109", (("flag.unset", "--xyzzy-plugh", None),)),
        ),
        (
            "0.5.20",
            "--cuda-graph-max-bs 4",
            (
                "flag-ambiguous",
                "word 6",
                "SGL111",
                (("flag.unset", "--cuda-graph-max-bs", None), ("flag.set", "--cuda-graph-max-bs-decode", "4")),
            ),
        ),
        ("0.5.15", "--mem-fraction 0.9", ("flag-abbreviated", "word 6", None, ())),
        ("0.5.15", "--port", ("value-missing", "word 6", "SGL112", ())),
        ("0.5.15", "--port --dtype auto", ("value-missing", "word 6", "SGL112", ())),
        (
            "0.5.9",
            "--context-length 32k",
            ("value-type", "word 6", "SGL113", (("flag.set", "--context-length", "32768"),)),
        ),
        (
            "0.5.15",
            "--mem-fraction-static=0,85",
            ("value-type", "word 6", "SGL113", (("flag.set", "--mem-fraction-static", "0.85"),)),
        ),
        ("0.5.15", "--port many", ("value-type", "word 6", "SGL113", ())),
        (
            "0.5.15",
            "--cuda-graph-bs-decode 1,2 4",
            ("list-glued", "word 6", "SGL113", (("flag.set", "--cuda-graph-bs-decode", "1 2 4"),)),
        ),
        ("0.5.15", "--cuda-graph-bs-decode 1,x", ("value-type", "word 6", "SGL113", ())),
        ("0.5.15", "--port 1,2", ("value-type", "word 6", "SGL113", ())),
        (
            "0.5.15",
            "--tool-call-parser qwen3-coder",
            ("choice-invalid", "word 6", "SGL110", (("flag.set", "--tool-call-parser", "qwen3_coder"),)),
        ),
        ("0.5.15", "--dtype bf16", ("choice-invalid", "word 6", "SGL110", (("flag.set", "--dtype", "bfloat16"),))),
        (
            "0.5.12",
            "--reasoning-parser nano_v3",
            ("choice-invalid", "word 6", "SGL110", (("flag.set", "--reasoning-parser", "nemotron_3"),)),
        ),
        ("0.5.15", "--json-model-override-args {a:1}", ("json-broken", "word 6", "SGL134", ())),
        ("0.5.15", "--trust-remote-code true", ("word-stray", "word 7", "SGL109", ())),
        ("0.5.15", "--trust-remote-code=true", ("value-on-switch", "word 6", None, ())),
        ("0.5.15", "--context-length 64k", ("thousands", "word 6", None, ())),
        (
            "0.5.15",
            "--port 1 --port=2",
            ("flag-repeated", "words 6, 8", None, (("flag.unset", "--port", None), ("flag.set", "--port", "2"))),
        ),
    ],
)
def test_one_mistake(version: str, flags: str, expected: tuple[object, ...]) -> None:
    assert [expected] == [_summary(problem) for problem in _check(version, flags)]


@pytest.mark.parametrize(
    ("version", "flags"),
    [
        ("0.5.15", "--dtype bfloat16 --mem-fraction-static 0.92 --tp-size 2 --trust-remote-code"),
        ("0.5.15", "--mamba-radix-cache-strategy no_buffer --disable-overlap-schedule"),
        ("0.5.13", "--cuda-graph-max-bs 8 --mamba-scheduler-strategy no_buffer"),
        ("0.5.15", "--lora-paths a=/a b=/b --max-loras-per-batch 2"),
        ("0.5.15", "--context-length 64Ki --page-size 64 --chunked-prefill-size 4096"),
        ("0.5.15", "--cuda-graph-bs-decode 1 2 4 8 --json-model-override-args '{\"a\": 1}'"),
        ("0.5.15", "--chunked-prefill-size -1 --base-gpu-id 1"),
        ("0.5.23", "--pp-size 2 --enable-dynamic-chunking"),
        ("0.5.15", "--port '$PORT' --dtype '${DTYPE:-auto}' --json-model-override-args '$JSON'"),
        ("0.5.15", "--port '`cat port`'"),
    ],
)
def test_nothing_is_wrong(version: str, flags: str) -> None:
    assert _check(version, flags) == ()


def test_a_change_makes_the_mistake_go_away() -> None:
    words = _words("--model-path x --tool-call-parser qwen3-coder --max-model-len 4096 --dtype fp16 --port 1 --port 2")
    table = schema("0.5.15")
    changes = [change for problem in check_flags(words, START, table) for change in problem.changes]

    corrected = with_edits(words, flag_edits(words, START, changes, table))

    assert check_flags(corrected, START, table) == ()


def test_a_contradiction_is_worse_than_a_repetition() -> None:
    (same,) = _check("0.5.15", "--port 1 --port 1")
    (different,) = _check("0.5.15", "--port 1 --port 2")

    assert (same.severity, different.severity) == ("notice", "error")


def test_secrets_stay_out_of_the_words_about_them() -> None:
    problems = _check("0.5.15", "--api-key abcdefgh --api-key ijklmnop")

    assert not any("ijklmnop" in f"{one.title} {one.detail}" for one in problems)


def test_an_unknown_flag_of_a_version_that_is_not_known_exactly_is_less_certain() -> None:
    assert [problem.severity for problem in _check("0.5.14", "--xyzzy 1")] == ["fatal"]
    assert [problem.severity for problem in _check("0.5.6", "--xyzzy 1")] == ["error"]


def test_sglang_serve_has_a_flag_of_its_own_and_takes_the_model_alone() -> None:
    found = check_flags(["sglang", "serve", "org/model", "--model-type", "llm"], 2, schema("0.5.16"))
    module = check_flags(_words("org/model --model-type llm"), START, schema("0.5.16"))

    assert found == ()
    assert [problem.id for problem in module] == ["word-stray", "flag-unknown", "flag-missing"]


def test_flags_alone_and_help() -> None:
    assert [problem.id for problem in check_flags(["--dtype", "auto"], 0, schema("0.5.15"))] == ["flag-missing"]
    assert check_flags(["--help"], 0, schema("0.5.15")) == ()
    assert check_flags(["--config", "a.yaml"], 0, schema("0.5.15")) == ()
    assert check_flags([*_words("--dtype auto"), "$@"], START, schema("0.5.15")) == ()
    assert check_flags([], 0, schema("0.5.15")) == ()


@pytest.mark.parametrize(
    ("name", "version", "flags", "fine"),
    [
        ("nodes-uneven", "0.5.15", "--tp-size 3 --nnodes 2", "--tp-size 4 --nnodes 2"),
        ("dp-attention-uneven", "0.5.15", "--tp-size 3 --dp-size 2 --enable-dp-attention", "--tp-size 3 --dp-size 2"),
        ("dp-over-nodes", "0.5.15", "--dp-size 2 --nnodes 2 --tp-size 2", "--dp-size 2 --tp-size 2"),
        ("gpu-index", "0.5.15", "--base-gpu-id -1", "--base-gpu-id 0"),
        ("gpu-index", "0.5.15", "--gpu-id-step 0", "--gpu-id-step 2"),
        ("served-name-colon", "0.5.15", "--served-model-name qwen3:27b", "--served-model-name qwen3-27b"),
        ("chunk-not-whole-pages", "0.5.15", "--page-size 3", "--page-size 64"),
        ("chunk-not-whole-pages", "0.5.15", "--page-size 64 --chunked-prefill-size 100", "--chunked-prefill-size 100"),
        (
            "host-cache-without-radix",
            "0.5.15",
            "--enable-hierarchical-cache --disable-radix-cache",
            "--disable-radix-cache",
        ),
        (
            "tokenizer-batching-twice",
            "0.5.15",
            "--enable-tokenizer-batch-encode --enable-dynamic-batch-tokenizer",
            "--enable-tokenizer-batch-encode",
        ),
        (
            "compile-without-padding",
            "0.5.15",
            "--disable-cuda-graph-padding --enable-torch-compile",
            "--enable-torch-compile",
        ),
        ("certificate-incomplete", "0.5.15", "--ssl-keyfile k", "--ssl-keyfile k --ssl-certfile c"),
        (
            "priority-policy",
            "0.5.15",
            "--enable-priority-scheduling --schedule-policy lpm",
            "--enable-priority-scheduling --schedule-policy lof",
        ),
        (
            "metrics-without-folder",
            "0.5.15",
            "--export-metrics-to-file",
            "--export-metrics-to-file --export-metrics-to-file-dir d",
        ),
        (
            "decode-graph-breakable",
            "0.5.15",
            "--cuda-graph-backend-decode breakable",
            "--cuda-graph-backend-prefill breakable",
        ),
        ("lora-incomplete", "0.5.15", "--enable-lora", "--enable-lora --max-lora-rank 8 --lora-target-modules all"),
        ("fraction-out-of-range", "0.5.15", "--mem-fraction-static 92", "--mem-fraction-static 0.92"),
        ("window-share", "0.5.15", "--swa-full-tokens-ratio 0", "--swa-full-tokens-ratio 1"),
        (
            "language-head-alone",
            "0.5.15",
            "--dp-size 2 --tp-size 2 --enable-dp-lm-head",
            "--dp-size 2 --tp-size 2 --enable-dp-lm-head --enable-dp-attention",
        ),
        ("two-halves", "0.5.15", "--encoder-only --language-only", "--language-only"),
        (
            "unified-memory",
            "0.5.15",
            "--enable-unified-memory --attention-backend flashinfer",
            "--enable-unified-memory --attention-backend triton",
        ),
        (
            "unified-memory",
            "0.5.15",
            "--enable-unified-memory --speculative-algorithm NGRAM",
            "--speculative-algorithm NGRAM",
        ),
        (
            "unified-memory",
            "0.5.15",
            "--enable-unified-memory --enable-hierarchical-cache",
            "--enable-hierarchical-cache",
        ),
        (
            "no-buffer-overlap",
            "0.5.15",
            "--mamba-radix-cache-strategy no_buffer",
            "--mamba-radix-cache-strategy no_buffer --disable-radix-cache",
        ),
        (
            "no-buffer-pages",
            "0.5.15",
            "--mamba-radix-cache-strategy no_buffer --disable-overlap-schedule --page-size 64",
            "--mamba-radix-cache-strategy extra_buffer --page-size 64",
        ),
        (
            "lazy-buffer-drafts",
            "0.5.15",
            "--mamba-radix-cache-strategy extra_buffer_lazy --speculative-algorithm NGRAM",
            "--mamba-radix-cache-strategy extra_buffer_lazy",
        ),
        (
            "replay-with-buffers",
            "0.5.15",
            "--enable-linear-replayssm --mamba-radix-cache-strategy extra_buffer",
            "--enable-linear-replayssm",
        ),
        (
            "small-states-host-cache",
            "0.5.15",
            "--enable-int8-mamba-checkpoint --enable-hierarchical-cache",
            "--enable-int8-mamba-checkpoint",
        ),
        ("pipeline-with-drafts", "0.5.15", "--pp-size 2 --speculative-algorithm NGRAM", "--pp-size 2"),
        (
            "draft-numbers-incomplete",
            "0.5.15",
            "--speculative-algorithm EAGLE --speculative-eagle-topk 1",
            "--speculative-algorithm EAGLE",
        ),
        (
            "draft-width-missing",
            "0.5.15",
            "--speculative-algorithm EAGLE --speculative-num-steps 3",
            "--speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-eagle-topk 1",
        ),
        (
            "draft-model-missing",
            "0.5.15",
            "--speculative-algorithm DFLASH",
            "--speculative-algorithm DFLASH --speculative-draft-model-path d",
        ),
        ("lora-with-drafts", "0.5.15", "--lora-paths a --speculative-algorithm EAGLE", "--lora-paths a"),
        ("dynamic-chunks-idle", "0.5.15", "--enable-dynamic-chunking", "--enable-dynamic-chunking --pp-size 2"),
        ("all-reduce-idle", "0.5.15", "--disable-custom-all-reduce", "--disable-custom-all-reduce --tp-size 2"),
        ("all-reduce-idle", "0.5.9", "--disable-custom-all-reduce", "--disable-custom-all-reduce --tp 2"),
        ("dp-attention-idle", "0.5.12", "--enable-dp-attention", "--enable-dp-attention --tp 8 --dp-size 8"),
        (
            "dp-attention-idle",
            "0.5.15",
            "--enable-dp-attention",
            "--enable-dp-attention --dp-size 2 --tp-size 2",
        ),
        (
            "priority-details-idle",
            "0.5.15",
            "--disable-priority-preemption",
            "--disable-priority-preemption --enable-priority-scheduling",
        ),
        ("request-log-idle", "0.5.15", "--log-requests-level 2", "--log-requests-level 2 --log-requests"),
        (
            "radix-strategy-idle",
            "0.5.15",
            "--mamba-radix-cache-strategy no_buffer --disable-radix-cache",
            "--mamba-radix-cache-strategy extra_buffer",
        ),
        ("draft-numbers-idle", "0.5.15", "--speculative-num-steps 3", "--speculative-algorithm EAGLE"),
        ("lora-settings-idle", "0.5.15", "--max-loras-per-batch 2", "--max-loras-per-batch 2 --lora-paths a"),
        ("host-cache-settings-idle", "0.5.15", "--hicache-size 8", "--hicache-size 8 --enable-hierarchical-cache"),
        (
            "mixed-chunks-idle",
            "0.5.15",
            "--enable-mixed-chunk --speculative-algorithm EAGLE",
            "--enable-mixed-chunk",
        ),
        (
            "draft-tokens-adjusted",
            "0.5.15",
            "--speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 8",
            "--speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4",
        ),
    ],
)
def test_flags_that_do_not_go_together(name: str, version: str, flags: str, fine: str) -> None:
    refused = {problem.id: problem for problem in _check(version, flags)}
    accepted = {problem.id for problem in _check(version, fine)}

    assert name in refused
    assert refused[name].where is not None
    assert name not in accepted


@pytest.mark.parametrize(
    ("version", "flags", "facts", "expected"),
    [
        (
            "0.5.15",
            "--mamba-backend flashinfer",
            {"architecture": "Qwen3_5ForConditionalGeneration"},
            ["mamba-kernels-idle"],
        ),
        ("0.5.15", "--mamba-backend flashinfer", {"architecture": "NemotronHForCausalLM"}, []),
        ("0.5.15", "--mamba-backend flashinfer", {}, []),
        ("0.5.15", "--attention-backend fa3", {"gpu.sm": 120}, ["gpu-not-for-fa3"]),
        ("0.5.15", "--attention-backend fa3", {"gpu.sm": 86}, []),
        ("0.5.15", "--attention-backend fa3", {}, []),
        ("0.5.15", "--attention-backend trtllm_mha", {"gpu.sm": 89}, ["gpu-not-for-trtllm"]),
        ("0.5.15", "--attention-backend trtllm_mha", {"gpu.sm": 100}, []),
        # The same flags in versions that do not have the check.
        ("0.5.17", "--mamba-radix-cache-strategy extra_buffer_lazy --speculative-algorithm NGRAM", {}, []),
        ("0.5.13", "--mamba-scheduler-strategy no_buffer", {}, []),
        ("0.5.21", "--pp-size 2 --speculative-algorithm NGRAM", {}, []),
    ],
)
def test_facts_and_versions_decide(version: str, flags: str, facts: dict[str, object], expected: list[str]) -> None:
    assert expected == [problem.id for problem in _check(version, flags, **facts)]


def test_the_name_of_a_model_tells_its_kind_where_nothing_else_does() -> None:
    words = _words("--model-path /models/Qwen3.6-27B-AWQ --mamba-backend flashinfer")

    assert [problem.id for problem in check_flags(words, START, schema("0.5.15"))] == ["mamba-kernels-idle"]


@pytest.mark.parametrize("constraint", ALL_CONSTRAINTS, ids=lambda constraint: constraint.name)
def test_constraints_name_known_versions_rules_and_sources(constraint: Constraint) -> None:
    known = versions()

    assert constraint.source.startswith("srt/")
    assert any(constraint.holds_for(version) for version in known)
    assert constraint.rule is None or load_rule_base(user_dirs=()).rule(constraint.rule)


def test_a_fraction_that_is_no_percentage_is_not_guessed() -> None:
    [problem] = _check("0.5.15", "--mem-fraction-static 1.5")

    assert ("fraction-out-of-range", ()) == (problem.id, problem.changes)
    assert problem.detail is not None
    assert "such as 0.85; without the flag SGLang chooses one" in problem.detail.en


@pytest.mark.parametrize(
    "flags",
    [
        *("--tp-size 0", "--tp-size -1", "--page-size 0", "--context-length -7", "--max-running-requests 0"),
        *("--max-total-tokens -5", "--port 99999", "--dp-size 0", "--context-length 0"),
        *("--cuda-graph-max-bs-decode 0", "--chunked-prefill-size -2"),
        *("--schedule-conservativeness nan", "--watchdog-timeout inf"),
    ],
)
def test_sizes_that_cannot_be(flags: str) -> None:
    [problem] = _check("0.5.15", flags)

    assert ("size-out-of-range", "fatal", ()) == (problem.id, problem.severity, problem.changes)
    assert f"`{flags}`" in problem.title.en


@pytest.mark.parametrize(
    ("flags", "shown"),
    [
        (f"--context-length {10**24}", "`--context-length 1e+24` is out of range: it is 1 to 2,147,483,647"),
        (f"--random-seed -{7 * 10**400}", "`--random-seed -7e+400` is out of range"),
        ("--cuda-graph-bs-decode 1 2 0", "`--cuda-graph-bs-decode 0` is out of range"),
        ("--tp -5", "`--tp -5` is out of range: it is 1 to 4,096"),
        ("--tp 100000", "`--tp 100000` is out of range"),
        ("--enable-hierarchical-cache --hicache-ratio 0", "`--hicache-ratio 0.0` is out of range: it is above 0"),
    ],
)
def test_numbers_that_nobody_can_mean(flags: str, shown: str) -> None:
    [problem] = [one for one in _check("0.5.15", flags) if one.id == "size-out-of-range"]

    assert problem.title.en.startswith(shown)
    assert problem.title.zh


@pytest.mark.parametrize("version", ["0.5.5", "0.5.23"])
@pytest.mark.parametrize("flag", ["--mem-fraction-static", "--swa-full-tokens-ratio"])
@pytest.mark.parametrize("value", ["inf", "nan", "-1", "0", "1e12"])
def test_a_share_that_is_none_is_told_once(version: str, flag: str, value: str) -> None:
    assert 1 == len(_check(version, f"{flag} {value}"))


def test_every_number_out_of_bounds_is_told() -> None:
    flags = "--tp 0 --port -2 --page-size 64 --cuda-graph-bs-decode 0 8 -3"
    found = [one for one in _check("0.5.15", flags) if one.id == "size-out-of-range"]

    assert [
        "`--tp 0` is out of range: it is 1 to 4,096",
        "`--port -2` is out of range: it is 0 to 65,535",
        "`--cuda-graph-bs-decode 0 -3` are out of range: each is 1 to 2,147,483,647",
    ] == [one.title.en for one in found]
    assert ["word 6", "word 8", "word 12"] == [one.where.en for one in found if one.where is not None]


@pytest.mark.parametrize(
    "flags",
    [
        *("--chunked-prefill-size -1", "--random-seed -3", "--port 0", "--max-queued-requests 0", "--cpu-offload-gb 0"),
        *(
            "--context-length 1048576",
            "--max-running-requests 4096",
            "--tp 16 --nnodes 2",
            "--default-priority-value -1",
        ),
        *("--mamba-full-memory-ratio 0.1", "--watchdog-timeout 3600", "--stream-interval 1"),
    ],
)
def test_numbers_that_are_in_use(flags: str) -> None:
    assert "size-out-of-range" not in [problem.id for problem in _check("0.5.15", flags)]


@pytest.mark.parametrize("version", versions())
def test_every_number_has_bounds_and_the_default_is_within(version: str) -> None:
    for option in schema(version).options:
        bounds = bounds_of(option)
        if option.no_cli or bounds is None:
            continue
        assert option.dest in BOUNDS, option.flag
        if isinstance(option.default, int | float):
            assert option.default in bounds, option.flag


def test_few_of_many_places_are_named() -> None:
    [problem] = _check("0.5.15", "--port 1 " * 100)
    assert problem.where is not None

    assert "words 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, …" == problem.where.en


def test_every_constraint_is_told_apart() -> None:
    names = [constraint.name for constraint in ALL_CONSTRAINTS]

    assert len(names) == len(set(names))


def _refused(message: str) -> ValueError:
    return ValueError(message)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise _refused(message)


def _json_or_nothing(text: str) -> object:
    return json.loads(text) if text else text


@cache
def _argparse(version: str) -> argparse.ArgumentParser:
    """The parser that a schema describes, of the standard library."""
    parser = _Parser(prog="sglang", add_help=False)
    types: dict[str, Callable[[str], object]] = {
        "int": int,
        "float": float,
        "human_readable_int": human_readable_int,
        **dict.fromkeys(("json.loads", "json_list_type", "parse_cuda_graph_config_arg"), json.loads),
    }
    for option in schema(version).options:
        if option.no_cli:
            continue
        dest = f"{option.dest}:{option.flag}"
        if option.nargs == SWITCH:
            parser.add_argument(*option.names, dest=dest, action="store_true")
            continue
        kind = types.get(option.type, str)
        if option.flag in JSON_TEXTS:
            # The engine reads these two later.
            kind = _json_or_nothing
        choices = [kind(choice) for choice in option.choices] or None
        nargs = option.nargs or None
        parser.add_argument(*option.names, dest=dest, type=kind, choices=choices, nargs=nargs)
    return parser


# Not what argparse would refuse: found by the engine afterwards, or worth a word only.
_OF_ARGPARSE = frozenset(
    {
        "flag-underscore", "flag-renamed", "flag-foreign", "flag-newer", "flag-removed", "flag-misspelled",
        "flag-unknown", "flag-ambiguous", "value-missing", "value-type", "choice-invalid", "value-on-switch",
        "word-stray", "json-broken", "list-glued",
    }
)  # fmt: skip


def _value_of(option: Option) -> st.SearchStrategy[str]:
    likely = st.sampled_from(["1", "-1", "0.5", "auto", "", "x", "{}", "64k", "true", "[1]"])
    return st.one_of(likely, st.sampled_from(option.choices)) if option.choices else likely


@st.composite
def _command(draw: st.DrawFn, version: str) -> Sequence[str]:
    options = [option for option in schema(version).options if not option.no_cli]
    words: list[str] = []
    chosen: list[Option] = draw(st.lists(st.sampled_from(options), max_size=4))
    for option in chosen:
        name: str = draw(st.sampled_from(option.names))
        shortened: bool = draw(st.booleans())
        name = name[: draw(st.integers(4, len(name)))] if shortened else name
        values: list[str] = draw(st.lists(_value_of(option), max_size=2))
        glued: bool = draw(st.booleans())
        if values and glued:
            words.append(f"{name}={values[0]}")
        else:
            words += [name, *values]
    return words


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["0.5.2", "0.5.15", "0.5.23"]).flatmap(
        lambda version: st.tuples(st.just(version), _command(version))
    )
)
def test_names_and_values_are_judged_as_argparse_does(case: tuple[str, Sequence[str]]) -> None:
    version, words = case
    try:
        _argparse(version).parse_args(list(words))
        accepted = True
    except ValueError:
        accepted = False

    found = [problem for problem in check_flags(words, 0, schema(version)) if problem.id in _OF_ARGPARSE]

    assert accepted == (found == []), found
