"""How transfers of the impersonating transport end: bodies that are not whole, deadlines, and callers who leave."""

from __future__ import annotations

import gzip
import ssl
from pathlib import Path
from typing import Any

import pytest
import trio
from curl_cffi.curl import CURL_WRITEFUNC_ERROR

from actors.client import Guard
from actors.impersonating import authorities_of
from actors.profiles import PROFILES, Profile
from actors.transfer import Answer, Authorities, Order, Transfer, Way
from providers._contract import Malformed, ProviderError, TooLarge, Unavailable
from providers._wire import ask, fetch_page
from tests.actors.browserlab import CALLER, HOST, browser, failure, site, trust
from tests.actors.netlab import Names, answer, once, plain_context, read_head

BOMB, CUT = gzip.compress(bytes(50_000)), gzip.compress(b"hello")[:-9]
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"


@pytest.mark.parametrize(
    ("pieces", "kind", "detail"),
    [
        ([answer(b"x" * 2000)], TooLarge, "body over the limit"),
        ([CHUNKED + b"\r\n3e8\r\n" + b"x" * 1000 + b"\r\n1\r\nx\r\n0\r\n\r\n"], TooLarge, "body over the limit"),
        (
            [answer(gzip.compress(bytes(50_000)), 200, "Content-Encoding: gzip")],
            TooLarge,
            "decoded body over the limit",
        ),
        ([answer(b"hello", 200, "Content-Encoding: gzip, gzip")], Malformed, "content encoding not supported"),
        ([answer(b"hello", 200, "Content-Encoding: rot13")], Malformed, "content encoding not supported"),
        ([answer(b"\xff" * 50, 200, "Content-Encoding: br")], Malformed, "content encoding broken"),
        (
            [answer(gzip.compress(b"hello")[:-9], 200, "Content-Encoding: gzip")],
            Unavailable,
            "compressed body broke off",
        ),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\npart"], Unavailable, "body broke off"),
    ],
)
async def test_a_body_that_is_not_whole_tells_why_and_the_head_before_it_counts(
    pieces: list[bytes], kind: type[ProviderError], detail: str
) -> None:
    async with browser(once(*pieces)) as (client, url):
        with pytest.raises(kind) as caught:
            await fetch_page(client, url, max_body_bytes=1000)

    assert caught.value.detail == detail
    assert caught.value.evidence is not None
    assert (caught.value.evidence.reached, caught.value.evidence.status) == ("answered", 200)


@pytest.mark.parametrize(
    ("pieces", "kind", "detail"),
    [
        ([b"nothing of HTTP"], Malformed, "not an HTTP answer"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\npage!"], Malformed, "not an HTTP answer"),
        ([b"HTTP/1.1 200 OK\r\n", b"X-A: %b\r\n" % (b"a" * 90_000) * 3], Malformed, "head of the answer too long"),
        ([b"HTTP/1.1 103 Hints\r\nLink: </%b>\r\n\r\n" % (b"a" * 900)] * 300, Malformed, "head of the answer too long"),
    ],
)
async def test_what_is_no_answer_tells_why(pieces: list[bytes], kind: type[ProviderError], detail: str) -> None:
    async with browser(once(*pieces)) as (client, url):
        assert await failure(client, url, **CALLER) == (kind, detail)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + b"\0\0\0\xff\xff" * 100_000),
        ("br", b"\x0c" + b"\x06" * 500_000),
        ("zstd", b"\x50\x2a\x4d\x18\0\0\0\0" * 60_000),
    ],
)
async def test_a_stream_that_decodes_to_nothing_is_capped_on_the_wire(encoding: str, body: bytes) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\n\r\n".encode()
    async with browser(once(head, body), scheme="https") as (client, url):
        kind, _ = await failure(client, url, from_caller=True, max_body_bytes=100_000)

    assert kind is TooLarge


async def test_a_flood_of_tiny_chunks_leaves_the_loop_its_turns() -> None:
    async def serve(stream: trio.abc.Stream) -> None:
        await read_head(stream)
        await stream.send_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(20):
            await stream.send_all(b"1\r\nx\r\n" * 1000)
            await trio.sleep(0.01)
        await stream.send_all(b"0\r\n\r\n")

    waits: list[float] = []

    async def tick() -> None:
        while True:
            asked_at = trio.current_time()
            await trio.sleep(0.005)
            waits.append(trio.current_time() - asked_at)

    async with browser(serve) as (client, url), trio.open_nursery() as nursery:
        nursery.start_soon(tick)
        reply = await client.get(url, extensions=CALLER)
        nursery.cancel_scope.cancel()

    assert reply.content == b"x" * 20_000
    # The middle one, since the machine may have other things to do than this test.
    assert sorted(waits)[len(waits) // 2] < 0.05


async def drip(stream: trio.abc.Stream) -> None:
    await read_head(stream)
    await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        await stream.send_all(b"x")
        await trio.sleep(0.02)


async def test_a_drip_ends_with_the_deadline() -> None:
    async with browser(drip) as (client, url):
        with trio.move_on_after(0.3) as scope:
            await fetch_page(client, url, max_body_bytes=1_000_000)

    assert scope.cancelled_caught
    assert trio.current_time() - scope.deadline < 0.5


@pytest.mark.parametrize("serve", ["silent", "drip", "silent before tls"])
async def test_a_caller_who_leaves_is_seen_at_the_site_within_a_second(serve: str) -> None:
    arrived, left = trio.Event(), trio.Event()

    async def handler(stream: trio.abc.Stream) -> None:
        if serve == "silent before tls":
            await stream.receive_some(1)
        else:
            await read_head(stream)
        arrived.set()
        try:
            if serve == "drip":
                await stream.send_all(b"HTTP/1.1 200 OK\r\n\r\n")
                while True:
                    await stream.send_all(b"x")
                    await trio.sleep(0.01)
            while await stream.receive_some(1000):
                pass
        except trio.BrokenResourceError:
            pass
        left.set()

    async with browser(handler) as (client, url):
        url = url.replace("http:", "https:") if serve == "silent before tls" else url
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: client.get(url, extensions=CALLER))
            await arrived.wait()
            nursery.cancel_scope.cancel()
            left_at = trio.current_time()
        assert trio.current_time() - left_at < 0.5
        with trio.fail_after(1):
            await left.wait()


async def test_transfers_beyond_the_threads_wait_and_a_cancelled_one_makes_room() -> None:
    waiting = trio.Event()

    async def serve(stream: trio.abc.Stream) -> None:
        if b"/slow" in await read_head(stream):
            waiting.set()
            await trio.sleep_forever()
        await stream.send_all(answer(b"quick"))

    async with browser(serve, workers=1) as (client, url):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: client.get(f"{url}/slow"))
            await waiting.wait()
            with trio.move_on_after(0.1) as scope:
                await client.get(f"{url}/quick")
            nursery.cancel_scope.cancel()
        assert scope.cancelled_caught
        assert (await client.get(f"{url}/quick")).content == b"quick"


async def test_the_bytes_of_pages_are_counted_while_they_come_and_given_back() -> None:
    guard = Guard(allow_private=True, resolve=Names(default=("127.0.0.1",)))
    counted: list[int] = []

    async def serve(stream: trio.abc.Stream) -> None:
        await read_head(stream)
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 900_000)
        with trio.fail_after(5):
            while not guard.bodies.held_bytes:
                await trio.sleep(0.01)
        counted.append(guard.bodies.held_bytes)
        await stream.send_all(b"x" * 100_000)

    async with browser(serve, guard=guard) as (client, url):
        reply = await client.get(url, extensions=CALLER)

    assert len(reply.content) == 1_000_000
    assert counted[0] >= 256 * 1024
    assert guard.bodies.held_bytes == 0


async def test_a_broken_off_fetch_holds_no_bytes() -> None:
    guard = Guard(allow_private=True, resolve=Names(default=("127.0.0.1",)))

    async def serve(stream: trio.abc.Stream) -> None:
        await read_head(stream)
        await stream.send_all(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 900_000)
        await trio.sleep_forever()

    async with browser(serve, guard=guard) as (client, url):
        with trio.move_on_after(0.3):
            await client.get(url, extensions=CALLER)

    assert guard.bodies.held_bytes == 0


async def test_a_vendor_is_asked_as_any_provider_asks() -> None:
    async with browser(site(answer(b"{}"))) as (client, url):
        assert (await ask(client, "GET", url)).content == b"{}"


# --- the parts --------------------------------------------------------------------------------------------------------


def order(**fields: Any) -> Order:
    plain = {"method": "GET", "url": "http://a.example.com/", "host": HOST, "port": 80, "way": Way()}
    more = {
        "profile": PROFILES[0],
        "headers": (),
        "body": b"",
        "authorities": Authorities(b""),
        "max_bytes": 100,
        "timeout": 1.0,
    }
    return Order(**{**plain, **more, **fields})


def nothing(answer: Answer, is_sent: bool) -> None:
    """Nobody looks."""


def test_a_name_without_pins_is_resolved_by_nobody() -> None:
    facts = Transfer(order(url="http://localhost.example.com:1/", host="localhost.example.com")).run(nothing)

    assert (facts.code, facts.is_sent, facts.remote) == (6, False, "")


def test_a_transfer_has_a_time_out_of_its_own() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        facts = Transfer(order(url=f"http://127.0.0.1:{port}/", host="127.0.0.1", port=port, timeout=0.1)).run(nothing)

    assert (facts.code, facts.is_sent) == (28, True)


def test_a_body_is_capped_where_libcurl_does_not() -> None:
    answer = Answer(order(max_bytes=10))

    assert answer.add_body(b"x" * 10) == 10
    assert answer.add_body(b"x") == CURL_WRITEFUNC_ERROR
    assert isinstance(answer.error, TooLarge)
    assert len(answer.body) == 10


def test_an_unknown_profile_sends_nothing() -> None:
    with pytest.raises(RuntimeError, match="netscape4 is not known"):
        Transfer(order(profile=Profile("netscape4"))).run(nothing)


def strangers() -> ssl.SSLContext:
    """A context that trusts one authority of the world, and not that of the tests."""
    return ssl.create_default_context(cadata=plain_context().get_ca_certs(binary_form=True)[0])


def test_libcurl_trusts_whom_the_tls_context_trusts() -> None:
    assert authorities_of(trust()).pem.count(b"BEGIN CERTIFICATE") == len(trust().get_ca_certs()) == 1


async def test_an_authority_in_the_systems_directory_is_trusted_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # The name is what `openssl x509 -hash` makes of the subject, which is always the same.
    (tmp_path / "f20e0b1e.0").write_bytes(authorities_of(trust()).pem)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    monkeypatch.setattr("tests.actors.browserlab.trust", strangers)
    async with browser(site(answer(b"page")), scheme="https") as (client, url):
        assert (await client.get(url, extensions=CALLER)).content == b"page"


async def test_nobody_else_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.actors.browserlab.trust", strangers)
    async with browser(site(answer(b"page")), scheme="https") as (client, url):
        assert (await failure(client, url, **CALLER))[1] == "tls: unknown issuer"
