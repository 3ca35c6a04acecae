"""Containers as people start them, made on the private daemon by the docker command itself.

`python -m tests.docker.launches` captures their inspections anew into fixtures/launches/inspections (needs root);
with `COMPOSE="docker compose"` or another Compose, those of the Compose files as well.
"""

import contextlib
import json
import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker

from tests.docker.dockerd import PrivateDockerd
from tests.docker.images import Root, import_image

IMAGE = "lmsysorg/sglang:latest"
RICH_IMAGE = "sgdoctor-test/rich:1"
COMPOSE = os.environ.get("COMPOSE", "")
CAPTURED = Path(__file__).parents[2] / "fixtures/launches/inspections"

# What the official image says of itself (`docker image inspect lmsysorg/sglang:v0.5.15`), less its size.
_OFFICIAL = [
    "ENV PATH=/usr/local/nvidia/bin:/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "ENV NVIDIA_VISIBLE_DEVICES=all",
    "ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility",
    "ENV LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64",
    "ENV CUDA_HOME=/usr/local/cuda",
    "LABEL org.opencontainers.image.ref.name=ubuntu",
    "WORKDIR /sgl-workspace/sglang",
    'ENTRYPOINT ["/opt/nvidia/nvidia_entrypoint.sh"]',
    'CMD ["/bin/bash"]',
]
# Every default of an image that a container can inherit.
_RICH = [
    "ENV PATH=/bin:/usr/bin PYTHONUNBUFFERED=1 IMG_ONLY=fromimage",
    'ENTRYPOINT ["/bin/sh", "-c", "exec \\"$@\\"", "entry"]',
    'CMD ["sleep", "1000"]',
    "WORKDIR /imgwd",
    "LABEL img.label=one org.opencontainers.image.version=v0.5.14",
    "EXPOSE 30000",
    "VOLUME /anon",
    "HEALTHCHECK --interval=5s CMD true",
]
_SLEEPER = b"#!/bin/sh\ntrap 'exit 0' INT TERM\nwhile :; do sleep 0.1; done\n"


def build_images(host: PrivateDockerd) -> None:
    """Import the two images: one that looks like SGLang's from outside, one with every kind of default."""
    root = Root()
    root.busybox()
    for folder in ("opt", "opt/nvidia", "usr", "usr/bin", "sgl-workspace", "sgl-workspace/sglang", "imgwd"):
        root.folder(folder)
    root.file("opt/nvidia/nvidia_entrypoint.sh", b'#!/bin/sh\nexec "$@"\n', 0o755)
    for program in ("python3", "sglang"):
        root.file(f"usr/bin/{program}", _SLEEPER, 0o755)
    archive = root.done()
    import_image(host, IMAGE, archive, _OFFICIAL)
    import_image(host, RICH_IMAGE, archive, _RICH)


@dataclass(frozen=True, slots=True)
class Recipe:
    """A container to be made.

    Attributes:
        create: words behind ``docker create --name NAME``.
        connect: words behind ``docker network connect`` but the container's name, one list each.
        start: whether it is started.
    """

    create: tuple[str, ...]
    connect: tuple[tuple[str, ...], ...] = ()
    start: bool = False


_MODEL_27B = "/models/huggingface/cyankiwi/Qwen3.6-27B-AWQ-INT4"
_MODEL_35B = "/models/huggingface/selode-ai/Qwen-3.6-35B-A3B-VRAP-4-bit-AWQ-21.2GB"
_SCRIPT = (
    f"cd /sgl-workspace && python3 -m sglang.launch_server --model-path {_MODEL_27B} "
    "--mem-fraction-static ${MEM:-0.88} 2>&1 | tee /logs/sgl.log"
)
_SERVE = ("python3", "-m", "sglang.launch_server")


def recipes(folder: Path) -> Mapping[str, Recipe]:
    """The containers by name; ``folder`` holds what they mount."""
    script = folder / "launch_selode.py"
    return {
        "article-27b": Recipe(
            (
                *("--gpus", "device=0", "--shm-size", "32g", "-p", "11434:30000"),
                *("-v", f"{folder}/models:/models:ro", "--ipc=host", "--restart", "unless-stopped", IMAGE, *_SERVE),
                *("--model-path", _MODEL_27B, "--reasoning-parser", "qwen3", "--tool-call-parser", "qwen3_coder"),
                *("--context-length", "65536", "--host", "0.0.0.0", "--port", "30000"),
            ),
            start=True,
        ),
        "article-35b": Recipe(
            (
                *("--gpus", '"device=1"', "--shm-size=32g", "-p", "15433:30000"),
                *("-v", f"{script}:/launch_selode.py:ro", "-v", f"{folder}/models:/models:ro", IMAGE),
                *("python3", "/launch_selode.py", "--model-path", _MODEL_35B, "--port", "30000", "--host", "0.0.0.0"),
                *("--dtype", "bfloat16", "--context-length", "65536", "--mem-fraction-static", "0.90"),
                *("--mamba-full-memory-ratio", "0.7", "--mamba-radix-cache-strategy", "extra_buffer"),
                *("--cuda-graph-max-bs-decode", "1", "--enable-mixed-chunk", "--trust-remote-code"),
                *("--disable-custom-all-reduce", "--tool-call-parser", "qwen3_coder"),
                *("--reasoning-parser", "qwen3-thinking"),
            ),
            start=True,
        ),
        "two-gpus": Recipe(
            (
                *("--gpus", '"device=0,1"', "--ipc", "host", "--ulimit", "memlock=65536", "--ulimit", "stack=67108864"),
                *("-p", "127.0.0.1:30000:30000", "-e", "NCCL_P2P_DISABLE=1", "-e", "HF_HUB_OFFLINE=1"),
                *(
                    "-v",
                    "hf-cache:/root/.cache/huggingface",
                    IMAGE,
                    "sglang",
                    "serve",
                    "--model-path",
                    "Qwen/Qwen3-32B",
                ),
                *("--tp", "2", "--mem-fraction-static=0.85"),
            )
        ),
        "gpu-count": Recipe(
            ("--gpus", "2", "--shm-size", "16g", "-P", IMAGE, *_SERVE, "--model", "Qwen/Qwen3-8B", "--tp-size", "2")
        ),
        "double-index": Recipe(
            ("--gpus", '"device=1"', "-e", "CUDA_VISIBLE_DEVICES=1", IMAGE, *_SERVE, "--model-path", "/models/a b")
        ),
        "runtime-nvidia": Recipe(
            (
                *("--runtime", "nvidia", "-e", "NVIDIA_VISIBLE_DEVICES=1", "-e", "CUDA_VISIBLE_DEVICES=0"),
                *("--network", "host", "--restart", "on-failure:5", IMAGE, *_SERVE, "--model-path", "/models/m"),
            )
        ),
        "both-gpu-ways": Recipe(
            (
                *("--gpus", "device=0", "--runtime", "nvidia", "-e", "NVIDIA_VISIBLE_DEVICES=1", IMAGE, *_SERVE),
                *("--model-path", "/models/m"),
            )
        ),
        "raw-devices": Recipe(
            (
                *("--device", "/dev/null:/dev/nvidia0", "--device", "/dev/null:/dev/nvidiactl", IMAGE, *_SERVE),
                *("--model-path", "/models/m"),
            )
        ),
        "cdi": Recipe(("--device", "nvidia.com/gpu=1", IMAGE, *_SERVE, "--model-path", "/models/m")),
        "in-a-shell": Recipe(
            (
                *("--gpus", "all", "--entrypoint", "bash", IMAGE, "-c"),
                _SCRIPT,
            )
        ),
        "flags-alone": Recipe(("--gpus", "all", IMAGE, "--model-path", "/models/m", "--port", "30000")),
        "json-argument": Recipe(
            (
                *("--gpus", "all", "--rm", "-e", "EMPTY=", "-e", 'QUOTED=it\'s "x" $y', IMAGE, *_SERVE),
                *("--model-path", "/models/m", "--json-model-override-args", '{"rope_scaling": {"type": "yarn"}}'),
            )
        ),
        "script-is-a-folder": Recipe(
            (
                *("--gpus", "all", "-v", f"{folder}/not-there.py:/launch.py:ro", IMAGE, "python3", "/launch.py"),
                *("--model-path", "/models/m"),
            ),
            # Docker makes the missing source at the start, as a folder.
            start=True,
        ),
        "no-engine": Recipe(("--gpus", "all", "-it", IMAGE)),
        "rich": Recipe(_rich(folder), (("--ip", "172.31.78.60", "--alias", "second", "labnet2"),), start=True),
    }


COMPOSE_FILES = {
    # The article's own: a block that begins with > and has deeper lines in it.
    "compose-article-35b": """\
services:
  sgl-selode:
    image: lmsysorg/sglang:latest
    container_name: compose-article-35b
    restart: unless-stopped
    runtime: nvidia
    ulimits:
      memlock:
        soft: -1
        hard: -1
    shm_size: 32g
    ports:
      - "15433:30000"
    volumes:
      - ./models:/models:ro
    environment:
      - CUDA_VISIBLE_DEVICES=1   # GPU 1
    ipc: host
    command: >
      python3 /launch_selode.py
        --model-path /models/huggingface/selode-ai/Qwen-3.6-35B-A3B-VRAP-4-bit-AWQ-21.2GB
        --port 30000 --host 0.0.0.0
        --dtype bfloat16
        --mem-fraction-static 0.90
""",
    # Line breaks that were meant for a shell.
    "compose-backslashes": """\
services:
  sgl:
    image: lmsysorg/sglang:latest
    container_name: compose-backslashes
    gpus: all
    command: |
      python3 -m sglang.launch_server \\
        --model-path /models/m \\
        --mem-fraction-static 0.88
""",
    "compose-deploy": """\
services:
  sgl:
    image: lmsysorg/sglang:latest
    container_name: compose-deploy
    restart: on-failure:3
    init: true
    volumes:
      - cache:/root/.cache/huggingface
      - /data
    command: ["sglang", "serve", "--model-path", "Qwen/Qwen3-8B", "--mem-fraction-static", "${MEM:-0.85}"]
    deploy:
      resources:
        reservations:
          devices:
            - driver: nvidia
              device_ids: ["0", "1"]
              capabilities: [gpu]
volumes:
  cache:
""",
}


def _rich(folder: Path) -> tuple[str, ...]:
    """Nearly every option of ``docker create``."""
    return (
        *("--hostname", "richhost", "--domainname", "dom", "--network", "labnet1", "--ip", "172.31.77.50"),
        *("--network-alias", "richalias", "--shm-size", "256m", "--ipc", "shareable", "--pid", "host"),
        *("--ulimit", "memlock=65536:65536", "--ulimit", "nofile=1000:2000", "--cap-add", "SYS_PTRACE"),
        *("--cap-drop", "MKNOD", "--security-opt", "seccomp=unconfined", "--group-add", "44"),
        *("--device", "/dev/null:/dev/xnull:rw", "--cpus", "1.5", "--memory", "512m", "--memory-swap", "600m"),
        *("--oom-score-adj", "100", "--add-host", "foo:10.1.2.3", "--dns", "9.9.9.9", "--dns-search", "example.org"),
        *("--dns-option", "ndots:2", "--sysctl", "net.core.somaxconn=1024", "--init", "--restart", "on-failure:3"),
        *("-p", "127.0.0.1:15433:30000", "-p", "127.0.0.1::30001/udp", "-v", f"{folder}/models:/models:ro"),
        *("-v", "namedvol:/nv", "-v", "/anoncli", "--tmpfs", "/tf:rw,size=1m", "--mount"),
        *(f"type=bind,src={folder}/models,dst=/m2,readonly,bind-propagation=private", "--mount"),
        *("type=tmpfs,dst=/tm,tmpfs-size=1000000", "--mount", "type=volume,dst=/mv,volume-nocopy"),
        *("--log-driver", "json-file", "--log-opt", "max-size=1m", "--log-opt", "max-file=2"),
        *("-e", "BAR=a b$c", "-e", "IMG_ONLY=overridden", "--label", "mine=1", "--label", 'quo=it\'s "x"'),
        *("--health-cmd", "exit 0", "--health-interval", "3s", "--health-retries", "2", "--stop-signal", "SIGINT"),
        *("--stop-timeout", "7", "-i", "-t", "--read-only", "--expose", "4444", "--user", "0:0", "--workdir", "/tmp"),
        *("--pids-limit", "200", "--cpuset-cpus", "0", "--cpu-shares", "512", "--gpus", '"device=1"', RICH_IMAGE),
        *(*_SERVE, "--model-path", "/models/m", "--mem-fraction-static", "0.8", "--served-model-name", "two words"),
    )


def make(host: PrivateDockerd, name: str, recipe: Recipe) -> None:
    """Make the container, connect it, start it."""
    command(host, "create", "--name", name, *recipe.create)
    for words in recipe.connect:
        command(host, "network", "connect", *words, name)
    if recipe.start:
        command(host, "start", name)


def make_networks(host: PrivateDockerd) -> None:
    """Those that the rich container is in."""
    command(host, "network", "create", "--subnet", "172.31.77.0/24", "labnet1")
    command(host, "network", "create", "--subnet", "172.31.78.0/24", "labnet2")


def command(host: PrivateDockerd, *words: str) -> str:
    """What the docker command prints.

    Raises:
        RuntimeError: it failed, with what it said.
    """
    return shell(host, shlex.join(["docker", *words]))


def shell(host: PrivateDockerd, text: str) -> str:
    """What a shell command with docker commands in it prints; raises as ``command``."""
    done = subprocess.run(
        ["sh", "-c", text],
        env=os.environ | {"DOCKER_HOST": host.url},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{text}: {done.stderr}")
    return done.stdout


def inspected(client: docker.DockerClient, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The inspections of a container and of its image, as the engine gives them."""
    container = client.api.inspect_container(name)
    return container, client.api.inspect_image(container["Image"])


def _capture(names: Sequence[str]) -> None:
    """Write the inspections, with the folder of this run replaced by the one that the articles' reader has."""
    host = PrivateDockerd()
    try:
        host.start()
        build_images(host)
        make_networks(host)
        folder = host.folder / "ai-workspace"
        (folder / "models").mkdir(parents=True)
        (folder / "launch_selode.py").touch()
        images: dict[str, Any] = {}
        with contextlib.closing(host.client()) as client:
            for name, recipe in recipes(folder).items():
                if names and name not in names:
                    continue
                make(host, name, recipe)
                container, image = inspected(client, name)
                images["rich" if name == "rich" else "sglang"] = image
                _write(CAPTURED / f"{name}.json", container, host)
                host.clear()
            for name, text in COMPOSE_FILES.items():
                if not COMPOSE or (names and name not in names):
                    continue
                (folder / name).mkdir()
                (folder / name / "compose.yaml").write_text(text)
                file = shlex.quote(f"{folder}/{name}/compose.yaml")
                shell(host, f"{COMPOSE} -f {file} up --no-start --quiet-pull")
                container, images["sglang"] = inspected(client, name)
                _write(CAPTURED / f"{name}.json", container, host)
                host.clear()
        for name, image in images.items():
            _write(CAPTURED / "images" / f"{name}.json", image, host)
    finally:
        host.close()


def _write(path: Path, data: dict[str, Any], host: PrivateDockerd) -> None:
    text = json.dumps([data], indent=4, ensure_ascii=False)
    text = text.replace(str(host.folder / "ai-workspace"), "/opt/ai-workspace").replace(
        str(host.folder / "data"), "/var/lib/docker"
    )
    path.parent.mkdir(exist_ok=True)
    path.write_text(text + "\n")


if __name__ == "__main__":
    import sys

    _capture(sys.argv[1:])
