"""The impersonating transport over real sockets and TLS: what is sent, what comes out, and what is refused."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import replace
from typing import Any

import httpx
import pytest
import trio

from actors.client import Guard, open_client
from actors.transfer import Facts, Transfer
from actors.units import unit_of_work
from providers._contract import Blocked, Progress, Refused, Unavailable
from providers._wire import fetch_page
from tests.actors.browserlab import CALLER, HOST, browser, failure, headers_of, site, trust
from tests.actors.certificates import authority
from tests.actors.netlab import Names, answer, make_row, once, over_tls, read_head, server

BROTLI_HELLO = b"\x0b\x02\x80hello\x03"
ZSTD_HELLO = bytes.fromhex("28b52ffd2005290000") + b"hello"


# --- what is sent -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_page_comes_over_a_connection_to_the_checked_address(scheme: str) -> None:
    names = Names(default=("127.0.0.1",))
    seen = site(answer(b"page", 200, "Content-Type: text/plain"))
    async with browser(seen, scheme=scheme, guard=Guard(allow_private=True, resolve=names)) as (client, url):
        document = await fetch_page(client, f"{url}/a%20b/?q=1#part", max_body_bytes=1000)

    assert (document.status, document.body, document.content_type) == (200, b"page", "text/plain")
    assert seen.heads[0].startswith("GET /a%20b/?q=1 HTTP/1.1\r\n")
    assert seen.headers[0]["host"] == url.partition("://")[2]
    assert names.asked == [HOST]


async def test_tls_and_its_certificate_go_by_the_name() -> None:
    seen: list[Any] = []
    context = authority().server(HOST)
    context.sni_callback = lambda _, name, __: seen.append(name)
    async with browser(over_tls(context, site(answer()))) as (client, url):
        assert (await client.get(url.replace("http:", "https:"), extensions=CALLER)).status_code == 200

    assert seen == [HOST]


@pytest.mark.parametrize(
    ("context", "detail"),
    [
        (authority().server("b.example.com"), "tls: certificate is for another name"),
        (authority().server(HOST, ends_in_days=-1), "tls: certificate has expired"),
        (authority().server(HOST, self_signed=True), "tls: self-signed certificate"),
    ],
)
async def test_a_certificate_that_is_not_the_hosts_is_not_accepted(context: Any, detail: str) -> None:
    seen = site(answer())
    async with browser(over_tls(context, seen)) as (client, url):
        kind, said = await failure(client, url.replace("http:", "https:"), from_caller=True)

    assert (kind, said) == (Unavailable, detail)
    assert seen.heads == []


async def test_a_plain_server_at_a_secure_address_is_no_answer() -> None:
    async def serve(stream: trio.abc.Stream) -> None:
        await stream.receive_some(1000)
        await stream.send_all(answer())

    async with browser(serve) as (client, url):
        assert await failure(client, url.replace("http:", "https:")) == (Unavailable, "tls: handshake failed")


async def test_nothing_of_a_request_for_a_callers_page_shows_but_the_browser() -> None:
    seen = site(answer())
    async with browser(seen) as (client, url):
        await fetch_page(client, url, max_body_bytes=10, headers={"x-ours": "1", "accept-language": "tlh"})

    assert "x-ours" not in seen.headers[0]
    assert seen.headers[0]["accept-language"].startswith("en-US")
    assert "research-mcp" not in seen.heads[0]


async def test_a_vendors_headers_stay_but_for_those_that_name_another_browser() -> None:
    seen = site(answer())
    async with browser(seen, scheme="https") as (client, url):
        sent = {
            "user-agent": "ours/1",
            "sec-ch-ua": '"Ours"',
            "accept-language": "de",
            "cookie": "a=b",
            "referer": "https://r.example.com/",
            "sec-fetch-site": "same-origin",
            "x-empty": "",
        }
        await client.get(url, headers=sent)

    got = seen.headers[0]
    assert {name: got.get(name) for name in sent if name not in ("user-agent", "sec-ch-ua", "x-empty")} == {
        "accept-language": "de",
        "cookie": "a=b",
        "referer": "https://r.example.com/",
        "sec-fetch-site": "same-origin",
    }
    assert "x-empty:" in seen.heads[0]
    assert "ours" not in seen.heads[0].lower()
    assert seen.heads[0].lower().count("accept-language") == 1


async def test_a_form_is_posted_with_its_body_in_one_piece() -> None:
    bodies: list[bytes] = []

    async def serve(stream: trio.abc.Stream) -> None:
        head = await read_head(stream)
        rest = head.partition(b"\r\n\r\n")[2]
        length = int(headers_of(head.decode().partition("\r\n\r\n")[0])["content-length"])
        while len(rest) < length:
            rest += await stream.receive_some(1000)
        bodies.append(head.partition(b"\r\n")[0] + b" " + rest)
        await stream.send_all(answer(b"found"))

    async with browser(serve) as (client, url):
        reply = await client.post(f"{url}/find", data={"q": "a b\0"})
        empty = await client.post(f"{url}/nothing")
        other = await client.request("PUT", f"{url}/put", content=b"x")

    assert reply.content == empty.content == other.content == b"found"
    assert bodies == [b"POST /find HTTP/1.1 q=a+b%00", b"POST /nothing HTTP/1.1 ", b"PUT /put HTTP/1.1 x"]


async def test_the_head_of_a_page_can_be_asked_for_alone() -> None:
    seen = site(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")
    async with browser(seen) as (client, url):
        reply = await client.head(url, extensions=CALLER)

    assert (reply.status_code, reply.content, reply.headers["content-length"]) == (200, b"", "5000")
    assert seen.heads[0].startswith("HEAD / ")


async def test_one_browser_throughout_a_unit_of_work_and_others_for_others() -> None:
    seen = site(answer())
    async with browser(seen) as (client, url):
        for _ in range(30):
            with unit_of_work():
                await client.get(url)
                await client.get(url, extensions=CALLER)

    agents = [headers["user-agent"] for headers in seen.headers]
    assert agents[::2] == agents[1::2]
    assert len(set(agents)) > 1


# --- what comes out ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(b"hello", mtime=0)),
        ("deflate", zlib.compress(b"hello")),
        ("deflate", zlib.compress(b"hello")[2:-4]),
        ("br", BROTLI_HELLO),
        ("zstd", ZSTD_HELLO),
        ("identity", b"hello"),
    ],
)
async def test_each_encoding_of_a_browser_comes_decoded(encoding: str, body: bytes) -> None:
    async with browser(site(answer(body, 200, f"Content-Encoding: {encoding}")), scheme="https") as (client, url):
        reply = await client.get(url, extensions=CALLER)

    assert reply.content == b"hello"
    assert "content-encoding" not in reply.headers
    assert "content-length" not in reply.headers


async def test_headers_come_as_they_are_and_informational_answers_and_trailers_do_not() -> None:
    pieces = [
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Odd: \xe9\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"4\r\npage\r\n0\r\nX-Trailer: 1\r\n\r\n",
    ]
    async with browser(site(*pieces)) as (client, url):
        reply = await client.get(url, extensions=CALLER)

    assert reply.content == b"page"
    assert reply.headers.get_list("set-cookie") == ["a=1", "b=2"]
    assert reply.headers["x-odd"] == "é"
    assert not {"link", "x-trailer"} & set(reply.headers)
    assert reply.extensions["http_version"] == b"HTTP/1.1"
    assert len(client.cookies) == 0


async def test_a_redirect_is_told_and_not_followed_and_its_body_not_waited_for() -> None:
    async def serve(stream: trio.abc.Stream) -> None:
        await read_head(stream)
        await stream.send_all(b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 9999\r\n\r\npart")
        await trio.sleep_forever()

    async with browser(serve) as (client, url):
        reply = await client.get(url, extensions=CALLER)

    assert (reply.status_code, reply.headers["location"], reply.content) == (302, "/there", b"")


async def test_redirects_are_followed_by_hand_each_to_a_checked_address() -> None:
    async def serve(stream: trio.abc.Stream) -> None:
        head = await read_head(stream)
        port = headers_of(head.decode())["host"].partition(":")[2]
        to = f"Location: http://b.example.com:{port}/"
        await stream.send_all(answer(b"page") if b"b.example.com" in head else answer(b"", 301, to))

    names = Names(default=("127.0.0.1",))
    async with browser(serve, guard=Guard(allow_private=True, resolve=names)) as (client, url):
        document = await fetch_page(client, url, max_body_bytes=100)

    assert document.body == b"page"
    assert names.asked == [HOST, "b.example.com"]


async def test_a_refusal_tells_its_status_and_how_far_the_fetch_got() -> None:
    progress = Progress()
    async with browser(site(answer(b"no", 403, "Content-Type: text/html"))) as (client, url):
        with pytest.raises(Blocked) as caught:
            await fetch_page(client, url, max_body_bytes=100, progress=progress)

    evidence = caught.value.evidence
    assert evidence is not None
    assert (evidence.reached, evidence.status, evidence.content_type) == ("answered", 403, "text/html")
    assert progress.reached == "answered"


async def test_a_connection_that_never_answers_is_told_apart_from_none() -> None:
    progress = Progress()
    async with browser(once()) as (client, url):
        with pytest.raises(Unavailable, match="closed before an answer") as caught:
            await fetch_page(client, url, max_body_bytes=100, progress=progress)
        assert caught.value.evidence is not None
        assert caught.value.evidence.reached == "connected"
    async with browser(site()) as (client, url):
        pass
    async with browser(site()) as (client, _):
        with pytest.raises(Unavailable, match="connection refused") as caught:
            await fetch_page(client, url, max_body_bytes=100, progress=progress)

    assert caught.value.evidence is not None
    assert caught.value.evidence.reached == progress.reached == "nothing"


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["file:///etc/hostname", "gopher://a.example.com/", "ftp://a.example.com/"])
async def test_other_protocols_than_http_are_not_spoken(url: str) -> None:
    async with browser(site(answer())) as (client, _):
        with pytest.raises(httpx.UnsupportedProtocol):
            await client.get(url)


async def test_a_callers_address_is_only_read() -> None:
    async with browser(site(answer())) as (client, url):
        with pytest.raises(RuntimeError, match="only read"):
            await client.post(url, extensions=CALLER)


async def test_the_network_is_not_awaited_without_a_deadline() -> None:
    async with open_client(make_row(impersonate=True), Guard(), trust()) as client:
        with pytest.raises(RuntimeError, match="without a deadline"):
            await client.get("http://a.example.com/")


async def test_the_operators_own_pair_is_exempt_for_the_vendors_requests_only() -> None:
    seen = site(answer(b"inside"))
    async with server(seen) as port:
        names = Names(default=("127.0.0.1",))
        row = make_row(impersonate=True, exempt=frozenset({("searxng", port)}))
        async with open_client(row, Guard(resolve=names), trust()) as client:
            with trio.fail_after(5):
                assert (await client.get(f"http://searxng:{port}/")).content == b"inside"
                for url, extensions in [
                    (f"http://searxng:{port}/", CALLER),
                    (f"http://127.0.0.1:{port}/", CALLER),
                    (f"http://127.0.0.1:{port}/", {}),
                    (f"http://inside.example.com:{port}/", {}),
                ]:
                    assert await failure(client, url, **extensions) == (Refused, "address not allowed")

    assert len(seen.heads) == 1


async def test_this_service_is_not_read_through_itself() -> None:
    seen = site(answer())
    async with server(seen) as port:
        own = frozenset({("research.example.com", port)})
        guard = Guard(allow_private=True, resolve=Names(default=("127.0.0.1",)), own=own)
        async with open_client(make_row(impersonate=True), guard, trust()) as client:
            with trio.fail_after(5):
                assert await failure(client, f"http://{HOST}:{port}/", **CALLER) == (Refused, "address not allowed")

    assert seen.heads == []


async def test_nothing_is_told_of_an_answer_from_an_address_not_pinned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = Transfer.run

    def astray(transfer: Transfer, look_up: Any) -> Facts:
        return replace(real(transfer, look_up), remote="10.0.0.1")

    monkeypatch.setattr(Transfer, "run", astray)
    async with browser(site(answer(b"", 302, "Location: /inside"))) as (client, url):
        assert await failure(client, url, **CALLER) == (Refused, "address not allowed")


async def test_a_name_that_does_not_resolve_here_is_looked_up_nowhere_else() -> None:
    async with browser(site(), guard=Guard(resolve=Names(default=()))) as (client, url):
        kind, detail = await failure(client, url, **CALLER)

    assert (kind, detail) == (Unavailable, "dns: name has no address")


async def test_the_environment_has_no_say(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    seen = site(answer())
    async with browser(seen) as (client, url):
        await client.get(url, extensions=CALLER)

    assert len(seen.heads) == 1
