"""What was meant by a name that nobody knows: the same as the standard library finds, and at once."""

import difflib
from time import process_time

from hypothesis import given, settings
from hypothesis import strategies as st

from sgdoctor.engines.sglang.flags.schemas import schema
from sgdoctor.engines.sglang.suggestions import closest

NAMES = schema("0.5.15").names
SORTED = sorted(NAMES)
# Comparing each with each by difflib took 3 s and more.
SECONDS = 2.5


@st.composite
def misspelled(draw: st.DrawFn) -> str:
    """A name with letters lost, doubled, swapped and put in."""
    letters = list(draw(st.sampled_from(SORTED)))
    for _ in range(draw(st.integers(0, 7))):
        place = draw(st.integers(0, len(letters) - 1))
        match draw(st.sampled_from(("lost", "doubled", "swapped", "put in"))):
            case "lost" if len(letters) > 1:
                del letters[place]
            case "doubled":
                letters.insert(place, letters[place])
            case "swapped":
                letters[place], letters[-1] = letters[-1], letters[place]
            case _:
                letters.insert(place, draw(st.characters(codec="utf-8")))
    return "".join(letters)


@settings(max_examples=300, deadline=None)
@given(misspelled() | st.text(max_size=60))
def test_as_difflib_has_it(word: str) -> None:
    found = next(iter(difflib.get_close_matches(word, SORTED, n=1, cutoff=0.8)), None)

    assert found == closest(word, NAMES)


def test_a_name_that_does_not_count() -> None:
    assert "--port" == closest("--port", NAMES)
    assert "--port" != closest("--port", NAMES, "--port")
    assert None is closest("--port", frozenset())


def test_thousands_of_names() -> None:
    words = [f"--{first[2:7]}{second[-9:]}{number}" for number, first in enumerate(SORTED) for second in SORTED[::60]]
    began = process_time()
    for word in words:
        closest(word, NAMES)

    assert len(words) > 2000
    assert SECONDS > process_time() - began
