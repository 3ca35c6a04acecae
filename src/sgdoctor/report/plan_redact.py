"""Which secrets of a plan its reports hide: those of the log, of the command and of the environment."""

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import Final

from sgdoctor.fixes.model import Answer
from sgdoctor.launch.model import Launch
from sgdoctor.redaction import HIDDEN, Redactor, is_secret_field, redactor, secrets_in, unredacted

# A shorter text is hidden only where its name stands beside it: it would be found inside of other words.
_SHORTEST: Final = 4


def plan_redactor(answer: Answer, *, redact: bool) -> Redactor:
    """Hides the secrets of a target in whatever comes from it.

    Args:
        answer: what is going to be shown.
        redact: whether anything is hidden at all.
    """
    if not redact:
        return unredacted
    facts = answer.verdict.facts if answer.verdict is not None else {}
    of_log = secrets_in({name: fact.value for name, fact in facts.items()})
    of_launch = chain(_secrets_of(answer.plan.before), _secrets_of(answer.plan.after))
    of_changes = (
        change.value
        for step in (*answer.plan.steps, *answer.plan.alternatives)
        for change in step.changes
        if change.value and is_secret_field(change.name)
    )
    return redactor({*of_log, *(text for text in chain(of_launch, of_changes) if len(text) >= _SHORTEST)})


def hidden_words(words: Sequence[str], hide: Redactor) -> list[str]:
    """The words of a command without their secrets."""
    if hide is unredacted:
        return list(words)
    before = chain(("",), words)
    return [HIDDEN if _names_secret(name) else hide(word) for name, word in zip(before, words, strict=False)]


def _secrets_of(launch: Launch) -> Iterable[str]:
    yield from (value for name, value in launch.env.items() if value and is_secret_field(name))
    for words in (launch.argv, launch.command):
        yield from (value for name, value in pairwise(words) if _names_secret(name))
        for word in words:
            name, equals, value = word.partition("=")
            if equals and value and is_secret_field(name):
                yield value


def _names_secret(word: str) -> bool:
    """Whether the word behind this one is a secret."""
    return word.startswith("-") and "=" not in word and is_secret_field(word)
