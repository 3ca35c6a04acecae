"""Changes of engine flags as edits of single words, whatever the words stand in: a list, a shell command, YAML."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from sgdoctor.launch.change import Change
from sgdoctor.launch.model import Arity, FlagTable


class WordEdit(NamedTuple):
    """Words ``start`` to ``end`` (half-open indices into the old words) become ``words``.

    An insertion has ``start == end``. Edits of one list never overlap and are in ascending order.
    """

    start: int
    end: int
    words: tuple[str, ...]


class Given(NamedTuple):
    """A flag as it stands in a command.

    Attributes:
        flag: as typed, without ``=value``.
        start: index of its word.
        end: index behind its last value.
        glued: whether the value stands behind ``=`` in the same word.
        values: as typed.
    """

    flag: str
    start: int
    end: int
    glued: bool
    values: tuple[str, ...]


class _NoFlags:
    """The table of an engine of which nothing is known."""

    def arity(self, flag: str) -> Arity | None:  # noqa: ARG002
        """Not known."""
        return None

    def canonical(self, flag: str) -> str:
        """The flag as it is."""
        return flag


NO_FLAGS: Final[FlagTable] = _NoFlags()
"""Where the engine's version does not matter: values go up to the next flag."""


def given_flags(words: Sequence[str], start: int, flags: FlagTable) -> list[Given]:
    """The flags of a command from word ``start`` on, in their order.

    A flag that the table knows takes as many values as it says; an unknown one takes all words up to the next flag.
    """
    found: list[Given] = []
    at = start
    while at < len(words):
        word = words[at]
        if not is_flag(word):
            at += 1
            continue
        name, equals, value = word.partition("=")
        arity = flags.arity(name)
        end = at + 1
        if not equals and arity is not Arity.NONE:
            while end < len(words) and not is_flag(words[end]):
                end += 1
                if arity is Arity.ONE:
                    break
        found.append(Given(name, at, end, bool(equals), (value,) if equals else tuple(words[at + 1 : end])))
        at = end
    return found


def is_flag(word: str) -> bool:
    """Whether argparse takes ``word`` for a flag; ``-1`` is a number."""
    return word.startswith("-") and len(word) > 1 and not word[1].isdigit() and word[1] != "."


def flag_edits(words: Sequence[str], start: int, changes: Iterable[Change], flags: FlagTable) -> list[WordEdit]:
    """The edits that make ``changes`` (only ``flag.set`` and ``flag.unset`` count here).

    argparse takes the last of several equal flags, so that one is edited and the others are left; the form that the
    user chose, ``--flag value`` or ``--flag=value``, is kept. A new flag is inserted at the end. A value of a flag that
    takes many is split at blanks.
    """
    by_name: dict[str, list[Given]] = {}
    for one in given_flags(words, start, flags):
        by_name.setdefault(flags.canonical(one.flag), []).append(one)
    edits: dict[int, WordEdit] = {}
    added: dict[str, tuple[str, ...]] = {}
    for change in changes:
        if change.kind not in ("flag.set", "flag.unset"):
            continue
        name = flags.canonical(change.name)
        places = by_name.get(name, [])
        if change.kind == "flag.unset":
            added.pop(name, None)
            edits |= {one.start: WordEdit(one.start, one.end, ()) for one in places}
        elif not places:
            added[name] = (change.name, *_values(change, flags))
        elif change.value is not None:
            last = places[-1]
            written = (f"{last.flag}={change.value}",) if last.glued else (last.flag, *_values(change, flags))
            edits[last.start] = WordEdit(last.start, last.end, written)
    kept = [edit for edit in edits.values() if tuple(words[edit.start : edit.end]) != edit.words]
    tail = tuple(word for new in added.values() for word in new)
    if tail:
        kept.append(WordEdit(len(words), len(words), tail))
    return sorted(kept)


def with_edits(words: Sequence[str], edits: Iterable[WordEdit]) -> list[str]:
    """The words with ``edits`` made."""
    result: list[str] = []
    at = 0
    for edit in sorted(edits):
        result += (*words[at : edit.start], *edit.words)
        at = edit.end
    return [*result, *words[at:]]


def _values(change: Change, flags: FlagTable) -> tuple[str, ...]:
    if change.value is None:
        return ()
    return tuple(change.value.split()) if flags.arity(change.name) is Arity.MANY else (change.value,)
