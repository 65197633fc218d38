"""Parallel's search, as vendors/parallel.md describes it ("Request body", "Response", "Errors")."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from providers._contract import Query, Role
from providers._registry import lookup
from tests.fakenet._http import Answer, Request, as_json
from tests.fakenet._vendor import Case
from tests.fakenet._world import World

KEYS = {"search_queries", "objective", "mode", "max_chars_total", "session_id", "client_model", "advanced_settings"}
SETTINGS = {"max_results", "location", "source_policy", "excerpt_settings", "fetch_policy"}
POLICY = {"include_domains", "exclude_domains", "after_date"}


def failure(status: int, message: str) -> Answer:
    error = {"ref_id": "search_0f3a", "message": message, "detail": None}
    return as_json({"type": "error", "error": error}, status)


class Parallel:
    """Handler. key: the one that is good, None for any. credits: requests left."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.key: str | None = None
        self.credits = 1_000_000

    def __call__(self, request: Request) -> Answer:
        given = request.header("x-api-key")
        if given is None or self.key not in (None, given):
            return failure(401, "Unauthorized")
        if request.method != "POST" or request.path != "/v1/search":
            return failure(404, "Not found")
        if self.credits <= 0:
            return failure(402, "Insufficient credit")
        if not _is_good(request.json):
            return failure(422, "Request validation error")
        self.credits -= 1
        return self._search(request.json)

    def _search(self, body: Mapping[str, Any]) -> Answer:
        count = body.get("advanced_settings", {}).get("max_results", 10)
        rows = [
            {"url": entry.url, "title": entry.title, "publish_date": entry.published, "excerpts": [entry.snippet]}
            for entry in self._world.search(body["search_queries"][0], count=count)
        ]
        usage = [{"name": "sku_search", "count": 1}]
        return as_json({"search_id": "search_0f3a", "results": rows, "warnings": None, "usage": usage})


def _is_good(body: Mapping[str, Any]) -> bool:
    queries, settings = body.get("search_queries"), body.get("advanced_settings", {})
    policy, excerpts = settings.get("source_policy", {}), settings.get("excerpt_settings", {})
    return (
        set(body) <= KEYS
        and set(settings) <= SETTINGS
        and set(policy) <= POLICY
        and set(excerpts) <= {"max_chars_per_result"}
        and isinstance(queries, list)
        and 1 <= len(queries) <= 5
        and all(1 <= len(query) <= 200 for query in queries)
        and len(body.get("objective", "")) <= 5000
        and body.get("mode", "advanced") in ("turbo", "fast", "basic", "advanced")
        and 1 <= settings.get("max_results", 10) <= 40
        and re.fullmatch(r"\d{4}-\d\d-\d\d", policy.get("after_date", "2026-01-01")) is not None
    )


REMOTES = {"parallel": Parallel}


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("parallel")(key=canary, url=urls["parallel"] + "/v1/search")


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {"PARALLEL_API_KEY": key, "PARALLEL_BASE_URL": urls["parallel"]}


CASES = (Case(Role.SEARCH, "parallel", lambda urls: Query("trio nurseries"), good="ok.json", empty="empty.json"),)
