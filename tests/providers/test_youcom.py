"""What the youcom type sends, and what it makes of its sections."""

from __future__ import annotations

import json

import httpx
import pytest
import respx

from providers._contract import Denied, Found, Hit, Malformed, Query, QuotaSpent, RateLimited
from providers._registry import lookup
from tests.fakenet import payload

URL = "https://ydc-index.io/v1/search"


@pytest.fixture
def youcom():
    return lookup("youcom")(key="y-k")


@pytest.fixture
def router():
    with respx.MockRouter(assert_all_called=False) as router:
        yield router


@pytest.fixture
async def client(router):
    async with httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler)) as client:
        yield client


def reply(name: str) -> httpx.Response:
    return httpx.Response(200, content=payload("youcom", name))


async def test_search_counts_pages_from_nought_and_clamps(youcom, router, client):
    route = router.post(URL).mock(return_value=reply("ok.json"))

    await youcom.search(Query("trio", limit=200, page=3, language="pt-BR", date="y"), client)

    sent = route.calls.last.request
    assert sent.headers["x-api-key"] == "y-k"
    assert json.loads(sent.content) == {
        "query": "trio", "count": 100, "offset": 2, "freshness": "year", "country": "BR", "language": "PT-BR",
    }  # fmt: skip


async def test_web_comes_before_news_and_snippets_stand_in_for_a_description(youcom, router, client):
    router.post(URL).mock(return_value=reply("ok.json"))

    assert await youcom.search(Query("trio"), client) == Found(
        (
            Hit("https://example.org/a", "Async in Python", "Overview of async libraries.", "2026-06-02"),
            Hit("https://example.com/b", "Nurseries", "A nursery waits for children.", None),
            Hit("https://news.example/c", "Trio release", "New version is out.", "2026-07-01"),
        )
    )


@pytest.mark.parametrize(
    ("tag", "sent"), [("ru", "RU"), ("no", "NB"), ("zh-TW", "ZH-HANT"), ("de-AT", "DE"), ("pt", "PT-PT"), ("ja", None)]
)
async def test_language_is_one_of_the_list_or_left_out(youcom, router, client, tag, sent):
    route = router.post(URL).mock(return_value=reply("ok.json"))

    found = await youcom.search(Query("x", language=tag), client)

    assert json.loads(route.calls.last.request.content).get("language") == sent
    assert found.detail == (None if sent else "language not supported")


async def test_eleventh_page_is_not_asked_for(youcom, client):
    assert await youcom.search(Query("x", page=11), client) == Found((), "no further page")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.Response(401), Denied),
        (httpx.Response(402), QuotaSpent),
        (httpx.Response(403), Denied),
        (httpx.Response(422), Malformed),
        (httpx.Response(429), RateLimited),
        (httpx.Response(200, json={"results": {"web": [{"url": ""}]}}), Malformed),
    ],
)
async def test_each_error_gives_its_kind(youcom, router, client, answer, error):
    router.post(URL).mock(return_value=answer)

    with pytest.raises(error):
        await youcom.search(Query("x"), client)
