"""Octen's search, as vendors/octen.md describes it ("Request body", "Response", "Errors")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from providers._contract import Query, Role
from providers._registry import lookup
from tests.fakenet._http import Answer, Request, as_json
from tests.fakenet._vendor import Case
from tests.fakenet._world import World

LANGUAGES = set("ar de en es fr hi id it ja ko nl pl pt ru th tr vi zh".split())
KEYS = {"query", "count", "language", "time_range", "highlight", "format", "safesearch"}


def failure(code: int, message: str) -> Answer:
    return as_json({"code": code, "msg": message, "request_id": "req_5d1c"}, code)


class Octen:
    """Handler. key: the one that is good, None for any. balance: calls that are left."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.key: str | None = None
        self.balance = 1_000_000

    def __call__(self, request: Request) -> Answer:
        given = request.header("x-api-key")
        if given is None or self.key not in (None, given):
            return failure(401, "Invalid API Key")
        if request.method != "POST" or request.path != "/search":
            return failure(404, "Not found")
        if self.balance <= 0:
            return failure(403, "Insufficient balance in account")
        body = request.json
        if not _is_good(body):
            return failure(400, "Missing parameter query")
        self.balance -= 1
        rows = [
            {"title": entry.title, "url": entry.url, "highlight": entry.snippet, "time_published": entry.published}
            for entry in self._world.search(body["query"], count=body.get("count", 5))
        ]
        data = {"query": body["query"], "results": rows}
        return as_json({"code": 0, "msg": "success", "data": data, "meta": {"latency": 237, "warning": None}})


def _is_good(body: Mapping[str, Any]) -> bool:
    return (
        set(body) <= KEYS
        and 1 <= len(body.get("query", "")) <= 500
        and 1 <= body.get("count", 5) <= 100
        and set(body.get("language", [])) <= LANGUAGES
        and body.get("time_range", "d") in ("day", "week", "month", "year", "d", "w", "m", "y")
    )


REMOTES = {"octen": Octen}


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("octen")(key=canary, url=urls["octen"] + "/search")


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {"OCTEN_API_KEY": key, "OCTEN_BASE_URL": urls["octen"]}


CASES = (Case(Role.SEARCH, "octen", lambda urls: Query("trio cancellation"), good="ok.json", empty="empty.json"),)
