"""A plan as one JSON object; its schema is ``fix.schema.json``."""

from typing import Any, Final

from sgdoctor.engines.sglang.memory.prediction import Prediction
from sgdoctor.fixes.model import Answer, Left, Plan, Step
from sgdoctor.launch.change import Change
from sgdoctor.launch.flag_edits import given_flags
from sgdoctor.launch.model import Arity, FlagTable, Gpus, Launch, Problem
from sgdoctor.redaction import HIDDEN, Redactor, hidden_value, is_secret_field, unredacted
from sgdoctor.report.plan_redact import hidden_words, plan_redactor
from sgdoctor.report.wording import change_text
from sgdoctor.texts import Text

SCHEMA: Final = 1


def as_plan_data(answer: Answer, lang: str, *, redact: bool = True, written: tuple[str, ...] = ()) -> dict[str, Any]:
    """A plan as plain data.

    Args:
        answer: what is to be shown.
        lang: ``en`` or ``zh``.
        redact: whether secrets are hidden.
        written: names of the files that were written.
    """
    return _Writer(answer, lang, plan_redactor(answer, redact=redact), written).data()


class _Writer:
    def __init__(self, answer: Answer, lang: str, hide: Redactor, written: tuple[str, ...]) -> None:
        self._answer = answer
        self._lang = lang
        self._hide = hide
        self._written = written

    def data(self) -> dict[str, Any]:
        answer = self._answer
        document = answer.document
        verdict = answer.verdict
        return {
            "schema": SCHEMA,
            "target": self._hide(answer.target),
            "origin": document.launch.origin.value,
            "log": self._hide(answer.log) if answer.log else None,
            "engine": {"name": document.launch.engine, "version": answer.version},
            "verdict": {"state": verdict.state.value, "summary": self._text(verdict.summary)} if verdict else None,
            "diagnoses": [
                {
                    "rule": diagnosis.rule.id,
                    "name": diagnosis.rule.name,
                    "severity": diagnosis.severity.value,
                    "confidence": diagnosis.confidence.value,
                    "title": self._text(diagnosis.title),
                    "cause": self._text(diagnosis.cause),
                    "line": diagnosis.evidence[0].line if diagnosis.evidence else None,
                }
                for diagnosis in (verdict.diagnoses if verdict else ())
            ],
            "launch": self._launch(document.launch, answer.flags),
            "editable": {
                "state": document.editable.state.value,
                "why": self._text(document.editable.why) if document.editable.why else None,
            },
            "problems": [self._problem(problem) for problem in answer.problems],
            "plan": self._plan(answer.plan),
            "note": self._text(answer.note) if answer.note else None,
            "unmeasured": self._text(answer.unmeasured) if answer.unmeasured else None,
            "written": list(self._written),
        }

    def _text(self, text: Text) -> str:
        return self._hide(text.in_language(self._lang))

    def _launch(self, launch: Launch, flags: FlagTable) -> dict[str, Any]:
        return {
            "engine": launch.engine,
            "argv": hidden_words(launch.argv, self._hide),
            "flags": self._flags(launch, flags),
            "image": launch.image,
            "name": launch.name,
            "gpus": _gpus(launch.gpus),
            "ports": [
                {"container": port.container, "host": port.host, "host_ip": port.host_ip, "protocol": port.protocol}
                for port in launch.ports
            ],
            "mounts": [
                {"target": mount.target, "source": mount.source, "kind": mount.kind, "read_only": mount.read_only}
                for mount in launch.mounts
            ],
            "shm_bytes": launch.shm_bytes,
            "ipc": launch.ipc,
            "network": launch.network,
            "restart": launch.restart,
            "env": {name: self._secret(name, value) for name, value in launch.env.items()},
        }

    def _flags(self, launch: Launch, flags: FlagTable) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for given in given_flags(launch.argv, launch.flags_at, flags):
            name = flags.canonical(given.flag)
            values = [self._secret(name, value) for value in given.values]
            if not values:
                found[name] = True
            else:
                found[name] = values if flags.arity(name) is Arity.MANY or len(values) > 1 else values[0]
        return found

    def _secret(self, name: str, value: str | None) -> str | None:
        if value is None:
            return None
        if value and is_secret_field(name) and self._hide is not unredacted:
            return HIDDEN
        return hidden_value(value, f"{name}=", self._hide)

    def _problem(self, problem: Problem) -> dict[str, Any]:
        return {
            "id": problem.id,
            "rule": problem.rule,
            "severity": problem.severity,
            "title": self._text(problem.title),
            "where": self._text(problem.where) if problem.where else None,
            "detail": self._text(problem.detail) if problem.detail else None,
            "changes": [self._change(change) for change in problem.changes],
        }

    def _plan(self, plan: Plan) -> dict[str, Any]:
        return {
            "changes": [
                self._change(change) | {"basis": step.basis.value, "step": step.id}
                for step in plan.steps
                for change in step.changes
            ],
            "steps": [self._step(step) for step in plan.steps],
            "argv": hidden_words(plan.after.argv, self._hide),
            "env": {name: self._secret(name, value) for name, value in plan.after.env.items()},
            "safety": plan.safety,
            "predicted_before": _predicted(plan.predicted_before),
            "predicted": _predicted(plan.predicted),
            "warnings": [self._text(warning) for warning in plan.warnings],
            "alternatives": [self._step(step) for step in plan.alternatives],
            "left": [self._left(left) for left in plan.left],
            "files": [
                {
                    "path": file.path,
                    "text": self._hide(file.content.decode("utf-8", "replace")),
                    "why": self._text(file.why),
                }
                for file in plan.files
            ],
            "diff": "\n".join(map(self._hide, plan.diff.split("\n"))),
            "refused": self._text(plan.refused) if plan.refused else None,
        }

    def _step(self, step: Step) -> dict[str, Any]:
        return {
            "id": step.id,
            "basis": step.basis.value,
            "rule": step.rule or None,
            "title": self._text(step.title) or "; ".join(self._typed(change) for change in step.changes),
            "why": self._text(step.why),
            "safety": step.safety,
            "effect": self._text(step.effect),
            "note": self._text(step.note),
            "changes": [self._change(change) for change in step.changes],
        }

    def _left(self, left: Left) -> dict[str, Any]:
        change = left.change
        return {
            "change": self._change(change) if change else None,
            "text": self._typed(change) if change else None,
            "why": self._text(left.why),
        }

    def _typed(self, change: Change) -> str:
        return self._hide(change_text(change._replace(value=self._secret(change.name, change.value)), self._lang))

    def _change(self, change: Change) -> dict[str, Any]:
        return {"kind": change.kind, "name": change.name, "value": self._secret(change.name, change.value)}


def _gpus(gpus: Gpus | None) -> dict[str, Any] | None:
    if gpus is None:
        return None
    return {
        "device_ids": list(gpus.device_ids),
        "count": gpus.count,
        "runtime": gpus.runtime,
        "driver": gpus.driver,
    }


def _predicted(prediction: Prediction | None) -> dict[str, Any] | None:
    if prediction is None:
        return None
    left, working = prediction.left_gib, prediction.activations_gib
    return {
        "fraction": prediction.fraction,
        "state_slots": prediction.slots,
        "state_slots_range": list(prediction.slots_bounds) if prediction.slots_bounds else None,
        "kv_tokens": prediction.kv_tokens,
        "kv_tokens_range": list(prediction.kv_tokens_bounds) if prediction.kv_tokens_bounds else None,
        "swa_tokens": prediction.swa_tokens,
        "max_running_requests": prediction.max_running_requests,
        "context": prediction.context,
        "longest_request": prediction.longest_request,
        "left_gib": round(left.expected, 2) if left else None,
        "left_gib_range": [round(left.low, 2), round(left.high, 2)] if left else None,
        "prompt_gib_range": [round(working.low, 2), round(working.high, 2)] if working else None,
        "fails": {"rule": prediction.failure.rule, "message": prediction.failure.message}
        if prediction.failure
        else None,
    }
