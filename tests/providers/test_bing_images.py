"""What the bing-images type sends, and which pages it takes for result sets."""

from __future__ import annotations

import httpx
import pytest
import respx

from providers._contract import Blocked, Found, Image, ImageQuery, Malformed, RateLimited
from providers._registry import lookup
from tests.fakenet import payload

URL = "https://www.bing.com/images/async"


@pytest.fixture
def router():
    with respx.MockRouter(assert_all_called=False) as router:
        yield router


@pytest.fixture
async def client(router):
    async with httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler)) as client:
        yield client


def page(name: str) -> httpx.Response:
    return httpx.Response(200, content=payload("bing-images", name))


async def test_request_has_market_age_in_minutes_and_a_browsers_headers(router, client):
    route = router.get(url__startswith=URL).mock(return_value=page("ok.html"))

    await lookup("bing-images")().search_images(ImageQuery("thermocouple & co", language="pt-BR", date="w"), client)

    sent = route.calls.last.request
    assert sent.url.query == (
        b"q=thermocouple+%26+co&async=1&first=1&count=35&adlt=strict&mkt=pt-BR&qft=+filterui%3Aage-lt10080"
    )
    assert sent.headers["accept-language"].startswith("pt-BR")
    assert sent.headers["cookie"] == "SRCHHPGUSR=ADLT=STRICT"
    assert sent.headers["referer"] == "https://www.bing.com/"


async def test_recorded_grid_becomes_pictures_each_once_and_without_the_strips(router, client):
    router.get(url__startswith=URL).mock(return_value=page("ok.html"))

    found = await lookup("bing-images")().search_images(ImageQuery("thermocouple"), client)

    assert found == Found(
        (
            Image(
                "https://site.example/full.jpg?a=1&amp;b=2",
                "https://site.example/page",
                "Thermocouple of type K",
                "https://ts2.mm.bing.net/th?id=OIP.abc&pid=15.1",
                1200,
                800,
            ),
            Image("http://other.example/probe.png", "", "Probe", None, 640, 480),
        )
    )


@pytest.mark.parametrize(
    ("language", "market"),
    [
        ("en", "en-US"),
        ("ru", "ru-RU"),
        ("zh-Hant", "zh-TW"),
        ("sr-Latn-RS", "sr-RS"),
        ("de_AT", "de-AT"),
        ("tlh", None),
    ],
)
async def test_language_becomes_a_market(router, client, language, market):
    route = router.get(url__startswith=URL).mock(return_value=page("ok.html"))

    found = await lookup("bing-images")().search_images(ImageQuery("thermocouple", language=language), client)

    assert route.calls.last.request.url.params.get("mkt") == market
    assert found.detail == (None if market else "language not supported")


async def test_pictures_that_share_no_word_with_the_query_are_no_answer_to_it(router, client):
    router.get(url__startswith=URL).mock(return_value=page("ok.html"))

    assert await lookup("bing-images")().search_images(ImageQuery("zebra"), client) == Found((), "irrelevant")
    assert await lookup("bing-images")().search_images(ImageQuery("zebra", language="tlh"), client) == Found(
        (), "language not supported; irrelevant"
    )


async def test_empty_grid_is_an_empty_answer(router, client):
    router.get(url__startswith=URL).mock(return_value=page("none.html"))

    assert await lookup("bing-images")().search_images(ImageQuery("thermocouple"), client) == Found(())


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (page("captcha.html"), Blocked),
        (page("consent.html"), Blocked),
        (page("other.html"), Malformed),
        (httpx.Response(200, text="<a class='iusc' m='{broken'>x</a>"), Malformed),
        (httpx.Response(200, text="<a class='iusc' m='{&quot;t&quot;: &quot;x&quot;}'>x</a>"), Malformed),
        (httpx.Response(403), Blocked),
        (httpx.Response(429), RateLimited),
    ],
)
async def test_page_that_is_no_result_set_is_told_from_one(router, client, answer, error):
    router.get(url__startswith=URL).mock(return_value=answer)

    with pytest.raises(error):
        await lookup("bing-images")().search_images(ImageQuery("thermocouple"), client)
