"""Lines are kept on disk and found again, by number, text and kind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.rules.model import Severity
from sgdoctor.watching.marks import RuleMark
from sgdoctor.watching.model import LineKind
from sgdoctor.watching.store import LineStore

HEAD = b"[2026-11-30 10:00:00 TP1] Scheduler hit an exception: Traceback (most recent call last):\n"


@pytest.fixture
def store() -> LineStore:
    return LineStore()


def filled(store: LineStore, count: int) -> LineStore:
    store.append(
        b"".join(b"[2026-11-30 10:00:00 TP%d] line %d\n" % (number % 2, number) for number in range(1, count + 1))
    )
    return store


@given(st.lists(st.binary(max_size=40).filter(lambda line: b"\n" not in line), min_size=1, max_size=70), st.data())
def test_every_line_is_found_at_its_place(lines: list[bytes], data: st.DataObject) -> None:
    store = LineStore()
    rest = [line + b"\n" for line in lines]
    while rest:
        count = data.draw(st.integers(1, len(rest)))
        store.append(b"".join(rest[:count]))
        rest = rest[count:]
    offsets = [sum(len(line) + 1 for line in lines[:index]) for index in range(len(lines) + 1)]

    assert len(lines) == len(store)
    assert offsets == [store.offset(number) for number in range(1, len(lines) + 2)]
    assert lines == [
        store.read(store.offset(number), store.offset(number + 1) - 1) for number in range(1, len(lines) + 1)
    ]
    assert list(range(1, len(lines) + 1)) == [store.number_at(offset) for offset in offsets[:-1]]


def test_texts_are_without_prefixes_and_escapes_and_raw_lines_are_harmless(store: LineStore) -> None:
    store.append(
        b"[2026-11-30 10:00:00] \x1b[31mred\x1b[0m\x07\nplain\nbar:  10%|#   | 1/9 [00:01]\rbar: 100%|####| 9/9 [00:09]\n"
    )

    assert [store.text(number) for number in (1, 2, 3)] == ["red", "plain", "bar: 100%|####| 9/9 [00:09]"]
    assert store.raw(1) == "[2026-11-30 10:00:00] red"
    with pytest.raises(IndexError):
        store.text(4)


def test_lines_go_on_in_memory_when_the_disk_is_full(store: LineStore) -> None:
    class Full:
        def __init__(self, file: object) -> None:
            self.file = file

        def write(self, data: bytes) -> int:
            raise OSError(28, "No space left on device")

        def __getattr__(self, name: str) -> object:
            return getattr(self.file, name)

    filled(store, 20)
    store._file = Full(store._file)  # type: ignore[assignment]
    store.append(b"twenty-one\ntwenty-two\n")

    assert [store.text(number) for number in (20, 21, 22)] == ["line 20", "twenty-one", "twenty-two"]


@pytest.mark.parametrize(
    ("pattern", "regex", "ignore_case", "expected"),
    [
        ("line 4", False, False, [4, 40]),
        ("LINE 4", False, True, [4, 40]),
        ("LINE 4", False, False, []),
        (r"line [45]$", True, False, [4, 5]),
        (r"^line 4", True, False, [4, 40]),
        (r"TP0\] line 1", True, False, [10, 12, 14, 16, 18]),
        ("31m", False, False, []),
        ("", False, False, []),
    ],
)
def test_search_finds_lines(
    store: LineStore, pattern: str, regex: bool, ignore_case: bool, expected: list[int]
) -> None:
    filled(store, 40)
    store.append(b"\x1b[31mred\x1b[0m\n")

    assert expected == list(store.search(pattern, regex=regex, ignore_case=ignore_case))


def test_search_stops_at_its_limit_and_keeps_to_its_slice(store: LineStore) -> None:
    filled(store, 100)

    assert list(store.search("line", regex=False, ignore_case=False, limit=3)) == [1, 2, 3]
    assert list(store.search("line", regex=False, ignore_case=False, first=33, last=35)) == [33, 34, 35]
    assert list(store.search("line", regex=False, ignore_case=False, first=101)) == []


def test_search_by_a_broken_expression_is_an_error(store: LineStore) -> None:
    filled(store, 1)

    with pytest.raises(ValueError, match="unterminated"):
        store.search("[", regex=True, ignore_case=False)


def test_search_by_an_expression_that_never_ends_is_an_error(store: LineStore) -> None:
    store.append(b"a" * 60 + b"!\n")

    with pytest.raises(ValueError, match="too long"):
        store.search("^(?:a|a)*(?:a|aa)*$", regex=True, ignore_case=False)


def test_folded_lines_know_their_head_and_rank(store: LineStore) -> None:
    store.append(HEAD + b"  File\n" + HEAD.replace(b"TP1", b"TP0") + b"  File\nValueError: x\n")
    for number, head in ((1, 1), (2, 1), (3, 3), (4, 3), (5, 1)):
        if number == head:
            store.marks.set_kind(number, LineKind.TRACEBACK_HEAD)
        else:
            store.marks.set_head(number, head)

    assert [store.mark(number).head for number in range(1, 6)] == [0, 1, 0, 3, 1]
    assert [store.mark(number).rank for number in range(1, 6)] == ["TP1", "TP1", "TP0", "TP0", "TP1"]
    assert list(store.select(None, rank="TP1")) == [1, 2, 5]
    assert list(store.select(frozenset({LineKind.TRACEBACK}))) == [2, 4, 5]


# What stands in front of a line, and how it goes on.
OUTER = ["", "sgl-1  | ", "2026-11-30T10:00:00.5Z ", "2026-11-30T10:00:00Z stdout F "]
BRACKETS = [
    "",
    "[2026-11-30 10:00:00 TP1] ",
    "[10:00:00 TP0] ",
    "[TP1] ",
    "[2026-11-30 10:00:00 DP1 TP1] ",
    "[TP1]x ",
    "[1",
]
TEXTS = [
    "Decode batch",
    "",
    "said TP1] and TP0]",
    "\x1b[31mred\x1b[0m",
    "1%|#| 1/9\r2%|#| 2/9",
    "9%\r[10:00:00 TP1] x",
    "\0",
    "\x9b",
]
PARTS = st.tuples(st.sampled_from(OUTER), st.sampled_from(BRACKETS), st.sampled_from(TEXTS)).map("".join)
RECORD = '{"log":"%s\\n","stream":"stderr","time":"2026-11-30T10:00:00Z"}'
LINES = PARTS | PARTS.map(lambda text: RECORD % text.translate(dict.fromkeys([0, 13, 27])))


@given(
    st.lists(LINES, min_size=1, max_size=40),
    st.dictionaries(st.integers(1, 40), st.integers(1, 40), max_size=6),
    st.sampled_from(["TP0", "TP1", "DP1 TP1"]),
    st.integers(1, 40),
)
def test_lines_of_a_rank_are_those_that_say_so_one_by_one(
    lines: list[str], folds: dict[int, int], rank: str, first: int
) -> None:
    store = LineStore()
    store.append("".join(f"{line}\n" for line in lines).encode())
    heads = {head for number, head in folds.items() if head < number <= len(lines) and head not in folds}
    for head in heads:
        store.marks.set_kind(head, LineKind.TRACEBACK_HEAD)
    for number, head in folds.items():
        if head in heads and number <= len(lines):
            store.marks.set_head(number, head)
    expected = [number for number in range(first, len(lines) + 1) if store.mark(number).rank == rank]

    assert store.select(None, rank=rank, first=first) == expected
    assert store.select(frozenset(LineKind), rank=rank, first=first) == expected


def test_a_line_in_pieces_has_the_rank_of_its_first_one(store: LineStore) -> None:
    pieces = b"2026-11-30T10:00:00Z stdout P [2026-11-30 10:00:00 TP1] x\n2026-11-30T10:00:00Z stdout F TP1]\n"
    store.append(pieces + b"\n" * 14)

    assert store.select(None, rank="TP1") == [1]


def test_lines_that_were_never_read_are_judged_when_somebody_asks(store: LineStore) -> None:
    store.append(b'[2026-11-30 10:00:00] Decode batch\nplain\n{"text": 1}\n[2026-11-30 10:00:00] x\n')

    assert list(store.select(frozenset({LineKind.ENGINE}))) == [4]  # the first one is the border of the start
    assert list(store.select(frozenset({LineKind.DATA}))) == [3]
    assert LineKind.PLAIN is store.mark(2).kind
    assert list(store.select(frozenset({LineKind.BORDER}))) == [1]


def test_rules_come_and_go(store: LineStore) -> None:
    filled(store, 10)
    before = store.revision()
    store.marks.replace(range(1, 11), {4: RuleMark("SGL1", Severity.BENIGN), 6: RuleMark("SGL2", Severity.FATAL)}, [8])

    assert store.revision() > before
    assert [store.mark(number).kind for number in (4, 6, 8)] == [LineKind.BENIGN, LineKind.ERROR, LineKind.PHASE]
    assert store.mark(6)[2:4] == ("SGL2", Severity.FATAL)
    assert list(store.select(None, rule="SGL2")) == [6]
    assert list(store.select(frozenset({LineKind.ERROR}))) == [6]

    store.marks.replace(range(1, 11), {}, [])

    assert [store.mark(number).kind for number in (4, 6, 8)] == [LineKind.ENGINE] * 3
    assert list(store.select(None, rule="SGL2")) == []


def test_lines_belong_to_the_start_they_stand_in(store: LineStore) -> None:
    filled(store, 30)
    store.marks.begin_attempt(2, 11)
    store.marks.begin_attempt(3, 21)

    assert [store.mark(number).attempt for number in (1, 10, 11, 20, 21)] == [1, 1, 2, 2, 3]
    assert list(range(11, 21)) == list(store.select(None, attempt=2))
    assert list(store.select(frozenset({LineKind.BORDER}))) == [1, 11, 21]
    assert list(store.select(None, attempt=4)) == []
