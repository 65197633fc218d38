"""Tavily's search and extract as vendors/tavily.md describes them (sections 0 to 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from providers._contract import Query, Role, Target
from providers._registry import lookup
from tests.fakenet._http import Answer, Request, as_json
from tests.fakenet._reading import as_markdown
from tests.fakenet._vendor import Case
from tests.fakenet._world import World

SEARCH_KEYS = {  # section 1
    "query", "max_results", "search_depth", "topic", "time_range", "start_date", "end_date", "include_domains",
    "exclude_domains", "country", "include_answer", "include_raw_content", "chunks_per_source", "auto_parameters",
    "exact_match", "safe_search", "include_favicon", "include_usage",
}  # fmt: skip
EXTRACT_KEYS = {  # section 2
    "urls", "extract_depth", "format", "timeout", "query", "chunks_per_source", "include_images", "include_favicon",
    "include_usage",
}  # fmt: skip
COUNTRIES = ("russia", "brazil", "united states", "united kingdom", "germany", "france", "austria")
# Section 3.
REFUSALS = {
    401: "Unauthorized: missing or invalid API key.",
    429: "Your request has been blocked due to excessive requests. Please reduce the rate of requests.",
    432: "This request exceeds your plan's set usage limit. Please upgrade your plan or contact support@tavily.com",
    433: "This request exceeds the pay-as-you-go limit. You can increase your limit on the Tavily dashboard.",
}


def failure(status: int, error: str | None = None) -> Answer:
    """Section 3: the error is nested."""
    return as_json({"detail": {"error": error or REFUSALS[status]}}, status)


class Tavily:
    """Handler of both endpoints.

    key: the one that is good, None for any. credits: what is left of each account, by its key; `default_credits` for
    one that is not named. is_pay_as_you_go: which of the two refusals an account without credit gets.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.key: str | None = None
        self.credits: dict[str, float] = {}
        self.default_credits = 1_000.0
        self.is_pay_as_you_go = False

    def __call__(self, request: Request) -> Answer:
        scheme, _, given = (request.header("authorization") or "").partition(" ")
        if scheme != "Bearer" or not given or self.key not in (None, given):
            return failure(401)
        if request.method != "POST" or request.path not in ("/search", "/extract"):
            return as_json({"detail": "Not Found"}, 404)
        if self.credits.setdefault(given, self.default_credits) <= 0:
            return failure(433 if self.is_pay_as_you_go else 432)
        body = request.json
        known = SEARCH_KEYS if request.path == "/search" else EXTRACT_KEYS
        if unknown := sorted(set(body) - known):
            return as_json({"detail": [{"type": "extra", "loc": ["body", unknown[0]], "msg": "x", "input": 1}]}, 422)
        return self._search(body, given) if request.path == "/search" else self._extract(body, given)

    def _search(self, body: Mapping[str, Any], key: str) -> Answer:
        wrong = (
            not body.get("query")
            or len(body["query"]) > 400
            or not 0 <= body.get("max_results", 5) <= 20
            or body.get("search_depth", "basic") not in ("basic", "fast", "ultra-fast", "advanced")
            or body.get("time_range", "d") not in ("day", "week", "month", "year", "d", "w", "m", "y")
            or body.get("country", "russia") not in COUNTRIES
        )
        if wrong:
            return failure(400, "Invalid parameter.")
        self.credits[key] -= 2 if body.get("search_depth") == "advanced" else 1
        rows = [
            {"title": entry.title, "url": entry.url, "content": entry.snippet, "score": 0.9, "raw_content": None}
            for entry in self._world.search(body["query"], count=body.get("max_results", 5))
        ]
        return as_json({"query": body["query"], "answer": None, "images": [], "results": rows, "response_time": 1.2})

    def _extract(self, body: Mapping[str, Any], key: str) -> Answer:
        urls = [body["urls"]] if isinstance(body.get("urls"), str) else body.get("urls")
        if not urls or len(urls) > 20 or not 1.0 <= body.get("timeout", 10.0) <= 60.0:
            return failure(400, "Invalid parameter.")
        results, failed = [], []
        for url in urls:
            if (page := as_markdown(self._world, url)) is None:
                failed.append({"url": url, "error": "404 page not found"})
            else:
                results.append({"url": url, "raw_content": page[1], "images": []})
        self.credits[key] -= len(results) / 5  # section 4: failed addresses are free
        return as_json({"results": results, "failed_results": failed, "response_time": 2.3})


REMOTES = {"tavily": Tavily}


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("tavily")(key=canary, url=urls["tavily"])


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    keys = {f"TAVILY_{number}_API_KEY": f"{key}-{number}" for number in (1, 2, 3)}
    return keys | {f"TAVILY_{number}_BASE_URL": urls["tavily"] for number in (1, 2, 3)}


CASES = (
    Case(Role.SEARCH, "tavily", lambda urls: Query("type k range"), good="search.json", empty="search-empty.json"),
    Case(Role.READ, "tavily", lambda urls: Target(f"{urls['web']}/article/type-k/1"), good="read.json"),
)
