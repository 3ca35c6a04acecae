"""Secrets in what is shown: tokens, API keys, passwords, credentials in URLs.

Logs of servers hold them (``server_args=`` prints ``api_key=``, access lines hold headers), and people paste reports
into public issues.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from sgdoctor.patterns import lazy_pattern

HIDDEN: Final = "***"

_KEY_NAME: Final = (
    r"(?:api[_-]?key|apikey|secret(?:[_-]?\w{0,20}key)?|access[_-]?key(?:[_-]?id)?|private[_-]?key|password|passwd|pwd"
    # "#token: 4711", "eos_token=" and "token usage" are everyday words of an engine's log, so a token counts as a
    # secret only by the name in front of it.
    r"|(?:hf|hub|hugging[_-]?face\w{0,10}|auth|access|refresh|bearer|session|github|gh|gitlab|wandb|modelscope|openai"
    r"|security|ci|bot|api)[_-]?token)"
)
# A list of keys goes as a whole; of ``SecretStr('...')`` the part between the quotes.
_VALUE: Final = (
    r"""(?:[A-Za-z_]\w{0,30}\((?=['"]))?"""
    r"""(?P<value>"[^"\n]{1,4096}"|'[^'\n]{1,4096}'|\[[^\]\n]{1,4096}\]|[^\s'",;)\]}\[][^\s'",;)\]}]{0,4095})"""
)
_EMPTY_VALUES: Final = frozenset({"none", "null", "true", "false", "''", '""', "nil", "unset", "your_token", HIDDEN})
# What a text leaves to be filled in, and what stands behind it in a language that writes no blanks.
_LEFT_OUT: Final = lazy_pattern(r"(?:\.\.\.|…)(?:$|[^\x21-\x7e]|[`'\"])")


class _Secret(NamedTuple):
    """One form of secret.

    Attributes:
        hints: in lower case; a text without any of them holds no such secret, and the pattern is not even compiled.
        pattern: its keepable parts are groups: what stands before the secret, and after it.
        replacement: what is left.
    """

    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    replacement: str | Callable[[re.Match[str]], str]


def _hide(match: re.Match[str]) -> str:
    value = match["value"]
    bare = value.strip("'\"")
    if value.lower() in _EMPTY_VALUES or bare.lower() in _EMPTY_VALUES or HIDDEN in value or bare.startswith("--"):
        return match[0]
    if _LEFT_OUT.match(bare):
        return match[0]
    quote = value[0] if value[0] in "'\"" else ""
    return f"{match['before']}{quote}{HIDDEN}{quote}"


_KEPT: Final = rf"\1{HIDDEN}"
_NAME_HINTS: Final = ("key", "secret", "passw", "pwd", "token")
_SECRETS: Final = (
    _Secret(("@",), lazy_pattern(r"(\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://)[^\s/'\"]{1,512}@"), rf"\1{HIDDEN}@"),
    _Secret(("hf_", "api_org_"), lazy_pattern(r"\b(hf_|api_org_)[A-Za-z0-9]{8,200}"), _KEPT),
    _Secret(("sk-",), lazy_pattern(r"\b(sk-)[A-Za-z0-9_-]{12,200}"), _KEPT),
    _Secret(
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox"),
        lazy_pattern(r"\b(gh[pousr]_|github_pat_|glpat-|xox[abprs]-)[A-Za-z0-9_-]{10,250}"),
        _KEPT,
    ),
    _Secret(
        ("nvapi-", "dckr_pat_", "npm_", "pypi-"),
        lazy_pattern(r"\b(nvapi-|dckr_pat_|npm_|pypi-)[A-Za-z0-9_-]{20,400}"),
        _KEPT,
    ),
    _Secret(("private key-----",), lazy_pattern(r"(-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----)[^-]{1,8192}"), _KEPT),
    # Signed addresses of object stores, and parameters that are named like secrets.
    _Secret(
        ("?", "&"),
        lazy_pattern(
            r"([?&](?:x-(?:amz|goog)-(?:signature|credential|security-token)|sig|signature|[a-z_-]{0,20}token|key"
            r"|[a-z_-]{0,20}(?:secret|password))=)[^\s&'\"]{6,4096}",
            re.IGNORECASE,
        ),
        _KEPT,
    ),
    _Secret(
        ("cookie",),
        lazy_pattern(r"(\b(?:set-)?cookie['\"]?\s{0,4}[:=]\s{0,4}['\"]?)[^\s'\"][^'\"]{5,4096}", re.IGNORECASE),
        _KEPT,
    ),
    # "token: " alone stands for many things; a long value of letters and digits behind it is a secret.
    _Secret(
        ("token",),
        lazy_pattern(
            r"((?<![A-Za-z0-9#_-])token['\"]?\s{0,2}[=:]\s{0,2}['\"]?)"
            r"(?=[A-Za-z_.-]{0,400}\d)(?=[\d_.-]{0,400}[A-Za-z])[A-Za-z0-9_.-]{16,400}",
            re.IGNORECASE,
        ),
        _KEPT,
    ),
    _Secret(
        ("-u", "--user"),
        lazy_pattern(r"(\bcurl\b.{0,200}\s(?:-u|--user)[ =]?['\"]?[^\s:'\"]{1,100}:)[^\s'\"]{1,400}"),
        _KEPT,
    ),
    _Secret(("akia", "asia"), lazy_pattern(r"\b(AKIA|ASIA)[0-9A-Z]{16}\b"), _KEPT),
    _Secret(("aiza",), lazy_pattern(r"\b(AIza)[0-9A-Za-z_-]{35}"), _KEPT),
    _Secret(
        ("eyj",),
        lazy_pattern(r"\b(eyJ)[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,4000}(?:\.[A-Za-z0-9_-]{0,2000})?"),
        _KEPT,
    ),
    _Secret(
        ("authorization",),
        lazy_pattern(
            r"(\b(?:proxy-)?authorization['\"]?\s{0,4}[:=]\s{0,4}['\"]?(?:(?:bearer|basic|token)\s{1,4})?)"
            r"[^\s'\",]{1,4096}",
            re.IGNORECASE,
        ),
        _KEPT,
    ),
    _Secret(("bearer",), lazy_pattern(r"(\bbearer\s{1,4})[A-Za-z0-9._~+/=-]{6,4096}", re.IGNORECASE), _KEPT),
    _Secret(
        ("x-api-key",),
        lazy_pattern(r"(\bx-api-key['\"]?\s{0,4}[:=]\s{0,4}['\"]?)[^\s'\",]{1,4096}", re.IGNORECASE),
        _KEPT,
    ),
    _Secret(
        _NAME_HINTS,
        lazy_pattern(
            rf"(?P<before>--[A-Za-z0-9-]{{0,40}}?(?:{_KEY_NAME}|(?<=--)token)['\"]?(?:\s{{0,4}}[=,]\s{{0,4}}|\s{{1,4}}))"
            rf"{_VALUE}",
            re.IGNORECASE,
        ),
        _hide,
    ),
    _Secret(
        _NAME_HINTS,
        lazy_pattern(
            rf"(?P<before>(?<![A-Za-z])[A-Za-z0-9_-]{{0,40}}?{_KEY_NAME}['\"]?\s{{0,4}}[=:]\s{{0,4}}){_VALUE}",
            re.IGNORECASE,
        ),
        _hide,
    ),
)
_SECRET_FIELD: Final = lazy_pattern(rf"(?:^|[._-]){_KEY_NAME}$", re.IGNORECASE)
_MIN_KNOWN: Final = 6
_CONTEXT: Final = 80
"""Characters in front of a value that can say what it is."""

Redactor = Callable[[str], str]


def redact(text: str) -> str:
    """``text`` with every secret replaced; what stands around it stays."""
    lowered = text.lower()
    for secret in _SECRETS:
        if any(hint in lowered for hint in secret.hints):
            text = secret.pattern.sub(secret.replacement, text)
    return text


def secrets_in(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """The values of the fields whose names say that they are secrets, such as ``args.api_key``."""
    return tuple(
        value
        for name, value in fields.items()
        if _SECRET_FIELD.search(name) and isinstance(value, str) and len(value) >= _MIN_KNOWN
    )


def is_secret_field(name: str) -> bool:
    """Whether a field of this name holds a secret."""
    return _SECRET_FIELD.search(name) is not None


def redactor(known: Iterable[str] = ()) -> Redactor:
    """A redactor that also hides values that are known to be secret, wherever they stand."""
    values = sorted({value for value in known if value}, key=len, reverse=True)

    def apply(text: str) -> str:
        for value in values:
            text = text.replace(value, HIDDEN)
        return redact(text)

    return apply


def unredacted(text: str) -> str:
    """``text`` as it is (``--no-redact``)."""
    return text


def redactor_of(fields: Mapping[str, Any], *, redact: bool = True) -> Redactor:
    """Hides the secrets of one log, those included that it names as such only once.

    Args:
        fields: what was read from the log, by name.
        redact: whether anything is hidden at all.
    """
    return redactor(secrets_in(fields)) if redact else unredacted


def hidden_value(value: str, before: str, hide: Redactor) -> str:
    """A value from a log that is put behind ``before``, which may be what says that the value is secret.

    Only the value is changed: the words around it are the program's own and no secret, whatever they look like.
    """
    hidden = hide(value)
    if hidden != value or not value:
        return hidden
    context = before[-_CONTEXT:]
    return value if hide(context + value).endswith(value) else HIDDEN
