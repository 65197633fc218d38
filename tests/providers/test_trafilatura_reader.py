"""The local reader over a fake network edge: what it fetches, what it hands on, and what robots.txt says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import httpx
import pytest
import trio

from providers._contract import Empty, Evidence, Note, NotFound, Progress, RobotsQuery, Target, TooLarge
from providers._registry import lookup
from providers._workers import inline_workers
from providers.trafilatura import Trafilatura

URL = "http://site.example/notes.txt"
Answer = Callable[[httpx.Request], httpx.Response]


def client(answer: Answer) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.MockTransport(answer))


@pytest.fixture
async def scene(autojump_clock: trio.testing.MockClock) -> AsyncIterator[None]:
    with inline_workers(), trio.fail_after(30):
        yield


def text(body: str, status: int = 200, **headers: str) -> httpx.Response:
    return httpx.Response(status, text=body, headers={"content-type": "text/plain", **headers})


def test_the_type_is_registered_under_its_name() -> None:
    assert lookup("trafilatura") is Trafilatura


def test_it_accepts_web_addresses_that_nobody_has_fetched() -> None:
    reader = Trafilatura()

    assert reader.accepts(Target(URL))
    assert reader.accepts(Target(URL, Evidence(URL, "answered", 403)))
    assert not reader.accepts(Target(URL, Evidence(URL, "answered", 200, body=b"x")))
    assert not reader.accepts(Target("ftp://site.example/"))


async def test_a_page_comes_with_the_evidence_of_its_fetch(scene: None) -> None:
    progress = Progress()

    page = await Trafilatura().read(Target(URL, progress=progress), client(lambda request: text("Some words.")))

    assert page.markdown == "Some words."
    assert page.sanitised
    assert page.evidence == Evidence(URL, "answered", 200, "text/plain", body=b"Some words.")
    assert progress.reached == "answered"


async def test_an_error_of_the_extraction_carries_the_evidence_too(scene: None) -> None:
    with pytest.raises(Empty) as caught:
        await Trafilatura().read(Target(URL), client(lambda request: text(" ")))

    assert caught.value.evidence == Evidence(URL, "answered", 200, "text/plain", body=b" ")


async def test_an_error_of_the_site_carries_its_status(scene: None) -> None:
    with pytest.raises(NotFound) as caught:
        await Trafilatura().read(Target(URL), client(lambda request: text("gone", 410)))

    assert caught.value.evidence is not None
    assert caught.value.evidence.status == 410


async def test_a_redirect_from_https_to_http_is_noted(scene: None) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return text("", 302, location=URL) if request.url.scheme == "https" else text("Some words.")

    page = await Trafilatura().read(Target("https://site.example/"), client(answer))

    assert page.notes == (Note.DOWNGRADED,)
    assert page.final_url == URL


async def test_a_large_body_does_not_travel_on(scene: None) -> None:
    page = await Trafilatura().read(Target(URL), client(lambda request: text("word " * 300_000)))

    assert page.evidence is not None
    assert page.evidence.body is None


@pytest.mark.parametrize(
    ("status", "allowed"), [(200, False), (404, True), (403, True), (429, True), (500, False), (503, False)]
)
async def test_robots_txt_decides_by_its_status_first(scene: None, status: int, allowed: bool) -> None:
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return text("User-agent: *\nDisallow: /", status)

    query = RobotsQuery("http://site.example:8080/a?b")

    assert await Trafilatura().robots(query, client(answer)) is allowed
    assert asked == ["http://site.example:8080/robots.txt"]


async def test_a_site_that_cannot_be_reached_allows_nothing(scene: None) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no")

    assert not await Trafilatura().robots(RobotsQuery(URL), client(answer))


async def test_a_long_robots_txt_is_read_in_a_worker(scene: None) -> None:
    robots = "User-agent: *\n" + "Disallow: /x\n" * 3_000

    assert await Trafilatura().robots(RobotsQuery(URL), client(lambda request: text(robots)))


async def test_an_endless_robots_txt_is_too_large(scene: None) -> None:
    with pytest.raises(TooLarge):
        await Trafilatura().robots(RobotsQuery(URL), client(lambda request: _too_large()))


def _too_large() -> httpx.Response:
    raise _cause(httpx.DecodingError("large"))


def _cause(error: httpx.DecodingError) -> httpx.DecodingError:
    error.__cause__ = TooLarge("body")
    return error
