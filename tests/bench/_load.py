"""A load generator for the benchmark: N connections, each with one call at a time, over bare sockets.

An SDK client costs more than the server it would measure, so the requests are those of one, written out.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import trio

MODERN, LEGACY = "2026-07-28", "2025-11-25"


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call, in the protocol of `era`."""

    tool: str
    arguments: Mapping[str, Any]
    era: str = MODERN

    def request(self, port: int) -> bytes:
        params: dict[str, Any] = {"name": self.tool, "arguments": dict(self.arguments)}
        if self.era == MODERN:
            params["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        head = (
            f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\naccept: application/json, text/event-stream\r\n"
            f"content-type: application/json\r\nmcp-protocol-version: {self.era}\r\nmcp-method: tools/call\r\n"
            f"mcp-name: {self.tool}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


@dataclass(eq=False, slots=True)
class Figures:
    """What one run of load gave. Latencies in seconds."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    errors: int = 0
    sample: str = ""

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds if self.seconds else 0.0

    def quantile(self, share: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else float("nan")


async def load(port: int, call: Call, *, connections: int, seconds: float, rate: float | None = None) -> Figures:
    """Keep `connections` calls running for `seconds`; at most `rate` calls per second where one is given."""
    figures = Figures()
    started = time.perf_counter()
    end = started + seconds
    async with trio.open_nursery() as nursery:
        for _ in range(connections):
            nursery.start_soon(_caller, port, call, end, figures, connections / rate if rate else 0.0)
    figures.seconds = time.perf_counter() - started
    return figures


async def burst(port: int, call: Call, count: int) -> Figures:
    """`count` calls at once, one each."""
    figures = Figures()
    started = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for _ in range(count):
            nursery.start_soon(_caller, port, call, started, figures)
    figures.seconds = time.perf_counter() - started
    return figures


async def _caller(port: int, call: Call, end: float, figures: Figures, interval: float = 0.0) -> None:
    """Calls, at least one, until `end`; one in `interval` seconds at most."""
    request = call.request(port)
    async with Connection(port) as connection:
        while True:
            started = time.perf_counter()
            status, body = await connection.ask(request)
            figures.latencies.append(time.perf_counter() - started)
            if status != 200 or b'"isError":true' in body.replace(b": ", b":"):
                figures.errors += 1
                figures.sample = body[-300:].decode("utf-8", "replace")
            if time.perf_counter() >= end:
                return
            await trio.sleep(max(0.0, started + interval - time.perf_counter()))


class Connection:
    """One keep-alive connection to a server on loopback; opened anew when the server has closed it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._stream: trio.SocketStream | None = None
        self._buffer = b""

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close()

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Status and whole body of the answer to `request`."""
        try:
            head = await self._head(request)
        except (ConnectionError, trio.BrokenResourceError):
            # A server ends a connection after a thousand requests; that is not the next one's fault.
            await self._close()
            head = await self._head(request)
        status = int(head[9:12])
        if b"transfer-encoding: chunked" in head:
            return status, await self._chunks()
        size = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0] or b"0")
        return status, await self._take(size)

    async def _close(self) -> None:
        if self._stream is not None:
            await self._stream.aclose()
        self._stream, self._buffer = None, b""

    async def _head(self, request: bytes) -> bytes:
        if self._stream is None:
            self._stream = await trio.open_tcp_stream("127.0.0.1", self._port)
        await self._stream.send_all(request)
        return (await self._until(b"\r\n\r\n")).lower()

    async def _chunks(self) -> bytes:
        body = b""
        while size := int(await self._until(b"\r\n"), 16):
            body += (await self._take(size + 2))[:-2]
        await self._take(2)
        return body

    async def _until(self, mark: bytes) -> bytes:
        while (end := self._buffer.find(mark)) < 0:
            await self._more()
        found, self._buffer = self._buffer[:end], self._buffer[end + len(mark) :]
        return found

    async def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            await self._more()
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    async def _more(self) -> None:
        assert self._stream is not None
        data = await self._stream.receive_some(65536)
        if not data:
            raise ConnectionError("the server closed the connection")
        self._buffer += data


@dataclass(eq=False, slots=True)
class Stalls:
    """How long a small request took at worst while something else was going on, in seconds."""

    longest: float = 0.0
    asked: int = 0


async def watch_stalls(port: int, stalls: Stalls) -> None:
    """Ask /healthz every 5 ms, until cancelled: it waits for nothing but the event loop."""
    request = f"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n".encode()
    while True:
        async with Connection(port) as connection:
            # Fewer than the server answers on one connection.
            for _ in range(500):
                started = time.perf_counter()
                await connection.ask(request)
                stalls.longest = max(stalls.longest, time.perf_counter() - started)
                stalls.asked += 1
                await trio.sleep(0.005)
