"""The one Markdown writer: renders a chosen part of a prepared tree, whoever chose it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree
from lxml.html import HtmlElement

from .code import code_text, fenced, language_of
from .escape import escape
from .inline import PLAIN, Context, Inline, Run, collapse, link, mark_of, one_line, paragraphs
from .links import Links
from .replies import POST_ATTRIBUTE
from .tables import gfm, is_layout, rows_of
from .tags import BLOCKS, HEADINGS

_BULLET = "- "
_CLOSING = re.compile(r"(?<![^ ])#+\Z")
"""Signs at the end of a heading that would be taken for its closing."""
_LITERAL_BOX = re.compile(r"\[[ xX]\](?:\s|$)")
_INTERRUPTS = re.compile(r"- |1\. ")
"""A list that begins otherwise would be taken for more of the paragraph in front of it."""


def to_markdown(root: HtmlElement, base_url: str = "") -> str:
    """The content of `root` as GFM, addresses made absolute against `base_url`."""
    return Writer(root, base_url).text(root)


class Writer:
    """Writes parts of one tree. Every method returns finished blocks, each without a line end."""

    def __init__(self, root: HtmlElement, base_url: str) -> None:
        self._links = Links(base_url)
        self._inline = Inline(self._links)
        self._holders = _holders(root)

    def text(self, element: HtmlElement) -> str:
        return "\n\n".join(self.blocks(element))

    def blocks(self, element: HtmlElement, context: Context = PLAIN) -> list[str]:
        """The blocks inside a container, in order; text between them becomes paragraphs of its own."""
        out: list[str] = []
        run = Run()
        if element.text:
            run.add(escape(collapse(element.text), context.in_link))
        for child in element:
            if child.tag in BLOCKS or child in self._holders:
                out.extend(paragraphs(run.text()))
                run = Run()
                out.extend(self.block(child, context))
            else:
                run.add(self._inline.child(child, context), mark_of(child))
            if child.tail:
                run.add(escape(collapse(child.tail), context.in_link))
        out.extend(paragraphs(run.text()))
        return out

    def block(self, element: HtmlElement, context: Context = PLAIN) -> list[str]:
        """One block-level element, or an inline one that holds blocks."""
        tag = element.tag
        if tag in HEADINGS:
            return self._heading(element, int(tag[1]), context)
        if tag in ("ul", "ol", "menu", "dir"):
            return self._list(element)
        if tag == "table":
            return self._table(element)
        if tag == "pre":
            text = code_text(element)
            return [fenced(text, language_of(element))] if text.strip() else []
        if tag == "blockquote":
            return self._quote(element)
        if tag == "dl":
            return self._definitions(element)
        if tag == "a":
            return self._linked_blocks(element, context)
        if tag in ("summary", "legend"):
            return self._bold_line(element)
        if element.get(POST_ATTRIBUTE) is not None:
            return self._post(element, context)
        return self.blocks(element, context)

    def _post(self, element: HtmlElement, context: Context) -> list[str]:
        """A post of a thread: an entry with its answers below it, or a part of its own behind a line."""
        blocks = self.blocks(element, context)
        if element.get(POST_ATTRIBUTE) == "answer":
            return [_item(_BULLET, blocks)] if blocks else []
        return ["---", *blocks] if blocks else []

    def _heading(self, element: HtmlElement, level: int, context: Context) -> list[str]:
        if element in self._holders:
            inner = list(element.iter("h1", "h2", "h3", "h4", "h5", "h6", "table", "pre", "ul", "ol"))
            if len(inner) > 1:
                return self.blocks(element, context)
        text = one_line(self._flat(element, Context(context.marks, context.in_link, True)))
        text = _CLOSING.sub(r"\\\g<0>", text)
        return [f"{'#' * level} {text}"] if text else []

    def _bold_line(self, element: HtmlElement) -> list[str]:
        text = one_line(self._flat(element, Context(frozenset(("**",)))))
        return [f"**{text}**"] if text else []

    def _linked_blocks(self, element: HtmlElement, context: Context) -> list[str]:
        """A link around whole blocks: its address goes to the first heading or line of text in it."""
        address = self._links.resolve(element.get("href"))
        blocks = self.blocks(element, Context(context.marks, True))
        if address is None or context.in_link:
            return blocks
        order = sorted(range(len(blocks)), key=lambda index: not blocks[index].startswith("#"))
        for index in order:
            block = blocks[index]
            if "\n" in block or "](" in block or block.startswith(("|", "```", ">", "- ")):
                continue
            marks, _, text = block.partition(" ") if block.startswith("#") else ("", "", block)
            blocks[index] = (marks + " " if marks else "") + link(text, address)
            break
        return blocks

    def _list(self, element: HtmlElement) -> list[str]:
        ordered = element.tag == "ol"
        number = _number(element.get("start"), 1)
        items = [_item(_BULLET, blocks)] if (blocks := self._loose(element.text)) else []
        for child in element:
            loose = self._loose(child.tail)
            if child.tag != "li":
                blocks = self.block(child) if child.tag in BLOCKS else paragraphs(self._inline.child(child))
                if blocks and items and child.tag in ("ul", "ol"):
                    items.append(indent(tight(blocks), "  " if not ordered else "   "))
                elif blocks:
                    items.append(_item(_BULLET, blocks))
                items.extend([_item(_BULLET, loose)] if loose else [])
                continue
            number = _number(child.get("value"), number)
            blocks = self._item_blocks(child)
            if blocks:
                items.append(_item(f"{number}. " if ordered else _BULLET, blocks))
                number += 1
            items.extend([_item(_BULLET, loose)] if loose else [])
        return ["\n".join(items)] if items else []

    def _loose(self, text: str | None) -> list[str]:
        """Text that stands in a list, but in none of its entries."""
        return paragraphs(escape(collapse(text))) if text and not text.isspace() else []

    def _item_blocks(self, item: HtmlElement) -> list[str]:
        mark = item.get("data-task")
        blocks = self.blocks(item)
        if mark in ("x", " ") and blocks:
            blocks[0] = f"[{mark}] {blocks[0]}"
        elif blocks and _LITERAL_BOX.match(blocks[0]):
            blocks[0] = f"\\{blocks[0]}"
        return blocks

    def _quote(self, element: HtmlElement) -> list[str]:
        text = "\n\n".join(self.blocks(element))
        return ["\n".join(f"> {line}".rstrip() for line in text.split("\n"))] if text else []

    def _definitions(self, element: HtmlElement) -> list[str]:
        entries: list[str] = []
        for child in _definition_parts(element):
            if child.tag == "dt":
                text = self._term(child)
                if text:
                    entries.append(("\n" if entries else "") + text)
            elif child.tag == "dd":
                blocks = self.blocks(child)
                if blocks:
                    entries.append(": " + indent("\n\n".join(blocks), "  ").lstrip())
            else:
                entries.extend("\n" + block for block in self.block(child))
        return ["\n".join(entries)] if entries else []

    def _term(self, element: HtmlElement) -> str:
        """A term in bold; the signature of an API as code, since its parts are marked up for colour only."""
        classes = (element.get("class") or "").split()
        if "sig" in classes or "sig-object" in classes:
            text = " ".join("".join(element.itertext()).split())
            return f"`{text}`" if "`" not in text else escape(text)
        text = one_line(self._flat(element))
        return text if not text or "`" in text or "**" in text else f"**{text}**"

    def _table(self, element: HtmlElement) -> list[str]:
        caption = next(element.iterchildren("caption"), None)
        out = self.blocks(caption) if caption is not None else []
        if not is_layout(element):
            table = gfm(element, self._cell)
            return [*out, table] if table else out
        for row in rows_of(element):
            for cell in row:
                out.extend(self.blocks(cell))
        return out

    def _cell(self, cell: HtmlElement) -> str:
        return one_line(self._flat(cell))

    def _flat(self, element: HtmlElement, context: Context = PLAIN) -> str:
        """Inline content of something that may hold blocks, which are parted by spaces, list items by semicolons."""
        if element not in self._holders:
            return self._inline.content(element, context)
        pieces = [escape(collapse(element.text or ""), context.in_link)]
        for child in element:
            if child.tag in ("ul", "ol"):
                items = (one_line(self._flat(item, context)) for item in child.iter("li") if _is_own(item, child))
                pieces.append(" " + "; ".join(item for item in items if item) + " ")
            elif child.tag == "pre":
                text = " ".join(code_text(child).split())
                pieces.append(f" `{text}` " if text and "`" not in text else f" {escape(text)} ")
            elif child.tag in BLOCKS:
                pieces.append(f" {self._flat(child, context)} ")
            elif child in self._holders:
                pieces.append(self._flat_inline(child, context))
            else:
                pieces.append(self._inline.child(child, context))
            pieces.append(escape(collapse(child.tail or ""), context.in_link))
        return "".join(pieces)

    def _flat_inline(self, element: HtmlElement, context: Context) -> str:
        address = self._links.resolve(element.get("href")) if element.tag == "a" and not context.in_link else None
        if address is None:
            return self._flat(element, context)
        return link(self._flat(element, Context(context.marks, True, context.in_heading)), address)


def _holders(root: HtmlElement) -> set[etree._Element]:
    """All elements that have a block-level element somewhere inside."""
    holders: set[etree._Element] = set()
    for element in root.iter(*BLOCKS):
        parent = element.getparent()
        while parent is not None and parent not in holders:
            holders.add(parent)
            parent = parent.getparent()
    return holders


def _is_own(item: HtmlElement, owner: HtmlElement) -> bool:
    return next(item.iterancestors("ul", "ol"), None) is owner


def _definition_parts(element: HtmlElement) -> Iterator[HtmlElement]:
    """Terms and definitions; HTML allows a `div` around each group of them."""
    for child in element:
        if child.tag == "div":
            yield from _definition_parts(child)
        elif isinstance(child.tag, str):
            yield child


def _item(mark: str, blocks: list[str]) -> str:
    return mark + indent(tight(blocks), " " * len(mark)).lstrip(" ")


def tight(blocks: list[str]) -> str:
    """Blocks of a list item: an inner list follows its item at once, anything else after an empty line."""
    text = blocks[0]
    for block in blocks[1:]:
        text += ("\n" if _INTERRUPTS.match(block) else "\n\n") + block
    return text


def indent(text: str, by: str) -> str:
    """Every line but empty ones moved to the right."""
    return "\n".join(by + line if line else line for line in text.split("\n"))


def _number(text: str | None, default: int) -> int:
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else default
