"""What the parallel type sends, and what it makes of excerpts."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import httpx
import pytest
import respx

from providers._contract import Denied, Found, Hit, Malformed, Query, QuotaSpent, RateLimited, Unavailable
from providers._registry import lookup
from tests.fakenet import payload

URL = "https://api.parallel.ai/v1/search"


@pytest.fixture
def parallel():
    return lookup("parallel")(key="p-k")


@pytest.fixture
def router():
    with respx.MockRouter(assert_all_called=False) as router:
        yield router


@pytest.fixture
async def client(router):
    async with httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler)) as client:
        yield client


def reply(name: str) -> httpx.Response:
    return httpx.Response(200, content=payload("parallel", name))


async def test_search_nests_what_the_closed_schema_wants_nested(parallel, router, client):
    route = router.post(URL).mock(return_value=reply("ok.json"))

    found = await parallel.search(Query("trio", limit=50, language="ru", date="m"), client)

    sent = route.calls.last.request
    since = (datetime.now(UTC).date() - timedelta(days=30)).isoformat()
    assert sent.headers["x-api-key"] == "p-k"
    assert json.loads(sent.content) == {
        "search_queries": ["trio"],
        "mode": "basic",
        "advanced_settings": {
            "max_results": 40,
            "excerpt_settings": {"max_chars_per_result": 1000},
            "source_policy": {"after_date": since},
        },
    }
    assert found.detail == "language filter not supported"


async def test_excerpts_are_joined_to_a_snippet(parallel, router, client):
    router.post(URL).mock(return_value=reply("ok.json"))

    assert await parallel.search(Query("trio"), client) == Found(
        (
            Hit(
                "https://example.org/a",
                "Trio nurseries explained",
                "A nursery owns its tasks. Cancellation flows downward.",
                "2026-05-11",
            ),
            Hit("https://example.com/b", "", "", None),
        )
    )


async def test_long_query_is_sent_whole_as_the_objective(parallel, router, client):
    route = router.post(URL).mock(return_value=reply("ok.json"))

    found = await parallel.search(Query("word " * 60 + "end"), client)

    sent = json.loads(route.calls.last.request.content)
    assert sent["search_queries"] == [("word " * 40).strip()]
    assert sent["objective"].endswith(" end")
    assert found.detail == "query cut to 199 characters, whole as its objective"


async def test_later_page_is_not_asked_for(parallel, client):
    assert await parallel.search(Query("x", page=2), client) == Found((), "no further page")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.Response(401), Denied),
        (httpx.Response(402), QuotaSpent),
        (httpx.Response(403), Denied),
        (httpx.Response(408), Unavailable),
        (httpx.Response(422), Malformed),
        (httpx.Response(429), RateLimited),
        (httpx.Response(200, json={"results": [{"url": ""}]}), Malformed),
    ],
)
async def test_each_error_gives_its_kind(parallel, router, client, answer, error):
    router.post(URL).mock(return_value=answer)

    with pytest.raises(error):
        await parallel.search(Query("x"), client)
