"""trafilatura as a second reader: which blocks of an outline its text covers. Our writer renders them."""

from __future__ import annotations

import re

from lxml.html import HtmlElement
from trafilatura import bare_extraction

from .outline import Outline

SHINGLE = 4
COVERED_SHARE = 0.5
_WORD = re.compile(r"\w+")


def witness_text(root: HtmlElement, *, fast: bool) -> str:
    """What trafilatura takes for the content of this tree; empty where it finds none or fails on the page.

    Its metadata are not asked for: the pattern it cleans authors with is quadratic (security/FACTS.md C2).
    """
    try:
        document = bare_extraction(root, include_comments=False, include_tables=True, fast=fast, with_metadata=False)
    except (RecursionError, ValueError, AttributeError, TypeError, KeyError, IndexError):
        return ""
    return getattr(document, "text", None) or ""


def covered(outline: Outline, text: str) -> bytearray:
    """One flag for each block: 1 where the text holds it."""
    lines = {" ".join(_WORD.findall(line)) for line in text.lower().split("\n")}
    words = _WORD.findall(text.lower())
    shingles = {tuple(words[index : index + SHINGLE]) for index in range(len(words) - SHINGLE + 1)}
    return bytearray(_is_covered(block.text.lower(), lines, shingles) for block in outline.blocks)


def _is_covered(block: str, lines: set[str], shingles: set[tuple[str, ...]]) -> bool:
    words = _WORD.findall(block)
    if len(words) < SHINGLE:
        return not words or " ".join(words) in lines
    count = len(words) - SHINGLE + 1
    found = sum(tuple(words[index : index + SHINGLE]) in shingles for index in range(count))
    return found >= COVERED_SHARE * count
