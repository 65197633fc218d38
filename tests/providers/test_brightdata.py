"""What the brightdata type sends, and what it reads out of headers: the site's status and the unlocker's failures."""

from __future__ import annotations

import json

import httpx
import pytest
import respx

from providers._contract import (
    Blocked,
    Denied,
    Empty,
    Malformed,
    NotFound,
    QuotaSpent,
    RateLimited,
    Target,
    Unavailable,
    Unsupported,
)
from providers._registry import lookup
from providers._workers import inline_workers
from tests.fakenet import payload

REQUEST = "https://api.brightdata.com/request"
PAGE = Target("https://example.org/k")


@pytest.fixture
def brightdata():
    return lookup("brightdata")(key="bd-k", zone="unlocker1")


@pytest.fixture
def router():
    with respx.MockRouter(assert_all_called=False) as router:
        yield router


@pytest.fixture
async def client(router):
    async with httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler)) as client:
        yield client


def unlocked(text: str | bytes = "Some page.", **headers: str) -> httpx.Response:
    named = {f"x-brd-{name.replace('_', '-')}": value for name, value in headers.items()}
    return httpx.Response(200, content=text, headers={"content-type": "text/markdown"} | named)


def failed(code: str, status: str) -> httpx.Response:
    return unlocked("", error="it failed", error_code=code, status_code=status)


async def test_page_is_asked_for_as_raw_markdown(brightdata, router, client):
    body = payload("brightdata", "read.md")
    route = router.post(REQUEST).mock(return_value=unlocked(body, status_code="200"))

    page = await brightdata.read(PAGE, client)

    sent = route.calls.last.request
    assert sent.headers["authorization"] == "Bearer bd-k"
    assert json.loads(sent.content) == {
        "zone": "unlocker1", "url": PAGE.url, "format": "raw", "data_format": "markdown",
    }  # fmt: skip
    assert page.markdown == body.decode()
    assert (page.url, page.final_url, page.signals.status) == (PAGE.url, PAGE.url, 200)


async def test_answer_without_any_header_of_the_vendors_is_a_page(brightdata, router, client):
    router.post(REQUEST).mock(return_value=unlocked())

    assert (await brightdata.read(PAGE, client)).markdown == "Some page."


async def test_html_that_comes_through_is_read_here(brightdata, router, client):
    html = (
        "<!doctype html><html><body><article><h1>Type K</h1><p>Usable from -200 to 1260 C.</p></article></body></html>"
    )
    router.post(REQUEST).mock(return_value=unlocked(html, status_code="200"))

    with inline_workers():
        page = await brightdata.read(PAGE, client)

    assert "Usable from -200 to 1260 C." in page.markdown
    assert "<p>" not in page.markdown


async def test_pdf_that_comes_through_is_read_as_one(brightdata, router, client):
    router.post(REQUEST).mock(return_value=unlocked(b"%PDF-1.4\ndamaged", status_code="200"))

    with inline_workers(), pytest.raises(Unsupported):
        await brightdata.read(PAGE, client)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (unlocked(status_code="404"), NotFound),
        (unlocked(status_code="410"), NotFound),
        (unlocked(status_code="403"), Blocked),
        (unlocked(status_code="429"), Blocked),
        (unlocked(status_code="500"), Unsupported),
        (unlocked(status_code="ok"), Malformed),
        (unlocked(" \n", status_code="200"), Empty),
        (unlocked(""), Empty),
        (httpx.Response(200, json={"error": "x"}), Malformed),
        (httpx.Response(200, html="<html><body>Welcome</body></html>"), Malformed),
    ],
)
async def test_page_is_judged_by_the_status_of_its_site(brightdata, router, client, answer, error):
    router.post(REQUEST).mock(return_value=answer)

    with pytest.raises(error):
        await brightdata.read(PAGE, client)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (failed("client_10020", "403"), QuotaSpent),
        (failed("client_10000", "407"), Denied),
        (unlocked("", err_code="client_10000", err_msg="x"), Denied),
        (failed("policy_20000", "403"), Unsupported),
        (failed("policy_20050", "403"), Unsupported),
        (failed("policy_20051", "403"), Unsupported),
        (failed("ub_bad_endpoint_robots", "403"), Unsupported),
        (failed("premium", "400"), Unsupported),
        (failed("feature_not_active", "400"), Unsupported),
        (failed("sr_rate_limit", "429"), RateLimited),
        (failed("reject_block", "502"), Blocked),
        (failed("captcha", "502"), Blocked),
        (failed("resolve_failed_x", "502"), Unsupported),
        (failed("http_status", "502"), Unsupported),
        (failed("proxy_timeout", "502"), Unsupported),
        (failed("expect_element", "502"), Unsupported),
        (failed("domcontentloaded_event_timeout", "502"), Unsupported),
        (failed("document_load_failed", "502"), Unsupported),
        (failed("net_err_cert_date_invalid", "502"), Unsupported),
        (unlocked("", error="x", status_code="402"), QuotaSpent),
        (unlocked("", error="x", status_code="407"), Denied),
        (unlocked("", error="x", status_code="429"), RateLimited),
        (unlocked("", error="x", status_code="400"), Unsupported),
        (unlocked("", error="x", status_code="502"), Unavailable),
        (unlocked("A page all the same.", error="x", status_code="200"), Unavailable),
        (httpx.Response(400, text='zone "unlocker1" not found'), Denied),
        (httpx.Response(400, text="url is not valid"), Malformed),
        (httpx.Response(400, text="Customer is not active"), QuotaSpent),
        (httpx.Response(401, text="Invalid credentials"), Denied),
        (httpx.Response(402, text="x"), QuotaSpent),
        (httpx.Response(407, text="x"), Denied),
    ],
)
async def test_each_failure_of_the_vendor_gives_its_kind(brightdata, router, client, answer, error):
    router.post(REQUEST).mock(return_value=answer)

    with pytest.raises(error) as caught:
        await brightdata.read(PAGE, client)

    assert "it failed" not in caught.value.detail
