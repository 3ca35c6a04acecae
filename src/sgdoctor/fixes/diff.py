"""A text before and after, as a unified diff that ``patch`` takes."""

import difflib


def unified(old: str, new: str, name: str) -> str:
    """The diff of two texts; empty if they are equal.

    Args:
        old: as it is.
        new: as planned.
        name: of the file, for both headers.
    """
    if old == new:
        return ""
    lines = difflib.unified_diff(_lines(old), _lines(new), name, name)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    # Not splitlines(): to `patch` only a line feed ends a line.
    *whole, rest = text.split("\n")
    return [f"{line}\n" for line in whole] + ([rest] if rest else [])
