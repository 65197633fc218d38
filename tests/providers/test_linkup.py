"""What the linkup type sends, and what it makes of errors whose status says less than their code."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta

import httpx
import pytest
import respx

from providers._contract import Denied, Found, Hit, Malformed, Query, QuotaSpent, RateLimited, Unavailable
from providers._registry import lookup
from tests.fakenet import payload

URL = "https://api.linkup.so/v1/search"


@pytest.fixture
def linkup():
    return lookup("linkup")(key="l-k")


@pytest.fixture
def router():
    with respx.MockRouter(assert_all_called=False) as router:
        yield router


@pytest.fixture
async def client(router):
    async with httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler)) as client:
        yield client


def reply(name: str) -> httpx.Response:
    return httpx.Response(200, content=payload("linkup", name))


def failure(status: int, code: str) -> httpx.Response:
    return httpx.Response(status, json={"statusCode": status, "error": {"code": code, "message": "x"}})


async def test_search_is_fast_and_says_what_it_cannot_filter(linkup, router, client):
    route = router.post(URL).mock(return_value=reply("ok.json"))

    found = await linkup.search(Query("trio", limit=200, language="ru"), client)

    sent = route.calls.last.request
    assert sent.headers["authorization"] == "Bearer l-k"
    assert json.loads(sent.content) == {"q": "trio", "outputType": "searchResults", "maxResults": 50, "depth": "fast"}
    assert found.detail == "language filter not supported"


@pytest.mark.parametrize(("freshness", "days"), [("d", 1), ("w", 7), ("m", 31), ("y", 365)])
async def test_date_is_a_first_day(linkup, router, client, freshness, days):
    route = router.post(URL).mock(return_value=reply("ok.json"))

    await linkup.search(Query("x", date=freshness), client)

    sent = date.fromisoformat(json.loads(route.calls.last.request.content)["fromDate"])
    assert abs((datetime.now(UTC) - timedelta(days=days)).date() - sent) <= timedelta(days=1)


async def test_recorded_search_becomes_hits_without_its_pictures(linkup, router, client):
    router.post(URL).mock(return_value=reply("ok.json"))

    assert await linkup.search(Query("trio"), client) == Found(
        (
            Hit("https://example.org/sc", "Structured concurrency", "Tasks are scoped to a block…"),
            Hit("https://example.com/trio", "Trio tutorial", "Start with a nursery…"),
        )
    )


async def test_long_extract_is_cut_on_the_end_of_a_sentence(linkup, router, client):
    long = "One sentence of this extract. " * 40
    row = {"type": "text", "name": "x", "url": "https://example.org/", "content": long}
    router.post(URL).mock(return_value=httpx.Response(200, json={"results": [row]}))

    (hit,) = (await linkup.search(Query("x"), client)).items

    assert hit.snippet.endswith("extract.")
    assert 400 < len(hit.snippet) <= 500


async def test_no_result_is_an_answer_though_its_status_is_400(linkup, router, client):
    router.post(URL).mock(return_value=failure(400, "SEARCH_QUERY_NO_RESULT"))

    assert await linkup.search(Query("x"), client) == Found(())


async def test_later_page_is_not_asked_for(linkup, client):
    assert await linkup.search(Query("x", page=2), client) == Found((), "no further page")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (failure(400, "VALIDATION_ERROR"), Malformed),
        (failure(401, "UNAUTHORIZED"), Denied),
        (failure(402, "PAYMENT_REQUIRED"), QuotaSpent),
        (failure(403, "FORBIDDEN"), Denied),
        (failure(403, "IP_NOT_WHITELISTED"), Denied),
        (failure(429, "INSUFFICIENT_FUNDS_CREDITS"), QuotaSpent),
        (failure(429, "EXCEED_BUDGET_LIMIT"), QuotaSpent),
        (failure(429, "TOO_MANY_REQUESTS"), RateLimited),
        (failure(500, "INTERNAL_SERVER_ERROR"), Unavailable),
        (httpx.Response(200, json={"results": [{"type": "text", "name": "no address"}]}), Malformed),
        (httpx.Response(200, json={"sources": []}), Malformed),
    ],
)
async def test_each_error_gives_its_kind(linkup, router, client, answer, error):
    router.post(URL).mock(return_value=answer)

    with pytest.raises(error):
        await linkup.search(Query("x"), client)
