"""What the octen type sends, and how its errors are told apart."""

from __future__ import annotations

import json

import httpx
import pytest
import respx

from providers._contract import Denied, Found, Hit, Malformed, Query, QuotaSpent, RateLimited
from providers._registry import lookup
from tests.fakenet import payload

URL = "https://api.octen.ai/search"


@pytest.fixture
def octen():
    return lookup("octen")(key="o-k")


@pytest.fixture
def router():
    with respx.MockRouter(assert_all_called=False) as router:
        yield router


@pytest.fixture
async def client(router):
    async with httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler)) as client:
        yield client


async def test_search_sends_its_fields_and_reads_the_recorded_hits(octen, router, client):
    route = router.post(URL).mock(return_value=httpx.Response(200, content=payload("octen", "ok.json")))

    found = await octen.search(Query("trio", limit=200, language="pt-BR", date="m"), client)

    sent = route.calls.last.request
    assert sent.headers["x-api-key"] == "o-k"
    assert json.loads(sent.content) == {
        "query": "trio", "count": 100, "highlight": {"enable": True}, "time_range": "m", "language": ["pt"],
    }  # fmt: skip
    assert found == Found(
        (
            Hit("https://example.org/cancel", "Cancel scopes", "A cancel scope. ... Shielding.", "2026-06-01"),
            Hit("https://example.com/n", "Nurseries", "A nursery", None),
        )
    )


@pytest.mark.parametrize(
    ("status", "code", "message", "error"),
    [
        (403, 403, "Insufficient balance in account", QuotaSpent),
        (200, 403, "Insufficient balance in account", QuotaSpent),
        (403, 403, "x", Denied),
        (200, 401, "Invalid API Key", Denied),
        (429, 429, "Exceeding the rate limit", RateLimited),
        (200, 429, "Exceeding the rate limit", RateLimited),
        (200, 7, "x", Malformed),
    ],
)
async def test_each_error_gives_its_kind(octen, router, client, status, code, message, error):
    router.post(URL).mock(return_value=httpx.Response(status, json={"code": code, "msg": message}))

    with pytest.raises(error):
        await octen.search(Query("x"), client)
