"""Reading a page from here: fetch it once, extract it in a worker, and say how far it got."""

from __future__ import annotations

from dataclasses import replace

import httpx

from ._contract import Document, Evidence, Note, Page, ProviderError, Target
from ._extract import extract
from ._wire import fetch_page

_KEPT_BODY_BYTES = 1_000_000
"""A body up to here travels on with the walk; a larger one would be held for the sake of a reader that seldom comes."""


async def read_locally(target: Target, client: httpx.AsyncClient, *, max_body_bytes: int) -> Page:
    """Fetch and extract. Whatever is raised carries the evidence of how far the fetch got."""
    document = await fetch_page(client, target.url, max_body_bytes=max_body_bytes, progress=target.progress)
    evidence = _evidence_of(document)
    try:
        page = await extract(document)
    except ProviderError as error:
        error.evidence = error.evidence or evidence
        raise
    notes = (*page.notes, Note.DOWNGRADED) if document.downgraded else page.notes
    return replace(page, notes=notes, evidence=replace(evidence, wall=page.signals.wall))


def _evidence_of(document: Document) -> Evidence:
    body = document.body if len(document.body) <= _KEPT_BODY_BYTES else None
    return Evidence(document.final_url, "answered", document.status, document.content_type, body=body)
