"""What the exa type sends, and what it makes of highlights and of errors by their tag."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import httpx
import pytest
import respx

from providers._contract import Denied, Found, Hit, Malformed, Query, QuotaSpent, RateLimited, Unavailable
from providers._registry import lookup
from tests.fakenet import payload

URL = "https://api.exa.ai/search"


@pytest.fixture
def exa():
    return lookup("exa")(key="e-k")


@pytest.fixture
def router():
    with respx.MockRouter(assert_all_called=False) as router:
        yield router


@pytest.fixture
async def client(router):
    async with httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler)) as client:
        yield client


def reply(name: str) -> httpx.Response:
    return httpx.Response(200, content=payload("exa", name))


def failure(status: int, tag: str) -> httpx.Response:
    return httpx.Response(status, json={"requestId": "r", "error": "x", "tag": tag})


async def test_search_asks_for_highlights_where_the_vendor_wants_them_asked_for(exa, router, client):
    route = router.post(URL).mock(return_value=reply("ok.json"))

    found = await exa.search(Query("type k", limit=200, language="pt-BR"), client)

    sent = route.calls.last.request
    assert sent.headers["x-api-key"] == "e-k"
    assert json.loads(sent.content) == {
        "query": "type k", "type": "auto", "numResults": 100, "contents": {"highlights": {"maxCharacters": 500}},
        "userLocation": "BR",
    }  # fmt: skip
    assert found.detail == "language filter not supported"


@pytest.mark.parametrize(("date", "days"), [("d", 1), ("w", 7), ("m", 31), ("y", 365)])
async def test_date_is_a_first_day_of_publication(exa, router, client, date, days):
    route = router.post(URL).mock(return_value=reply("ok.json"))

    await exa.search(Query("x", date=date), client)

    sent = datetime.fromisoformat(json.loads(route.calls.last.request.content)["startPublishedDate"])
    assert abs(datetime.now(UTC) - timedelta(days=days) - sent) < timedelta(minutes=1)


async def test_recorded_search_becomes_hits(exa, router, client):
    router.post(URL).mock(return_value=reply("ok.json"))

    assert await exa.search(Query("type k"), client) == Found(
        (
            Hit(
                "https://example.org/k", "Type K basics", "Usable from -200 to 1260 C Tolerance class 1.", "2026-03-02"
            ),
            Hit("https://example.com/g", "https://example.com/g", "A guide.", None),
        )
    )


async def test_later_page_is_not_asked_for(exa, client):
    assert await exa.search(Query("x", page=2), client) == Found((), "no further page")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (failure(401, "INVALID_API_KEY"), Denied),
        (failure(402, "NO_MORE_CREDITS"), QuotaSpent),
        (failure(402, "API_KEY_BUDGET_EXCEEDED"), QuotaSpent),
        (failure(402, "TEAM_BUDGET_EXCEEDED"), QuotaSpent),
        (failure(400, "NUM_RESULTS_EXCEEDED"), Malformed),
        (failure(400, "INVALID_REQUEST_BODY"), Malformed),
        (httpx.Response(403), Denied),
        (httpx.Response(429), RateLimited),
        (httpx.Response(503), Unavailable),
        (httpx.Response(200, json={"results": [{"url": "no address"}]}), Malformed),
    ],
)
async def test_each_error_gives_its_kind(exa, router, client, answer, error):
    router.post(URL).mock(return_value=answer)

    with pytest.raises(error):
        await exa.search(Query("x"), client)
