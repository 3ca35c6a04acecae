"""What is advised about memory follows from the figures of the log and never starves the pools."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.engines.sglang import SGLANG
from sgdoctor.engines.sglang.memory import derived
from sgdoctor.engines.sglang.memory.logged import start_of
from sgdoctor.engines.sglang.memory.predict import predict
from sgdoctor.logs.event import Event
from tests.engines.conftest import events_in

Real = Callable[[str], Sequence[Event]]

ADVICE = [
    ("oom-runtime", 0.67, 0.86, 8192),
    ("oom-kv-alloc-a", 0.67, 0.89, 1024),
    ("skel27-mfs-0.99", 0.86, 0.93, 1024),
    ("oom-weights", None, None, 1024),
    ("skel27-mfs-0.80", 0.86, None, 1024),
]


@pytest.mark.parametrize(("name", "floor", "lower", "chunk"), ADVICE, ids=[name for name, *_ in ADVICE])
def test_lower_fraction_of_real_logs(
    name: str, floor: float | None, lower: float | None, chunk: int, real: Real
) -> None:
    facts = SGLANG.read(real(name)).facts

    actual = {key: facts[key].value if key in facts else None for key in ("fraction_floor", "fraction_lower")}
    assert {"fraction_floor": floor, "fraction_lower": lower} == actual
    assert chunk == facts["chunk_half"].value


@pytest.mark.parametrize(
    ("name", "fraction"),
    [
        ("article27-mfs-0.80", 0.93),
        ("article27-w19.28-mfs-0.88", 0.93),
        ("skel27-default", 0.93),
        ("weights-over-fraction", 0.89),
        ("boot-dense", None),
        ("skel27-mfs-0.99", None),
        ("oom-weights", None),
    ],
)
def test_fraction_to_be_set_where_the_pools_have_no_room(name: str, fraction: float | None, real: Real) -> None:
    facts = SGLANG.read(real(name)).facts

    assert fraction == (facts["solver.fraction"].value if "solver.fraction" in facts else None)


def lower(floor: float | None = 0.7, **facts: Any) -> float | None:
    known = {"fraction": 0.88, "mem_before_weights_gib": 23.5, **facts}
    return derived.fraction_lower(known.get, floor)


def test_step_is_what_lacked() -> None:
    assert 0.86 == lower(available_gpu_mem_gib=4.0)
    assert 0.84 == lower(available_gpu_mem_gib=0.1)
    assert 0.77 == lower(available_gpu_mem_gib=4.0, oom_tried_mib=3000.0, oom_free_mib=500.0)
    assert 0.85 == lower(floor=0.85, available_gpu_mem_gib=0.1)


def test_no_room_and_no_figures_give_no_fraction() -> None:
    assert lower(floor=0.88) is None
    assert lower(floor=0.95) is None
    assert lower(floor=None) is None
    assert lower(fraction=None) is None
    assert lower(mem_before_weights_gib=None) is None


@given(st.floats(0.2, 1.2), st.floats(0.1, 1.0), st.floats(1, 200), st.floats(0, 20), st.floats(0, 1e5))
def test_never_below_the_floor_nor_as_high_as_before(
    fraction: float, floor: float, before: float, free: float, tried: float
) -> None:
    floor = round(floor, 2)
    found = lower(
        floor=floor,
        fraction=round(fraction, 3),
        mem_before_weights_gib=before,
        mem_after_pools_gib=free,
        oom_tried_mib=tried,
        oom_free_mib=0.0,
    )

    assert found is None or floor <= found < round(fraction, 3)


def test_a_hybrid_model_needs_both_minima() -> None:
    assert 0.8 == derived.fraction_floor(0.7, 0.8, hybrid=True)
    assert derived.fraction_floor(0.7, None, hybrid=True) is None
    assert 0.7 == derived.fraction_floor(0.7, None, hybrid=False)
    assert derived.fraction_floor(None, 0.8, hybrid=True) is None


@pytest.mark.parametrize(
    ("chunk", "half"), [(16384, 8192), (2048, 1024), (600, 512), (512, None), (-1, None), (None, None), ("x", None)]
)
def test_half_of_a_chunk(chunk: Any, half: int | None) -> None:
    assert half == derived.chunk_half(chunk)


@pytest.mark.parametrize(
    ("printed", "instead"),
    [
        (rb"mem_fraction_static=[\d.]+", b"mem_fraction_static='0.8; rm -rf /'"),
        (rb"mem_fraction_static=[\d.]+", b"mem_fraction_static=nan"),
        (rb"mem_fraction_static=[\d.]+", b"mem_fraction_static=1e999"),
        (rb"avail mem=[\d.]+", b"avail mem=1" + b"0" * 400),
        (rb"mamba_full_memory_ratio=[\d.]+", b"mamba_full_memory_ratio=-1"),
        (rb"max_running_requests=\w+", b"max_running_requests='many'"),
        (rb"conv_state size: [\d.]+GB, ssm_state size: [\d.]+", b"conv_state size: 0.00GB, ssm_state size: 0.00"),
        (rb"K size: [\d.]+ GB, V size: [\d.]+", b"K size: 0.01 GB, V size: 0.00"),
    ],
)
@pytest.mark.parametrize("name", ["article27-mfs-0.80", "oom-runtime", "boot-hybrid", "boot-dense"])
def test_numbers_that_no_engine_prints(
    name: str, printed: bytes, instead: bytes, real_bytes: Callable[[str], bytes]
) -> None:
    reading = SGLANG.read(events_in(re.sub(printed, instead, real_bytes(name))))
    start = start_of(reading.facts)

    fraction = reading.facts.get("solver.fraction")
    assert fraction is None or 0 < fraction.value < 1
    assert start is None or predict(start).fraction < 1
