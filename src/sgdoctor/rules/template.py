"""Texts and values of rules: ``{name}``, ``{name:.2f}`` and ``[[parts that need their names]]``.

Not ``str.format``: that walks attributes and indices, and what is filled in comes from a log.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from sgdoctor.patterns import lazy_pattern
from sgdoctor.rules.spoken_names import spoken_name

Guard = Callable[[str, str], str]
"""Gives an inserted value as it may be shown; called with the value and the text in front of it."""

MAX_VALUE: Final = 200
"""Characters of one inserted value."""

_TOKEN: Final = lazy_pattern(r"\{\{|\}\}|\[\[|\]\]|\{(?P<name>[A-Za-z_][A-Za-z0-9_.]*)(?::(?P<spec>[^{}]*))?\}")
_OPTIONAL: Final = lazy_pattern(r"(?:\[\[(?:(?!\]\]).)*\{(?:(?!\]\]).)*\]\])+(?P<blank> ?)")
_SPEC: Final = lazy_pattern(r"[<>^]?[+]?\d{0,2}[,]?(\.\d)?[dfg%]?")

# C0 and C1 controls, and the invisible characters that turn or join the text around them (bidirectional overrides,
# zero-width ones, line separators): in a terminal they can make a text say something else than it does.
_UNSAFE: Final = lazy_pattern("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]+")


def safe(text: str) -> str:
    """A text from a log, on one line, without control characters, cut at ``MAX_VALUE`` characters."""
    if len(text) > 8 * MAX_VALUE:
        text = text[: 8 * MAX_VALUE]
    text = _UNSAFE.sub(" ", text).strip()
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 1] + "…"


def fill(text: str, names: Mapping[str, Any], guard: Guard | None = None) -> str:
    """A text with its names filled in.

    Args:
        text: with ``{name}``, ``[[ ... ]]``, and ``{{`` and ``}}`` for braces.
        names: values by name, dots included; a name that is not there, or is None, is unknown.
        guard: hides what must not be shown of a value.

    Returns:
        The text; a part between ``[[`` and ``]]`` is left out when one of its names is unknown, with one of the blanks
        on both of its sides; an unknown name elsewhere becomes ``?``.
    """
    return "".join(_filled(text, names, guard, optional=False)[0])


def fill_value(text: str, names: Mapping[str, Any], guard: Guard | None = None) -> str | None:
    """The value of a change with its names filled in; None where one of them is unknown."""
    parts, known = _filled(text, names, guard, optional=False)
    return "".join(parts) if known else None


def generic(text: str, around: str = "<>") -> str:
    """A text as it reads without a log: ``<name>`` for what would be filled in, optional parts included.

    Args:
        text: of a rule.
        around: the two characters around a name; not ``<>`` where those would be read as HTML.
    """
    return _TOKEN.sub(
        lambda token: (
            f"{around[0]}{token['name']}{around[1]}" if token["name"] else {"{{": "{", "}}": "}"}.get(token[0], "")
        ),
        text,
    )


def spoken(text: str, lang: str, around: str = "<>") -> str:
    """A text as it reads without a log, in words: ``<new name of the flag>`` for ``{args_error.renamed_to}``.

    Args:
        text: of a rule; its optional parts, which say nothing without a log, are left out.
        lang: ``en`` or ``zh``.
        around: as in ``generic``.
    """
    named = _OPTIONAL.sub(lambda left_out: "" if _after_blank(text[: left_out.start()]) else left_out["blank"], text)
    return _TOKEN.sub(
        lambda token: (
            f"{around[0]}{spoken_name(token['name'], lang)}{around[1]}"
            if token["name"]
            else {"{{": "{", "}}": "}"}.get(token[0], "")
        ),
        named,
    )


def placeholders(text: str) -> list[tuple[str, str, bool]]:
    """The names in a text in order: name, format (may be empty), and whether it stands between ``[[`` and ``]]``."""
    found = []
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += {"[[": 1, "]]": -1}.get(token[0], 0)
        if token["name"]:
            found.append((token["name"], token["spec"] or "", depth > 0))
    return found


def mistakes(text: str) -> list[str]:
    """What is wrong with a text, apart from its names: brackets without a partner, formats that are not known."""
    wrong = []
    depth = 0
    for token in _TOKEN.finditer(text):
        if token[0] == "[[":
            depth += 1
        elif token[0] == "]]":
            depth -= 1
        if depth not in (0, 1):
            wrong.append(f"{token[0]} without its partner, or nested")
            depth = max(0, min(depth, 1))
        if token["spec"] and not _SPEC.fullmatch(token["spec"]):
            wrong.append(f"unknown format {token['spec']!r}; known are such as .2f, .0f, d, ,d and .0%")
    if depth:
        wrong.append("[[ without ]]")
    return wrong


def _filled(text: str, names: Mapping[str, Any], guard: Guard | None, *, optional: bool) -> tuple[list[str], bool]:
    """Pieces of the filled text, and whether every name outside of ``[[ ]]`` was known."""
    parts: list[str] = []
    known = True
    position = 0
    while token := _TOKEN.search(text, position):
        parts.append(text[position : token.start()])
        position = token.end()
        if token[0] in ("{{", "}}"):
            parts.append(token[0][0])
        elif token["name"]:
            shown = _shown(names.get(token["name"]), token["spec"] or "")
            known = known and shown is not None
            if shown is not None and guard is not None:
                shown = guard(shown, "".join(parts))
            parts.append("?" if shown is None else shown)
        elif token[0] == "[[" and not optional and (end := text.find("]]", position)) >= 0:
            inner, inner_known = _filled(text[position:end], names, guard, optional=True)
            parts += inner if inner_known else ()
            position = end + 2
            if not inner_known and text.startswith(" ", position) and _after_blank("".join(parts)):
                position += 1
        else:
            parts.append(token[0])
    parts.append(text[position:])
    return parts, known


def _after_blank(text: str) -> bool:
    return not text or text.endswith(" ")


def _shown(value: Any, spec: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and spec and _SPEC.fullmatch(spec):
        try:
            return format(value, spec)
        except (ValueError, OverflowError):
            pass  # `d` for a float: shown as it is
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple | list | frozenset):
        return safe(", ".join(str(element) for element in value))
    return safe(str(value))
