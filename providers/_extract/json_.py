"""JSON, indented, in a fence. What does not parse is shown as it came."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

from providers._contract import Document

from .decode import decode
from .drafts import MAX_TEXT_CHARS, Draft, fenced

_MAX_PARSED_CHARS = 5_000_000
"""Above this the text is shown as it came: parsed it would take twenty times its size (security/FACTS.md C3)."""


def read_json(document: Document) -> Draft:
    """The value with an indent of two; several values, one a line, and broken JSON as they came."""
    text = decode(document.body, document.content_type).strip()
    if not text:
        return Draft("")
    markdown, is_cut = fenced(_indented(text), "json")
    return Draft(markdown, truncated=is_cut)


def _indented(text: str) -> str:
    if len(text) > _MAX_PARSED_CHARS:
        return text
    try:
        value = json.loads(text, parse_float=_finite)
        return _capped(json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(value))
    except (ValueError, RecursionError):
        return text


def _capped(chunks: Iterable[str]) -> str:
    """The text up to a little over the cap on text; indented, a deep value can be a thousand times its size."""
    pieces = []
    size = 0
    for chunk in chunks:
        pieces.append(chunk)
        size += len(chunk)
        if size > MAX_TEXT_CHARS:
            break
    return "".join(pieces)


def _finite(text: str) -> float:
    """A float; ValueError for one that would be printed as Infinity."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number
