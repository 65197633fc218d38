"""You.com's search. Reference: https://you.com/docs/api-reference/search (read 2026-09).

A value that is not on its lists is refused. Without a language it searches English. At most 100 results a page and ten
pages: the offset counts pages. 10 requests a second for each account. Every level of an answer may be absent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import httpx

from providers._contract import Denied, Found, Hit, Malformed, Query
from providers._registry import register
from providers._snippets import published, snippet, title
from providers._wire import Rule, ask, digest

MAX_RESULTS = 100
MAX_PAGES = 10
FRESHNESS = MappingProxyType({"d": "day", "w": "week", "m": "month", "y": "year"})
RULES = (Rule(Denied, status=403, detail="the key's scope does not cover searching"),)

COUNTRIES = (
    "AR AU AT BE BR CA CL CN DE DK ES FI FR GB HK ID IN IT JP KR MX MY NL NO NZ PH PL PT RU SA SE CH TR TW US ZA"
)
# Without Japanese, which two readings of the vendor's list spell differently.
LANGUAGES = (
    "AR EU BN BG CA ZH-HANS ZH-HANT HR CS DA NL EN EN-GB ET FI FR GL DE EL GU HE HI HU IS IT KN KO LV LT MS ML MR NB "
    "PL PT-BR PT-PT PA RO RU SR SK SL ES SV TA TE TH TR UK VI"
)
NAMED_LANGUAGES = MappingProxyType(
    {"PT": "PT-PT", "ZH": "ZH-HANS", "ZH-CN": "ZH-HANS", "ZH-TW": "ZH-HANT", "ZH-HK": "ZH-HANT", "NO": "NB"}
)


@register("youcom")
@dataclass(frozen=True, slots=True)
class Youcom:
    """Web hits."""

    key: str = field(repr=False)
    url: str = field(default="https://ydc-index.io/v1/search", repr=False)

    async def search(self, query: Query, client: httpx.AsyncClient) -> Found[Hit]:
        if query.page > MAX_PAGES:
            return Found((), "no further page")
        fields, detail = _fields(query)
        headers = {"x-api-key": self.key}
        response = await ask(client, "POST", self.url, json=fields, headers=headers, rules=RULES)
        hits = await digest(response.content, parse_hits)
        return Found(hits[: query.limit], detail)


def _fields(query: Query) -> tuple[dict[str, str | int], str | None]:
    """The body of a search, and what the report has to say about it."""
    fields: dict[str, str | int] = {"query": query.text, "count": min(max(query.limit, 1), MAX_RESULTS)}
    if query.page > 1:
        fields["offset"] = query.page - 1
    if query.date:
        fields["freshness"] = FRESHNESS[query.date]
    if not query.language:
        return fields, None
    parts = query.language.replace("_", "-").upper().split("-")
    if (country := next((part for part in parts[1:] if part in COUNTRIES.split()), None)) is not None:
        fields["country"] = country
    language = _language(parts)
    if language is None:
        return fields, "language not supported"
    return fields | {"language": language}, None


def _language(parts: list[str]) -> str | None:
    listed = LANGUAGES.split()
    for tag in ("-".join(parts[:2]), parts[0]):
        if tag in listed:
            return tag
        if tag in NAMED_LANGUAGES:
            return NAMED_LANGUAGES[tag]
    return None


def parse_hits(reply: Any) -> tuple[Hit, ...]:
    """The hits of an answer, those of the web before the news."""
    if "results" not in reply and "metadata" in reply:
        return ()
    results = reply["results"]
    found = [result for section in ("web", "news") for result in results.get(section) or []]
    hits = tuple(_hit(result) for result in found if _is_web_address(result.get("url")))
    if found and not hits:
        raise Malformed("no usable address among the results")
    return hits


def _hit(result: dict[str, Any]) -> Hit:
    pieces = result.get("snippets")
    texts = [text for text in pieces if isinstance(text, str)] if isinstance(pieces, list) else []
    words = snippet(result.get("description")) or snippet(" ".join(texts))
    return Hit(result["url"], title(result.get("title")), words, published(result.get("page_age")))


def _is_web_address(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    parts = urlsplit(value)
    return parts.scheme in ("http", "https") and bool(parts.netloc)
