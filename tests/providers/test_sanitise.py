"""The boundary: nothing hidden, obeyed or fetched gets through, and honest text comes through unchanged."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers._clean import clean_characters
from providers._contract import Evidence, Found, Hit, Image, Page, Signals
from providers._sanitise import clean, clean_address, clean_hits, clean_line, clean_page, sanitise
from providers._workers import inline_workers

HONEST = {
    "persian": "می‌خواهم کتاب‌ها را بخوانم؛ نمی‌دانم چرا.",
    "hindi": "क्‍षत्रिय, क्‌ष और राष्ट्र — हिन्दी पाठ।",
    "bengali": "র‍্যাব এবং র‍্যাম",
    "malayalam": "അവന്‍ പാല്‍ കുടിച്ചു",
    "arabic": "مرحبا بالعالم، كيف الحال؟",
    "hebrew": "שלום עולם, מה שלומך?",
    "emoji": "👩🏽‍🚀 ❤️‍🔥 🏳️‍🌈 👁️‍🗨️ ⛹🏽‍♀️ 👨‍👩‍👧‍👦 ☎️ ©️ 1️⃣ #️⃣ 🇩🇪 🇧🇷 ✔︎",
    "cjk": "葛\U000e0100飾区と辻\U000e0101さん、芦\ufe00屋。",
    "chinese": "你好，世界！这是一个测试。",
    "korean": "안녕하세요 세계",
    "thai": "สวัสดีชาวโลก",
    "russian": "Съешь ещё этих мягких французских булок — ёж, «кавычки» и т. д.",
    "accents": "Zażółć gęślą jaźń; naïve café; e\u0301 combining",
    "mathematics": "∀x ∈ ℝ: ⌈x⌉ = −⌊−x⌋, 𝑎² + 𝑏² = 𝑐²",
    "markdown": '# Title\n\n- a [link](https://e.example/a(b)c "t") and <https://e.example>\n\n| a |\n| --- |\n',
    "code": "Use `![alt](http://e.example/i.png)`:\n\n```md\n![alt](http://e.example/i.png)\n[x](javascript:y)\n```\n",
    "tabs": "a\tb\n\tc\n",
    "footnote": "Great![1] And array[0](x) or f[i](see note) stay.",
    "generics": "Map<K, V> extends Foo<T>; a < b && c > d; <T extends Bar>",
    "escaped": "write \\![not a picture](http://e.example) and \\[x\\](javascript:y)",
}


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST.keys())
def test_honest_text_is_byte_identical(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    ("hidden", "left"),
    [
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]8;;http://e.example\x1b\\b", "ab"),
        ("a\x1bP1;2q#0\x1b\\b", "ab"),
        ("a\x1b(Bb\x1b7c", "abc"),
        ("a\x9b31mb", "ab"),
        ("a\x9d0;t\x9cb", "ab"),
        ("a\x1b", "a"),
        ("a\x00\x08\x7f\x80b", "ab"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a\u2028b\u2029c\x0cd", "a\nb\nc\nd"),
        ("a\u00ad\u200b\u200e\u200f\u202e\u2066\u2060\ufeff\ufff9b", "ab"),
        ("a\u061c\u180eb", "ab"),
        ("a" + "".join(chr(0xE0000 + ord(letter)) for letter in "ignore") + "b", "ab"),
        ("x" + "".join(chr(0xFE00 + nibble) for nibble in (1, 9, 14)) + "y", "xy"),
        ("😀" + "".join(chr(0xE0100 + byte) for byte in b"secret"), "😀"),
        ("漢\U000e0100\U000e0101\U000e0102", "漢\U000e0100"),
        ("❤\ufe0f\ufe0f", "❤\ufe0f"),
        ("a\u200cb\u200dc", "abc"),
        ("می\u200c\u200c\u200cخواهم", "می\u200cخواهم"),
        ("می\u200c ", "می "),
        ("\ue000a\U000f0000b\U0010fffd", "ab"),
        ("a\ud800b\udfff", "a\ufffdb\ufffd"),
        ("a\ufffe\ufdd0\U0001ffffb", "a\ufffd\ufffd\ufffdb"),
        ("🏴\U000e0067\U000e0062\U000e007f", "🏴"),
    ],
)
def test_what_no_reader_sees_is_gone(hidden: str, left: str) -> None:
    assert clean(hidden) == left


@pytest.mark.parametrize(
    ("markdown", "left"),
    [
        ("![a cat](http://evil.example/?q=1)", "[image: a cat]"),
        ("![](http://evil.example/?q=1)", "[image]"),
        ('![a](<http://e.example/a b> "title")', "[image: a]"),
        ("![a [b] c](http://e.example)", "[image: a b c]"),
        ("[![alt](http://e.example/i)](http://e.example/)", "[[image: alt]](http://e.example/)"),
        ("![a][ref]", "[image: a]"),
        ("![a\n![b](c)", "! [a\n[image: b]"),
        ('<img src="http://evil.example" alt="cat">', "[image: cat]"),
        ("<IMG SRC=http://evil.example>", "[image]"),
        ("[x](javascript:alert(1))", "[x]"),
        ("[x](JaVaScRiPt:alert(1)) y", "[x] y"),
        ("[x](data:text/html;base64,AA)", "[x]"),
        ("[x](java&#115;cript:a)", "[x]"),
        ("[x](javascript&colon;a)", "[x]"),
        ("[x](javascript\\:a)", "[x]"),
        ("[x](vbscript:a)[y](file:///etc/passwd)", "[x] [y]"),
        ("[x](mailto:a@e.example) [y](HTTPS://e.example)", "[x](mailto:a@e.example) [y](HTTPS://e.example)"),
        ("<javascript:alert(1)>", " javascript:alert(1)>"),
        ("[r]: javascript:alert(1)", "[r] : javascript:alert(1)"),
        ("a<!-- secret\norder -->b", "a b"),
        ('<a href="javascript:x">t</a>', "<a>t</a>"),
    ],
)
def test_pictures_and_foreign_links_are_disarmed(markdown: str, left: str) -> None:
    assert clean(markdown) == left


@pytest.mark.parametrize(
    "disguised",
    [
        "```\n![x](http://evil.example)",
        "<pre>\n\n```\n</pre>\n![x](http://evil.example)\n\n```",
        "<div>\n```\n\n![x](http://evil.example)\n\n```\n",
        "- ```\n  ```\n![x](http://evil.example)\n```\n```",
        "<!--\n```\n-->\n![x](http://evil.example)\n```",
        "`a\n- ![x](http://evil.example)` `b`",
        "| ` | ![x](http://evil.example) | ` |",
        '<a title="`">![x](http://evil.example)`',
        "\\`![x](http://evil.example)`",
        "![`]`](http://evil.example)",
        "![a\\]b](http://evil.example)",
        "![a [b [c]] d](http://evil.example)",
        "![foo]\n\n[foo]: http://evil.example",
        "\\\\![x](http://evil.example)",
        "![x](\nhttp://evil.example\n)",
        '<img alt="<" src="http://evil.example">',
        "!![x](http://evil.example)",
    ],
)
def test_a_picture_cannot_hide_where_only_we_see_code(disguised: str) -> None:
    cleaned = clean(disguised)

    markers = cleaned.replace("\\\\", "").replace("\\![", "").replace("!\\[", "")
    assert "![" not in markers or "](http" not in markers
    assert "<img" not in cleaned
    assert clean(cleaned) == cleaned


def test_a_title_is_one_short_line() -> None:
    assert clean_line(" a\n\tb\u2028c ") == "a b c"
    assert len(clean_line("word " * 100)) <= 300
    assert clean_line("![x](http://e.example) t") == "[image: x] t"


MARKS = (
    '![ ]( ) [ ] ]: < > <img alt= <!-- --> ` ``` ~~~ \\ javascript: http://e &#58; ! a - > " | 31m 1 <a_href='.split()
)
ODD_CHARACTERS = list("\n \x1b\x9b\x9d\x07\r\u200c\u200d\ufe0f\u20e3\U000e0100\U000e0061❤漢ی\ud800")
PIECES = st.sampled_from([*(mark.replace("_", " ") for mark in MARKS), *ODD_CHARACTERS, "\n\n", "    ", "- "])


@settings(max_examples=600, deadline=None)
@given(st.lists(PIECES, max_size=24).map("".join))
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once = clean(text)

    assert clean(once) == once
    assert clean_characters(once) == once
    assert clean_line(clean_line(text)) == clean_line(text)


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_any_text_is_cleaned_to_something_utf8_can_carry(text: str) -> None:
    clean(text).encode("utf-8")


HOSTILE = {
    "pictures": "![a](http://x/y)",
    "open pictures": "![a",
    "links": "[a](javascript:",
    "definitions": "[a]:\n",
    "less-than": "<",
    "tags": "<img ",
    "anchors": "<a href=",
    "comments": "<!--",
    "fences": "```a\n",
    "backticks": "`a",
    "osc": "\x1b]",
    "joiners": "a\u200c",
    "selectors": "\ufe0f",
    "blanks": "](\n",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
def test_time_is_linear_in_the_length(piece: str) -> None:
    def seconds(count: int) -> float:
        started = time.process_time()
        clean(piece * count + "![`<](")
        return time.process_time() - started

    small, large = seconds(5_000), seconds(40_000)

    assert large < 8 * small * 4 + 0.1  # eight times as much; a square would be sixty-four


@pytest.mark.soak
@pytest.mark.parametrize("name", ["persian", "emoji", "russian", "markdown"])
def test_ten_megabytes_are_cleaned_in_half_a_second(name: str) -> None:
    text = HONEST[name] + "\n"
    text = text * (10_000_000 // len(text.encode()))
    started = time.process_time()
    clean(text)

    assert time.process_time() - started < 0.5


def test_hits_without_a_web_address_are_dropped() -> None:
    hits = clean_hits([Hit("javascript:x", "t"), Hit("https://e.example/a b", "a\nb", "s\x1b[1m", "2026-01-01")])

    assert hits == (Hit("https://e.example/a%20b", "a b", "s", "2026-01-01"),)


def test_an_address_of_another_scheme_is_none() -> None:
    assert clean_address("data:image/png;base64,AA") is None
    assert clean_address("http://e.example/\u202ea") == "http://e.example/a"


def test_every_text_of_a_page_is_cleaned() -> None:
    bad = "x\u200b\x1b[1m"
    address = "http://e.example/"
    page = Page(
        address, bad, address, bad, bad, bad, bad, bad, bad, bad, "data:x", ("file:///x", "http://e.example/i"),
        "javascript:x", signals=Signals(headline=bad, wall=bad), evidence=Evidence(address, content_type=bad)
    )  # fmt: skip

    cleaned = clean_page(page)

    assert cleaned.sanitised
    assert "\u200b" not in repr(cleaned)
    assert "\x1b" not in cleaned.markdown + cleaned.title
    assert (cleaned.main_image, cleaned.favicon, cleaned.images) == (None, None, ("http://e.example/i",))


async def test_sanitise_takes_every_value_a_provider_returns() -> None:
    image = Image("http://e.example/i", "javascript:x", "t\n", "data:x")

    assert await sanitise("a\u200b") == "a"
    assert await sanitise(Found((Hit("ftp://e", "x"),), "no\ndates")) == Found((), "no dates")
    assert await sanitise(Found((image,))) == Found((Image("http://e.example/i", "", "t", None),))
    assert await sanitise(True) is True
    assert await sanitise((2, 0, 1)) == (2, 0, 1)


async def test_a_page_that_is_clean_is_not_cleaned_again() -> None:
    page = Page("http://e.example/", "text", sanitised=True)

    assert await sanitise(page) is page


async def test_a_long_page_is_cleaned_in_a_worker_without_its_body() -> None:
    page = Page("http://e.example/", "word\u200b " * 30_000, evidence=Evidence("http://e.example/", body=b"x"))

    with pytest.raises(RuntimeError, match="no worker pool"):
        await sanitise(page)
    with inline_workers():
        cleaned = await sanitise(page)

    assert cleaned.markdown == "word " * 30_000
    assert cleaned.evidence == page.evidence
