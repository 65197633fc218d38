"""Which reader gets a document. Importing this loads every reader: done once, in the template of the workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from providers._contract import Document, Empty, Note, Page
from providers._sanitise import clean_page

from . import csv_, feed, json_, office, text
from .drafts import Draft, cut, page_of
from .formats import Format, binary_type, format_of
from .html import html_to_page
from .paged import PdfEnd, PdfHead, assemble, pdf_parts

_READERS: dict[Format, Callable[[Document], Draft | None]] = {
    Format.CSV: csv_.read_csv,
    Format.JSON: json_.read_json,
    Format.MARKDOWN: text.read_markdown,
    Format.SOURCE: text.read_source,
    Format.TEXT: text.read_text,
    Format.ZIP: office.read_archive,
    Format.SHEET: office.read_sheet,
    Format.RTF: office.read_rtf,
}


def dispatch(document: Document) -> Page:
    """The sanitised page of a document of any kind; raises as `extract` of this package."""
    if not document.body.strip():
        raise Empty("the answer has no content")
    kind = format_of(document)
    if kind is Format.PDF:
        return _pdf(document)
    draft = feed.read_xml(document) if kind is Format.XML else None
    if kind is Format.HTML or (kind is Format.XML and draft is None):
        return _html(document)
    if kind in _READERS:
        draft = _READERS[kind](document)
    return page_of(document, draft or _described(document))


def _html(document: Document) -> Page:
    """A web page, its text capped like that of every document."""
    page = html_to_page(document)
    markdown, is_cut = cut(page.markdown)
    return clean_page(replace(page, markdown=markdown, notes=(*page.notes, Note.TRUNCATED)) if is_cut else page)


def _pdf(document: Document) -> Page:
    """All pages in one go, for callers that do not take parts."""
    parts: list[PdfHead | str] = []
    reading = pdf_parts(document)
    while True:
        try:
            parts.append(next(reading))
        except StopIteration as end:
            return assemble(document, parts, end.value if isinstance(end.value, PdfEnd) else None)


def _described(document: Document) -> Draft:
    """A sentence in place of bytes that are no text (SPEC section 3: described, never printed)."""
    kind = binary_type(document) if format_of(document) is not Format.ZIP else "application/zip"
    return Draft(f"This address holds binary data, not text: {kind}, {len(document.body):,} bytes.")
