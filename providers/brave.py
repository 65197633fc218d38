"""Brave's index: web and pictures. Reference: https://api-dashboard.search.brave.com/app/documentation (read 2026-08).

A query has at most 400 characters and 50 words, a web search at most 20 hits a page and ten pages: the offset counts
pages. A language or country that is not on its lists is refused with 422, as is a bad key. Pictures come without pages
and without a date filter, at most 100. The same 429 stands for "too fast" (1 request a second on older keys, 50 on
newer ones) and for a plan that is used up. One request costs the same whatever its count.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import httpx

from providers._contract import Denied, Found, Hit, Image, ImageQuery, Malformed, Query, QuotaSpent, RateLimited
from providers._queries import is_web_address, joined, pixels, region, shortened
from providers._registry import register
from providers._snippets import published, snippet, title
from providers._wire import Rule, ask, digest

MAX_QUERY_CHARS, MAX_QUERY_WORDS = 400, 50
MAX_RESULTS, MAX_PAGES = 20, 10
MAX_IMAGES = 100
FRESHNESS = MappingProxyType({"d": "pd", "w": "pw", "m": "pm", "y": "py"})

COUNTRIES = (
    "AR AU AT BE BR CA CL DK FI FR DE HK IN ID IT JP KR MY MX NL NZ NO CN PL PT PH RU SA ZA ES SE CH TW TR GB US"
)
LANGUAGES = (
    "ar bg bn ca cs da de el en en-gb es et eu fi fr gl gu he hi hr hu is it jp kn ko lt lv ml mr ms nb nl pa pl pt-br "
    "pt-pt ro ru sk sl sr sv ta te th tr uk vi zh-hans zh-hant"
)
NAMED_LANGUAGES = MappingProxyType(
    {
        "ja": "jp", "pt": "pt-br", "no": "nb", "zh": "zh-hans", "zh-cn": "zh-hans", "zh-sg": "zh-hans",
        "zh-tw": "zh-hant", "zh-hk": "zh-hant",
    }
)  # fmt: skip


class _PlanUsedUp(Rule):
    """The 429 whose body or headers say that nothing is left of the month."""

    def matches(self, response: httpx.Response) -> bool:
        return response.status_code == 429 and (_is_spent(response.content) or _is_month_over(response.headers))


class _TooFast(Rule):
    """The 429 of the limit per second; where the vendor does name a time, that is left to the general rule."""

    def matches(self, response: httpx.Response) -> bool:
        return Rule.matches(self, response) and "retry-after" not in response.headers


RULES = (
    Rule(Denied, status=422, field="error.code", value="SUBSCRIPTION_TOKEN_INVALID", detail="key refused"),
    _PlanUsedUp(QuotaSpent, detail="plan used up"),
    _TooFast(
        RateLimited, status=429, field="error.code", value="RATE_LIMITED", detail="too many a second", retry_after=2.0
    ),
)


@register("brave")
@dataclass(frozen=True, slots=True)
class Brave:
    """Web and image hits. `url` is the base of both endpoints."""

    key: str = field(repr=False)
    url: str = field(default="https://api.search.brave.com/res/v1", repr=False)

    async def search(self, query: Query, client: httpx.AsyncClient) -> Found[Hit]:
        if query.page > MAX_PAGES:
            return Found((), "no further page")
        fields, details = _fields(query)
        fields |= {
            "count": str(min(max(query.limit, 1), MAX_RESULTS)),
            "offset": str(query.page - 1),
            "text_decorations": "false",
            "result_filter": "web",
        }
        if query.date:
            fields["freshness"] = FRESHNESS[query.date]
        hits = await digest(await self._ask("web", fields, client), parse_hits)
        return Found(hits[: query.limit], joined(details))

    async def search_images(self, query: ImageQuery, client: httpx.AsyncClient) -> Found[Image]:
        fields, details = _fields(query)
        fields["count"] = str(min(max(query.limit, 1), MAX_IMAGES))
        if query.date:
            details.append("date filter not supported")
        images = await digest(await self._ask("images", fields, client), parse_images)
        return Found(images[: query.limit], joined(details))

    async def _ask(self, block: str, fields: dict[str, str], client: httpx.AsyncClient) -> bytes:
        headers = {"x-subscription-token": self.key, "accept": "application/json"}
        url = f"{self.url.rstrip('/')}/{block}/search"
        response = await ask(client, "GET", url, params=fields, headers=headers, rules=RULES)
        return response.content


# --- the request ------------------------------------------------------------------------------------------------------


def _fields(query: Query | ImageQuery) -> tuple[dict[str, str], list[str]]:
    """The parameters that both searches share, and what the report has to say about them."""
    text, details = shortened(query.text, MAX_QUERY_CHARS, MAX_QUERY_WORDS)
    fields = {"q": text}
    if not query.language:
        return fields, details
    if (country := region(query.language)) in COUNTRIES.split():
        fields["country"] = str(country)
    if (language := _language(query.language)) is not None:
        fields["search_lang"] = language
    else:
        details.append("language not supported")
    return fields, details


def _language(tag: str) -> str | None:
    """The tag in the vendor's spelling, None where it is not on its list: it would answer 422."""
    parts = tag.replace("_", "-").lower().split("-")
    for candidate in ("-".join(parts[:2]), parts[0]):
        if candidate in LANGUAGES.split():
            return candidate
        if candidate in NAMED_LANGUAGES:
            return NAMED_LANGUAGES[candidate]
    return None


# --- refusals ---------------------------------------------------------------------------------------------------------


def _is_spent(body: bytes) -> bool:
    try:
        meta = json.loads(body)["error"]["meta"]
        return bool(0 < meta["quota_limit"] <= meta["quota_current"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return False


def _is_month_over(headers: httpx.Headers) -> bool:
    """Whether the second of `X-RateLimit-Remaining: <this second>, <this month>` is used up, where there is one."""
    limit, remaining = (
        [piece.strip() for piece in headers.get(f"x-ratelimit-{name}", "").split(",")]
        for name in ("limit", "remaining")
    )
    return len(limit) == len(remaining) == 2 and limit[1] != "0" and remaining[1] == "0"


# --- the answers ------------------------------------------------------------------------------------------------------


def parse_hits(reply: Any) -> tuple[Hit, ...]:
    """The web hits of an answer; one without the web block has found nothing."""
    if "web" not in reply and "query" in reply:
        return ()
    results = (reply["web"] or {"results": []})["results"]
    hits = tuple(_hit(result) for result in results if is_web_address(result.get("url")))
    return _unless_unusable(hits, results)


def parse_images(reply: Any) -> tuple[Image, ...]:
    """The pictures of an answer."""
    results = reply["results"]
    images = tuple(_image(result) for result in results if is_web_address(_properties(result).get("url")))
    return _unless_unusable(images, results)


def _hit(result: dict[str, Any]) -> Hit:
    day = published(result.get("page_age")) or published(result.get("age"))
    return Hit(result["url"], title(result.get("title")), snippet(result.get("description")), day)


def _image(result: dict[str, Any]) -> Image:
    page, thumbnail, properties = result.get("url"), result.get("thumbnail") or {}, _properties(result)
    small = thumbnail.get("src")
    return Image(
        image_url=properties["url"],
        page_url=page if is_web_address(page) else "",
        title=title(result.get("title")),
        thumbnail_url=small if is_web_address(small) else None,
        width=pixels(properties.get("width")),
        height=pixels(properties.get("height")),
    )


def _properties(result: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = result.get("properties") or {}
    return found


def _unless_unusable(items: tuple[Any, ...], results: Any) -> tuple[Any, ...]:
    if results and not items:
        raise Malformed("no usable address among the results")
    return items
