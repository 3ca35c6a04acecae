"""Where the memory went: by invented figures, by a real card, and by a real log beside the samples of its card."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.diagnosis.pipeline import diagnose_bytes
from sgdoctor.gpu.ledger import Ledger, LogMemory, PartKind, ledger, log_memory
from sgdoctor.gpu.model import Gpu, GpuProcess
from sgdoctor.gpu.recorded import read_recording, without
from sgdoctor.rules.base import load_rule_base
from tests.conftest import LOGS
from tests.gpu.samples import ID, OTHER_ID, RECORDINGS, busiest, idle

LOG = LogMemory(weights_gib=10.0, state_gib=1.0, kv_gib=4.0, graph_gib=0.5)
CHECK = "5" * 8 + "c0ffee" * 9 + "55"


def card(used: float, *processes: GpuProcess, reserved: float | None = 400.0) -> Gpu:
    return Gpu(0, "GPU-1", "", 86, 24576.0, used, 24576.0 - used, None, None, None, None, processes, reserved)


def sizes(stack: Ledger | None) -> dict[str, float]:
    assert stack is not None
    return {part.kind.value: round(part.mib, 3) for part in stack.parts}


def test_memory_of_a_server_beside_another_program() -> None:
    gpu = card(18400, GpuProcess(1, "sglang", 16672.0, ID), GpuProcess(2, "Xorg", 1300.0, graphics=True))

    stack = ledger(gpu, LOG, container=ID)

    expected = {"weights": 10240, "state": 1024, "kv": 4096, "graphs": 512, "other": 800, "others": 1328}
    assert {**expected, "driver": 400, "free": 6176} == sizes(stack)
    assert stack is not None
    assert (stack.attributed, stack.notes) == (True, ())


def test_a_shortened_id_and_process_numbers_do_as_well() -> None:
    gpu = card(18400, GpuProcess(1, "sglang", 16672.0, ID), GpuProcess(2, "other", 1300.0, OTHER_ID))

    assert ledger(gpu, LOG, container=ID) == ledger(gpu, LOG, container=ID[:12]) == ledger(gpu, LOG, pids=(1,))


def test_several_processes_of_one_container_count_together() -> None:
    gpu = card(18400, GpuProcess(1, "sglang", 16000.0, ID), GpuProcess(2, "sglang", 900.0, ID))

    assert sizes(ledger(gpu, LOG, container=ID))["other"] == 16900 - 15872


def test_a_server_that_has_not_begun_to_load_holds_nothing() -> None:
    gpu = card(9000, GpuProcess(2, "other", 8500.0, OTHER_ID))

    stack = ledger(gpu, LogMemory(), container=ID)

    assert (sizes(stack)["others"], sizes(stack)["other"]) == (8600, 0)
    assert stack is not None
    assert stack.attributed


def test_a_server_that_has_ended_leaves_its_log_and_no_memory() -> None:
    stack = ledger(card(420), LOG, container=ID)

    expected = {"weights": 0, "state": 0, "kv": 0, "graphs": 0, "other": 0, "others": 20, "driver": 400, "free": 24156}
    assert expected == sizes(stack)
    assert stack is not None
    assert stack.notes == ()


def test_where_processes_cannot_be_told_apart_the_rest_is_other_and_a_note_says_so() -> None:
    stack = ledger(card(18400, GpuProcess(1, "", None)), LOG, container=ID)

    assert (sizes(stack)["weights"], sizes(stack)["other"], sizes(stack)["others"]) == (10240, 18000 - 15872, 0)
    assert stack is not None
    assert (stack.attributed, len(stack.notes)) == (False, 1)


def test_programs_known_to_be_others_are_so_even_where_the_server_is_hidden() -> None:
    stack = ledger(card(18400, GpuProcess(2, "vllm", 1000.0, OTHER_ID), GpuProcess(3, "", 17000.0)), LOG, container=ID)

    assert (sizes(stack)["others"], sizes(stack)["other"]) == (1000, 17000 - 15872)


def test_without_a_container_or_processes_nothing_is_attributed() -> None:
    stack = ledger(card(18400, GpuProcess(2, "python3", 17900.0, OTHER_ID)), LOG)

    assert stack is not None
    assert (sizes(stack)["others"], stack.attributed) == (0, False)


def test_a_log_that_accounts_for_more_than_there_is_is_cut_and_said() -> None:
    stack = ledger(card(11000, GpuProcess(1, "sglang", 10600.0, ID)), LOG, container=ID)

    assert tuple(sizes(stack)[kind] for kind in ("weights", "state", "kv", "graphs", "other")) == (10240, 360, 0, 0, 0)
    assert stack is not None
    assert ["15.50 GiB" in note.en and "10.35 GiB" in note.zh for note in stack.notes] == [True]


def test_a_card_without_memory_figures_has_no_ledger() -> None:
    assert ledger(card(0)._replace(total_mib=None), LOG) is None


MIB = st.floats(min_value=-100, max_value=50000)
PROCESS = st.builds(
    GpuProcess,
    pid=st.integers(1, 5),
    name=st.sampled_from(["", "python3"]),
    used_mib=st.none() | MIB,
    container=st.sampled_from(["", ID, OTHER_ID]),
)


@given(
    used=MIB,
    reserved=st.none() | MIB,
    processes=st.lists(PROCESS, max_size=4),
    log=st.builds(LogMemory, st.floats(-1, 40), st.floats(-1, 40), st.floats(-1, 40), st.floats(-1, 40)),
    container=st.sampled_from(["", ID]),
    pids=st.sets(st.integers(1, 5)),
)
def test_parts_are_never_negative_and_sum_to_the_card(
    *,
    used: float,
    reserved: float | None,
    processes: list[GpuProcess],
    log: LogMemory,
    container: str,
    pids: set[int],
) -> None:
    stack = ledger(card(used, *processes, reserved=reserved), log, container=container, pids=pids)

    assert stack is not None
    assert list(PartKind) == [part.kind for part in stack.parts]
    assert all(part.mib >= 0 for part in stack.parts)
    assert sum(part.mib for part in stack.parts) == pytest.approx(24576)


def test_every_part_has_a_name_in_both_languages() -> None:
    stack = ledger(idle(), LOG)

    assert stack is not None
    assert all(part.title.en and part.title.zh for part in stack.parts)


def test_facts_that_are_missing_or_negative_count_as_nothing() -> None:
    facts = {"weights_gib": 18.5, "draft_weights_gib": 0.5, "state_gib": None, "kv_gib": -0.2}

    assert LogMemory(weights_gib=19.0) == log_memory(facts.get)


def test_known_amounts_on_a_real_card() -> None:
    """What tools/gpu_check.py took: 18, 1.125, 1.5 and 0.0625 GiB; 518 MiB are the CUDA context."""
    stack = ledger(busiest().gpus[0], LogMemory(18.0, 1.125, 1.5, 0.0625), container=CHECK)

    assert stack is not None
    assert {name: size for name, size in sizes(stack).items() if name not in ("others", "driver", "free")} == {
        "weights": 18432,
        "state": 1152,
        "kv": 1536,
        "graphs": 64,
        "other": 518,
    }
    assert 2048 + 518 <= stack.mib(PartKind.OTHERS) <= 2048 + 518 + 20


def test_a_real_log_beside_the_samples_of_its_card() -> None:
    """The engine's figures are rounded to 0.01 GiB; what they leave is contexts and workspaces."""
    name = "article27-w19.28-mfs-0.92"
    verdict = diagnose_bytes((LOGS / "real" / f"{name}.log").read_bytes(), name, load_rule_base())[-1]
    facts = {key: fact.value for key, fact in verdict.facts.items()}
    (gpu,) = without(read_recording(RECORDINGS / f"{name}.jsonl")[-1], 2715).gpus

    stack = ledger(gpu, log_memory(facts.get), pids=(2786,))

    assert stack is not None
    assert tuple(
        round(stack.mib(kind) / 1024, 2) for kind in (PartKind.WEIGHTS, PartKind.STATE, PartKind.KV, PartKind.GRAPHS)
    ) == (19.28, 1.0, 1.24, 0.07)
    assert 1.0 < stack.mib(PartKind.OTHER) / 1024 < 1.5
    assert stack.notes == ()
