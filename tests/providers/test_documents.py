"""Every kind of document becomes readable Markdown, or an error that says why not. Pure functions, no worker."""

from __future__ import annotations

import pytest

from providers._contract import Empty, Note
from providers._extract.formats import Format, format_of
from tests import bombs
from tests.providers.document_reading import document, read

# --- choosing -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "content_type", "name", "expected"),
    [
        ("<html>", "text/html; charset=utf-8", "x", Format.HTML),
        ("<!DOCTYPE html><p>x", "", "x", Format.HTML),
        ("<!-- c --><html>", "text/plain", "x", Format.HTML),
        ("<p>no type", "application/pdf", "x.pdf", Format.TEXT),
        ("<!doctype html>", "application/pdf", "x.pdf", Format.HTML),
        ("no tags at all", "text/html", "x", Format.TEXT),
        (b"%PDF-1.4", "text/html", "x", Format.PDF),
        (b"rubbish\n%PDF-1.4", "application/pdf", "x", Format.PDF),
        ("a,b", "text/csv", "x", Format.CSV),
        ("a,b", "text/plain", "x.csv", Format.CSV),
        ("{}", "application/ld+json", "x", Format.JSON),
        ("{}", "", "x", Format.JSON),
        ("<rss/>", "application/rss+xml", "x", Format.XML),
        ("<?xml version='1.0'?><a/>", "application/octet-stream", "x", Format.XML),
        ("# x", "text/plain", "README.md", Format.MARKDOWN),
        ("x = 1", "text/plain", "x.py", Format.SOURCE),
        ("FROM x", "text/plain", "Dockerfile", Format.SOURCE),
        ("let x", "application/javascript", "x", Format.SOURCE),
        ("just words", "text/plain", "x", Format.TEXT),
        ("just words", "application/octet-stream", "x", Format.TEXT),
        (b"PK\x03\x04", "application/octet-stream", "x", Format.ZIP),
        (b"\x89PNG\r\n\x1a\n", "text/html", "x", Format.BINARY),
        (b"\x00\x01\x02", "text/plain", "x", Format.BINARY),
        ("hello you".encode("utf-16-le"), "text/plain", "x", Format.TEXT),
        ("hello".encode("utf-16"), "text/plain", "x", Format.TEXT),
    ],
)
def test_the_format_is_what_the_bytes_say_then_the_type_then_the_name(
    body: str | bytes, content_type: str, name: str, expected: Format
) -> None:
    assert format_of(document(body, content_type, name)) is expected


def test_every_document_is_marked_as_one_and_sanitised() -> None:
    page = read("zero\u200bwidth \x1b[31mred", "text/plain")

    assert page.markdown == "zerowidth red"
    assert page.signals.document
    assert page.sanitised


@pytest.mark.parametrize(("body", "content_type"), [("", "text/html"), (" \n", "text/plain"), ("\ufeff", "text/plain")])
def test_nothing_there_is_empty(body: str, content_type: str) -> None:
    with pytest.raises(Empty):
        read(body, content_type)


@pytest.mark.parametrize(
    ("body", "content_type", "said"),
    [
        (b"\x89PNG\r\n\x1a\n" + b"x" * 2_000, "image/png", "image/png, 2,008 bytes"),
        (b"\xff\xd8\xff" + b"\0" * 9, "application/octet-stream", "image/jpeg, 12 bytes"),
        (b"\0\1" * 50, "text/plain", "application/octet-stream, 100 bytes"),
        (b"\0\1" * 50, "audio/x-odd", "audio/x-odd, 100 bytes"),
        (bombs.zipped({"a.bin": b"x"}), "application/zip", "application/zip"),
    ],
)
def test_binary_data_is_described_and_never_printed(body: bytes, content_type: str, said: str) -> None:
    page = read(body, content_type)

    assert said in page.markdown
    assert len(page.markdown) < 120


def test_more_than_two_million_characters_are_cut_with_a_note() -> None:
    page = read("some words here\n" * 150_000, "text/plain")

    assert 1_990_000 < len(page.markdown) <= 2_000_000
    assert page.markdown.endswith("some words here")
    assert page.notes == (Note.TRUNCATED,)


# --- tables, JSON, feeds, text --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["name,size\nA,1\nB,2\n", "name;size\nA;1\nB;2\n", "name\tsize\r\nA\t1\r\nB\t2\r\n", "name|size\nA|1\nB|2\n"],
)
def test_csv_becomes_a_table_whatever_its_delimiter(text: str) -> None:
    assert read(text, "text/csv").markdown == "| name | size |\n| --- | --- |\n| A | 1 |\n| B | 2 |"


def test_a_comma_inside_a_semicolon_file_stays_in_its_cell() -> None:
    assert "| 1,5 | 2,5 |" in read("a;b\n1,5;2,5\n", "text/csv").markdown


def test_cells_cannot_break_the_table() -> None:
    page = read('a,b\n"x|y","two\nlines"\nshort\n', "text/csv")

    assert page.markdown.splitlines()[2:] == ["| x\\|y | two lines |", "| short |  |"]


def test_a_long_csv_is_cut_at_five_thousand_rows() -> None:
    page = read("n\n" + "".join(f"{n},x\n" for n in range(9_000)), "text/csv")

    assert page.markdown.count("\n") == 5_000
    assert page.notes == (Note.TRUNCATED,)


def test_json_is_indented_in_a_fence() -> None:
    assert read('{"a":[1],"b":"é"}', "application/json").markdown == (
        '```json\n{\n  "a": [\n    1\n  ],\n  "b": "é"\n}\n```'
    )


def test_json_that_does_not_parse_is_shown_as_it_came() -> None:
    assert read('{"a":1}\n{"a":2}', "application/x-ndjson").markdown == '```json\n{"a":1}\n{"a":2}\n```'


RSS = """<?xml version="1.0"?><rss version="2.0"><channel><title>News &amp; more</title><language>en</language>
<item><title>First [one]</title><link>http://site.example/a b</link><pubDate>Tue, 01 Dec 2026 10:00:00 GMT</pubDate>
<description>&lt;p&gt;Some &lt;b&gt;words&lt;/b&gt;&lt;/p&gt;</description></item>
<item><title>Second</title><guid>http://site.example/2</guid></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de"><title>Blog</title>
<entry><title>Eins</title><link rel="self" href="http://site.example/self"/><link href="http://site.example/1"/>
<updated>2026-01-02T03:04:05Z</updated><author><name>Nora</name></author><summary>Kurz.</summary></entry></feed>"""


def test_rss_becomes_a_list_of_entries() -> None:
    page = read(RSS, "application/rss+xml")

    assert page.markdown == (
        "# News & more\n\n- [First \\[one\\]](http://site.example/a%20b) (2026-12-01)\n  Some words\n"
        "- [Second](http://site.example/2)"
    )
    assert (page.title, page.language) == ("News & more", "en")


def test_atom_takes_the_link_to_the_page_with_date_and_author() -> None:
    page = read(ATOM, "application/atom+xml")

    assert "- [Eins](http://site.example/1) (2026-01-02, Nora)\n  Kurz." in page.markdown
    assert page.language == "de"


@pytest.mark.parametrize(
    ("base", "address"),
    [
        ("", "http://site.example/blog/1"),
        ('xml:base="https://other.example/a/"', "https://other.example/blog/1"),
        ('xml:base="javascript:x"', "http://site.example/blog/1"),
    ],
)
def test_links_of_a_feed_are_absolute(base: str, address: str) -> None:
    feed = f'<feed {base}><title>B</title><entry><title>T</title><link href="/blog/1"/></entry></feed>'

    assert read(feed, "application/atom+xml").markdown.endswith(f"- [T]({address})")


def test_a_feed_links_to_nothing_but_addresses_of_the_web() -> None:
    feed = '<feed><title>B</title><entry><title>T</title><link href="javascript:alert(1)"/></entry></feed>'

    assert read(feed, "application/atom+xml").markdown.endswith("- T")


def test_other_xml_and_broken_xml_are_shown_as_source() -> None:
    assert read("<a><b/></a>", "text/xml").markdown == "```xml\n<a><b/></a>\n```"
    assert read("<a><b></a>", "text/xml").markdown == "```xml\n<a><b></a>\n```"


def test_xhtml_sent_as_xml_goes_to_the_html_reader() -> None:
    body = "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><body><p>Some words of a page.</p>"
    body += "</body></html>"

    assert "Some words of a page." in read(body, "application/xml").markdown


def test_markdown_and_text_pass_through() -> None:
    text = "# Title\n\n- a\n- b\n\n```c\nint x;\n```"

    assert read(text, "text/markdown").markdown == text
    assert read(text, "text/markdown").title == "Title"
    assert read("a\n\tb", "text/plain").markdown == "a\n\tb"


def test_a_source_file_stands_in_a_fence_it_cannot_close() -> None:
    page = read('s = """\n```\n"""\n', "text/plain", "x.py")

    assert page.markdown == '````python\ns = """\n```\n"""\n````'


def test_other_charsets_are_read() -> None:
    assert read("Привет, мир".encode("cp1251"), "text/plain; charset=windows-1251").markdown == "Привет, мир"
