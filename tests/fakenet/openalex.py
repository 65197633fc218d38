"""OpenAlex's search for works, as vendors/openalex.md describes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from providers._contract import Query, Role
from providers._registry import lookup
from tests.fakenet._http import Answer, Request, as_html, as_json
from tests.fakenet._vendor import Case
from tests.fakenet._world import Entry, World

MAX_TARGET_CHARS = 4096  # "Query cleaning": the whole URL
FILTER = re.compile(r"language:[a-z]{2}|(?:from|to)_publication_date:\d{4}-\d\d-\d\d")
SELECTABLE = {  # "Parameters", suggested select
    "id", "doi", "display_name", "publication_year", "publication_date", "language", "type", "is_retracted",
    "authorships", "primary_location", "best_oa_location", "open_access", "abstract_inverted_index", "cited_by_count",
    "relevance_score",
}  # fmt: skip


class Openalex:
    """Handler. key: the one that is good, None for any. remaining: searches left today ("Limits and cost")."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.key: str | None = None
        self.remaining = 1_000_000

    def __call__(self, request: Request) -> Answer:
        fields = request.query
        if request.path != "/works":
            return as_json({"error": "Not found"}, 404)
        if self.key not in (None, fields.get("api_key")):
            return as_json({"error": "Forbidden", "message": "API key is invalid"}, 403)
        left = (("x-ratelimit-remaining", str(self.remaining)), ("x-ratelimit-reset", "54000"))
        if self.remaining <= 0:  # "Errors": may be HTML
            return as_html("<h1>Too many requests</h1>", 429, *left, ("retry-after", "54000"))
        if len(request.target) > MAX_TARGET_CHARS or not _is_good(fields):
            return as_json({"error": "Invalid query parameters error.", "message": "x"}, 400)
        self.remaining -= 1
        return self._search(fields).with_headers(*left)

    def _search(self, fields: Mapping[str, str]) -> Answer:
        count, page = int(fields.get("per_page", "25")), int(fields.get("page", "1"))
        text = fields["search"]
        # "Query cleaning": a quoted query is an exact phrase, and finds next to nothing.
        entries = [] if '"' in text else self._world.search(text, start=(page - 1) * count, count=count)
        wanted = set(fields.get("select", ",".join(SELECTABLE)).split(","))
        works = [{name: value for name, value in _work(entry).items() if name in wanted} for entry in entries]
        meta = {"count": len(works), "db_response_time_ms": 31, "page": page, "per_page": count}
        return as_json({"meta": meta, "results": works})


def _is_good(fields: Mapping[str, str]) -> bool:
    count, page = int(fields.get("per_page", "25")), int(fields.get("page", "1"))
    return (
        1 <= count <= 100
        and page >= 1
        and page * count <= 10_000
        and bool(fields.get("search"))
        and all(FILTER.fullmatch(each) for each in fields.get("filter", "language:en").split(","))
        and set(fields.get("select", "id").split(",")) <= SELECTABLE
    )


def _work(entry: Entry) -> dict[str, Any]:
    words = entry.snippet.split()
    index: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        index.setdefault(word, []).append(place)
    return {
        "id": "https://openalex.org/W44", "doi": None, "display_name": entry.title,
        "publication_date": entry.published, "primary_location": {"is_oa": False, "landing_page_url": entry.url},
        "best_oa_location": None, "abstract_inverted_index": index, "cited_by_count": 0, "relevance_score": 1.0,
    }  # fmt: skip


REMOTES = {"openalex": Openalex}


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("openalex")(key=canary, url=urls["openalex"] + "/works")


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {"OPENALEX_API_KEY": key, "OPENALEX_BASE_URL": urls["openalex"]}


CASES = (Case(Role.SEARCH, "openalex", lambda urls: Query("drift of sensors"), good="ok.json", empty="empty.json"),)
