"""Decompression in bounded memory that keeps what can be read of a damaged archive."""

import zlib
from collections.abc import Iterator
from typing import IO, Final

from sgdoctor.errors import UserError
from sgdoctor.texts import Text

_GZIP: Final = b"\x1f\x8b\x08"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_STEP: Final = 1 << 20
# A zstd block of 4 bytes can stand for 128 KiB: small pieces bound what one call can give back.
_ZSTD_STEP: Final = 512


def method(head: bytes) -> str | None:
    """``gzip`` or ``zstd``, by the first bytes of a file; None for anything else."""
    if head.startswith(_GZIP):
        return "gzip"
    skippable = len(head) >= 4 and 0x50 <= head[0] <= 0x5F and head[1:4] == b"\x2a\x4d\x18"
    return "zstd" if head.startswith(_ZSTD) or skippable else None


class Unpacked:
    """A compressed file while it is read.

    Attributes:
        note: set when ``chunks`` ends before the archive does.
    """

    def __init__(self, name: str, file: IO[bytes], packed: str) -> None:
        self.note: Text | None = None
        self._name = name
        self._file = file
        self._packed = packed
        self._size = 0

    def chunks(self) -> Iterator[bytes]:
        """The decompressed bytes, members one after the other, in pieces that fit in memory.

        Raises:
            UserError: nothing at all can be read.
        """
        try:
            for chunk in self._gzip() if self._packed == "gzip" else self._zstd():
                if chunk:
                    self._size += len(chunk)
                    yield chunk
        except _DamagedError as error:
            if not self._size:
                raise UserError(
                    f"{self._name}: the {self._packed} archive is damaged: {error}",
                    f"{self._name}：{self._packed} 压缩文件已损坏：{error}",
                ) from None
            self.note = Text(
                f"{self._name}: the {self._packed} archive is cut off or damaged; "
                "only what could be read was looked at.",
                f"{self._name}：{self._packed} 压缩文件不完整或已损坏；只检查了能够读取的部分。",
            )

    def _gzip(self) -> Iterator[bytes]:
        while rest := self._next_member():
            unpacker = zlib.decompressobj(wbits=31)
            while not unpacker.eof:
                if not rest:
                    rest = self._file.read(_STEP)
                    if not rest:
                        # What was decoded of the last piece is still in the decompressor.
                        yield unpacker.flush()
                        raise _DamagedError("it ends too early")
                try:
                    yield unpacker.decompress(rest, _STEP)
                except zlib.error as error:
                    raise _DamagedError(str(error)) from None
                rest = unpacker.unconsumed_tail
            self._file.seek(-len(unpacker.unused_data), 1)

    def _next_member(self) -> bytes:
        """The beginning of the next member; empty at the end, where padding with zeros is allowed."""
        rest = self._file.read(_STEP)
        while rest and not rest.strip(b"\0"):
            rest = self._file.read(_STEP)
        rest = rest.lstrip(b"\0")
        if rest and method(rest) != self._packed and len(rest) >= 4:
            raise _DamagedError("data that does not belong to it follows")
        return rest

    def _zstd(self) -> Iterator[bytes]:
        try:
            import zstandard  # noqa: PLC0415
        except ImportError:
            raise UserError(
                f"{self._name}: .zst logs need the package zstandard: "
                "pip install zstandard, or zstd -dc FILE | sgdoctor diagnose -",
                f"{self._name}：读取 .zst 日志需要 zstandard："
                "pip install zstandard，或 zstd -dc 文件 | sgdoctor diagnose -",
            ) from None
        while member := self._next_member():
            rest = memoryview(member)
            unpacker = zstandard.ZstdDecompressor().decompressobj()
            while not unpacker.eof:
                if not rest:
                    rest = memoryview(self._file.read(_STEP))
                    if not rest:
                        raise _DamagedError("it ends too early")
                piece, rest = rest[:_ZSTD_STEP], rest[_ZSTD_STEP:]
                try:
                    yield unpacker.decompress(piece)
                except zstandard.ZstdError as error:
                    raise _DamagedError(str(error)) from None
            self._file.seek(-(len(rest) + len(unpacker.unused_data)), 1)


class _DamagedError(Exception):
    """The archive cannot be read any further."""
