"""Serper: Google's result page and pictures. Reference: https://serper.dev/playground (read 2026-08).

A page holds 10 hits and costs a credit; more on one page would cost two, and be refused on trial accounts. Those
accounts may not use search operators either: such a query is refused without being charged, and asked again without
them. Status 400 stands for three things, told apart by the message; one of them is a used-up balance. A key has a limit
per second, 50 at least, and no header names it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import httpx

from providers._contract import Denied, Found, Hit, Image, ImageQuery, Malformed, Query, QuotaSpent, Unsupported
from providers._queries import is_web_address, pixels, region
from providers._registry import register
from providers._snippets import published, snippet, title
from providers._wire import Rule, ask, digest

TIME_RANGES = MappingProxyType({"d": "qdr:d", "w": "qdr:w", "m": "qdr:m", "y": "qdr:y"})
LANGUAGES = MappingProxyType(
    {
        "pt-br": "pt-br", "pt-pt": "pt-pt", "zh": "zh-cn", "zh-cn": "zh-cn", "zh-sg": "zh-cn", "zh-hans": "zh-cn",
        "zh-tw": "zh-tw", "zh-hk": "zh-tw", "zh-hant": "zh-tw", "es-419": "es-419", "he": "iw", "jv": "jw", "nb": "no",
        "nn": "no",
    }
)  # fmt: skip
RULES = (
    Rule(QuotaSpent, status=400, needle="not enough credits", detail="out of credits"),
    Rule(Unsupported, status=400, needle="query pattern not allowed", detail="search operators are not in the plan"),
    Rule(Denied, status=403, detail="key refused"),
)


@register("serper")
@dataclass(frozen=True, slots=True)
class Serper:
    """Web and image hits. `url` is the base of both endpoints."""

    key: str = field(repr=False)
    url: str = field(default="https://google.serper.dev", repr=False)

    async def search(self, query: Query, client: httpx.AsyncClient) -> Found[Hit]:
        fields = _fields(query) | {"page": max(query.page, 1)}
        body, detail = await self._ask("search", fields, client)
        hits = await digest(body, parse_hits)
        return Found(hits[: query.limit], detail)

    async def search_images(self, query: ImageQuery, client: httpx.AsyncClient) -> Found[Image]:
        body, detail = await self._ask("images", _fields(query), client)
        images = await digest(body, parse_images)
        return Found(images[: query.limit], detail)

    async def _ask(self, path: str, fields: dict[str, Any], client: httpx.AsyncClient) -> tuple[bytes, str | None]:
        """The answer, and what the report has to say: a plan without operators gets the query without them."""
        try:
            return await self._post(path, fields, client), None
        except Unsupported:
            text = _without_operators(fields["q"])
            if not text or text == fields["q"]:
                raise
        return await self._post(path, fields | {"q": text}, client), "search operators taken out"

    async def _post(self, path: str, fields: dict[str, Any], client: httpx.AsyncClient) -> bytes:
        url = f"{self.url.rstrip('/')}/{path}"
        response = await ask(client, "POST", url, json=fields, headers={"x-api-key": self.key}, rules=RULES)
        return response.content


# --- the request ------------------------------------------------------------------------------------------------------


def _fields(query: Query | ImageQuery) -> dict[str, Any]:
    """The body of a search. Without `autocorrect` switched off another query may be answered, and nobody told."""
    fields: dict[str, Any] = {"q": query.text, "autocorrect": False}
    if query.date:
        fields["tbs"] = TIME_RANGES[query.date]
    if query.language:
        fields["hl"] = _language(query.language)
        if (country := region(query.language)) is not None:
            fields["gl"] = country.lower()
    return fields


def _language(tag: str) -> str:
    """Google's own spelling of a tag."""
    parts = tag.replace("_", "-").lower().split("-")
    return LANGUAGES.get("-".join(parts[:2])) or LANGUAGES.get(parts[0], parts[0])


_OPERATOR = re.compile(
    r"(?<!\S)-(?=[\w\"])\S+|(?<!\S)-?(?:site|intitle|allintitle|inurl|allinurl|intext|filetype|ext|related|before|after)"
    r":\S+|(?<!\S)(?:OR|AND)(?!\S)|[\"“”()|]"
)


def _without_operators(text: str) -> str:
    return " ".join(_OPERATOR.sub(" ", text).split())


# --- the answers ------------------------------------------------------------------------------------------------------


def parse_hits(reply: Any) -> tuple[Hit, ...]:
    """The organic hits of an answer; one without them has found nothing."""
    results = _block(reply, "organic")
    hits = tuple(_hit(result) for result in results if is_web_address(result.get("link")))
    return _unless_unusable(hits, results)


def parse_images(reply: Any) -> tuple[Image, ...]:
    """The pictures of an answer."""
    results = _block(reply, "images")
    images = tuple(_image(result) for result in results if is_web_address(result.get("imageUrl")))
    return _unless_unusable(images, results)


def _block(reply: Any, name: str) -> list[dict[str, Any]]:
    if name not in reply and "searchParameters" in reply:
        return []
    results: list[dict[str, Any]] = reply[name]
    if not isinstance(results, list):
        raise Malformed("results are no list")
    return results


def _hit(result: dict[str, Any]) -> Hit:
    return Hit(
        result["link"], title(result.get("title")), snippet(result.get("snippet")), published(result.get("date"))
    )


def _image(result: dict[str, Any]) -> Image:
    page, small = result.get("link"), result.get("thumbnailUrl")
    return Image(
        image_url=result["imageUrl"],
        page_url=page if is_web_address(page) else "",
        title=title(result.get("title")),
        thumbnail_url=small if is_web_address(small) else None,
        width=pixels(result.get("imageWidth")),
        height=pixels(result.get("imageHeight")),
    )


def _unless_unusable(items: tuple[Any, ...], results: list[Any]) -> tuple[Any, ...]:
    if results and not items:
        raise Malformed("no usable address among the results")
    return items
