"""A part of a scalar's text replaced: variables are kept, and so are quotes and style."""

from sgdoctor.launch.compose import shellwords
from sgdoctor.launch.compose.interpolation import Reference, with_new_default
from sgdoctor.launch.compose.layers import Layer, Place, lowered
from sgdoctor.launch.compose.lines import CannotSpliceError
from sgdoctor.launch.compose.nodes import is_in_flow
from sgdoctor.launch.compose.scalars import is_safe_plain, layer_of, written
from sgdoctor.launch.compose.values import Text
from sgdoctor.launch.shell import Splice, spliced


class VariableError(Exception):
    """What is to be replaced comes from a variable, which would be lost."""

    def __init__(self, reference: Reference) -> None:
        super().__init__(reference.name)
        self.reference = reference


def replaced_text(value: Text, start: int, end: int, new: str, word: shellwords.Word | None) -> list[Splice]:
    """Characters ``start`` to ``end`` of an argument, or of a whole scalar, become ``new``.

    Args:
        value: the scalar.
        start: index in the text of ``word``, or of the scalar.
        end: index behind the last character.
        new: what stands there afterwards.
        word: the argument, where Compose splits the scalar's text; None for the scalar itself.

    Returns:
        Splices of the file.

    Raises:
        CannotSpliceError: the scalar has no place for it.
        VariableError: a variable stands there, and its value is not the default that is written here.
    """
    old = (word.text if word else value.text)[start:end]
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    change = Splice(start + head, end - tail, new[head : len(new) - tail])
    if change.start == change.end and not change.text:
        return []
    interpolated = value.interpolated
    upper = (word.layer,) if word else ()
    shown = _shown(change, word)
    references = interpolated.references_in(*shown)
    touched = [one for one in references if one.shown.start < shown.end and one.shown.end > shown.start]
    if change.start == change.end:
        touched = [one for one in references if one.shown.start < shown.start < one.shown.end]
        if not value.text and references:
            return default_given(value, references[-1], new)
    if touched:
        return _in_variable(value, touched, (start, end, new), word)
    whole = word.text[:start] + new + word.text[end:] if word else new
    try:
        inside = lowered(change, (*upper, interpolated.layer))
    except CannotSpliceError:
        if word is None:
            raise
        inside = None
    if word is not None and (inside is None or not whole):
        # As a word of its own: what is inserted needs quotes, or without them there would be no argument.
        quoted = shellwords.quoted(whole, value.text[word.start : word.end])
        if any(one.shown.start < word.end and one.shown.end > word.start for one in references):
            raise VariableError(references[0])
        inside = interpolated.layer.lowered(Splice(word.start, word.end, quoted))
    assert inside is not None
    return _in_scalar(value, inside)


def default_given(value: Text, reference: Reference, default: str) -> list[Splice]:
    """A variable that is not set and has no default given one; raises as ``replaced_text``."""
    if reference.value is not None or reference.has_default or shellwords.quoted(default) != default:
        raise VariableError(reference)
    return _in_scalar(value, with_new_default(reference, default))


def _shown(change: Splice, word: shellwords.Word | None) -> Place:
    return word.layer.span(change.start, change.end) if word else Place(change.start, change.end)


def _in_variable(
    value: Text, touched: list[Reference], wanted: tuple[int, int, str], word: shellwords.Word | None
) -> list[Splice]:
    """Another default for the variable that the text comes from, if that is what counts now."""
    start, end, new = wanted
    reference = touched[-1]
    shown = reference.shown
    begin, behind = word.layer.span(start, end) if word else (start, end)
    outer = [one for one in touched if one is not reference]
    alone = all(one.shown.start <= shown.start and one.shown.end >= shown.end and one.default for one in outer)
    before, after = value.text[begin : shown.start], value.text[shown.end : behind]
    fits = new.startswith(before) and new.endswith(after) and len(new) >= len(before) + len(after)
    if reference.default is None or not alone or not fits or shown.start < begin or shown.end > behind:
        raise VariableError(reference)
    if word is not None and shellwords.quoted(new) != new:
        raise VariableError(reference)
    inner = new[len(before) : len(new) - len(after)]
    return _in_scalar(value, with_new_default(reference, inner))


def _in_scalar(value: Text, change: Splice) -> list[Splice]:
    """A change of the text of a YAML scalar as splices of the file."""
    node, text = value.node, value.file.text
    assert value.file.root is not None
    in_flow = is_in_flow(value.file.root, node)
    layer = layer_of(node, text, in_flow=in_flow)
    if layer is None:
        raise CannotSpliceError
    try:
        return [_checked(layer, change, node.value, style=node.style, in_flow=in_flow)]
    except CannotSpliceError:
        if node.style in ("|", ">"):
            raise
    if not node.style and (quoted := layer_of(node, text, style="'")) is not None:
        try:
            return in_single_quotes(value, quoted.lowered(change))
        except CannotSpliceError:
            pass
    whole = spliced(node.value, [change])
    return [Splice(node.start, node.end, written(whole, like=node.style or '"', in_flow=in_flow))]


def in_single_quotes(value: Text, change: Splice) -> list[Splice]:
    """A plain scalar put into single quotes, with a change of the file that is written for them.

    Lines fold alike in plain and in single quoted scalars, so that only the quotes come new.
    """
    node, text = value.node, value.file.text
    doubled = [
        Splice(at, at + 1, "''")
        for at in range(node.start, node.end)
        if text[at] == "'" and not change.start <= at < change.end
    ]
    if change.end == node.end:
        change = Splice(change.start, change.end, change.text + "'")
        return [Splice(node.start, node.start, "'"), *doubled, change]
    return [Splice(node.start, node.start, "'"), *doubled, change, Splice(node.end, node.end, "'")]


def _checked(layer: Layer, change: Splice, old: str, *, style: str, in_flow: bool) -> Splice:
    if not style:
        whole = spliced(old, [change])
        if not is_safe_plain(whole, in_flow=in_flow):
            raise CannotSpliceError
    return layer.lowered(change)


def _common(one: str, other: str) -> int:
    """How many characters at the beginning are the same."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count
