"""PDF: pages, marks, links, locks, damage and pictures of text."""

from __future__ import annotations

import io

import pypdf
import pytest

from providers._contract import Note, Unsupported
from tests import bombs
from tests.providers.document_reading import read


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
