"""How far the memory model is off, case by case: published reports, runs, and runs told by the log of another one.

python -m benchmarks.memory
"""

from tests.engines.memory_cases import (
    predicted_from,
    reported_start,
    run_predicted,
    value_of,
    vectors,
)

from sgdoctor.engines.sglang.memory.beside_weights import experts_gib, tables_gib
from sgdoctor.engines.sglang.memory.predict import predict
from sgdoctor.engines.sglang.memory.prediction import Bounds, Prediction
from sgdoctor.engines.sglang.memory.settings import Settings
from sgdoctor.engines.sglang.memory.shape import shape_of


def show(name: str, found: Prediction, slots: int | None, tokens: int | None, least: int | None = None) -> float | None:
    error = None if tokens is None or found.kv_tokens is None else found.kv_tokens / tokens - 1
    cells = [
        *(bounds(found.slots, found.slots_bounds), count(slots)),
        *(count(found.kv_tokens), bounds(found.kv_tokens, found.kv_tokens_bounds), count(tokens)),
    ]
    if least is not None:
        cells[-1] = f">={least:,}"
    line = f"{name:58} {cells[0]:>14} {cells[1]:>6} {cells[2]:>10} {cells[3]:>23} {cells[4]:>10} "
    print(line.rstrip() if error is None else f"{line}{error:+8.2%}")
    return error


def count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def bounds(number: int | None, around: Bounds | None) -> str:
    if number is None or around is None or around.low == around.high:
        return count(number)
    return f"{around.low:,} to {around.high:,}"


def main() -> None:
    print(f"{'':58} {'slots':>14} {'seen':>6} {'tokens':>10} {'between':>23} {'seen':>10}    error")
    errors = []
    print("reported, by configuration and weights")
    for case in (*vectors()["reported"], *vectors()["elsewhere"]):
        seen = (case.get(name) for name in ("slots", "tokens", "tokens_at_least"))
        errors.append(show(f"  {case['name']}", predict(reported_start(case)), *seen))
    print("run, by configuration and memory before and after loading")
    for case in vectors()["runs"]:
        slots, tokens = (value_of(case["log"], name) for name in ("state_slots", "kv_tokens"))
        errors.append(show(f"  {case['log']}", run_predicted(case), slots, tokens))
    print("run, by the log of another one")
    for pair in vectors()["from_another"]:
        slots, tokens = (value_of(pair["then"], name) for name in ("state_slots", "kv_tokens"))
        found = predicted_from(pair["log"], pair["then"])
        errors.append(show(f"  {pair['log']} -> {pair['then']}", found, slots, tokens))
    print("beside the weights, in MiB: map of the experts, tables of positions")
    for case in vectors()["beside_weights"]:
        shape = shape_of(vectors()["models"][case["model"]])
        name = f"  {case['model']}, context {case.get('context') or shape.context:,}"
        tables = tables_gib(shape, Settings(context=case.get("context")))
        low, high = 1024 * tables.low, 1024 * tables.high
        predicted = f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"
        print(f"{name:58} {1024 * experts_gib(shape):>14.0f} {case['experts']:>6} {predicted:>34} {case['tables']:>10}")
    known = [abs(error) for error in errors if error is not None]
    print(f"{len(known)} with tokens: mean error {sum(known) / len(known):.2%}, largest {max(known):.2%}")


if __name__ == "__main__":
    main()
