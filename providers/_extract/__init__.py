"""Bytes that were fetched become a page: HTML and every kind of document, in a worker process.

`extract` is for providers; `to_page` is the pure function behind it. The files beside this one are loaded in the
workers only: importing this package costs nothing.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from providers._contract import Document, Page

__all__ = ["article_to_page", "extract", "to_page"]


async def extract(document: Document) -> Page:
    """Turn a fetched document into a sanitised page, in a worker that is killed when it takes too much.

    Of a PDF the pages that were finished before a kill are kept, with the notes `truncated` and `too_heavy`.

    Raises:
        Empty: There is nothing in it to read.
        Unsupported: It is damaged, locked by a password, or nothing that can be read as text.
        TooLarge: It unpacks to more than is allowed.
        TooHeavy: It took more than 10 s or 1 GiB, or its host did that twice within ten minutes.
    """
    # Not at the top: the workers load this package, and trio is no use to them.
    from providers import _workers

    from .formats import Format, format_of

    host = urlsplit(document.final_url or document.url).hostname
    if format_of(document) is not Format.PDF:
        return await _workers.run(to_page, document, host=host)
    from .paged import PdfEnd, assemble, pdf_parts

    result = await _workers.run_parts(pdf_parts, document, host=host)
    end = result.value if isinstance(result.value, PdfEnd) else None
    return assemble(document, result.parts, end)


def to_page(document: Document) -> Page:
    """The page that a document holds, sanitised. Pure, and slow where the document is hostile; raises as `extract`."""
    from .dispatch import dispatch

    return dispatch(document)


def article_to_page(document: Document) -> Page:
    """The page of a journal's article in JATS. Pure and for a worker; raises Empty where the full text is not in it."""
    from .jats import jats_to_page

    return jats_to_page(document)
