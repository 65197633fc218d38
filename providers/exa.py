"""Exa's semantic search. Reference: https://docs.exa.ai/reference/search (read 2026-10).

At most 100 results, where those beyond ten cost extra, and neither pages nor a language; a country steers it. An
excerpt comes only where `contents` asks for it. A date is a filter on the day of publication. 10 requests a second.
Errors name themselves in `tag`; out of credit, of a key's budget or of its team's is 402.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx

from providers._contract import Denied, Found, Hit, Malformed, Query, QuotaSpent
from providers._queries import first_day, is_web_address, region
from providers._registry import register
from providers._snippets import MAX_SNIPPET_CHARS, published, snippet, title
from providers._wire import Rule, ask, digest

MAX_RESULTS = 100
RULES = (
    Rule(QuotaSpent, field="tag", value="NO_MORE_CREDITS", detail="out of credits"),
    Rule(QuotaSpent, field="tag", value="API_KEY_BUDGET_EXCEEDED", detail="budget of the key used up"),
    Rule(QuotaSpent, field="tag", value="TEAM_BUDGET_EXCEEDED", detail="budget of the team used up"),
    Rule(Denied, field="tag", value="INVALID_API_KEY", detail="key refused"),
    Rule(Malformed, field="tag", value="NUM_RESULTS_EXCEEDED", detail="more results than the plan allows"),
)


@register("exa")
@dataclass(frozen=True, slots=True)
class Exa:
    """Web hits."""

    key: str = field(repr=False)
    url: str = field(default="https://api.exa.ai/search", repr=False)

    async def search(self, query: Query, client: httpx.AsyncClient) -> Found[Hit]:
        if query.page > 1:
            # Asked again it would bill the same hits.
            return Found((), "no further page")
        fields = _fields(query, datetime.now(UTC))
        response = await ask(client, "POST", self.url, json=fields, headers={"x-api-key": self.key}, rules=RULES)
        hits = await digest(response.content, parse_hits)
        return Found(hits[: query.limit], "language filter not supported" if query.language else None)


def _fields(query: Query, now: datetime) -> dict[str, Any]:
    """The body of a search."""
    fields: dict[str, Any] = {
        "query": query.text,
        "type": "auto",
        "numResults": min(max(query.limit, 1), MAX_RESULTS),
        "contents": {"highlights": {"maxCharacters": MAX_SNIPPET_CHARS}},
    }
    if query.date:
        fields["startPublishedDate"] = first_day(query.date, now).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    if (country := region(query.language)) is not None:
        fields["userLocation"] = country
    return fields


def parse_hits(reply: Any) -> tuple[Hit, ...]:
    """The hits of an answer."""
    results = reply["results"]
    hits = tuple(_hit(result) for result in results if is_web_address(result.get("url")))
    if results and not hits:
        raise Malformed("no usable address among the results")
    return hits


def _hit(result: dict[str, Any]) -> Hit:
    url, pieces = result["url"], result.get("highlights")
    texts = [text for text in pieces if isinstance(text, str)] if isinstance(pieces, list) else []
    words = snippet(" ".join(texts)) or snippet(result.get("text")) or snippet(result.get("summary"))
    return Hit(url, title(result.get("title")) or title(url), words, published(result.get("publishedDate")))
