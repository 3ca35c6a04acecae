"""How the parts of a log look: exceptions, frames, chain phrases, endings of processes, beginnings of messages."""

import re
from typing import Final

from sgdoctor.logs.line import Line
from sgdoctor.patterns import lazy_pattern

_TRACEBACK = lazy_pattern(r"(?P<header>.{0,300}?)\s*(?:Exception Group )?Traceback \(most recent call last\):\s*$")
_FRAME = lazy_pattern(r'\s*File "(?P<file>[^"]{1,1000})", line (?P<line>\d{1,9})(?:, in (?P<function>.{1,300}?))?\s*$')
_CHAIN: Final = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
# The name of a type quoted without its stack has to say that it is one. A path in front ("httpx.InvalidURL") says so
# too.
_NAMES = (
    r"(?:[A-Z]\w*(?:Error|Exception|Interrupt|Timeout|Failure|Fault|ExceptionGroup)|Exception|SystemExit|StopIteration"
    r"|StopAsyncIteration|OutOfResources|GeneratorExit)"
)
_PATHED = r"(?:[a-z_]\w*\.)+_?[A-Z]\w*[a-z]\w*"
_STRICT = lazy_pattern(
    rf"(?P<type>(?:[A-Za-z_]\w*\.)*{_NAMES}(?:\([A-Z]\w*\))?)(?:: ?(?P<message>.*)|\s*)$"
    rf"|(?P<pathed>{_PATHED})(?:: (?P<text>.*)|:)$",
    re.DOTALL,
)
_REPR = lazy_pattern(
    rf"(?P<type>(?:[A-Za-z_]\w*\.)*{_NAMES})\((?P<quote>[\"'])(?P<message>.*)(?P=quote),?\)\s*$", re.DOTALL
)
# After a stack, the first line that is not indented is the exception, whatever its name.
_LOOSE = lazy_pattern(
    r"(?P<type>(?:[A-Za-z_]\w*\.)*_?[A-Z]\w*[a-z]\w*(?:\([A-Z]\w*\))?)(?:: (?P<message>.*)|:?\s*)$", re.DOTALL
)
_NOT_TYPES: Final = frozenset({"Warning", "Error", "Note", "Info", "Trace", "Killed", "Aborted", "Terminated"})

_SHELL_DEATHS = (
    r"(?:Killed|Segmentation fault|Aborted|Terminated|Bus error|Illegal instruction|Quit)(?: \(core dumped\))?"
)
_EXITS: Final = (
    lazy_pattern(r"[\w.@-]{1,128} exited with code \d{1,3}(?: \(restarting\))?(?=\s*$)"),
    lazy_pattern(rf"{_SHELL_DEATHS}(?=\s*$)"),
    lazy_pattern(rf"[^\s:]{{1,300}}: (?:line )?\d+: +(?:\d+ )?{_SHELL_DEATHS}(?=\s|$)"),
    lazy_pattern(rf"\[\d+\][+-]? +(?:\d+ )?{_SHELL_DEATHS}(?=\s|$)"),
    lazy_pattern(r"(?:command terminated with exit code|exit status:?|[Ee]xit [Cc]ode:?) +-?\d{1,3}(?=\s*$)"),
    lazy_pattern(r"Reason: +(?:OOMKilled|Error|ContainerCannotRun)(?=\s*$)"),
    lazy_pattern(
        r"\S{1,128}\.(?:service|scope): (?:Main process exited|Failed with result|A process of this unit).{0,200}"
    ),
)
_EXIT_HINTS: Final = (
    "xit",
    "Killed",
    "fault",
    "Abort",
    "Termin",
    "error",
    "instruction",
    "Quit",
    ".service:",
    ".scope:",
)

_DAEMON = lazy_pattern(r"(?:docker: )?Error response from daemon:|docker: |(?:ERRO|FATA|WARN|INFO)\[\d+\]|time=\"")
_WARNING = lazy_pattern(r"\S{1,400}:\d+: \w*(?:Warning|Deprecat\w*): ")
_START = lazy_pattern(
    r"(?:INFO|WARNING|WARN|ERROR|DEBUG|CRITICAL|FATAL|NOTICE)[:\s]|[\[{+#]|[-=*]{3}|"
    r"[✔✘] |[EWIF]\d{4} |Attaching to |Gracefully |"
    r"usage: |Usage: |Fatal Python error|\w[\w. -]{0,80}: error: |\S{1,100}:\d+:\d+ \[\d+\] |"
    r"\S+ exited with code |Thread 0x|Current thread 0x"
)
# A native stack, a faulthandler dump and a py-spy dump: read by people, never matched.
_DUMP = lazy_pattern(
    r'frame #\d+: |  File "[^"]+", line \d+ in |Thread (?:0x)?[0-9a-fA-F]+ \(|Current thread 0x|'
    r"    \S{1,200} \([^()\s]{1,300}:\d+\)$"
)
# Exception groups are drawn as a tree: "  |   File ...", "  +-+------- 1 -------", "    +-------".
_TREE = lazy_pattern(r" +(?:\| ?|\+[-+]+(?: \d+ -+)?$)")
_MARKS: Final = frozenset("^~ \t")
_COMPILER_PLACE = lazy_pattern(r"at \d+:\d+:\s*$")


def traceback_header(text: str) -> str | None:
    """The text in front of ``Traceback (most recent call last):``; None where none begins.

    A line that quotes something before it (a prompt, a dict, a repr) is not the beginning of one.
    """
    if "Traceback (most" not in text or len(text) > 400:
        return None
    found = _TRACEBACK.match(text)
    if found is None:
        return None
    header = found["header"].strip(" |+")
    return None if any(mark in header for mark in ("='", '="', "{", '": "', "\\n")) else header


def frame(text: str) -> re.Match[str] | None:
    """The stack frame that ``text`` is: groups ``file``, ``line``, ``function``."""
    return _FRAME.match(text) if 'File "' in text[:200] else None


def is_chain(text: str) -> bool:
    """Whether ``text`` joins two tracebacks of one chain."""
    return text.strip() in _CHAIN


def exception(text: str) -> tuple[str, str] | None:
    """Type and message of an exception that is quoted without its stack; None where ``text`` is none."""
    if not text[:1].isalpha() and not text.startswith("_"):
        return None
    if found := _STRICT.match(text):
        if found["pathed"]:
            return found["pathed"], found["text"] or ""
        return found["type"], found["message"] or ""
    if found := _REPR.match(text):
        return found["type"], found["message"]
    return None


def exception_after_stack(text: str) -> tuple[str, str] | None:
    """Type and message of the exception that ends a stack, whatever its type is called."""
    strict = exception(text)
    if strict is not None:
        return strict
    found = _LOOSE.match(text)
    if found is None or found["type"] in _NOT_TYPES:
        return None
    if found["message"] is None and "." not in found["type"]:
        return None
    return found["type"], found["message"] or ""


def is_repr_exception(text: str) -> bool:
    """Whether ``text`` is an exception in the form ``SomeError("message")``."""
    return _REPR.match(text) is not None


def exit_text(text: str) -> str | None:
    """How a process or container ended, up to the word that says it; None where ``text`` tells no such thing."""
    if not any(hint in text for hint in _EXIT_HINTS):
        return None
    body = text.strip()
    for pattern in _EXITS:
        if found := pattern.match(body):
            return squeeze(found[0], len(found[0]))
    return None


def is_daemon(text: str) -> bool:
    """Whether the container engine speaks."""
    return _DAEMON.match(text) is not None


def is_warning(text: str) -> bool:
    """Whether Python's ``warnings`` speaks; its next, indented lines echo source."""
    return "Warning: " in text and _WARNING.match(text) is not None


def begins_message(line: Line) -> bool:
    """Whether an un-bracketed line starts something of its own rather than going on with the line before it."""
    text = line.text
    return (
        _START.match(text) is not None
        or is_daemon(text)
        or is_warning(text)
        or exit_text(text) is not None
        or traceback_header(text) is not None
    )


def is_dump(text: str) -> bool:
    """Whether ``text`` is a line of a native stack, of faulthandler or of py-spy."""
    return _DUMP.match(text) is not None


def without_tree(text: str) -> str:
    """A line of an exception group without the tree that is drawn beside it."""
    found = _TREE.match(text)
    return text[found.end() :] if found else text


def is_marks(text: str) -> bool:
    """Whether ``text`` only points at something in the line above it."""
    return _MARKS.issuperset(text)


def is_compiler_place(text: str) -> bool:
    """Whether a message ends with the place at which a compiler stopped; an echo of source up to a ``^`` follows."""
    return _COMPILER_PLACE.search(text) is not None


def squeeze(text: str, limit: int) -> str:
    """``text`` with white space folded to single blanks, at most ``limit`` characters long."""
    return " ".join(text[: 2 * limit].split())[:limit]
