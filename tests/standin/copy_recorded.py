"""Copy what the stand-in replays from a folder of recorded runs: `python tests/standin/copy_recorded.py FOLDER`.

The folder holds, for each run, `NAME.yaml` (command, outcome, exit code), `timing/NAME.timing` ("seconds bytes", a line for
each read of the engine's output) and `responses/NAME/*.json` (HTTP answers). The logs themselves are the fixtures.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
RECORDED = HERE / "recorded"
LOGS = HERE.parent.parent / "fixtures" / "logs" / "real"

# Runs whose answers are kept: one that was asked everything, one with a parser for tool calls, the shapes of the 27B and
# 35B models at the fractions that work, one with an API key.
ANSWERS = (
    "boot-hybrid",
    "cli-tool-call-parser-auto",
    "skel27-mfs-0.88",
    "skel27-mfs-0.92",
    "skel35moe-mfs-0.92",
    "api-key",
)
# Big, and nothing asks the stand-in for them.
LEFT_OUT = ("metrics*", "get_metrics*", "*_after", "get_get_*", "prompt_*", "long_prompt*", "too_*", "image_url")


def ending(run: dict[str, Any], log: bytes) -> str:
    """How the run went on after its last line: exit (it killed itself), serve (until it was stopped) or hang."""
    if run["outcome"] == "ready" and run["ended_by"] != "itself":
        return "serve"
    # A run that was stopped from outside may have been on its way out all the same.
    died = b"kill_process_tree called" in log or run["ended_by"] == "itself"
    return "exit" if died else "hang"


def main(source: Path) -> None:
    """Write `recorded/` anew."""
    shutil.rmtree(RECORDED, ignore_errors=True)
    (RECORDED / "timing").mkdir(parents=True)
    runs = {}
    for log in sorted(LOGS.glob("*.log")):
        name, data = log.stem, log.read_bytes()
        run = yaml.safe_load((source / f"{name}.yaml").read_text())
        runs[name] = {
            "command": run["command"],
            "seconds": run["seconds_total"],
            "exit_code": run["exit_code"],
            "ending": ending(run, data),
        }
        timing = source / "timing" / f"{name}.timing"
        if timing.exists():
            shutil.copyfile(timing, RECORDED / "timing" / timing.name)
    (RECORDED / "runs.json").write_text(json.dumps(runs, indent=1, ensure_ascii=False) + "\n")
    for name in ANSWERS:
        (RECORDED / "answers" / name).mkdir(parents=True)
        for answer in sorted((source / "responses" / name).glob("*.json")):
            if not any(answer.match(f"{pattern}.json") for pattern in LEFT_OUT):
                compact = json.dumps(json.loads(answer.read_text()), ensure_ascii=False, separators=(",", ":"))
                (RECORDED / "answers" / name / answer.name).write_text(compact + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
