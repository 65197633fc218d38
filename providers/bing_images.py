"""Bing's image search, scraped. Reference: none is published; what maintained clients send and read, seen 2026-08.

No key and no contract. The fragment that its own "more" link asks for holds 35 pictures and far less markup than the
page. A date goes in minutes; a picture tells no date. Status 200 says nothing: an empty grid is an empty answer, what
has neither pictures nor a grid is a challenge, a consent page or something else. Some pages of good queries come empty.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
from lxml import etree, html

from providers import _workers
from providers._contract import Blocked, Found, Image, ImageQuery, Malformed
from providers._json import digest_now
from providers._registry import register
from providers._relevance import IRRELEVANT, is_relevant
from providers._snippets import title
from providers._wire import Rule, ask, parsing

PAGE_SIZE = 35
INLINE_BYTES = 200_000
AGES_IN_MINUTES = MappingProxyType({"d": 1_440, "w": 10_080, "m": 44_640, "y": 525_600})
RULES = (Rule(Blocked, status=403, detail="status 403"),)

HEADERS = MappingProxyType(
    {
        "user-agent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:155.0) Gecko/20100101 Firefox/155.0",
        "accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "referer": "https://www.bing.com/",
        "cookie": "SRCHHPGUSR=ADLT=STRICT",
        "sec-fetch-dest": "document",
        "sec-fetch-mode": "navigate",
        "sec-fetch-site": "same-origin",
        "sec-fetch-user": "?1",
    }
)

# A market is a language and a country; this is the country where the caller names none.
COUNTRIES = MappingProxyType(
    {
        "en": "US", "ru": "RU", "de": "DE", "fr": "FR", "es": "ES", "it": "IT", "pt": "PT", "nl": "NL", "pl": "PL",
        "cs": "CZ", "sv": "SE", "da": "DK", "fi": "FI", "nb": "NO", "no": "NO", "uk": "UA", "tr": "TR", "el": "GR",
        "hu": "HU", "ro": "RO", "bg": "BG", "ja": "JP", "ko": "KR", "zh": "CN", "ar": "SA", "he": "IL", "th": "TH",
    }
)  # fmt: skip
SCRIPTS = MappingProxyType({"hans": "CN", "hant": "TW"})


@register("bing-images")
@dataclass(frozen=True, slots=True)
class BingImages:
    """Pictures, strictly filtered."""

    url: str = "https://www.bing.com/images/async"

    async def search_images(self, query: ImageQuery, client: httpx.AsyncClient) -> Found[Image]:
        fields = {"q": query.text, "async": "1", "first": "1", "count": str(PAGE_SIZE), "adlt": "strict"}
        market = _market(query.language)
        if market is not None:
            fields["mkt"] = market
        if query.date:
            # Bing's own links have the plus sign and the encoded colon; without the plus the filter may be ignored.
            fields["qft"] = f" filterui:age-lt{AGES_IN_MINUTES[query.date]}"
        headers = HEADERS | {"accept-language": f"{market},{market[:2]};q=0.8" if market else "en-US,en;q=0.5"}
        response = await ask(client, "GET", f"{self.url}?{urlencode(fields)}", headers=headers, rules=RULES)
        body = response.content
        images = parse_images(body) if len(body) < INLINE_BYTES else await _workers.run(parse_images, body)
        return _found(images, query, "language not supported" if query.language and market is None else None)


def _found(images: tuple[Image, ...], query: ImageQuery, detail: str | None) -> Found[Image]:
    entries = (f"{image.title} {image.page_url} {image.image_url}" for image in images)
    if images and not is_relevant(query.text, entries):
        return Found((), f"{detail}; {IRRELEVANT}" if detail else IRRELEVANT)
    return Found(images[: query.limit], detail)


def _market(tag: str | None) -> str | None:
    """The market of a language, None where the caller names no language or one without a known country."""
    parts = (tag or "").replace("_", "-").lower().split("-")
    regions = [
        SCRIPTS.get(part, part.upper()) for part in parts[1:] if part in SCRIPTS or re.fullmatch("[a-z]{2}", part)
    ]
    country = regions[0] if regions else COUNTRIES.get(parts[0])
    return f"{parts[0]}-{country}" if country and re.fullmatch("[a-z]{2}", parts[0]) else None


# --- the answer -------------------------------------------------------------------------------------------------------


def _token(name: str) -> str:
    return f"contains(concat(' ', normalize-space(@class), ' '), ' {name} ')"


_ENTRIES = f"//*[{_token('iusc')}][@m]"
_GRID = "//*[contains(concat(' ', normalize-space(@class)), ' dgControl')] | //title[contains(., 'Search Images')]"
_CHALLENGE = (
    "//*[contains(@id, 'captcha') or contains(@class, 'captcha')] | //iframe[contains(@src, 'captcha')]"
    " | //*[contains(@id, 'consent') or contains(@class, 'consent')] | //title[contains(., 'consent')]"
)
_SIZE_TEXT = f"./ancestor::*[{_token('iuscp')}][1]//*[{_token('nowrap')}]/text()"
_HIGHLIGHT = str.maketrans("", "", "\ue000\ue001")


def parse_images(body: bytes) -> tuple[Image, ...]:
    """The pictures of the grid, each once, without those of the strips beside it.

    Raises Blocked for a challenge or a consent page, Malformed for what is no result set.
    """
    with parsing():
        tree = _tree(body)
        entries = tree.xpath(_ENTRIES)
        if not entries:
            _check_empty(tree)
            return ()
        images = [image for image in map(_image, entries) if image is not None]
        if not images:
            raise Malformed("no usable picture among the results")
        return tuple({image.image_url: image for image in reversed(images)}.values())[::-1]


def _check_empty(tree: html.HtmlElement) -> None:
    if tree.xpath(_CHALLENGE):
        raise Blocked("challenge or consent page")
    if not tree.xpath(_GRID):
        raise Malformed("not a result page")


def _tree(body: bytes) -> html.HtmlElement:
    try:
        tree: html.HtmlElement = html.document_fromstring(body, parser=html.HTMLParser(encoding="utf-8"))
    except etree.LxmlError:
        # Without the cause: the parser's message may quote the page.
        raise Malformed("not a result page") from None
    return tree


def _image(entry: html.HtmlElement) -> Image | None:
    """One picture; None for one of a strip, which has no title, and for one that the strict filter let through."""
    try:
        facts = digest_now((entry.get("m") or "").encode(), dict)
    except Malformed:
        return None
    if not isinstance(facts.get("t"), str):
        return None
    picture, page, thumbnail = (_web_address(facts.get(name)) for name in ("murl", "purl", "turl"))
    if picture is None or ".explicit.bing.net" in (thumbnail or ""):
        return None
    width, height = _size(entry)
    return Image(picture, page or "", title(facts["t"].translate(_HIGHLIGHT)), thumbnail, width, height)


def _size(entry: html.HtmlElement) -> tuple[int | None, int | None]:
    """Width and height out of the link's `expw` and `exph`, else out of `1200×800 · jpeg` beside it."""
    fields = parse_qs(urlsplit(entry.get("href", "")).query)
    text = f"{fields.get('expw', [''])[0]}×{fields.get('exph', [''])[0]}"
    for each in (text, *entry.xpath(_SIZE_TEXT)):
        if found := re.match(r"\s*([0-9]{1,5})\s*[x×]\s*([0-9]{1,5})(?![0-9])", each):
            return int(found[1]), int(found[2])
    return None, None


def _web_address(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    parts = urlsplit(value)
    return value if parts.scheme in ("http", "https") and parts.netloc else None
