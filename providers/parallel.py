"""Parallel's search. Reference: https://docs.parallel.ai/api-reference/search (v1, read 2026-08).

The body's schema is closed: a key too many or in the wrong place is refused with 422. A keyword query has at most 200
characters; a longer question goes beside it as the objective. At most 40 results, no pages, no language. Excerpts are
sections of a page in Markdown, and long where nothing caps them. 600 requests a minute; a 429 says no time to wait.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import httpx

from providers._contract import Found, Hit, Malformed, Query
from providers._registry import register
from providers._snippets import published, snippet, title
from providers._wire import ask, digest

MAX_RESULTS = 40
MAX_QUERY_CHARS = 200
MAX_EXCERPT_CHARS = 1_000
DAYS = MappingProxyType({"d": 1, "w": 7, "m": 30, "y": 365})


@register("parallel")
@dataclass(frozen=True, slots=True)
class Parallel:
    """Web hits."""

    key: str = field(repr=False)
    url: str = field(default="https://api.parallel.ai/v1/search", repr=False)

    async def search(self, query: Query, client: httpx.AsyncClient) -> Found[Hit]:
        if query.page > 1:
            # Asked again it would bill the same hits.
            return Found((), "no further page")
        fields, detail = _fields(query)
        response = await ask(client, "POST", self.url, json=fields, headers={"x-api-key": self.key})
        hits = await digest(response.content, parse_hits)
        return Found(hits[: query.limit], detail)


def _fields(query: Query) -> tuple[dict[str, Any], str | None]:
    """The body of a search, and what the report has to say about it."""
    settings: dict[str, Any] = {
        "max_results": min(max(query.limit, 1), MAX_RESULTS),
        "excerpt_settings": {"max_chars_per_result": MAX_EXCERPT_CHARS},
    }
    details = []
    if query.date:
        since = datetime.now(UTC).date() - timedelta(days=DAYS[query.date])
        settings["source_policy"] = {"after_date": since.isoformat()}
    if query.language:
        details.append("language filter not supported")
    fields: dict[str, Any] = {"search_queries": [query.text], "mode": "basic", "advanced_settings": settings}
    if len(query.text) > MAX_QUERY_CHARS:
        head = query.text[: MAX_QUERY_CHARS + 1].rpartition(" ")[0]
        short = (head if len(head) > MAX_QUERY_CHARS // 2 else query.text[:MAX_QUERY_CHARS]).rstrip()
        fields |= {"search_queries": [short], "objective": query.text}
        details.append(f"query cut to {len(short)} characters, whole as its objective")
    return fields, "; ".join(details) or None


def parse_hits(reply: Any) -> tuple[Hit, ...]:
    """The hits of an answer."""
    results = reply["results"]
    if not isinstance(results, list):
        raise Malformed("results are no list")
    hits = tuple(_hit(result) for result in results if _is_web_address(result.get("url")))
    if results and not hits:
        raise Malformed("no usable address among the results")
    return hits


def _hit(result: dict[str, Any]) -> Hit:
    excerpts = result.get("excerpts")
    texts = [text for text in excerpts if isinstance(text, str)] if isinstance(excerpts, list) else []
    words = snippet("\n\n".join(texts))
    return Hit(result["url"], title(result.get("title")), words, published(result.get("publish_date")))


def _is_web_address(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    parts = urlsplit(value)
    return parts.scheme in ("http", "https") and bool(parts.netloc)
