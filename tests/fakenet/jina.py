"""Jina's reader, search and reranker as vendors/jina.md describes them (sections 1 to 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from providers._contract import Query, Ranking, Role, Target
from providers._registry import lookup
from tests.fakenet._http import Answer, Request, as_json
from tests.fakenet._reading import as_markdown
from tests.fakenet._vendor import Case
from tests.fakenet._world import World

SEARCH_COST = 10_000  # section 2, per started 10 results
LANGUAGES = ("ru", "en", "de", "fr", "es", "pt", "pt-br", "pt-pt", "zh-cn", "zh-tw", "iw", "ja")  # section 2, a part
MODELS = ("jina-reranker-v3", "jina-reranker-v3.5")  # section 3


def failure(code: int, name: str, status: int, message: str, *headers: tuple[str, str]) -> Answer:
    """The envelope of errors of reader and search."""
    envelope = {
        "data": None, "code": code, "name": name, "status": status, "message": message,
        "readableMessage": f"{name}: {message}",
    }  # fmt: skip
    return as_json(envelope, code, *headers)


class Account:
    """What reader and search share. key: the one that is good, None for any. balance: tokens left."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.key: str | None = None
        self.balance = 10_000_000  # section 4

    def is_keyed(self, request: Request) -> bool:
        return request.header("authorization") is not None

    def refused(self, request: Request) -> Answer | None:
        given = request.header("authorization") or ""
        if not self.is_keyed(request):
            return None
        if not given.startswith("Bearer ") or self.key not in (None, given.removeprefix("Bearer ")):
            return failure(401, "AuthenticationFailedError", 40101, "Invalid API key, please get a new one")
        if self.balance <= 0:
            message = "Account balance not enough to run this query, please recharge."
            return failure(402, "InsufficientBalanceError", 40203, message)
        return None


class Reader(Account):
    """Section 1. keyless_left: how many pages this address may still read this minute without a key."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.keyless_left = 1_000_000

    def __call__(self, request: Request) -> Answer:
        if (refused := self.refused(request)) is not None:
            return refused
        if not self.is_keyed(request):
            if self.keyless_left <= 0:
                return failure(429, "RateLimitTriggeredError", 42903, "rate limit", ("retry-after", "12"))
            self.keyless_left -= 1
        url = request.json.get("url") if request.method == "POST" else request.target.lstrip("/")
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            return failure(400, "ParamValidationError", 40001, "Invalid URL")
        return self._read(request, url)

    def _read(self, request: Request, url: str) -> Answer:
        page = as_markdown(self.world, url)
        heading, text = page or ("Not found", "There is nothing here.")
        tokens = len(text) // 4
        budget = request.header("x-token-budget")
        if budget is not None and tokens > int(budget):
            return failure(409, "BudgetExceededError", 40904, "Token budget exceeded")
        if self.is_keyed(request):
            self.balance -= tokens
        found: dict[str, Any] = {
            "title": heading, "description": "", "url": url, "content": text, "publishedTime": "2026-03-01",
            "metadata": {"lang": "en"}, "external": {}, "usage": {"tokens": tokens},
        }  # fmt: skip
        if page is None:
            found["warning"] = "Target URL returned error 404: Not Found"
        if request.header("accept") != "application/json":
            return Answer(200, f"Title: {heading}\n\nMarkdown Content:\n{text}".encode(), "text/plain; charset=utf-8")
        return as_json({"code": 200, "status": 20000, "data": found, "meta": {"usage": {"tokens": tokens}}})


class Search(Account):
    """Section 2."""

    def __call__(self, request: Request) -> Answer:
        if not self.is_keyed(request):
            return failure(401, "AuthenticationRequiredError", 40103, "Authentication is required to use this endpoint")
        fields = request.json if request.method == "POST" else request.query
        return self.refused(request) or _refused_search(fields) or self._search(request, fields)

    def _search(self, request: Request, fields: Mapping[str, Any]) -> Answer:
        count = int(fields.get("num", 10))
        start = (int(fields.get("page", 1)) - 1) * count
        entries = self.world.search(fields["q"], start=start, count=count)
        if not entries:
            message = f"No search results available for query {fields['q']}"
            return failure(422, "AssertionFailureError", 42206, message)
        cost = SEARCH_COST * -(-count // 10)
        self.balance -= cost
        content = "" if request.header("x-respond-with") == "no-content" else "the whole page"
        rows = [
            {"title": entry.title, "url": entry.url, "description": entry.snippet, "date": entry.published,
             "content": content, "usage": {"tokens": 1000}}
            for entry in entries
        ]  # fmt: skip
        return as_json({"code": 200, "status": 20000, "data": rows, "meta": {"usage": {"tokens": cost}}})


def _refused_search(fields: Mapping[str, Any]) -> Answer | None:
    wrong = (
        not fields.get("q")
        or not 0 <= int(fields.get("num", 10)) <= 20
        or int(fields.get("page", 1)) < 1
        or fields.get("hl", "en") not in LANGUAGES
        or len(fields.get("gl", "us")) != 2
        or "tbs" in fields
    )
    return failure(400, "ParamValidationError", 40001, "a parameter is wrong") if wrong else None


class Rerank(Account):
    """Section 3: FastAPI's way of telling errors. The last document sent is the best."""

    def __call__(self, request: Request) -> Answer:
        if not self.is_keyed(request):
            return as_json({"detail": "Not authenticated"}, 401)
        if self.balance <= 0:
            return as_json({"detail": "Account balance not enough"}, 402)
        body = request.json
        documents = body.get("documents")
        if body.get("model") not in MODELS or not documents or not all(documents):
            return as_json({"detail": [{"loc": ["body"], "msg": "invalid"}]}, 422)
        if not 1 <= body.get("top_n", 1) <= len(documents):
            return as_json({"detail": "top_n"}, 422)
        places = list(reversed(range(len(documents))))[: body.get("top_n", len(documents))]
        rows = [{"index": place, "relevance_score": 1 / rank} for rank, place in enumerate(places, start=1)]
        return as_json({"model": body["model"], "object": "list", "usage": {"total_tokens": 400}, "results": rows})


REMOTES = {"jina-reader": Reader, "jina-search": Search, "jina-rerank": Rerank}


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("jina")(
        key=canary,
        reader_url=urls["jina-reader"] + "/",
        search_url=urls["jina-search"] + "/",
        rerank_url=urls["jina-rerank"] + "/v1/rerank",
    )


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {
        "JINA_API_KEY": key,
        "JINA_READER_URL": urls["jina-reader"],
        "JINA_SEARCH_URL": urls["jina-search"],
        "JINA_RERANK_URL": urls["jina-rerank"],
    }


DOCUMENTS = ("Drift of thermocouples", "Cold junctions", "Type K runs from -200 to 1260 C")
CASES = (
    Case(
        Role.SEARCH, "jina-search", lambda urls: Query("thermocouple type k range"), good="search.json",
        empty="search-empty.json",
    ),
    Case(Role.READ, "jina-reader", lambda urls: Target(f"{urls['web']}/article/type-k/1"), good="read.json"),
    Case(Role.RERANK, "jina-rerank", lambda urls: Ranking("type k range", DOCUMENTS), good="rerank.json"),
)  # fmt: skip
