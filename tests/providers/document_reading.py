"""How the tests of documents read one: pure, in this process."""

from __future__ import annotations

from providers._contract import Document, Page
from providers._extract import to_page


def read(body: str | bytes, content_type: str = "", name: str = "x") -> Page:
    return to_page(document(body, content_type, name))


def document(body: str | bytes, content_type: str = "", name: str = "x") -> Document:
    url = f"http://site.example/{name}"
    return Document(url, url, body.encode() if isinstance(body, str) else body, content_type)
