"""Where a picture element's picture really is: pages load them late and keep the address elsewhere."""

from __future__ import annotations

from lxml.html import HtmlElement

_LAZY = ("data-src", "data-original", "data-lazy-src", "data-lazy", "data-url", "data-image", "data-hi-res-src")
_LAZY_SETS = ("data-srcset", "data-lazy-srcset")


def picture_source(element: HtmlElement) -> str | None:
    """The address as the page writes it; never a `data:` placeholder."""
    for name in (*_LAZY, "src"):
        address = element.get(name)
        if address and _is_address(address):
            return str(address)
    for name in (*_LAZY_SETS, "srcset"):
        address = _first_of_set(element.get(name))
        if address:
            return address
    parent = element.getparent()
    if parent is not None and parent.tag == "picture":
        for source in parent.iter("source"):
            address = _first_of_set(source.get("srcset") or source.get("data-srcset"))
            if address:
                return address
    return None


def _is_address(address: str) -> bool:
    return address.lstrip()[:5].lower() != "data:" and "{" not in address and len(address) < 2_048


def _first_of_set(srcset: str | None) -> str | None:
    """The first address of a `srcset` (`a.jpg 1x, b.jpg 2x`)."""
    words = (srcset or "")[:4_096].split()
    if not words or not _is_address(words[0]):
        return None
    return words[0].rstrip(",")
