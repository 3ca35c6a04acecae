"""The texts of a draft that its author has not replaced yet."""

from collections.abc import Iterator
from typing import Any, Final

import yaml

from sgdoctor.rules.loading import RuleSource
from sgdoctor.rules.yaml_files import Problem
from sgdoctor.texts import Text

_MARKS: Final = ("REPLACE:", "替换：")
"""How the texts begin that ``sgdoctor rules new`` writes for the author to replace."""


def unfinished(source: RuleSource) -> list[Problem]:
    """A mistake for each text of a draft that is still to be replaced."""
    return [
        Problem(
            source.file,
            node.start_mark.line + 1,
            Text("this text of the draft is still to be replaced", "草稿中的这段文本尚未替换"),
        )
        for node in _scalars(source.node)
        if node.value.startswith(_MARKS)
    ]


def left_out(source: RuleSource) -> Problem | None:
    """Why a rule is not in force yet: its title is that of the draft in both languages. None where it is in force."""
    if not all(text.startswith(_MARKS) for text in source.model.title.model_dump().values()):
        return None
    return Problem(
        source.file,
        source.line(("title",)),
        Text(
            f"a draft whose title is still to be written; more: sgdoctor rules check {source.file}",
            f"这是草稿，标题尚未写好；详见 sgdoctor rules check {source.file}",
        ),
    )


def _scalars(node: Any) -> Iterator[Any]:
    if isinstance(node, yaml.ScalarNode):
        yield node
    elif isinstance(node, yaml.SequenceNode):
        for entry in node.value:
            yield from _scalars(entry)
    else:
        for _, value in node.value:
            yield from _scalars(value)
