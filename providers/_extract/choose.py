"""Which blocks of a page are its content: our own reader's or trafilatura's, by how much of one the other covers."""

from __future__ import annotations

from lxml import etree
from lxml.html import HtmlElement

from . import own
from .edit import remove
from .kinds import Kind
from .outline import Outline
from .witness import covered, witness_text

FAST_BYTES = 1_000_000
OWN_ONLY_BYTES = 5_000_000
ENOUGH_SHARE = 0.7


def choose(outline: Outline, kind: Kind, root: HtmlElement, size: int) -> bytearray:
    """One flag for each block: 1 where it is content. `size` is that of the page as it came, in bytes."""
    mine = own.read(outline, kind)
    if size > OWN_ONLY_BYTES:
        return mine
    theirs = covered(outline, witness_text(root, comments=kind is Kind.FORUM, fast=size > FAST_BYTES))
    both = sum(block.words for block, a, b in zip(outline.blocks, mine, theirs, strict=True) if a and b)
    words = sum(block.words for block, flag in zip(outline.blocks, mine, strict=True) if flag)
    return theirs if both >= ENOUGH_SHARE * words else mine


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
                    remove(child)
            elif sums[end] == sums[start]:
                remove(child)
            elif sums[end] - sums[start] < end - start:
                stack.append(child)
