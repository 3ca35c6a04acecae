"""Problems of texts and flags as findings of checks."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from sgdoctor.launch.model import Problem
from sgdoctor.preflight.model import Finding, Situation, Status

GPU_IDS: Final = frozenset(
    {
        "gpu-numbered-twice",
        "gpus-asked-for-twice",
        "gpu-count-zero",
        "gpu-chosen-by-cuda-alone",
        "no-gpu-asked-for",
        "raw-gpu-devices",
    }
)
"""Problems that the check of GPUs tells itself."""

OTHER_CHECKS: Final = GPU_IDS | {
    "folder-mounted-as-script",  # launch_script
    "restart-after-exit-0",  # launch_restart
    "shm-size-without-effect",  # launch_shared_memory
    "flags-without-engine",  # command_engine
}
"""Problems of documents that one check each tells; the check of the writing tells all others."""

_STATUSES: Final = {"fatal": Status.FAIL}
# Of a value that no start survives, where `severity` speaks of what the parser does.
_FATAL: Final = frozenset({"fraction-out-of-range"})
_NO_STATUSES: Final[Mapping[str, Status]] = MappingProxyType({})
_PHASES: Final = {
    "decode-graph-breakable": "graph_capture",
    "fraction-out-of-range": "kv_cache",
    "gpu-not-for-fa3": "weights",
    "gpu-not-for-trtllm": "weights",
    "gpu-numbered-twice": "distributed",
    "no-gpu-asked-for": "distributed",
    "no-main-guard": "distributed",
}


def written(situation: Situation, wanted: Callable[[str], bool]) -> Iterator[Problem]:
    """Problems of the document whose ids are wanted."""
    if situation.document is not None:
        config = situation.config.problems if situation.config is not None else ()
        yield from (problem for problem in (*situation.document.problems, *config) if wanted(problem.id))


def as_findings(problems: Iterable[Problem], statuses: Mapping[str, Status] = _NO_STATUSES) -> Iterator[Finding]:
    """One finding for each problem.

    Args:
        problems: which.
        statuses: by id, where it is not that of the severity: ``fatal`` fails, everything else warns.
    """
    for problem in problems:
        status = statuses.get(problem.id) or (
            Status.FAIL if problem.id in _FATAL else _STATUSES.get(problem.severity, Status.WARN)
        )
        yield Finding(
            status,
            problem.title,
            where=problem.where,
            prevents=problem.rule if status in (Status.FAIL, Status.WARN) else None,
            changes=problem.changes,
            detail=problem.detail,
            phase=_phase(problem) if status is Status.FAIL else None,
        )


def _phase(problem: Problem) -> str:
    """Rules of the first family are about Docker; what has no rule is refused by the engine's parser or by Docker."""
    if problem.id in _PHASES:
        return _PHASES[problem.id]
    if problem.rule is not None:
        return "docker" if problem.rule.startswith("SGL0") else "args"
    return "docker" if problem.id.startswith(("docker-", "image-", "duplicate-", "blank-in-name", "item-")) else "args"
