"""Which secrets of a verdict its reports hide."""

from sgdoctor.diagnosis.model import Verdict
from sgdoctor.redaction import HIDDEN, Redactor, is_secret_field, redact, redactor_of

__all__ = ["HIDDEN", "Redactor", "is_secret_field", "redact", "redactor_for"]


def redactor_for(verdict: Verdict, *, redact: bool) -> Redactor:
    """Hides the secrets of this log in what comes from it. Texts of rules were filled with their values hidden."""
    return redactor_of({name: fact.value for name, fact in verdict.facts.items()}, redact=redact)
