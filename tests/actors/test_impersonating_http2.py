"""The impersonating transport where the site speaks HTTP/2, as most do to a browser."""

from __future__ import annotations

import gzip
import ssl
from dataclasses import dataclass, field

import pytest
import trio
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, RequestReceived, StreamReset

from providers._contract import Blocked, ProviderError, TooLarge, Unavailable
from providers._wire import fetch_page
from tests.actors.browserlab import HOST, browser
from tests.actors.certificates import authority
from tests.actors.netlab import over_tls

PAGE = b"words " * 5000


def speaking_http2() -> ssl.SSLContext:
    context = authority().server(HOST)
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


@dataclass
class Http2Site:
    """Answers each request with a status, headers and a body, or resets it in the middle."""

    body: bytes = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    resets: bool = False
    seen: list[list[tuple[str, str]]] = field(default_factory=list)

    async def __call__(self, stream: trio.abc.Stream) -> None:
        connection = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        connection.initiate_connection()
        await stream.send_all(connection.data_to_send())
        while data := bytes(await stream.receive_some(65536)):
            for event in connection.receive_data(data):
                if isinstance(event, ConnectionTerminated | StreamReset):
                    return
                if isinstance(event, RequestReceived):
                    assert event.headers is not None
                    assert event.stream_id is not None
                    self.seen.append([(str(name), str(value)) for name, value in event.headers])
                    self._answer(connection, event.stream_id)
            await stream.send_all(connection.data_to_send())

    def _answer(self, connection: H2Connection, stream_id: int) -> None:
        connection.send_headers(stream_id, [(":status", str(self.status)), *self.headers])
        room = connection.remote_settings.max_frame_size
        for start in range(0, len(self.body), room):
            connection.send_data(stream_id, self.body[start : start + room])
        if self.resets:
            connection.reset_stream(stream_id, 2)
        else:
            connection.end_stream(stream_id)


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
async def test_a_page_comes_whole_and_decoded(encoding: str) -> None:
    body = gzip.compress(PAGE) if encoding == "gzip" else PAGE
    site = Http2Site(body, headers=(("content-type", "text/html"), ("content-encoding", encoding)))
    async with browser(over_tls(speaking_http2(), site)) as (client, url):
        document = await fetch_page(client, url.replace("http:", "https:"), max_body_bytes=100_000)

    assert (document.status, document.body, document.content_type) == (200, PAGE, "text/html")
    names = [name for name, _ in site.seen[0]]
    assert {":method", ":path", ":scheme", ":authority"} == set(names[:4])
    assert ("sec-fetch-mode", "navigate") in site.seen[0]
    assert "host" not in names


async def test_a_refusal_is_told_with_its_evidence() -> None:
    site = Http2Site(b"no", 403, (("cf-mitigated", "challenge"),))
    async with browser(over_tls(speaking_http2(), site)) as (client, url):
        with pytest.raises(Blocked) as caught:
            await fetch_page(client, url.replace("http:", "https:"), max_body_bytes=100_000)

    assert caught.value.evidence is not None
    assert (caught.value.evidence.status, caught.value.evidence.reached) == (403, "answered")


@pytest.mark.parametrize(
    ("site", "kind"),
    [
        (Http2Site(PAGE), TooLarge),
        (Http2Site(b"part", resets=True), Unavailable),
        (Http2Site(gzip.compress(b"hello")[:-9], headers=(("content-encoding", "gzip"),)), Unavailable),
    ],
    ids=["too large", "reset", "cut"],
)
async def test_a_body_that_is_not_whole_tells_why(site: Http2Site, kind: type[ProviderError]) -> None:
    async with browser(over_tls(speaking_http2(), site)) as (client, url):
        with pytest.raises(kind) as caught:
            await fetch_page(client, url.replace("http:", "https:"), max_body_bytes=1000)

    assert caught.value.evidence is not None
    assert caught.value.evidence.status == 200
