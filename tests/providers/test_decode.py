"""Bytes become text by what they are, not by what a header says; codecs from outside come off a list."""

from __future__ import annotations

import pytest

from providers._extract.decode import codec_of, decode

RUSSIAN = "Портовая контора ведёт бумажный журнал рядом с электронным, потому что мареограф дважды отказал. " * 4


@pytest.mark.parametrize(
    "name", ["punycode", "utf-7", "hex", "zlib", "base64", "rot13", "idna", "utf-8\0", "unicode_escape"]
)
def test_codec_that_is_no_character_set_is_never_used(name: str) -> None:
    assert codec_of(name) is None
    assert decode(b"+ADw-script+AD4-", f"text/html; charset={name}") == "+ADw-script+AD4-"


@pytest.mark.parametrize("codec", ["windows-1251", "koi8-r", "iso-8859-5", "utf-16le"])
def test_header_that_fits_the_bytes_is_believed(codec: str) -> None:
    assert decode(RUSSIAN.encode(codec), f'text/html; charset="{codec}"') == RUSSIAN


def test_valid_utf8_wins_over_any_header() -> None:
    assert decode(RUSSIAN.encode(), "text/html; charset=iso-8859-1") == RUSSIAN


def test_header_that_does_not_decode_loses_to_meta() -> None:
    page = f'<meta charset="windows-1251">{RUSSIAN}'

    assert decode(page.encode("cp1251"), "text/html; charset=utf-8") == page


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
def test_byte_order_mark_wins(codec: str) -> None:
    assert decode(RUSSIAN.encode(codec), "text/html; charset=koi8-r") == RUSSIAN


def test_character_cut_off_at_the_end_does_not_spoil_the_page() -> None:
    assert decode(RUSSIAN.strip().rstrip(".").encode()[:-1], "").startswith("Портовая контора")


def test_one_broken_byte_does_not_spoil_a_declared_utf8_page() -> None:
    text = decode(RUSSIAN.encode() + b"\xff" + RUSSIAN.encode(), "text/html; charset=utf-8")

    assert text.count("\ufffd") == 1
