"""Numbers that flags of a launch ask for, whatever name of a flag was typed."""

from typing import Final

from sgdoctor.preflight.asked import Asked

_OTHER_NAMES: Final = {
    "--dp-size": ("--data-parallel-size", "--dp"),
    "--base-gpu-id": (),
    "--nnodes": ("--dist-nnodes",),
    "--port": (),
}

DEFAULT_PORT: Final = 30000
"""Of ``--port`` in every version (srt/server_args.py)."""


def text_of(asked: Asked, flag: str) -> str | None:
    """The value of a flag under any of its names; None where it is not given."""
    names = (flag, *_OTHER_NAMES.get(flag, ()))
    return next((value for name in names if (value := asked.value(name)) is not None), None)


def number_of(asked: Asked, flag: str) -> int | None:
    """The value of a flag where it is a whole number; None where it is not given, or not plain."""
    value = text_of(asked, flag)
    return int(value) if value is not None and value.isdecimal() else None


def seconds_asked(asked: Asked, flag: str) -> float | None:
    """The value of a flag that takes seconds; None where it is not given, or no number."""
    value = text_of(asked, flag)
    try:
        return None if value is None else float(value)
    except ValueError:
        return None


def world_size(asked: Asked) -> int | None:
    """GPUs of this host that the engine's processes need; None where a number comes from a variable."""
    total = 1
    for flag in ("--tp-size", "--pp-size"):
        size = number_of(asked, flag)
        if size is None and text_of(asked, flag) is not None:
            return None
        total *= size or 1
    # Attention groups share the GPUs of tensor parallelism; other data parallelism has its own
    # (srt/managers/data_parallel_controller.py).
    if not asked.has("--enable-dp-attention"):
        total *= number_of(asked, "--dp-size") or 1
    nodes = number_of(asked, "--nnodes") or 1
    return max(1, total // nodes)


def port_of(asked: Asked) -> int | None:
    """The port that the engine listens on inside; None where it comes from a variable."""
    value = text_of(asked, "--port")
    if value is None:
        return DEFAULT_PORT
    return int(value) if value.isdecimal() else None
