"""Semantic Scholar's paper search, as vendors/semantic-scholar.md describes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from providers._contract import Query, Role
from providers._registry import lookup
from tests.fakenet._http import Answer, Request, as_json
from tests.fakenet._vendor import Case
from tests.fakenet._world import World

DAY = r"\d{4}-\d\d-\d\d"
RANGE = re.compile(rf"({DAY})?:({DAY})?")  # "Parameters"


class SemanticScholar:
    """Handler. key: the one that is good, None for any. interval: seconds between starts ("Limits"), None for none."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.key: str | None = None
        self.interval: float | None = None
        self._last_at = float("-inf")

    def __call__(self, request: Request) -> Answer:
        if request.path != "/graph/v1/paper/search":
            return as_json({"error": "Not found"}, 404)
        given = request.header("x-api-key")
        if given is None:  # "Limits": the pool of all anonymous callers
            return as_json({"message": "Too Many Requests. Please apply for a key", "code": "429"}, 429)
        if self.key not in (None, given):
            return as_json({"message": "Forbidden"}, 403)
        if self.interval is not None and request.at - self._last_at < self.interval:
            return as_json({"message": "Too Many Requests.", "code": "429"}, 429)
        self._last_at = request.at
        return self._search(request.query)

    def _search(self, fields: Mapping[str, str]) -> Answer:
        limit, offset = int(fields.get("limit", "100")), int(fields.get("offset", "0"))
        wrong = (
            not fields.get("query")
            or not 1 <= limit <= 100
            or offset + limit > 1000
            or not RANGE.fullmatch(fields.get("publicationDateOrYear", ":"))
            or " " in fields.get("fields", "")
        )
        if wrong:
            return as_json({"error": "Unacceptable query params"}, 400)
        text = fields["query"]
        # "Parameters": hyphenated terms match nothing; the one the world knows nothing by may stay.
        entries = [] if re.search(r"\w-\w", text) else self._world.search(text, start=offset, count=limit)
        wanted = set(fields.get("fields", "").split(",")) | {"paperId", "title"}
        found: dict[str, Any] = {"total": self._world.total if entries else 0, "offset": offset}
        if entries:  # "Zero hits: the `data` key is missing altogether"
            found["data"] = [
                {name: value for name, value in _paper(entry, place).items() if name in wanted}
                for place, entry in enumerate(entries, start=offset)
            ]
        return as_json(found)


def _paper(entry: Any, place: int) -> dict[str, Any]:
    return {
        "paperId": f"{place:040x}", "url": entry.url, "title": entry.title, "abstract": entry.snippet, "year": 2026,
        "publicationDate": entry.published, "venue": "Sensors", "externalIds": {"CorpusId": place},
        "isOpenAccess": True, "openAccessPdf": {"url": "", "status": "CLOSED"}, "citationCount": 0, "authors": [],
    }  # fmt: skip


REMOTES = {"semantic-scholar": SemanticScholar}
PATH = "/graph/v1/paper/search"


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("semantic-scholar")(key=canary, url=urls["semantic-scholar"] + PATH)


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {"SEMANTIC_SCHOLAR_API_KEY": key, "SEMANTIC_SCHOLAR_BASE_URL": urls["semantic-scholar"]}


CASES = (
    Case(
        Role.SEARCH,
        "semantic-scholar",
        lambda urls: Query("literature graphs"),
        good="ok.json",
        empty="empty.json",
    ),
)
