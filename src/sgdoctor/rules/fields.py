"""The kinds of single values in a rule file, each checked as it becomes data (pydantic)."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, StringConstraints, WithJsonSchema
from pydantic_core import PydanticCustomError

from sgdoctor.rules.conditions import ConditionError, names_in
from sgdoctor.rules.template import mistakes

_SHOWN: Final = 120
"""Characters of a condition that a message quotes."""


def wrong_value(kind: str, en: str, zh: str) -> PydanticCustomError:
    """An error in both languages (``loading`` takes the texts out of the context)."""
    return PydanticCustomError(kind, "{en}", {"en": en, "zh": zh})  # type: ignore[arg-type, unused-ignore]


def _condition(text: Any) -> Any:
    if isinstance(text, str) and text:
        try:
            names_in(text)
        except ConditionError as error:
            shown = repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}..."
            raise wrong_value(
                "condition",
                f"the condition {shown} cannot be read: {error}",
                f"条件 {shown} 无法解析：{error}",
            ) from error
    return text


def _pattern(text: Any) -> Any:
    if isinstance(text, str) and text:
        import regex  # noqa: PLC0415

        try:
            regex.compile(text)
        except regex.error as error:
            raise wrong_value(
                "pattern",
                f"the pattern {text!r} does not compile: {error}",
                f"正则表达式 {text!r} 无法编译：{error}",
            ) from error
    return text


def _version_set(text: Any) -> Any:
    if isinstance(text, str):
        from packaging.specifiers import InvalidSpecifier, SpecifierSet  # noqa: PLC0415

        try:
            SpecifierSet(text)
        except InvalidSpecifier as error:
            raise wrong_value(
                "version_set",
                f"{text!r} is not a version set; write one such as '>=0.5.13,<0.5.16'",
                f"{text!r} 不是版本范围；应写成 '>=0.5.13,<0.5.16' 这样的形式",
            ) from error
    return text


def _version(text: Any) -> Any:
    if isinstance(text, str) and text != "{architecture_since}":
        from packaging.version import InvalidVersion, Version  # noqa: PLC0415

        try:
            Version(text)
        except InvalidVersion as error:
            raise wrong_value(
                "version",
                f"{text!r} is not the number of a release, such as 0.5.20",
                f"{text!r} 不是版本号；应写成 0.5.20 这样的形式",
            ) from error
    return text


def text_template(text: Any) -> Any:
    """The placeholders of a text are such as ``template`` can fill in."""
    if isinstance(text, str) and (wrong := mistakes(text)):
        raise wrong_value("template", f"{wrong[0]} in {_short(text)!r}", f"{_short(text)!r} 中有误：{wrong[0]}")
    return text


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def one_as_list(value: Any) -> Any:
    """A single value stands for a list of one."""
    return [value] if isinstance(value, str | Mapping) else value


def none_or_more(value: Any) -> Any:
    """As ``one_as_list``, and nothing stands for an empty list."""
    return [] if value is None else one_as_list(value)


Condition = Annotated[str, BeforeValidator(_condition)]
Regex = Annotated[str, BeforeValidator(_pattern)]
VersionSet = Annotated[str, BeforeValidator(_version_set)]
Version = Annotated[str, WithJsonSchema({"type": ["string", "number"]}), BeforeValidator(_version)]
Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), BeforeValidator(text_template)]
RuleId = Annotated[str, StringConstraints(pattern=r"^SGL[0-9]{3}$")]
Kebab = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
Scalar = Annotated[str, WithJsonSchema({"type": ["string", "number", "boolean"]})]
"""Text as it stands in the file: a number such as 0.90 keeps its digits."""
