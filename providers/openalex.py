"""OpenAlex's search for works. Reference: https://developers.openalex.org/guides/searching (read 2026-08).

The key goes into the address, so nothing here tells an address. At most 100 works a page and 10,000 in all. A quoted
query finds next to nothing, and wildcards and operators change its meaning, so they are taken out. A key is worth some
1,000 searches a day; what is left stands in a header of every answer, also of the 429 that says the day's are used up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import httpx

from providers._contract import Denied, Found, Hit, Malformed, Query, QuotaSpent
from providers._registry import register
from providers._snippets import published, snippet, title
from providers._wire import Rule, ask, digest

MAX_RESULTS = 100
MAX_OFFSET = 10_000
# The whole address may have some 4 KB; a letter takes up to twelve bytes of it.
MAX_QUERY_BYTES = 2_400
DAYS = MappingProxyType({"d": 1, "w": 7, "m": 30, "y": 365})
FIELDS = "id,doi,display_name,publication_date,primary_location,best_oa_location,abstract_inverted_index"
# More words than a snippet can hold need not be put into order.
MAX_POSITION = 400
RULES = (
    Rule(QuotaSpent, status=429, header="x-ratelimit-remaining", value="0", detail="searches of the day used up"),
    Rule(Denied, status=403, detail="key refused"),
)


@register("openalex")
@dataclass(frozen=True, slots=True)
class Openalex:
    """Papers, linked by arXiv or DOI where they have one."""

    key: str = field(repr=False)
    url: str = field(default="https://api.openalex.org/works", repr=False)

    async def search(self, query: Query, client: httpx.AsyncClient) -> Found[Hit]:
        limit = min(max(query.limit, 1), MAX_RESULTS)
        if query.page * limit > MAX_OFFSET:
            return Found((), "no further page")
        text, details = _searchable(query.text)
        if not text:
            return Found((), "; ".join(details))
        fields: dict[str, str | int] = {"search": text, "per_page": limit, "page": query.page, "select": FIELDS}
        if filters := _filters(query, details):
            fields["filter"] = filters
        response = await ask(client, "GET", self.url, params=fields | {"api_key": self.key}, rules=RULES)
        hits = await digest(response.content, parse_hits)
        return Found(hits[: query.limit], "; ".join(details) or None)


def _searchable(text: str) -> tuple[str, list[str]]:
    """The query in plain words, and what has to be said about that."""
    plain = re.sub(r"(?<!\S)(?:AND|OR|NOT)(?!\S)", " ", re.sub(r"[\"“”()*?~]", " ", text))
    words, details = " ".join(plain.split()), []
    if words != " ".join(text.split()):
        details.append("operators taken out of the query")
    while len(words.encode()) * 3 > MAX_QUERY_BYTES:
        words = words.rpartition(" ")[0] or words[: len(words) // 2]
        if "query shortened" not in details:
            details.append("query shortened")
    return words, details


def _filters(query: Query, details: list[str]) -> str:
    filters = []
    if query.language:
        language = query.language.replace("_", "-").partition("-")[0].lower()
        if re.fullmatch("[a-z]{2}", language):
            filters.append(f"language:{language}")
        else:
            details.append("language not supported")
    if query.date:
        # With an upper end too: there are works dated in the future.
        today = datetime.now(UTC).date()
        since = today - timedelta(days=DAYS[query.date])
        filters += [f"from_publication_date:{since.isoformat()}", f"to_publication_date:{today.isoformat()}"]
    return ",".join(filters)


# --- the answer -------------------------------------------------------------------------------------------------------


def parse_hits(reply: Any) -> tuple[Hit, ...]:
    """The works of an answer."""
    works = reply["results"]
    if not isinstance(works, list):
        raise Malformed("works are no list")
    hits = tuple(hit for hit in map(_hit, works) if hit is not None)
    if works and not hits:
        raise Malformed("no usable address among the works")
    return hits


def _hit(work: dict[str, Any]) -> Hit | None:
    url = _address(work)
    if url is None:
        return None
    words = snippet(_abstract(work.get("abstract_inverted_index")))
    return Hit(url, title(work.get("display_name")), words, published(work.get("publication_date")))


def _address(work: dict[str, Any]) -> str | None:
    """The page at arXiv, else the DOI, else the landing page, else the work's own page."""
    places = [_landing(work.get(name)) for name in ("primary_location", "best_oa_location")]
    arxiv = [place for place in places if place and _host(place) in ("arxiv.org", "www.arxiv.org")]
    candidates = (*arxiv, work.get("doi"), places[0], work.get("id"))
    return next((value for value in candidates if isinstance(value, str) and _host(value)), None)


def _landing(location: Any) -> str | None:
    url = location.get("landing_page_url") if isinstance(location, dict) else None
    return url if isinstance(url, str) else None


def _host(url: str) -> str:
    """The host of a web address, empty for anything else."""
    parts = urlsplit(url)
    return parts.hostname or "" if parts.scheme in ("http", "https") else ""


def _abstract(index: Any) -> str:
    """The words of an abstract in their order; the index has each word with all its positions."""
    words: dict[int, str] = {}
    for word, positions in index.items() if isinstance(index, dict) else ():
        for position in positions if isinstance(positions, list) else ():
            if type(position) is int and 0 <= position < MAX_POSITION:
                words.setdefault(position, word)
    return " ".join(words[position] for position in sorted(words))
