"""A verdict as Markdown, fit for an issue: what a maintainer needs, nothing that is secret."""

import re
from collections.abc import Sequence
from typing import Any, Final

from sgdoctor import __version__
from sgdoctor.diagnosis.model import Diagnosis, Evidence, Fix, State, Unknown, Verdict
from sgdoctor.diagnosis.wording import phase_label, state_label
from sgdoctor.messages import say
from sgdoctor.patterns import lazy_pattern
from sgdoctor.report.redact import Redactor, redactor_for
from sgdoctor.report.safe import printable
from sgdoctor.report.wording import change_text, consequences_text, cost_of, heading_parts
from sgdoctor.texts import Text

# What changes the meaning of prose in Markdown; log text stands in code blocks instead.
_SPECIAL: Final = lazy_pattern(r"([\\*_{}\[\]<>#|~])")
# Facts that a reader of an issue asks for first.
_FACTS: Final = (
    "model_path", "architecture", "quantisation", "args.quantization", "args.dtype", "args.tp_size",
    "args.mem_fraction_static", "args.context_length", "args.kv_cache_dtype", "args.attention_backend",
    "mem_before_weights_gib", "weights_gib", "state_gib", "kv_gib", "kv_tokens", "graph_gib", "context_len",
    "max_total_num_tokens", "max_running_requests", "gpu_total_gib", "exit_code",
)  # fmt: skip


def as_markdown(verdict: Verdict, name: str, lang: str, *, redact: bool = True) -> str:
    """The verdict as one Markdown document.

    Args:
        verdict: of one attempt.
        name: of the log.
        lang: ``en`` or ``zh``.
        redact: whether secrets are left out.
    """
    return _Page(lang, redactor_for(verdict, redact=redact), redact=redact).page(verdict, name)


class _Page:
    def __init__(self, lang: str, hide: Redactor, *, redact: bool) -> None:
        self._lang = lang
        self._hide = hide
        self._redact = redact
        self._lines: list[str] = []

    def page(self, verdict: Verdict, name: str) -> str:
        state = state_label(verdict.state).in_language(self._lang)
        self._add(f"## sgdoctor: {state}", self._text(verdict.summary))
        parts = heading_parts(verdict, self._hide(printable(name)), self._lang)
        self._add(" · ".join(escaped(part) for part in parts))
        for diagnosis in verdict.diagnoses:
            self._diagnosis(diagnosis)
        if verdict.unexplained is not None:
            undetermined = verdict.state is State.UNDETERMINED
            key = "report.unexplained" if undetermined else "report.unexplained_exception"
            self._add(f"### {say(self._lang, key)}")
            self._quote(verdict.unexplained)
        if verdict.unknown is not None:
            self._unknown(verdict.unknown)
        self._phases(verdict)
        self._facts(verdict)
        footer = "report.footer" if self._redact else "report.footer_plain"
        self._add(f"<sub>{say(self._lang, footer, version=__version__)}</sub>")
        return "\n".join(self._lines).rstrip() + "\n"

    def _unknown(self, unknown: Unknown) -> None:
        if unknown.phase is not None:
            phase = phase_label(unknown.phase).in_language(self._lang)
            self._add(say(self._lang, "report.unknown_phase", phase=phase))
        if unknown.unusual:
            self._add(f"**{say(self._lang, 'report.unusual')}**")
            texts = [f"{each.line}  {self._hide(printable(each.text))}" for each in unknown.unusual]
            fence = fence_for(texts)
            self._add("\n".join([f"{fence}text", *texts, fence]))
        if unknown.resembling:
            self._add(f"**{say(self._lang, 'report.resembling')}**")
            self._add("\n".join(f"- `{each.rule}` {self._text(each.title)}" for each in unknown.resembling))

    def _diagnosis(self, diagnosis: Diagnosis) -> None:
        self._add(f"### {self._text(diagnosis.title)}")
        details = [
            f"`{diagnosis.rule.id}` {diagnosis.rule.name}",
            say(self._lang, f"severity.{diagnosis.severity.value}"),
            say(self._lang, f"confidence.{diagnosis.confidence.value}"),
            *(escaped(printable(rank)) for rank in diagnosis.ranks),
        ]
        self._add(" · ".join(details), self._text(diagnosis.cause))
        for evidence in diagnosis.evidence:
            self._quote(evidence)
        if diagnosis.fixes:
            self._add(f"**{say(self._lang, 'report.fixes')}**")
            self._lines += [line for number, fix in enumerate(diagnosis.fixes, 1) for line in self._fix(number, fix)]
            self._lines.append("")
        if diagnosis.upgrade is not None:
            self._add(f"**{self._text(diagnosis.upgrade)}**")
        if consequences := consequences_text(diagnosis.consequences, self._lang):
            self._add(escaped(consequences))
        if diagnosis.rule.references:
            self._add(" ".join(f"<{reference}>" for reference in diagnosis.rule.references))

    def _fix(self, number: int, fix: Fix) -> list[str]:
        lines = [f"{number}. {self._text(fix.summary)} ({say(self._lang, f'safety.{fix.safety}')})"]
        lines += [f"   - {_code(printable(change_text(change, self._lang)))}" for change in fix.changes]
        if cost_of(fix.effect, self._lang):
            effect = self._text(fix.effect)
            lines.append(f"   - {say(self._lang, 'report.cost', text=effect)}")
        return lines

    def _quote(self, evidence: Evidence) -> None:
        rows = (*evidence.before, (evidence.line, evidence.text), *evidence.after)
        width = len(str(rows[-1][0]))
        texts = [
            f"{'>' if number == evidence.line else ' '} {number:>{width}}  {self._hide(printable(text))}"
            for number, text in rows
        ]
        fence = fence_for(texts)
        self._add("\n".join([f"{fence}text", *texts, fence]))

    def _phases(self, verdict: Verdict) -> None:
        if not verdict.phases:
            return
        header = [say(self._lang, key) for key in ("report.phase", "report.seconds", "report.memory")]
        rows = [
            [
                phase_label(phase.name).in_language(self._lang),
                "" if phase.seconds is None else f"{phase.seconds:.1f}",
                "" if phase.memory_gib is None else f"{phase.memory_gib:.2f}",
            ]
            for phase in verdict.phases
        ]
        self._table(say(self._lang, "report.phases_title"), header, rows)

    def _facts(self, verdict: Verdict) -> None:
        known = [(name, verdict.facts[name].value) for name in _FACTS if name in verdict.facts]
        rows = [[_code(name), _code(self._hide(_plain(value)))] for name, value in known if value is not None]
        if rows:
            self._table(say(self._lang, "report.facts_title"), ["", ""], rows)

    def _table(self, title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        table = [header, ["---"] * len(header), *rows]
        body = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table)
        self._add(f"<details><summary>{title}</summary>", body, "</details>")

    def _text(self, text: Text) -> str:
        return prose(text.in_language(self._lang))

    def _add(self, *blocks: str) -> None:
        for block in blocks:
            if block:
                self._lines += [block, ""]


def prose(text: str) -> str:
    """A text of a rule as Markdown: what stands between backticks is code, the rest prose."""
    parts = printable(text).split("`")
    if len(parts) % 2 == 0:
        return escaped("`".join(parts).replace("`", "'"))
    return "".join(_code(part) if index % 2 else escaped(part) for index, part in enumerate(parts))


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _SPECIAL.sub(r"\\\1", text).replace("@", "@\u200b")


def _code(text: str) -> str:
    """Inline code, whatever backticks it holds."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    ticks = "`" * (longest + 1)
    return f"{ticks} {text} {ticks}" if longest else f"`{text}`"


def fence_for(texts: Sequence[str]) -> str:
    """The fence of a code block that holds these lines."""
    longest = max((len(run) for text in texts for run in re.findall("`{3,}", text)), default=2)
    return "`" * (longest + 1)


def _plain(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else printable(str(value))
