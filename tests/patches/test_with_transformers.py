"""Repaired configs and generated start-up files against real releases of transformers, in real processes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sgdoctor.patches.config_repair import repaired_config
from sgdoctor.patches.sitecustomize import Part, fill_layer_types, generated, register_again
from tests.patches.releases import environment
from tests.patches.running import distribution, probe

pytestmark = pytest.mark.slow

CYCLE = ["linear_attention"] * 3 + ["full_attention"]


def moe(layers: int, kinds: list[str]) -> dict[str, Any]:
    text = {"model_type": "qwen3_5_moe_text", "num_hidden_layers": layers, "layer_types": kinds}
    return {"model_type": "qwen3_5_moe", "text_config": text}


BROKEN: dict[str, tuple[dict[str, Any], list[str]]] = {
    "hybrid, one pattern of many": (moe(40, CYCLE * 4), CYCLE * 10),
    "hybrid, too long": (moe(16, CYCLE * 10), CYCLE * 4),
    "hybrid, an interval of its own": (
        {
            "model_type": "qwen3_next",
            "num_hidden_layers": 10,
            "full_attention_interval": 2,
            "layer_types": ["linear_attention", "full_attention"],
        },
        ["linear_attention", "full_attention"] * 5,
    ),
    "sliding window": (
        {
            "model_type": "gemma3_text",
            "num_hidden_layers": 8,
            "sliding_window_pattern": 3,
            "layer_types": ["sliding_attention", "sliding_attention", "full_attention"] * 2,
        },
        (["sliding_attention", "sliding_attention", "full_attention"] * 3)[:8],
    ),
    "repetition only": (
        {"model_type": "gpt_oss", "num_hidden_layers": 8, "layer_types": ["sliding_attention", "full_attention"] * 2},
        ["sliding_attention", "full_attention"] * 4,
    ),
    "dense": (
        {"model_type": "qwen3", "num_hidden_layers": 6, "layer_types": ["full_attention"] * 4},
        ["full_attention"] * 6,
    ),
}


def model(folder: Path, config: dict[str, Any] | bytes) -> Path:
    folder.mkdir(parents=True)
    content = config if isinstance(config, bytes) else json.dumps(config, indent=2).encode()
    (folder / "config.json").write_bytes(content)
    return folder


def startup(folder: Path, *parts: Part) -> Path:
    folder.mkdir(parents=True)
    (folder / "sitecustomize.py").write_text(generated(parts))
    return folder


def test_the_broken_config_is_refused_and_the_repaired_one_taken(transformers: Path, tmp_path: Path) -> None:
    models = []
    for number, (config, _) in enumerate(BROKEN.values()):
        broken = model(tmp_path / f"broken-{number}", config)
        repair = repaired_config((broken / "config.json").read_bytes())
        assert repair is not None
        assert repair.content is not None
        models += [broken, model(tmp_path / f"repaired-{number}", repair.content)]

    ran = probe("load_configs", *models, path=[transformers])

    for number, (name, (config, layers)) in enumerate(BROKEN.items()):
        text = config.get("text_config", config)
        count, entries = text["num_hidden_layers"], len(text["layer_types"])
        refused, taken = ran.here[2 * number : 2 * number + 2]
        assert "validator 'validate_layer_type'" in refused["error"], name
        assert f"ValueError: `num_hidden_layers` ({count}) must be equal to the number of " in refused["error"], name
        assert refused["error"].endswith(f"({entries})"), name
        assert {"layers": layers} == taken, name
    assert ran.here == ran.child


def test_the_start_up_file_fills_in_layers_in_every_process(transformers: Path, tmp_path: Path) -> None:
    short = model(tmp_path / "short", moe(40, CYCLE * 4))
    contradicting = model(tmp_path / "contradicting", moe(40, CYCLE[1:] * 4))
    other = model(tmp_path / "other", BROKEN["dense"][0])
    files = startup(tmp_path / "startup", fill_layer_types(["qwen3_5_moe_text"]))

    ran = probe("load_configs", short, contradicting, other, path=[files, transformers])

    assert {"layers": CYCLE * 10} == ran.here[0]
    assert "(40) must be equal to the number of" in ran.here[1]["error"]
    assert "(6) must be equal to the number of" in ran.here[2]["error"]
    assert ran.here == ran.child
    applied = [
        line for line in ran.said() if line.startswith("sgdoctor patch: layer_types of qwen3_5_moe_text applied")
    ]
    assert applied == ran.said()
    assert len(applied) == 2


def test_the_start_up_file_lets_one_type_be_registered_in_every_process(
    newest_transformers: Path, tmp_path: Path
) -> None:
    sglang = distribution(tmp_path / "packages", "sglang", "0.5.15")
    files = startup(tmp_path / "startup", register_again("qwen3_asr"))

    bare = probe("register", path=[newest_transformers, sglang])
    patched = probe("register", path=[files, newest_transformers, sglang])

    refused = "ValueError: 'qwen3_asr' is already used by a Transformers config, pick another name."
    assert refused == bare.here["positional"]
    assert bare.said() == []
    assert {
        "positional": "own class",
        "keyword": "own class",
        "keyword false": "own class",
        "new": "own class",
        "other": "ValueError: 'bert' is already used by a Transformers config, pick another name.",
        "other keyword": "own class",
    } == patched.here
    assert patched.here == patched.child
    assert len(patched.said()) == 2


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("0.5.20", "sglang is 0.5.20, this patch is for >=0.5.11,<0.5.20"),
        ("0.5.9", "sglang is 0.5.9, this patch is for >=0.5.11,<0.5.20"),
        (None, "sglang is not installed, this patch is for >=0.5.11,<0.5.20"),
    ],
)
def test_another_engine_is_left_alone(
    newest_transformers: Path, tmp_path: Path, version: str | None, reason: str
) -> None:
    path = [startup(tmp_path / "startup", register_again("qwen3_asr")), newest_transformers]
    if version is not None:
        path.append(distribution(tmp_path / "packages", "sglang", version))

    ran = probe("register", path=path)

    assert [f"sgdoctor patch: register qwen3_asr not applied: {reason}"] * 2 == ran.said()
    assert ran.here["positional"].startswith("ValueError: 'qwen3_asr' is already used")


def test_another_transformers_is_left_alone(transformers_5_12_1: Path, tmp_path: Path) -> None:
    files = startup(tmp_path / "startup", register_again("qwen3_asr"))

    ran = probe("register", path=[files, transformers_5_12_1])

    reason = "transformers is 5.12.1, this patch is for >=5.13,<6"
    assert [f"sgdoctor patch: register qwen3_asr not applied: {reason}"] * 2 == ran.said()
    # It has no such type yet, so the first registration is an ordinary one.
    assert "own class" == ran.here["positional"]


def test_two_patches_share_one_file(newest_transformers: Path, tmp_path: Path) -> None:
    short = model(tmp_path / "short", moe(40, CYCLE * 4))
    files = startup(tmp_path / "startup", register_again("qwen3_asr"), fill_layer_types(["qwen3_5_moe_text"]))
    sglang = distribution(tmp_path / "packages", "sglang", "0.5.19.post1")

    loaded = probe("load_configs", short, path=[files, newest_transformers, sglang])
    registered = probe("register", path=[files, newest_transformers, sglang])

    assert [{"layers": CYCLE * 10}] == loaded.here == loaded.child
    assert "own class" == registered.here["positional"] == registered.child["positional"]


def run(program: str, *path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], env=environment(*path), capture_output=True, text=True, timeout=60, check=True
    )


def test_a_process_without_transformers_loads_nothing_and_hears_nothing(tmp_path: Path) -> None:
    files = startup(tmp_path / "startup", register_again("qwen3_asr"), fill_layer_types(["qwen3_5_text"]))
    program = "import sys; print(sorted({'transformers', 'importlib.metadata', 'importlib.util'} & set(sys.modules)))"

    ran = run(program, files)
    bare = run(program)

    assert bare.stdout == ran.stdout
    assert "" == ran.stderr


def test_the_hidden_sitecustomize_runs_too(tmp_path: Path) -> None:
    files = startup(tmp_path / "startup", register_again("qwen3_asr"))
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "sitecustomize.py").write_text("import sys; sys.seen = __name__ + ' ' + __file__\n")
    program = "import sys; print(sys.seen)"

    behind = run(program, files, theirs)
    before = run(program, theirs, files)

    expected = f"sitecustomize {theirs / 'sitecustomize.py'}\n"
    assert expected == behind.stdout
    assert expected == before.stdout
    assert "" == behind.stderr


def test_a_broken_hidden_sitecustomize_is_told_as_without_ours(tmp_path: Path) -> None:
    files = startup(tmp_path / "startup", register_again("qwen3_asr"))
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "sitecustomize.py").write_text("raise RuntimeError('of the image')\n")

    ran = run("import sys; print(sys.meta_path[0].__name__)", files, theirs)

    assert "_Waiting\n" == ran.stdout
    assert "RuntimeError: of the image" in ran.stderr
