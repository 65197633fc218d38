"""Calls, connections that never become one, and bare requests leave a server's memory and sockets where they were."""

from __future__ import annotations

import json
import os
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import trio

from actors.pool import IDLE_SECONDS
from tests.bench._load import LEGACY, MODERN, Call, Connection
from tests.e2e._stage import FakenetProcess, ServerProcess, fakenet_process, server_process
from tests.soak.process import connections, resident_bytes, sockets

IN_FLIGHT = 16
GROWTH = 0.05
# A body has ten seconds, and an idle connection five.
CLOSED_SECONDS = 20.0
METHODS = (b"GET", b"HEAD", b"OPTIONS", b"DELETE")

HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: */*\r\n"
HALVES: Mapping[str, bytes] = {
    "nothing": b"",
    "half a line": b"POST /mcp HTT",
    "half a head": HEAD,
    "half a body": HEAD + b"Content-Length: 1000\r\n\r\n{",
    "half a chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\nff\r\n{",
    "a handshake of TLS": b"\x16\x03\x01\x02\x00\x01\x00",
}


@dataclass(frozen=True)
class Load:
    """How much of each.

    patient: whoever half opens a connection waits for the server to close it, mostly.
    """

    calls: int
    halves: int
    bare: int
    patient: bool


def every_call(web: str, count: int) -> Iterator[Call]:
    """Searches and, every twentieth, a read, in both eras; one page in five is not there."""
    for number in range(count):
        era = MODERN if number % 3 else LEGACY
        if number % 20:
            yield Call("web_search", {"query": f"query {number}"}, era)
        else:
            kind = "missing" if number % 100 == 0 else "article/page"
            yield Call("read_page", {"url": f"{web}/{kind}/{number}"}, era)


async def make_calls(port: int, web: str, count: int) -> Counter[str]:
    """Make all calls, IN_FLIGHT at a time over as many connections, and count what came of them."""
    calls, counts = every_call(web, count), Counter[str]()

    async def work() -> None:
        async with Connection(port) as connection:
            for call in calls:
                _, body = await connection.ask(call.request(port))
                result = json.loads(body.rpartition(b"data: ")[2])["result"]
                counts["failed" if result.get("isError") else "answered"] += 1

    async with trio.open_nursery() as nursery:
        for _ in range(IN_FLIGHT):
            nursery.start_soon(work)
    return counts


@asynccontextmanager
async def half_opened(port: int, data: bytes) -> AsyncIterator[trio.SocketStream]:
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(data)
        yield stream


async def open_halves(port: int, count: int, *, patient: bool) -> int:
    """So many connections at once that never send a whole request. How many of them the server had to close."""
    closed = 0
    all_open = trio.Event()
    waiting = 0

    async def one(data: bytes, waits: bool) -> None:
        nonlocal closed, waiting
        async with half_opened(port, data) as stream:
            waiting += 1
            if waiting == count:
                all_open.set()
            await all_open.wait()
            if waits:
                await read_all(stream)
                closed += 1

    with trio.fail_after(CLOSED_SECONDS):
        async with trio.open_nursery() as nursery:
            for number in range(count):
                data = list(HALVES.values())[number % len(HALVES)]
                # Every fourth client leaves, the others wait.
                nursery.start_soon(one, data, patient and number % 4 != 0)
    return closed


async def read_all(stream: trio.SocketStream) -> None:
    try:
        async for _ in stream:
            pass
    except trio.BrokenResourceError:
        return


async def send_bare(port: int, count: int) -> Counter[int]:
    """So many requests without a body on the path of calls, each on a connection of its own; their statuses."""
    statuses = Counter[int]()
    for number in range(count):
        request = b"%s /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n" % METHODS[number % len(METHODS)]
        async with half_opened(port, request) as stream:
            statuses[int((await stream.receive_some(4096))[9:12])] += 1
    return statuses


async def put_through(server: ServerProcess, web: str, load: Load) -> None:
    """One load, and that all of it was dealt with."""
    port = port_of(server)
    counts = await make_calls(port, web, load.calls)
    closed = await open_halves(port, load.halves, patient=load.patient)
    statuses = await send_bare(port, load.bare)
    print(f"calls {dict(counts)}; {load.halves} half open, {closed} closed by the server; bare {dict(statuses)}")
    assert counts["failed"] == len([call for call in every_call("", load.calls) if "missing" in str(call)])
    assert counts.total() == load.calls
    assert statuses == {405: load.bare}


async def let_pools_rest(port: int, web: str) -> None:
    """A pool drops its idle connections when it is next asked for one: hence a call after their time is over."""
    await trio.sleep(IDLE_SECONDS + 1)
    for call in list(every_call(web, 2)):
        async with Connection(port) as connection:
            await connection.ask(call.request(port))


def held(server: ServerProcess) -> tuple[int, int, int]:
    """Bytes of memory, open sockets, and connections from clients, once there are none of these or after a while."""
    pid, port, give_up_at = server.process.pid, port_of(server), time.monotonic() + CLOSED_SECONDS
    while connections(pid, port) > 0 and time.monotonic() < give_up_at:
        time.sleep(0.05)
    return resident_bytes(pid), sockets(pid), connections(pid, port)


def port_of(server: ServerProcess) -> int:
    return int(server.url.rpartition(":")[2])


def stay_the_same(net: FakenetProcess, directory: Path, warm_up: Sequence[Load], load: Load, *, rests: bool) -> None:
    """Figures before and after `load`; with `rests` when the idle connections to remotes have gone, too."""
    web, search = net.urls["web"], net.urls["searxng"]
    variables = {"SEARXNG_URL": search, "SEARXNG_RATE": "none", "ALLOW_PRIVATE_NETWORK": "true"}
    with server_process(variables, directory) as server:

        def put_through_and_rest(*loads: Load) -> tuple[int, int, int]:
            for each in loads:
                trio.run(put_through, server, web, each)
            if rests:
                trio.run(let_pools_rest, port_of(server), web)
            return held(server)

        before, open_before, _ = put_through_and_rest(*warm_up)
        after, open_after, clients = put_through_and_rest(load)
        growth = after / before - 1
        print(f"memory {before / 1e6:.1f} MB before, {after / 1e6:.1f} MB after: {growth:+.1%}", end="; ")
        print(f"sockets {open_before} before, {open_after} after")
        assert server.get("/healthz").status_code == 200
    assert growth < GROWTH
    assert open_after <= open_before + (0 if rests else IN_FLIGHT)
    assert clients == 0


@pytest.fixture
def net() -> Iterator[FakenetProcess]:
    with fakenet_process() as process:
        yield process


def test_a_few_hundred_calls_and_connections_leave_nothing_behind(net, tmp_path):
    load = Load(calls=120, halves=120, bare=120, patient=False)

    stay_the_same(net, tmp_path, [load], load, rests=False)


@pytest.mark.soak
def test_ten_thousand_calls_and_thousands_of_connections_leave_nothing_behind(net, tmp_path):
    # Python keeps what a thousand connections at once took, 10 kB each, and uses it again: hence as many before.
    warm_up = Load(calls=500, halves=1_000, bare=100, patient=False)
    load = Load(calls=10_000, halves=1_000, bare=1_000, patient=True)

    stay_the_same(net, tmp_path, [warm_up] * 3, load, rests=True)


def test_the_measure_finds_sockets_and_connections_that_stay_open():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port, before = listener.getsockname()[1], sockets(os.getpid())
        with socket.create_connection(("127.0.0.1", port)), listener.accept()[0]:
            assert sockets(os.getpid()) == before + 2
            assert connections(os.getpid(), port) == 1
        assert connections(os.getpid(), port) == 0
