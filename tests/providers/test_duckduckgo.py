"""What the duckduckgo type sends, and what it makes of recorded pages."""

from __future__ import annotations

from urllib.parse import parse_qsl

import httpx
import pytest
import respx

from providers._contract import Blocked, Found, Hit, Malformed, Query, RateLimited, Unavailable
from providers._registry import lookup
from providers.duckduckgo import ALL_REGIONS, USER_AGENT, parse_serp
from tests.fakenet import payload

URL = "https://html.duckduckgo.com/html/"


@pytest.fixture
def duckduckgo():
    return lookup("duckduckgo")()


@pytest.fixture
def router():
    with respx.MockRouter(assert_all_called=False) as router:
        yield router


@pytest.fixture
async def client(router):
    async with httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler)) as client:
        yield client


def page(name: str) -> httpx.Response:
    return httpx.Response(200, content=payload("duckduckgo", name), headers={"content-type": "text/html"})


def fields(call) -> dict[str, str]:
    return dict(parse_qsl(call.request.content.decode(), keep_blank_values=True))


async def test_first_page_is_asked_with_the_form_and_a_browsers_headers(duckduckgo, router, client):
    route = router.post(URL).mock(return_value=page("ok.html"))

    await duckduckgo.search(Query("type k thermocouple range", language="de-AT", date="w"), client)

    sent = route.calls.last.request
    assert fields(route.calls.last) == {"q": "type k thermocouple range", "b": "", "kl": "at-de", "df": "w"}
    assert sent.headers["content-type"] == "application/x-www-form-urlencoded"
    assert sent.headers["user-agent"] == USER_AGENT
    assert sent.headers["referer"] == "https://html.duckduckgo.com/"
    assert sent.headers["sec-fetch-mode"] == "navigate"
    assert sent.headers["sec-fetch-site"] == "same-origin"
    assert sent.headers["accept-language"] == "de-AT,en;q=0.5"
    assert sent.headers["cookie"] == "kl=at-de; df=w"


async def test_recorded_page_becomes_hits_without_ads_and_unusable_links(duckduckgo, router, client):
    router.post(URL).mock(return_value=page("ok.html"))

    found = await duckduckgo.search(Query("type k thermocouple range"), client)

    assert found == Found(
        (
            Hit(
                "https://example.org/a?x=1&q=c%23",
                "First hit & its title",
                "Type K covers -200 to 1260 °C.",
                "2026-05-01",
            ),
            Hit("https://example.com/тип-K", "Second", "", None),
            Hit("https://plain.example/range", "Third", "A plain address.", None),
        )
    )


async def test_target_is_decoded_exactly_once():
    serp = parse_serp(
        b'<div class="result"><h2><a class="result__a" href="//duckduckgo.com/l/?x=1&amp;uddg='
        b'https%3A%2F%2Fa.example%2Fp%252Fq%3Fa%3D1%2526b%26c%3Dd%2Be%23f&amp;rut=0">t</a></h2></div>'
    )

    assert serp.hits[0].url == "https://a.example/p%2Fq?a=1%26b&c=d+e#f"


async def test_limit_trims_the_hits(duckduckgo, router, client):
    router.post(URL).mock(return_value=page("ok.html"))

    found = await duckduckgo.search(Query("type k thermocouple range", limit=1), client)

    assert len(found.items) == 1


async def test_second_page_echoes_every_hidden_input_of_the_first_pages_form(duckduckgo, router, client):
    route = router.post(URL).mock(side_effect=[page("ok.html"), page("ok.html")])

    await duckduckgo.search(Query("type k thermocouple range", page=2), client)

    first, second = (fields(call) for call in route.calls)
    assert first["b"] == ""
    assert second == {
        "q": "type k thermocouple range", "s": "10", "nextParams": "", "v": "l", "o": "json", "dc": "12",
        "api": "d.js", "vqd": "4-1234567890", "kl": "wt-wt",
    }  # fmt: skip
    agents = {call.request.headers["user-agent"] for call in route.calls}
    assert agents == {USER_AGENT}


async def test_fourth_page_moves_the_form_on_and_takes_two_requests(duckduckgo, router, client):
    route = router.post(URL).mock(side_effect=[page("ok.html"), page("ok.html")])

    await duckduckgo.search(Query("type k thermocouple range", page=4), client)

    assert [route.call_count, fields(route.calls.last)["s"], fields(route.calls.last)["dc"]] == [2, "40", "41"]


async def test_page_after_the_last_is_empty_and_asks_no_more(duckduckgo, router, client):
    route = router.post(URL).mock(return_value=page("none.html"))

    found = await duckduckgo.search(Query("qqzzxx", page=3), client)

    assert found == Found((), "no further page")
    assert route.call_count == 1


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("!w berlin", "'!w' berlin"),
        ("berlin !w", "berlin '!w'"),
        ("css !important rule", "css '!important' rule"),
        ("\\berlin", "'\\berlin'"),
        ("what! a day", "what! a day"),
        ('"say !no"', "\"say '!no'\""),
    ],
)
async def test_bangs_are_quoted_and_nothing_else_is(duckduckgo, router, client, text, sent):
    route = router.post(URL).mock(return_value=page("none.html"))

    await duckduckgo.search(Query(text), client)

    assert fields(route.calls.last)["q"] == sent


async def test_query_over_499_characters_is_cut_on_a_word_and_reported(duckduckgo, router, client):
    route = router.post(URL).mock(return_value=page("none.html"))

    found = await duckduckgo.search(Query("word " * 102), client)

    sent = fields(route.calls.last)["q"]
    assert len(sent) == 499
    assert sent.endswith("word")
    assert found.detail == "query cut to 499 characters"


async def test_query_of_one_endless_word_is_cut_at_499(duckduckgo, router, client):
    route = router.post(URL).mock(return_value=page("none.html"))

    await duckduckgo.search(Query("x" * 512), client)

    assert fields(route.calls.last)["q"] == "x" * 499


@pytest.mark.parametrize(
    ("language", "region"),
    [
        ("en", "us-en"), ("en-US", "us-en"), ("en-GB", "uk-en"), ("pt-BR", "br-pt"), ("pt", "pt-pt"), ("ja", "jp-jp"),
        ("zh-Hant-TW", "tw-tzh"), ("zh_CN", "cn-zh"), (None, ALL_REGIONS),
    ],
)  # fmt: skip
async def test_language_becomes_a_region(duckduckgo, router, client, language, region):
    route = router.post(URL).mock(return_value=page("none.html"))

    found = await duckduckgo.search(Query("x", language=language), client)

    assert fields(route.calls.last)["kl"] == region
    assert found.detail is None


async def test_unknown_language_searches_everywhere_and_says_so(duckduckgo, router, client):
    route = router.post(URL).mock(return_value=page("none.html"))

    found = await duckduckgo.search(Query("x", language="sw"), client)

    assert fields(route.calls.last)["kl"] == ALL_REGIONS
    assert found.detail == "language not supported"


@pytest.mark.parametrize("name", ["none.html", "ads.html"])
async def test_no_results_and_nothing_but_ads_are_honest_empty_answers(duckduckgo, router, client, name):
    router.post(URL).mock(return_value=page(name))

    assert await duckduckgo.search(Query("shoes"), client) == Found(())


async def test_page_that_shares_no_term_with_the_query_is_irrelevant(duckduckgo, router, client):
    router.post(URL).mock(return_value=page("irrelevant.html"))

    assert await duckduckgo.search(Query("thermocouple"), client) == Found((), "irrelevant")


@pytest.mark.parametrize("status", [200, 202, 403])
async def test_challenge_is_a_block_whatever_its_status(duckduckgo, router, client, status):
    router.post(URL).respond(status, content=payload("duckduckgo", "challenge.html"))

    with pytest.raises(Blocked):
        await duckduckgo.search(Query("x"), client)


def test_result_page_that_speaks_of_the_challenge_is_no_block():
    body = payload("duckduckgo", "ok.html").replace(b"A plain address.", b"form#challenge-form, anomaly-modal__mask")

    assert len(parse_serp(body).hits) == 3


@pytest.mark.parametrize(
    ("status", "error"), [(429, RateLimited), (418, RateLimited), (303, Malformed), (404, Malformed)]
)
async def test_other_statuses_are_told_apart(duckduckgo, router, client, status, error):
    router.post(URL).respond(status, headers={"location": "https://elsewhere.example/"})

    with pytest.raises(error):
        await duckduckgo.search(Query("x"), client)


async def test_outage_is_not_to_be_retried(duckduckgo, router, client):
    router.post(URL).mock(side_effect=httpx.ConnectError("refused"))

    with pytest.raises(Unavailable) as caught:
        await duckduckgo.search(Query("x"), client)

    assert not caught.value.retry


@pytest.mark.parametrize(
    "body",
    [
        payload("duckduckgo", "unusable.html"), b"", b"\x00\x01\x02", b'{"a": 1}', b"<p>If this error persists</p>",
        b"<html>" * 5000, b"<?xml version='1.0'?>", b"<!-- nothing -->", "\ud800".encode("utf-8", "surrogatepass"),
    ],
)  # fmt: skip
def test_page_that_is_no_result_page_is_malformed(body):
    with pytest.raises(Malformed):
        parse_serp(body)
