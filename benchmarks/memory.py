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

from sgdoctor.engines.sglang.memory.predict import predict
from sgdoctor.engines.sglang.memory.prediction import Prediction


def show(name: str, found: Prediction, slots: int | None, tokens: int | None) -> float | None:
    error = None if tokens is None or found.kv_tokens is None else found.kv_tokens / tokens - 1
    seen = [f"{value:,}" if value is not None else "-" for value in (found.slots, slots, found.kv_tokens, tokens)]
    print(f"{name:58} {seen[0]:>6} {seen[1]:>6} {seen[2]:>12} {seen[3]:>12} ", end="")
    print("" if error is None else f"{error:+8.2%}")
    return error


def main() -> None:
    print(f"{'':58} {'slots':>6} {'seen':>6} {'tokens':>12} {'seen':>12}    error")
    errors = []
    print("reported, by configuration and weights")
    for case in vectors()["reported"]:
        errors.append(show(f"  {case['name']}", predict(reported_start(case)), case.get("slots"), case.get("tokens")))
    print("run, by configuration and memory before and after loading")
    for case in vectors()["runs"]:
        slots, tokens = (value_of(case["log"], name) for name in ("state_slots", "kv_tokens"))
        errors.append(show(f"  {case['log']}", run_predicted(case), slots, tokens))
    print("run, by the log of another one")
    for pair in vectors()["from_another"]:
        slots, tokens = (value_of(pair["then"], name) for name in ("state_slots", "kv_tokens"))
        found = predicted_from(pair["log"], pair["then"])
        errors.append(show(f"  {pair['log']} -> {pair['then']}", found, slots, tokens))
    known = [abs(error) for error in errors if error is not None]
    print(f"{len(known)} with tokens: mean error {sum(known) / len(known):.2%}, largest {max(known):.2%}")


if __name__ == "__main__":
    main()
