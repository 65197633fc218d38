"""Semantic Scholar's paper search. Reference: https://api.semanticscholar.org/api-docs/graph (read 2026-08).

The query is plain text: a hyphenated term matches nothing. At most 100 papers a page and 1,000 in all; no language.
With a key one request a second over all endpoints. There is no credit, and nothing to pay: a 403 is a dead key. An
answer that found nothing has no list of papers at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from providers._contract import Denied, Found, Hit, Malformed, Query
from providers._registry import register
from providers._snippets import published, snippet, title
from providers._wire import Rule, ask, digest

MAX_RESULTS = 100
MAX_OFFSET = 1_000
DAYS = MappingProxyType({"d": 1, "w": 7, "m": 30, "y": 365})
# `tldr` is left out: asking for it has made the vendor fail.
FIELDS = "title,abstract,year,publicationDate,venue,externalIds,url"
RULES = (Rule(Denied, status=403, detail="key refused, or region blocked"),)


@register("semantic-scholar")
@dataclass(frozen=True, slots=True)
class SemanticScholar:
    """Papers, linked by arXiv or DOI where they have one."""

    key: str = field(repr=False)
    url: str = field(default="https://api.semanticscholar.org/graph/v1/paper/search", repr=False)

    async def search(self, query: Query, client: httpx.AsyncClient) -> Found[Hit]:
        limit = min(max(query.limit, 1), MAX_RESULTS)
        offset = (query.page - 1) * limit
        if offset + limit > MAX_OFFSET:
            return Found((), "no further page")
        text, details = _searchable(query.text)
        if not text:
            return Found((), "; ".join(details))
        fields: dict[str, str | int] = {"query": text, "fields": FIELDS, "limit": limit, "offset": offset}
        if query.date:
            since = datetime.now(UTC).date() - timedelta(days=DAYS[query.date])
            fields["publicationDateOrYear"] = f"{since.isoformat()}:"
        if query.language:
            details.append("language filter not supported")
        response = await ask(client, "GET", self.url, params=fields, headers={"x-api-key": self.key}, rules=RULES)
        hits = await digest(response.content, parse_hits)
        return Found(hits[: query.limit], "; ".join(details) or None)


def _searchable(text: str) -> tuple[str, list[str]]:
    """The query without what the vendor cannot take, and what has to be said about that."""
    plain = re.sub(r"(?<!\S)(?:AND|OR|NOT)(?!\S)", " ", re.sub(r"[\"“”()\-\u2010-\u2015]", " ", text))
    plain = " ".join(plain.split())
    return plain, [] if plain == " ".join(text.split()) else ["operators and hyphens taken out of the query"]


# --- the answer -------------------------------------------------------------------------------------------------------


def parse_hits(reply: Any) -> tuple[Hit, ...]:
    """The papers of an answer."""
    if "data" not in reply and type(reply["total"]) is int:
        return ()
    papers = reply["data"]
    if not isinstance(papers, list):
        raise Malformed("papers are no list")
    hits = tuple(hit for hit in map(_hit, papers) if hit is not None)
    if papers and not hits:
        raise Malformed("no usable address among the papers")
    return hits


def _hit(paper: dict[str, Any]) -> Hit | None:
    url = _address(paper)
    if url is None:
        return None
    return Hit(url, title(paper.get("title")), _words(paper), published(paper.get("publicationDate")))


def _words(paper: dict[str, Any]) -> str:
    """The abstract, else where and when the paper appeared: some publishers forbid abstracts."""
    if words := snippet(paper.get("abstract")):
        return words
    facts = (paper.get("venue"), paper.get("year"))
    return snippet(", ".join(str(fact) for fact in facts if fact and isinstance(fact, str | int)))


def _address(paper: dict[str, Any]) -> str | None:
    names = paper.get("externalIds")
    names = names if isinstance(names, dict) else {}
    for name, base in (("ArXiv", "https://arxiv.org/abs/"), ("DOI", "https://doi.org/")):
        value = names.get(name)
        if isinstance(value, str) and value:
            return base + quote(value, safe="/:;()._-")
    url = paper.get("url")
    if not isinstance(url, str):
        return None
    parts = urlsplit(url)
    return url if parts.scheme in ("http", "https") and parts.netloc else None
