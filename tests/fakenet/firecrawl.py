"""Firecrawl v2 as vendors/firecrawl.md describes it (sections 1 to 4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from providers._contract import Query, Role, Target
from providers._registry import lookup
from tests.fakenet._http import Answer, Request, as_json
from tests.fakenet._reading import as_markdown
from tests.fakenet._vendor import Case
from tests.fakenet._world import World

SEARCH_KEYS = {  # section 1
    "query", "limit", "sources", "tbs", "country", "location", "includeDomains", "excludeDomains", "categories",
    "timeout", "highlights", "ignoreInvalidURLs", "safe", "scrapeOptions",
}  # fmt: skip
SCRAPE_KEYS = {  # section 2
    "url", "formats", "onlyMainContent", "proxy", "timeout", "maxAge", "waitFor", "parsers", "location",
    "skipTlsVerification", "blockAds", "removeBase64Images", "mobile", "headers", "includeTags", "excludeTags",
}  # fmt: skip
TBS = re.compile(r"qdr:[hdwmy]|cdr:1,cd_min:[\d/]+,cd_max:[\d/]+|sbd:1")


def failure(status: int, error: str, **more: Any) -> Answer:
    """Section 3."""
    return as_json({"success": False, "error": error} | more, status)


class Firecrawl:
    """Handler of both endpoints. key: the one that is good, None for any. credits: what is left (section 4)."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.key: str | None = None
        self.credits = 1_000_000

    def __call__(self, request: Request) -> Answer:
        given = request.header("authorization") or ""
        if not given.startswith("Bearer ") or self.key not in (None, given.removeprefix("Bearer ")):
            return failure(401, "Unauthorized: Invalid token")
        if request.method != "POST" or request.path not in ("/v2/search", "/v2/scrape"):
            return failure(404, "Not found")
        if self.credits <= 0:
            return failure(402, "Insufficient credits to perform this request. For more credits, upgrade your plan")
        body = request.json
        known = SEARCH_KEYS if request.path == "/v2/search" else SCRAPE_KEYS
        if unknown := set(body) - known:
            return failure(400, "Unrecognized key in body", details=sorted(unknown))
        return self._search(body) if request.path == "/v2/search" else self._scrape(body)

    def _search(self, body: Mapping[str, Any]) -> Answer:
        limit = body.get("limit", 10)
        wrong = (
            not body.get("query")
            or len(body["query"]) > 500
            or not 1 <= limit <= 100
            or not TBS.fullmatch(body.get("tbs", "qdr:d"))
        )
        if wrong:
            return failure(400, "Bad Request", details=[])
        cost = 2 * -(-limit // 10)
        self.credits -= cost
        entries = self._world.search(body["query"], count=limit)
        rows = [
            {"url": entry.url, "title": entry.title, "description": entry.snippet, "position": place}
            for place, entry in enumerate(entries, start=1)
        ]
        found = {"web": rows} if rows else {}
        return as_json({"success": True, "data": found, "creditsUsed": cost, "id": "0199", "warning": None})

    def _scrape(self, body: Mapping[str, Any]) -> Answer:
        url = body.get("url")
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            return failure(400, "Invalid URL")
        self.credits -= 1  # section 2: also when the site answers 403 or 404
        page = as_markdown(self._world, url)
        heading, text = page or ("Not found", "There is nothing here.")
        metadata = {
            "title": heading, "description": "", "language": "en", "sourceURL": url, "url": url,
            "statusCode": 200 if page else 404, "contentType": "text/html", "error": None if page else "Not Found",
            "numPages": None,
        }  # fmt: skip
        return as_json({"success": True, "data": {"markdown": text, "warning": None, "metadata": metadata}})


REMOTES = {"firecrawl": Firecrawl}


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("firecrawl")(key=canary, url=urls["firecrawl"] + "/v2")


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {"FIRECRAWL_API_KEY": key, "FIRECRAWL_BASE_URL": urls["firecrawl"]}


CASES = (
    Case(
        Role.SEARCH,
        "firecrawl",
        lambda urls: Query("thermocouple type k range"),
        good="search.json",
        empty="search-empty.json",
    ),
    Case(Role.READ, "firecrawl", lambda urls: Target(f"{urls['web']}/article/type-k/1"), good="read.json"),
)
