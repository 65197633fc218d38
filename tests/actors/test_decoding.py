"""Bounded decoding: one layer, capped while it happens, truncation noticed."""

from __future__ import annotations

import gzip
import random
import zlib

import pytest

from actors.decoding import PIECE_BYTES, decoder_for
from providers._contract import Malformed, TooLarge, Unavailable

TEXT = b"".join(b"line %d of a page\n" % number for number in range(20_000))


def raw_deflate(body: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(body) + stream.flush()


ENCODED = {"gzip": gzip.compress, "x-gzip": gzip.compress, "deflate": zlib.compress, "": bytes, "identity": bytes}


def decode(encoding: str, wire: bytes, *, cap: int = 1_000_000, step: int = 4096) -> bytes:
    decoder = decoder_for([encoding], cap)
    body = bytearray()
    for start in range(0, len(wire), step):
        for piece in decoder.feed(wire[start : start + step]):
            assert len(piece) <= max(PIECE_BYTES, step)
            body += piece
    decoder.finish()
    return bytes(body)


@pytest.mark.parametrize("step", [1, 2, 777, 1_000_000])
@pytest.mark.parametrize("encoding", ENCODED)
def test_one_layer_comes_out_as_it_went_in(encoding: str, step: int) -> None:
    body = TEXT[:5000] if step < 3 else TEXT

    assert decode(encoding, ENCODED[encoding](body), step=step) == body


@pytest.mark.parametrize("step", [1, 777, 1_000_000])
def test_deflate_without_the_header_of_zlib_is_read_too(step: int) -> None:
    body = TEXT[:5000] if step == 1 else TEXT

    assert decode("deflate", raw_deflate(body), step=step) == body


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_output_held_back_by_zlib_is_not_taken_for_truncation(encoding: str) -> None:
    body = bytes(PIECE_BYTES * 3)

    assert decode(encoding, ENCODED[encoding](body), step=10_000_000) == body


@pytest.mark.parametrize("encoding", ["gzip", "deflate", ""])
def test_an_empty_body_is_empty_whatever_its_label(encoding: str) -> None:
    assert decode(encoding, b"") == b""


@pytest.mark.parametrize("cut", [1, 8, 9, 100])
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_stream_that_broke_off_is_noticed(encoding: str, cut: int) -> None:
    with pytest.raises(Unavailable, match="broke off"):
        decode(encoding, ENCODED[encoding](TEXT)[:-cut])


def test_one_byte_of_deflate_is_a_stream_that_broke_off() -> None:
    with pytest.raises(Unavailable, match="broke off"):
        decode("deflate", b"x")


@pytest.mark.parametrize("encoding", ENCODED)
def test_the_cap_lets_through_exactly_as_much_as_it_says(encoding: str) -> None:
    wire = ENCODED[encoding](bytes(10_000))

    assert len(decode(encoding, wire, cap=10_000)) == 10_000
    with pytest.raises(TooLarge):
        decode(encoding, wire, cap=9_999)


def test_the_cap_holds_for_the_bytes_on_the_wire_too() -> None:
    wire = gzip.compress(random.Random(1).randbytes(9_990), 0)
    assert len(wire) > 10_000

    with pytest.raises(TooLarge):
        decode("gzip", wire, cap=10_000)


def test_what_follows_the_end_of_the_stream_is_ignored() -> None:
    assert decode("gzip", gzip.compress(b"one") + gzip.compress(b"two") + b"dust", step=7) == b"one"


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_bytes_in_no_encoding_are_malformed(encoding: str) -> None:
    with pytest.raises(Malformed):
        decode(encoding, b"\xff\xfe plain text, labelled wrongly")


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "gzip, br", "deflate, gzip", "compress", "x"])
def test_more_than_one_layer_and_unknown_encodings_are_refused(encoding: str) -> None:
    with pytest.raises(Malformed, match="not supported"):
        decoder_for(encoding.split(","), 1000)
    with pytest.raises(Malformed, match="not supported"):
        decoder_for([encoding], 1000)
