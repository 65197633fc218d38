"""Tavily: search and extract. Reference: https://docs.tavily.com/documentation/api-reference (read 2026-08).

A search takes at most 20 hits, has neither pages nor a language, and costs a credit; a country, which it wants as an
English name, is a boost. Queries over 400 characters are said to be refused. An extract costs a credit for each five
pages that were read, two with `advanced`; a page that could not be read comes as a success, among `failed_results`.
Out of credit is 432 (plan) or 433 (pay as you go), too fast is 429: 100 requests a minute on a development key.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import httpx

from providers._contract import (
    Denied,
    Empty,
    Found,
    Hit,
    Malformed,
    Page,
    ProviderError,
    Query,
    QuotaSpent,
    Target,
)
from providers._queries import is_web_address, joined, region, shortened
from providers._registry import register
from providers._snippets import published, snippet, title
from providers._status import told_site_error
from providers._wire import Rule, ask, digest

MAX_QUERY_CHARS = 400
MAX_RESULTS = 20
MAX_PAGE_BYTES = 5_000_000
# What the vendor may take for one page; less than a row's usual 25 s, so that its own answer comes in time.
EXTRACT_SECONDS = 20.0
TIME_RANGES = MappingProxyType({"d": "day", "w": "week", "m": "month", "y": "year"})
RULES = (
    Rule(QuotaSpent, status=432, detail="credits of the plan or the key used up"),
    Rule(QuotaSpent, status=433, detail="pay-as-you-go limit reached"),
    Rule(Denied, status=401, detail="key refused"),
)

COUNTRIES = MappingProxyType(
    {
        "AR": "argentina", "AT": "austria", "AU": "australia", "BE": "belgium", "BG": "bulgaria", "BR": "brazil",
        "BY": "belarus", "CA": "canada", "CH": "switzerland", "CL": "chile", "CN": "china", "CO": "colombia",
        "DE": "germany", "DK": "denmark", "ES": "spain", "FI": "finland", "FR": "france", "GB": "united kingdom",
        "GR": "greece", "HU": "hungary", "ID": "indonesia", "IE": "ireland", "IL": "israel", "IN": "india",
        "IT": "italy", "JP": "japan", "KR": "south korea", "KZ": "kazakhstan", "MX": "mexico", "NL": "netherlands",
        "NO": "norway", "NZ": "new zealand", "PL": "poland", "PT": "portugal", "RO": "romania", "RU": "russia",
        "SE": "sweden", "TR": "turkey", "UA": "ukraine", "US": "united states", "ZA": "south africa",
    }
)  # fmt: skip


@register("tavily")
@dataclass(frozen=True, slots=True)
class Tavily:
    """Web hits and pages of one account. `url` is the base of both endpoints."""

    key: str = field(repr=False)
    url: str = field(default="https://api.tavily.com", repr=False)

    async def search(self, query: Query, client: httpx.AsyncClient) -> Found[Hit]:
        if query.page > 1:
            # Asked again it would bill the same hits.
            return Found((), "no further page")
        fields, detail = _fields(query)
        hits = await digest(await self._post("search", fields, client), parse_hits)
        return Found(hits[: query.limit], detail)

    def accepts(self, target: Target) -> bool:
        return True

    async def read(self, target: Target, client: httpx.AsyncClient) -> Page:
        # Only the dearer way runs a page's scripts.
        needs_scripts = target.evidence is not None and target.evidence.shell
        fields = {
            "urls": [target.url],
            "format": "markdown",
            "extract_depth": "advanced" if needs_scripts else "basic",
            "timeout": EXTRACT_SECONDS,
        }
        return await digest(await self._post("extract", fields, client), _PageAt(target.url))

    async def _post(self, path: str, fields: dict[str, Any], client: httpx.AsyncClient) -> bytes:
        headers = {"authorization": f"Bearer {self.key}"}
        url = f"{self.url.rstrip('/')}/{path}"
        response = await ask(
            client, "POST", url, json=fields, headers=headers, rules=RULES, max_body_bytes=MAX_PAGE_BYTES
        )
        return response.content


# --- the request ------------------------------------------------------------------------------------------------------


def _fields(query: Query) -> tuple[dict[str, Any], str | None]:
    """The body of a search, and what the report has to say about it."""
    text, details = shortened(query.text, MAX_QUERY_CHARS)
    # The depth is named because the vendor may choose the dearer one by itself where it is not.
    fields: dict[str, Any] = {
        "query": text,
        "max_results": min(max(query.limit, 1), MAX_RESULTS),
        "search_depth": "basic",
    }
    if query.date:
        fields["time_range"] = TIME_RANGES[query.date]
    if query.language:
        details.append("language filter not supported")
        if (country := _country(query.language)) is not None:
            fields["country"] = country
    return fields, joined(details)


def _country(tag: str) -> str | None:
    """The country a tag names; Russia for bare Russian, which otherwise finds mostly foreign copies."""
    code = region(tag)
    if code is None and re.split("[-_]", tag)[0].lower() == "ru":
        code = "RU"
    return COUNTRIES.get(code or "")


# --- the answers ------------------------------------------------------------------------------------------------------


def parse_hits(reply: Any) -> tuple[Hit, ...]:
    """The hits of an answer."""
    results = reply["results"]
    hits = tuple(_hit(result) for result in results if is_web_address(result.get("url")))
    if results and not hits:
        raise Malformed("no usable address among the results")
    return hits


def _hit(result: dict[str, Any]) -> Hit:
    day = published(result.get("published_date"))
    return Hit(result["url"], title(result.get("title")), snippet(result.get("content")), day)


@dataclass(frozen=True, slots=True)
class _PageAt:
    """Reads an extract of `url`; an object and not a closure, so that it can be sent to a worker."""

    url: str

    def __call__(self, reply: Any) -> Page:
        return parse_page(reply, self.url)


def parse_page(reply: Any, url: str) -> Page:
    """The page that an extract of `url` gave. Raises what its failure stands for, and Empty without a text."""
    results = reply["results"]
    if not results:
        raise _failure(reply.get("failed_results") or [])
    # The only one asked for: its address may be spelt another way.
    result = results[0]
    markdown = result["raw_content"] or ""
    if not isinstance(markdown, str):
        raise Malformed("content is no text")
    if not markdown.strip():
        raise Empty("no content")
    address = result.get("url")
    heading = re.match(r"\s*# +(.+)", markdown)
    return Page(
        url=url,
        final_url=address if is_web_address(address) else url,
        markdown=markdown,
        title=title(result.get("title")) or title(heading[1] if heading else ""),
    )


_STATUS = re.compile(r"(?<!\d)[45]\d\d(?!\d)")


def _failure(failed: Any) -> ProviderError:
    """Why the page could not be read: by the site's status, which stands in the sentence where there was one."""
    text = failed[0].get("error") if failed else None
    status = _STATUS.search(text) if isinstance(text, str) else None
    error = told_site_error(int(status[0])) if status else None
    return Empty("not fetched, or without content") if error is None else error
