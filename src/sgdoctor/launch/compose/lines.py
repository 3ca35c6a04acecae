"""Lines of a text."""


class CannotSpliceError(Exception):
    """A text has no place for what is to be written there."""


def line_start(text: str, index: int) -> int:
    """Index of the first character of the line of ``index``."""
    return text.rfind("\n", 0, index) + 1


def line_end(text: str, index: int) -> int:
    """Index of the line break at the end of the line of ``index``, or the end of the text."""
    end = text.find("\n", index)
    end = len(text) if end < 0 else end
    return end - 1 if end > index and text[end - 1] == "\r" else end


def next_line(text: str, index: int) -> int:
    """Index of the first character behind the line of ``index``."""
    end = text.find("\n", index)
    return len(text) if end < 0 else end + 1


def indentation(text: str, index: int) -> str:
    """The blanks at the beginning of the line of ``index``."""
    line = text[line_start(text, index) : line_end(text, index)]
    return line[: len(line) - len(line.lstrip(" \t"))]


def newline_of(text: str) -> str:
    """The kind of line break that ``text`` uses."""
    return "\r\n" if "\r\n" in text else "\n"
