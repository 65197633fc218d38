"""What the tavily type sends, and what it makes of hits, of pages and of those that could not be read."""

from __future__ import annotations

import json

import httpx
import pytest
import respx

from providers._contract import (
    Blocked,
    Denied,
    Empty,
    Evidence,
    Found,
    Hit,
    Malformed,
    NotFound,
    Query,
    QuotaSpent,
    RateLimited,
    Target,
    Unavailable,
    Unsupported,
)
from providers._registry import lookup
from tests.fakenet import payload
from tests.fakenet.tavily import failure as refusal

SEARCH, EXTRACT = "https://api.tavily.com/search", "https://api.tavily.com/extract"
PAGE = Target("https://example.org/k")


@pytest.fixture
def tavily():
    return lookup("tavily")(key="tvly-k")


@pytest.fixture
def router():
    with respx.MockRouter(assert_all_called=False) as router:
        yield router


@pytest.fixture
async def client(router):
    async with httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler)) as client:
        yield client


def reply(name: str) -> httpx.Response:
    return httpx.Response(200, content=payload("tavily", name))


def refused(status: int) -> httpx.Response:
    answer = refusal(status)
    return httpx.Response(answer.status, content=answer.body)


async def test_search_sends_what_the_vendor_takes_and_says_what_it_does_not(tavily, router, client):
    route = router.post(SEARCH).mock(return_value=reply("search.json"))

    found = await tavily.search(Query("type k", limit=50, language="pt-BR", date="m"), client)

    sent = route.calls.last.request
    assert sent.headers["authorization"] == "Bearer tvly-k"
    assert json.loads(sent.content) == {
        "query": "type k", "max_results": 20, "search_depth": "basic", "time_range": "month", "country": "brazil",
    }  # fmt: skip
    assert found.detail == "language filter not supported"


async def test_recorded_search_becomes_hits(tavily, router, client):
    router.post(SEARCH).mock(return_value=reply("search.json"))

    assert await tavily.search(Query("type k"), client) == Found(
        (
            Hit("https://example.org/k", "Type K basics", "Usable from -200 to 1260 C …", None),
            Hit("https://example.com/g", "Guide", "Short text", "2026-03-02"),
        )
    )


@pytest.mark.parametrize(
    ("tag", "country"),
    [("ru", "russia"), ("ru_RU", "russia"), ("en", None), ("en-GB", "united kingdom"), ("x-XX", None)],
)
async def test_country_is_an_english_name_and_only_sent_where_known(tavily, router, client, tag, country):
    route = router.post(SEARCH).mock(return_value=reply("search.json"))

    await tavily.search(Query("x", language=tag), client)

    assert json.loads(route.calls.last.request.content).get("country") == country


async def test_long_query_is_cut_and_that_is_said(tavily, router, client):
    router.post(SEARCH).mock(return_value=reply("search.json"))

    assert (await tavily.search(Query("x" * 401), client)).detail == "query cut to 400 characters"


async def test_later_page_is_not_asked_for(tavily, client):
    assert await tavily.search(Query("x", page=2), client) == Found((), "no further page")


async def test_recorded_page_is_read_whole(tavily, router, client):
    route = router.post(EXTRACT).mock(return_value=reply("read.json"))

    page = await tavily.read(PAGE, client)

    assert tavily.accepts(PAGE)
    assert json.loads(route.calls.last.request.content) == {
        "urls": ["https://example.org/k"], "format": "markdown", "extract_depth": "basic", "timeout": 20.0,
    }  # fmt: skip
    assert (page.url, page.final_url) == ("https://example.org/k", "https://example.org/k/")
    assert (page.title, page.markdown) == ("Type K basics", "# Type K basics\n\nUsable from -200 to 1260 C.")


async def test_page_that_is_a_shell_of_scripts_is_read_the_dearer_way(tavily, router, client):
    route = router.post(EXTRACT).mock(return_value=reply("read.json"))

    await tavily.read(Target(PAGE.url, Evidence(PAGE.url, "answered", 200, shell=True)), client)

    assert json.loads(route.calls.last.request.content)["extract_depth"] == "advanced"


def unread(error: object) -> httpx.Response:
    return httpx.Response(200, json={"results": [], "failed_results": [{"url": PAGE.url, "error": error}]})


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (unread("404 page not found"), NotFound),
        (unread("Client error 403 Forbidden"), Blocked),
        (unread("500 Internal Server Error"), Unsupported),
        (unread("Failed to fetch url"), Empty),
        (unread(None), Empty),
        (httpx.Response(200, json={"results": [], "failed_results": []}), Empty),
        (httpx.Response(200, json={"results": [{"url": PAGE.url, "raw_content": " "}]}), Empty),
        (httpx.Response(200, json={"results": [{"url": PAGE.url, "raw_content": None}]}), Empty),
        (httpx.Response(200, json={"results": [{"url": PAGE.url}]}), Malformed),
        (httpx.Response(200, json={"failed_results": []}), Malformed),
        (refused(432), QuotaSpent),
    ],
)
async def test_page_that_could_not_be_read_gives_its_kind(tavily, router, client, answer, error):
    router.post(EXTRACT).mock(return_value=answer)

    with pytest.raises(error):
        await tavily.read(PAGE, client)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (refused(401), Denied),
        (httpx.Response(403), Denied),
        (refused(429), RateLimited),
        (refused(432), QuotaSpent),
        (refused(433), QuotaSpent),
        (httpx.Response(400, json={"detail": {"error": "Invalid topic."}}), Malformed),
        (httpx.Response(422, json={"detail": [{"type": "int", "loc": ["body"], "msg": "x", "input": 1}]}), Malformed),
        (httpx.Response(500), Unavailable),
        (httpx.Response(200, json={"results": [{"title": "no address"}]}), Malformed),
    ],
)
async def test_each_error_gives_its_kind(tavily, router, client, answer, error):
    router.post(SEARCH).mock(return_value=answer)

    with pytest.raises(error):
        await tavily.search(Query("x"), client)
