"""Linkup's search. Reference: https://docs.linkup.so/pages/documentation/endpoints/search (read 2026-08).

`fast` passes the query to the index as it is; `deep` costs ten times as much. There are neither pages nor a language,
and hits have no date, though a first day may be asked for. No maximum of results is documented. Errors name themselves
in `error.code`, and the status says less: "nothing found" is a 400, and a used-up balance shares 429 with the rate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx

from providers._contract import Denied, Empty, Found, Hit, Malformed, Query, QuotaSpent
from providers._queries import first_day, is_web_address
from providers._registry import register
from providers._snippets import snippet, title
from providers._wire import Rule, ask, digest

MAX_RESULTS = 50
RULES = (
    Rule(Empty, field="error.code", value="SEARCH_QUERY_NO_RESULT"),
    Rule(QuotaSpent, field="error.code", value="INSUFFICIENT_FUNDS_CREDITS", detail="out of credits"),
    Rule(QuotaSpent, field="error.code", value="EXCEED_BUDGET_LIMIT", detail="budget of the key used up"),
    Rule(Denied, field="error.code", value="IP_NOT_WHITELISTED", detail="the key is bound to other addresses"),
    Rule(Denied, field="error.code", value="UNAUTHORIZED", detail="key refused"),
    Rule(Malformed, field="error.code", value="VALIDATION_ERROR", detail="a parameter was refused"),
)


@register("linkup")
@dataclass(frozen=True, slots=True)
class Linkup:
    """Web hits. depth: `fast`, `standard` or the dear `deep`."""

    key: str = field(repr=False)
    url: str = field(default="https://api.linkup.so/v1/search", repr=False)
    depth: str = "fast"

    async def search(self, query: Query, client: httpx.AsyncClient) -> Found[Hit]:
        if query.page > 1:
            # Asked again it would bill the same hits.
            return Found((), "no further page")
        detail = "language filter not supported" if query.language else None
        fields = _fields(query, datetime.now(UTC)) | {"depth": self.depth}
        headers = {"authorization": f"Bearer {self.key}"}
        try:
            response = await ask(client, "POST", self.url, json=fields, headers=headers, rules=RULES)
        except Empty:
            return Found((), detail)
        hits = await digest(response.content, parse_hits)
        return Found(hits[: query.limit], detail)


def _fields(query: Query, now: datetime) -> dict[str, Any]:
    """The body of a search."""
    fields: dict[str, Any] = {
        "q": query.text,
        "outputType": "searchResults",
        "maxResults": min(max(query.limit, 1), MAX_RESULTS),
    }
    if query.date:
        fields["fromDate"] = first_day(query.date, now).date().isoformat()
    return fields


def parse_hits(reply: Any) -> tuple[Hit, ...]:
    """The hits of an answer, without the pictures that may stand among them."""
    results = [result for result in reply["results"] if result.get("type", "text") != "image"]
    hits = tuple(_hit(result) for result in results if is_web_address(result.get("url")))
    if results and not hits:
        raise Malformed("no usable address among the results")
    return hits


def _hit(result: dict[str, Any]) -> Hit:
    return Hit(result["url"], title(result.get("name")), snippet(result.get("content")))
