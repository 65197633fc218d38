"""What the semantic-scholar type sends, and what it makes of papers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx
import pytest
import respx

from providers._contract import Denied, Found, Hit, Malformed, Query, RateLimited, Unavailable
from providers._registry import lookup
from tests.fakenet import payload

URL = "https://api.semanticscholar.org/graph/v1/paper/search"


@pytest.fixture
def scholar():
    return lookup("semantic-scholar")(key="s2-k")


@pytest.fixture
def router():
    with respx.MockRouter(assert_all_called=False) as router:
        yield router


@pytest.fixture
async def client(router):
    async with httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler)) as client:
        yield client


def reply(name: str) -> httpx.Response:
    return httpx.Response(200, content=payload("semantic-scholar", name))


async def test_search_sends_the_key_in_its_header_and_pages_by_offset(scholar, router, client):
    route = router.get(URL).mock(return_value=reply("ok.json"))

    found = await scholar.search(Query("graphs", limit=20, page=3, language="ru", date="w"), client)

    sent = route.calls.last.request
    since = (datetime.now(UTC).date() - timedelta(days=7)).isoformat()
    assert sent.headers["x-api-key"] == "s2-k"
    assert dict(sent.url.params) == {
        "query": "graphs", "limit": "20", "offset": "40", "publicationDateOrYear": f"{since}:",
        "fields": "title,abstract,year,publicationDate,venue,externalIds,url",
    }  # fmt: skip
    assert found.detail == "language filter not supported"


async def test_papers_are_linked_by_arxiv_then_doi_then_their_own_page(scholar, router, client):
    router.get(URL).mock(return_value=reply("ok.json"))

    assert await scholar.search(Query("graphs"), client) == Found(
        (
            Hit("https://arxiv.org/abs/1805.02262", "Literature graphs", "We describe a graph.", "2018-05-06"),
            Hit("https://doi.org/10.1234/%3Codd%3E", "By its DOI", "Sensors, 2019", None),
            Hit("https://www.semanticscholar.org/paper/aa11", "Closed paper", "", None),
        )
    )


async def test_hyphens_and_operators_leave_the_query_and_that_is_said(scholar, router, client):
    route = router.get(URL).mock(return_value=reply("empty.json"))

    found = await scholar.search(Query('"self-attention" AND (long-range)'), client)

    assert route.calls.last.request.url.params["query"] == "self attention long range"
    assert found == Found((), "operators and hyphens taken out of the query")


async def test_nothing_is_asked_for_past_the_thousandth_paper_or_without_a_word(scholar, client):
    assert await scholar.search(Query("x", limit=100, page=11), client) == Found((), "no further page")
    assert (await scholar.search(Query("--"), client)).items == ()


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.Response(403, json={"message": "Forbidden"}), Denied),
        (httpx.Response(429), RateLimited),
        (httpx.Response(400, json={"error": "x"}), Malformed),
        (httpx.Response(500, json={"message": "x"}), Unavailable),
        (httpx.Response(200, json={"message": "x"}), Malformed),
        (httpx.Response(200, json={"total": 1, "data": [{"title": "no address"}]}), Malformed),
    ],
)
async def test_each_error_gives_its_kind(scholar, router, client, answer, error):
    router.get(URL).mock(return_value=answer)

    with pytest.raises(error):
        await scholar.search(Query("x"), client)
