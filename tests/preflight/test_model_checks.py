"""Checks of models: nothing to say on good folders, and each defect on its own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sgdoctor.launch.change import Change
from sgdoctor.launch.model import Mount
from sgdoctor.preflight.model import Status
from tests.preflight.model_folders import CHAT, HERMES, Folder, awq, decoder, gguf, packed, plain, shard, write
from tests.preflight.model_situations import findings, launch_of, of_folder, situation_of, troubles
from tests.preflight.models import AWQ, FP8, GPTQ, LLAMA_8B, MODELS, NVFP4, QWEN3_8B, config, founding_27b, founding_35b

SMALL = config("LlamaForCausalLM", "llama", (4, 256, 4, 2, 512, 1024, 8192))
INDEX = "model.safetensors.index.json"


def small(files: int = 1, **more: Any) -> Folder:
    """A model of four layers."""
    return Folder({**SMALL, **more}, decoder(SMALL), files)


SLOW = ("qwen3.6-35b-awq",)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in MODELS]
)
def test_nothing_is_wrong_with_published_models(name: str, tmp_path: Path) -> None:
    folder = MODELS[name]()
    write(folder, tmp_path / "m")
    situation = of_folder(tmp_path / "m", *folder.flags)
    passed = {one.title.en for one in findings(situation) if one.status is Status.PASS}

    assert [] == troubles(situation)
    assert {"config.json is valid", "all weight files are there"} <= passed


def drop(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def put(name: str, content: str | bytes) -> Callable[[Path], None]:
    data = content.encode() if isinstance(content, str) else content

    def damage(folder: Path) -> None:
        (folder / name).write_bytes(data)

    return damage


def cut(name: str, off: int) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        size = (folder / name).stat().st_size
        with (folder / name).open("r+b") as file:
            file.truncate(size + off)

    return damage


def link(name: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).symlink_to("../../blobs/absent")

    return damage


def marked(name: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / name).write_bytes(b"\xef\xbb\xbf" + (folder / name).read_bytes())

    return damage


def of_config(**numbers: Any) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **numbers}))

    return damage


def of_tokenizer(**numbers: Any) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        path = folder / "tokenizer_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **numbers}))

    return damage


def without(*names: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return damage


SECOND = "model-00002-of-00003.safetensors"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5368709120\n"
DEFECTS: dict[str, tuple[Callable[[Path], None], list[tuple[str, str | None]]]] = {
    "a file of the index is missing": (drop(SECOND), [("fail", None)]),
    "a numbered file is missing": (without(INDEX, SECOND), [("fail", None)]),
    "the index is broken": (put(INDEX, "{"), [("fail", "SGL305")]),
    "a file is cut off": (cut(SECOND, -1000), [("fail", "SGL302")]),
    "a file is longer than its header says": (cut(SECOND, 8), [("fail", "SGL305")]),
    "a file is empty": (put(SECOND, ""), [("fail", "SGL303")]),
    "a file is a pointer": (put(SECOND, POINTER), [("fail", "SGL304")]),
    "a file is no weights": (put(SECOND, "<html>Not found</html>"), [("fail", "SGL305")]),
    "a link leads nowhere": (link(SECOND), [("fail", "SGL306")]),
    "a download was interrupted": (put("model.safetensors.incomplete", "x"), [("warn", "SGL315")]),
    "aria2 is not done": (put(f"{SECOND}.aria2", "x"), [("fail", "SGL315")]),
    "config.json is broken": (put("config.json", '{"architectures": ['), [("fail", "SGL213")]),
    "config.json is a pointer": (put("config.json", POINTER), [("fail", "SGL213")]),
    "a number is empty": (of_config(hidden_size=None), [("fail", "SGL234")]),
    "config.json has a byte order mark": (marked("config.json"), [("fail", "SGL213")]),
    "a number is negative": (of_config(num_hidden_layers=-5), [("fail", None)]),
    "a number is zero": (of_config(num_attention_heads=0), [("fail", None)]),
    "a number is a text": (of_config(hidden_size="256"), [("fail", None)]),
    "no such model class": (of_config(architectures=["NewForCausalLM"]), [("warn", "SGL210")]),
    "no such model type": (of_config(architectures=["NewForCausalLM"], model_type="new"), [("fail", "SGL209")]),
    "another width": (of_config(hidden_size=320), [("fail", "SGL335")]),
    "another vocabulary": (of_config(vocab_size=1000), [("fail", "SGL335")]),
    "other heads": (of_config(num_key_value_heads=4), [("fail", "SGL335")]),
    "another intermediate size boots": (of_config(intermediate_size=1024), [("fail", None)]),
    "layers are missing": (of_config(num_hidden_layers=6), [("fail", None)]),
    "no tokenizer": (drop("tokenizer.json"), [("fail", "SGL216")]),
    "the tokenizer is broken": (put("tokenizer.json", '{"version": '), [("fail", "SGL230")]),
    "the tokenizer is a pointer": (put("tokenizer.json", POINTER), [("fail", "SGL230")]),
    "no chat template": (of_tokenizer(chat_template=None), [("warn", "SGL811")]),
    "the chat template does not close": (of_tokenizer(chat_template=CHAT[:-5]), [("fail", "SGL813")]),
    "layer_types is short": (of_config(layer_types=["full_attention"] * 2), [("fail", "SGL204")]),
    "layer_types is long": (of_config(layer_types=["full_attention"] * 9), [("fail", "SGL205")]),
    "quantised in an unknown way": (of_config(quantization_config={"quant_method": "exl9"}), [("fail", "SGL324")]),
    "a vision part without settings": (of_config(vision_config={"depth": 2}), [("fail", "SGL226")]),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_one_defect_is_one_finding(name: str, tmp_path: Path) -> None:
    damage, expected = DEFECTS[name]
    folder = write(small(3), tmp_path / "m")

    assert [] == troubles(of_folder(folder))
    damage(folder)

    assert expected == troubles(of_folder(folder))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=4,
)
KEYS = [
    *founding_35b().config["text_config"],
    "rope_scaling",
    "kv_lora_rank",
    "sliding_window",
    "num_nextn_predict_layers",
]
TOP = ["architectures", "model_type", "text_config", "vision_config", "quantization_config", "torch_dtype", "auto_map"]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.sampled_from(KEYS), JSON, max_size=4), st.dictionaries(st.sampled_from(TOP), JSON, max_size=2)
)
def test_no_configuration_is_too_odd(tmp_path: Path, inner: dict[str, Any], outer: dict[str, Any]) -> None:
    whole = {**founding_27b().config, "text_config": {**founding_27b().config["text_config"], **inner}, **outer}
    folder = write(Folder(whole, decoder(SMALL)), tmp_path)
    said = findings(of_folder(folder, "--tp", "2", "--context-length", "64k", "--speculative-algorithm", "NEXTN"))

    assert said


def test_weights_that_promise_more_than_their_files_have(tmp_path: Path) -> None:
    folder = write(small(3), tmp_path)
    index = json.loads((folder / INDEX).read_text())
    index["weight_map"]["model.layers.3.extra.weight"] = SECOND
    (folder / INDEX).write_text(json.dumps(index))

    assert [("fail", None)] == troubles(of_folder(folder))


def test_a_missing_file_ends_the_start_only_where_the_engine_looks(tmp_path: Path) -> None:
    folder = write(small(3), tmp_path)
    (folder / SECOND).unlink()

    assert [("fail", None)] == troubles(of_folder(folder, version="0.5.16"), "model-weights")
    assert [("fail", "SGL306")] == troubles(of_folder(folder, version="0.5.17"), "model-weights")


@pytest.mark.parametrize(("lost", "said"), [(1, "1 of 3 files with weights is"), (2, "2 of 3 files with weights are")])
def test_missing_files_are_counted_in_words_that_fit(lost: int, said: str, tmp_path: Path) -> None:
    folder = write(small(3), tmp_path)
    for name in (SECOND, SECOND.replace("00002-", "00003-"))[:lost]:
        (folder / name).unlink()
    [found] = [one for one in findings(of_folder(folder), "model-weights") if one.status is Status.FAIL]

    assert found.title.en.startswith(f"{said} missing: ")


def test_more_layers_than_the_configuration_says(tmp_path: Path) -> None:
    eight = {**SMALL, "num_hidden_layers": 8}
    folder = write(Folder(SMALL, decoder(eight)), tmp_path)

    assert [("fail", None)] == troubles(of_folder(folder))


def test_experts_that_are_missing(tmp_path: Path) -> None:
    mixture = config("Qwen3MoeForCausalLM", "qwen3_moe", (2, 256, 4, 2, 512, 1024, 8192), moe_intermediate_size=128)
    folder = write(Folder({**mixture, "num_experts": 8}, decoder({**mixture, "num_experts": 4})), tmp_path)

    assert [("fail", None)] == troubles(of_folder(folder))


def test_weights_of_torch(tmp_path: Path) -> None:
    folder = write(Folder(SMALL, {}), tmp_path)
    (folder / "pytorch_model.bin").write_bytes(b"PK\x03\x04" + b"0" * 100)

    assert [("fail", "SGL302")] == troubles(of_folder(folder))
    (folder / "pytorch_model.bin").write_bytes(b"PK\x03\x04" + b"0" * 100 + b"PK\x05\x06" + b"0" * 18)

    assert [] == troubles(of_folder(folder))


def test_a_folder_without_weights(tmp_path: Path) -> None:
    assert [("fail", "SGL301")] == troubles(of_folder(write(Folder(SMALL, {}), tmp_path)))


@pytest.mark.parametrize(("version", "expected"), [("0.5.9", []), ("0.5.5", [("fail", "SGL209")])])
def test_an_engine_older_than_the_model(version: str, expected: list[Any], tmp_path: Path) -> None:
    folder = write(founding_27b(), tmp_path)
    found = findings(of_folder(folder, version=version), "model-architecture")

    assert expected == troubles(of_folder(folder, version=version), "model-architecture")
    if expected:
        assert (Change("image.tag", "", "lmsysorg/sglang:v0.5.9"),) == found[0].changes


def test_code_of_the_model_has_to_be_allowed(tmp_path: Path) -> None:
    folder = write(small(model_type="own", auto_map={"AutoConfig": "configuration_own.OwnConfig"}), tmp_path)
    (found,) = findings(of_folder(folder), "model-architecture")

    assert ("fail", "SGL215") == (found.status, found.prevents)
    assert (Change("flag.set", "--trust-remote-code"),) == found.changes
    assert [] == troubles(of_folder(folder, "--trust-remote-code"), "model-architecture")


def test_the_version_is_not_known(tmp_path: Path) -> None:
    (found,) = findings(of_folder(write(small(), tmp_path), version=None), "model-architecture")

    assert Status.SKIPPED is found.status


SHORT = ["linear_attention", "linear_attention", "linear_attention", "full_attention"] * 4


def test_layer_types_of_the_article_are_cured_by_a_copy_of_config_json(tmp_path: Path) -> None:
    write(Folder(founding_35b(layer_types=SHORT).config, {}), tmp_path / "models" / "m")
    mount = Mount("/models", str(tmp_path / "models"), read_only=True)
    launch = launch_of("--model-path", "/models/m", image="lmsysorg/sglang:v0.5.15", mounts=(mount,))
    (found,) = findings(situation_of(launch, tmp_path), "model-layer-types")

    assert ("fail", "SGL204", "config") == (found.status, found.prevents, found.phase)
    (change,) = found.changes
    assert ("file.mount", "/models/m/config.json") == (change.kind, change.name)

    repaired = {**founding_35b().config}
    (tmp_path / "repaired.json").write_text(json.dumps(repaired))
    over = Mount("/models/m/config.json", str(tmp_path / "repaired.json"))
    corrected = launch_of("--model-path", "/models/m", image="lmsysorg/sglang:v0.5.15", mounts=(mount, over))

    assert [] == troubles(situation_of(corrected, tmp_path), "model-layer-types", "model-path")


def test_a_launch_script_that_works_patches_layer_types(tmp_path: Path) -> None:
    folder = write(Folder(founding_35b(layer_types=SHORT).config, {}), tmp_path / "m")
    patch = (
        "import sys\nimport transformers.configuration_utils as cu\n"
        "_original = cu.PretrainedConfig.validate_layer_type\n"
        "def _patched(self):\n    if 'qwen3_5_moe' in self.model_type:\n        return None\n    return _original(self)\n"
        "cu.PretrainedConfig.validate_layer_type = _patched\n"
    )
    start = (
        "from sglang.launch_server import run_server\nfrom sglang.srt.server_args import prepare_server_args\n"
        "if __name__ == '__main__':\n    run_server(prepare_server_args(sys.argv[1:]))\n"
    )
    script = tmp_path / "launch.py"
    launch = launch_of("--model-path", str(folder), engine=("python3", str(script)))
    script.write_text(patch + start)
    works = troubles(situation_of(launch, tmp_path), "model-layer-types")
    script.write_text(patch + "from sglang.srt.server import launch_server_cli\nlaunch_server_cli()\n")

    assert [] == works
    assert [("fail", "SGL204")] == troubles(situation_of(launch, tmp_path), "model-layer-types")


@pytest.mark.parametrize(
    ("flags", "env", "version", "cards", "expected"),
    [
        ((), {}, "0.5.15", "3090", [("fail", "SGL201")]),
        (("--dtype", "bfloat16"), {}, "0.5.15", "3090", []),
        ((), {"SGLANG_MAMBA_CONV_DTYPE": "float16"}, "0.5.15", "3090", []),
        (("--disable-radix-cache",), {}, "0.5.15", "3090", [("warn", "SGL201")]),
        ((), {}, "0.5.12", "3090", [("warn", "SGL201")]),
        (("--mamba-scheduler-strategy", "extra_buffer"), {}, "0.5.12", "3090", [("fail", "SGL201")]),
        (("--dtype", "bfloat16"), {}, "0.5.15", "2080ti", [("fail", "SGL201")]),
        (("--dtype", "bfloat16"), {"SGLANG_MAMBA_CONV_DTYPE": "float16"}, "0.5.15", "3090", [("fail", "SGL201")]),
    ],
)
def test_states_of_another_dtype(
    flags: tuple[str, ...], env: dict[str, str | None], version: str, cards: str, expected: list[Any], tmp_path: Path
) -> None:
    folder = write(Folder(founding_27b(dtype="float16").config, {}), tmp_path)
    launch = launch_of("--model-path", str(folder), *flags, env=env)

    assert expected == troubles(situation_of(launch, cards=cards, version=version), "model-conv-state")


def test_dtype_of_a_model_that_says_none(tmp_path: Path) -> None:
    text = {name: value for name, value in founding_27b().config["text_config"].items() if name != "dtype"}
    inherited = {**founding_27b().config, "text_config": text}
    nowhere = {name: value for name, value in inherited.items() if name != "torch_dtype"}

    for whole, version, expected in [
        (inherited, "0.5.15", []),
        (inherited, "0.5.10.post1", [("warn", "SGL201")]),
        (nowhere, "0.5.15", [("fail", "SGL201")]),
    ]:
        folder = write(Folder(whole, {}), tmp_path / version)
        assert expected == troubles(of_folder(folder, version=version), "model-conv-state")


@pytest.mark.parametrize(
    ("quantisation", "flags", "cards", "expected"),
    [
        (AWQ, (), "3090", []),
        (AWQ, ("--quantization", "awq_marlin"), "3090", []),
        (AWQ, ("--quantization", "awq"), "3090", [("fail", "SGL208")]),
        (AWQ, ("--quantization", "awq", "--dtype", "half"), "3090", []),
        (AWQ, ("--quantization", "gptq"), "3090", [("fail", "SGL323")]),
        (AWQ, ("--quantization", "fp8"), "3090", [("fail", "SGL323")]),
        (GPTQ, (), "2080ti", []),
        (AWQ, (), "16GiB:sm70", [("fail", "SGL320")]),
        (NVFP4, (), "3090", [("fail", "SGL321")]),
        (NVFP4, (), "5090", []),
        (None, ("--quantization", "awq"), "3090", [("fail", "SGL325")]),
        (None, ("--quantization", "fp8"), "4090", []),
    ],
)
def test_quantisation_flags_and_cards(
    quantisation: dict[str, Any] | None, flags: tuple[str, ...], cards: str, expected: list[Any], tmp_path: Path
) -> None:
    whole = {**LLAMA_8B, "quantization_config": quantisation} if quantisation else LLAMA_8B
    folder = write(Folder(whole, {}), tmp_path)
    checks = ("model-quantisation", "model-quantisation-card", "model-dtype")

    assert expected == troubles(of_folder(folder, *flags, cards=cards), *checks)


def test_only_the_kv_cache_is_quantised(tmp_path: Path) -> None:
    beside = {"hf_quant_config.json": {"quantization": {"quant_algo": None, "kv_cache_quant_algo": "FP8"}}}
    folder = write(Folder(SMALL, decoder(SMALL), beside=beside), tmp_path)

    assert [] == troubles(of_folder(folder, cards="3090"))


def test_layers_of_different_bits(tmp_path: Path) -> None:
    groups = {str(bits): {"weights": {"num_bits": bits, "type": "int"}} for bits in (8, 4)}
    mixed = {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": groups}
    folder = write(Folder({**SMALL, "quantization_config": mixed}, decoder(SMALL, linear=packed)), tmp_path)

    assert [] == troubles(of_folder(folder))


def test_models_that_answer_with_numbers_need_no_template(tmp_path: Path) -> None:
    folder = write(small(architectures=["Qwen2ForSequenceClassification"]), tmp_path)
    of_tokenizer(chat_template=None)(folder)

    assert [] == troubles(of_folder(folder), "model-template")


def test_nvfp4_is_unpacked_by_newer_versions(tmp_path: Path) -> None:
    folder = write(Folder({**LLAMA_8B, "quantization_config": NVFP4}, {}), tmp_path)

    assert [] == troubles(of_folder(folder, cards="3090", version="0.5.22"), "model-quantisation-card")


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--tool-call-parser", "qwen"), []),
        (("--tool-call-parser", "hermes", "--reasoning-parser", "qwen3"), []),
        (("--tool-call-parser", "qwen3_coder"), [("warn", "SGL826")]),
        (("--reasoning-parser", "qwen3-thinking"), []),
        (("--reasoning-parser", "gpt-oss"), [("warn", None)]),
        (("--tool-call-parser", "auto", "--reasoning-parser", "auto"), []),
    ],
)
def test_parsers(flags: tuple[str, ...], expected: list[Any], tmp_path: Path) -> None:
    folder = write(Folder(QWEN3_8B, {}, template=HERMES), tmp_path)

    assert expected == troubles(of_folder(folder, *flags), "model-parsers")


def test_a_model_that_does_not_think(tmp_path: Path) -> None:
    folder = write(small(), tmp_path)

    assert [("warn", None)] == troubles(of_folder(folder, "--reasoning-parser", "deepseek-r1"))
    assert [] == troubles(of_folder(folder, "--reasoning-parser", "qwen3"))


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--context-length", "8192"), []),
        (("--context-length", "16k"), [("fail", "SGL211")]),
        (("--context-length", "16384", "--json-model-override-args", "{}"), []),
    ],
)
def test_context(flags: tuple[str, ...], expected: list[Any], tmp_path: Path) -> None:
    assert expected == troubles(of_folder(write(small(), tmp_path), *flags), "model-context")


def test_context_that_is_stretched_or_allowed(tmp_path: Path) -> None:
    stretched = write(small(rope_scaling={"rope_type": "yarn", "factor": 4.0}), tmp_path / "a")
    allowed = launch_of(
        "--model-path",
        str(write(small(), tmp_path / "b")),
        "--context-length",
        "32768",
        env={"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"},
    )

    assert [] == troubles(of_folder(stretched, "--context-length", "32768"), "model-context")
    assert [("warn", "SGL212")] == troubles(situation_of(allowed), "model-context")


def test_layers_for_speculation(tmp_path: Path) -> None:
    flags = ("--speculative-algorithm", "NEXTN", "--speculative-num-steps", "3")
    text = {"mtp_num_hidden_layers": 1}
    without_layers = founding_27b(**text)
    with_layers = {**without_layers.tensors, "mtp.fc.weight": ("BF16", (5120, 10240))}
    lacking = write(without_layers, tmp_path / "a")
    having = write(Folder(without_layers.config, with_layers), tmp_path / "b")
    (found,) = findings(of_folder(lacking, *flags), "model-draft")

    assert ("fail", "SGL220") == (found.status, found.prevents)
    assert {"--speculative-algorithm", "--speculative-num-steps"} == {change.name for change in found.changes}
    assert [] == troubles(of_folder(having, *flags), "model-draft")
    assert [("fail", "SGL219")] == troubles(of_folder(lacking, "--speculative-algorithm", "EAGLE3"), "model-draft")


def test_draft_models_are_looked_for(tmp_path: Path) -> None:
    folder = write(small(), tmp_path / "m")
    flags = ("--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path")

    assert [("fail", "SGL307")] == troubles(of_folder(folder, *flags, str(tmp_path / "absent")), "model-draft")
    assert [] == troubles(of_folder(folder, *flags, str(folder)), "model-draft")


@pytest.mark.parametrize(
    ("own", "expected"), [("5.12.1", []), ("5.13.0", [("fail", "SGL207")]), ("5.9.0", [("warn", "SGL229")])]
)
def test_transformers_of_the_image(own: str, expected: list[Any], tmp_path: Path) -> None:
    launch = launch_of("--model-path", str(write(small(), tmp_path)))

    assert expected == troubles(situation_of(launch, packages={"transformers": own}), "model-packages")


@pytest.mark.parametrize(
    ("own", "version", "expected"),
    [("2.11.0+cu129", "0.5.15", []), ("2.8.0", "0.5.15", [("warn", "SGL510")]), ("2.9.0", "0.5.7", [])],
)
def test_torch_of_the_image(own: str, version: str, expected: list[Any], tmp_path: Path) -> None:
    launch = launch_of("--model-path", str(write(small(), tmp_path)))
    situation = situation_of(launch, packages={"torch": own}, version=version)

    assert expected == troubles(situation, "model-packages")


@pytest.mark.parametrize(
    ("numbers", "quantisation", "flags", "expected"),
    [
        ({}, None, ("--tp", "2"), []),
        ({}, None, ("--tp", "3"), []),
        ({"intermediate_size": 29569}, AWQ, ("--tp", "2"), []),
        ({"num_attention_heads": 8, "num_key_value_heads": 2}, None, ("--tp", "4"), []),
        ({"intermediate_size": 29568}, AWQ, ("--tp", "2"), [("fail", "SGL326")]),
        ({"intermediate_size": 29696}, AWQ, ("--tp", "2"), []),
        ({"intermediate_size": 18944}, AWQ, (), []),
        ({"intermediate_size": 29568}, FP8, ("--tp", "2"), [("fail", "SGL327")]),
    ],
)
def test_parts_for_several_cards(
    numbers: dict[str, Any], quantisation: Any, flags: tuple[str, ...], expected: list[Any], tmp_path: Path
) -> None:
    own = {"quantization_config": quantisation} if quantisation else {}
    folder = write(Folder({**SMALL, **numbers, **own}, {}), tmp_path)

    assert expected == troubles(of_folder(folder, *flags, cards="4x3090"), "model-split")


@pytest.mark.parametrize(
    ("numbers", "quantisation", "tp", "expected"),
    [
        ({"intermediate_size": 9216}, None, "3", "SGL622"),
        ({"intermediate_size": 29569}, AWQ, "2", "SGL621"),
        ({"intermediate_size": 29568}, AWQ, "2", "SGL326"),
    ],
)
def test_a_model_that_cannot_be_divided_is_said_once(
    numbers: dict[str, Any], quantisation: Any, tp: str, expected: str, tmp_path: Path
) -> None:
    own = {"quantization_config": quantisation} if quantisation else {}
    folder = write(Folder({**SMALL, **numbers, **own}, {}), tmp_path)
    found = troubles(of_folder(folder, "--tp", tp, cards="4x3090"), "model-split", "command-split")

    assert [("fail", expected)] == found


def test_a_tokenizer_of_transformers_5(tmp_path: Path) -> None:
    folder = write(small(), tmp_path)
    of_tokenizer(tokenizer_class="TokenizersBackend")(folder)

    assert [("fail", "SGL222")] == troubles(of_folder(folder, version="0.5.9"), "model-tokenizer")
    assert [] == troubles(of_folder(folder), "model-tokenizer")


def test_the_template_of_a_flag(tmp_path: Path) -> None:
    folder = write(small(), tmp_path)
    (tmp_path / "own.jinja").write_text("{% if x %}")

    assert [("fail", "SGL813")] == troubles(of_folder(folder, "--chat-template", str(tmp_path / "own.jinja")))
    assert [("fail", "SGL810")] == troubles(of_folder(folder, "--chat-template", str(tmp_path / "absent.jinja")))
    assert [] == troubles(of_folder(folder, "--chat-template", "llama-2"))


def test_gguf(tmp_path: Path) -> None:
    gguf(tmp_path / "qwen3-8b-q4.gguf")
    whole = of_folder(tmp_path / "qwen3-8b-q4.gguf")
    (in_folder,) = findings(of_folder(tmp_path), "model-path")
    gguf(tmp_path / "short.gguf", short=4096)
    (tmp_path / "no.gguf").write_bytes(b"GGUF" + b"\xff" * 100)

    assert [] == troubles(whole)
    assert ("fail", "SGL333") == (in_folder.status, in_folder.prevents)
    assert (Change("flag.set", "--model-path", str(tmp_path / "qwen3-8b-q4.gguf")),) == in_folder.changes
    assert [("fail", "SGL302")] == troubles(of_folder(tmp_path / "short.gguf"))
    assert [("fail", "SGL333")] == troubles(of_folder(tmp_path / "no.gguf"))


def test_shards_of_gguf(tmp_path: Path) -> None:
    for number in (1, 3):
        gguf(tmp_path / f"m-{number:05}-of-00003.gguf")

    assert [("fail", None)] == troubles(of_folder(tmp_path / "m-00001-of-00003.gguf"), "model-weights")


def test_packed_weights_of_the_wrong_width(tmp_path: Path) -> None:
    whole = {**SMALL, "quantization_config": AWQ}
    folder = write(Folder({**whole, "intermediate_size": 640}, decoder(SMALL, linear=awq)), tmp_path)

    assert [("fail", None)] == troubles(of_folder(folder))


def test_nothing_is_said_without_a_model(tmp_path: Path) -> None:
    situation = situation_of(launch_of("--model-path", "/models/m", image="own/image"), tmp_path)

    assert {"model-path", "memory-pools"} == {
        name for name in ("model-path", "memory-pools", "model-weights", "model-config") if findings(situation, name)
    }


def test_a_shard_of_its_own_is_whole(tmp_path: Path) -> None:
    folder = write(small(), tmp_path)
    shard(folder / "consolidated.safetensors", plain("x", 4, 4))

    assert [] == troubles(of_folder(folder))
