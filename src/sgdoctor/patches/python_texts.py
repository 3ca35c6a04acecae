"""Python inside of other texts: the scripts that a shell command writes into a file or feeds to Python."""

import re
from typing import Final, NamedTuple

_HERE_DOCUMENT: Final = re.compile(
    r"^(?P<before>[^\n]*?)<<(?P<dash>-?)[ \t]*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)(?P<behind>[^\n]*)\n", re.MULTILINE
)
# `cat > launch.py`, `tee /models/launch.py`, `python3 -`
_OF_PYTHON: Final = re.compile(r"\b(?:cat|tee)\b.*\.py\b|\bpython[0-9.]*\b")


class PythonText(NamedTuple):
    """A piece of Python; ``lines_before`` is how many lines of the whole text stand before its first one."""

    text: str
    lines_before: int


def python_in_shell(text: str) -> list[PythonText]:
    """The here-documents of a shell text that hold Python."""
    found = []
    for start in _HERE_DOCUMENT.finditer(text):
        if not _OF_PYTHON.search(start["before"] + start["behind"]):
            continue
        lines: list[str] = []
        for line in text[start.end() :].splitlines():
            bare = line.lstrip("\t") if start["dash"] else line
            if bare == start["end"]:
                found.append(PythonText("".join(f"{kept}\n" for kept in lines), text.count("\n", 0, start.end())))
                break
            lines.append(bare)
    return found
