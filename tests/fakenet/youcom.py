"""You.com's search, as vendors/youcom.md describes it ("Endpoint", "Parameters", "Response", "Errors")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from providers._contract import Query, Role
from providers._registry import lookup
from tests.fakenet._http import Answer, Request, as_json
from tests.fakenet._vendor import Case
from tests.fakenet._world import World

# "Parameters": a part of the closed lists.
LANGUAGES = ("EN", "EN-GB", "RU", "DE", "FR", "ES", "PT-BR", "PT-PT", "ZH-HANS", "ZH-HANT", "NB", "UK")
COUNTRIES = ("US", "GB", "RU", "DE", "AT", "CH", "FR", "ES", "BR", "PT", "CN", "TW", "HK", "NO")
KEYS = {"query", "count", "offset", "freshness", "country", "language", "safesearch"}


class Youcom:
    """Handler. key: the one that is good, None for any. credits: calls that are paid for. scope: of the key."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.key: str | None = None
        self.credits = 1_000_000
        self.has_scope = True

    def __call__(self, request: Request) -> Answer:
        given = request.header("x-api-key")
        if given is None or self.key not in (None, given):
            return as_json({"detail": "Invalid API key"}, 401)
        if request.method != "POST" or request.path != "/v1/search":
            return as_json({"detail": "Not Found"}, 404)
        if not self.has_scope:
            return as_json({"detail": "Missing required scopes"}, 403)
        if self.credits <= 0:
            return as_json({"detail": "Add credits"}, 402)
        body = request.json
        if not _is_good(body):
            return as_json({"detail": "a value is wrong"}, 422)
        self.credits -= 1
        count = body.get("count", 10)
        entries = self._world.search(body["query"], start=body.get("offset", 0) * count, count=count)
        rows = [
            {"url": entry.url, "title": entry.title, "description": entry.snippet, "snippets": [entry.snippet],
             "page_age": f"{entry.published}T08:00:00"}
            for entry in entries
        ]  # fmt: skip
        return as_json({"results": {"web": rows} if rows else {}, "metadata": {"request_uuid": "6e0f"}})


def _is_good(body: Mapping[str, Any]) -> bool:
    return (
        set(body) <= KEYS
        and bool(body.get("query"))
        and 1 <= body.get("count", 10) <= 100
        and 0 <= body.get("offset", 0) <= 9
        and body.get("freshness", "day") in ("day", "week", "month", "year")
        and body.get("language", "EN") in LANGUAGES
        and body.get("country", "US") in COUNTRIES
    )


REMOTES = {"youcom": Youcom}


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("youcom")(key=canary, url=urls["youcom"] + "/v1/search")


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {"YOUCOM_API_KEY": key, "YOUCOM_BASE_URL": urls["youcom"]}


CASES = (Case(Role.SEARCH, "youcom", lambda urls: Query("trio python"), good="ok.json", empty="empty.json"),)
