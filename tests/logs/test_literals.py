"""All back ends of the literal index find the same hits, and what a plain search finds."""

import mmap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.logs import literals as module
from sgdoctor.logs.literals import BACKENDS, FloodError, build_index

# A small alphabet makes literals that are prefixes and suffixes of each other and overlap in the data; it holds the
# bytes that a regular expression, a C string and UTF-8 treat specially.
ALPHABET = [b"a", b"b", b"\0", b"\xff", b"\n", b".", b"*", b"\\", b"(", "内".encode()]
TEXTS = st.lists(st.sampled_from(ALPHABET), max_size=40).map(b"".join)
LITERALS = st.lists(
    st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=5).map(b"".join),
    min_size=1,
    max_size=8,
    unique=True,
)


def searched(literals: list[bytes], data: bytes) -> list[tuple[int, int]]:
    return sorted(
        (begin, number)
        for number, literal in enumerate(literals)
        for begin in range(len(data))
        if data.startswith(literal, begin)
    )


@given(literals=LITERALS, data=TEXTS)
def test_all_back_ends_find_what_a_plain_search_finds(literals: list[bytes], data: bytes) -> None:
    expected = searched(literals, data)

    for backend in BACKENDS:
        index = build_index(literals, backend=backend)
        assert expected == index.find(data), backend
        assert frozenset(number for _, number in expected) == index.present(data), backend


@given(literals=LITERALS, data=TEXTS)
def test_a_dumped_index_finds_the_same(literals: list[bytes], data: bytes) -> None:
    for backend in BACKENDS:
        dumped = build_index(literals, backend=backend).dump()
        loaded = build_index(literals, backend=backend, compiled=dumped)
        assert searched(literals, data) == loaded.find(data), backend


@pytest.mark.parametrize("backend", BACKENDS)
def test_pieces_do_not_change_the_hits(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    literals = [b"abcabc", b"bcab", b"c"]
    data = b"xabcabcabc" * 7
    expected = searched(literals, data)
    for size in (1, 2, 3, 7, 64):
        monkeypatch.setattr(module, "_HYPERSCAN_PIECE", size)
        monkeypatch.setattr(module, "_COPIED_PIECE", size)
        index = build_index(literals, backend=backend)

        assert expected == index.find(data), size
        assert frozenset({0, 1, 2}) == index.present(data), size


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_kind_of_buffer_is_read(backend: str, tmp_path: Path) -> None:
    data = b"-" * 100 + b"needle" + b"-" * 100
    path = tmp_path / "log"
    path.write_bytes(data)
    index = build_index([b"needle"], backend=backend)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        found = index.find(mapped)
        with memoryview(mapped) as view:
            found_in_view = index.find(view[50:])
            present = index.present(view)

    assert found == [(100, 0)]
    assert found_in_view == [(50, 0)]
    assert frozenset({0}) == present
    assert index.find(bytearray(data)) == [(100, 0)]
    assert index.find(b"") == []
    assert frozenset() == index.present(b"")


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_flood_stops_and_names_its_literals(backend: str) -> None:
    index = build_index([b"rare literal", b"common"], backend=backend)
    data = b"rare literal " + b"common " * 50

    with pytest.raises(FloodError) as caught:
        index.find(data, limit=20)

    assert caught.value.literals == (1,)
    assert caught.value.hits[:2] == [(0, 0), (13, 1)]
    assert len(caught.value.hits) == 20
    assert len(index.find(data, limit=51)) == 51
    assert len(index.find(data, limit=None)) == 51
    assert frozenset({0, 1}) == index.present(data)


@pytest.mark.parametrize("backend", BACKENDS)
def test_threads_share_an_index(backend: str) -> None:
    index = build_index([b"needle", b"hay"], backend=backend)
    data = (b"hay " * 500 + b"needle ") * 20

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: (len(index.find(data)), index.present(data)), range(40)))

    assert [(10_020, frozenset({0, 1}))] * 40 == found


def test_a_compiled_index_of_other_literals_or_a_broken_one_is_compiled_anew() -> None:
    dumped = build_index([b"needle"], backend="hyperscan").dump()
    broken = [b"", b"x", dumped[:-1], dumped[:40], dumped[:30] + b"?" + dumped[31:], dumped + b"?"]
    for compiled in [dumped, *broken]:
        index = build_index([b"thread"], backend="hyperscan", compiled=compiled)

        assert index.find(b"a thread and a needle") == [(2, 0)]


def test_no_literals_find_nothing() -> None:
    index = build_index([])

    assert index.find(b"anything") == []
    assert frozenset() == index.present(b"anything")


@pytest.mark.parametrize(
    ("literals", "backend", "message"),
    [
        ([b"a", b""], None, "a literal is empty"),
        ([b"a", b"a"], None, "a literal is given twice"),
        ([b"a"], "grep", "unknown back end 'grep'"),
    ],
)
def test_wrong_arguments_are_refused(literals: list[bytes], backend: str | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_index(literals, backend=backend)
