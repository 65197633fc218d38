"""A PDF between worker and server: the pages that a worker sends one by one, and the page they become.

Page by page, because a page that never ends can only be killed together with its process, and what was read before
shall not be lost with it. Nothing here imports a PDF library; the server never loads one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from providers._contract import Document, Note, Page, Signals, TooHeavy
from providers._sanitise import clean_address

from .drafts import cut
from .formats import media_type

FEW_CHARS = 20
"""Fewer per page, over all pages, and the file is pictures of text (extraction.md section 4)."""


@dataclass(frozen=True, slots=True)
class PdfHead:
    """What a PDF says about itself, sent before its pages."""

    page_count: int
    title: str = ""
    byline: str = ""


@dataclass(frozen=True, slots=True)
class PdfEnd:
    """How reading ended. `truncated`: a limit stopped it; `unread`: pages that no library could read."""

    truncated: bool = False
    unread: int = 0


def pdf_parts(document: Document) -> Iterator[PdfHead | str]:
    """The head, then the text of each page, sanitised; returns a `PdfEnd`. Runs in a worker."""
    from .pdf import read_pdf

    return read_pdf(document.body)


def assemble(document: Document, parts: Sequence[PdfHead | str], end: PdfEnd | None) -> Page:
    """One page out of the parts. Cheap enough for the event loop. `end` is None after a kill.

    Raises TooHeavy when the reader was killed before it had any text.
    """
    head = next((part for part in parts if isinstance(part, PdfHead)), PdfHead(0))
    texts = [part for part in parts if isinstance(part, str)]
    chars = sum(len(text.strip()) for text in texts)
    if end is None and not chars:
        raise TooHeavy("the PDF used up its time or memory before its first page was read")
    has_text = chars >= FEW_CHARS * max(1, len(texts))
    markdown, is_cut = cut(_joined(texts) if has_text else _notice(head, texts))
    page = Page(
        url=clean_address(document.url) or "",
        final_url=clean_address(document.final_url) or "",
        markdown=markdown,
        title=head.title,
        byline=head.byline,
        content_type=media_type(document.content_type) or "application/pdf",
        signals=Signals(document=True, no_text_layer=not has_text, status=document.status),
        sanitised=True,  # each part was, in the worker
    )
    return replace(page, notes=tuple(_notes(end, is_cut, has_text)))


def _joined(texts: Sequence[str]) -> str:
    """The pages one after the other, each after its mark where there are several."""
    if len(texts) == 1:
        return texts[0]
    return "\n\n".join(f"[page {number}]\n\n{text}" for number, text in enumerate(texts, 1) if text)


def _notice(head: PdfHead, texts: Sequence[str]) -> str:
    count = head.page_count or len(texts)
    pages = "page" if count == 1 else "pages"
    notice = f"This PDF has no text layer: its {count} {pages} hold pictures only, and no text could be read from them."
    found = _joined(texts).strip()
    return f"{notice}\n\n{found}" if any(text.strip() for text in texts) else notice


def _notes(end: PdfEnd | None, is_cut: bool, has_text: bool) -> Iterator[Note]:
    if not has_text:
        yield Note.NO_TEXT_LAYER
    if end is None or end.truncated or is_cut:
        yield Note.TRUNCATED
    if end is None:
        yield Note.TOO_HEAVY
    if end is not None and end.unread:
        yield Note.PARTIAL
