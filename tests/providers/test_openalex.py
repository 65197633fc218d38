"""What the openalex type sends, and what it makes of works."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx
import pytest
import respx

from providers._contract import Denied, Found, Hit, Malformed, Query, QuotaSpent, RateLimited
from providers._registry import lookup
from tests.fakenet import payload

URL = "https://api.openalex.org/works"


@pytest.fixture
def openalex():
    return lookup("openalex")(key="oa-k")


@pytest.fixture
def router():
    with respx.MockRouter(assert_all_called=False) as router:
        yield router


@pytest.fixture
async def client(router):
    async with httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler)) as client:
        yield client


def reply(name: str) -> httpx.Response:
    return httpx.Response(200, content=payload("openalex", name))


async def test_search_sends_page_language_and_dates(openalex, router, client):
    route = router.get(URL).mock(return_value=reply("ok.json"))

    await openalex.search(Query("drift", limit=200, page=2, language="pt-BR", date="d"), client)

    today = datetime.now(UTC).date()
    sent = dict(route.calls.last.request.url.params)
    assert (sent["search"], sent["per_page"], sent["page"], sent["api_key"]) == ("drift", "100", "2", "oa-k")
    assert sent["filter"] == (
        f"language:pt,from_publication_date:{today - timedelta(days=1)},to_publication_date:{today}"
    )


async def test_works_are_linked_by_arxiv_then_doi_then_their_own_page(openalex, router, client):
    router.get(URL).mock(return_value=reply("ok.json"))

    assert await openalex.search(Query("drift"), client) == Found(
        (
            Hit(
                "https://doi.org/10.1234/abc.1", "Thermocouple drift", "Drift of sensors because of heat", "2025-03-02"
            ),
            Hit("http://arxiv.org/abs/2401.01234", "At arXiv", "", None),
            Hit("https://openalex.org/W4400000002", "", "", "2024-01-01"),
        )
    )


async def test_quotes_and_operators_leave_the_query_and_that_is_said(openalex, router, client):
    route = router.get(URL).mock(return_value=reply("empty.json"))

    found = await openalex.search(Query('"type k" AND drift*'), client)

    assert route.calls.last.request.url.params["search"] == "type k drift"
    assert found == Found((), "operators taken out of the query")


async def test_longest_query_stays_within_the_length_of_an_address(openalex, router, client):
    route = router.get(URL).mock(return_value=reply("empty.json"))

    found = await openalex.search(Query("я" * 512), client)

    assert len(str(route.calls.last.request.url)) < 4000
    assert found.detail == "query shortened"


async def test_nothing_is_asked_for_past_the_end_or_without_a_word(openalex, client):
    assert await openalex.search(Query("x", limit=100, page=101), client) == Found((), "no further page")
    assert (await openalex.search(Query("??"), client)).items == ()


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.Response(403, json={"error": "x"}), Denied),
        (httpx.Response(401, json={"error": "x"}), Denied),
        (httpx.Response(429, headers={"x-ratelimit-remaining": "0"}, text="<h1>x</h1>"), QuotaSpent),
        (httpx.Response(429, headers={"x-ratelimit-remaining": "7"}), RateLimited),
        (httpx.Response(429), RateLimited),
        (httpx.Response(400, json={"error": "x"}), Malformed),
        (httpx.Response(200, json={"results": [{"id": None}]}), Malformed),
    ],
)
async def test_each_error_gives_its_kind(openalex, router, client, answer, error):
    router.get(URL).mock(return_value=answer)

    with pytest.raises(error):
        await openalex.search(Query("x"), client)
