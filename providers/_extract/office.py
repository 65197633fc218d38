"""Office files and books: DOCX, PPTX, spreadsheets, ODT, EPUB and RTF.

DOCX goes through mammoth, spreadsheets through calamine, RTF through striprtf; the rest is a few lines over XML.
Every archive is read within the budget of `archive.py` before a library sees it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from io import BytesIO
from itertools import islice
from typing import Any
from urllib.parse import unquote

import mammoth
import mammoth.html
import python_calamine
from lxml import etree
from striprtf.striprtf import rtf_to_text

from providers._contract import Document, Unsupported

from .archive import Archive, resolved
from .decode import decode
from .drafts import Draft, table
from .formats import binary_type
from .hidden import remove_hidden
from .markdown import to_markdown
from .prepare import prepare
from .tree import parse

MAX_ROWS = 5_000
MAX_SHEETS = 50
_MAX_COLUMNS = 200
_MAX_CHAPTERS = 500

_LIBRARY_ERRORS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError,
    etree.LxmlError,
)  # fmt: skip
"""What mammoth and striprtf raise on damaged files; they have no errors of their own."""

_BODY = re.compile(r"<body\b[^<>]*+>(.*)</body\s*>", re.IGNORECASE | re.DOTALL)


def read_archive(document: Document) -> Draft | None:
    """A DOCX, PPTX, spreadsheet, ODT or EPUB; None for an archive that is none of these."""
    archive = Archive(document.body)
    if "word/document.xml" in archive.names:
        return _docx(archive)
    if "ppt/presentation.xml" in archive.names:
        return _pptx(archive)
    if "xl/workbook.xml" in archive.names or "xl/workbook.bin" in archive.names:
        return _sheets(archive.repacked((".xml", ".bin", ".rels")))
    if "META-INF/container.xml" in archive.names:
        return _epub(archive)
    mimetype = archive.read("mimetype").decode("ascii", "replace").strip()
    if mimetype.startswith("application/vnd.oasis.opendocument.spreadsheet"):
        return _sheets(archive.repacked((".xml", "mimetype")))
    if mimetype.startswith("application/vnd.oasis.opendocument.text"):
        return _odt(archive)
    return None


def read_sheet(document: Document) -> Draft | None:
    """An old spreadsheet (.xls); None for another file of that container."""
    if binary_type(document) != "application/x-ole-storage":
        return None
    try:
        return _sheets(BytesIO(document.body))
    except Unsupported as error:
        if "password" in error.detail:
            raise
        return None


def read_rtf(document: Document) -> Draft:
    """The plain text of an RTF file."""
    try:
        text: str = rtf_to_text(document.body.decode("latin-1"), errors="replace")  # type: ignore[no-untyped-call]
    except _LIBRARY_ERRORS as error:
        raise Unsupported("the RTF file is damaged") from error
    return Draft(text)


# --- Word -----------------------------------------------------------------------------------------------------------


def _docx(archive: Archive) -> Draft:
    try:
        html = mammoth.convert_to_html(archive.repacked((".xml", ".rels")), convert_image=_alt_text).value
    except _LIBRARY_ERRORS as error:
        raise Unsupported("the DOCX file is damaged") from error
    return Draft(_markdown(html), **_core_properties(archive))


def _alt_text(image: Any) -> list[Any]:
    return [mammoth.html.text(f"[image: {image.alt_text}]")] if image.alt_text else []


def _core_properties(archive: Archive) -> dict[str, Any]:
    """Title and author out of an office file's properties."""
    root = archive.xml("docProps/core.xml")
    facts = {_name(child): (child.text or "").strip() for child in root} if root is not None else {}
    return {"title": facts.get("title", ""), "byline": facts.get("creator", "")}


def _markdown(html: str) -> str:
    """HTML made from a file, by the same writer as that of web pages; nothing of it is left out as furniture."""
    root = parse(f"<html><body>{html}</body></html>")
    if root is None:
        return ""
    remove_hidden(root)
    prepare(root)
    return to_markdown(root)


# --- PowerPoint -----------------------------------------------------------------------------------------------------


def _pptx(archive: Archive) -> Draft:
    presentation = archive.xml("ppt/presentation.xml")
    targets = archive.relations("ppt/presentation.xml")
    ids = [_attribute(element, "id", prefixed=True) for element in _all(presentation, "sldId")]
    slides = [targets[identity] for identity in ids if identity in targets]
    texts = [_slide(archive, name, number) for number, name in enumerate(slides, 1)]
    return Draft("\n\n".join(texts), **_core_properties(archive))


def _slide(archive: Archive, name: str, number: int) -> str:
    root = archive.xml(name)
    title, parts = "", []
    for shape in _all(root, "sp", "graphicFrame"):
        placeholder = next(iter(_all(shape, "ph")), None)
        kind = placeholder.get("type", "") if placeholder is not None else ""
        if kind in ("title", "ctrTitle") and not title:
            title = " ".join(_words(paragraph) for paragraph in _all(shape, "p")).strip()
        elif _name(shape) == "graphicFrame":
            parts += [_slide_table(grid) for grid in _all(shape, "tbl")]
        elif kind not in ("dt", "ftr", "sldNum"):
            parts.append("\n".join(_bullets(shape)))
    notes = next((target for target in archive.relations(name).values() if "notesSlide" in target), None)
    said = _speaker_notes(archive, notes) if notes else ""
    head = f"## Slide {number}" + (f": {title}" if title else "")
    return "\n\n".join(part for part in (head, *parts, f"Notes: {said}" if said else "") if part.strip())


def _bullets(shape: etree._Element) -> Iterator[str]:
    for paragraph in _all(shape, "p"):
        words = _words(paragraph)
        properties = next(iter(_all(paragraph, "pPr")), None)
        level = properties.get("lvl", "0") if properties is not None else "0"
        if words:
            yield "  " * (int(level) if level.isdigit() else 0) + f"- {words}"


def _slide_table(grid: etree._Element) -> str:
    return table([[_words(cell) for cell in _all(row, "tc")] for row in _all(grid, "tr")])


def _speaker_notes(archive: Archive, name: str) -> str:
    """What stands in the notes' body, not in their slide number and date."""
    root = archive.xml(name)
    bodies = [shape for shape in _all(root, "sp") if any(ph.get("type") == "body" for ph in _all(shape, "ph"))]
    return " ".join(_words(body) for body in bodies).strip()


# --- spreadsheets ---------------------------------------------------------------------------------------------------


def _sheets(file: BytesIO) -> Draft:
    """The visible sheets as tables under their names, at most 5,000 rows in all."""
    try:
        workbook = python_calamine.CalamineWorkbook.from_filelike(file)
        names = [
            sheet.name
            for sheet in workbook.sheets_metadata
            if sheet.visible == python_calamine.SheetVisibleEnum.Visible
            and sheet.typ == python_calamine.SheetTypeEnum.WorkSheet
        ]
        return _sheet_tables(workbook, names)
    except python_calamine.PasswordError as error:
        raise Unsupported("the spreadsheet is locked with a password") from error
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        raise Unsupported("the spreadsheet is damaged") from error


def _sheet_tables(workbook: python_calamine.CalamineWorkbook, names: list[str]) -> Draft:
    parts = []
    left = MAX_ROWS
    truncated = len(names) > MAX_SHEETS
    for name in names[:MAX_SHEETS]:
        sheet = workbook.get_sheet_by_name(name)
        rows = [[_shown(cell) for cell in row[:_MAX_COLUMNS]] for row in islice(sheet.iter_rows(), left + 1)]
        truncated = truncated or len(rows) > left
        rows = _without_margins(rows[:left])
        left -= len(rows)
        if rows:
            parts.append((f"## {name}\n\n" if len(names) > 1 else "") + table(rows))
    return Draft("\n\n".join(parts), truncated=truncated)


def _without_margins(rows: list[list[str]]) -> list[list[str]]:
    """Without empty rows, and without the columns that are empty in every row."""
    rows = [row for row in rows if any(row)]
    kept = [
        index for index in range(max(map(len, rows), default=0)) if any(row[index : index + 1] != [""] for row in rows)
    ]
    return [[row[index] for index in kept if index < len(row)] for row in rows]


def _shown(cell: object) -> str:
    """A cell's value as a person would write it."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(" ")
    if isinstance(cell, (date, time)):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return str(cell)
    return str(cell)


# --- OpenDocument ---------------------------------------------------------------------------------------------------


def _odt(archive: Archive) -> Draft:
    root = archive.xml("content.xml")
    body = next(iter(_all(root, "text")), None)
    return Draft("\n\n".join(_odt_blocks(body)) if body is not None else "")


def _odt_blocks(parent: etree._Element, depth: int = 0) -> Iterator[str]:
    for child in parent:
        name = _name(child)
        if name == "h":
            level = _attribute(child, "outline-level")
            yield "#" * min(int(level) if level.isdigit() else 1, 6) + " " + _words(child)
        elif name == "p" and _words(child):
            yield _words(child)
        elif name == "list" and depth < 20:
            items = [part for item in child for part in _odt_blocks(item, depth + 1)]
            yield "\n".join(part if part.lstrip().startswith("- ") else f"- {part}" for part in items)
        elif name == "table":
            yield table([[_words(cell) for cell in _all(row, "table-cell")] for row in _all(child, "table-row")])
        elif name == "section" and depth < 20:
            yield from _odt_blocks(child, depth + 1)


# --- books ----------------------------------------------------------------------------------------------------------


def _epub(archive: Archive) -> Draft | None:
    container = archive.xml("META-INF/container.xml")
    package_name = next((element.get("full-path", "") for element in _all(container, "rootfile")), "")
    package = archive.xml(package_name)
    if package is None:
        return None
    folder = posixpath.dirname(package_name)
    files = {item.get("id"): resolved(folder, unquote(item.get("href", ""))) for item in _all(package, "item")}
    chapters = [files[ref.get("idref")] for ref in _all(package, "itemref") if ref.get("idref") in files]
    html = "\n".join(_chapter(archive.read(name)) for name in chapters[:_MAX_CHAPTERS])
    facts = {_name(element): (element.text or "").strip() for element in reversed(_all(package, "title", "creator"))}
    language = next((element.text for element in _all(package, "language")), None)
    return Draft(
        _markdown(html),
        title=facts.get("title", ""),
        byline=facts.get("creator", ""),
        language=language,
        truncated=len(chapters) > _MAX_CHAPTERS,
    )


def _chapter(content: bytes) -> str:
    """What stands between the body tags of a chapter; the file's own head would end the page it becomes part of."""
    text = decode(content, "application/xhtml+xml")
    found = _BODY.search(text)
    return found[1] if found else ""


# --- XML ------------------------------------------------------------------------------------------------------------


def _all(parent: etree._Element | None, *names: str) -> list[etree._Element]:
    """All descendants of these names, whatever their namespace."""
    return [] if parent is None else [element for element in parent.iter() if _name(element) in names]


def _name(element: etree._Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _attribute(element: etree._Element, name: str, *, prefixed: bool = False) -> str:
    """An attribute by its name without namespace. `prefixed`: only one that has a namespace (`r:id` beside `id`)."""
    for key, value in element.attrib.items():
        text = str(key)
        if text.rpartition("}")[2] == name and (not prefixed or "}" in text):
            return str(value)
    return ""


def _words(element: etree._Element) -> str:
    """The text below an element on one line; tabs and line breaks inside are blanks."""
    parts = []
    for child in element.iter():
        if _name(child) in ("br", "tab", "line-break", "s", "p"):
            parts.append(" ")
        if child.text:
            parts.append(child.text)
        if child.tail and child is not element:
            parts.append(child.tail)
    return " ".join("".join(parts).split())
