"""Environment files as Compose reads them (compose-go ``dotenv``): ``.env`` and those of ``env_file``."""

import re
from collections import ChainMap
from collections.abc import Mapping
from typing import Final

from sgdoctor.errors import UserError
from sgdoctor.launch.compose.interpolation import interpolate

_ENTRY: Final = re.compile(r"[ \t]*(?:export[ \t]+)?(?P<name>[^\s=:#'\"]+)[ \t]*(?P<sign>[=:])?[ \t]*")
_SINGLE: Final = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
_DOUBLE: Final = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_COMMENT: Final = re.compile(r"(?:^|\s)#.*")
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", "$": "$$"}


def read_dotenv(text: str, name: str, environment: Mapping[str, str]) -> dict[str, str | None]:
    """The variables of an environment file.

    Args:
        text: of the file.
        name: of the file, for errors.
        environment: in which its own ``$NAME`` are looked up before earlier lines of the file.

    Returns:
        Values by name; None for a name without a value, which is taken from ``environment``.

    Raises:
        UserError: a line is none of an environment file.
    """
    found: dict[str, str | None] = {}
    known: dict[str, str] = {}
    scope = ChainMap(dict(environment), known)
    at = 0
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        if not line.strip() or line.lstrip().startswith("#"):
            at = end + 1
            continue
        number = text.count("\n", 0, at) + 1
        entry = _ENTRY.match(text, at, end)
        if entry is None or (
            entry["sign"] is None and entry.end() < end and not text[entry.end() : end].startswith("#")
        ):
            raise UserError(
                f"{name}:{number}: expected NAME=value, found {line.strip()!r}",
                f"{name} 第 {number} 行：应为 NAME=value，实际是 {line.strip()!r}",
            )
        if entry["sign"] is None:
            found[entry["name"]] = None
            at = end + 1
            continue
        value, at = _value(text, entry.end(), f"{name}:{number}", scope)
        found[entry["name"]] = known[entry["name"]] = value
    return found


def _value(text: str, at: int, where: str, scope: Mapping[str, str]) -> tuple[str, int]:
    """The value that begins at ``at``, and where the next line begins."""
    quote = text[at : at + 1]
    if quote in ("'", '"'):
        quoted = (_SINGLE if quote == "'" else _DOUBLE).match(text, at)
        if quoted is None:
            raise UserError(f"{where}: the quote {quote} is not closed", f"{where}：引号 {quote} 没有结束")
        end = text.find("\n", quoted.end())
        inner = quoted[1]
        if quote == '"':
            unescaped = _ESCAPE.sub(lambda one: _ESCAPED.get(one[1], one[1]), inner)
            inner = interpolate(unescaped, scope, where).layer.text
        return inner, len(text) if end < 0 else end + 1
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    plain = _COMMENT.sub("", text[at:end]).strip()
    return interpolate(plain, scope, where).layer.text, end + 1
