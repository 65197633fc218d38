"""Proxies over real sockets: what they are asked for, and what becomes of theirs that fail."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import trio

from actors.client import Guard, open_client
from actors.proxies import Proxy
from providers._contract import Refused, Unavailable
from tests.actors.certificates import authority, trusting_context
from tests.actors.netlab import (
    PUBLIC,
    Names,
    Serve,
    always,
    answer,
    make_row,
    over_tls,
    plain_context,
    server,
)
from tests.actors.proxylab import ProxyLab

CALLER = {"from_caller": True}
LOGIN = ("us@er", "p:w/d")
URL_LOGIN = "us%40er:p%3Aw%2Fd@"


@asynccontextmanager
async def through(
    scheme: str, site: Serve, *, login: tuple[str, str] | None = None, names: Names | None = None, **lab: Any
) -> AsyncIterator[tuple[httpx.AsyncClient, ProxyLab]]:
    async with server(site) as port:
        proxy = ProxyLab(port, login=login, **lab)
        async with server(proxy.http if scheme == "http" else proxy.socks) as proxy_port:
            row = make_row(proxy=f"{scheme}://{URL_LOGIN if login else ''}127.0.0.1:{proxy_port}")
            async with open_client(row, Guard(resolve=names or Names()), trusting_context()) as client:
                yield client, proxy


SCHEMES = pytest.mark.parametrize("scheme", ["http", "socks5", "socks5h"])
PUBLIC_HEX = "5db8d70e"


@SCHEMES
@pytest.mark.parametrize("login", [None, LOGIN])
async def test_a_vendors_name_is_resolved_by_the_proxy(scheme: str, login: tuple[str, str] | None) -> None:
    names = Names()
    site = over_tls(authority().server("api.example.com"), always(answer(b"from vendor")))
    async with through(scheme, site, login=login, names=names) as (client, proxy):
        with trio.fail_after(5):
            reply = await client.get("https://api.example.com/")

    assert reply.content == b"from vendor"
    assert proxy.asked == ["api.example.com:443"]
    assert names.asked == []


@SCHEMES
async def test_a_callers_name_is_checked_here_and_its_address_goes_to_the_proxy(scheme: str) -> None:
    names = Names()
    seen: list[Any] = []
    context = authority().server("good.example.com")
    context.sni_callback = lambda _, name, __: seen.append(name)
    async with through(scheme, over_tls(context, always(answer(b"page"))), names=names) as (client, proxy):
        with trio.fail_after(5):
            reply = await client.get("https://good.example.com/", extensions=CALLER)

    assert reply.content == b"page"
    assert proxy.asked == [f"{PUBLIC if scheme == 'http' else PUBLIC_HEX}:443"]
    assert names.asked == ["good.example.com"]
    assert seen == ["good.example.com"]


@SCHEMES
async def test_plain_http_goes_through_a_tunnel_too(scheme: str) -> None:
    async with through(scheme, always(answer(b"page"))) as (client, proxy):
        with trio.fail_after(5):
            reply = await client.get("http://a.example.com/", extensions=CALLER)

    assert reply.content == b"page"
    assert proxy.asked == [f"{PUBLIC if scheme == 'http' else PUBLIC_HEX}:80"]


@SCHEMES
async def test_the_proxy_is_asked_for_nothing_that_the_guard_refuses(scheme: str) -> None:
    async with through(scheme, always(answer()), names=Names(default=("10.0.0.1",))) as (client, proxy):
        for url, extensions in [
            ("http://a.example.com/", CALLER),
            ("http://169.254.169.254/", CALLER),
            ("http://169.254.169.254/", {}),
            ("http://metadata.google.internal/", {}),
            ("http://localhost:8080/", {}),
        ]:
            with trio.fail_after(5), pytest.raises(httpx.ConnectError, match=r"^address not allowed$") as caught:
                await client.get(url, extensions=extensions)
            assert isinstance(caught.value.__cause__, Refused)

    assert proxy.asked == []


async def test_an_exempt_remote_is_reached_through_the_proxy_as_well() -> None:
    async with server(always(answer(b"inside"))) as port:
        proxy = ProxyLab(port)
        async with server(proxy.http) as proxy_port:
            row = make_row(proxy=f"http://127.0.0.1:{proxy_port}", exempt=frozenset({("searxng", 8080)}))
            async with open_client(row, Guard(resolve=Names()), plain_context()) as client:
                with trio.fail_after(5):
                    assert (await client.get("http://searxng:8080/")).content == b"inside"

    assert proxy.asked == ["searxng:8080"]


@pytest.mark.parametrize(
    ("scheme", "first", "code"),
    [("http", "[2606:4700::1]:80", 503), ("socks5", "26064700000000000000000000000001:80", 4)],
)
async def test_an_address_the_proxy_cannot_reach_is_followed_by_the_next(scheme: str, first: str, code: int) -> None:
    names = Names(default=("2606:4700::1", PUBLIC))
    async with through(scheme, always(answer(b"page")), names=names, refuses={first: code}) as (client, proxy):
        with trio.fail_after(5):
            reply = await client.get("http://a.example.com/", extensions=CALLER)

    assert reply.content == b"page"
    assert proxy.asked == [first, f"{PUBLIC if scheme == 'http' else PUBLIC_HEX}:80"]


# --- failures -------------------------------------------------------------------------------------------------------


async def proxy_failure(serve: Serve, scheme: str, login: str = "", **extensions: Any) -> str:
    """What a client says whose proxy behaves like `serve`."""
    connections = 0

    async def count(stream: trio.abc.Stream) -> None:
        nonlocal connections
        connections += 1
        await serve(stream)

    async with server(count) as port:
        row = make_row(proxy=f"{scheme}://{login}127.0.0.1:{port}")
        async with open_client(row, Guard(resolve=Names()), plain_context()) as client:
            with trio.fail_after(5), pytest.raises(httpx.ProxyError) as caught:
                await client.get("http://a.example.com/", extensions=extensions)
    assert connections == 1
    cause = caught.value.__cause__
    assert isinstance(cause, Unavailable)
    assert str(caught.value) == cause.detail
    return cause.detail


def says(*pieces: bytes) -> Serve:
    async def serve(stream: trio.abc.Stream) -> None:
        for piece in pieces:
            await stream.receive_some(1000)
            await stream.send_all(piece)
        await stream.aclose()

    return serve


@pytest.mark.parametrize(
    ("said", "detail"),
    [
        (b"HTTP/1.1 407 Login\r\n\r\n", "proxy: login refused"),
        (b"HTTP/1.1 403 No\r\n\r\n", "proxy: answered 403"),
        (b"HTTP/1.1 502 No\r\n\r\n", "proxy: answered 502"),
        (b"HTTP/1.1 2000 OK\r\n\r\n", "proxy: does not speak HTTP"),
        (b"SSH-2.0\r\n\r\n", "proxy: does not speak HTTP"),
        (b"", "proxy: broke off"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 20_000, "proxy: broke off"),
    ],
)
async def test_an_http_proxy_that_fails_is_unavailable(said: bytes, detail: str) -> None:
    assert await proxy_failure(says(said), "http", "user:secret@") == detail


@pytest.mark.parametrize(
    ("said", "detail"),
    [
        ([b"\x05\xff"], "proxy: login refused"),
        ([b"\x04\x00"], "proxy: does not speak SOCKS 5"),
        ([b"\x05"], "proxy: broke off"),
        ([b"\x05\x02", b"\x01\x01"], "proxy: login refused"),
        ([b"\x05\x00", b"\x05\x02\x00\x01" + bytes(6)], "proxy: not allowed by its rules"),
        ([b"\x05\x00", b"\x05\x05\x00\x01" + bytes(6)], "proxy: connection refused"),
        ([b"\x05\x00", b"\x05\x99\x00\x01" + bytes(6)], "proxy: unknown failure"),
        ([b"\x05\x00", b"\x05\x00\x00\x09" + bytes(6)], "proxy: does not speak SOCKS 5"),
    ],
)
async def test_a_socks_proxy_that_fails_is_unavailable(said: list[bytes], detail: str) -> None:
    assert await proxy_failure(says(*said), "socks5", "user:secret@") == detail


async def test_a_socks_proxy_that_wants_a_login_we_have_not_is_unavailable() -> None:
    assert await proxy_failure(says(b"\x05\x02"), "socks5") == "proxy: login refused"


@SCHEMES
async def test_a_proxy_that_resets_the_connection_is_unavailable(scheme: str) -> None:
    async def serve(stream: trio.abc.Stream) -> None:
        assert isinstance(stream, trio.SocketStream)
        await stream.receive_some(1)
        stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        await stream.aclose()

    assert await proxy_failure(serve, scheme) == "proxy: broke off"


@SCHEMES
async def test_a_dead_proxy_is_unavailable_and_nothing_goes_directly(scheme: str) -> None:
    dialled = []

    async def dial(address: str, port: int) -> trio.abc.Stream:
        dialled.append((address, port))
        raise ConnectionRefusedError

    row = make_row(proxy=f"{scheme}://proxy.example.net:3128")
    guard = Guard(resolve=Names({"proxy.example.net": ["192.168.1.5"]}), dial=dial)
    async with open_client(row, guard, plain_context()) as client:
        for extensions in ({}, CALLER):
            with trio.fail_after(5), pytest.raises(httpx.ProxyError, match=r"^proxy: cannot be reached$") as caught:
                await client.get("http://a.example.com/", extensions=extensions)
            assert isinstance(caught.value.__cause__, Unavailable)
            assert caught.value.__cause__.retry is False

    assert dialled == [("192.168.1.5", 3128)] * 2


async def test_a_proxy_whose_name_does_not_resolve_is_unavailable() -> None:
    row = make_row(proxy="http://proxy.example.net")
    guard = Guard(resolve=Names({"proxy.example.net": []}))
    async with open_client(row, guard, plain_context()) as client:
        with trio.fail_after(5), pytest.raises(httpx.ProxyError, match=r"^proxy: its name does not resolve$"):
            await client.get("http://a.example.com/")


@SCHEMES
async def test_a_silent_proxy_ends_with_the_deadline_and_is_closed(scheme: str) -> None:
    closed = trio.Event()

    async def serve(stream: trio.abc.Stream) -> None:
        while await stream.receive_some(1000):
            pass
        closed.set()

    async with server(serve) as port:
        row = make_row(proxy=f"{scheme}://127.0.0.1:{port}")
        async with open_client(row, Guard(resolve=Names()), plain_context()) as client:
            with trio.move_on_after(0.1) as scope:
                await client.get("http://a.example.com/")
            with trio.fail_after(1):
                await closed.wait()

    assert scope.cancelled_caught


async def test_a_silent_proxy_is_given_up_after_ten_seconds(autojump_clock: trio.testing.MockClock) -> None:
    async def dial(address: str, port: int) -> trio.abc.Stream:
        near, far = trio.testing.memory_stream_pair()
        silent.append(far)
        return near

    silent: list[trio.abc.Stream] = []
    row = make_row(proxy="socks5://127.0.0.1")
    async with open_client(row, Guard(resolve=Names(), dial=dial), plain_context()) as client:
        with trio.fail_after(60), pytest.raises(httpx.ProxyError, match=r"^proxy: no connection within 10 s$"):
            await client.get("http://a.example.com/")

    assert trio.current_time() == 10


# --- addresses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("http://proxy.example.net", Proxy("http", "proxy.example.net", 80)),
        ("http://10.0.0.1:3128", Proxy("http", "10.0.0.1", 3128)),
        ("socks5://proxy.example.net", Proxy("socks5", "proxy.example.net", 1080)),
        ("socks5h://[fd00::1]:9050", Proxy("socks5", "fd00::1", 9050)),
        (f"http://{URL_LOGIN}proxy.example.net:8080", Proxy("http", "proxy.example.net", 8080, (b"us@er", b"p:w/d"))),
        ("http://token@proxy.example.net", Proxy("http", "proxy.example.net", 80, (b"token", b""))),
    ],
)
def test_a_proxys_address_is_read(url: str, proxy: Proxy) -> None:
    assert Proxy.parse(url) == proxy


@pytest.mark.parametrize(
    "url",
    [
        "",
        "proxy:80",
        "https://p.example.net",
        "socks4://p.example.net",
        "http://",
        "http://[x",
        f"http://{'u' * 256}@p",
    ],
)
def test_an_address_of_no_proxy_is_an_error_that_does_not_repeat_it(url: str) -> None:
    with pytest.raises(ValueError, match=r"^a proxy's ") as caught:
        Proxy.parse(url)

    assert "p.example.net" not in str(caught.value)


def test_a_proxys_login_is_not_shown() -> None:
    assert "w/d" not in repr(Proxy.parse(f"http://{URL_LOGIN}proxy.example.net"))
