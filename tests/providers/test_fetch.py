"""Fetching a caller's page: redirects, statuses, and the evidence that every failure carries."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from providers._contract import (
    Blocked,
    Document,
    Malformed,
    NotFound,
    Progress,
    ProviderError,
    Refused,
    TooLarge,
    Unavailable,
    Unsupported,
)
from providers._fetch import PAGE_HEADERS, fetch_page

URL = "https://a.example.com/page"
Handler = Callable[[httpx.Request], httpx.Response]


class Site:
    """Answers by path, and remembers what it was asked."""

    def __init__(self, answers: dict[str, httpx.Response | Exception]) -> None:
        self._answers = answers
        self.requests: list[httpx.Request] = []

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        reply = self._answers[str(request.url)]
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def fetch(self, url: str = URL, **options: object) -> Document:
        async with httpx.AsyncClient(transport=httpx.MockTransport(self)) as client:
            return await fetch_page(client, url, max_body_bytes=1000, **options)  # type: ignore[arg-type]

    async def failure(self, url: str = URL, **options: object) -> ProviderError:
        with pytest.raises(ProviderError) as caught:
            await self.fetch(url, **options)
        assert caught.value.evidence is not None
        return caught.value


def page(status: int = 200, body: bytes = b"page", **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, headers=named, content=body)


def to(location: str, status: int = 302) -> httpx.Response:
    return httpx.Response(status, headers={b"location": location.encode()})


async def test_a_page_comes_as_bytes_with_all_that_is_known_of_it() -> None:
    site = Site({URL: page(content_type="text/html; charset=koi8-r", X_Robots_Tag="noindex")})

    document = await site.fetch(f"  {URL}#part ")

    assert document.url == f"  {URL}#part "
    assert document.final_url == URL
    assert (document.body, document.status, document.downgraded) == (b"page", 200, False)
    assert document.content_type == "text/html; charset=koi8-r"
    assert ("x-robots-tag", "noindex") in document.headers


async def test_the_request_is_ours_alone() -> None:
    site = Site({URL: to("https://b.example.com/"), "https://b.example.com/": page()})

    await site.fetch(headers={"accept": "application/json"})

    for request in site.requests:
        assert request.method == "GET"
        assert request.headers["accept"] == "application/json"
        assert request.headers["user-agent"] == PAGE_HEADERS["user-agent"]
        assert not {"cookie", "referer", "authorization"} & set(request.headers)
        assert request.extensions["from_caller"] is True
        assert request.extensions["max_body_bytes"] == 1000


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    ("location", "final"),
    [
        ("https://b.example.com/x", "https://b.example.com/x"),
        ("/other?x=1#y", "https://a.example.com/other?x=1"),
        ("other", "https://a.example.com/other"),
        ("?q=1", "https://a.example.com/page?q=1"),
        ("//b.example.com/x", "https://b.example.com/x"),
        ("HTTP://B.example.com:80/x", "http://b.example.com/x"),
    ],
)
async def test_redirects_are_followed(status: int, location: str, final: str) -> None:
    document = await Site({URL: to(location, status), final: page()}).fetch()

    assert document.final_url == final
    assert document.downgraded is final.startswith("http://")


async def test_a_downgrade_on_the_way_is_remembered() -> None:
    site = Site(
        {
            URL: to("http://a.example.com/"),
            "http://a.example.com/": to("https://c.example.com/"),
            "https://c.example.com/": page(),
        }
    )

    assert (await site.fetch()).downgraded is True


async def test_five_redirects_are_followed_and_six_are_not() -> None:
    hops = [f"https://a.example.com/{number}" for number in range(7)]
    chain: dict[str, httpx.Response | Exception] = {hop: to(hops[number + 1]) for number, hop in enumerate(hops[:-1])}
    site = Site({**chain, hops[6]: page()})

    assert (await site.fetch(hops[1])).final_url == hops[6]
    error = await site.failure(hops[0])

    assert type(error) is Unsupported
    assert error.detail == "too many redirects"
    assert error.evidence is not None
    assert (error.evidence.reached, error.evidence.status) == ("answered", 302)


@pytest.mark.parametrize("location", [URL, "/page#again", "https://A.example.com:443/page"])
async def test_a_loop_is_an_end(location: str) -> None:
    error = await Site({URL: to(location)}).failure()

    assert (type(error), error.detail) == (Unsupported, "redirect loop")


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/", "//169.254.169.254/", "file:///etc/passwd", "gopher://x.example.com/",
        "javascript:alert(1)",
        "https://user:pw@b.example.com/", "https://b.example.com:6379/", "/a\\b",
        "https://b.example.com\\@c.example.com/",
        "/" + "a" * 5000, "https:b", "http://2130706433/", "//", "//[x", "", "/caf\u0085",
    ],
)  # fmt: skip
async def test_a_redirect_to_what_is_not_allowed_is_refused(location: str) -> None:
    error = await Site({URL: to(location)}).failure()

    assert (type(error), error.detail) == (Refused, "address not allowed")


@pytest.mark.parametrize(
    ("url", "detail"),
    [("", "invalid url"), ("ftp://x.example.com/", "invalid url"), ("http://169.254.169.254/", "address not allowed")],
)
async def test_a_bad_address_is_refused_before_anything_is_sent(url: str, detail: str) -> None:
    site = Site({})

    error = await site.failure(url)

    assert (type(error), error.detail) == (Refused, detail)
    assert site.requests == []


@pytest.mark.parametrize(
    ("answer", "kind", "wall"),
    [
        (page(404), NotFound, None),
        (page(403, content_type="text/html"), Blocked, None),
        (page(403, cf_mitigated="challenge"), Blocked, "cloudflare"),
        (page(200, cf_mitigated="challenge"), Blocked, "cloudflare"),
        (page(202, x_amzn_waf_action="challenge"), Blocked, "aws-waf"),
        (page(502), Unavailable, None),
        (page(418), Unsupported, None),
        (page(304), Unsupported, None),
    ],
)
async def test_a_status_that_is_no_page_carries_its_evidence(
    answer: httpx.Response, kind: type, wall: str | None
) -> None:
    error = await Site({URL: answer}).failure()

    assert type(error) is kind
    assert error.evidence is not None
    assert (error.evidence.url, error.evidence.reached, error.evidence.status) == (URL, "answered", answer.status_code)
    assert error.evidence.wall == wall
    assert error.evidence.content_type == answer.headers.get("content-type", "")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx.ConnectError("no"), Unavailable),
        (httpx.RemoteProtocolError("no"), Malformed),
        (httpx.InvalidURL("no"), Refused),
    ],
)
async def test_a_failed_connection_carries_its_evidence(error: Exception, kind: type) -> None:
    failure = await Site({URL: to("https://b.example.com/"), "https://b.example.com/": error}).failure()

    assert type(failure) is kind
    assert failure.evidence is not None
    assert (failure.evidence.url, failure.evidence.reached) == ("https://b.example.com/", "nothing")


async def test_a_body_over_the_cap_is_too_large_and_was_answered() -> None:
    class Body(httpx.AsyncByteStream):
        async def __aiter__(self):  # type: ignore[no-untyped-def]
            yield b"start"
            raise httpx.ReadError("") from TooLarge("body over the limit")

    error = await Site({URL: httpx.Response(200, stream=Body())}).failure()

    assert type(error) is TooLarge
    assert error.evidence is not None
    assert error.evidence.reached == "answered"


async def test_the_steps_of_the_transport_tell_when_the_connection_stood() -> None:
    seen: list[object] = []
    progress = Progress()

    async def handler(request: httpx.Request) -> httpx.Response:
        trace = request.extensions["trace"]
        for step in (
            "connection.connect_tcp.started",
            "connection.start_tls.complete",
            "http11.send_request_headers.started",
        ):
            await trace(step, {})
            seen.append(progress.reached)
        raise httpx.ReadError("")

    async with httpx.AsyncClient(transport=httpx.MockTransport(handler)) as client:
        with pytest.raises(Unavailable) as caught:
            await fetch_page(client, URL, max_body_bytes=1000, progress=progress)

    assert seen == ["nothing", "nothing", "connected"]
    assert caught.value.evidence is not None
    assert caught.value.evidence.reached == "connected"


async def test_progress_ends_with_an_answer() -> None:
    progress = Progress()

    await Site({URL: page()}).fetch(progress=progress)

    assert progress.reached == "answered"
