"""Recognises the line with which argparse refuses a command line."""

from typing import Final

from sgdoctor.patterns import lazy_pattern

ERROR: Final = lazy_pattern(r"^(?P<prog>[\w./-]+(?: [\w-]+)?): error: (?P<what>.+)$")
REQUIRED: Final = "the following arguments are required: "
UNKNOWN: Final = "unrecognized arguments: "
_PROGRAMS: Final = ("sglang serve", "launch_server.py", "sglang")
_OTHERS: Final = ("vllm", "llama-", "text-generation", "docker", "pip")
"""Programs whose command line is not the engine's."""


def is_argument_error(text: str) -> bool:
    """Whether a line is argparse's verdict on the engine's command line."""
    found = ERROR.match(text) if ": error: " in text else None
    if found is None or found["prog"].startswith(_OTHERS):
        return False
    what = found["what"]
    known = what.startswith((UNKNOWN, REQUIRED, "argument -", "ambiguous option: "))
    return known or found["prog"] in _PROGRAMS
