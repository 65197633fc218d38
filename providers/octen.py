"""Octen's search. Reference: https://docs.octen.ai, API reference of /search (read 2026-10).

At most 500 characters and 100 results, no pages. An empty balance comes as 403, told by its sentence; errors carry
their status in `code` too, and may come in a success. A language is a hard filter from a closed list. 10 requests a
second.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx

from providers._contract import Denied, Found, Hit, Malformed, Query, QuotaSpent, RateLimited, Unavailable
from providers._registry import register
from providers._snippets import published, snippet, title
from providers._wire import Rule, ask, digest

MAX_RESULTS = 100
MAX_QUERY_CHARS = 500
LANGUAGES = "ar de en es fr hi id it ja ko nl pl pt ru th tr vi zh"
RULES = (
    Rule(QuotaSpent, status=403, needle="insufficient balance", detail="balance used up"),
    Rule(QuotaSpent, field="code", value="403", needle="insufficient balance", detail="balance used up"),
    Rule(Denied, status=200, field="code", value="401", detail="key refused"),
    Rule(Denied, status=200, field="code", value="403", detail="key refused"),
    Rule(RateLimited, status=200, field="code", value="429", detail="rate limit", retry_after=60.0),
    Rule(Unavailable, status=200, field="code", value="500", detail="internal error"),
)


@register("octen")
@dataclass(frozen=True, slots=True)
class Octen:
    """Web hits."""

    key: str = field(repr=False)
    url: str = field(default="https://api.octen.ai/search", repr=False)

    async def search(self, query: Query, client: httpx.AsyncClient) -> Found[Hit]:
        if query.page > 1:
            # Asked again it would bill the same hits.
            return Found((), "no further page")
        fields, detail = _fields(query)
        response = await ask(client, "POST", self.url, json=fields, headers={"x-api-key": self.key}, rules=RULES)
        hits = await digest(response.content, parse_hits)
        return Found(hits[: query.limit], detail)


def _fields(query: Query) -> tuple[dict[str, Any], str | None]:
    """The body of a search, and what the report has to say about it."""
    text, details = query.text, []
    if len(text) > MAX_QUERY_CHARS:
        head = text[: MAX_QUERY_CHARS + 1].rpartition(" ")[0]
        text = (head if len(head) > MAX_QUERY_CHARS // 2 else text[:MAX_QUERY_CHARS]).rstrip()
        details.append(f"query cut to {len(text)} characters")
    fields: dict[str, Any] = {"query": text, "count": min(max(query.limit, 1), MAX_RESULTS)}
    fields["highlight"] = {"enable": True}
    if query.date:
        fields["time_range"] = query.date
    if query.language:
        language = query.language.replace("_", "-").partition("-")[0].lower()
        if language in LANGUAGES.split():
            fields["language"] = [language]
        else:
            details.append("language not supported")
    return fields, "; ".join(details) or None


def parse_hits(reply: Any) -> tuple[Hit, ...]:
    """The hits of an answer."""
    if reply.get("code", 0) != 0:
        raise Malformed("a success that says it is none")
    results = reply["data"].get("results") or []
    hits = tuple(_hit(result) for result in results if _is_web_address(result.get("url")))
    if results and not hits:
        raise Malformed("no usable address among the results")
    return hits


def _hit(result: dict[str, Any]) -> Hit:
    words = result.get("highlight")
    if isinstance(words, list):
        words = " ".join(text for text in words if isinstance(text, str))
    return Hit(result["url"], title(result.get("title")), snippet(words), published(result.get("time_published")))


def _is_web_address(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    parts = urlsplit(value)
    return parts.scheme in ("http", "https") and bool(parts.netloc)
