"""Progress bars as tqdm draws them."""

from sgdoctor.patterns import lazy_pattern

# tqdm's own form is "desc:  50%|####    | 1/2 [00:10<00:10, 10.52s/it]"; weight loaders set
# bar_format="{desc}: {percentage:3.0f}% Completed | {n_fmt}/{total_fmt} [...]" (SGLang weight_utils.py).
_BAR = lazy_pattern(
    r"(?P<bar>[^|%]{0,200}?(?P<percent>\d{1,3})%(?:\|[^|]{0,400}\|| Completed \|) ?"
    r"[\d.]+[kMGT]?/[\d.?]+[kMGT]?(?: ?\[[^\[\]]{0,120}\])?)"
)
_PERCENT = lazy_pattern(r"(\d{1,3})%(?:\|| Completed \|)")


def split_bar(text: str) -> tuple[str, str] | None:
    """Cut a text that begins with a bar in two: the bar, and what another writer glued to it.

    Returns:
        ``(bar, rest)``; None when ``text`` does not begin with a bar.
    """
    if "%|" not in text and "% Completed |" not in text:
        return None
    found = _BAR.match(text)
    if found is None:
        return None
    return found["bar"], text[found.end() :]


def percentages(text: str) -> tuple[int, ...]:
    """Every percentage that the bars in ``text`` show, in order, repeats left out."""
    result: list[int] = []
    for found in _PERCENT.finditer(text):
        percent = int(found[1])
        if percent <= 100 and (not result or result[-1] != percent):
            result.append(percent)
    return tuple(result)
