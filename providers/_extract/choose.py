"""Which blocks of a page are its content: our own reader's or trafilatura's, by how much of one the other covers."""

from __future__ import annotations

from typing import cast

from lxml import etree
from lxml.html import HtmlElement

from . import own
from .edit import remove
from .kinds import Kind
from .outline import Outline
from .repeats import drop_copies
from .witness import covered, witness_text

FAST_BYTES = 1_000_000
OWN_ONLY_BYTES = 5_000_000
FAST_ELEMENTS = 12_000
OWN_ONLY_ELEMENTS = 30_000
OWN_ONLY_ENTRIES = 4_000
"""trafilatura takes more than proportional time for many elements (20 s for 400,000 line breaks) and for long lists."""
ENOUGH_SHARE = 0.1
"""Share of our own reader's words that trafilatura must have found too for its word to count on where content ends."""


MORE_SHARE = 0.6
FEW_WORDS = 60


_OURS = frozenset((Kind.FORUM, Kind.DOCUMENTATION, Kind.LISTING, Kind.COLLECTION))
"""Kinds for which trafilatura adds more clutter, or drops more entries, than it helps; it is not asked for them."""


def choose(outline: Outline, kind: Kind, root: HtmlElement, size: int) -> bytearray:
    """One flag for each block: 1 where it is content. `size` is that of the page as it came, in bytes.

    Measured on 120 labelled pages: our own reader misses less, trafilatura knows better where an article or a
    product's description begins and ends, and on pages that are neither, each finds parts that the other misses.
    """
    reading = own.read(outline, kind)
    mine = reading.keep
    elements = int(root.xpath("count(//*)"))
    too_big = size > OWN_ONLY_BYTES or elements > OWN_ONLY_ELEMENTS or root.xpath("count(//li)") > OWN_ONLY_ENTRIES
    if too_big or (kind in _OURS and any(mine)):
        return mine
    theirs = covered(
        outline, witness_text(root, fast=kind is Kind.PRODUCT or size > FAST_BYTES or elements > FAST_ELEMENTS)
    )
    if kind in (Kind.ARTICLE, Kind.PRODUCT):
        return _within(outline, mine, theirs)
    both = _with_parts_of(outline, mine, theirs)
    drop_copies(outline, both)  # trafilatura's text covers a copy as well as what it is a copy of
    return bytearray(a & ~b for a, b in zip(both, reading.overlaid, strict=True))


def _within(outline: Outline, mine: bytearray, theirs: bytearray) -> bytearray:
    """Our own choice between the first and the last block on which both agree; theirs where they never do."""
    both = [index for index, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a and b]
    words = sum(block.words for block, flag in zip(outline.blocks, mine, strict=True) if flag)
    shared = sum(outline.blocks[index].words for index in both)
    if not words:
        return theirs
    if shared < ENOUGH_SHARE * words:
        return mine
    keep = bytearray(len(mine))
    keep[both[0] : both[-1] + 1] = mine[both[0] : both[-1] + 1]
    return _with_title(outline, mine, keep)


def _with_parts_of(outline: Outline, mine: bytearray, theirs: bytearray) -> bytearray:
    """Our own choice, and what trafilatura found beside it as long as that is a part and not another page."""
    words = sum(block.words for block, flag in zip(outline.blocks, mine, strict=True) if flag)
    more = sum(block.words for block, a, b in zip(outline.blocks, mine, theirs, strict=True) if b and not a)
    if words >= FEW_WORDS and more > MORE_SHARE * words:
        return mine
    return bytearray(a | b for a, b in zip(mine, theirs, strict=True))


def _with_title(outline: Outline, mine: bytearray, keep: bytearray) -> bytearray:
    """Put back the page's heading where it was the only thing lost before the content."""
    for index, block in enumerate(outline.blocks[: max(keep.find(1), 0)]):
        if block.element.tag == "h1" and mine[index]:
            keep[index] = 1
    return keep


def prune(outline: Outline, keep: bytearray) -> None:
    """Take everything out of the tree that holds no kept block; pictures beside kept blocks stay."""
    sums = [0]
    for flag in keep:
        sums.append(sums[-1] + flag)
    first = keep.find(1)
    last = keep.rfind(1)
    _prune(outline, outline.root, sums, (first, last))


def _prune(outline: Outline, root: HtmlElement, sums: list[int], kept: tuple[int, int]) -> None:
    stack: list[etree._Element] = [root]
    while stack:
        element = stack.pop()
        for child in list(element):
            span = outline.spans.get(child)
            if span is None:
                if len(child):
                    stack.append(child)
                continue
            start, end = span
            if start == end:
                if not kept[0] < start <= kept[1]:
                    remove(cast("HtmlElement", child))
            elif sums[end] == sums[start]:
                remove(cast("HtmlElement", child))
            elif sums[end] - sums[start] < end - start:
                stack.append(child)
