"""Files that a launch names, and a plan that needs no log: model and card are at hand."""

import json
import struct
from pathlib import Path

import pytest

from sgdoctor.cli import fix_answer
from sgdoctor.cli.fix_model import launch_script, model_folder, smallest_of
from sgdoctor.cli.main import main
from sgdoctor.gpu.model import Gpu
from sgdoctor.launch.model import Gpus, Launch, Mount, Origin
from tests.fixes.samples import ENGINE, flags_of
from tests.gpu.samples import idle

GIB = 1 << 30


def launch(model: str, *mounts: Mount, image: str | None = "lmsysorg/sglang", gpus: Gpus | None = None) -> Launch:
    argv = (*ENGINE, "--model", model)
    return Launch(Origin.COMPOSE, argv, len(ENGINE), argv, image=image, mounts=mounts, gpus=gpus)


def write_model(folder: Path, gib: float) -> None:
    """A 27B hybrid model, by its config and the header of its weights alone."""
    folder.mkdir(parents=True)
    text = {
        "model_type": "qwen3_5_text",
        "num_hidden_layers": 64,
        "full_attention_interval": 4,
        "hidden_size": 5120,
        "num_attention_heads": 24,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "max_position_embeddings": 262144,
        "linear_num_value_heads": 48,
        "linear_num_key_heads": 16,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
    }
    config = {"architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5", "text_config": text}
    (folder / "config.json").write_text(json.dumps(config))
    header = json.dumps({"w": {"dtype": "U8", "shape": [int(gib * GIB)], "data_offsets": [0, int(gib * GIB)]}}).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + int(gib * GIB))  # a hole: takes no space


def test_the_model_and_the_script(tmp_path: Path) -> None:
    write_model(tmp_path / "m", 19.05)
    (tmp_path / "launch.py").write_text("pass\n")
    mounts = (Mount("/models", str(tmp_path)), Mount("/launch.py", str(tmp_path / "launch.py")))
    folder = model_folder(launch("/models/m", *mounts), flags_of(), tmp_path)
    by_script = Launch(Origin.COMPOSE, ("python3", "/launch.py", "--port", "1"), 2, image="x", mounts=mounts)

    assert folder is not None
    known = folder.known()
    assert "qwen3_5" == (known.config or {})["model_type"]
    assert known.weights_gib == pytest.approx(19.05)
    assert ("/launch.py", tmp_path / "launch.py") == launch_script(by_script, tmp_path)
    assert launch_script(launch("/models/m", *mounts), tmp_path) is None
    assert model_folder(launch("/models/absent", *mounts), flags_of(), tmp_path) is None


def test_files_that_cannot_be_read_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    (tmp_path / "model.safetensors").write_bytes(b"no header")
    folder = model_folder(launch("/models", Mount("/models", str(tmp_path))), flags_of(), tmp_path)

    assert folder is not None
    assert (None, None) == (folder.known().config, folder.known().weights_gib)


def card(number: int, total: float) -> Gpu:
    return idle()._replace(number=number, uuid=f"GPU-{number}{number}", total_mib=total, sm=86)


@pytest.mark.parametrize(
    ("gpus", "number"),
    [
        (None, 1),
        (Gpus(), 1),
        (Gpus(count=-1), 1),
        (Gpus(device_ids=("0",)), 0),
        (Gpus(device_ids=("GPU-2",)), 2),
        (Gpus(device_ids=("0", "2")), 2),
        (Gpus(device_ids=("7",)), None),
    ],
)
def test_the_smallest_card_that_is_asked_for(gpus: Gpus | None, number: int | None) -> None:
    found = smallest_of(launch("/m", gpus=gpus), [card(0, 49140.0), card(1, 12288.0), card(2, 24576.0)])

    assert number == (found.number if found else None)


def test_a_plan_before_the_first_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_model(tmp_path / "m", 19.05)
    monkeypatch.setattr(fix_answer, "card_of", lambda _: card(0, 24576.0))
    command = f"python3 -m sglang.launch_server --model-path {tmp_path}/m --context-length 65536"
    code = main(["fix", "--version", "0.5.15", "--format", "json", command])
    plan = json.loads(capsys.readouterr().out)["plan"]
    (step,) = plan["steps"]

    assert (4, "predicted", "SGL401") == (code, step["basis"], step["rule"])
    assert 0.89 <= float(step["changes"][0]["value"]) <= 0.94
    assert plan["predicted"]["fails"] is None
    assert plan["warnings"]
