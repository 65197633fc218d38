"""Connections: to checked addresses only, in good order, with the name kept for TLS."""

from __future__ import annotations

import math
import ssl
from collections.abc import Sequence

import httpcore2
import httpx
import pytest
import trio

from actors.backend import CONNECT_TIMEOUT, TRY_TIMEOUT, Backend, Stream
from actors.client import open_client
from actors.guard import Guard
from providers._contract import Refused, Unavailable
from tests.actors.certificates import authority, trusting_context
from tests.actors.netlab import (
    PUBLIC,
    Names,
    Wires,
    always,
    answer,
    client_of,
    make_row,
    over_tls,
    plain_context,
    read_head,
    server,
    to_loopback,
)

Failing = dict[str, float | None]


def dial_that(failing: Failing) -> Wires:
    """Dials in memory: an address of the table fails after so many seconds, or never answers (None)."""
    wires: Wires

    async def dial(address: str, port: int) -> trio.abc.Stream:
        wires.dialled.append((address, port))
        if address in failing:
            delay = failing[address]
            await trio.sleep(math.inf if delay is None else delay)
            raise ConnectionRefusedError(address)
        return trio.testing.memory_stream_pair()[0]

    wires = Wires(connect=lambda port: dial("", port))
    wires.__class__ = type("Dialler", (Wires,), {"__call__": staticmethod(dial)})
    return wires


async def connect(addresses: Sequence[str], failing: Failing) -> tuple[list[str], float, str]:
    """The addresses tried, the time it took, and what became of it."""
    wires = dial_that(failing)
    backend = Backend(Guard(resolve=Names(default=addresses), dial=wires))
    start = trio.current_time()
    outcome = "connected"
    with trio.fail_after(100):
        try:
            await backend.connect_tcp("a.example.com", 443)
        except httpcore2.ConnectError as error:
            outcome = str(error)
    return [address for address, _ in wires.dialled], trio.current_time() - start, outcome


async def test_the_first_address_that_answers_is_taken(autojump_clock: trio.testing.MockClock) -> None:
    assert await connect(["1.1.1.1", "8.8.8.8"], {}) == (["1.1.1.1"], 0, "connected")


async def test_a_dead_first_address_does_not_eat_the_deadline(autojump_clock: trio.testing.MockClock) -> None:
    assert await connect(["1.1.1.1", "8.8.8.8"], {"1.1.1.1": None}) == (
        ["1.1.1.1", "8.8.8.8"],
        TRY_TIMEOUT,
        "connected",
    )


async def test_families_are_tried_in_turns_and_four_addresses_at_most(autojump_clock: trio.testing.MockClock) -> None:
    addresses = ["2606:4700::1", "2606:4700::2", "2606:4700::3", "2606:4700::4", "1.1.1.1"]

    tried, _, outcome = await connect(addresses, dict.fromkeys(addresses, 0.0))

    assert tried == ["2606:4700::1", "1.1.1.1", "2606:4700::2", "2606:4700::3"]
    assert outcome == "connection refused"


async def test_a_host_that_never_answers_is_given_up(autojump_clock: trio.testing.MockClock) -> None:
    tried, took, outcome = await connect(["1.1.1.1"], {"1.1.1.1": None})

    assert (tried, took, outcome) == (["1.1.1.1"], CONNECT_TIMEOUT, "no connection within 10 s")


async def test_unix_sockets_are_refused() -> None:
    with pytest.raises(httpcore2.ConnectError, match=r"^address not allowed$"):
        await Backend(Guard()).connect_unix_socket("/run/docker.sock")


async def test_the_backend_sleeps_on_trios_clock(autojump_clock: trio.testing.MockClock) -> None:
    await Backend(Guard()).sleep(5)

    assert trio.current_time() == 5


async def test_a_refused_connection_tells_no_address() -> None:
    async with open_client(
        make_row(), Guard(resolve=Names(), dial=dial_that({PUBLIC: 0.0})), plain_context()
    ) as client:
        with trio.fail_after(5), pytest.raises(httpx.ConnectError, match=r"^connection refused$") as caught:
            await client.get("http://a.example.com/")

    assert isinstance(caught.value.__cause__, Unavailable)
    assert caught.value.__cause__.retry is True


async def test_the_systems_refusal_is_known_through_trios_error() -> None:
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    await listeners[0].aclose()
    row = make_row(exempt=frozenset({("127.0.0.1", port)}))

    async with open_client(row, Guard(), plain_context()) as client:
        with trio.fail_after(5), pytest.raises(httpx.ConnectError, match=r"^connection refused$"):
            await client.get(f"http://127.0.0.1:{port}/")


async def test_an_exempt_pair_is_reached_by_the_vendor_client_and_by_no_one_else() -> None:
    async with server(always(answer(b"inside"))) as port:
        row = make_row(exempt=frozenset({("127.0.0.1", port)}))
        async with open_client(row, Guard(), plain_context()) as client:
            with trio.fail_after(5):
                reply = await client.get(f"http://127.0.0.1:{port}/")
                with pytest.raises(httpx.ConnectError) as caught:
                    await client.get(f"http://127.0.0.1:{port}/", extensions={"from_caller": True})
                with pytest.raises(httpx.ConnectError):
                    await client.get(f"http://127.0.0.2:{port}/")

    assert reply.content == b"inside"
    assert isinstance(caught.value.__cause__, Refused)


async def test_a_connection_that_ends_at_our_own_port_is_dropped() -> None:
    asked = []

    async def serve(stream: trio.abc.Stream) -> None:
        asked.append(await read_head(stream))

    async with server(serve) as port:
        guard = Guard(resolve=Names(), own=frozenset({("ours.example.com", 8000)}), dial=to_loopback(port))
        async with open_client(make_row(), guard, plain_context()) as client:
            with trio.fail_after(5), pytest.raises(httpx.ConnectError, match=r"^address not allowed$"):
                await client.get("http://a.example.com:8000/", extensions={"from_caller": True})

    assert asked in ([], [b""])


async def test_other_ports_of_this_machine_are_not_taken_for_ours() -> None:
    async with server(always(answer())) as port:
        guard = Guard(resolve=Names(), own=frozenset({("ours.example.com", 8000)}), dial=to_loopback(port))
        async with open_client(make_row(), guard, plain_context()) as client:
            with trio.fail_after(5):
                assert (await client.get("http://a.example.com:8001/")).status_code == 200


async def test_every_new_connection_is_checked_afresh_and_an_idle_one_used_again() -> None:
    names = Names()
    async with client_of(always(answer()), names=names) as client:
        with trio.fail_after(5):
            await client.get("http://a.example.com/")
            await client.get("http://a.example.com/")
            names.default = ("10.0.0.1",)
            await client.get("http://a.example.com/")
            with pytest.raises(httpx.ConnectError, match=r"^address not allowed$"):
                await client.get("http://a.example.com:8080/")

    assert names.asked == ["a.example.com", "a.example.com"]


# --- TLS ------------------------------------------------------------------------------------------------------------


async def get_over_tls(context: ssl.SSLContext, url: str, seen: list[object] | None = None) -> httpx.Response:
    async def serve(stream: trio.abc.Stream) -> None:
        (seen if seen is not None else []).append(await read_head(stream))
        await stream.send_all(answer(b"secret page"))

    async with client_of(over_tls(context, serve), trust=trusting_context()) as client:
        with trio.fail_after(5):
            return await client.get(url)


async def test_the_name_stays_for_sni_host_and_certificate_while_the_socket_goes_to_the_address() -> None:
    context = authority().server("good.example.com")
    seen: list[object] = []
    context.sni_callback = lambda _, name, __: seen.append(name)

    reply = await get_over_tls(context, "https://good.example.com/page", seen)

    assert reply.content == b"secret page"
    assert seen[0] == "good.example.com"
    assert b"\r\nHost: good.example.com\r\n" in seen[1]


async def test_a_certificate_of_an_address_is_good_for_the_address() -> None:
    reply = await get_over_tls(authority().server("1.1.1.1"), "https://1.1.1.1/")

    assert reply.content == b"secret page"


@pytest.mark.parametrize(
    ("hosts", "options", "reason"),
    [
        (["other.example.com"], {}, "certificate is for another name"),
        (["good.example.com"], {"ends_in_days": -1}, "certificate has expired"),
        (["good.example.com"], {"self_signed": True}, "self-signed certificate"),
    ],
)
async def test_a_bad_certificate_is_unavailable_with_its_reason(
    hosts: list[str], options: dict[str, object], reason: str
) -> None:
    context = authority().server(*hosts, **options)  # type: ignore[arg-type]

    with pytest.raises(httpx.ConnectError, match=rf"^tls: {reason}$") as caught:
        await get_over_tls(context, "https://good.example.com/")

    cause = caught.value.__cause__
    assert isinstance(cause, Unavailable)
    assert cause.retry is False


async def test_an_issuer_nobody_knows_is_unavailable_with_its_reason() -> None:
    serve = over_tls(authority().server("good.example.com"), always(answer()))
    async with client_of(serve, trust=ssl.create_default_context()) as client:
        with trio.fail_after(5), pytest.raises(httpx.ConnectError, match=r"^tls: unknown issuer$"):
            await client.get("https://good.example.com/")


async def test_a_server_that_speaks_no_tls_is_unavailable_with_its_reason() -> None:
    async def serve(stream: trio.abc.Stream) -> None:
        await stream.send_all(b"220 mail.example.com ESMTP\r\n")
        await stream.receive_some(1000)

    async with client_of(serve) as client:
        with trio.fail_after(5), pytest.raises(httpx.ConnectError, match=r"^tls: (wrong version|record layer)"):
            await client.get("https://good.example.com/")


async def test_a_handshake_that_is_cut_off_may_be_tried_again() -> None:
    async def serve(stream: trio.abc.Stream) -> None:
        await stream.receive_some(100)
        await stream.aclose()

    async with client_of(serve) as client:
        with trio.fail_after(5), pytest.raises(httpx.ConnectError, match=r"^tls: connection closed") as caught:
            await client.get("https://good.example.com/")

    cause = caught.value.__cause__
    assert isinstance(cause, Unavailable)
    assert cause.retry is True


async def test_a_handshake_without_end_is_given_up_and_closed(autojump_clock: trio.testing.MockClock) -> None:
    near, _far = trio.testing.memory_stream_pair()

    with trio.fail_after(100), pytest.raises(httpcore2.ConnectError, match=r"^tls: no handshake within 10 s$"):
        await Stream(near).start_tls(ssl.create_default_context(), "a.example.com")

    with trio.fail_after(1), pytest.raises(trio.ClosedResourceError):
        await near.send_all(b"x")


async def test_a_cancelled_handshake_closes_its_socket() -> None:
    near, _far = trio.testing.memory_stream_pair()

    with trio.move_on_after(0.01):
        await Stream(near).start_tls(ssl.create_default_context(), "a.example.com")

    with trio.fail_after(1), pytest.raises(trio.ClosedResourceError):
        await near.send_all(b"x")


async def test_what_a_stream_knows_of_itself() -> None:
    near, _ = trio.testing.memory_stream_pair()
    stream = Stream(near)

    assert stream.get_extra_info("is_readable") is None
    assert stream.get_extra_info("ssl_object") is None
    assert stream.get_extra_info("server_addr") is None


async def test_the_network_is_not_awaited_without_a_deadline() -> None:
    near, _ = trio.testing.memory_stream_pair()
    stream = Stream(near)

    for call in (
        lambda: Backend(Guard()).connect_tcp("a.example.com", 80),
        lambda: stream.read(1),
        lambda: stream.write(b"x"),
        lambda: stream.start_tls(ssl.create_default_context()),
    ):
        with pytest.raises(RuntimeError, match="without a deadline"):
            await call()
