"""Every kind of document becomes readable Markdown, or an error that says why not. Pure functions, no worker."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pypdf
import pytest

from providers._contract import Document, Empty, Note, Page, TooLarge, Unsupported
from providers._extract import to_page
from providers._extract.formats import Format, format_of

sys.path.insert(0, str(Path(__file__).parents[1]))
import bombs


def read(body: str | bytes, content_type: str = "", name: str = "x") -> Page:
    return to_page(document(body, content_type, name))


def document(body: str | bytes, content_type: str = "", name: str = "x") -> Document:
    url = f"http://site.example/{name}"
    return Document(url, url, body.encode() if isinstance(body, str) else body, content_type)


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


# --- office ---------------------------------------------------------------------------------------------------------

P = "http://schemas.openxmlformats.org/presentationml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'


def pptx() -> bytes:
    names = f'xmlns:p="{P}" xmlns:a="{A}" xmlns:r="{R}"'
    presentation = f'<p:presentation {names}><p:sldIdLst><p:sldId id="256" r:id="rId1"/></p:sldIdLst></p:presentation>'
    title = '<p:sp><p:nvPr><p:ph type="title"/></p:nvPr><a:p><a:r><a:t>Plan</a:t></a:r></a:p></p:sp>'
    body = '<p:sp><a:p><a:r><a:t>One</a:t></a:r></a:p><a:p><a:pPr lvl="1"/><a:r><a:t>Two</a:t></a:r></a:p></p:sp>'
    cells = "".join(f"<a:tc><a:p><a:t>{text}</a:t></a:p></a:tc>" for text in "xy")
    grid = f"<p:graphicFrame><a:tbl><a:tr>{cells}</a:tr><a:tr>{cells}</a:tr></a:tbl></p:graphicFrame>"
    note = '<p:sp><p:nvPr><p:ph type="body"/></p:nvPr><a:p><a:t>Speak slowly</a:t></a:p></p:sp>'
    relation = '<Relationship Id="{}" Type="t" Target="{}"/>'
    return bombs.zipped(
        {
            "[Content_Types].xml": b"<Types/>",
            "ppt/presentation.xml": presentation.encode(),
            "ppt/_rels/presentation.xml.rels": RELATIONS.format(relation.format("rId1", "slides/slide1.xml")).encode(),
            "ppt/slides/slide1.xml": f"<p:sld {names}>{title}{body}{grid}</p:sld>".encode(),
            "ppt/slides/_rels/slide1.xml.rels": RELATIONS.format(
                relation.format("rId1", "../notesSlides/notesSlide1.xml")
            ).encode(),
            "ppt/notesSlides/notesSlide1.xml": f"<p:notes {names}>{note}</p:notes>".encode(),
        }
    )


def test_pptx_gives_slides_with_bullets_tables_and_notes() -> None:
    assert read(pptx()).markdown == (
        "## Slide 1: Plan\n\n- One\n  - Two\n\n| x | y |\n| --- | --- |\n| x | y |\n\nNotes: Speak slowly"
    )


def xlsx() -> bytes:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    sheets = '<sheet name="Open" sheetId="1" r:id="rId1"/><sheet name="Secret" sheetId="2" state="hidden" r:id="rId2"/>'
    text = '<c r="{}" t="inlineStr"><is><t>{}</t></is></c>'
    rows = f'<row r="1">{text.format("A1", "name")}{text.format("B1", "size|x")}</row>'
    rows += f'<row r="2">{text.format("A2", "one")}<c r="B2"><v>3</v></c></row>'
    sheet = f'<worksheet xmlns="{main}"><sheetData>{{}}</sheetData></worksheet>'
    relation = f'<Relationship Id="{{}}" Type="{R}/worksheet" Target="worksheets/{{}}.xml"/>'
    part = (
        '<Override PartName="/xl/{}" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.{}+xml"/>'
    )
    types = part.format("workbook.xml", "sheet.main") + part.format("worksheets/s1.xml", "worksheet")
    return bombs.zipped(
        {
            "[Content_Types].xml": f'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{types}</Types>'.encode(),
            "_rels/.rels": RELATIONS.format(
                f'<Relationship Id="r" Type="{R}/officeDocument" Target="xl/workbook.xml"/>'
            ).encode(),
            "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{R}"><sheets>{sheets}</sheets></workbook>'.encode(),
            "xl/_rels/workbook.xml.rels": RELATIONS.format(
                relation.format("rId1", "s1") + relation.format("rId2", "s2")
            ).encode(),
            "xl/worksheets/s1.xml": sheet.format(rows).encode(),
            "xl/worksheets/s2.xml": sheet.format(f'<row r="1">{text.format("A1", "hidden words")}</row>').encode(),
        }
    )


def test_xlsx_gives_the_visible_sheets_as_tables() -> None:
    assert read(xlsx()).markdown == "| name | size\\|x |\n| --- | --- |\n| one | 3 |"


def odt() -> bytes:
    office = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
    text = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
    inside = '<text:h text:outline-level="2">Head</text:h><text:p>Some <text:span>words</text:span></text:p>'
    inside += "<text:list><text:list-item><text:p>a</text:p></text:list-item></text:list>"
    content = f'<o:document-content xmlns:o="{office}" xmlns:text="{text}"><o:body><o:text>{inside}</o:text></o:body>'
    content += "</o:document-content>"
    return bombs.zipped({"mimetype": b"application/vnd.oasis.opendocument.text", "content.xml": content.encode()})


def test_odt_gives_headings_paragraphs_and_lists() -> None:
    assert read(odt()).markdown == "## Head\n\nSome words\n\n- a"


def docx() -> bytes:
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    paragraph = "<w:p>{}<w:r><w:t>{}</w:t></w:r></w:p>"
    heading = paragraph.format('<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>', "Report")
    cell = "<w:tc>" + paragraph.format("", "{}") + "</w:tc>"
    rows = "".join(f"<w:tr>{cell.format(key)}{cell.format(value)}</w:tr>" for key, value in ("kv", "12"))
    grid = f"<w:tbl>{rows}</w:tbl>"
    body = heading + paragraph.format("", "Plain words in a paragraph, enough of them to count.") + grid
    style = '<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style>'
    styles = f'<w:styles xmlns:w="{word}">{style}</w:styles>'
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    return bombs.zipped(
        {
            "[Content_Types].xml": b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
            "_rels/.rels": RELATIONS.format(
                f'<Relationship Id="r1" Type="{office}/officeDocument" Target="word/document.xml"/>'
            ).encode(),
            "word/_rels/document.xml.rels": RELATIONS.format(
                f'<Relationship Id="r1" Type="{office}/styles" Target="styles.xml"/>'
            ).encode(),
            "word/styles.xml": styles.encode(),
            "word/document.xml": f'<w:document xmlns:w="{word}"><w:body>{body}</w:body></w:document>'.encode(),
            "docProps/core.xml": b'<c xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Yearly</dc:title><dc:creator>Ann</dc:creator></c>',
        }
    )


def test_docx_gives_headings_and_paragraphs_and_its_properties() -> None:
    page = read(docx())

    assert "# Report" in page.markdown
    assert "| 1 | 2 |" in page.markdown
    assert "Plain words in a paragraph" in page.markdown
    assert (page.title, page.byline) == ("Yearly", "Ann")


def epub() -> bytes:
    container = '<container><rootfiles><rootfile full-path="OEBPS/b.opf"/></rootfiles></container>'
    package = """<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>The Book</dc:title>
    <dc:creator>Ann</dc:creator><dc:language>en</dc:language></metadata><manifest><item id="b" href="b.xhtml"/>
    <item id="a" href="a.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/></spine></package>"""
    chapter = "<html><head><title>x</title></head><body><h1>{}</h1><p>{}</p></body></html>"
    return bombs.zipped(
        {
            "mimetype": b"application/epub+zip",
            "META-INF/container.xml": container.encode(),
            "OEBPS/b.opf": package.encode(),
            "OEBPS/a.xhtml": chapter.format("Start", "It began with a sentence that was long enough.").encode(),
            "OEBPS/b.xhtml": chapter.format("End", "It ended with another sentence of that length.").encode(),
        }
    )


def test_epub_gives_its_chapters_in_the_order_of_the_spine() -> None:
    page = read(epub())

    assert page.markdown.index("It began") < page.markdown.index("It ended")
    assert (page.title, page.byline, page.language) == ("The Book", "Ann", "en")


def test_rtf_gives_its_text() -> None:
    assert read(r"{\rtf1\ansi Hello \b bold\b0\par Two}", "application/rtf").markdown == "Hello bold\nTwo"


@pytest.mark.parametrize("body", [b"PK\x03\x04 cut", pptx()[:-30], b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"])
def test_damaged_archives_are_unsupported_or_described(body: bytes) -> None:
    try:
        said = read(body).markdown
    except Unsupported as error:
        said = error.detail

    assert "damaged" in said or "binary data" in said


@pytest.mark.parametrize("body", [bombs.docx_bomb(60), bombs.xlsx_bomb(60), bombs.many_members(2_500)])
def test_an_archive_beyond_the_limits_is_too_large(body: bytes) -> None:
    with pytest.raises(TooLarge):
        read(body)


def test_a_forged_size_is_a_damaged_archive() -> None:
    with pytest.raises(Unsupported):
        read(bombs.forged_size())


# --- PDF ------------------------------------------------------------------------------------------------------------


def test_a_pdf_gives_its_pages_with_marks() -> None:
    body = bombs.pages([bombs.text_page("The first page says this."), bombs.text_page("The second says that.")])

    page = read(body, "application/pdf")

    assert page.markdown == "[page 1]\n\nThe first page says this.\n\n[page 2]\n\nThe second says that."
    assert page.content_type == "application/pdf"
    assert not page.notes
    assert not page.signals.no_text_layer


def test_words_broken_at_line_ends_are_joined_and_ligatures_spelt() -> None:
    from providers._extract.pdf import _tidy

    assert _tidy("adip-\niscing ef\ufb01cient ISO-\n8601 Anglo-\nSaxon\n# no head") == (
        "adipiscing effi cient".replace("effi cient", "efficient") + " ISO-\n8601 Anglo-\nSaxon\n\\# no head"
    )


def test_a_pdf_of_pictures_says_that_it_has_no_text_layer() -> None:
    page = read(bombs.pages([bombs.stream(b"0 0 10 10 re f")] * 3), "application/pdf")

    assert page.signals.no_text_layer
    assert Note.NO_TEXT_LAYER in page.notes
    assert page.markdown.startswith("This PDF has no text layer: its 3 pages hold pictures only")


def encrypted(password: str) -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(bombs.pages([bombs.text_page("Words behind a lock, readable.")])))
    writer.encrypt(password, "owner", algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_an_empty_password_is_no_obstacle() -> None:
    assert read(encrypted("")).markdown == "Words behind a lock, readable."


def test_a_real_password_is_said_so() -> None:
    with pytest.raises(Unsupported, match="locked with a password"):
        read(encrypted("secret"))


def test_a_damaged_pdf_is_said_so() -> None:
    with pytest.raises(Unsupported, match="damaged"):
        read(b"%PDF-1.7\n" + b"\x93\x01noise" * 50)


def test_one_bad_page_does_not_cost_the_others() -> None:
    body = bombs.pages(
        [
            bombs.text_page("A good page with words on it."),
            bombs.flate(b" " * (30 << 20)),
            bombs.text_page("Another good one, too."),
        ]
    )

    page = read(body)

    assert "A good page" in page.markdown
    assert "Another good one" in page.markdown
    assert Note.PARTIAL in page.notes


def test_a_long_file_is_read_up_to_three_hundred_pages() -> None:
    body = bombs.pages([bombs.text_page(f"This is page number {number}.") for number in range(1, 320)])

    page = read(body)

    assert "number 300." in page.markdown
    assert "number 301." not in page.markdown
    assert Note.TRUNCATED in page.notes


def test_links_of_a_pdf_that_its_text_does_not_show_are_listed() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(bombs.pages([bombs.text_page("See the site for more about this.")])))
    from pypdf.annotations import Link

    writer.add_annotation(0, Link(rect=(50, 700, 90, 720), url="https://site.example/more"))
    out = io.BytesIO()
    writer.write(out)

    assert "Links: <https://site.example/more>" in read(out.getvalue()).markdown
