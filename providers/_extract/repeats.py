"""What stands on a page twice: labels beside every entry, second copies of paragraphs and of whole parts."""

from __future__ import annotations

import re
from collections import Counter

from lxml.etree import _Element

from .outline import Block, Outline
from .tags import HEADINGS

COPY_WORDS = 20
COPY_PART_WORDS = 8
HASH_BASE = 1_000_003
HASH_PRIME = (1 << 61) - 1
MANY_COPIES = 5

_AUTHOR_NAME = re.compile(
    r"(?:author|user(?:name|info)?|profile|byline|poster|member|cite|avatar|creator|name|title|brand|material)",
    re.IGNORECASE,
)
_UNREPEATED = frozenset(("pre", "td", "th", *HEADINGS))


def drop_repeated(outline: Outline, keep: bytearray, *, parts: bool) -> None:
    """Keep one copy of each. `parts`: whole parts too, not only single blocks (posts of a thread may be alike)."""
    before = bytes(keep)
    _drop_labels(outline, keep)
    _drop_copies(outline, keep)
    if parts:
        _drop_parts(outline, keep)
    _drop_emptied_headings(outline, keep, before)


def drop_copies(outline: Outline, keep: bytearray) -> None:
    """Only second copies of paragraphs and parts."""
    before = bytes(keep)
    _drop_copies(outline, keep)
    _drop_parts(outline, keep)
    _drop_emptied_headings(outline, keep, before)


def _drop_emptied_headings(outline: Outline, keep: bytearray, before: bytes) -> None:
    """Drop headings of which nothing is left but copies that stand elsewhere."""
    following = len(keep)
    level = ""
    for index in range(len(keep) - 1, -1, -1):
        if not keep[index]:
            continue
        tag = str(outline.blocks[index].element.tag)
        is_empty = following == len(keep) or "" < level <= tag
        if tag in HEADINGS[1:] and is_empty and index + 1 < len(keep) and before[index + 1] and not keep[index + 1]:
            keep[index] = 0
            continue
        following, level = index, tag if tag in HEADINGS else ""


def _drop_labels(outline: Outline, keep: bytearray) -> None:
    """Drop what stands beside every entry (`Reply`, `Add to cart`), but not the name that entries share."""
    counts = Counter(block.text for block, flag in zip(outline.blocks, keep, strict=True) if flag)
    for index, block in enumerate(outline.blocks):
        if not keep[index] or block.words >= COPY_WORDS or counts[block.text] < MANY_COPIES:
            continue
        if block.element.tag not in _UNREPEATED and _is_control(block):
            keep[index] = names_something(block)


def _drop_copies(outline: Outline, keep: bytearray) -> None:
    seen: set[str] = set()
    for index, block in enumerate(outline.blocks):
        if not keep[index] or block.words < COPY_WORDS or block.element.tag in _UNREPEATED:
            continue
        if block.text not in seen:
            seen.add(block.text)
        elif next(block.element.iterancestors("blockquote"), None) is None:
            keep[index] = 0


def _drop_parts(outline: Outline, keep: bytearray) -> None:
    """Drop parts whose whole text stood on the page before: the same cards for another screen, or once more below."""
    sums = [0]
    for block in outline.blocks:
        sums.append((sums[-1] * HASH_BASE + hash(block.text)) % HASH_PRIME)
    powers = [1]
    for _ in outline.blocks:
        powers.append(powers[-1] * HASH_BASE % HASH_PRIME)
    seen: dict[tuple[int, int], tuple[int, int]] = {}
    for element, (start, end) in sorted(outline.spans.items(), key=lambda entry: (entry[1][0], -entry[1][1])):
        least = COPY_PART_WORDS if end - start > 1 else COPY_WORDS  # a single line may be a refrain
        if (
            outline.words[end] - outline.words[start] < least
            or element.tag in (*_UNREPEATED, "tr", "li")
            or not any(keep[start:end])
        ):
            continue
        key = (end - start, (sums[end] - sums[start] * powers[end - start]) % HASH_PRIME)
        first = seen.setdefault(key, (start, end))
        if first[1] <= start and next(element.iterancestors("td", "th", "pre"), None) is None:
            keep[start:end] = bytes(end - start)


def _is_control(block: Block) -> bool:
    """Whether a short text is rather a button than a sentence, a price or a list's entry."""
    if any(letter.isdigit() for letter in block.text):
        return False
    return block.element.tag not in ("li", "p", "dd") or block.link_words == block.words


def names_something(block: Block) -> bool:
    """Whether the block looks like the name of an author or a thing, which many entries may share."""
    links = (f"{link.get('class') or ''} {link.get('href') or ''}" for link in block.element.iter("a"))
    if any(_AUTHOR_NAME.search(link) for link, _ in zip(links, range(5), strict=False)):
        return True
    element: _Element | None = block.element
    for _ in range(3):
        if element is None:
            return False
        if _AUTHOR_NAME.search(f"{element.get('class') or ''} {element.get('itemprop') or ''}"):
            return True
        element = element.getparent()
    return False
