"""Launches, flags and verdicts for tests of plans."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from sgdoctor.diagnosis.model import Verdict
from sgdoctor.diagnosis.pipeline import diagnose_bytes
from sgdoctor.engines.sglang.flags.model import Schema
from sgdoctor.engines.sglang.flags.schemas import schema
from sgdoctor.launch.change import Change
from sgdoctor.launch.flag_edits import flag_edits, with_edits
from sgdoctor.launch.model import Editable, Edited, EditState, FlagTable, Launch, Origin, Problem
from sgdoctor.rules.base import load_rule_base
from sgdoctor.texts import Text

LOGS = Path(__file__).parents[2] / "fixtures" / "logs" / "real"
ENGINE = ("python3", "-m", "sglang.launch_server")
EDITABLE = Editable(EditState.YES)
NOT_HERE = Text("not in a bare command", "单独的命令里没有")


@dataclass(frozen=True)
class Words:
    """A bare command, one word a line: the simplest form that a launch can have."""

    launch: Launch
    editable: Editable = EDITABLE
    problems: tuple[Problem, ...] = ()
    name: str = "command"

    @property
    def text(self) -> str:
        return "".join(f"{shlex.quote(word)}\n" for word in self.launch.argv)

    def edited(self, changes: Sequence[Change], flags: FlagTable) -> Edited:
        words = self.launch.argv
        argv = tuple(with_edits(words, flag_edits(words, self.launch.flags_at, changes, flags)))
        left = tuple((change, NOT_HERE) for change in changes if not change.kind.startswith("flag."))
        new = replace(self, launch=replace(self.launch, argv=argv, command=argv))
        return Edited(new.text, new.launch, left)


def words(flags: str, **options: object) -> Words:
    """The document of an engine with these flags."""
    argv = (*ENGINE, *shlex.split(flags))
    return Words(Launch(Origin.COMMAND, argv, len(ENGINE), argv), **options)  # type: ignore[arg-type]


@cache
def flags_of(version: str = "0.5.15") -> Schema:
    return schema(version)


def verdict_of(log: str) -> Verdict:
    """The verdict on a real log of the fixtures."""
    return verdict_on((LOGS / f"{log}.log").read_bytes())


def verdict_on(text: bytes) -> Verdict:
    return diagnose_bytes(text, "x", load_rule_base(user_dirs=()), redact=False)[-1]
