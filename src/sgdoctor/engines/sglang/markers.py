"""Texts by which a start is found and followed, in every wording from 0.4.6 to 0.5.23.

Where the texts come from: the log calls of srt/model_executor, srt/mem_cache, srt/managers and srt/entrypoints, and
for the HTTP lines uvicorn. Lines of a busy server (``Prefill batch``, ``Decode batch``, access lines) are not here.
"""

import re
from collections.abc import Iterable
from typing import Final

from sgdoctor.patterns import lazy_pattern

START_MARKERS: Final[tuple[str, ...]] = (
    "server_args=ServerArgs(",
    "server_args={",
    "is still supported, but 'sglang serve'",
    "usage: sglang serve",
    "usage: launch_server.py",
    "Error response from daemon",
    "<frozen runpy>",
    "in _run_module_as_main",
    "in <module>",
)

READY: Final = "The server is fired up and ready to roll!"
CHILD_FAILED: Final = "sigquit from a child"
CHAT_REFUSED: Final = ' - "POST /v1/chat/completions HTTP/1.1" 400'
UVICORN_RUNNING: Final = "Uvicorn running on "
ARGPARSE_ERRORS: Final[tuple[str, ...]] = (
    "error: unrecognized arguments",
    "error: argument -",
    "error: the following arguments are required",
    "error: ambiguous option",
    "serve: error: ",
    "launch_server.py: error: ",
)

MARKERS: Final[tuple[str, ...]] = (
    *START_MARKERS,
    *ARGPARSE_ERRORS,
    "Init torch distributed",
    "Init parallel ",
    "Memory baseline taken",
    "Load weight begin",
    "Load weight end",
    "checkpoint shards: ",
    "loading shards: ",
    "Mamba Cache is allocated",
    "Mamba Cache: ",
    "KV Cache is allocated",
    "KV Cache: dtype",
    "KV Cache VA upper bound",
    "KV Cache skipped",
    "KV cache allocated",
    "SWAKVPool mem usage",
    "Memory pool end",
    "CUDA graph begin",
    "CUDA graph end",
    "cuda graph begin",
    "cuda graph end",
    "Disable prefill CUDA graph",
    "Capturing batches (",
    "Capturing num tokens (",
    "Capturing prefill shape",
    "Attention backend not specified",
    "max_total_num_tokens=",
    "Started server process",
    "Waiting for application startup",
    "Application startup complete",
    UVICORN_RUNNING,
    READY,
    "SIGTERM received",
    "Gracefully exiting...",
    "KeyboardInterrupt",
    "INFO:     Shutting down",
    "Retract requests",
    CHAT_REFUSED,
    "Decode out of memory happened",
    "out of memory. Tried to allocate",
    "state cache",
    "Loaded weights leave no GPU memory",
    "increase --mem-fraction-static",
    "sigquit from a child",
    "SIGQUIT received",
    "kill_process_tree called",
    "exit code",
    "exited with code",
    "Rank 0 scheduler ",
    "lmsysorg/sglang:v",
)

# What docker and compose print before the engine says anything.
DOCKER_STARTS: Final = (
    "docker: ",
    "Error response from daemon",
    "Unable to find image",
    "Digest: sha256:",
    "Status: ",
    "Attaching to ",
    "Recreating ",
    "Creating ",
    "Starting ",
    "Pulling ",
    "[+] ",
    "Container ",
    "- Container ",
    "Network ",
    "- Network ",
)
# What the readers of `reading` may be given; many programs have lines that begin with "Init" or "Memory".
OWN_STARTS: Final = (
    "Init torch distributed",
    "Init parallel ",
    "Memory baseline taken",
    "Memory pool end",
    "Load weight ",
    "Mamba Cache",
    "KV Cache",
    "SWAKVPool mem usage",
    "KV cache pool is full",
    "Capture ",
    "Disable prefill CUDA graph",
    "Breakable CUDA graph",
    "Attention backend not specified",
    "INFO: ",
    "ERROR: ",
    "SIGTERM received",
    "Signal SIGTERM received",
    # Compose says "Gracefully stopping..." also when the daemon refused to start a container.
    "Gracefully exiting...",
    "SIGQUIT received",
    "Subprocess ",
    "Exit code",
    "Rank ",
    "Decode batch",
    "Decode out of memory happened",
    "Prefill batch",
)
# Those of them that other programs print as well.
SHARED_STARTS: Final = ("INFO: ", "ERROR: ", "Subprocess ", "Exit code", "Rank ")
# What stands before `server_args=` or a usage text of the same start.
PREAMBLE_STARTS: Final = (
    "warnings.warn(",
    "Example: sglang serve",
    "Attention backend not specified",
    "Breakable CUDA graph is incompatible",
    "Fail to set RLIMIT_NOFILE",
    "Auto-detected --",
    "Cuda graph is disabled",
)

CAPTURE: Final = lazy_pattern(r"Capture (?P<what>[\w ]*?)\s*(?:cuda|CUDA) graph (?P<edge>begin|end)\b")
PROGRESS_COUNT: Final = lazy_pattern(r"(\d+)/(\d+) \[")
AVAIL_MEM: Final = lazy_pattern(r"avail_mem=(-?[\d.]+) ?GB")
URL: Final = lazy_pattern(r"https?://(\[[0-9a-fA-F:]+\]|[\w.-]+):(\d+)")
EXIT_CODE: Final = lazy_pattern(r"exit(?:ed with)? ?code:? (-?\d+)", re.IGNORECASE)
IMAGE_VERSION: Final = lazy_pattern(r"lmsysorg/sglang:v?(\d+\.\d+\.\d+(?:\.?(?:post|rc)\d+)?)(?![\d.])")
PACKAGE_VERSION: Final = lazy_pattern(
    r"(?:Name: )?(sglang|transformers|torch|Transformers version|PyTorch version|SGLang version)"
    r"(?:\[[\w,-]+\])?(?:==|: ?| )v?(\d+\.\d+[\w.+]*)$"
)
FLAG: Final = lazy_pattern(r"(?<![\w-])-{1,2}[A-Za-z][\w-]*")
PACKAGE_FACTS: Final = {
    "sglang": "version",
    "SGLang version": "version",
    "transformers": "transformers_version",
    "Transformers version": "transformers_version",
    "torch": "torch_version",
    "PyTorch version": "torch_version",
}


def flags_in(texts: Iterable[str]) -> frozenset[str]:
    """All flags that a usage text lists."""
    return frozenset(flag for text in texts for flag in FLAG.findall(text))
