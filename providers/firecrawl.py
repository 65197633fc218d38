"""Firecrawl v2: search and scrape. Reference: https://docs.firecrawl.dev/api-reference/v2-introduction (read 2026-08).

An unknown key in a body is refused with 400. A search takes at most 500 characters and 100 results, two credits per
started 10 results, and has neither pages nor a language; a country only. A scrape costs a credit, and one more for each
page of a PDF, also where the site refused: the site's status stands in the metadata of a success, and what went wrong
on the way to the site comes as 500 with a code. Cached pages are up to two days old unless a fresh one is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import httpx

from providers._contract import (
    Denied,
    Empty,
    Found,
    Hit,
    Malformed,
    Note,
    Page,
    Query,
    QuotaSpent,
    RateLimited,
    Signals,
    Target,
    TooHeavy,
    Unsupported,
)
from providers._registry import register
from providers._snippets import published, snippet, title
from providers._status import told_site_error
from providers._wire import Rule, ask, digest

MAX_QUERY_CHARS = 500
MAX_RESULTS = 100
MAX_PDF_PAGES = 50
MAX_PAGE_BYTES = 5_000_000
TIME_RANGES = MappingProxyType({"d": "qdr:d", "w": "qdr:w", "m": "qdr:m", "y": "qdr:y"})

_ACCOUNT = (
    Rule(RateLimited, status=429, needle="concurrency limit", detail="too many requests at a time", retry_after=5.0),
    Rule(QuotaSpent, needle="insufficient credits", field="success", value="False", detail="out of credits"),
    Rule(Denied, status=401, detail="key refused"),
)
SCRAPE_RULES = (
    *_ACCOUNT,
    Rule(Unsupported, status=403, needle="no longer supported", detail="site not supported"),
    Rule(Unsupported, field="code", value="SCRAPE_TIMEOUT", detail="page took too long"),
    *(
        Rule(Unsupported, field="code", value=code, detail=detail)
        for code, detail in (
            ("SCRAPE_ALL_ENGINES_FAILED", "no way of reading it worked"),
            ("SCRAPE_DNS_RESOLUTION_ERROR", "name of the site does not resolve"),
            ("SCRAPE_SSL_ERROR", "certificate of the site is wrong"),
            ("SCRAPE_SITE_ERROR", "site did not answer"),
            ("SCRAPE_PDF_ANTIBOT_ERROR", "PDF behind a challenge"),
            ("SCRAPE_UNSUPPORTED_FILE_ERROR", "kind of file not supported"),
        )
    ),
    Rule(TooHeavy, field="code", value="SCRAPE_PDF_INSUFFICIENT_TIME_ERROR", detail="PDF takes too long"),
)


@register("firecrawl")
@dataclass(frozen=True, slots=True)
class Firecrawl:
    """Web hits and pages. `url` is the base of both endpoints."""

    key: str = field(repr=False)
    url: str = field(default="https://api.firecrawl.dev/v2", repr=False)

    async def search(self, query: Query, client: httpx.AsyncClient) -> Found[Hit]:
        if query.page > 1:
            # Asked again it would bill the same hits.
            return Found((), "no further page")
        fields, detail = _fields(query)
        body = await self._post("search", fields, client, _ACCOUNT)
        hits = await digest(body, parse_hits)
        return Found(hits[: query.limit], detail)

    def accepts(self, target: Target) -> bool:
        return True

    async def read(self, target: Target, client: httpx.AsyncClient) -> Page:
        fields = {
            "url": target.url,
            "formats": ["markdown"],
            "maxAge": 0,
            "parsers": [{"type": "pdf", "mode": "auto", "maxPages": MAX_PDF_PAGES}],
        }
        body = await self._post("scrape", fields, client, SCRAPE_RULES)
        return await digest(body, _PageAt(target.url))

    async def _post(
        self, path: str, fields: dict[str, Any], client: httpx.AsyncClient, rules: tuple[Rule, ...]
    ) -> bytes:
        headers = {"authorization": f"Bearer {self.key}", "accept": "application/json"}
        url = f"{self.url.rstrip('/')}/{path}"
        response = await ask(
            client, "POST", url, json=fields, headers=headers, rules=rules, max_body_bytes=MAX_PAGE_BYTES
        )
        return response.content


# --- the request ------------------------------------------------------------------------------------------------------


def _fields(query: Query) -> tuple[dict[str, Any], str | None]:
    """The body of a search, and what the report has to say about it."""
    text, details = _shortened(query.text)
    # Highlights are long Markdown; without them the description is a plain one.
    fields: dict[str, Any] = {"query": text, "limit": min(max(query.limit, 1), MAX_RESULTS), "highlights": False}
    if query.date:
        fields["tbs"] = TIME_RANGES[query.date]
    if query.language:
        details.append("language filter not supported")
        if (country := _country(query.language)) is not None:
            fields["country"] = country
    return fields, "; ".join(details) or None


def _shortened(text: str) -> tuple[str, list[str]]:
    if len(text) <= MAX_QUERY_CHARS:
        return text, []
    head = text[: MAX_QUERY_CHARS + 1].rpartition(" ")[0]
    short = (head if len(head) > MAX_QUERY_CHARS // 2 else text[:MAX_QUERY_CHARS]).rstrip()
    return short, [f"query cut to {len(short)} characters"]


def _country(tag: str) -> str | None:
    """The country a language tag names; Russia for bare Russian, since the vendor's default is the United States."""
    parts = tag.replace("_", "-").split("-")
    regions = [part.upper() for part in parts[1:] if len(part) == 2 and part.isascii() and part.isalpha()]
    return regions[0] if regions else ("RU" if parts[0].lower() == "ru" else None)


# --- the answers ------------------------------------------------------------------------------------------------------


def parse_hits(reply: Any) -> tuple[Hit, ...]:
    """The web hits of an answer; an answer without a list of them has found nothing."""
    if reply["success"] is not True:
        raise Malformed("a success that says it is none")
    results = reply["data"].get("web")
    if results is None:
        return ()
    if not isinstance(results, list):
        raise Malformed("results are no list")
    hits = tuple(_hit(result) for result in results if _is_web_address(result.get("url")))
    if results and not hits:
        raise Malformed("no usable address among the results")
    return hits


def _hit(result: dict[str, Any]) -> Hit:
    words = result.get("description") or result.get("snippet")
    return Hit(result["url"], title(result.get("title")), snippet(words), published(result.get("date")))


@dataclass(frozen=True, slots=True)
class _PageAt:
    """Reads a scrape of `url`; an object and not a closure, so that it can be sent to a worker."""

    url: str

    def __call__(self, reply: Any) -> Page:
        return parse_page(reply, self.url)


def parse_page(reply: Any, url: str) -> Page:
    """The page that a scrape of `url` gave. Raises what the site's own status stands for, and Empty without a text."""
    if reply["success"] is not True:
        raise Malformed("a success that says it is none")
    found, metadata = reply["data"], reply["data"]["metadata"]
    status = metadata.get("statusCode", 200)
    if type(status) is not int:
        raise Malformed("the site's status is no number")
    if (error := told_site_error(status)) is not None and status != 304:
        raise error
    markdown = found.get("markdown") or ""
    if not isinstance(markdown, str):
        raise Malformed("content is no text")
    if not markdown.strip():
        raise Empty("no content")
    address = metadata.get("url") or metadata.get("sourceURL")
    return Page(
        url=url,
        final_url=address if _is_web_address(address) else url,
        markdown=markdown,
        title=title(_one(metadata.get("title"))),
        excerpt=snippet(_one(metadata.get("description"))),
        published=published(_one(metadata.get("publishedTime"))),
        language=_one(metadata.get("language")) or None,
        content_type=_one(metadata.get("contentType")) or "text/html",
        notes=(Note.TRUNCATED,) if _is_cut(metadata) else (),
        signals=Signals(status=status),
    )


def _one(value: Any) -> str:
    """The metadata may hold a text or a list of them."""
    if isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, str) else ""


def _is_cut(metadata: dict[str, Any]) -> bool:
    total, read = metadata.get("totalPages"), metadata.get("numPages")
    return isinstance(total, int) and isinstance(read, int) and total > read


def _is_web_address(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    parts = urlsplit(value)
    return parts.scheme in ("http", "https") and bool(parts.netloc)
