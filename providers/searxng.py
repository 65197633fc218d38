"""A SearXNG instance of the operator's own. Reference: https://docs.searxng.org/dev/search_api.html (read 2026-08).

The operator must list `json` under `search.formats`; otherwise the instance answers 403. There is no parameter for a
count. Its limiter, where switched on, allows 4 JSON requests per hour and address, and refuses what does not look like
a browser. Words that begin with `!`, `:` or `<` are commands. When every engine behind it fails it says so in
`unresponsive_engines` beside an empty list: that is a failure, not an empty answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeGuard
from urllib.parse import urljoin, urlsplit

import httpx

from providers._contract import Blocked, Denied, Found, Freshness, Hit, Image, ImageQuery, Malformed, Query
from providers._registry import register
from providers._snippets import plain, published, snippet, title
from providers._wire import Rule, ask, digest

TIME_RANGES = MappingProxyType({"d": "day", "w": "week", "m": "month", "y": "year"})
SCRIPTS = MappingProxyType({"zh-hans": "zh-CN", "zh-hant": "zh-TW"})
NAMED_ENGINES = 5

RULES = (
    Rule(Denied, status=403, detail="status 403: is json among search.formats in its settings.yml?"),
    Rule(Malformed, status=302, detail="redirected: by its limiter, or to a login in front of it"),
    Rule(Malformed, status=404, detail="status 404: SEARXNG_URL is not the address of a SearXNG instance"),
)

# What its limiter asks of a client. English, so that `unresponsive_engines` speaks English.
HEADERS = MappingProxyType(
    {
        "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:155.0) Gecko/20100101 Firefox/155.0",
        "accept": "application/json, text/html;q=0.9",
        "accept-encoding": "gzip, deflate",
        "accept-language": "en",
        "sec-fetch-dest": "empty",
        "sec-fetch-mode": "cors",
        "sec-fetch-site": "none",
    }
)


@register("searxng")
@dataclass(frozen=True, slots=True)
class Searxng:
    """Web and image hits. `url` is the instance's base, with a path where it stands under one."""

    url: str = field(repr=False)

    async def search(self, query: Query, client: httpx.AsyncClient) -> Found[Hit]:
        fields, detail = _fields(query.text, query.language, query.date)
        body = await self._ask(fields | {"categories": "general", "pageno": str(query.page)}, client)
        hits = await digest(body, parse_hits)
        return Found(hits[: query.limit], detail)

    async def search_images(self, query: ImageQuery, client: httpx.AsyncClient) -> Found[Image]:
        fields, detail = _fields(query.text, query.language, query.date)
        body = await self._ask(fields | {"categories": "images"}, client)
        images = await digest(body, parse_images)
        return Found(images[: query.limit], detail)

    async def _ask(self, fields: dict[str, str], client: httpx.AsyncClient) -> bytes:
        url = self.url.rstrip("/") + "/search"
        response = await ask(client, "GET", url, params=fields, headers=HEADERS, rules=RULES)
        if response.content.lstrip()[:1] == b"<":
            raise Malformed("a web page instead of JSON: is json among search.formats in its settings.yml?")
        return response.content


# --- the request ------------------------------------------------------------------------------------------------------

# `!engine`, `!!bang`, `:language` and `<timeout` are read as commands and taken out of the query.
_COMMAND = re.compile(r"(?<!\S)(![^\s\"]*|:[A-Za-z][^\s\"]*|<\d[^\s\"]*)")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-zA-Z]{2})?")


def _fields(text: str, language: str | None, date: Freshness | None) -> tuple[dict[str, str], str | None]:
    """The parameters of a search, and what the report has to say about them."""
    fields = {"q": _COMMAND.sub(r"'\1'", text), "format": "json"}
    if date:
        fields["time_range"] = TIME_RANGES[date]
    if not language:
        return fields, None
    code = _language(language)
    if code is None:
        return fields, "language not supported"
    return fields | {"language": code}, None


def _language(tag: str) -> str | None:
    """The tag in the form the instance accepts, None where there is none: it would answer 400."""
    parts = tag.replace("_", "-").split("-")
    if len(parts) > 1 and (script := SCRIPTS.get("-".join(parts[:2]).lower())):
        return script
    # Scripts and variants in between do not fit the pattern, language and region do.
    regions = [part.upper() for part in parts[1:] if len(part) == 2 and part.isalpha()]
    code = "-".join([parts[0].lower(), *regions[:1]])
    return code if _LANGUAGE.fullmatch(code) else None


# --- the answer -------------------------------------------------------------------------------------------------------


def parse_hits(reply: Any) -> tuple[Hit, ...]:
    """The web hits of an answer. Raises Blocked where there are none because no engine answered."""
    hits = (_hit(result) for result in reply["results"])
    return _unless_blocked(tuple(hit for hit in hits if hit is not None), reply)


def parse_images(reply: Any) -> tuple[Image, ...]:
    """The pictures of an answer. Raises Blocked where there are none because no engine answered."""
    images = (_image(result) for result in reply["results"])
    return _unless_blocked(tuple(image for image in images if image is not None), reply)


def _hit(result: dict[str, Any]) -> Hit | None:
    # Answers of special templates have no address of their own.
    url = result.get("url")
    if not _is_web_address(url):
        return None
    return Hit(url, title(result["title"]), snippet(result.get("content")), published(result.get("publishedDate")))


def _image(result: dict[str, Any]) -> Image | None:
    page = result.get("url") or ""
    picture, thumbnail = (_absolute(result.get(name), page) for name in ("img_src", "thumbnail_src"))
    if picture is None:
        return None
    width, height = _size(result.get("resolution"))
    page = page if _is_web_address(page) else ""
    return Image(picture, page, title(result["title"]), thumbnail, width, height)


def _is_web_address(value: Any) -> TypeGuard[str]:
    if not isinstance(value, str):
        return False
    parts = urlsplit(value)
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def _absolute(value: Any, page: str) -> str | None:
    """The address `value` as seen from its page; None for what is no web address, such as `data:`."""
    if not isinstance(value, str) or not value:
        return None
    joined = urljoin(page, value)
    return joined if _is_web_address(joined) else None


def _size(resolution: Any) -> tuple[int | None, int | None]:
    """Width and height out of `1920 x 1080` (or with a multiplication sign)."""
    found = re.match(r"(\d{1,5})\s*[x×*]\s*(\d{1,5})(?!\d)", resolution) if isinstance(resolution, str) else None
    return (int(found[1]), int(found[2])) if found else (None, None)


def _unless_blocked(items: tuple[Any, ...], reply: Any) -> tuple[Any, ...]:
    engines = reply.get("unresponsive_engines")
    if items or not engines:
        if not items and reply["results"]:
            raise Malformed("no usable address among the results")
        return items
    named = ", ".join(f"{plain(name)[:40]} ({plain(why)[:60]})" for name, why in engines[:NAMED_ENGINES])
    raise Blocked(f"no engine answered: {named}")
