"""What the stand-in decides where no recorded run says it: models, cards, costs, versions, answers."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sgdoctor.engines.sglang.memory.costs import after_pools
from sgdoctor.engines.sglang.memory.defaults import choose
from sgdoctor.engines.sglang.memory.settings import settings_of_arguments
from sgdoctor.patches.config_repair import repaired_config
from tests.standin.engine.sglang.decide.arguments import parse
from tests.standin.engine.sglang.decide.decision import End, decide
from tests.standin.engine.sglang.decide.models import KNOWN
from tests.standin.engine.sglang.decide.situation import Situation
from tests.standin.parity import Decided, put_model, recorded, start

BIG = "--model-path /models/27b --context-length 65536 --cuda-graph-max-bs-decode 8 --mem-fraction-static 0.92"
BIG_MODEL = {"STANDIN_MODEL": "qwen3.6-27b"}
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "enum": ["上海", "北京"]}, "days": {"type": "integer"}},
            "required": ["city", "days"],
        },
    },
}


def serving(flags: str = "", **told: str) -> Decided:
    return start(f"{BIG} {flags}", **{**BIG_MODEL, **told})


def message(decided: Decided, **request: Any) -> Any:
    answer = decided.chat(**request)

    assert 200 == answer.status
    return answer.body["choices"][0]["message"]


@pytest.mark.parametrize(
    ("model", "flags", "rule"),
    [
        ("qwen3.6-27b", "", "SGL401"),
        ("qwen3.6-27b", "--mem-fraction-static 0.80", "SGL401"),
        ("qwen3.6-27b", "--mem-fraction-static 0.88", "SGL402"),
        ("qwen3.6-27b", "--mem-fraction-static 0.88 --disable-radix-cache --max-running-requests 1", None),
        ("qwen3.6-27b", "--mem-fraction-static 0.92", None),
        ("qwen3.6-35b-a3b", "--mem-fraction-static 0.92 --mamba-full-memory-ratio 0.7", None),
        ("qwen3-8b", "", None),
        ("qwen3-14b", "", "SGL411"),
        ("qwen3-8b", "--tensor-parallel-size 2", "SGL016"),
    ],
)
def test_known_models_on_24_gib(model: str, flags: str, rule: str | None) -> None:
    decided = start(f"--model-path /m {flags}", STANDIN_MODEL=model)

    assert (["exit"] if rule else ["serve"]) == [decided.run.ending]
    assert ([rule] if rule else []) == decided.log.rules


def test_weights_of_two_cards() -> None:
    decided = start("--model-path /m --tp 2", STANDIN_MODEL="qwen3-14b", STANDIN_CARD="2x24GiB:sm86")

    assert "serve" == decided.run.ending
    assert [" TP0] Load weight begin", " TP1] Load weight begin"] == re.findall(
        r" TP\d\] Load weight begin", decided.run.log.decode()
    )
    assert 13.75 == pytest.approx(decided.log.facts["weights_gib"], abs=0.01)


def test_same_start_is_told_in_the_same_bytes() -> None:
    assert serving().run.log == serving().run.log


def test_paths_of_models() -> None:
    told = {"STANDIN_MODEL": "/models/27b=qwen3.6-27b,Qwen/Qwen3-8B=qwen3-8b"}

    there, hub, missing, unknown = (
        start(f"--model-path {path} --mem-fraction-static 0.92", **told)
        for path in ("/models/27b", "Qwen/Qwen3-8B", "/models/28b", "Qwen/Qwen3-9B")
    )
    assert [("serve", -9), ("serve", -9), ("exit", 1), ("exit", 1)] == [
        one.end for one in (there, hub, missing, unknown)
    ]
    assert recorded("cli-model-path-missing").rules == missing.log.rules
    assert "'/models/28b'" in missing.log.errors[-1]
    assert recorded("cli-model-hub-id-offline").rules == unknown.log.rules


def test_folder_without_config_and_with_a_broken_one(tmp_path: Path) -> None:
    without = start(f"--model-path {tmp_path}")
    (tmp_path / "config.json").write_text('{"model_type": ')
    broken = start(f"--model-path {tmp_path}")

    assert recorded("file-dense-no-config").rules == without.log.rules
    assert recorded("file-dense-broken-json").rules == broken.log.rules
    assert {("exit", 1)} == {without.end, broken.end}


def test_weights_are_read_from_the_files(tmp_path: Path) -> None:
    put_model(tmp_path, "dense-8b")
    without = start(f"--model-path {tmp_path}")
    header = json.dumps({"w": {"dtype": "BF16", "shape": [3 << 29], "data_offsets": [0, 3 << 30]}}).encode()
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    filled = start(f"--model-path {tmp_path}")

    assert recorded("file-dense-no-weights").rules == without.log.rules
    assert 3.0 == filled.log.facts["weights_gib"]


def test_list_of_layers_that_is_too_short_and_its_repair(tmp_path: Path) -> None:
    put_model(tmp_path, "35b-a3b", layer_types=["linear_attention"] * 3 + ["full_attention"])
    told = {"STANDIN_MODEL": "qwen3.6-35b-a3b"}
    command = f"--model-path {tmp_path} --mem-fraction-static 0.92 --context-length 65536"

    short = start(command, **told)
    config = tmp_path / "config.json"
    repair = repaired_config(config.read_bytes())
    assert repair is not None
    assert repair.content is not None
    config.write_bytes(repair.content)
    repaired = start(command, **told)

    assert recorded("cfg-moe-40-layers-16-types").rules == short.log.rules
    assert "`num_hidden_layers` (40) must be equal to the number of `layer_types` (4)" in short.log.errors[0]
    assert ("serve", -9) == repaired.end


def test_check_of_layers_that_a_start_up_patch_replaced(tmp_path: Path) -> None:
    from importlib import import_module

    put_model(tmp_path, "35b-a3b", layer_types=["linear_attention"] * 3)
    import_module("transformers").PretrainedConfig.validate_layer_type = lambda self: None

    decided = start(f"--model-path {tmp_path} --mem-fraction-static 0.92", STANDIN_MODEL="qwen3.6-35b-a3b")

    assert ("serve", -9) == decided.end


def test_machine_without_gpu() -> None:
    decided = start("--model-path /m", STANDIN_MODEL="qwen3-8b", STANDIN_CARD="none")

    assert recorded("cli-no-gpu").rules == decided.log.rules
    assert ("exit", 1) == decided.end


def test_memory_that_others_hold() -> None:
    decided = start("--model-path /m", STANDIN_MODEL="qwen3-8b", STANDIN_CARD="24GiB:sm86:9.5GiB")

    assert ["SGL411"] == decided.log.rules
    assert "Process 2715 has 13.72 GiB memory in use." in decided.log.errors[-1]


def test_graphs_cost_what_only_the_situation_knows() -> None:
    flags = "--max-mamba-cache-size 20 --mamba-ssm-dtype bfloat16"
    cheap, dear = (serving(flags, STANDIN_GRAPHS_GIB=gib) for gib in ("0.1", "2"))
    fewer, none = (
        serving(f"{flags} {more}", STANDIN_GRAPHS_GIB="2")
        for more in ("--cuda-graph-max-bs-decode 1", "--cuda-graph-backend-decode disabled")
    )

    assert ("exit", -9) == dear.end
    assert ["SGL414"] == dear.log.rules
    # The engine quotes the text of the exception, not its class (issue 5285 of SGLang).
    assert dear.log.errors[-1].startswith(
        "Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate "
    )
    assert "set --cuda-graph-max-bs-decode to a smaller value" in dear.run.log.decode()
    assert [("serve", -9)] * 3 == [cheap.end, fewer.end, none.end]
    assert cheap.log.facts["kv_tokens"] == dear.log.facts["kv_tokens"]


def test_graphs_that_do_not_fit_in_the_words_of_an_older_version() -> None:
    failed = start("--model-path /m", STANDIN_MODEL="qwen3-8b", STANDIN_VERSION="0.5.9", STANDIN_GRAPHS_GIB="4")

    assert ["SGL414"] == failed.log.rules
    assert "set --cuda-graph-max-bs to a smaller value (e.g., 16)" in failed.run.log.decode()


@pytest.mark.parametrize("model", KNOWN)
@pytest.mark.parametrize("flags", ["", "--attention-backend triton", "--cuda-graph-max-bs-decode 1"])
def test_usual_costs_lie_in_the_range_that_the_memory_model_gives(model: str, flags: str) -> None:
    arguments = parse(["--model-path", "/m", *flags.split()], "0.5.15")
    situation = Situation.read({"STANDIN_MODEL": model, "STANDIN_CARD": "80GiB:sm86"})
    decision = decide(arguments, situation)

    settings = settings_of_arguments(arguments.value)
    shape = KNOWN[model].shape
    bounds = after_pools(choose(settings, shape, 80 * 1024, "0.5.15"), settings, shape, None, small_card=True)
    assert End.SERVES is decision.end
    assert bounds.low <= decision.after_pools - decision.left <= bounds.high


def test_prefill_graphs_that_do_not_fit() -> None:
    decided = start(
        "--model-path /m --mem-fraction-static 0.97", STANDIN_MODEL="qwen3-8b", STANDIN_CARD="24GiB:sm86:22.9"
    )

    assert ["SGL414"] == decided.log.rules
    assert "--cuda-graph-backend-prefill=disabled" in decided.run.log.decode()


def test_flash_attention_3_on_a_new_card() -> None:
    decided = start("--model-path /m --attention-backend fa3", STANDIN_MODEL="qwen3-8b", STANDIN_CARD="32GiB:sm120")

    assert ["SGL540"] == decided.log.rules


@pytest.mark.parametrize("version", ["0.5.9", "0.5.13", "0.5.14", "0.5.17", "0.5.21", "0.5.23"])
def test_other_versions(version: str) -> None:
    dense = start("--model-path /m", STANDIN_MODEL="qwen3-8b", STANDIN_VERSION=version)
    unknown = start("--model-path /m --enable-moe-magic", STANDIN_MODEL="qwen3-8b", STANDIN_VERSION=version)

    facts = dense.log.facts
    assert ("serve", -9) == dense.end
    assert [] == dense.log.rules
    assert facts["ready"]
    assert facts["kv_tokens"] > 25_000
    assert ("exit", 2) == unknown.end
    assert unknown.run.log.endswith(b"error: unrecognized arguments: --enable-moe-magic\n")


def test_flag_that_a_version_does_not_have() -> None:
    decided = serving(STANDIN_VERSION="0.5.13")

    assert ("exit", 2) == decided.end
    assert b"unrecognized arguments: --cuda-graph-max-bs-decode 8\n" in decided.run.log


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--speculative-num 3", "ambiguous option: --speculative-num could match --speculative-num-draft-tokens, "),
        ("--context-length 64KB", "argument --context-length: invalid human_readable_int value: '64KB'\n"),
        ("--tool-call-parser", "argument --tool-call-parser: expected one argument\n"),
        ("--disable-radix-cache=1", "argument --disable-radix-cache: ignored explicit argument '1'\n"),
        ("--model-loader-extra-config '{' foo", "unrecognized arguments: foo\n"),
        ("--mm-process-config '{a}'", "argument --mm-process-config: invalid loads value: '{a}'\n"),
    ],
)
def test_refused_arguments(flags: str, said: str) -> None:
    decided = serving(flags)

    assert ("exit", 2) == decided.end
    assert f"\nsglang serve: error: {said}" in decided.run.log.decode()


@pytest.mark.parametrize(
    ("flags", "rule"),
    [
        ("--mamba-radix-cache-strategy no_buffer", "SGL123"),
        ("--mamba-radix-cache-strategy no_buffer --disable-overlap-schedule --page-size 64", "SGL124"),
        ("--mamba-radix-cache-strategy no_buffer --disable-overlap-schedule", None),
        ("--chunked-prefill-size 1000 --page-size 64", "SGL121"),
        ("--served-model-name qwen:27b", "SGL120"),
        ("--enable-hierarchical-cache --disable-radix-cache", "SGL122"),
        ("--attention-backend trtllm_mha", "SGL541"),
    ],
)
def test_combinations_that_are_refused(flags: str, rule: str | None) -> None:
    decided = serving(flags)

    assert (("exit", 1) if rule else ("serve", -9)) == decided.end
    assert ([rule] if rule else []) == decided.log.rules


def test_old_and_shortened_names() -> None:
    decided = start(
        "--model /m --cuda-graph-max-bs 2 --mem-fraction 0.8 --context-length 32k", STANDIN_MODEL="qwen3-8b"
    )

    assert "serve" == decided.run.ending
    assert "Use '--cuda-graph-max-bs-decode' instead." in decided.run.log.decode()
    assert (0.8, 32000) == (decided.log.facts["fraction"], decided.log.facts["context_len"])


@pytest.mark.parametrize(
    ("told", "named"),
    [
        ({"STANDIN_CARD": "24GB"}, "STANDIN_CARD"),
        ({"STANDIN_MODEL": "qwen9"}, "STANDIN_MODEL"),
        ({"STANDIN_GRAPHS_GIB": "much"}, "STANDIN_GRAPHS_GIB"),
    ],
)
def test_variable_that_cannot_be_read(told: dict[str, str], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        serving(**told)


def test_answers_without_parsers() -> None:
    decided = serving()

    spoken, called = message(decided), message(decided, tools=[WEATHER])
    assert "The user wants a short greeting, so I greet.\n</think>\n\nHello from" in spoken["content"]
    assert (None, None) == (spoken["reasoning_content"], spoken["tool_calls"])
    assert called["content"].startswith("<tool_call>\n<function=get_weather>\n<parameter=city>\n上海\n</parameter>\n")
    assert called["tool_calls"] is None


def test_answers_with_parsers() -> None:
    decided = serving("--tool-call-parser qwen3_coder --reasoning-parser qwen3")

    spoken, called = message(decided), message(decided, tools=[WEATHER])
    assert "The user wants a short greeting, so I greet.\n" == spoken["reasoning_content"]
    assert "\n\nHello from a tiny model with random weights!" == spoken["content"]
    call = called["tool_calls"][0]["function"]
    assert ("get_weather", {"city": "上海", "days": 2}) == (call["name"], json.loads(call["arguments"]))
    assert "" == called["content"]


def test_answer_after_a_tool_and_without_thinking_and_cut_off() -> None:
    decided = serving("--tool-call-parser qwen3_coder")

    after = decided.post(
        "/v1/chat/completions",
        tools=[WEATHER],
        messages=[{"role": "user", "content": "?"}, {"role": "tool", "content": "21 degrees", "tool_call_id": "x"}],
    ).body["choices"][0]
    quiet = message(decided, chat_template_kwargs={"enable_thinking": False})
    cut = decided.chat(max_tokens=2).body
    assert "stop" == after["finish_reason"]
    assert "Hello from a tiny model with random weights!" == quiet["content"]
    assert ("length", 2) == (cut["choices"][0]["finish_reason"], cut["usage"]["completion_tokens"])


def test_streamed_answer_is_the_same_text() -> None:
    decided = serving("--reasoning-parser qwen3")

    body = decided.chat(stream=True, stream_options={"include_usage": True}).body
    chunks = [json.loads(line.removeprefix("data: ")) for line in body.split("\n\n") if line.startswith("data: {")]
    text = "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks if chunk["choices"])
    assert "\n\nHello from a tiny model with random weights!" == text
    assert body.endswith("data: [DONE]\n\n")
    assert 19 == chunks[-1]["usage"]["prompt_tokens"]


def test_numbers_of_the_server() -> None:
    decided = serving("--served-model-name big --disable-overlap-schedule")

    facts = decided.log.facts
    info, loads = decided.get("/server_info").body, decided.get("/v1/loads").body["loads"][0]
    state = info["internal_states"][0]
    assert {facts["kv_tokens"]} == {
        info["max_total_num_tokens"],
        state["memory_usage"]["token_capacity"],
        loads["max_total_num_tokens"],
    }
    assert facts["weights_gib"] == state["memory_usage"]["weight"] == loads["memory"]["weight_gb"]
    assert facts["max_running_requests"] == state["effective_max_running_requests_per_dp"]
    assert (0.92, True, 65536) == (
        info["mem_fraction_static"],
        info["disable_overlap_schedule"],
        info["context_length"],
    )
    assert ("big", 65536) == tuple(decided.get("/v1/models").body["data"][0][key] for key in ("id", "max_model_len"))
    assert KNOWN["qwen3.6-27b"].architecture == decided.get("/model_info").body["architectures"][0]


def test_key() -> None:
    decided = serving("--api-key secret")

    statuses = [
        decided.get(*request).status for request in (("/v1/models",), ("/v1/models", "Bearer secret"), ("/health",))
    ]
    assert [401, 200, 200] == statuses
    assert {"error": "Unauthorized"} == decided.chat().body


def test_requests_that_are_refused() -> None:
    decided = serving()

    assert 404 == decided.get("/v1/model").status
    assert 400 == decided.post("/v1/chat/completions", model="x").status
    assert 400 == decided.server.respond("POST", "/v1/chat/completions", b"{", None).status
    over = decided.chat("word " * 70_000)
    most = decided.chat(max_tokens=100_000)
    assert "is longer than the model's context length (65536 tokens)." in over.body["message"]
    assert "You requested a total of 100019 tokens" in most.body["message"]
