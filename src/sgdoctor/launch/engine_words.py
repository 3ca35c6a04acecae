"""How the words of one command start an engine, and how they can fail to."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ash"})
_MODULES: Final = {
    "sglang.launch_server": "sglang",
    # Starts a router and the servers behind it; takes the flags of both.
    "sglang_router.launch_server": "sglang",
    "vllm.entrypoints.openai.api_server": "vllm",
}
_SUBCOMMANDS: Final = {("sglang", "serve"): "sglang", ("vllm", "serve"): "vllm"}
_PROGRAMS: Final = {"llama-server": "llama.cpp", "sglang.launch_server": "sglang"}
TALKING: Final = frozenset({"echo", "printf", "pkill", "pgrep", "grep", "cat", "sed", "which", "man"})
"""Programs that only speak of a command."""

# They pass requests on to servers of elsewhere: sgl-router, its later name, and the small balancer before both.
_ROUTERS: Final = frozenset({"sglang-router", "smg", "amg"})
_ROUTER_MODULES: Final = frozenset(
    {
        *("sglang_router", "sglang_router.launch_router", "smg", "smg.launch_router"),
        *("sglang.srt.disaggregation.mini_lb", "sglang.srt.disaggregation.launch_lb"),
    }
)

# Programs that serve nothing, whatever they are given.
_IDLE: Final = frozenset({"sleep", "tail", "nvidia-smi", "true", "false", "ls", "top", "env", "hostname"})
_SCRIPT_NAME: Final = re.compile(r"launch|sglang|serve", re.IGNORECASE)
_MODEL_FLAGS: Final = ("--model-path", "--model")

SCRIPTS: Final = (".sh", ".bash", ".py")
"""How the names of files end that may start an engine out of sight."""

MENTION: Final = re.compile(r"sglang\.launch_server|\b(?:sglang|vllm)\s+serve\b|vllm\.entrypoints")
"""What a text has in it that starts an engine."""

OPTIONS_VARIABLE: Final = re.compile(
    r'"?\$(?:[@*]|\w*(?:ARG|FLAG|OPT|EXTRA|PARAM)\w*|\{\w*(?:ARG|FLAG|OPT|EXTRA|PARAM)\w*(?:\[[@*]\])?(?::?[-+][^}]*)?\})"?',
    re.IGNORECASE,
)
"""A word, as written, that stands for any number of flags: ``"$@"``, ``$SGL_ARGS``, ``${EXTRA[@]}``."""


class EngineAt(NamedTuple):
    """Where an engine is started in a list of words.

    Attributes:
        program: index of ``python3`` or ``sglang``.
        flags_at: index of the first word behind program, module and sub-command.
        engine: ``sglang``, ``vllm``, ``llama.cpp``.
    """

    program: int
    flags_at: int
    engine: str


def engine_at(texts: Sequence[str]) -> EngineAt | None:
    """Where the words of one command start an engine; wrappers such as ``numactl`` or ``tini --`` may stand before."""
    names = [text.rpartition("/")[2] for text in texts]
    if not names or names[0] in TALKING:
        return None
    for index, name in enumerate(names):
        before = names[index - 1] if index else ""
        if before == "-m" and name in _MODULES:
            return EngineAt(_interpreter(names, index - 1), index + 1, _MODULES[name])
        if name[:2] == "-m" and name[2:] in _MODULES:
            return EngineAt(_interpreter(names, index), index + 1, _MODULES[name[2:]])
        if engine := _SUBCOMMANDS.get((before, name)):
            return EngineAt(index - 1, index + 1, engine)
        if engine := _PROGRAMS.get(name):
            return EngineAt(index, index + 1, engine)
        if name.endswith(".py") and (program := _interpreter(names, index)) < index and _starts_engine(name, texts):
            return EngineAt(program, index + 1, "sglang")
        if name in _SHELLS:
            return None
    return None


def shell_script_at(texts: Sequence[str]) -> int | None:
    """Index of the script in ``bash -lc "..."``; None where no shell is told to run one."""
    shell = next((index for index, text in enumerate(texts) if text.rpartition("/")[2] in _SHELLS), None)
    if shell is None or texts[0] in TALKING:
        return None
    at, has_script = shell + 1, False
    while at < len(texts) and texts[at][:1] in ("-", "+") and texts[at] != "--":
        cluster = "" if texts[at].startswith("--") else texts[at][1:]
        has_script = has_script or "c" in cluster
        at += 2 if cluster.endswith("o") else 1  # -euo pipefail
    return at if has_script and at < len(texts) else None


def serves_nothing(texts: Sequence[str]) -> bool:
    """Whether a command surely starts no server: a shell without a script, an interpreter alone, ``sleep``."""
    if not texts:
        return False
    program, *rest = texts[0].rpartition("/")[2], *texts[1:]
    if program in _SHELLS or program.startswith("python"):
        return all(text.startswith("-") and text not in ("-c", "-m") for text in rest)
    return program in _IDLE or program in TALKING


def routes_only(texts: Sequence[str]) -> bool:
    """Whether a command starts a router alone, which needs no GPU and no model."""
    names = [text.rpartition("/")[2] for text in texts]
    if names[:1] and names[0] in _ROUTERS:
        return True
    return any(module == "-m" and name in _ROUTER_MODULES for module, name in pairwise(names))


def is_shell(program: str) -> bool:
    """Whether a program, with or without its path, is a shell."""
    return program.rpartition("/")[2] in _SHELLS


def _interpreter(names: Sequence[str], index: int) -> int:
    """Index of the interpreter whose options reach up to ``index``; ``index`` itself if there is none."""
    for at in range(index - 1, -1, -1):
        if names[at].startswith(("python", "torchrun")):
            return at
        if not names[at].startswith("-") and names[at - 1] not in ("-X", "-W"):
            break
    return index


def _starts_engine(script: str, texts: Sequence[str]) -> bool:
    return bool(_SCRIPT_NAME.search(script)) or any(text.partition("=")[0] in _MODEL_FLAGS for text in texts)
