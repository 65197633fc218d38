"""What a page declares about being paid for, and whether this copy of it is cut (vendors/paywalls.md 1 and 2).

A declaration says that the site has a paywall, not that the text is missing: the judge weighs both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lxml import etree
from lxml.html import HtmlElement

from .structured import Node, string

EMPTY_PART_WORDS = 25
LONGER_FACTOR = 2

_SELECTOR = re.compile(r"([a-z][a-z0-9]*)?((?:[.#][\w-]+)+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Paywall:
    """As in `Signals`; `words` is the count of words that the page declares for the whole text, 0 for none."""

    declared: bool = False
    metered: bool = False
    part_is_empty: bool = False
    words: int = 0


def paywall(root: HtmlElement, meta: dict[str, str], nodes: list[Node]) -> Paywall:
    """Read the declarations of a tree from which nothing was removed yet."""
    tier = meta.get("article:content_tier", "").lower()
    unfree = [node for node in nodes if _is_false(node.get("isAccessibleForFree"))]
    microdata = root.xpath("//*[@itemprop='isAccessibleForFree']")[:20]
    declared = bool(unfree) or tier == "locked"
    declared = declared or any(_is_false(item.get("content") or item.get("href") or item.text) for item in microdata)
    selectors = [selector for node in unfree for part in (node, *_parts(node)) for selector in _selectors(part)]
    counts = [string(node.get("wordCount")) for node in nodes]
    return Paywall(
        declared=declared,
        metered=tier == "metered",
        part_is_empty=declared and _is_empty(root, selectors),
        words=max(
            (int(count) for count in counts if count.isascii() and count.isdigit() and len(count) < 7), default=0
        ),
    )


def _is_false(value: object) -> bool:
    if isinstance(value, list):
        return any(map(_is_false, value))
    return value is False or (isinstance(value, str) and value.strip().rsplit("/", 1)[-1].lower() == "false")


def _parts(node: Node) -> list[Node]:
    parts = node.get("hasPart")
    return [part for part in (parts if isinstance(parts, list) else [parts]) if isinstance(part, dict)]


def _selectors(node: Node) -> Iterable[str]:
    selector = node.get("cssSelector")
    values = selector if isinstance(selector, list) else [selector]
    return [value for value in values if isinstance(value, str) and len(value) < 200]


def _is_empty(root: HtmlElement, selectors: list[str]) -> bool:
    """Whether all elements that are named as the paid part are missing or hold almost no text."""
    paths = [path for selector in selectors for part in selector.split(",") if (path := _path(part.strip()))]
    if not paths:
        return False
    found = [element for path in paths for element in root.xpath(path)]
    return all(_word_count(element) < EMPTY_PART_WORDS for element in found)


def _path(selector: str) -> str | None:
    """An XPath for one compound selector; None for others, which say nothing then."""
    found = _SELECTOR.fullmatch(selector)
    if found is None:
        return None
    tests = ""
    for mark, name in re.findall(r"([.#])([\w-]+)", found[2]):
        tests += (
            f"[@id='{name}']" if mark == "#" else f"[contains(concat(' ', normalize-space(@class), ' '), ' {name} ')]"
        )
    return f"//{(found[1] or '*').lower()}{tests}"


def _word_count(element: etree._Element) -> int:
    return sum(len(text.split()) for text in element.itertext())
