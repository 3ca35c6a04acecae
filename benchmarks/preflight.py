"""How long `sgdoctor preflight` takes for a local target, and what takes the time: the whole process, best of a few.

    python -m benchmarks.preflight [--rounds 5]

The goal is 3 s without a throw-away container. The model is one of 40 GB with 100,000 tensors; DOCKER_HOST counts.
"""

import argparse
import json
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMPOSE = """\
services:
  sgl:
    image: lmsysorg/sglang:v0.5.15
    deploy:
      resources:
        reservations:
          devices: [{driver: nvidia, device_ids: ["0"], capabilities: [gpu]}]
    ports: ["127.0.0.1:30000:30000"]
    volumes: ["./m:/models/m:ro"]
    command: python3 -m sglang.launch_server --model-path /models/m --host 0.0.0.0 --tp-size 2
"""
CONFIG = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "num_hidden_layers": 48,
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_experts": 512,
    "num_experts_per_tok": 8,
    "vocab_size": 151936,
    "max_position_embeddings": 40960,
    "torch_dtype": "bfloat16",
}
TENSORS = 100_000
FILES = 16
ROWS = 200


def write_model(folder: Path) -> None:
    """A model with a hole in place of each weight."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "tokenizer_config.json").write_text("{}")
    (folder / "tokenizer.json").write_text(json.dumps({"version": "1.0", "model": {"type": "BPE"}}))
    places: dict[str, str] = {}
    each = TENSORS // FILES
    for number in range(FILES):
        header = {}
        for index in range(each):
            name = f"model.layers.{index % 48}.mlp.experts.{number * each + index}.up_proj.weight"
            begin = index * ROWS * 1024 * 2
            header[name] = {"dtype": "BF16", "shape": [ROWS, 1024], "data_offsets": [begin, begin + ROWS * 1024 * 2]}
        file = f"model-{number + 1:05}-of-{FILES:05}.safetensors"
        places |= dict.fromkeys(header, file)
        text = json.dumps(header).encode()
        with (folder / file).open("wb") as output:
            output.write(struct.pack("<Q", len(text)) + text)
            output.truncate(8 + len(text) + each * ROWS * 1024 * 2)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))


def timed(arguments: list[str], folder: Path, rounds: int) -> list[float]:
    """Seconds of each run of ``sgdoctor preflight``."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "sgdoctor", "preflight", *arguments], cwd=folder, capture_output=True, check=False
        )
        times.append(time.perf_counter() - start)
    return times


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "compose.yaml").write_text(COMPOSE)
        host = folder / "host"
        host.mkdir()
        cases = [("the host alone", [], host), ("a compose file, no model", ["--gpu", "2x3090"], folder)]
        for title, arguments, where in cases:
            times = timed(arguments, where, rounds)
            print(f"{title:48} {min(times):6.2f} s  median {statistics.median(times):6.2f} s")
        write_model(folder / "m")
        times = timed(["--gpu", "2x3090"], folder, rounds)
        print(
            f"{f'a compose file, a model of {TENSORS:,} tensors':48} {min(times):6.2f} s  median {statistics.median(times):6.2f} s"
        )


if __name__ == "__main__":
    main()
