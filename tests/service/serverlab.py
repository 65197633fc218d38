"""A real server on a free port, and raw clients that behave badly."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import trio

from service.app import App
from service.gate import Gate
from service.server import HttpServer, Shutdown, open_listeners
from tests.service.desk import Bench

Bytes = bytes | bytearray


@dataclass
class Site:
    """A running server: where it listens, and how to tell it to stop."""

    port: int
    server: HttpServer
    stop: trio.Event

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def connect(self) -> trio.SocketStream:
        return await trio.open_tcp_stream("127.0.0.1", self.port)

    async def send(self, data: Bytes, *, wait: float = 5.0, silence: float = 1.0) -> bytes:
        """Send bytes, and give back what comes in `wait` seconds, until the server closes or is silent for a while."""
        async with await self.connect() as stream:
            await send_or_be_cut(stream, data)
            return await receive_all(stream, wait, silence)

    async def is_alive(self) -> bool:
        answer = await self.send(get("/healthz", close=True))
        return answer.startswith(b"HTTP/1.1 200")


async def send_or_be_cut(stream: trio.SocketStream, data: Bytes) -> None:
    try:
        await stream.send_all(data)
    except trio.BrokenResourceError:
        return


async def receive_all(stream: trio.SocketStream, wait: float, silence: float = 1.0) -> bytes:
    received = bytearray()
    with trio.move_on_after(wait) as scope:
        try:
            while chunk := await stream.receive_some(65536):
                received += chunk
                scope.deadline = trio.current_time() + silence
        except trio.BrokenResourceError:
            received += b"(reset)"
    return bytes(received)


def get(path: str, *, close: bool = False) -> bytes:
    ending = b"Connection: close\r\n" if close else b""
    return b"GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n" % (path.encode(), ending)


def rpc(method: str, params: dict[str, Any], *headers: bytes) -> bytes:
    """One JSON-RPC request of the older era as a whole HTTP request."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    lines = [
        b"POST /mcp HTTP/1.1",
        b"Host: localhost",
        b"Content-Type: application/json",
        b"Accept: application/json, text/event-stream",
        b"Content-Length: %d" % len(body),
        *headers,
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def call(tool: str, **arguments: Any) -> bytes:
    return rpc("tools/call", {"name": tool, "arguments": arguments})


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@asynccontextmanager
async def serving_app(app: App, shutdown: Shutdown, *, keep_alive: float = 5.0) -> AsyncIterator[Site]:
    listeners = open_listeners("127.0.0.1", 0)
    site = Site(listeners[0].getsockname()[1], HttpServer(app, keep_alive=keep_alive), trio.Event())
    async with trio.open_nursery() as nursery:
        await nursery.start(site.server.serve, listeners, site.stop, shutdown)
        yield site
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def serving(
    bench: Bench | None = None, *, gate: Gate | None = None, keep_alive: float = 5.0
) -> AsyncIterator[Site]:
    """The whole service over a fake backend on a real socket; ends at once when the block does."""
    bench = bench or Bench()
    app, manager = bench.app(gate)
    shutdown = Shutdown(bench.calls.drain, bench.calls.deadlines.shorten)
    async with manager.run(), serving_app(app, shutdown, keep_alive=keep_alive) as site:
        yield site
