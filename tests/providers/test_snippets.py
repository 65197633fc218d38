from datetime import UTC, datetime

import pytest

from providers._snippets import cut, plain, published, snippet, title

NOW = datetime(2026, 8, 22, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Text with <b>bold</b> words", "Text with bold words"),
        ("un<b>believ</b>able", "unbelievable"),
        ("one<br/>two<br>three", "one two three"),
        ('<span class="hl">x</span> &amp; y &#39;z&#39;', "x & y 'z'"),
        ("a\n\t  b\u00a0c", "a b c"),
        ("vector<int> when x < y and y > z", "vector<int> when x < y and y > z"),
        ("&lt;b&gt; makes text bold", "<b> makes text bold"),
        (None, ""),
        (7, ""),
    ],
)
def test_plain_takes_out_markup_and_nothing_else(text, expected):
    assert plain(text) == expected


def test_snippet_is_cut_on_a_sentence_end():
    text = "A sentence of some length stands here. " * 20

    cut_text = snippet(text)

    assert len(cut_text) <= 500
    assert cut_text.endswith("here.")


def test_snippet_without_a_sentence_end_is_cut_on_a_word_end_and_says_so():
    text = "words and words " * 100

    cut_text = snippet(text)

    assert len(cut_text) <= 500
    assert cut_text.endswith(("words…", "and…"))


def test_title_is_at_most_200_characters_even_without_any_space():
    assert title("x" * 1000) == "x" * 199 + "…"


def test_cut_never_splits_a_word_that_ends_at_the_limit():
    assert cut("aaaa bbbb cccc", 10) == "aaaa bbbb…"


def test_sentence_end_inside_a_number_is_none():
    assert cut("The value is 3.14159 and it goes on and on", 20) == "The value is…"


def test_chinese_text_is_cut_after_its_full_stop():
    assert cut("这是第一句话。这是第二句话,很长很长很长", 10) == "这是第一句话。"


@pytest.mark.parametrize(
    "value",
    [
        "2026-03-02", "2026-03-02T10:00:00", "2026-03-02T10:00:00.0000000", "2026-03-02T23:59:59+09:00",
        "2026-03-02 00:00:00", "20260302", "20260302T101010Z", "2026/03/02", "02.03.2026", "Mar 2, 2026",
        "March 2nd, 2026", "2 March 2026", "Mon, 02 Mar 2026 10:00:00 GMT", 1772445600, 1772445600000, "1772445600",
    ],
)  # fmt: skip
def test_every_form_of_a_date_becomes_iso(value):
    assert published(value, now=NOW) == "2026-03-02"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("3 days ago", "2026-08-19"),
        ("an hour ago", "2026-08-22"),
        ("11 hours ago", "2026-08-21"),
        ("2 weeks ago", "2026-08-08"),
        ("yesterday", "2026-08-21"),
        ("today", "2026-08-22"),
    ],
)
def test_relative_dates_count_from_now(value, expected):
    assert published(value, now=NOW) == expected


@pytest.mark.parametrize(
    "value",
    [None, "", "2026", "2026-03", "soon", "2026-13-40", "0001-01-01", "2099-01-01", True, -5, 0, float("nan"),
     float("inf"), 10**400, [], {}, "9" * 500, "99999999999 years ago"],
)  # fmt: skip
def test_what_names_no_day_is_no_date(value):
    assert published(value, now=NOW) is None
