"""Everything that rules say is there in both languages, and neither is a copy of the other."""

import re
from collections.abc import Iterator

import pytest

from sgdoctor.rules.base import load_rule_base
from sgdoctor.rules.model import Rule
from sgdoctor.texts import Text

_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][\w.]*)(?::[^{}]*)?\}")
RULES = list(load_rule_base(user_dirs=()).all())


def texts_of(rule: Rule) -> Iterator[tuple[str, Text]]:
    """Every text of a rule, with its place."""
    yield "title", rule.title
    yield "cause", rule.cause
    if rule.not_this:
        yield "not_this", rule.not_this
    for fix in rule.fixes:
        yield f"fixes.{fix.id}.summary", fix.summary
        if fix.effect.en or fix.effect.zh:
            yield f"fixes.{fix.id}.effect", fix.effect


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_both_languages_are_complete(rule: Rule) -> None:
    missing = [place for place, text in texts_of(rule) if not text.en.strip() or not text.zh.strip()]
    copies = [place for place, text in texts_of(rule) if text.en == text.zh or not _CHINESE.search(text.zh)]
    chinese = [place for place, text in texts_of(rule) if _CHINESE.search(text.en)]

    assert (missing, copies, chinese) == ([], [], [])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_both_languages_give_the_same_numbers(rule: Rule) -> None:
    unlike = [
        place
        for place, text in texts_of(rule)
        if set(_PLACEHOLDER.findall(text.en)) != set(_PLACEHOLDER.findall(text.zh))
    ]

    assert unlike == []
