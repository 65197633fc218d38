"""What all readers of documents share: the cap on text, fences, tables, and the way from their draft to a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from providers._contract import Document, Empty, Note, Page, Signals
from providers._sanitise import clean_page

from .formats import media_type

MAX_TEXT_CHARS = 2_000_000

_BACKTICKS = re.compile(r"`{3,}")
_CELL_MARKUP = re.compile(r"([|`*]|<(?=[A-Za-z/!]))")


@dataclass(frozen=True, slots=True)
class Draft:
    """A document's text as Markdown. `truncated`: a limit stopped the reader, what follows is missing."""

    markdown: str
    title: str = ""
    byline: str = ""
    published: str | None = None
    language: str | None = None
    truncated: bool = False


def page_of(document: Document, draft: Draft) -> Page:
    """The page of a document that is no HTML, capped and sanitised. Raises Empty when it has no text."""
    markdown, is_cut = cut(draft.markdown)
    if not markdown.strip():
        raise Empty("the document has no text")
    notes = (Note.TRUNCATED,) if is_cut or draft.truncated else ()
    page = Page(
        url=document.url,
        final_url=document.final_url,
        markdown=markdown.strip("\n"),
        title=draft.title,
        byline=draft.byline,
        published=draft.published,
        language=draft.language,
        content_type=media_type(document.content_type) or "application/octet-stream",
        notes=notes,
        signals=Signals(document=True, status=document.status),
    )
    return clean_page(page)


def cut(text: str, limit: int = MAX_TEXT_CHARS) -> tuple[str, bool]:
    """At most `limit` characters, ending with a whole line where one ends near; and whether anything was cut."""
    if len(text) <= limit:
        return text, False
    end = text.rfind("\n", limit - 2_000, limit)
    return text[: end if end > 0 else limit], True


def fenced(text: str, language: str = "") -> tuple[str, bool]:
    """The text as a code block that nothing in it can close, and whether it had to be cut."""
    text, is_cut = cut(text.strip("\n"), MAX_TEXT_CHARS - 1_000)
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=2)
    if longest < 500:
        fence = "`" * max(3, longest + 1)
    else:  # absurd, and then the fence itself would be the flood
        text, fence = _BACKTICKS.sub("```", text), "````"
    return f"{fence}{language}\n{text}\n{fence}", is_cut


def table(rows: Iterable[Sequence[str]]) -> str:
    """Rows as a GFM table; the first is the head, and the longest gives the width. '' without rows."""
    cells = [[_cell(cell) for cell in row] for row in rows]
    width = max(map(len, cells), default=0)
    if not width:
        return ""
    lines = ["| " + " | ".join(row + [""] * (width - len(row))) + " |" for row in cells]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


def _cell(text: str) -> str:
    return _CELL_MARKUP.sub(r"\\\1", " ".join(text.split()))
