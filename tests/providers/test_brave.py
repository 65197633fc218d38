"""What the brave type sends, and what it makes of hits, pictures and the several meanings of 422 and 429."""

from __future__ import annotations

import httpx
import pytest
import respx

from providers._contract import (
    Denied,
    Found,
    Hit,
    Image,
    ImageQuery,
    Malformed,
    Query,
    QuotaSpent,
    RateLimited,
    Unavailable,
)
from providers._registry import lookup
from tests.fakenet import payload

URL, IMAGES = ("https://api.search.brave.com/res/v1/web/search", "https://api.search.brave.com/res/v1/images/search")


@pytest.fixture
def brave():
    return lookup("brave")(key="b-k")


@pytest.fixture
def router():
    with respx.MockRouter(assert_all_called=False) as router:
        yield router


@pytest.fixture
async def client(router):
    async with httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler)) as client:
        yield client


def reply(name: str) -> httpx.Response:
    return httpx.Response(200, content=payload("brave", name))


def failure(status: int, code: str, headers: dict[str, str] | None = None, **meta: int) -> httpx.Response:
    return httpx.Response(status, json={"error": {"code": code, "meta": meta}}, headers=headers)


async def test_search_counts_pages_from_nought_and_keeps_the_key_in_a_header(brave, router, client):
    route = router.get(URL).mock(return_value=reply("ok.json"))

    await brave.search(Query("type k", limit=200, page=3, language="pt-BR", date="y"), client)

    sent = route.calls.last.request
    assert sent.headers["x-subscription-token"] == "b-k"
    assert dict(sent.url.params) == {
        "q": "type k", "count": "20", "offset": "2", "text_decorations": "false", "result_filter": "web",
        "freshness": "py", "country": "BR", "search_lang": "pt-br",
    }  # fmt: skip


async def test_recorded_search_becomes_hits(brave, router, client):
    router.get(URL).mock(return_value=reply("ok.json"))

    assert await brave.search(Query("type k"), client) == Found(
        (
            Hit("https://example.org/k", "Type K basics", "Usable from −200 to 1260 C", "2026-03-02"),
            Hit("https://example.com/g", "Guide", "", "2026-03-05"),
        )
    )


@pytest.mark.parametrize(
    ("tag", "language", "country"),
    [("ru", "ru", None), ("ja", "jp", None), ("de-AT", "de", "AT"), ("zh-TW", "zh-hant", "TW"), ("en-IE", "en", None)],
)
async def test_language_and_country_are_of_the_lists(brave, router, client, tag, language, country):
    route = router.get(URL).mock(return_value=reply("ok.json"))

    await brave.search(Query("x", language=tag), client)

    sent = route.calls.last.request.url.params
    assert (sent.get("search_lang"), sent.get("country")) == (language, country)


async def test_what_was_not_applied_is_said(brave, router, client):
    route = router.get(URL).mock(return_value=reply("ok.json"))

    found = await brave.search(Query("w " * 51, language="sw"), client)

    assert route.calls.last.request.url.params["q"] == ("w " * 50).strip()
    assert found.detail == "query cut to 99 characters; language not supported"


async def test_eleventh_page_is_not_asked_for(brave, client):
    assert await brave.search(Query("x", page=11), client) == Found((), "no further page")


async def test_pictures_come_with_page_thumbnail_and_size(brave, router, client):
    route = router.get(IMAGES).mock(return_value=reply("images.json"))

    found = await brave.search_images(ImageQuery("type k", date="w"), client)

    assert dict(route.calls.last.request.url.params) == {"q": "type k", "count": "5"}
    assert found == Found(
        (
            Image(
                "https://example.org/plug.jpg", "https://example.org/plug", "A type K plug",
                "https://imgs.example/small.jpg", 1600, 1200,
            ),
            Image("https://example.com/x.png", "https://example.com/x", "No sizes"),
        ),
        "date filter not supported",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (failure(422, "SUBSCRIPTION_TOKEN_INVALID"), Denied),
        (failure(422, "VALIDATION"), Malformed),
        (failure(429, "RATE_LIMITED", quota_limit=2000, quota_current=2000), QuotaSpent),
        (
            failure(429, "RATE_LIMITED", {"x-ratelimit-limit": "1, 2000", "x-ratelimit-remaining": "0, 0"}),
            QuotaSpent,
        ),
        (failure(429, "RATE_LIMITED", quota_limit=2000, quota_current=20), RateLimited),
        (
            failure(429, "RATE_LIMITED", {"x-ratelimit-limit": "50, 0", "x-ratelimit-remaining": "0, 0"}),
            RateLimited,
        ),
        (httpx.Response(402), QuotaSpent),
        (httpx.Response(403), Denied),
        (failure(404, "NOT_FOUND"), Malformed),
        (httpx.Response(500), Unavailable),
        (httpx.Response(200, json={"query": {}, "web": {"results": [{"url": ""}]}}), Malformed),
        (httpx.Response(200, json={"error": {"code": "X"}}), Malformed),
    ],
)
async def test_each_error_gives_its_kind(brave, router, client, answer, error):
    router.get(URL).mock(return_value=answer)

    with pytest.raises(error):
        await brave.search(Query("x"), client)


@pytest.mark.parametrize(("headers", "seconds"), [({}, 2.0), ({"retry-after": "7"}, 7.0)])
async def test_limit_per_second_ends_soon(brave, router, client, headers, seconds):
    router.get(URL).mock(return_value=failure(429, "RATE_LIMITED", headers, quota_limit=2000, quota_current=20))

    with pytest.raises(RateLimited) as raised:
        await brave.search(Query("x"), client)

    assert raised.value.retry_after == seconds
