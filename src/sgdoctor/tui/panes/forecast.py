"""What the plan against a failure comes to, in a line of its card."""

from textual.content import Content

from sgdoctor.diagnosis.model import Diagnosis
from sgdoctor.tui.cure_words import say_count, say_cure
from sgdoctor.tui.drawing import ODD, prose, styled, wrap
from sgdoctor.tui.view import View


def forecast_lines(diagnosis: Diagnosis, view: View, width: int) -> list[Content]:
    """What the plan against a failure comes to on this card; nothing until that is known."""
    forecast, lang = view.forecast, view.lang
    if forecast is None or forecast.rule != diagnosis.rule.id:
        return []
    head = Content.assemble("  ", (say_cure(lang, "forecast", key=view.key("fix")), "bold"), "  ")
    if forecast.impossible is not None:
        text = say_cure(lang, "forecast.impossible", why=forecast.impossible.in_language(lang))
        return wrap(prose(text, ODD), width, first=head, indent=4)
    if not forecast.changes:
        return []
    parts = [say_count(lang, "forecast.changes", forecast.changes)]
    interval, predicted = forecast.interval, forecast.predicted
    if interval is not None and not interval.empty:
        works = say_cure(lang, "forecast.interval", low=interval.low, high=interval.high)
        if predicted is not None and not predicted.fraction_is_default:
            works = say_cure(lang, "forecast.recommended", interval=works, best=predicted.fraction)
        parts.append(works)
    if predicted is not None and predicted.kv_tokens:
        parts.append(say_cure(lang, "forecast.tokens", tokens=f"{predicted.kv_tokens:,}"))
    if predicted is not None and predicted.max_running_requests:
        parts.append(say_count(lang, "forecast.requests", predicted.max_running_requests))
    return wrap(styled(" · ".join(parts)), width, first=head, indent=4)
