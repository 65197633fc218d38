"""Exa's search as vendors/exa.md describes it (sections 1 to 3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from providers._contract import Query, Role
from providers._registry import lookup
from tests.fakenet._http import Answer, Request, as_json
from tests.fakenet._vendor import Case
from tests.fakenet._world import Entry, World

KEYS = {  # section 1
    "query", "type", "numResults", "includeDomains", "excludeDomains", "startPublishedDate", "endPublishedDate",
    "includeText", "excludeText", "category", "userLocation", "moderation", "contents",
}  # fmt: skip
TYPES = ("auto", "lite", "deep", "fast", "instant", "deep-reasoning", "neural")
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def failure(status: int, tag: str) -> Answer:
    """Section 3."""
    return as_json({"requestId": "r-0", "error": "human text", "tag": tag}, status)


class Exa:
    """Handler. key: the one that is good, None for any. credits: calls that are paid for."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.key: str | None = None
        self.credits = 1_000_000

    def __call__(self, request: Request) -> Answer:
        given = request.header("x-api-key")
        if given is None or self.key not in (None, given):
            return failure(401, "INVALID_API_KEY")
        if request.method != "POST" or request.path != "/search":
            return failure(404, "NOT_FOUND")
        if self.credits <= 0:
            return failure(402, "NO_MORE_CREDITS")
        body = request.json
        if not _is_good(body):
            return failure(400, "INVALID_REQUEST_BODY")
        self.credits -= 1
        contents = body.get("contents", {})
        entries = self._world.search(body["query"], count=body.get("numResults", 10))
        rows = [_result(entry, with_highlights="highlights" in contents) for entry in entries]
        return as_json({"requestId": "r-1", "searchType": "neural", "results": rows, "costDollars": {"total": 0.007}})


def _is_good(body: Mapping[str, Any]) -> bool:
    return (
        set(body) <= KEYS
        and bool(body.get("query"))
        and body.get("type", "auto") in TYPES
        and 1 <= body.get("numResults", 10) <= 100
        and bool(STAMP.fullmatch(body.get("startPublishedDate", "2026-03-02T00:00:00.000Z")))
        and bool(re.fullmatch(r"[A-Z]{2}", body.get("userLocation", "US")))
        and isinstance(body.get("contents", {}), dict)
    )


def _result(entry: Entry, *, with_highlights: bool) -> dict[str, Any]:
    """Section 2; without `contents` there is no excerpt (section 1)."""
    row = {
        "id": entry.url, "url": entry.url, "title": entry.title, "publishedDate": f"{entry.published}T00:00:00.000Z",
        "author": None, "image": None,
    }  # fmt: skip
    return row | ({"highlights": [entry.snippet], "highlightScores": [0.62]} if with_highlights else {})


REMOTES = {"exa": Exa}


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("exa")(key=canary, url=urls["exa"] + "/search")


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {"EXA_API_KEY": key, "EXA_BASE_URL": urls["exa"]}


CASES = (Case(Role.SEARCH, "exa", lambda urls: Query("type k range"), good="ok.json", empty="empty.json"),)
