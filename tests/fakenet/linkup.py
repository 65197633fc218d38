"""Linkup's search as vendors/linkup.md describes it ("Request body", "Response", "Errors")."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from providers._contract import Query, Role
from providers._registry import lookup
from tests.fakenet._http import Answer, Request, as_json
from tests.fakenet._vendor import Case
from tests.fakenet._world import World

DAY = re.compile(r"\d{4}-\d\d-\d\d(T.*)?")


def failure(status: int, code: str) -> Answer:
    """The section "Errors": always the same envelope."""
    return as_json({"statusCode": status, "error": {"code": code, "message": "a sentence", "details": []}}, status)


class Linkup:
    """Handler.

    key: the one that is good, None for any. credits: calls that are paid for. is_too_fast: the rate is reached.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.key: str | None = None
        self.credits = 1_000_000
        self.is_too_fast = False

    def __call__(self, request: Request) -> Answer:
        given = request.header("authorization") or ""
        if not given.startswith("Bearer ") or self.key not in (None, given.removeprefix("Bearer ")):
            return failure(401, "UNAUTHORIZED")
        if request.method != "POST" or request.path != "/v1/search":
            return failure(404, "NOT_FOUND")
        if self.is_too_fast:
            return failure(429, "TOO_MANY_REQUESTS")
        if self.credits <= 0:
            return failure(429, "INSUFFICIENT_FUNDS_CREDITS")
        body = request.json
        if not _is_good(body):
            return failure(400, "VALIDATION_ERROR")
        entries = self._world.search(body["q"], count=body.get("maxResults", 10))
        if not entries:
            return failure(400, "SEARCH_QUERY_NO_RESULT")
        self.credits -= 1
        rows = [
            {"type": "text", "name": entry.title, "url": entry.url, "content": entry.snippet, "favicon": ""}
            for entry in entries
        ]
        return as_json({"results": rows})


def _is_good(body: Mapping[str, Any]) -> bool:
    return (
        bool(body.get("q"))
        and body.get("depth") in ("fast", "standard", "deep")
        and body.get("outputType") in ("searchResults", "sourcedAnswer", "structured")
        and type(body.get("maxResults", 10)) is int
        and body.get("maxResults", 10) >= 1
        and bool(DAY.fullmatch(body.get("fromDate", "2026-03-02")))
    )


REMOTES = {"linkup": Linkup}


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("linkup")(key=canary, url=urls["linkup"] + "/v1/search")


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {"LINKUP_API_KEY": key, "LINKUP_BASE_URL": urls["linkup"]}


CASES = (Case(Role.SEARCH, "linkup", lambda urls: Query("structured concurrency"), good="ok.json", empty="empty.json"),)
