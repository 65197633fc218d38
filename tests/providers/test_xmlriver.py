"""What the xmlriver type sends, and what it makes of errors that stand inside a 200."""

from __future__ import annotations

import traceback

import httpx
import pytest
import respx

from providers._contract import (
    Denied,
    Found,
    Hit,
    Malformed,
    ProviderError,
    Query,
    QuotaSpent,
    RateLimited,
    Unavailable,
)
from providers._registry import lookup
from providers._workers import inline_workers
from tests.fakenet import payload
from tests.fakenet.xmlriver import as_xml
from tests.fakenet.xmlriver import failure as refusal

URL = "https://xmlriver.com/search_yandex/xml"


@pytest.fixture
def xmlriver():
    return lookup("xmlriver")(user="100500", key="secret-of-the-river")


@pytest.fixture
def router():
    with respx.MockRouter(assert_all_called=False) as router:
        yield router


@pytest.fixture
async def client(router):
    async with httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler)) as client:
        yield client


def reply(name: str) -> httpx.Response:
    return httpx.Response(200, content=payload("xmlriver", name))


def failure(code: int, text: str = "x", status: int = 200) -> httpx.Response:
    answer = refusal(code, text, status)
    return httpx.Response(answer.status, content=answer.body)


async def test_search_counts_pages_from_nought_and_carries_the_account(xmlriver, router, client):
    route = router.get(URL).mock(return_value=reply("ok.xml"))

    found = await xmlriver.search(Query("a & b", page=3, language="ru-RU", date="w"), client)

    assert dict(route.calls.last.request.url.params) == {
        "user": "100500", "key": "secret-of-the-river", "query": "a & b", "page": "2", "within": "1", "lang": "ru",
    }  # fmt: skip
    assert found.detail is None


async def test_what_was_not_applied_is_said(xmlriver, router, client):
    route = router.get(URL).mock(return_value=reply("ok.xml"))

    found = await xmlriver.search(Query("w " * 250, language="pt-BR", date="y"), client)

    assert not {"within", "lang"} & set(route.calls.last.request.url.params)
    assert found.detail == "query cut to 399 characters; date filter not supported; language not supported"


async def test_recorded_search_becomes_hits_with_highlighted_words_in_place(xmlriver, router, client):
    router.get(URL).mock(return_value=reply("ok.xml"))

    assert await xmlriver.search(Query("термопары"), client) == Found(
        (
            Hit(
                "https://example.org/termopary",
                "Термопары: классы точности",
                "Класс 1 и класс 2 различаются допуском. Таблица допусков по ГОСТ.",
                "2026-07-30",
            ),
            Hit("https://example.com/gost", "ГОСТ на термопары", "Текст стандарта.", None),
        )
    )


async def test_declaration_tells_the_encoding(xmlriver, router, client):
    body = payload("xmlriver", "ok.xml").decode().replace("utf-8", "windows-1251").encode("cp1251")
    router.get(URL).mock(return_value=httpx.Response(200, content=body))

    hits = (await xmlriver.search(Query("x"), client)).items

    assert hits[1].title == "ГОСТ на термопары"


async def test_large_answer_is_parsed_by_a_worker(xmlriver, router, client):
    body = payload("xmlriver", "ok.xml") + b" " * 200_000
    router.get(URL).mock(return_value=httpx.Response(200, content=body))

    with inline_workers():
        assert len((await xmlriver.search(Query("x"), client)).items) == 2


async def test_code_15_is_an_answer(xmlriver, router, client):
    router.get(URL).mock(return_value=failure(15))

    assert await xmlriver.search(Query("x"), client) == Found(())


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (failure(31), Denied),
        (failure(42), Denied),
        (failure(45), Denied),
        (failure(200, "no money left"), QuotaSpent),
        (failure(110), RateLimited),
        (failure(111), RateLimited),
        (failure(115), RateLimited),
        (failure(115, status=429), RateLimited),
        (failure(201), RateLimited),
        (failure(500), Unavailable),
        (failure(20), Unavailable),
        (failure(101), Unavailable),
        (failure(102), Malformed),
        (failure(9999), Malformed),
        (httpx.Response(200, content=as_xml('<error code="one">x</error>').body), Malformed),
        (httpx.Response(200, content=as_xml("").body), Malformed),
        (httpx.Response(200, content=b"<html><body>Maintenance</body></html>"), Malformed),
        (httpx.Response(200, content=b"<yandexsearch/>"), Malformed),
        (httpx.Response(200, content=b"Maintenance"), Malformed),
        (
            httpx.Response(200, content=as_xml("<results><grouping><group><doc/></group></grouping></results>").body),
            Malformed,
        ),
        (
            httpx.Response(
                200,
                content=b'<!DOCTYPE y [<!ENTITY a "b">]><yandexsearch><response><results/></response></yandexsearch>',
            ),
            Malformed,
        ),
        (httpx.Response(401), Denied),
        (httpx.Response(302, headers={"location": "http://xmlriver.com/"}), Malformed),
        (httpx.Response(502), Unavailable),
    ],
)
async def test_each_error_gives_its_kind_and_names_no_key(xmlriver, router, client, answer, error):
    router.get(URL).mock(return_value=answer)

    with pytest.raises(error) as raised:
        await xmlriver.search(Query("x"), client)

    assert "secret-of-the-river" not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize(
    ("code", "text", "seconds"),
    [(115, "locked for 90 seconds", 90.0), (115, "locked", 60.0), (115, "0", 1.0), (110, "x", 5.0), (201, "x", 1200.0)],
)
async def test_rate_limits_say_for_how_long(xmlriver, router, client, code, text, seconds):
    router.get(URL).mock(return_value=failure(code, text))

    with pytest.raises(RateLimited) as raised:
        await xmlriver.search(Query("x"), client)

    assert raised.value.retry_after == seconds


async def test_broken_connection_names_no_key(xmlriver, router, client):
    router.get(URL).mock(side_effect=httpx.ConnectError("no route to ?key=..."))

    with pytest.raises(ProviderError) as raised:
        await xmlriver.search(Query("x"), client)

    assert "secret-of-the-river" not in "".join(traceback.format_exception(raised.value)) + repr(xmlriver)
