"""What the jina type sends to its three remotes, and what it makes of their answers."""

from __future__ import annotations

import json

import httpx
import pytest
import respx

from providers._contract import (
    Blocked,
    Denied,
    Empty,
    Evidence,
    Found,
    Hit,
    Malformed,
    NotFound,
    Query,
    QuotaSpent,
    Ranking,
    RateLimited,
    Target,
    TooLarge,
    Unsupported,
)
from providers._registry import lookup
from tests.fakenet import payload

READER, SEARCH, RERANK = "https://r.jina.ai/", "https://s.jina.ai/", "https://api.jina.ai/v1/rerank"
PAGE = Target("https://example.org/k")


@pytest.fixture
def jina():
    return lookup("jina")(key="jina_k")


@pytest.fixture
def router():
    with respx.MockRouter(assert_all_called=False) as router:
        yield router


@pytest.fixture
async def client(router):
    async with httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler)) as client:
        yield client


def reply(name: str) -> httpx.Response:
    return httpx.Response(200, content=payload("jina", name), headers={"content-type": "application/json"})


def failure(code: int, name: str, message: str = "") -> httpx.Response:
    return httpx.Response(code, json={"data": None, "code": code, "name": name, "message": message})


# --- search -----------------------------------------------------------------------------------------------------------


async def test_search_sends_the_key_in_a_header_and_asks_for_no_content(jina, router, client):
    route = router.post(SEARCH).mock(return_value=reply("search.json"))

    found = await jina.search(Query("type k", limit=50, page=2, language="pt-BR", date="m"), client)

    sent = route.calls.last.request
    assert json.loads(sent.content) == {"q": "type k", "num": 20, "page": 2, "hl": "pt-br", "gl": "br"}
    assert (sent.headers["authorization"], sent.headers["accept"]) == ("Bearer jina_k", "application/json")
    assert sent.headers["x-respond-with"] == "no-content"
    assert found.detail == "at most 20 results; date filter not supported"


async def test_recorded_search_becomes_hits(jina, router, client):
    router.post(SEARCH).mock(return_value=reply("search.json"))

    assert await jina.search(Query("type k"), client) == Found(
        (
            Hit("https://example.org/k", "Type K basics", "Usable from -200 to 1260 °C", "2026-03-02"),
            Hit("https://example.com/g", "Guide", "Short text", None),
        )
    )


@pytest.mark.parametrize(
    ("language", "sent"),
    [
        ("ru", {"hl": "ru"}),
        ("en-GB", {"hl": "en", "gl": "gb"}),
        ("he", {"hl": "iw"}),
        ("zh-Hant-HK", {"hl": "zh-tw", "gl": "hk"}),
        ("pt", {"hl": "pt"}),
        ("tlh", {}),
    ],
)
async def test_language_takes_the_form_of_the_closed_list(jina, router, client, language, sent):
    route = router.post(SEARCH).mock(return_value=reply("search.json"))

    found = await jina.search(Query("x", language=language), client)

    assert json.loads(route.calls.last.request.content) == {"q": "x"} | sent
    assert found.detail == (None if sent else "language not supported")


async def test_nothing_found_comes_as_422_and_is_an_empty_answer(jina, router, client):
    message = "No search results available for query x"
    router.post(SEARCH).mock(return_value=failure(422, "AssertionFailureError", message))

    assert await jina.search(Query("x"), client) == Found(())


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (failure(402, "InsufficientBalanceError"), QuotaSpent),
        (failure(402, "TierFeatureConstraintError"), Denied),
        (failure(401, "AuthenticationFailedError"), Denied),
        (failure(400, "ParamValidationError"), Malformed),
        (failure(422, "AssertionFailureError", "something else"), Malformed),
        (httpx.Response(429, headers={"retry-after": "12"}), RateLimited),
        (httpx.Response(200, json={"code": 200, "data": [{"title": "no address"}]}), Malformed),
        (httpx.Response(200, json={"code": 200, "data": {}}), Malformed),
    ],
)
async def test_each_error_of_the_search_gives_its_kind(jina, router, client, answer, error):
    router.post(SEARCH).mock(return_value=answer)

    with pytest.raises(error):
        await jina.search(Query("x"), client)


# --- reader -----------------------------------------------------------------------------------------------------------


async def test_keyed_read_sends_the_address_in_the_body_and_the_budget(router, client):
    route = router.post(READER).mock(return_value=reply("read.json"))

    page = await lookup("jina")(key="jina_k", token_budget=9000).read(PAGE, client)

    sent = route.calls.last.request
    assert json.loads(sent.content) == {"url": "https://example.org/k"}
    assert (sent.headers["authorization"], sent.headers["x-token-budget"]) == ("Bearer jina_k", "9000")
    assert page.markdown.startswith("# Type K")
    assert (page.title, page.published, page.language) == ("Type K basics", "2026-03-02", "en")


async def test_keyless_read_sends_neither_key_nor_budget(router, client):
    route = router.post(READER).mock(return_value=reply("read.json"))

    await lookup("jina")(token_budget=9000).read(PAGE, client)

    assert not {"authorization", "x-token-budget"} & set(route.calls.last.request.headers)


async def test_page_without_an_address_gets_the_one_asked_for(jina, router, client):
    router.post(READER).mock(return_value=httpx.Response(200, json={"code": 200, "data": {"content": "Text."}}))

    page = await jina.read(PAGE, client)

    assert (page.url, page.final_url, page.markdown) == (PAGE.url, PAGE.url, "Text.")


def warned(text: str) -> httpx.Response:
    return httpx.Response(200, json={"code": 200, "data": {"content": "Some page.", "warning": text}})


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (reply("read-403.json"), Blocked),
        (warned("Target URL returned error 404: Not Found"), NotFound),
        (warned("Target URL returned error 410: Gone"), NotFound),
        (warned("Target URL returned error 400: Bad Request"), Unsupported),
        (warned("This page maybe requiring CAPTCHA, please make sure you are authorized"), Blocked),
        (httpx.Response(200, json={"code": 200, "data": {"content": " \n"}}), Empty),
        (httpx.Response(200, json={"code": 500, "data": {"content": "x"}}), Malformed),
        (failure(409, "BudgetExceededError"), TooLarge),
        (failure(413, "TargetFileTooLargeError"), TooLarge),
        (failure(422, "AssertionFailureError"), Empty),
        (failure(451, "SecurityCompromiseError"), Unsupported),
        (failure(403, "OperationNotAllowedError"), Unsupported),
        (failure(402, "InsufficientBalanceError"), QuotaSpent),
        (failure(401, "AuthenticationRequiredError"), Denied),
    ],
)
async def test_page_is_judged_by_the_status_of_its_site(jina, router, client, answer, error):
    router.post(READER).mock(return_value=answer)

    with pytest.raises(error):
        await jina.read(PAGE, client)


async def test_other_warnings_do_not_harm_a_page(jina, router, client):
    router.post(READER).mock(return_value=warned("This is a cached snapshot of the original page"))

    assert (await jina.read(PAGE, client)).markdown == "Some page."


def test_pdf_without_text_is_taken_with_a_key_and_by_its_path_only():
    keyed, keyless = lookup("jina")(key="k"), lookup("jina")()

    def scan(url: str) -> Target:
        return Target(url, Evidence(url, no_text_layer=True))

    assert keyed.accepts(scan("https://example.org/a.PDF?x=1"))
    assert not keyed.accepts(scan("https://example.org/a"))
    assert not keyless.accepts(scan("https://example.org/a.pdf"))
    assert keyless.accepts(Target("https://example.org/a.pdf"))


# --- reranker ---------------------------------------------------------------------------------------------------------


async def test_rerank_sends_short_texts_and_no_empty_ones(jina, router, client):
    results = [{"index": 1, "relevance_score": 0.5}, {"index": 0, "relevance_score": -0.5}]
    route = router.post(RERANK).mock(return_value=httpx.Response(200, json={"results": results}))

    order = await jina.rerank(Ranking("q", ("one", " ", "t" * 5000)), client)

    assert json.loads(route.calls.last.request.content) == {
        "model": "jina-reranker-v3.5", "query": "q", "documents": ["one", "t" * 1000], "top_n": 2,
        "return_documents": False,
    }  # fmt: skip
    assert order == (2, 0, 1)


async def test_more_than_a_hundred_texts_keep_their_order_behind_the_ranked_ones(jina, router, client):
    results = [{"index": place} for place in reversed(range(100))]
    router.post(RERANK).mock(return_value=httpx.Response(200, json={"results": results}))

    order = await jina.rerank(Ranking("q", tuple("x" * 103)), client)

    assert order == (*reversed(range(100)), 100, 101, 102)


async def test_nothing_to_rank_asks_nobody(jina, client):
    assert await jina.rerank(Ranking("q", ("", "")), client) == (0, 1)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.Response(200, json={"results": [{"index": 0}]}), Malformed),
        (httpx.Response(200, json={"results": [{"index": 0}, {"index": 0}]}), Malformed),
        (httpx.Response(200, json={"results": [{"index": 0}, {"index": True}]}), Malformed),
        (httpx.Response(403, json={"detail": "Account balance not enough"}), QuotaSpent),
        (httpx.Response(402, json={"detail": "x"}), QuotaSpent),
        (httpx.Response(403, json={"detail": "x"}), Denied),
        (httpx.Response(422, json={"detail": "x"}), Malformed),
    ],
)
async def test_partial_or_failed_ranking_is_an_error(jina, router, client, answer, error):
    router.post(RERANK).mock(return_value=answer)

    with pytest.raises(error):
        await jina.rerank(Ranking("q", ("a", "b")), client)
