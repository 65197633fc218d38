"""What the serper type sends, and what it makes of hits, pictures and the meanings of 400."""

from __future__ import annotations

import json

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
    Unsupported,
)
from providers._registry import lookup
from tests.fakenet import payload

SEARCH, IMAGES = "https://google.serper.dev/search", "https://google.serper.dev/images"


@pytest.fixture
def serper():
    return lookup("serper")(key="s-k")


@pytest.fixture
def router():
    with respx.MockRouter(assert_all_called=False) as router:
        yield router


@pytest.fixture
async def client(router):
    async with httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler)) as client:
        yield client


def reply(name: str) -> httpx.Response:
    return httpx.Response(200, content=payload("serper", name))


def failure(status: int, message: str) -> httpx.Response:
    return httpx.Response(status, json={"message": message, "statusCode": status})


NO_OPERATORS = failure(400, "Query pattern not allowed for free accounts")


async def test_search_asks_for_one_page_of_ten(serper, router, client):
    route = router.post(SEARCH).mock(return_value=reply("ok.json"))

    await serper.search(Query("type k", limit=50, page=2, language="en-GB", date="w"), client)

    sent = route.calls.last.request
    assert sent.headers["x-api-key"] == "s-k"
    assert json.loads(sent.content) == {
        "q": "type k", "autocorrect": False, "page": 2, "tbs": "qdr:w", "hl": "en", "gl": "gb",
    }  # fmt: skip


async def test_recorded_search_becomes_hits(serper, router, client):
    router.post(SEARCH).mock(return_value=reply("ok.json"))

    assert await serper.search(Query("type k"), client) == Found(
        (
            Hit("https://example.org/k", "Type K basics", "Usable from -200 to 1260 C …", "2026-03-02"),
            Hit("https://example.com/g", "Guide", "", None),
        )
    )


async def test_pictures_come_with_page_thumbnail_and_size(serper, router, client):
    route = router.post(IMAGES).mock(return_value=reply("images.json"))

    found = await serper.search_images(ImageQuery("type k", date="y"), client)

    assert json.loads(route.calls.last.request.content) == {"q": "type k", "autocorrect": False, "tbs": "qdr:y"}
    assert found.items == (
        Image(
            "https://example.org/plug.jpg", "https://example.org/plug", "A type K plug",
            "https://thumbs.example/1.jpg", 1600, 1200,
        ),
        Image("https://example.com/x.png", "https://example.com/x", "No sizes"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("tag", "hl", "gl"),
    [
        ("ru", "ru", None),
        ("pt-BR", "pt-br", "br"),
        ("pt", "pt", None),
        ("zh-TW", "zh-tw", "tw"),
        ("he", "iw", None),
        ("nb", "no", None),
        ("es-419", "es-419", None),
    ],
)
async def test_language_is_spelt_as_google_spells_it(serper, router, client, tag, hl, gl):
    route = router.post(SEARCH).mock(return_value=reply("ok.json"))

    await serper.search(Query("x", language=tag), client)

    sent = json.loads(route.calls.last.request.content)
    assert (sent["hl"], sent.get("gl")) == (hl, gl)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ('"type k" range', "type k range"),
        ("type k site:example.org", "type k"),
        ("type k -site:example.org -cheap", "type k"),
        ("(type k OR type j) filetype:pdf", "type k type j"),
        ('k-type 9-5 "a-b"', "k-type 9-5 a-b"),
    ],
)
async def test_plan_without_operators_gets_the_query_without_them(serper, router, client, text, plain):
    route = router.post(SEARCH).mock(side_effect=[NO_OPERATORS, reply("ok.json")])

    found = await serper.search(Query(text), client)

    assert [json.loads(call.request.content)["q"] for call in route.calls] == [text, plain]
    assert found.detail == "search operators taken out"
    assert len(found.items) == 2


@pytest.mark.parametrize(("text", "calls"), [("plain words", 1), ('"', 1), ('"type k"', 2)])
async def test_query_that_stays_refused_is_unsupported(serper, router, client, text, calls):
    route = router.post(SEARCH).mock(return_value=NO_OPERATORS)

    with pytest.raises(Unsupported):
        await serper.search(Query(text), client)

    assert route.call_count == calls


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (failure(403, "Unauthorized."), Denied),
        (failure(401, "Unauthorized."), Denied),
        (failure(400, "Not enough credits"), QuotaSpent),
        (failure(400, "Missing query parameter"), Malformed),
        (failure(429, "Too many requests"), RateLimited),
        (failure(500, "Internal"), Unavailable),
        (httpx.Response(200, json={"organic": [{"link": ""}]}), Malformed),
        (httpx.Response(200, json={"organic": {}}), Malformed),
        (httpx.Response(200, json={"message": "x"}), Malformed),
    ],
)
async def test_each_error_gives_its_kind(serper, router, client, answer, error):
    router.post(SEARCH).mock(return_value=answer)

    with pytest.raises(error):
        await serper.search(Query("x"), client)
