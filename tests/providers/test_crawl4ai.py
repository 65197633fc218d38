"""What the crawl4ai type sends, and what it makes of pages, of their sites' statuses and of the server's errors."""

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
    Malformed,
    NotFound,
    RateLimited,
    Target,
    Unavailable,
    Unsupported,
)
from providers._registry import lookup
from tests.fakenet import payload

CRAWL = "http://crawl.example:11235/crawl"
PAGE = Target("https://example.org/k")


@pytest.fixture
def crawl4ai():
    return lookup("crawl4ai")(token="c4-t", url="http://crawl.example:11235/")


@pytest.fixture
def router():
    with respx.MockRouter(assert_all_called=False) as router:
        yield router


@pytest.fixture
async def client(router):
    async with httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler)) as client:
        yield client


def crawled(status: object = 200, markdown: object = None, **more: object) -> httpx.Response:
    markdown = {"raw_markdown": "Some page.", "fit_markdown": ""} if markdown is None else markdown
    result = {"url": PAGE.url, "success": True, "status_code": status, "markdown": markdown} | more
    return httpx.Response(200, json={"success": True, "results": [result]})


def failure(status: int, detail: object = "x") -> httpx.Response:
    return httpx.Response(status, json={"detail": detail})


async def test_page_is_asked_for_fresh_with_the_filter_inside_the_generator(crawl4ai, router, client):
    route = router.post(CRAWL).mock(return_value=httpx.Response(200, content=payload("crawl4ai", "read.json")))

    page = await crawl4ai.read(PAGE, client)

    sent = route.calls.last.request
    body = json.loads(sent.content)
    run = body["crawler_config"]["params"]
    assert sent.headers["authorization"] == "Bearer c4-t"
    assert body["urls"] == [PAGE.url]
    assert run["cache_mode"] == "bypass"
    assert run["markdown_generator"]["params"]["content_filter"]["type"] == "PruningContentFilter"
    assert page.markdown == "# Type K\n\nUsable from -200 to 1260 C."
    assert (page.url, page.final_url) == (PAGE.url, "https://example.org/k/")
    assert (page.title, page.byline, page.signals.status) == ("Type K basics", "A. Writer", 200)


async def test_whole_text_is_taken_where_the_filter_leaves_nothing(crawl4ai, router, client):
    router.post(CRAWL).mock(return_value=crawled(markdown={"raw_markdown": "All of it.", "fit_markdown": " \n"}))

    assert (await crawl4ai.read(PAGE, client)).markdown == "All of it."


@pytest.mark.parametrize("status", [301, 302, None])
async def test_status_of_a_redirect_that_was_followed_is_no_failure(crawl4ai, router, client, status):
    router.post(CRAWL).mock(return_value=crawled(status))

    assert (await crawl4ai.read(PAGE, client)).markdown == "Some page."


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (crawled(404), NotFound),
        (crawled(410), NotFound),
        (crawled(403), Blocked),
        (crawled(429), Blocked),
        (crawled(503), Blocked),
        (crawled(500), Unsupported),
        (crawled("200"), Malformed),
        (crawled(markdown={"raw_markdown": "", "fit_markdown": ""}), Empty),
        (crawled(markdown={"raw_markdown": None}), Empty),
        (crawled(markdown={"raw_markdown": 7}), Malformed),
        (crawled(markdown="a string"), Malformed),
        (crawled(403, success=False, error_message="Blocked by anti-bot protection: HTTP 403"), Blocked),
        (crawled(None, success=False, error_message="Blocked by anti-bot protection"), Blocked),
        (crawled(None, success=False, error_message="net::ERR_ABORTED"), Unsupported),
        (httpx.Response(200, json={"success": True, "results": []}), Malformed),
    ],
)
async def test_page_is_judged_by_the_status_of_its_site(crawl4ai, router, client, answer, error):
    router.post(CRAWL).mock(return_value=answer)

    with pytest.raises(error):
        await crawl4ai.read(PAGE, client)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (failure(400, "URL blocked (SSRF protection): URL blocked"), Unsupported),
        (failure(400, "Rejected request: js_code"), Malformed),
        (failure(401, "Authentication required"), Denied),
        (failure(403, "Not authenticated"), Denied),
        (failure(413, "Request body too large"), Malformed),
        (failure(422, [{"msg": "x"}]), Malformed),
        (failure(429, "1000 per 1 minute"), RateLimited),
        (httpx.Response(500, json={"error": "Internal server error", "correlation_id": "7"}), Unsupported),
        (failure(500, "Blocked by anti-bot protection: HTTP 403"), Blocked),
        (failure(500, "other"), Unavailable),
        (failure(503), Unavailable),
        (failure(504), Unavailable),
    ],
)
async def test_each_error_of_the_server_gives_its_kind(crawl4ai, router, client, answer, error):
    router.post(CRAWL).mock(return_value=answer)

    with pytest.raises(error):
        await crawl4ai.read(PAGE, client)


def test_pdf_is_left_to_others(crawl4ai):
    assert crawl4ai.accepts(PAGE)
    assert crawl4ai.accepts(Target(PAGE.url, Evidence(PAGE.url, "answered", 200, "text/html")))
    assert not crawl4ai.accepts(Target(PAGE.url, Evidence(PAGE.url, "answered", 200, "application/pdf")))
    assert not crawl4ai.accepts(Target(PAGE.url, Evidence(PAGE.url, "answered", 200, no_text_layer=True)))
