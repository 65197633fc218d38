"""The impersonating transport behind proxies: what they are asked for, and as whom."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import trio

from actors.client import Guard, open_client
from actors.proxies import Proxy
from actors.units import unit_of_work
from providers._contract import ProviderError, Refused, Unavailable
from tests.actors.browserlab import CALLER, HOST, behind_proxy, browser, site, trust
from tests.actors.certificates import authority
from tests.actors.netlab import PUBLIC, Names, Serve, always, answer, make_row, over_tls, server
from tests.actors.proxylab import ProxyLab

SCHEMES = pytest.mark.parametrize("scheme", ["http", "socks5", "socks5h"])
BOTH = pytest.mark.parametrize("impersonate", [True, False], ids=["impersonating", "ordinary"])
PUBLIC_HEX = "5db8d70e"
LOGIN = ("us@er", "p:w/d")
URL_LOGIN = "us%40er:p%3Aw%2Fd@"


def asked_for(scheme: str, port: int) -> str:
    return f"{PUBLIC if scheme == 'http' else PUBLIC_HEX}:{port}"


@SCHEMES
@pytest.mark.parametrize("login", [None, LOGIN])
async def test_a_callers_name_is_checked_here_and_its_address_goes_to_the_proxy(scheme: str, login: Any) -> None:
    names, seen = Names(), []
    context = authority().server(HOST)
    context.sni_callback = lambda _, name, __: seen.append(name)
    async with server(over_tls(context, always(answer(b"page")))) as port:
        lab = ProxyLab(port, login=login)
        guard = Guard(resolve=names)
        async with behind_proxy(scheme, lab, login=URL_LOGIN if login else "", guard=guard) as client:
            reply = await client.get(f"https://{HOST}/", extensions=CALLER)

    assert reply.content == b"page"
    assert lab.asked == [asked_for(scheme, 443)]
    assert names.asked == [HOST]
    assert seen == [HOST]


@SCHEMES
async def test_plain_http_goes_through_a_tunnel_too(scheme: str) -> None:
    page = site(answer(b"page"))
    async with server(page) as port:
        lab = ProxyLab(port)
        async with behind_proxy(scheme, lab) as client:
            reply = await client.get(f"http://{HOST}/a", extensions=CALLER)

    assert reply.content == b"page"
    assert lab.asked == [asked_for(scheme, 80)]
    assert page.heads[0].startswith("GET /a ")
    assert "proxy" not in page.heads[0].lower()


@SCHEMES
async def test_a_vendors_name_is_resolved_by_the_proxy(scheme: str) -> None:
    names = Names()
    async with server(over_tls(authority().server(HOST), always(answer(b"from vendor")))) as port:
        lab = ProxyLab(port)
        async with behind_proxy(scheme, lab, guard=Guard(resolve=names)) as client:
            assert (await client.get(f"https://{HOST}/")).content == b"from vendor"

    assert lab.asked == [f"{HOST}:443"]
    assert names.asked == []


@SCHEMES
async def test_a_proxy_that_has_a_name_is_looked_up_here(scheme: str) -> None:
    names = Names({"proxy.example.com": ("127.0.0.1",)})
    async with server(always(answer(b"page"))) as port:
        lab = ProxyLab(port)
        async with server(lab.http if scheme == "http" else lab.socks) as proxy_port:
            row = make_row(impersonate=True, proxy=f"{scheme}://proxy.example.com:{proxy_port}")
            async with open_client(row, Guard(resolve=names), trust()) as client:
                with trio.fail_after(5):
                    reply = await client.get(f"http://{HOST}/", extensions=CALLER)

    assert reply.content == b"page"
    assert sorted(names.asked) == [HOST, "proxy.example.com"]


@SCHEMES
async def test_the_proxy_is_asked_for_nothing_that_the_guard_refuses(scheme: str) -> None:
    lab = ProxyLab(1)
    async with behind_proxy(scheme, lab, guard=Guard(resolve=Names(default=("10.0.0.1",)))) as client:
        for url, extensions in [
            (f"http://{HOST}/", CALLER),
            ("http://169.254.169.254/", CALLER),
            ("http://169.254.169.254/", {}),
            ("http://metadata.google.internal/", {}),
        ]:
            with pytest.raises(httpx.ConnectError, match=r"^address not allowed$") as caught:
                await client.get(url, extensions=extensions)
            assert isinstance(caught.value.__cause__, Refused)

    assert lab.asked == []


@pytest.mark.parametrize(
    ("scheme", "first", "code"),
    [("http", "[2606:4700::1]:80", 503), ("socks5", "26064700000000000000000000000001:80", 4)],
)
async def test_an_address_the_proxy_cannot_reach_is_followed_by_the_next(scheme: str, first: str, code: int) -> None:
    guard = Guard(resolve=Names(default=("2606:4700::1", PUBLIC)))
    async with server(always(answer(b"page"))) as port:
        lab = ProxyLab(port, refuses={first: code})
        async with behind_proxy(scheme, lab, guard=guard) as client:
            assert (await client.get(f"http://{HOST}/", extensions=CALLER)).content == b"page"

    assert lab.asked == [first, asked_for(scheme, 80)]


async def test_where_the_proxy_reaches_no_address_the_last_reason_is_told() -> None:
    guard = Guard(resolve=Names(default=("2606:4700::1", PUBLIC)))
    lab = ProxyLab(1, refuses={"[2606:4700::1]:80": 503, f"{PUBLIC}:80": 504})
    async with behind_proxy("http", lab, guard=guard) as client:
        with pytest.raises(httpx.ProxyError, match="^proxy: answered 504$"):
            await client.get(f"http://{HOST}/", extensions=CALLER)

    assert len(lab.asked) == 2


# --- failures ---------------------------------------------------------------------------------------------------------


async def proxy_failure(proxy: str, **row: Any) -> Unavailable:
    row = {"impersonate": True, "proxy": proxy, **row}
    async with open_client(make_row(**row), Guard(resolve=Names({"gone.example.com": ()})), trust()) as client:
        with trio.fail_after(5), pytest.raises(httpx.ProxyError) as caught:
            await client.get(f"http://{HOST}/", extensions=CALLER)
    cause = caught.value.__cause__
    assert isinstance(cause, Unavailable)
    assert str(caught.value) == cause.detail
    assert "secret" not in repr(caught.value)
    return cause


def says(*pieces: bytes) -> Serve:
    async def serve(stream: trio.abc.Stream) -> None:
        for piece in pieces:
            await stream.receive_some(1000)
            await stream.send_all(piece)
        await stream.aclose()

    return serve


@pytest.mark.parametrize(
    ("scheme", "said", "detail"),
    [
        ("http", [b"HTTP/1.1 407 Login\r\n\r\n"], "proxy: login refused"),
        ("http", [b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"], "proxy: answered 403"),
        ("http", [b"HTTP/1.1 502 Gone\r\nContent-Length: 0\r\n\r\n"], "proxy: answered 502"),
        ("http", [], "proxy: broke off"),
        ("socks5", [b"\x05\xff"], "proxy: login refused"),
        ("socks5", [b"\x05\x02", b"\x01\x01"], "proxy: login refused"),
        ("socks5", [b"\x05\x00", b"\x05\x02\x00\x01" + bytes(6)], "proxy: not allowed by its rules"),
        ("socks5", [b"\x04\x00"], "proxy: does not speak SOCKS 5"),
        ("socks5", [], "proxy: broke off"),
    ],
)
async def test_a_proxy_that_makes_no_connection_tells_why(scheme: str, said: list[bytes], detail: str) -> None:
    async with server(says(*said)) as port:
        assert (await proxy_failure(f"{scheme}://me:secret@127.0.0.1:{port}")).detail == detail


@pytest.mark.parametrize("scheme", ["http", "socks5h"])
async def test_a_dead_proxy_is_a_failure_and_never_a_direct_connection(scheme: str) -> None:
    async with server(site()) as port:
        pass

    assert (await proxy_failure(f"{scheme}://127.0.0.1:{port}")).detail == "proxy: cannot be reached"
    assert (await proxy_failure(f"{scheme}://gone.example.com:1")).detail == "proxy: its name does not resolve"


# --- rotating sessions ------------------------------------------------------------------------------------------------


@dataclass
class Gateway(ProxyLab):
    """Lets everybody in, and remembers whom."""

    login: tuple[str, str] | None = ("any", "body")
    users: list[str] = field(default_factory=list)

    def knows(self, login: tuple[str, str] | None) -> bool:
        # A proxy may be asked without a login first.
        if login is None:
            return False
        self.users.append(login[0])
        return login[1] == "p:w/d"


@BOTH
@SCHEMES
async def test_each_unit_of_work_logs_in_with_a_session_of_its_own(scheme: str, impersonate: bool) -> None:
    async with server(always(answer(b"page"))) as port:
        gateway = Gateway(port)
        row = {"impersonate": impersonate, "proxy_sessions": True}
        async with behind_proxy(scheme, gateway, login=URL_LOGIN, **row) as client:
            sessions = []
            for _ in range(3):
                with unit_of_work() as unit:
                    sessions.append(f"us@er-session-{unit.session}")
                    await client.get(f"http://{HOST}/1", extensions=CALLER)
                    await client.get("http://b.example.com/2", extensions=CALLER)
                    await client.get("http://b.example.com/3")

    assert gateway.users == [session for session in sessions for _ in range(3)]
    assert len(set(sessions)) == 3


@BOTH
async def test_units_of_work_side_by_side_do_not_share_a_connection(impersonate: bool) -> None:
    async with server(always(answer(b"page"))) as port:
        gateway = Gateway(port)
        row = {"impersonate": impersonate, "proxy_sessions": True}
        async with behind_proxy("http", gateway, login=URL_LOGIN, **row) as client:

            async def work() -> None:
                with unit_of_work():
                    for _ in range(3):
                        await client.get(f"http://{HOST}/")

            async with trio.open_nursery() as nursery:
                for _ in range(4):
                    nursery.start_soon(work)

    assert sorted(gateway.users.count(user) for user in set(gateway.users)) == [3, 3, 3, 3]


@BOTH
async def test_a_proxy_that_does_not_rotate_gets_the_login_as_it_is(impersonate: bool) -> None:
    async with server(always(answer(b"page"))) as port:
        gateway = Gateway(port)
        async with behind_proxy("http", gateway, login=URL_LOGIN, impersonate=impersonate) as client:
            with unit_of_work():
                await client.get(f"http://{HOST}/")

    assert gateway.users == ["us@er"]


@BOTH
@pytest.mark.parametrize("rotates", [True, False])
async def test_a_lost_exit_is_worth_a_second_try_where_that_leaves_by_another(impersonate: bool, rotates: bool) -> None:
    async with server(says(b"HTTP/1.1 509 Gone\r\nContent-Length: 0\r\n\r\n")) as port:
        proxy = f"http://me:secret@127.0.0.1:{port}"
        error: ProviderError = await proxy_failure(proxy, impersonate=impersonate, proxy_sessions=rotates)

    assert error.retry is rotates


def test_a_login_leaves_room_for_the_session() -> None:
    assert Proxy.parse(f"socks5://{'u' * 255}:p@proxy.example.com").login is not None
    with pytest.raises(ValueError, match="at most 215 bytes"):
        Proxy.parse(f"socks5://{'u' * 216}:p@proxy.example.com", rotates=True)
    assert Proxy.parse("http://proxy.example.com", rotates=True).for_session("a").login is None


async def test_without_a_proxy_no_session_shows() -> None:
    page = site(answer())
    async with browser(page) as (client, url):
        with unit_of_work() as unit:
            await client.get(url)

    assert unit.session not in page.heads[0]
