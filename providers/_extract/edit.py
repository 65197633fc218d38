"""Small changes to a tree that keep the text around them."""

from __future__ import annotations

from typing import cast

from lxml import etree
from lxml.html import HtmlElement


def remove(element: HtmlElement) -> None:
    """Take an element and all in it out of the tree; the text after it stays."""
    parent = element.getparent()
    if parent is None:
        return
    if element.tail:
        _append_before(element, parent, element.tail)
    parent.remove(element)


def replace(element: HtmlElement, new: etree._Element) -> None:
    """Put another element where this one stood; the text after it stays."""
    parent = element.getparent()
    if parent is not None:
        new.tail = element.tail
        element.tail = None
        parent.replace(element, cast("HtmlElement", new))


def _append_before(element: HtmlElement, parent: etree._Element, text: str) -> None:
    previous = element.getprevious()
    if previous is not None:
        previous.tail = (previous.tail or "") + text
    else:
        parent.text = (parent.text or "") + text
