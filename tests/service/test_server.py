"""The server on real sockets: listening, clients of both protocol eras, clients that leave, and the end."""

from __future__ import annotations

import errno
import gc
import json
import os
import queue
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast

import pytest
import trio
from mcp.client.client import Client
from structlog.testing import capture_logs
from trio.testing import wait_all_tasks_blocked

from actors.statistics import ActorStatistics
from service import server
from service.gate import Gate
from service.server import (
    CannotListen,
    Shutdown,
    open_listeners,
    serve_http,
    settle_garbage_collector,
    shown_address,
    signals_set,
    start_watchdog,
)
from tests.service.desk import Bench, FakeBackend, forever, found, hit
from tests.service.serverlab import Site, call, get, receive_all, rpc, serving

ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])
# The SDK's client leaves its response streams to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'http:ResourceWarning")
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def modern_call(tool: str, **arguments: Any) -> bytes:
    params = {"name": tool, "arguments": arguments, "_meta": MODERN_META}
    headers = [b"MCP-Protocol-Version: 2026-07-28", b"Mcp-Method: tools/call", b"Mcp-Name: " + tool.encode()]
    return rpc("tools/call", params, *headers)


# --- listening ------------------------------------------------------------------------------------------------------


def test_a_port_in_use_is_told_with_what_to_do() -> None:
    [taken] = open_listeners("127.0.0.1", 0)
    port = taken.getsockname()[1]

    with taken, pytest.raises(CannotListen) as caught:
        open_listeners("127.0.0.1", port)

    assert str(caught.value) == f"port {port} of 127.0.0.1 is in use by another program: stop it, or set MCP_PORT"


@pytest.mark.parametrize(
    ("host", "sentence"),
    [
        ("192.0.2.1", "MCP_HOST 192.0.2.1 is no address of this machine"),
        ("no-such-name.invalid", r"MCP_HOST no-such-name\.invalid does not resolve: .+"),
    ],
)
def test_an_address_that_is_not_ours_is_told(host: str, sentence: str) -> None:
    with pytest.raises(CannotListen, match=f"^{sentence}$"):
        open_listeners(host, 0)


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.EACCES, "port 80 of 127.0.0.1 needs rights that this user has not: set MCP_PORT to 1024 or more"),
        (errno.ENFILE, "cannot listen on port 80 of 127.0.0.1: Too many open files in system"),
    ],
)
def test_other_reasons_are_told_too(monkeypatch: pytest.MonkeyPatch, number: int, sentence: str) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(server, "_listen", refuse)

    with pytest.raises(CannotListen, match=f"^{sentence}$"):
        open_listeners("127.0.0.1", 80)


def test_listeners_of_several_addresses_share_a_port_and_are_closed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, 0)) for host in ("127.0.0.1", "127.0.0.2")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: both)
    listeners = open_listeners("both", 0)
    ports = {listener.getsockname()[1] for listener in listeners}
    for listener in listeners:
        listener.close()
    [port] = ports

    with socket.socket() as other:
        other.bind(("127.0.0.2", port))
        other.listen()
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(*one[:4], (one[4][0], port)) for one in both])
        with pytest.raises(CannotListen, match="in use"):
            open_listeners("both", port)

    # The first of the two, which had been opened, is free again.
    with socket.socket() as again:
        again.bind(("127.0.0.1", port))


def test_an_address_of_the_newer_kind_is_listened_on() -> None:
    try:
        [listener] = open_listeners("::1", 0)
    except CannotListen:
        pytest.skip("no IPv6 on this machine")

    with listener:
        assert re.fullmatch(r"\[::1\]:\d+", shown_address(listener))
        assert listener.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY) == 1


def test_a_dead_peer_is_noticed_by_the_kernel() -> None:
    [listener] = open_listeners("127.0.0.1", 0)
    listener.setblocking(True)
    with listener, socket.create_connection(listener.getsockname()), listener.accept()[0] as accepted:
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == server.USER_TIMEOUT_MS
        assert re.fullmatch(r"127\.0\.0\.1:\d+", shown_address(listener))


def test_a_system_without_that_option_is_served_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "TCP_USER_TIMEOUT")

    [listener] = open_listeners("127.0.0.1", 0)

    listener.close()


# --- clients --------------------------------------------------------------------------------------------------------


@ERAS
async def test_a_client_lists_the_tools_and_calls_each(mode: Any) -> None:
    arguments: dict[str, dict[str, Any]] = {
        "search_and_read": {"query": "q"},
        "web_search": {"query": ["q", "r"]},
        "web_search_images": {"query": "q"},
        "read_page": {"url": "https://a.example/"},
        "read_pages": {"urls": ["https://a.example/"]},
    }
    async with serving() as site, Client(site.url, mode=mode) as client:
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == list(arguments)
        for tool, given in arguments.items():
            result = await client.call_tool(tool, given)

            # The client holds the data to the schema that the server listed.
            assert not result.is_error
            assert result.structured_content


@ERAS
async def test_progress_streams_to_the_client(mode: Any) -> None:
    told: list[Any] = []

    async def listen(progress: float, _total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async def respond(_query: Any) -> Any:
        while not told:
            await trio.sleep(0.001)
        return found(hit(1))

    bench = Bench(FakeBackend(respond, events=[("waiting", {"instance": "duckduckgo", "seconds": 12})]))
    async with serving(bench) as site, Client(site.url, mode=mode) as client:
        with trio.fail_after(5):
            await client.call_tool("web_search", {"query": "q"}, progress_callback=listen)

    assert told == [(1.0, "waiting 12 s for duckduckgo's slot")]


@pytest.mark.parametrize("make_call", [call, modern_call])
@pytest.mark.parametrize("politely", [True, False])
async def test_a_client_that_leaves_cancels_its_call_at_once(make_call: Any, politely: bool) -> None:
    started, ended = trio.Event(), trio.Event()

    async def respond(_query: Any) -> Any:
        started.set()
        try:
            await trio.sleep_forever()
        finally:
            ended.set()

    async with serving(Bench(FakeBackend(respond))) as site:
        stream = await site.connect()
        await stream.send_all(make_call("web_search", query="q"))
        with trio.fail_after(5):
            await started.wait()
        if not politely:
            stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        left_at = trio.current_time()
        await stream.aclose()
        with trio.fail_after(5):
            await ended.wait()

        assert trio.current_time() - left_at < 0.1


async def test_a_refused_call_past_the_limit_reaches_the_client_quickly() -> None:
    bench = Bench(FakeBackend(forever), limit=1)
    async with serving(bench) as site, await site.connect() as first:
        await first.send_all(call("web_search", query="q"))
        with trio.fail_after(5):
            while not bench.calls.statistics()["web_search"].in_flight:
                await trio.sleep(0.001)

        answer = await site.send(call("web_search", query="q"), silence=0.1)

    assert b"too many calls at once: 1 are running" in answer


ROUTES = ["POST /mcp", "GET /mcp", "GET /stats", "GET /readyz", "GET /nope"]
LOCAL = b"Host: localhost:8000"


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([b"Host: evil.example", b"Authorization: Bearer s3cret"], b"421"),
        ([LOCAL, b"Origin: https://evil.example", b"Authorization: Bearer s3cret"], b"403"),
        ([LOCAL, b"Origin: null", b"Authorization: Bearer s3cret"], b"403"),
        ([LOCAL], b"401"),
    ],
)
async def test_every_route_refuses_strangers(route: str, headers: list[bytes], status: bytes) -> None:
    request = b"\r\n".join([route.encode() + b" HTTP/1.1", *headers]) + b"\r\n\r\n"

    async with serving(gate=Gate(token="s3cret")) as site:
        answer = await site.send(request)
        health = await site.send(b"GET /healthz HTTP/1.1\r\n" + b"\r\n".join(headers) + b"\r\n\r\n", silence=0.05)

    assert answer.startswith(b"HTTP/1.1 " + status)
    assert b"access-control" not in answer.lower()
    assert health.startswith(b"HTTP/1.1 200")


async def test_get_on_mcp_opens_no_stream() -> None:
    async with serving() as site:
        answer = await site.send(
            b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n", silence=0.05
        )

    assert answer.startswith(b"HTTP/1.1 405")
    assert b"allow: POST" in answer
    assert b"server:" not in answer.lower()


# --- the end --------------------------------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LISTEN_SECONDS", 0.25)
    monkeypatch.setattr(server, "CALL_SECONDS", 0.5)
    monkeypatch.setattr(server, "GRACEFUL_SECONDS", 1.0)


@asynccontextmanager
async def ending(app: Any, shutdown: Shutdown, keep_alive: float = 5.0) -> AsyncIterator[tuple[Site, trio.Event]]:
    """A server, and an event that is set when it has ended by itself."""
    listeners = open_listeners("127.0.0.1", 0)
    site = Site(listeners[0].getsockname()[1], server.HttpServer(app, keep_alive=keep_alive), trio.Event())
    ended = trio.Event()

    async def serve(task_status: trio.TaskStatus[None]) -> None:
        await site.server.serve(listeners, site.stop, shutdown, task_status=task_status)
        ended.set()

    async with trio.open_nursery() as nursery:
        await nursery.start(serve)
        yield site, ended
        nursery.cancel_scope.cancel()


async def test_a_server_ends_in_order(quick: None) -> None:
    bench = Bench(
        FakeBackend(lambda query: forever() if query.text == "forever" else found(hit(1))),
        actors=[ActorStatistics("a", "a", ("search", "read"), "running")],
    )
    app, manager = bench.app()
    shutdown = Shutdown(bench.calls.drain, bench.calls.deadlines.shorten)
    async with manager.run(), ending(app, shutdown) as (site, ended):
        async with await site.connect() as busy, await site.connect() as idle:
            await busy.send_all(call("web_search", query="forever"))
            await idle.send_all(get("/readyz"))
            assert (await receive_all(idle, 2, 0.05)).startswith(b"HTTP/1.1 200")
            stopped_at = trio.current_time()
            site.stop.set()
            await wait_all_tasks_blocked()

            # The listener is still open, and says so to everybody who comes.
            assert (await site.send(get("/healthz", close=True))).startswith(b"HTTP/1.1 503")
            assert (await site.send(get("/readyz", close=True))).startswith(b"HTTP/1.1 503")
            refused = await site.send(call("web_search", query="q"), silence=0.02)
            assert b"the server is shutting down" in refused

            # Then it is closed, and so are connections that wait for nothing.
            assert await receive_all(idle, 2) == b""
            assert 0.2 < trio.current_time() - stopped_at < 1.0
            with pytest.raises(OSError, match="connect"):
                await site.connect()

            # A call that runs is answered with what is ready by its new deadline.
            answer = await receive_all(busy, 2)
            assert 0.4 < trio.current_time() - stopped_at < 1.5
            [data] = re.findall(rb"data: (\{.*\})", answer)
            assert json.loads(data)["result"]["structuredContent"]["results"][0]["status"] == "timeout"
        with trio.fail_after(1):
            await ended.wait()


async def test_what_does_not_end_is_cut_when_the_grace_is_over(quick: None) -> None:
    async def floods(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            await send({"type": "http.response.body", "body": b"x" * 1_000_000, "more_body": True})

    async with (
        ending(floods, Shutdown(lambda: None, lambda _: None)) as (site, ended),
        await site.connect() as unread,
    ):
        await unread.send_all(get("/"))
        await wait_all_tasks_blocked(0.05)
        site.stop.set()
        started_at = trio.current_time()
        with trio.fail_after(5):
            await ended.wait()

    assert trio.current_time() - started_at == pytest.approx(1.0, abs=0.3)


async def test_an_idle_server_ends_as_soon_as_the_listener_closes(quick: None) -> None:
    async with ending(forever, Shutdown(lambda: None, lambda _: None)) as (site, ended):
        site.stop.set()
        started_at = trio.current_time()
        with trio.fail_after(5):
            await ended.wait()

    assert 0.2 < trio.current_time() - started_at < 1.0


# --- signals and the watchdog ---------------------------------------------------------------------------------------


async def test_the_first_signal_stops_and_the_second_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int] = []
    watched: list[float] = []
    monkeypatch.setattr(os, "_exit", left.append)
    monkeypatch.setattr(server, "start_watchdog", watched.append)
    before = signal.getsignal(signal.SIGTERM)
    stop = trio.Event()

    with signals_set(stop):
        signal.raise_signal(signal.SIGTERM)
        with trio.fail_after(5):
            await stop.wait()
        assert (left, watched) == ([], [27.0])
        monkeypatch.setattr(server, "start_watchdog", lambda _: None)
        signal.raise_signal(signal.SIGINT)

    assert left == [128 + signal.SIGINT]
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_watchdog_ends_the_process() -> None:
    left: queue.SimpleQueue[int] = queue.SimpleQueue()

    start_watchdog(0.001, left.put)

    assert left.get(timeout=5) == 70


def test_start_up_is_kept_out_of_collections() -> None:
    before = gc.get_threshold()
    try:
        settle_garbage_collector()

        assert gc.get_threshold() == (2_000, 5, 20)
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


async def test_the_server_ends_on_a_signal_of_its_own(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    watched: list[float] = []
    monkeypatch.setattr(server, "start_watchdog", watched.append)
    monkeypatch.setattr(server, "settle_garbage_collector", lambda: None)
    bench = Bench()
    app, _ = bench.app()
    shutdown = Shutdown(bench.calls.drain, bench.calls.deadlines.shorten)

    async def serve(task_status: trio.TaskStatus[None]) -> None:
        await serve_http(app, listeners, keep_alive=5, shutdown=shutdown, task_status=task_status)

    listeners = open_listeners("127.0.0.1", 0)
    with trio.fail_after(5), capture_logs() as lines:
        async with trio.open_nursery() as nursery:
            await nursery.start(serve)
            signal.raise_signal(signal.SIGTERM)

    assert bench.calls.is_draining
    assert watched == [27.0]
    assert [line["event"] for line in lines] == ["serving", "stopping"]


# --- as a process ---------------------------------------------------------------------------------------------------


@asynccontextmanager
async def child(scale: float) -> AsyncIterator[tuple[subprocess.Popen[bytes], Site]]:
    command = [sys.executable, "-m", "tests.service.child", "http", str(scale)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        try:
            port = int(await trio.to_thread.run_sync(process.stdout.readline))
            yield process, Site(port, cast(Any, None), trio.Event())
        finally:
            process.kill()


async def exit_code(process: subprocess.Popen[bytes], seconds: float) -> int:
    with trio.fail_after(seconds):
        return await trio.to_thread.run_sync(process.wait, abandon_on_cancel=True)


@asynccontextmanager
async def asking(site: Site, query: str) -> AsyncIterator[trio.SocketStream]:
    """A call that has been taken: it is among those in flight."""
    before = await in_flight(site)
    async with await site.connect() as stream:
        await stream.send_all(call("web_search", query=query))
        with trio.fail_after(5):
            while await in_flight(site) == before:
                pass
        yield stream


async def in_flight(site: Site) -> int:
    answer = await site.send(get("/stats", close=True))
    counts = json.loads(answer.partition(b"\r\n\r\n")[2])["service"]["calls"]
    return int(counts["web_search"]["in_flight"])


async def test_a_signal_ends_the_process_after_its_calls_with_code_0() -> None:
    async with child(0.1) as (process, site), AsyncExitStack() as stack:
        finishing = [await stack.enter_async_context(asking(site, "slow 0.4")) for _ in range(3)]
        stuck = [await stack.enter_async_context(asking(site, "forever")) for _ in range(3)]
        process.send_signal(signal.SIGTERM)

        for stream in finishing:
            assert b'"count":1' in await receive_all(stream, 5, 5)
        for stream in stuck:
            assert b"no answer within 1." in await receive_all(stream, 5, 5)
        assert await exit_code(process, 3) == 0


async def test_a_second_signal_ends_the_process_at_once() -> None:
    async with child(1) as (process, site), asking(site, "forever"):
        process.send_signal(signal.SIGTERM)
        with trio.fail_after(5):
            while b" 503 " not in await site.send(get("/healthz", close=True)):
                pass
        process.send_signal(signal.SIGTERM)

        assert await exit_code(process, 2) == 128 + signal.SIGTERM


@pytest.mark.parametrize(("signals", "code"), [(1, 70), (2, 128 + signal.SIGTERM)])
async def test_a_process_that_is_stuck_ends_nevertheless(signals: int, code: int) -> None:
    async with child(0.01) as (process, site), await site.connect() as stream:
        await stream.send_all(call("web_search", query="stuck"))
        while await trio.to_thread.run_sync(cast(Any, process.stdout).readline) != b"stuck\n":
            pass
        for _ in range(signals):
            process.send_signal(signal.SIGTERM)
            await wait_all_tasks_blocked(0.05)

        assert await exit_code(process, 3) == code
