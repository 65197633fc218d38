"""Decoding of compressed bodies, bounded while it happens.

httpx decodes a chunk whole before anyone can look at it: half a megabyte of gzip becomes 512 MB in one piece, any
number of layers is undone, and a body that breaks off passes as complete (measured with 0.28). Here one layer of
gzip or deflate is undone in pieces, and the end of the stream must have been seen.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Protocol

from providers._contract import Malformed, TooLarge, Unavailable

PIECE_BYTES = 256 * 1024


class Decoder(Protocol):
    """Turns the bytes on the wire into those of the body."""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The decoded pieces of one more chunk, each at most `PIECE_BYTES` long unless it came so.

        Raises TooLarge past the cap, Malformed where the bytes are not in the encoding.
        """

    def finish(self) -> None:
        """To be called at the end of the body. Raises Unavailable where the stream had not ended."""


def decoder_for(encodings: Sequence[str], max_bytes: int) -> Decoder:
    """The decoder for the values of Content-Encoding. Raises Malformed for more than one layer and unknown ones."""
    layers = [name.strip().lower() for value in encodings for name in value.split(",")]
    layers = [name for name in layers if name not in ("", "identity")]
    if not layers:
        return Plain(max_bytes)
    if layers in (["gzip"], ["x-gzip"]):
        return Inflater(max_bytes, gzip=True)
    if layers == ["deflate"]:
        return Inflater(max_bytes, gzip=False)
    raise Malformed("content encoding not supported")


class Plain:
    """No encoding: counts only."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        self._left -= len(chunk)
        if self._left < 0:
            raise TooLarge("body over the limit")
        yield chunk

    def finish(self) -> None:
        pass


class Inflater:
    """Gzip, or deflate in both its forms: with the header of zlib, and raw as some servers send it.

    The cap holds for the bytes on the wire and for the decoded ones. A second gzip member, like anything behind the
    end of the stream, is ignored.
    """

    def __init__(self, max_bytes: int, *, gzip: bool) -> None:
        self._wire_left = max_bytes
        self._left = max_bytes
        self._was_fed = False
        self._start = b""
        self._stream = zlib.decompressobj(31) if gzip else None

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        self._was_fed = True
        self._wire_left -= len(chunk)
        if self._wire_left < 0:
            raise TooLarge("body over the limit")
        if self._stream is None:
            self._start += chunk
            if len(self._start) < 2:
                return
            chunk = self._start
            self._stream = zlib.decompressobj(15 if _has_zlib_header(chunk) else -15)
        yield from self._inflate(self._stream, chunk)

    def _inflate(self, stream: zlib._Decompress, chunk: bytes) -> Iterator[bytes]:
        while not stream.eof:
            # One byte past the cap is enough to know that there are more.
            most = min(PIECE_BYTES, self._left + 1)
            try:
                piece = stream.decompress(chunk, most)
            except zlib.error as error:
                raise Malformed("content encoding broken") from error
            self._left -= len(piece)
            if self._left < 0:
                raise TooLarge("decoded body over the limit")
            if piece:
                yield piece
            chunk = stream.unconsumed_tail
            if not chunk and len(piece) < most:
                return

    def finish(self) -> None:
        ended = self._stream is not None and self._stream.eof
        # Servers label empty bodies with an encoding too, and those are complete.
        if self._was_fed and not ended:
            raise Unavailable("compressed body broke off")


def _has_zlib_header(start: bytes) -> bool:
    """The test of RFC 1950: method 8, and both bytes together a multiple of 31."""
    return start[0] & 0x0F == 8 and int.from_bytes(start[:2], "big") % 31 == 0
