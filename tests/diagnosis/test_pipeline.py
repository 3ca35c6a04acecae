"""The whole way, on real logs and on logs made to mislead."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.diagnosis.pipeline import diagnose_bytes
from sgdoctor.diagnosis.verdict import LiveClock
from sgdoctor.rules.base import RuleBase, assemble, load_rule_base


@pytest.fixture(scope="module")
def base() -> RuleBase:
    return load_rule_base()


def newest(data: bytes, base: RuleBase) -> Verdict:
    return diagnose_bytes(data, "test.log", base)[-1]


@pytest.fixture(scope="module")
def dead() -> bytes:
    return (Path(__file__).parents[2] / "fixtures" / "logs" / "real" / "bcg-decode-dense.log").read_bytes()


@pytest.fixture(scope="module")
def alive() -> bytes:
    return (Path(__file__).parents[2] / "fixtures" / "logs" / "real" / "boot-dense.log").read_bytes()


def test_an_earlier_start_never_explains_a_later_one(dead: bytes, alive: bytes, base: RuleBase) -> None:
    verdict = newest(dead + alive, base)

    assert (verdict.state, verdict.attempt, verdict.attempts) == (State.HEALTHY, 2, 2)
    assert verdict.diagnoses == ()


def test_the_newest_start_is_judged_and_its_lines_are_numbered_in_the_file(
    dead: bytes, alive: bytes, base: RuleBase
) -> None:
    verdict = newest(alive + dead, base)

    proof = verdict.diagnoses[0].evidence[0]
    assert verdict.state is State.FAILED
    assert (alive + dead).split(b"\n")[proof.line - 1].decode() == proof.text


FAILURES = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.50 GiB",
    "RuntimeError: Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Computed max_mamba_cache_size=-2",
    "TypeError: Unsupported BCG output type: <class 'x'>",
    "Received sigquit from a child process. It usually means the child failed.",
)


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize(
    "around",
    [
        "[2026-11-30 10:39:00] Receive: obj=GenerateReqInput(rid='1', text='why {} ?', sampling_params={{}})\n",
        '{{"messages": [{{"role": "user", "content": "{}"}}]}}\n',
        "[2026-11-30 10:39:00] server_args=ServerArgs(model_path='/models/{}', tp_size=1)\n",
    ],
)
def test_text_of_others_is_never_a_diagnosis(failure: str, around: str, alive: bytes, base: RuleBase) -> None:
    ready = alive.index(b"\n", alive.index(b"fired up and ready")) + 1
    body = alive[:ready] + around.format(failure).encode() + alive[ready:]

    verdict = newest(body, base)

    assert [found.rule.id for found in verdict.diagnoses] == []


def test_an_empty_log_has_an_answer(base: RuleBase) -> None:
    assert newest(b"", base).state is State.UNDETERMINED


@given(st.lists(st.one_of(st.binary(max_size=80), st.sampled_from([text.encode() for text in FAILURES])), max_size=12))
@settings(max_examples=60, deadline=None)
def test_no_input_makes_it_raise(parts: list[bytes]) -> None:
    verdicts = diagnose_bytes(b"\n".join(parts), "test.log", load_rule_base(), all_attempts=True)

    assert verdicts
    assert all(verdict.summary.en and verdict.summary.zh for verdict in verdicts)


def test_the_start_of_every_real_log_reads_without_an_alarm(logs: Path, base: RuleBase) -> None:
    """What a person sees who asks while a healthy server is still starting."""
    alarms = []
    for log in sorted((logs / "real").glob("boot-*.log")):
        lines = log.read_bytes().splitlines(keepends=True)
        for share in range(1, 10):
            verdict = newest(b"".join(lines[: len(lines) * share // 10]), base)
            if verdict.state not in (State.STARTING, State.HEALTHY, State.DEGRADED):
                alarms.append((log.name, share, verdict.summary.en))

    assert alarms == []


def test_a_traceback_that_the_start_got_over_is_not_the_cause(base: RuleBase) -> None:
    log = b"""[2026-05-22 15:58:16] server_args=ServerArgs(model_path='Qwen/Qwen3.5-4B', tp_size=1, mem_fraction_static=0.6)
Traceback (most recent call last):
  File "/x/sglang/srt/utils.py", line 3, in try_import
ModuleNotFoundError: No module named 'deep_ep'
[2026-05-22 15:58:16] Load weight begin. avail mem=22.90 GB
[2026-05-22 15:58:20] Load weight end. elapsed=4.1 s, type=Qwen3ForCausalLM, avail mem=4.96 GB, mem usage=18.81 GB.
[2026-05-22 15:58:21] Scheduler hit an exception: Traceback (most recent call last):
  File "/x/sglang/srt/model_executor/model_runner.py", line 3, in init_memory_pool
RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.
"""

    verdict = diagnose_bytes(log, "x", base)[-1]

    assert verdict.state == "failed"
    assert verdict.diagnoses[0].evidence[0].line == 9


SERVED = "".join(
    f"[2026-11-30 10:41:{second}] Decode batch, #running-req: 1, #token: 40, token usage: 0.00, cuda graph: True, "
    "gen throughput (token/s): 20.0, #queue-req: 0\n"
    for second in range(20, 40)
)


@pytest.mark.parametrize("failure", [*FAILURES, "exit code: 137", "ValueError: nobody has ever seen this"])
def test_raw_text_of_a_server_that_goes_on_to_serve_is_no_death(failure: str, alive: bytes, base: RuleBase) -> None:
    ready = alive.index(b"\n", alive.index(b"fired up and ready")) + 1
    prompt = f"my own logger prints prompts:\n{failure}\n"

    verdict = newest(alive[:ready] + prompt.encode() + SERVED.encode(), base)

    assert verdict.state in (State.HEALTHY, State.DEGRADED)


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize(
    "around",
    [
        '{\n  "lines": [\n    "[a {",\n    "FAILURE"\n  ]\n}',
        '[\n  "FAILURE",\n  "x"\n]',
        "2026-11-30 10:41:05,123 - proxy - INFO - prompt: 'FAILURE'",
        'INFO:     proxy: body: {"prompt": "FAILURE"}',
        "[2026-11-30 10:41:05] request {'role': 'user', 'content': 'FAILURE'}",
    ],
)
def test_bodies_and_conversations_are_data(failure: str, around: str, alive: bytes, base: RuleBase) -> None:
    ready = alive.index(b"\n", alive.index(b"fired up and ready")) + 1
    body = around.replace("FAILURE", failure) + "\n"

    verdict = newest(alive[:ready] + body.encode(), base)

    assert (verdict.state, verdict.diagnoses) == (State.HEALTHY, ())


def test_an_exception_that_quotes_a_conversation_stays_one(alive: bytes, base: RuleBase) -> None:
    ready = alive.index(b"\n", alive.index(b"fired up and ready")) + 1
    failure = b"ValueError: nobody has ever seen {'role': 'user', 'content': 'x'}\n"

    verdict = newest(alive[:ready] + failure, base)

    assert verdict.unexplained is not None


def test_a_rule_that_takes_too_long_is_named() -> None:
    slow = {
        "id": "USR001",
        "name": "slow",
        "severity": "fatal",
        "match": [{"literals": ["aaaaaaaa"], "message": "(a+)+$"}],
        "title": {"en": "x", "zh": "x"},
        "cause": {"en": "x", "zh": "x"},
    }

    verdict = newest(b"RuntimeError: " + b"a" * 5000 + b"!\n", assemble([slow]))

    assert verdict.slow_rules == ("USR001",)
    assert verdict.diagnoses == ()


ARGUMENTS = b"[2026-11-30 10:40:00] server_args=ServerArgs(model_path='Qwen/Qwen3.5-4B', tp_size=1)\n"
UNKNOWN = b"""Traceback (most recent call last):
  File "/x/sglang/srt/managers/scheduler.py", line 3, in run
ValueError: nobody has ever seen this
"""


def test_a_log_that_stops_in_the_middle_of_a_start_says_what_would_decide(alive: bytes, base: RuleBase) -> None:
    log = b"".join(alive.splitlines(keepends=True)[:40])

    ended = newest(log, base)
    followed = diagnose_bytes(log, "x", base, live=LiveClock(1.0, 1.0))[-1]

    assert (State.STARTING, State.STARTING) == (ended.state, followed.state)
    assert ended.summary.en.startswith("The log ends in the middle of the start (")
    assert ended.summary.zh.startswith("日志在启动途中结束（")
    assert ended.would_decide is not None
    assert "docker inspect -f '{{.State.ExitCode}} {{.State.OOMKilled}}' NAME" in ended.would_decide.zh
    assert followed.summary.en.startswith("Nothing is wrong so far")
    assert followed.would_decide is None


def test_a_failure_in_a_whole_log_is_new_and_one_in_an_excerpt_needs_the_whole_log(base: RuleBase) -> None:
    whole = newest(ARGUMENTS + UNKNOWN, base)
    excerpt = newest(UNKNOWN, base)

    assert (State.UNDETERMINED, State.UNDETERMINED) == (whole.state, excerpt.state)
    assert whole.would_decide is not None
    assert "sgdoctor diagnose --format md FILE" in whole.would_decide.en
    assert excerpt.would_decide is not None
    assert excerpt.would_decide.en.startswith("What would decide it: the whole log")


def test_secrets_are_hidden_among_the_values_and_never_in_the_words_of_a_rule() -> None:
    secret = "hf_" + "a1B2c3D4e5F6g7H8"
    text = {"en": "Pass `-e HF_TOKEN=... (or `hf auth login`); it was `{given}`, `--api-key {word}`."}
    base = assemble(
        [
            {
                "id": "SGL199",
                "name": "secretive",
                "severity": "fatal",
                "match": [{"literals": ["given token"], "message": r"given token (?P<given>\S+) (?P<word>\S+)"}],
                "captures": {"given": {"type": "str"}, "word": {"type": "str"}},
                "title": text,
                "cause": text,
                "fixes": [
                    {
                        "id": "set",
                        "summary": text,
                        "changes": [
                            {"kind": "env.set", "name": "HF_TOKEN", "value": "..."},
                            {"kind": "env.set", "name": "HF_TOKEN", "value": "{word}"},
                        ],
                    }
                ],
            }
        ]
    )
    log = f"given token {secret} plainword\n".encode()

    hidden = diagnose_bytes(log, "x", base)[-1].diagnoses[0]
    shown = diagnose_bytes(log, "x", base, redact=False)[-1].diagnoses[0]

    expected = "Pass `-e HF_TOKEN=... (or `hf auth login`); it was `hf_***`, `--api-key ***`."
    assert (expected,) * 3 == (hidden.title.en, hidden.cause.en, hidden.fixes[0].summary.en)
    assert ["...", "***"] == [change.value for change in hidden.fixes[0].changes]
    assert secret in shown.title.en
    assert "plainword" == shown.fixes[0].changes[1].value


@pytest.mark.parametrize(("container", "command"), [("sgl-qwen", "sgl-qwen"), ("", "NAME")])
def test_a_loop_is_stopped_by_the_name_of_its_container(container: str, command: str, base: RuleBase) -> None:
    start = b"[2026-11-30 10:00:00] server_args=ServerArgs(model_path='/models/x', tp_size=1)\n"

    verdict = diagnose_bytes(3 * start, "test.log", base, container=container)[-1]

    loop = next(diagnosis for diagnosis in verdict.diagnoses if diagnosis.rule.id == "SGL075")
    assert [f"docker update --restart=no {command}"] == [change.value for change in loop.fixes[0].changes]
    assert 1 == len(loop.fixes)
