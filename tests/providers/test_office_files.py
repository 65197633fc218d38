"""Office files and books: what stands in them, and what becomes of damaged and hostile ones."""

from __future__ import annotations

import pytest

from providers._contract import TooLarge, Unsupported
from tests import bombs
from tests.providers.document_reading import read

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
