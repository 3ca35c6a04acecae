"""A rule in YAML and small events, for the tests of this folder."""

from pathlib import Path
from typing import Any

from sgdoctor.engines.base import Fact, Phase, PhaseName, Reading
from sgdoctor.logs.event import Event, EventKind, Frame, Raised
from sgdoctor.logs.line import Line
from sgdoctor.rules.base import RuleBase, assemble
from sgdoctor.rules.loading import load_file

RULE = """\
id: SGL401
name: state-cache-empty
engine: [sglang]
severity: fatal
match:
  event: any
  literals: ["Not enough GPU memory for hybrid"]
  message: 'max_mamba_cache_size=(?P<slots>-?\\d+)'
captures: {slots: int}
title: {en: "Too little for {slots} slots", zh: "显存不足以容纳 {slots} 个槽"}
cause: {en: "The weights leave too little.", zh: "权重占用过多。"}
fixes:
  - id: raise-fraction
    when: fraction < 0.95
    summary: {en: "Raise it.", zh: "调高。"}
    changes:
      - flag.raise: {name: --mem-fraction-static}
    safety: safe
    effect: {en: "Less stays free.", zh: "剩余减少。"}
references: [https://github.com/sgl-project/sglang/issues/31719]
tests:
  hit:
    - text: |
        RuntimeError: Not enough GPU memory for hybrid state cache. max_mamba_cache_size=-2
      captures: {slots: -2}
  near_miss:
    - text: |
        Mamba Cache is allocated. max_mamba_cache_size: 7
"""


def written(folder: Path, text: str = RULE, name: str = "state-cache-empty.yaml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def plain(folder: Path, text: str = RULE) -> dict[str, Any]:
    source, problems = load_file(written(folder, text))
    assert source is not None, problems
    return dict(source.plain)


def base_of(*matches: dict[str, Any], **fields: Any) -> RuleBase:
    """A base with one rule for each match, ``SGL401`` and on."""
    return assemble(
        [
            {
                "id": f"SGL{401 + number}",
                "name": f"rule-{number}",
                "severity": "fatal",
                "match": [match],
                "title": {"en": "t"},
                "cause": {"en": "c"},
                **fields,
            }
            for number, match in enumerate(matches)
        ]
    )


def line(text: str, number: int = 1, rank: str = "") -> Event:
    where = Line(number, 0, text, rank=rank)
    return Event(EventKind.LINE, text, where, number, number)


def of_kind(kind: EventKind, text: str, number: int = 1) -> Event:
    return Event(kind, text, Line(number, 0, text), number, number)


def traceback(*raised: tuple[str, str], header: str = "", frames: tuple[Frame, ...] = (), number: int = 1) -> Event:
    chain = tuple(Raised(type_, message, frames, Line(number, 0, message)) for type_, message in raised)
    text = " ".join(one.text for one in chain)
    return Event(EventKind.TRACEBACK, text, chain[0].line, number, number + 5, chain, header)


def reading(ready_line: int | None = None, phases: tuple[tuple[str, int], ...] = (), **facts: Any) -> Reading:
    """A reading; ``args__tp_size=2`` is the fact ``args.tp_size``."""
    return Reading(
        phases=tuple(Phase(PhaseName(name), start, start) for name, start in phases),
        facts={
            name.replace("__", "."): Fact(name.replace("__", "."), value, number)
            for number, (name, value) in enumerate(facts.items(), 1)
        },
        ready_line=ready_line,
        shutdown_line=None,
    )
