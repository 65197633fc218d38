"""What the searxng type sends, and what it makes of recorded answers."""

from __future__ import annotations

import json

import httpx
import pytest
import respx

from providers._contract import (
    Blocked,
    Denied,
    Found,
    Hit,
    Image,
    ImageQuery,
    Malformed,
    Query,
    RateLimited,
    Unavailable,
)
from providers._registry import lookup
from tests.fakenet import payload

URL = "https://searx.example/prefix/search"


@pytest.fixture
def searxng():
    return lookup("searxng")(url="https://searx.example/prefix/")


@pytest.fixture
def router():
    with respx.MockRouter(assert_all_called=False) as router:
        yield router


@pytest.fixture
async def client(router):
    async with httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler)) as client:
        yield client


def reply(name: str) -> httpx.Response:
    return httpx.Response(200, content=payload("searxng", name), headers={"content-type": "application/json"})


async def test_search_sends_every_parameter_and_what_the_limiter_wants(searxng, router, client):
    route = router.get(URL).mock(return_value=reply("ok.json"))

    await searxng.search(Query("type k", page=3, language="pt_br", date="m"), client)

    sent = route.calls.last.request
    assert dict(sent.url.params) == {
        "q": "type k", "format": "json", "categories": "general", "pageno": "3", "language": "pt-BR",
        "time_range": "month",
    }  # fmt: skip
    assert "text/html" in sent.headers["accept"]
    assert "gzip" in sent.headers["accept-encoding"]
    assert sent.headers["accept-language"] == "en"
    assert sent.headers["user-agent"].startswith("Mozilla/")
    assert sent.headers["sec-fetch-mode"] == "cors"


async def test_recorded_answer_becomes_hits_and_leaves_out_what_has_no_address(searxng, router, client):
    router.get(URL).mock(return_value=reply("ok.json"))

    found = await searxng.search(Query("type k"), client)

    assert found == Found(
        (
            Hit("https://example.org/type-k", "Type K basics", "Usable from -200 to 1260 C ...", None),
            Hit("https://example.com/guide", "Guide", "", "2026-03-02"),
        )
    )


async def test_limit_trims_the_hits(searxng, router, client):
    router.get(URL).mock(return_value=reply("ok.json"))

    assert len((await searxng.search(Query("type k", limit=1), client)).items) == 1


async def test_recorded_pictures_have_absolute_addresses_and_sizes(searxng, router, client):
    route = router.get(URL).mock(return_value=reply("images.json"))

    found = await searxng.search_images(ImageQuery("thermocouple", language="en", date="y"), client)

    assert dict(route.calls.last.request.url.params) == {
        "q": "thermocouple", "format": "json", "categories": "images", "language": "en", "time_range": "year",
    }  # fmt: skip
    assert found.items == (
        Image(
            "https://img.example.org/k.jpg",
            "https://example.org/sensors",
            "A thermocouple",
            "https://thumbs.example.net/k.jpg",
            1920,
            1080,
        ),
        Image("https://img.example.com/p.png", "https://example.com/probe", "Probe", None, None, None),
    )


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("!ddg cats", "'!ddg' cats"),
        ("cats !!", "cats '!!'"),
        ("!!g cats", "'!!g' cats"),
        (":de cats", "':de' cats"),
        ("<3 cats", "'<3' cats"),
        ("cats: a <div> of 3!", "cats: a <div> of 3!"),
    ],
)
async def test_words_that_are_commands_are_quoted(searxng, router, client, text, sent):
    route = router.get(URL).mock(return_value=reply("empty.json"))

    await searxng.search(Query(text), client)

    assert route.calls.last.request.url.params["q"] == sent


@pytest.mark.parametrize(
    ("language", "sent"),
    [
        ("en", "en"),
        ("RU", "ru"),
        ("zh-Hans", "zh-CN"),
        ("zh-Hant-HK", "zh-TW"),
        ("sr-Latn-RS", "sr-RS"),
        ("es-419", "es"),
    ],
)
async def test_language_takes_the_form_the_instance_accepts(searxng, router, client, language, sent):
    route = router.get(URL).mock(return_value=reply("empty.json"))

    found = await searxng.search(Query("x", language=language), client)

    assert route.calls.last.request.url.params["language"] == sent
    assert found.detail is None


async def test_language_that_fits_no_form_is_left_out_and_reported(searxng, router, client):
    route = router.get(URL).mock(return_value=reply("empty.json"))

    found = await searxng.search(Query("x", language="i-klingon"), client)

    assert "language" not in route.calls.last.request.url.params
    assert found.detail == "language not supported"


async def test_empty_answer_is_empty(searxng, router, client):
    router.get(URL).mock(return_value=reply("empty.json"))

    assert await searxng.search(Query("x"), client) == Found(())


async def test_empty_answer_because_no_engine_answered_is_a_block_that_names_them(searxng, router, client):
    router.get(URL).mock(return_value=reply("blocked.json"))

    with pytest.raises(Blocked) as caught:
        await searxng.search(Query("x"), client)

    assert caught.value.detail == (
        "no engine answered: brave (too many requests), duckduckgo (Suspended: CAPTCHA), startpage (timeout)"
    )


async def test_missing_json_format_is_denied_with_the_setting_to_change(searxng, router, client):
    router.get(URL).respond(403, html="<h1>Forbidden</h1>")

    with pytest.raises(Denied, match=r"search\.formats"):
        await searxng.search(Query("x"), client)


async def test_start_page_instead_of_json_hints_at_the_setting(searxng, router, client):
    router.get(URL).respond(200, html="\n<!doctype html><title>SearXNG</title>")

    with pytest.raises(Malformed, match=r"search\.formats"):
        await searxng.search(Query("x"), client)


@pytest.mark.parametrize(
    ("status", "error"), [(429, RateLimited), (302, Malformed), (308, Malformed), (400, Malformed), (500, Unavailable)]
)
async def test_other_statuses_are_told_apart(searxng, router, client, status, error):
    router.get(URL).respond(status, headers={"location": "/"})

    with pytest.raises(error):
        await searxng.search(Query("x"), client)


@pytest.mark.parametrize(
    "changed",
    [
        [],
        {},
        {"results": None},
        {"results": [1]},
        {"results": [{"url": "https://a.example/"}]},
        {"results": [{"title": "no address"}]},
        {"results": [], "unresponsive_engines": 5},
    ],
)
async def test_answer_of_another_shape_is_malformed(searxng, router, client, changed):
    router.get(URL).respond(200, content=json.dumps(changed))

    with pytest.raises(Malformed):
        await searxng.search(Query("x"), client)


def test_address_with_a_password_is_not_shown():
    assert "secret" not in repr(lookup("searxng")(url="https://me:secret@searx.example"))
