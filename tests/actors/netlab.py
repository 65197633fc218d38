"""A small network for the transport's tests: guards with invented DNS, and servers in memory or on loopback."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import httpx
import trio

from actors.client import Guard, make_ssl_context, open_client
from actors.row import Row

Serve = Callable[[trio.abc.Stream], Awaitable[None]]
PUBLIC = "93.184.215.14"


@dataclass
class Names:
    """A resolver of a test: what each name has for addresses, and what was asked."""

    table: Mapping[str, Sequence[str]] = field(default_factory=dict)
    default: Sequence[str] = (PUBLIC,)
    asked: list[str] = field(default_factory=list)

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        await trio.lowlevel.checkpoint()
        return self.table.get(host, self.default)


@dataclass
class Wires:
    """Leads every connection to one server, whatever the address, and remembers the addresses."""

    connect: Callable[[int], Awaitable[trio.abc.Stream]]
    dialled: list[tuple[str, int]] = field(default_factory=list)

    async def __call__(self, address: str, port: int) -> trio.abc.Stream:
        self.dialled.append((address, port))
        return await self.connect(port)


@asynccontextmanager
async def server(serve: Serve) -> AsyncIterator[int]:
    """A server on loopback; yields its port."""

    async def quietly(stream: trio.abc.Stream) -> None:
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await serve(stream)

    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, quietly, listeners)
        try:
            yield listeners[0].socket.getsockname()[1]
        except Exception as error:
            # Carried past the nursery, which would wrap it in a group.
            failure = error
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure


def to_loopback(port: int) -> Wires:
    async def connect(_: int) -> trio.abc.Stream:
        return await trio.open_tcp_stream("127.0.0.1", port)

    return Wires(connect)


@asynccontextmanager
async def client_of(
    serve: Serve, *, names: Names | None = None, trust: ssl.SSLContext | None = None, **row: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """A client whose every connection leads to `serve` on loopback."""
    async with server(serve) as port:
        guard = Guard(resolve=names or Names(), dial=to_loopback(port))
        async with open_client(make_row(**row), guard, trust or plain_context()) as client:
            yield client


def make_row(**fields: Any) -> Row:
    return Row(**{"name": "lab", "type": "lab", "provider": None, "roles": frozenset(), **fields})


@lru_cache
def plain_context() -> ssl.SSLContext:
    return make_ssl_context()


def over_tls(context: ssl.SSLContext, serve: Serve) -> Serve:
    async def handler(stream: trio.abc.Stream) -> None:
        async with trio.SSLStream(stream, context, server_side=True, https_compatible=True) as secure:
            await serve(secure)

    return handler


async def read_head(stream: trio.abc.Stream) -> bytes:
    """One request without a body, or b"" where the client has gone."""
    head = b""
    while b"\r\n\r\n" not in head:
        chunk = bytes(await stream.receive_some(65536))
        if not chunk:
            return b""
        head += chunk
    return head


def answer(body: bytes = b"ok", status: int = 200, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def always(*pieces: bytes) -> Serve:
    """Answers every request on a connection with the same bytes."""

    async def serve(stream: trio.abc.Stream) -> None:
        while await read_head(stream):
            for piece in pieces:
                await stream.send_all(piece)

    return serve


def once(*pieces: bytes) -> Serve:
    """Answers one request and closes."""

    async def serve(stream: trio.abc.Stream) -> None:
        async with stream:
            await read_head(stream)
            for piece in pieces:
                await stream.send_all(piece)

    return serve
