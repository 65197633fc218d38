"""Plain text, Markdown and source files: decoded and passed on, source files in a fence."""

from __future__ import annotations

import re

from providers._contract import Document

from .decode import decode
from .drafts import MAX_TEXT_CHARS, Draft, fenced
from .formats import language_of
from .relative import absolute

_HEADING = re.compile(r"^ {0,3}#[ \t]+(.+?)[ \t#]*$", re.MULTILINE)


def read_text(document: Document) -> Draft:
    """Plain text as it stands."""
    return Draft(decode(document.body, document.content_type))


def read_markdown(document: Document) -> Draft:
    """Markdown as it stands but for relative addresses, its first heading as the title."""
    text = decode(document.body, document.content_type)
    heading = _HEADING.search(text[:10_000])
    start, rest = text[:MAX_TEXT_CHARS], text[MAX_TEXT_CHARS:]
    return Draft(absolute(start, document.final_url or document.url) + rest, title=heading[1] if heading else "")


def read_source(document: Document) -> Draft:
    """A source file as one code block with its language."""
    text = decode(document.body, document.content_type)
    markdown, is_cut = fenced(text, language_of(document) or "") if text.strip() else ("", False)
    return Draft(markdown, truncated=is_cut)
