"""What the firecrawl type sends, and what it makes of hits, of pages and of their sites' errors."""

from __future__ import annotations

import json

import httpx
import pytest
import respx

from providers._contract import (
    Blocked,
    Denied,
    Empty,
    Found,
    Hit,
    Malformed,
    Note,
    NotFound,
    Query,
    QuotaSpent,
    RateLimited,
    Target,
    TooHeavy,
    Unavailable,
    Unsupported,
)
from providers._registry import lookup
from tests.fakenet import payload

SEARCH, SCRAPE = "https://api.firecrawl.dev/v2/search", "https://api.firecrawl.dev/v2/scrape"
PAGE = Target("https://example.org/k")


@pytest.fixture
def firecrawl():
    return lookup("firecrawl")(key="fc-k")


@pytest.fixture
def router():
    with respx.MockRouter(assert_all_called=False) as router:
        yield router


@pytest.fixture
async def client(router):
    async with httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler)) as client:
        yield client


def reply(name: str) -> httpx.Response:
    return httpx.Response(200, content=payload("firecrawl", name))


def failure(status: int, error: str = "x", **more: str) -> httpx.Response:
    return httpx.Response(status, json={"success": False, "error": error} | more)


async def test_search_sends_what_the_vendor_takes_and_says_what_it_does_not(firecrawl, router, client):
    route = router.post(SEARCH).mock(return_value=reply("search.json"))

    found = await firecrawl.search(Query("type k", limit=200, language="pt-BR", date="m"), client)

    sent = route.calls.last.request
    assert sent.headers["authorization"] == "Bearer fc-k"
    assert json.loads(sent.content) == {
        "query": "type k", "limit": 100, "highlights": False, "tbs": "qdr:m", "country": "BR",
    }  # fmt: skip
    assert found.detail == "language filter not supported"


async def test_recorded_search_becomes_hits(firecrawl, router, client):
    router.post(SEARCH).mock(return_value=reply("search.json"))

    assert await firecrawl.search(Query("type k"), client) == Found(
        (
            Hit("https://example.org/k", "Type K basics", "Usable from -200 to 1260 C", None),
            Hit("https://example.com/g", "Guide", "Short text", None),
        )
    )


@pytest.mark.parametrize(("language", "country"), [("ru", "RU"), ("en", None), ("en-GB", "GB"), ("zh-Hant", None)])
async def test_country_is_sent_only_where_the_language_names_one(firecrawl, router, client, language, country):
    route = router.post(SEARCH).mock(return_value=reply("search.json"))

    await firecrawl.search(Query("x", language=language), client)

    assert json.loads(route.calls.last.request.content).get("country") == country


async def test_long_query_is_cut_at_a_word_and_that_is_said(firecrawl, router, client):
    route = router.post(SEARCH).mock(return_value=reply("search.json"))

    found = await firecrawl.search(Query("word " * 102), client)

    assert json.loads(route.calls.last.request.content)["query"] == ("word " * 100).strip()
    assert found.detail == "query cut to 499 characters"


async def test_later_page_is_not_asked_for(firecrawl, client):
    assert await firecrawl.search(Query("x", page=2), client) == Found((), "no further page")


async def test_recorded_page_is_read_whole(firecrawl, router, client):
    route = router.post(SCRAPE).mock(return_value=reply("read.json"))

    page = await firecrawl.read(PAGE, client)

    sent = json.loads(route.calls.last.request.content)
    assert (sent["url"], sent["formats"], sent["maxAge"]) == ("https://example.org/k", ["markdown"], 0)
    assert (page.url, page.final_url) == ("https://example.org/k", "https://example.org/k/")
    assert (page.title, page.language, page.content_type) == ("Type K basics", "en", "application/pdf")
    assert page.notes == (Note.TRUNCATED,)


def scraped(status: object, markdown: str | None = "Some page.") -> httpx.Response:
    found = {"markdown": markdown, "metadata": {"statusCode": status}}
    return httpx.Response(200, json={"success": True, "data": found})


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (scraped(404), NotFound),
        (scraped(410), NotFound),
        (scraped(403), Blocked),
        (scraped(429), Blocked),
        (scraped(500), Unsupported),
        (scraped("200"), Malformed),
        (scraped(200, " "), Empty),
        (scraped(200, None), Empty),
        (failure(200), Malformed),
        (failure(403, "This website is no longer supported, please reach out to us"), Unsupported),
        (failure(403), Denied),
        (failure(408, code="SCRAPE_TIMEOUT"), Unsupported),
        (failure(500, code="SCRAPE_DNS_RESOLUTION_ERROR"), Unsupported),
        (failure(500, code="SCRAPE_PDF_INSUFFICIENT_TIME_ERROR"), TooHeavy),
        (failure(500, code="UNKNOWN_ERROR"), Unavailable),
    ],
)
async def test_page_is_judged_by_the_status_of_its_site(firecrawl, router, client, answer, error):
    router.post(SCRAPE).mock(return_value=answer)

    with pytest.raises(error):
        await firecrawl.read(PAGE, client)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (failure(401, "Unauthorized: Invalid token"), Denied),
        (failure(402, "Insufficient credits to perform this request."), QuotaSpent),
        (failure(402, "Payment Required: x"), QuotaSpent),
        (failure(200, "Insufficient credits to perform this request."), QuotaSpent),
        (failure(429, "Concurrency limit reached"), RateLimited),
        (failure(400, "Unrecognized key in body"), Malformed),
        (httpx.Response(200, json={"success": True, "data": {"web": [{"title": "no address"}]}}), Malformed),
        (httpx.Response(200, json={"success": True, "data": []}), Malformed),
    ],
)
async def test_each_error_of_the_search_gives_its_kind(firecrawl, router, client, answer, error):
    router.post(SEARCH).mock(return_value=answer)

    with pytest.raises(error):
        await firecrawl.search(Query("x"), client)
