"""Where pages are cut, how pages share a limit, and what is remembered of pages that were cut."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers._contract import Evidence
from service import paging
from service.paging import (
    MAX_CACHED_BYTES,
    MAX_CACHED_PAGES,
    MAX_FINGERPRINTS,
    PageCache,
    PageKey,
    cut,
    share,
    within_bytes,
)
from tests.service.desk import page, unread

WORDS = st.lists(st.text("abcdefgh", min_size=1, max_size=9), min_size=1, max_size=60)
PROSE = st.lists(
    st.sampled_from(["word", " ", ". ", "\n", "\n\n", "```\n", "日本", "é", "👩‍👩‍👧", "🇫🇷", "!"]), max_size=120
)


def pieces(text: str, limit: int) -> list[str]:
    found, offset = [], 0
    while True:
        piece = cut(text, offset, limit)
        found.append(piece.text)
        if piece.next_offset is None:
            return found
        assert piece.next_offset > offset
        offset = piece.next_offset


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=300), PROSE.map("".join)), st.integers(1, 120))
def test_pieces_joined_are_the_whole_text(text: str, limit: int) -> None:
    parts = pieces(text, limit)

    assert "".join(parts) == text
    assert all(len(part) <= limit for part in parts)


@settings(max_examples=100, deadline=None)
@given(WORDS, st.integers(10, 60))
def test_no_cut_falls_inside_a_word_that_fits(words: list[str], limit: int) -> None:
    parts = pieces(" ".join(words), limit)

    assert " ".join(parts).split() == words


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["e\u0301", "👩\u200d👩\u200d👧", "🇫🇷", "👍🏽", "❤\ufe0f"]), min_size=1, max_size=40),
    st.integers(12, 40),
)
def test_no_cut_tears_a_character_from_its_marks(characters: list[str], limit: int) -> None:
    for part in pieces("".join(characters), limit):
        while part:
            whole = next((character for character in characters if part.startswith(character)), None)
            assert whole is not None
            part = part.removeprefix(whole)


@pytest.mark.parametrize(
    ("text", "limit", "first"),
    [
        ("One. Two.\n\nThree four five", 20, "One. Two.\n\n"),
        ("One two. Three four five", 18, "One two. "),
        ('He said "no." Then left for good', 20, 'He said "no." '),
        ("one two three four", 10, "one two "),
        ("item one\nitem two\nitem three", 20, "item one\nitem two\n"),
        ("これは文です。次の文です。", 10, "これは文です。"),
        ("日本語の文章", 4, "日本語の"),
        ("Heading\n\nA long line of words that goes on and on", 40, "Heading\n\n"),
        ("aaaaaaaaaaaaaaaaaaaa", 7, "aaaaaaa"),
        ("Text here.\n\n```\ncode one\n\ncode two\n```\n", 30, "Text here.\n\n"),
        ("```\ncode one\n\ncode two\n\n```\n", 20, "```\ncode one\n\n"),
        ("````\n```\n\nx\n````\n\nAfter it all", 22, "````\n```\n\nx\n````\n\n"),
    ],
)
def test_a_cut_falls_where_a_reader_would_stop(text: str, limit: int, first: str) -> None:
    assert cut(text, 0, limit).text == first


def test_a_text_that_fits_is_not_cut() -> None:
    piece = cut("whole", 0, 5)

    assert (piece.text, piece.is_cut, piece.next_offset, piece.length) == ("whole", False, None, 5)


@pytest.mark.parametrize("offset", [5, 6, 10**12])
def test_an_offset_past_the_end_gives_nothing(offset: int) -> None:
    piece = cut("whole", offset, 100)

    assert (piece.text, piece.start, piece.next_offset, piece.length) == ("", 5, None, 5)


@pytest.mark.parametrize(
    "text", ["x" * 2_000_000, "\n" * 2_000_000, "a. " * 700_000, "```\n" * 500_000, "🇫" * 2_000_000]
)
def test_a_cut_of_a_huge_page_takes_no_time(text: str) -> None:
    started = time.process_time()

    cut(text, 0, 1_000_000)

    assert time.process_time() - started < 1.0


# --- shares ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lengths", "per_page", "together", "allowed"),
    [
        ([10, 20, 30], 0, 0, [10, 20, 30]),
        ([10, 20, 30], 15, 0, [10, 15, 15]),
        ([10, 200, 300], 0, 110, [10, 50, 50]),
        ([100, 100, 100], 0, 90, [30, 30, 30]),
        ([5, 100, 20, 100], 50, 80, [5, 28, 20, 27]),
        ([], 10, 10, []),
        ([0, 0], 10, 1, [0, 0]),
    ],
)
def test_short_pages_leave_their_share_to_the_others(
    lengths: list[int], per_page: int, together: int, allowed: list[int]
) -> None:
    assert sorted(share(lengths, per_page, together)) == sorted(allowed)


@given(st.lists(st.integers(0, 10_000), max_size=20), st.integers(0, 5000), st.integers(0, 50_000))
def test_shares_never_exceed_a_limit_and_waste_nothing(lengths: list[int], per_page: int, together: int) -> None:
    allowed = share(lengths, per_page, together)
    wanted = [min(length, per_page or length) for length in lengths]

    assert all(0 <= given <= want for given, want in zip(allowed, wanted, strict=True))
    assert sum(allowed) == min(sum(wanted), together or sum(wanted))


# --- memory ---------------------------------------------------------------------------------------------------------


def key(number: int = 0) -> PageKey:
    return PageKey(f"https://a.example/{number}", False, False)


def test_a_page_is_kept_for_ten_minutes() -> None:
    cache = PageCache()
    cache.keep(key(), page("https://a.example/"), "text", now=100.0)

    kept = cache.get(key(), 699.9)

    assert kept is not None
    assert kept.markdown == "text"
    assert cache.get(key(), 700.0) is None
    assert cache.bytes_held == 0


def test_pages_with_other_options_are_other_pages() -> None:
    cache = PageCache()
    cache.keep(key(), page("https://a.example/"), "text", 0.0)

    assert cache.get(PageKey(key().url, True, False), 0.0) is None
    assert cache.get(PageKey(key().url, False, True), 0.0) is None


def test_the_longest_unused_page_goes_first() -> None:
    cache = PageCache()
    for number in range(MAX_CACHED_PAGES):
        cache.keep(key(number), page("https://a.example/"), "text", 0.0)
    cache.get(key(0), 1.0)

    cache.keep(key(MAX_CACHED_PAGES), page("https://a.example/"), "text", 1.0)

    assert len(cache) == MAX_CACHED_PAGES
    assert cache.get(key(0), 1.0) is not None
    assert cache.get(key(1), 1.0) is None


def test_pages_together_hold_no_more_than_their_limit() -> None:
    cache = PageCache()
    for number in range(10):
        cache.keep(key(number), page("https://a.example/"), "x" * 5_000_000, 0.0)

    assert len(cache) == 6
    assert cache.bytes_held <= MAX_CACHED_BYTES


def test_a_page_larger_than_the_memory_is_not_kept() -> None:
    cache = PageCache()

    cache.keep(key(), page("https://a.example/"), "x" * MAX_CACHED_BYTES, 0.0)

    assert len(cache) == 0


def test_keeping_a_page_again_counts_it_once() -> None:
    cache = PageCache()
    for _ in range(3):
        cache.keep(key(), page("https://a.example/"), "text" * 100, 0.0)

    assert len(cache) == 1
    assert cache.bytes_held < 600


def test_a_kept_page_holds_one_text_and_no_body() -> None:
    cache = PageCache()
    result = page("https://a.example/", "long text", evidence=Evidence("https://a.example/", body=b"bytes"))

    cache.keep(key(), result, "long text", 0.0)

    kept = cache.get(key(), 0.0)
    assert kept is not None
    assert kept.result.page is not None
    assert (kept.result.page.markdown, kept.result.page.evidence) == ("", None)


def test_a_result_without_a_page_is_kept_as_it_is() -> None:
    cache = PageCache()

    cache.keep(key(), unread("https://a.example/"), "", 0.0)

    assert cache.get(key(), 0.0) is not None


def test_a_page_that_was_let_go_is_still_known_by_its_fingerprint() -> None:
    cache = PageCache()
    cache.keep(key(), page("https://a.example/"), "text", 0.0)

    assert cache.get(key(), 1000.0) is None
    assert not cache.has_changed(key(), "text")
    assert cache.has_changed(key(), "another text")
    assert not cache.has_changed(key(1), "text")


def test_fingerprints_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "MAX_FINGERPRINTS", 2)
    cache = PageCache()
    for number in range(3):
        cache.keep(key(number), page("https://a.example/"), "text", 0.0)

    assert MAX_FINGERPRINTS == 1024
    assert not cache.has_changed(key(0), "other")
    assert cache.has_changed(key(1), "other")


@given(
    st.text(st.sampled_from('ab\n\t"\\ж漢👩'), max_size=60),
    st.integers(0, 70),
    st.integers(1, 70),
    st.integers(40, 400),
)
def test_a_piece_within_bytes_holds_twice_in_them_as_json(text: str, start: int, limit: int, most: int) -> None:
    least = within_bytes(text, start, limit, most)

    part = text[start : start + least]
    assert least <= limit
    assert len(part) <= 1 or 2 * len(json.dumps(part, ensure_ascii=False).encode()) - 4 <= most
    assert within_bytes(text, start, limit, None) == limit


def test_a_cut_tears_no_skin_tone_off_a_hand() -> None:
    assert cut("ab👋🏽 c", 0, 3).text in ("ab", "ab👋🏽")
    assert cut("👋🏽👋🏽👋🏽", 0, 3).text == "👋🏽"
