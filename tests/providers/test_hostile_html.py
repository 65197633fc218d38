"""Hostile shapes of pages end in linear time, far below what the worker allows, and lose no text."""

from __future__ import annotations

import time

import pytest

from providers._contract import Document
from providers._extract.html import html_to_page

CPU_SECONDS = 5.0

SHAPES = {
    "nested containers": "<div>" * 30_000 + "needle",
    "nested emphasis": "<b>" * 30_000 + "needle",
    "nested lists": "<ul><li>" * 20_000 + "needle",
    "nested tables": "<table><tr><td>" * 2_000 + "needle",
    "nested quotes": "<blockquote>" * 2_000 + "needle",
    "nested formulas": "<math>" + "<mrow>" * 1_500 + "<mi>needle</mi>",
    "distinct attributes": "<p " + " ".join(f"a{i}=1" for i in range(50_000)) + ">needle",
    "line breaks": "<p>needle" + "<br>" * 50_000,
    "links": "<p>needle" + "<a href='http://e.example/x'>t</a> " * 20_000,
    "table rows": "<p>needle<table>" + "<tr><td>a</td><td>b</td></tr>" * 10_000,
    "list entries": "<p>needle<ul>" + "<li>one entry of many</li>" * 15_000,
    "paragraphs": "<p>needle</p>" + "<p>hello world again</p>" * 8_000,
    "angle brackets": "<p>needle</p>" + "<" * 1_000_000,
    "half tags": "<p>needle</p>" + "<a" * 500_000,
    "author of brackets": f"<head><meta name=author content='{'(' * 50_000}'></head><p>needle",
    "title of dates": "<title>" + "January 1, " * 9_000 + "</title><p>needle",
    "meta elements": "<head>" + "<meta property='og:title' content='x'>" * 30_000 + "</head><p>needle",
    "nested data": "<script type=application/ld+json>" + "[" * 100_000 + "</script><p>needle",
    "style rules": "<style>" + ".a{display:none}" * 30_000 + "</style><p>needle",
    "open style blocks": "<style>" + "@a{" * 50_000 + "</style><p>needle",
    "style of one long word": "<style>.a{display:none}@media all{" + "a" * 390_000 + "</style><p>needle",
    "open style comments": "<style>.a{display:none}" + "/*" * 190_000 + "</style><p>needle",
    "style marks": "<style>.a{display:none}" + "@a" * 190_000 + "}</style><p>needle",
    "style mark of one long word": "<style>.a{display:none}@" + "a" * 390_000 + "}</style><p>needle",
    "comments in a style": "<p style='color:red;" + "/*" * 9_000 + "'>needle</p>" * 60,
    "posts": "<p>needle</p>" + "<div class='post' id='post-1'><p>one short post of many</p>" * 2_000,
    "equal parts": "<p>needle</p>" + "<div><p>one part of</p><p>eight words or more in all</p></div>" * 3_000,
    "character data": "<p>needle</p>" + "<![CDATA[" * 50_000,
    "stars": "<p>needle " + "*" * 100_000,
    "spaces": "<p>needle" + "&nbsp;" * 300_000,
}


@pytest.mark.parametrize("body", SHAPES.values(), ids=SHAPES)
def test_hostile_page_ends_in_time_and_keeps_its_text(body: str) -> None:
    document = Document(url="https://e.example/", final_url="https://e.example/", body=body.encode())
    started = time.process_time()

    page = html_to_page(document)

    assert time.process_time() - started < CPU_SECONDS
    assert "needle" in page.markdown
