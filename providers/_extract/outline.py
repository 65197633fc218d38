"""A page as a flat list of text blocks, and for every element the range of blocks that lies in it.

With ranges, "how many words are in this element" and "how many of them are links" are two subtractions, and dropping
an element is marking a range; no reader has to copy or change the tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lxml import etree
from lxml.html import HtmlElement

from .tags import BLOCKS


@dataclass(slots=True)
class Block:
    """A run of text without a block-level border inside. `element` is the block-level element it stands in."""

    element: HtmlElement
    text: str
    words: int
    link_words: int


@dataclass(slots=True)
class Outline:
    """`spans[element]` is the range of its blocks; sums before block i stand in `words[i]` and `link_words[i]`."""

    root: HtmlElement
    blocks: list[Block] = field(default_factory=list)
    spans: dict[etree._Element, tuple[int, int]] = field(default_factory=dict)
    words: list[int] = field(default_factory=lambda: [0])
    link_words: list[int] = field(default_factory=lambda: [0])
    links: list[int] = field(default_factory=lambda: [0])

    def words_in(self, element: HtmlElement) -> int:
        start, end = self.spans[element]
        return self.words[end] - self.words[start]


def outline(root: HtmlElement) -> Outline:
    """One walk over the tree. Block-level elements have spans, and custom ones that stand like such."""
    return _Walk(root).result


class _Walk:
    def __init__(self, root: HtmlElement) -> None:
        self.result = Outline(root)
        self._run: list[str] = []
        self._link_words = self._links = self._in_link = 0
        self._owners = [root]
        starts: dict[etree._Element, int] = {}
        for event, element in etree.iterwalk(root, events=("start", "end")):
            tag = element.tag
            if event == "start":
                if tag in BLOCKS:
                    self._close_block()
                    starts[element] = len(self.result.blocks)
                    self._owners.append(element)
                elif "-" in str(tag) and not self._run:
                    starts[element] = len(self.result.blocks)
                elif tag == "a":
                    self._in_link += 1
                    self._links += 1
                elif tag == "br":
                    self._run.append(" ")
                if element.text:
                    self._add(element.text)
                continue
            if tag in BLOCKS:
                self._close_block()
                self._owners.pop()
                self.result.spans[element] = (starts.pop(element), len(self.result.blocks))
            elif element in starts:
                start = starts.pop(element)
                if not self._run:
                    self.result.spans[element] = (start, len(self.result.blocks))
            elif tag == "a":
                self._in_link -= 1
            if element.tail and element is not root:
                self._add(element.tail)
        self._close_block()
        self.result.spans[root] = (0, len(self.result.blocks))

    def _add(self, text: str) -> None:
        self._run.append(text)
        if self._in_link:
            self._link_words += len(text.split())

    def _close_block(self) -> None:
        if not self._run:
            return
        words = "".join(self._run).split()
        self._run.clear()
        if words:
            result = self.result
            result.blocks.append(
                Block(self._owners[-1], " ".join(words), len(words), min(self._link_words, len(words)))
            )
            result.words.append(result.words[-1] + len(words))
            result.link_words.append(result.link_words[-1] + min(self._link_words, len(words)))
            result.links.append(result.links[-1] + self._links)
            self._link_words = self._links = 0
