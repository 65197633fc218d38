"""HTML tables as GFM tables; tables that only arrange a page are not tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from lxml.html import HtmlElement

_PIPE = re.compile(r"(?<!\\)(\\*)\|")
MAX_SPAN = 50
MAX_CELL_WORDS = 120
_PAGE_PARTS = ["h1", "h2", "h3", "h4", "form", "article", "section", "table", "main"]


def is_layout(table: HtmlElement) -> bool:
    """Whether a table arranges parts of the page instead of holding data."""
    if (table.get("role") or "") in ("presentation", "none"):
        return True
    if next(table.iter(*_PAGE_PARTS[:-1]), None) is not None and next(table.iter("th"), None) is None:
        inner = next((part for part in table.iter(*_PAGE_PARTS) if part is not table), None)
        if inner is not None:
            return True
    rows = list(rows_of(table))
    if not rows or max(len(row) for row in rows) < 2:
        return True
    if next(table.iter("th"), None) is not None:
        return False
    if max(sum(1 for cell in row if "".join(cell.itertext()).strip()) for row in rows) < 2:
        return True
    return any(len("".join(cell.itertext()).split()) > MAX_CELL_WORDS for row in rows for cell in row)


def rows_of(table: HtmlElement) -> Iterator[list[HtmlElement]]:
    """The cells of each row, rows of inner tables left out."""
    for part in table:
        if part.tag == "tr":
            yield _cells(part)
        elif part.tag in ("thead", "tbody", "tfoot"):
            for row in part.iterchildren("tr"):
                yield _cells(row)


def _cells(row: HtmlElement) -> list[HtmlElement]:
    return list(row.iterchildren("td", "th"))


def gfm(table: HtmlElement, write_cell: Callable[[HtmlElement], str]) -> str:
    """The table with one delimiter row, under its first row; `write_cell` gives a cell's text on one line."""
    rows: list[list[str]] = []
    pending: dict[int, int] = {}
    for cells in rows_of(table):
        row: list[str] = []
        for cell in cells:
            while pending.get(len(row), 0) > 0:
                pending[len(row)] -= 1
                row.append("")
            columns, lines = _span(cell, "colspan"), _span(cell, "rowspan")
            for offset in range(columns):
                pending[len(row)] = lines - 1
                row.append(escape_pipes(write_cell(cell)) if offset == 0 else "")
        while pending.get(len(row), 0) > 0:
            pending[len(row)] -= 1
            row.append("")
        if any(row):
            rows.append(row)
    if not rows:
        return ""
    width = max(len(row) for row in rows)
    lines_out = [_line(row, width) for row in rows]
    lines_out.insert(1, "|" + "---|" * width)
    return "\n".join(lines_out)


def _line(row: list[str], width: int) -> str:
    return "| " + " | ".join(row + [""] * (width - len(row))) + " |"


def _span(cell: HtmlElement, name: str) -> int:
    value = (cell.get(name) or "1").strip()
    return max(1, min(int(value), MAX_SPAN)) if value.isascii() and value.isdigit() and len(value) < 6 else 1


def escape_pipes(text: str) -> str:
    """Pipes inside a cell, also those inside code, where GFM asks for the escape too; escaped ones stay."""
    return _PIPE.sub(lambda found: found[0] if len(found[1]) % 2 else f"{found[1]}\\|", text)
