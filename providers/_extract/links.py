"""Addresses of a page made absolute by RFC 3986, against its final URL and `<base href>`."""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit

from lxml.html import HtmlElement

_SCHEMES = ("http", "https", "mailto")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_UNSAFE = {ord(" "): "%20", ord("("): "%28", ord(")"): "%29", ord("<"): "%3C", ord(">"): "%3E", ord("\\"): "%5C"}
_UNSAFE.update({ord('"'): "%22", ord("|"): "%7C", ord("`"): "%60", ord("*"): "%2A", ord("["): "%5B", ord("]"): "%5D"})
_STRIPPED = re.compile(r"[\t\n\r]")
MAX_ADDRESS_CHARS = 2_048


class Links:
    """Resolves the addresses of one page; each distinct one once."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._known: dict[str, str | None] = {}

    def resolve(self, address: str | None) -> str | None:
        """The absolute address, safe inside `(...)`, or None for what is no address of the web."""
        if not address:
            return None
        if address not in self._known:
            self._known[address] = _resolve(self._base, address)
        return self._known[address]


def base_of(root: HtmlElement, final_url: str) -> str:
    """What relative addresses of the page are relative to."""
    for element in root.iter("base"):
        declared = _resolve(final_url, element.get("href") or "")
        if declared is not None and declared.startswith("http"):
            return declared
    return final_url


def _resolve(base: str, address: str) -> str | None:
    address = _STRIPPED.sub("", address).strip()
    if not address or len(address) > MAX_ADDRESS_CHARS:
        return None
    scheme = _SCHEME.match(address)
    if scheme and scheme[0][:-1].lower() not in _SCHEMES:
        return None
    try:
        absolute = urljoin(base, address)
        parts = urlsplit(absolute)
    except ValueError:
        return None
    if parts.scheme not in _SCHEMES or (parts.scheme != "mailto" and not parts.netloc):
        return None
    return absolute.translate(_UNSAFE)
