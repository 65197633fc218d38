"""Our own reader: everything that does not look like the frame around a page's content, in order.

Rules over tags, roles, names of classes and the share of links; no page is known by name. It keeps more than
trafilatura and fails on different pages, which is why `choose.py` asks both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast

from lxml.etree import _Element
from lxml.html import HtmlElement

from . import thread
from .kinds import Kind
from .names import Names, Signs
from .outline import Block, Outline
from .repeats import drop_repeated, names_something
from .tags import HEADINGS

FRAME_SHARE = 0.6
"""A part with a larger share of the page's words is not its frame, whatever it is called."""
NAMED_SHARE = 0.4
LINK_SHARE = 0.6
CONTROL_WORDS = 80
PROSE_WORDS = 18
HEAD_WORDS = 150
TITLE_WORDS = 8
SENTENCE_WORDS = 8
ASIDE_SHARE = 0.4
LINK_LIST_WORDS = 60
LINK_LIST_SHARE = 0.85
MENU_WORDS = 4.5
"""Entries of a menu are shorter than this on average; links of a listing are whole titles."""
ROW_WORDS = 5
"""More words between two separators are a sentence or a title rather than a menu's entry."""
NEARBY_LINK_SHARE = 0.25
MAIN_SHARE = 0.5
AFTER_WORDS = 100
AFTER_SHARE = 0.6

_FRAME_TAGS = frozenset(("nav", "footer", "aside", "dialog", "menu"))
_FRAME_ROLES = frozenset(
    [
        "navigation",
        "banner",
        "contentinfo",
        "complementary",
        "search",
        "dialog",
        "alertdialog",
        "menu",
        "menubar",
        "toolbar",
        "alert",
    ]
)
_NAMED_TAGS = frozenset(("div", "section", "ul", "ol", "li", "header", "form", "table", "p", "dl"))
_ASIDE_TITLE = re.compile(
    r"(?:you (?:may|might)(?: also)?(?: like| enjoy| be interested.*)?|(?:people|customers?) (?:who|also|frequently).*"
    r"|frequently bought.*|related(?: \w+){0,3}|similar (?:\w+ ?){1,2}|suggested (?:\w+ ?){1,2}"
    r"|recommended(?: \w+){0,3}|more (?:from|in|on|like|stories|articles|posts|news)\b.*|read (?:more|next|also)"
    r"|up next|what to read next|keep reading|trending(?: \w+){0,2}|recently viewed.*"
    r"|(?:most )?(?:popular|recent|read|viewed|latest) (?:posts?|articles?|stories|news|topics?|now)"
    r"|(?:leave|post|add|write) a (?:reply|comment).*|share (?:this|on|via)\b.*|share|follow us.*|about the authors?"
    r"|(?:sign up|subscribe)\b.*|(?:join|get) (?:our|the) newsletter.*|newsletter"
    r"|stay (?:in touch|up to date|connected|informed).*|popular topics?|who'?s online.*|tags|categories|quick links"
    r"|advertisement|sponsored.*|table of contents|on this page"
    r"|(?:das könnte|auch interessant|mehr zum thema|ähnliche).*|(?:à lire aussi|articles similaires|vous aimerez).*"
    r"|(?:читайте также|похожие|смотрите также).*)[:.…]?",
    re.IGNORECASE,
)
_NEARBY_TITLE = re.compile(r"more (?:in|on|like)\b|(?:related|similar|recommended) \w", re.IGNORECASE)
"""Titles that also stand over text of the page itself; only lists of links below them are asides."""
_REVIEWS_TITLE = re.compile(
    r"(?:\d+ )?(?:customer |product |verified )?(?:reviews?|ratings?|questions?|q&a)(?: .{0,30})?", re.IGNORECASE
)

_LIST_TAGS = frozenset(("ul", "ol", "div", "section", "table", "p"))
_SEPARATORS = frozenset("|·•»›/→")
_TEXTS = (Kind.ARTICLE, Kind.DOCUMENTATION, Kind.OTHER)
_MAIN_IDS = frozenset(("content", "main", "main-content", "primary"))


@dataclass(frozen=True, slots=True)
class Reading:
    """One flag for each block of an outline. `overlaid`: lies over the page, which no second reader brings back."""

    keep: bytearray
    overlaid: bytearray


def read(outline: Outline, kind: Kind) -> Reading:
    """Decide of each block whether it is content."""
    keep = bytearray(b"\1") * len(outline.blocks)
    overlaid = bytearray(len(outline.blocks))
    total = max(1, outline.words[-1])
    names = Names()
    mains = set(outline.root.iter("main", "article"))
    for element, (start, end) in outline.spans.items():
        words = outline.words[end] - outline.words[start]
        if not words or element is outline.root:
            continue
        link_share = (outline.link_words[end] - outline.link_words[start]) / words
        signs = names.of(cast("HtmlElement", element))
        if _is_overlay(cast("HtmlElement", element), words / total, signs):
            keep[start:end] = bytes(end - start)
            overlaid[start:end] = b"\1" * (end - start)
        elif _is_frame(outline, cast("HtmlElement", element), words / total, link_share, mains, kind, signs):
            keep[start:end] = bytes(end - start)
    _keep_main_only(outline, keep, kind)
    _drop_link_lists(outline, keep, kind)
    _drop_titled_asides(outline, keep, kind)
    drop_repeated(outline, keep, parts=kind is not Kind.FORUM)
    if kind is Kind.FORUM:
        thread.drop_frames(outline, keep)
    return Reading(keep, overlaid)


def _is_frame(
    outline: Outline,
    element: HtmlElement,
    share: float,
    link_share: float,
    mains: set[HtmlElement],
    kind: Kind,
    signs: Signs,
) -> bool:
    tag = str(element.tag)
    if tag == "aside" and kind is Kind.FORUM and link_share <= LINK_SHARE:
        tag = "div"  # quotes and authors of posts stand in such
    if tag in _FRAME_TAGS or element.get("role") in _FRAME_ROLES:
        return share < FRAME_SHARE or link_share > LINK_SHARE
    if tag == "header" and not any(ancestor in mains for ancestor in element.iterancestors()):
        return (share < FRAME_SHARE or link_share > LINK_SHARE) and next(element.iter("h1"), None) is None
    if share >= NAMED_SHARE or not ("-" in tag or tag in _NAMED_TAGS):
        return False
    if signs.frame or (signs.control and (outline.words_in(element) <= CONTROL_WORDS or link_share > LINK_SHARE)):
        return link_share > LINK_SHARE or next(element.iter("h1"), None) is None
    if signs.soft:
        return link_share > LINK_SHARE or not _has_prose(outline, element)
    if kind is not Kind.FORUM and signs.comments:
        return next(element.iter("h1"), None) is None
    return False


def _is_overlay(element: HtmlElement, share: float, signs: Signs) -> bool:
    """Whether it lies over the page instead of in it, by its role or its name; a page's own heading lies in none."""
    if share >= NAMED_SHARE or element.tag not in _NAMED_TAGS:
        return False
    if not signs.overlay and element.get("aria-modal") != "true":
        return False
    return next(element.iter("h1"), None) is None


def _has_prose(outline: Outline, element: HtmlElement) -> bool:
    """Whether a heading of the page or a paragraph of running text stands in it."""
    start, end = outline.spans[element]
    if any(block.element.tag == "h1" for block in outline.blocks[start:end]):
        return True
    return any(
        block.words >= PROSE_WORDS and block.link_words < 0.3 * block.words for block in outline.blocks[start:end]
    )


def _drop_titled_asides(outline: Outline, keep: bytearray, kind: Kind) -> None:
    """Drop parts whose heading says that they lead elsewhere, up to where the part or the next heading ends it."""
    total = sum(block.words for block, flag in zip(outline.blocks, keep, strict=True) if flag)
    for index, block in enumerate(outline.blocks):
        if not keep[index] or block.words > TITLE_WORDS or not _is_title(block):
            continue
        is_aside = _ASIDE_TITLE.fullmatch(block.text) or (
            kind is Kind.PRODUCT and _REVIEWS_TITLE.fullmatch(block.text) is not None
        )
        if is_aside:
            start, end = _part_of(outline, index)
            words = sum(
                block.words for block, flag in zip(outline.blocks[start:end], keep[start:end], strict=True) if flag
            )
            links = outline.link_words[end] - outline.link_words[start]
            if _NEARBY_TITLE.match(block.text) and links < NEARBY_LINK_SHARE * (
                outline.words[end] - outline.words[start]
            ):
                continue
            if words < ASIDE_SHARE * total:
                keep[start:end] = bytes(end - start)


def _is_title(block: Block) -> bool:
    return block.element.tag in HEADINGS or block.element.tag in ("strong", "div", "p", "span", "header", "legend")


def _part_of(outline: Outline, index: int) -> tuple[int, int]:
    """The range of the largest part that begins with this block; where it is alone, what follows in its parent."""
    element = outline.blocks[index].element
    start, end = outline.spans[element]
    level = str(element.tag)
    for ancestor in element.iterancestors():
        span = outline.spans.get(ancestor)
        if span is None:
            continue
        if span[0] < index or ancestor.tag in ("body", "main", "article"):
            if end - index == 1:
                end = _next_heading(outline, index, span[1], level)
            break
        if span[1] > end:
            end = span[1]
    return start, end


def _next_heading(outline: Outline, index: int, end: int, level: str) -> int:
    """Where the next heading of the same or a higher level stands; nothing but the title itself if it is no heading."""
    if level not in HEADINGS:
        return index + 1
    for other in range(index + 1, end):
        tag = outline.blocks[other].element.tag
        if tag in HEADINGS and tag <= level:
            return other
    return end


def _keep_main_only(outline: Outline, keep: bytearray, kind: Kind) -> None:
    """Where one part holds more than half of what is left, only that part counts. A long post is no such part."""
    sums = [0]
    for block, flag in zip(outline.blocks, keep, strict=True):
        sums.append(sums[-1] + (block.words if flag else 0))
    best: tuple[int, int, int] = (0, 0, len(keep))
    for element, (start, end) in outline.spans.items():
        is_main = element.tag == "main" or element.get("role") == "main"
        is_main = is_main or (element.tag == "article" and kind is not Kind.FORUM)
        if is_main or element.get("itemprop") == "articleBody" or element.get("id") in _MAIN_IDS:
            best = max(best, (sums[end] - sums[start], start, end))
    words, start, end = best
    if words > MAIN_SHARE * sums[-1]:
        start = _with_head(outline, keep, start)
        keep[:start] = bytes(start)
        if kind in (Kind.ARTICLE, Kind.DOCUMENTATION, Kind.FORUM):
            keep[end:] = bytes(len(keep) - end)
        else:
            _keep_prose_after(outline, keep, end)


def _keep_prose_after(outline: Outline, keep: bytearray, end: int) -> None:
    """Of what follows the main part, keep the parts that are running text: guides and questions below a grid."""
    position = end
    while position < len(keep):
        after = _largest_from(outline, position)
        kept = [block for block, flag in zip(outline.blocks[position:after], keep[position:after], strict=True) if flag]
        prose = sum(
            block.words for block in kept if block.words >= PROSE_WORDS and block.link_words < 0.3 * block.words
        )
        if prose < AFTER_WORDS or prose < AFTER_SHARE * sum(block.words for block in kept):
            keep[position:after] = bytes(after - position)
        position = after


def _largest_from(outline: Outline, position: int) -> int:
    """The end of the largest part that begins with this block and holds nothing in front of it."""
    element: _Element | None = outline.blocks[position].element
    end = position + 1
    while element is not None and element is not outline.root:
        start, stop = outline.spans.get(element, (position, end))
        if start < position:
            break
        end = max(end, stop)
        element = element.getparent()
    return end


def _with_head(outline: Outline, keep: bytearray, start: int) -> int:
    """The start of the content when the page's heading, with its introduction, stands in front of the main part."""
    heading = next((block.element for block in outline.blocks[:start] if block.element.tag == "h1"), None)
    if heading is None or not keep[outline.spans[heading][0]]:
        return start
    part = heading
    for ancestor in heading.iterancestors():
        if (
            ancestor not in outline.spans
            or outline.spans[ancestor][1] > start
            or outline.words_in(ancestor) > HEAD_WORDS
        ):
            break
        part = ancestor
    first, last = outline.spans[part]
    keep[last:start] = bytes(start - last)
    return first


def _drop_link_lists(outline: Outline, keep: bytearray, kind: Kind) -> None:
    for index, block in enumerate(outline.blocks):
        if keep[index] and _is_link_row(block) and not names_something(block):
            keep[index] = 0
    for element, (start, end) in outline.spans.items():
        if element.tag not in _LIST_TAGS or element is outline.root:
            continue
        words, links = outline.words[end] - outline.words[start], outline.links[end] - outline.links[start]
        if not words or words > LINK_LIST_WORDS or links < 3 or words > MENU_WORDS * links:
            continue
        share = (outline.link_words[end] - outline.link_words[start]) / words
        if share <= LINK_LIST_SHARE or (element.tag == "p" and share < 1):
            continue
        if kind is Kind.FORUM and any(map(names_something, outline.blocks[start:end])):
            continue
        if kind in _TEXTS and _is_introduced(outline, keep, start):
            continue
        if next(element.iter(*HEADINGS[1:3], "img"), None) is None:
            keep[start:end] = bytes(end - start)


def _is_introduced(outline: Outline, keep: bytearray, start: int) -> bool:
    """Whether a sentence of the page stands right in front of a list of links, which then belongs to it."""
    if not start or not keep[start - 1]:
        return False
    before = outline.blocks[start - 1]
    return before.words >= SENTENCE_WORDS and before.link_words < 0.3 * before.words


def _is_link_row(block: Block) -> bool:
    """`Home | News | Shop`: links and separators, nothing else."""
    words = block.text.split()
    separators = sum(word in _SEPARATORS for word in words)
    if not 0 < separators < len(words) <= min(LINK_LIST_WORDS, ROW_WORDS * (separators + 1)):
        return False
    return block.link_words >= len(words) - separators
