"""Our own reader: everything that does not look like the frame around a page's content, in order.

Rules over tags, roles, names of classes and the share of links; no page is known by name. It keeps more than
trafilatura and fails on different pages, which is why `choose.py` asks both.
"""

from __future__ import annotations

import re

from lxml.html import HtmlElement

from .kinds import Kind
from .outline import Outline
from .tags import HEADINGS

FRAME_SHARE = 0.6
"""A part with a larger share of the page's words is not its frame, whatever it is called."""
NAMED_SHARE = 0.4
LINK_LIST_WORDS = 60
LINK_LIST_SHARE = 0.85
MAIN_SHARE = 0.5

_FRAME_TAGS = frozenset(("nav", "footer", "aside", "dialog", "menu"))
_FRAME_ROLES = frozenset(
    ["navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog", "menu", "menubar", "toolbar", "alert"]
)
_NAMED_TAGS = frozenset(("div", "section", "ul", "ol", "li", "header", "form", "table", "p", "dl"))
_FRAME_NAME = re.compile(
    r"(?:^|[\s_-])(?:nav(?:bar|igation)?|menus?|footer|foot|side-?bar|bread-?crumbs?|crumbs?|cookies?|consent|gdpr|onetrust"
    r"|shar(?:e|ing)|social|related|recommend(?:ed|ations?)?|newsletter|subscri(?:be|ption)|promo|advert(?:isement)?s?|ads?"
    r"|banner|popup|modal|overlay|tool-?bar|pagination|pager|skip-?link|log-?in|sign-?in|sign-?up|search(?:form|box|bar)?|toc"
    r"|masthead|top-?bar|copyright|disclaimer|comment-?form|reply-?form|respond|cart|minicart|wishlist|facets?|filters?"
    r"|author-?bio|trending|popular|upsell|cross-?sell|you-?may-?also|read-?next|tag-?cloud|widget)(?=$|[\s_-])",
    re.IGNORECASE,
)
_CONTENT_NAME = re.compile(
    r"(?:^|[\s_-])(?:content|main|article|post|entry|body|product|thread|topic|message|results|page|wrapper|container"
    r"|layout|col|row|grid|section)(?=$|[\s_-])",
    re.IGNORECASE,
)
_MAIN_IDS = frozenset(("content", "main", "main-content", "primary"))


def read(outline: Outline, kind: Kind) -> bytearray:
    """One flag for each block of the outline: 1 where it is content."""
    keep = bytearray(b"\1") * len(outline.blocks)
    total = max(1, outline.words[-1])
    mains = {main for main in outline.root.iter("main", "article")}
    for element, (start, end) in outline.spans.items():
        words = outline.words[end] - outline.words[start]
        if not words or element is outline.root:
            continue
        if _is_frame(element, words, total, mains):
            keep[start:end] = bytes(end - start)
    _keep_main_only(outline, keep)
    _drop_link_lists(outline, keep)
    return keep


def _is_frame(element: HtmlElement, words: int, total: int, mains: set[HtmlElement]) -> bool:
    if element.tag in _FRAME_TAGS or element.get("role") in _FRAME_ROLES:
        return words < FRAME_SHARE * total
    if element.tag == "header" and not any(ancestor in mains for ancestor in element.iterancestors()):
        return words < FRAME_SHARE * total and next(element.iter("h1"), None) is None
    if element.tag not in _NAMED_TAGS or words >= NAMED_SHARE * total:
        return False
    names = f"{element.get('class') or ''} {element.get('id') or ''}"
    return names != " " and _FRAME_NAME.search(names) is not None and _CONTENT_NAME.search(names) is None


def _kept_words(outline: Outline, keep: bytearray, start: int, end: int) -> int:
    return sum(outline.blocks[index].words for index in range(start, end) if keep[index])


def _keep_main_only(outline: Outline, keep: bytearray) -> None:
    """Where one part holds more than half of what is left, only that part counts."""
    sums = [0]
    for block, flag in zip(outline.blocks, keep, strict=True):
        sums.append(sums[-1] + (block.words if flag else 0))
    best: tuple[int, int, int] = (0, 0, len(keep))
    for element, (start, end) in outline.spans.items():
        is_main = element.tag in ("main", "article") or element.get("role") == "main"
        if is_main or element.get("itemprop") == "articleBody" or element.get("id") in _MAIN_IDS:
            best = max(best, (sums[end] - sums[start], start, end))
    words, start, end = best
    if words > MAIN_SHARE * sums[-1]:
        keep[:start] = bytes(start)
        keep[end:] = bytes(len(keep) - end)


def _drop_link_lists(outline: Outline, keep: bytearray) -> None:
    for element, (start, end) in outline.spans.items():
        if element.tag not in ("ul", "ol", "div", "section", "table", "p") or element is outline.root:
            continue
        words = outline.words[end] - outline.words[start]
        if not words or words > LINK_LIST_WORDS or outline.links[end] - outline.links[start] < 3:
            continue
        share = (outline.link_words[end] - outline.link_words[start]) / words
        if share > LINK_LIST_SHARE and next(element.iter(*HEADINGS[1:3], "img"), None) is None:
            keep[start:end] = bytes(end - start)
