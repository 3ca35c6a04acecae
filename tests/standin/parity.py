"""Starts that the stand-in decides, and the recorded runs that they are compared with."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sgdoctor.diagnosis.pipeline import diagnose_bytes
from sgdoctor.engines.sglang import SGLANG
from sgdoctor.logs.folding import fold
from sgdoctor.logs.framing import read_lines
from sgdoctor.rules.base import RuleBase, load_rule_base
from tests.conftest import LOGS
from tests.engines.memory_cases import vectors
from tests.standin.engine.sglang.decide.start import decided
from tests.standin.engine.sglang.recorded import Answer, Run, Server

RUNS: Mapping[str, Any] = json.loads((Path(__file__).parent / "recorded" / "runs.json").read_text())
CARD = "24564MiB:sm89"
CLOCK = "2026-11-30 10:00:00"
MODULE = "sglang.launch_server"

_STAMP = re.compile(r"^\[[-\d]+ [:\d]+")
_ERROR = re.compile(r"^[\w.]*(?:Error|Exception)\b.*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Log:
    """What sgdoctor reads in a log."""

    data: bytes

    @property
    def rules(self) -> list[str]:
        """Ids of the diagnoses, the root first."""
        verdict = diagnose_bytes(self.data, "log", _rules())[-1]
        return [diagnosis.rule.id for diagnosis in verdict.diagnoses]

    @property
    def facts(self) -> Mapping[str, Any]:
        facts = SGLANG.read(list(fold(read_lines(self.data), SGLANG.is_data))).facts
        return {name: fact.value for name, fact in facts.items()}

    @property
    def errors(self) -> list[str]:
        """The lines that name an exception."""
        return _ERROR.findall(self.data.decode())

    @property
    def lines(self) -> list[str]:
        """Its lines without their times."""
        return [_STAMP.sub("[", line) for line in self.data.decode().splitlines()]


@dataclass(frozen=True, slots=True)
class Decided:
    """A start of the stand-in, and what answers."""

    run: Run
    server: Server

    @property
    def log(self) -> Log:
        """What it prints until it is stopped."""
        return Log(self.run.log.partition(b"SIGTERM received")[0].rpartition(b"\n")[0] + b"\n")

    @property
    def end(self) -> tuple[str, int]:
        return self.run.ending, self.run.exit_code

    def get(self, path: str, key: str | None = None) -> Answer:
        return self.server.respond("GET", path, b"", key)

    def post(self, path: str, **request: Any) -> Answer:
        return self.server.respond("POST", path, json.dumps(request).encode(), None)

    def chat(self, text: str = "Say hello.", **request: Any) -> Answer:
        return self.post("/v1/chat/completions", messages=[{"role": "user", "content": text}], **request)


def start(command: str, **told: str) -> Decided:
    """Decide on a command (its arguments alone); `told` are variables of the environment."""
    return _decide(shlex.split(command), told, recommends=True)


def _decide(words: list[str], told: Mapping[str, str], *, recommends: bool) -> Decided:
    return Decided(*decided(words, {"STANDIN_CLOCK": CLOCK, **told}, 0, recommends=recommends))


def again(name: str, folder: Path, model: str, **told: str) -> Decided:
    """Decide on the flags of a recorded run.

    Args:
        name: of the run.
        folder: empty; the model is put into it, and stands in the place of the recorded path.
        model: key of `fixtures/memory/vectors.yaml`.
        told: variables of the environment beyond card and weights, which are those of the recorded log.
    """
    facts = recorded(name).facts
    command = RUNS[name]["command"]
    words = shlex.split(command)
    words = words[words.index(MODULE if MODULE in words else "serve") + 1 :]
    put_model(folder, model)
    if "--model-path" in words:
        words[words.index("--model-path") + 1] = str(folder)
    free = facts.get("mem_before_weights_gib")
    world = {
        "STANDIN_CARD": CARD if free is None else f"{CARD}:{free}GiB",
        "STANDIN_WEIGHTS_GIB": str(facts.get("weights_gib", 1)),
    }
    return _decide(words, {**world, **told}, recommends=MODULE in command)


def put_model(folder: Path, model: str, **changes: Any) -> None:
    """Write the `config.json` of a model of `fixtures/memory/vectors.yaml`; `changes` are those of the text model."""
    config = dict(vectors()["models"][model])
    text = dict(config.get("text_config", config))
    config["model_type"] = str(text["model_type"]).removesuffix("_text")
    if "text_config" in config:
        config["text_config"] = text | changes
    else:
        config |= changes
    (folder / "config.json").write_text(json.dumps(config))


@cache
def recorded(name: str) -> Log:
    """A recorded log."""
    return Log((LOGS / "real" / f"{name}.log").read_bytes())


@cache
def _rules() -> RuleBase:
    return load_rule_base(user_dirs=[])
