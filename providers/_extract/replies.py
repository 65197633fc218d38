"""Marks the posts of a thread for the writer: what answers what where the page shows it, else where each begins.

A post that holds the posts that answer it is nested already. Others stand in a row and are indented by a number: an
attribute, a class (`depth-2`) or a style; these are moved into what they answer.
"""

from __future__ import annotations

import re
from typing import cast

from lxml import etree
from lxml.html import HtmlElement

from .edit import replace
from .outline import Outline
from .thread import AUTHOR, is_frame, posts_of, whole_posts

POST_ATTRIBUTE = "data-post-of-page"
"""`answer`: an entry of a tree. `next`: a post after another one in a row."""
MAX_ARRANGED = 2_000
MAX_DEPTH = 12
"""Deeper answers stand beside their parents: more indentation than this says nothing."""
INDENT_PIXELS = 10

_TABLE_TAGS = frozenset(("table", "tbody", "thead", "tr", "td", "th"))
_DEPTH_CLASS = re.compile(r"(?:^|\s)(?:[\w-]*-)?(?:depth|level|indent)-?_?(\d{1,2})(?=\s|$)", re.IGNORECASE)
_DEPTH_STYLE = re.compile(r"(?:margin|padding)-(?:left|inline-start)\s*:\s*(\d{1,4})(?:\.\d+)?px", re.IGNORECASE)
_DEPTH_ATTRIBUTES = ("data-depth", "data-level", "data-indent", "depth", "indent", "aria-level")


def arrange(outline: Outline) -> None:
    """Change the tree of a thread from which everything but its posts has been taken out already."""
    for element in outline.root.xpath(f".//*[@{POST_ATTRIBUTE}]"):
        del element.attrib[POST_ATTRIBUTE]
    posts = posts_of(outline)
    if not 1 < len(posts) <= MAX_ARRANGED:
        return
    nodes = _nodes(outline, posts)
    if len(nodes) < 2:
        return
    for node in nodes:
        _name_author(node)
    marked = set(nodes)
    is_tree = any(ancestor in marked for node in nodes for ancestor in node.iterancestors())
    depths = [] if is_tree else [_depth(node) for node in nodes]
    for node in nodes:
        _untable(node, outline.root)
    if len(set(depths)) > 1:
        _nest(nodes, depths)
        is_tree = True
    for index, node in enumerate(nodes):
        if is_tree or index:
            node.set(POST_ATTRIBUTE, "answer" if is_tree else "next")


def _nodes(outline: Outline, posts: list[etree._Element]) -> list[HtmlElement]:
    """For each post that is still there the element that holds it, its author, and what answers it."""
    found: dict[HtmlElement, None] = {}
    owned: set[etree._Element] = set()
    for post, whole in zip(posts, whole_posts(outline, posts), strict=True):
        entry = next((part for part in (post, *post.iterancestors()) if part.tag == "li"), None)
        node = entry if entry is not None and entry not in owned else whole
        owned.update((node, *node.iterancestors("li")))
        is_there = node is not outline.root and outline.root in node.iterancestors()
        if is_there and "".join(node.itertext()).strip():
            found[cast("HtmlElement", node)] = None
    return list(found)


def _name_author(node: HtmlElement) -> None:
    """Put the author's name in bold, and of a line of figures around it keep the name and the date only."""
    author = next((part for part in node.iter("a", "span", "b") if AUTHOR.search(part.get("class") or "")), None)
    if (
        author is None
        or next(author.iterancestors("strong", "b", "h1", "h2", "h3", "h4", "h5", "h6"), None) is not None
    ):
        return
    line = author.getparent()
    if line is not None and is_frame(line):
        line.text = None
        for part in list(line):
            if part is not author and part.tag != "time" and next(part.iter("time"), None) is None:
                line.remove(part)
            else:
                part.tail = " "
    if author.tag != "b":
        strong = etree.Element("strong")
        replace(author, strong)
        strong.append(author)


def _depth(node: HtmlElement) -> int:
    for part, _ in zip(node.iter(), range(12), strict=False):
        for name in _DEPTH_ATTRIBUTES:
            value = part.get(name) or ""
            if value.isascii() and value.isdigit() and len(value) < 4:
                return int(value)
        named = _DEPTH_CLASS.search(part.get("class") or "")
        if named is not None:
            return int(named[1])
        styled = _DEPTH_STYLE.search(part.get("style") or "") if part is node else None
        if styled is not None:
            return int(styled[1]) // INDENT_PIXELS
    return 0


def _untable(node: HtmlElement, root: HtmlElement) -> None:
    """Turn the tables that posts are laid out with into plain parts."""
    if node.tag not in _TABLE_TAGS:
        return
    for part in (*node.iterchildren("td", "th"), node, *node.iterancestors()):
        if part is root or part.tag not in _TABLE_TAGS:
            if part is root:
                break
            continue
        part.tag = "div"


def _nest(nodes: list[HtmlElement], depths: list[int]) -> None:
    """Move each post into the nearest one before it that is less indented."""
    open_posts: list[tuple[int, HtmlElement]] = []
    for node, depth in zip(nodes, depths, strict=True):
        while open_posts and open_posts[-1][0] >= depth:
            open_posts.pop()
        if open_posts:
            if node.tail:
                node.tail = None
            open_posts[-1][1].append(node)
        if len(open_posts) < MAX_DEPTH:
            open_posts.append((depth, node))
