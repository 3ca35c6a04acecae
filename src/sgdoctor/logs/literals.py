"""The literal index: all literals of all rules, found in one pass over bytes.

Back ends, fastest first: Hyperscan (about 2 GB/s), ahocorasick_rs, and the standard library. All of them find the
same hits; ``tests/logs/test_literals.py`` holds them to it.
"""

import zlib
from _thread import allocate_lock  # `threading` is what a start-up can do without
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    import mmap

    Data = memoryview | bytes | bytearray | mmap.mmap

BACKENDS: Final = ("hyperscan", "ahocorasick", "stdlib")

DEFAULT_LIMIT: Final = 200_000
"""Hits of one `find`. Each costs a Python call and a tuple; a line that a busy server prints by the million would
take minutes and gigabytes, and says no more than its first thousand."""

_HYPERSCAN_PIECE: Final = 1 << 30  # hs_scan takes the length as a 32-bit number
_COPIED_PIECE: Final = 1 << 22  # the other back ends materialise a piece or its matches


class FloodError(Exception):
    """There are more hits than the limit.

    Attributes:
        hits: as many hits as the limit allows, sorted, the early ones of the data.
        literals: the numbers of the literals that make up the flood, the commonest first: each has more than a
            tenth of the hits. ``present`` still answers for them.
    """

    def __init__(self, hits: list[tuple[int, int]]) -> None:
        counts: dict[int, int] = {}
        for _, literal in hits:
            counts[literal] = counts.get(literal, 0) + 1
        self.hits = hits
        self.literals = tuple(
            literal for literal, count in sorted(counts.items(), key=lambda item: -item[1]) if count * 10 > len(hits)
        )
        super().__init__(f"more than {len(hits)} hits, most of them of the literals {self.literals}")


class LiteralIndex(Protocol):
    """Finds literals in bytes. Threads may share an index; they take turns."""

    name: str
    """Of the back end: ``hyperscan``, ``ahocorasick`` or ``stdlib``."""

    def find(self, data: "Data", *, limit: int | None = DEFAULT_LIMIT) -> list[tuple[int, int]]:
        """Every occurrence of every literal in ``data``, overlapping ones included.

        Args:
            data: bytes of any kind; Hyperscan reads a memory map in place.
            limit: the most hits wanted; None for no limit.

        Returns:
            ``(offset, literal)`` pairs, sorted: the byte offset at which the literal *begins*, and its number in the
            sequence that the index was built from.

        Raises:
            FloodError: there are more than ``limit`` hits.
        """
        ...

    def present(self, data: "Data") -> frozenset[int]:
        """The numbers of the literals that occur at least once in ``data``, at no cost per further occurrence."""
        ...

    def dump(self) -> bytes:
        """The compiled index for ``build_index(..., compiled=...)``; empty where compiling costs nothing."""
        ...


def build_index(
    literals: Sequence[bytes], *, backend: str | None = None, compiled: bytes | memoryview = b""
) -> LiteralIndex:
    """An index over ``literals``, by the fastest back end that is installed, or by the one named.

    Args:
        literals: what to find.
        backend: one of ``BACKENDS``; None for the first that is installed.
        compiled: what ``dump`` gave for the same literals. It is checked, and where it does not fit (other literals,
            other Hyperscan, other processor) the index is compiled anew.

    Raises:
        ValueError: an empty literal, a literal twice, or an unknown or absent back end.
    """
    if not all(literals):
        raise ValueError("a literal is empty")
    if len(set(literals)) != len(literals):
        raise ValueError("a literal is given twice")
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f"unknown back end {backend!r}: there are {', '.join(BACKENDS)}")
    if not literals:
        return _Stdlib(literals)
    for name in BACKENDS if backend is None else (backend,):
        try:
            if name == "hyperscan":
                return _Hyperscan(literals, compiled)
            if name == "ahocorasick":
                return _AhoCorasick(literals)
        except ImportError as error:
            if backend is not None:
                raise ValueError(f"back end {name!r} is not available: {error}") from error
            continue
        return _Stdlib(literals)
    raise AssertionError("the standard library is always there")


class _Hyperscan:
    """Hyperscan in block mode, reporting ends only: start-of-match tracking costs, and a literal's length gives it."""

    name = "hyperscan"

    def __init__(self, literals: Sequence[bytes], compiled: bytes | memoryview) -> None:
        import hyperscan  # noqa: PLC0415 - 25 ms that only a scan needs

        self._hs = hyperscan
        self._literals = tuple(literals)
        self._lengths = tuple(map(len, literals))
        # The serialised form knows its Hyperscan version and processor, not the literals it was made from.
        self._stamp = zlib.crc32(b"\0".join(self._literals)).to_bytes(4, "big")
        self._singles: Any = None
        # The scratch space of a database serves one scan at a time, and a scan lets other threads run meanwhile.
        self._turn = allocate_lock()
        try:
            self._database = self._loaded(compiled) or self._compiled(0)
        except hyperscan.ArchitectureError as error:
            raise ImportError("this processor lacks SSSE3") from error

    def _compiled(self, flags: int) -> Any:
        database = self._hs.Database(mode=self._hs.HS_MODE_BLOCK)
        # Escaped rather than `literal=True`: the binding measures literals with strlen() and would cut them at a
        # NUL byte (python-hyperscan 0.9.1, extension.c, Database_compile).
        database.compile(
            expressions=[_escaped(literal) for literal in self._literals],
            ids=list(range(len(self._literals))),
            elements=len(self._literals),
            flags=[flags] * len(self._literals),
        )
        return database

    def _loaded(self, compiled: bytes | memoryview) -> Any:
        stamp, body = bytes(compiled[:8]), bytes(compiled[8:])
        # Hyperscan's own checksum leaves the tail of its padding out, and it trusts what it loads.
        if stamp != self._stamp + zlib.crc32(body).to_bytes(4, "big"):
            return None
        try:
            database = self._hs.loadb(body, self._hs.HS_MODE_BLOCK)
        except self._hs.HyperscanError:
            return None
        database.scratch = self._hs.Scratch(database)  # loadb leaves it None, and scan would follow that
        return database

    def dump(self) -> bytes:
        body: bytes = self._hs.dumpb(self._database)
        return self._stamp + zlib.crc32(body).to_bytes(4, "big") + body

    def find(self, data: Any, *, limit: int | None = DEFAULT_LIMIT) -> list[tuple[int, int]]:
        lengths = self._lengths
        longest = max(lengths)
        most = float("inf") if limit is None else limit
        hits: list[tuple[int, int]] = []
        with memoryview(data) as view:
            for base in range(0, len(view), _HYPERSCAN_PIECE):
                # A literal that begins in this piece may end in the next one, and is reported here.
                with view[base : base + _HYPERSCAN_PIECE + longest - 1] as piece:

                    def report(
                        number: int, _start: int, end: int, _flags: int, _context: object, base: int = base
                    ) -> bool:
                        begin = end - lengths[number]
                        if begin < _HYPERSCAN_PIECE:
                            hits.append((base + begin, number))
                        return len(hits) > most

                    try:
                        with self._turn:
                            self._database.scan(piece, match_event_handler=report)
                    except self._hs.ScanTerminated:
                        hits.sort()
                        raise FloodError(hits[:limit]) from None
        hits.sort()
        return hits

    def present(self, data: Any) -> frozenset[int]:
        with self._turn:
            if self._singles is None:
                self._singles = self._compiled(self._hs.HS_FLAG_SINGLEMATCH)
        found: set[int] = set()
        longest = max(self._lengths)

        def report(number: int, _start: int, _end: int, _flags: int, _context: object) -> bool:
            found.add(number)
            return False

        with memoryview(data) as view:
            for base in range(0, len(view), _HYPERSCAN_PIECE):
                with view[base : base + _HYPERSCAN_PIECE + longest - 1] as piece, self._turn:
                    self._singles.scan(piece, match_event_handler=report)
        return frozenset(found)


def _escaped(literal: bytes) -> bytes:
    """``literal`` as a regular expression of printable ASCII."""
    return b"".join(
        bytes((byte,)) if chr(byte).isascii() and chr(byte).isalnum() else b"\\x%02x" % byte for byte in literal
    )


class _Pieces:
    """What the two back ends share that work on pieces of the data."""

    def __init__(self, literals: Sequence[bytes]) -> None:
        self._literals = tuple(literals)
        self._longest = max(map(len, literals), default=1)

    def dump(self) -> bytes:
        return b""

    def _hits_of(self, piece: memoryview, begins: int, base: int) -> list[tuple[int, int]]:
        raise NotImplementedError

    def find(self, data: Any, *, limit: int | None = DEFAULT_LIMIT) -> list[tuple[int, int]]:
        hits: list[tuple[int, int]] = []
        with memoryview(data) as view:
            for base in range(0, len(view), _COPIED_PIECE):
                with view[base : base + _COPIED_PIECE + self._longest - 1] as piece:
                    hits += self._hits_of(piece, _COPIED_PIECE, base)
                if limit is not None and len(hits) > limit:
                    hits.sort()
                    raise FloodError(hits[:limit])
        hits.sort()
        return hits


class _AhoCorasick(_Pieces):
    """ahocorasick_rs: wheels for more platforms than Hyperscan has, about a tenth of its speed."""

    name = "ahocorasick"

    def __init__(self, literals: Sequence[bytes]) -> None:
        import ahocorasick_rs  # noqa: PLC0415 - optional

        super().__init__(literals)
        self._automaton = ahocorasick_rs.BytesAhoCorasick(list(literals))

    def _hits_of(self, piece: memoryview, begins: int, base: int) -> list[tuple[int, int]]:
        matches = self._automaton.find_matches_as_indexes(piece, overlapping=True)
        return [(base + start, number) for number, start, _ in matches if start < begins]

    def present(self, data: Any) -> frozenset[int]:
        found: set[int] = set()
        with memoryview(data) as view:
            for base in range(0, len(view), _COPIED_PIECE):
                with view[base : base + _COPIED_PIECE + self._longest - 1] as piece:
                    matches = self._automaton.find_matches_as_indexes(piece, overlapping=True)
                found.update(number for number, _, _ in matches)
        return frozenset(found)


class _Stdlib(_Pieces):
    """One ``bytes.find`` per literal: slow with many literals, and always there."""

    name = "stdlib"

    def _hits_of(self, piece: memoryview, begins: int, base: int) -> list[tuple[int, int]]:
        text = bytes(piece)
        hits = []
        for number, literal in enumerate(self._literals):
            start = text.find(literal)
            while 0 <= start < begins:
                hits.append((base + start, number))
                start = text.find(literal, start + 1)
        return hits

    def present(self, data: Any) -> frozenset[int]:
        missing = set(range(len(self._literals)))
        with memoryview(data) as view:
            for base in range(0, len(view), _COPIED_PIECE):
                text = bytes(view[base : base + _COPIED_PIECE + self._longest - 1])
                missing -= {number for number in missing if self._literals[number] in text}
        return frozenset(range(len(self._literals))) - missing
