"""HTTP/1.1 as a server speaks it, byte by byte: what the fake remotes listen with.

A library would refuse to send most of what a fault test needs to send, so requests are read and answers are written
here by hand. Only what clients of ours send is understood: one request at a time, `Content-Length` or chunked bodies.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import trio

MAX_HEAD_BYTES = 65536
REASONS = {
    200: "OK", 202: "Accepted", 204: "No Content", 206: "Partial Content", 301: "Moved Permanently", 302: "Found",
    303: "See Other", 304: "Not Modified", 307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request",
    401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    408: "Request Timeout", 410: "Gone", 418: "I'm a teapot", 422: "Unprocessable Content", 429: "Too Many Requests",
    451: "Unavailable For Legal Reasons", 500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
    503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported",
}  # fmt: skip


@dataclass(eq=False, slots=True)
class Request:
    """One request a fake remote received. What ends in `_at` is on trio's clock, what ends in `wall` is Unix time.

    `disconnected_at` and `disconnected_wall` are set when the client went away before it had the whole answer.
    """

    remote: str
    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    at: float
    wall: float = field(default_factory=time.time)
    disconnected_at: float | None = None
    disconnected_wall: float | None = None
    answered_at: float | None = None
    disconnected: trio.Event = field(default_factory=trio.Event)

    @property
    def path(self) -> str:
        return unquote(urlsplit(self.target).path)

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def form(self) -> dict[str, str]:
        """The fields of a form-encoded body."""
        return dict(parse_qsl(self.body.decode("utf-8", "replace"), keep_blank_values=True))

    @property
    def json(self) -> Any:
        """The body as JSON. Raises ValueError for anything else."""
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        """The first header called `name` (lower case), None where there is none."""
        return next((value for key, value in self.headers if key == name), None)

    def gone(self) -> None:
        """Note that the client went away; only the first call counts."""
        if self.disconnected_at is None and self.answered_at is None:
            self.disconnected_at, self.disconnected_wall = trio.current_time(), time.time()
            self.disconnected.set()


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: the body with its honest `Content-Length`, unless a fault does something else with it."""

    status: int = 200
    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()

    def head(self, *framing: tuple[str, str]) -> bytes:
        """Status line and headers, with the headers `framing` instead of the true `Content-Length` if given."""
        lines = [f"HTTP/1.1 {self.status} {REASONS.get(self.status, 'Unknown')}"]
        if self.content_type:
            lines.append(f"content-type: {self.content_type}")
        lines += [f"{name}: {value}" for name, value in self.headers]
        lines += [f"{name}: {value}" for name, value in framing or (("content-length", str(len(self.body))),)]
        return "\r\n".join(lines).encode("utf-8") + b"\r\n\r\n"

    def raw(self) -> bytes:
        return self.head() + self.body

    def with_headers(self, *headers: tuple[str, str]) -> Answer:
        return replace(self, headers=self.headers + headers)


def as_json(value: Any, status: int = 200, *headers: tuple[str, str]) -> Answer:
    """`value` as a JSON answer, the way most vendors send it."""
    return Answer(status, json.dumps(value, ensure_ascii=False).encode(), "application/json", headers)


def as_html(text: str, status: int = 200, *headers: tuple[str, str]) -> Answer:
    return Answer(status, text.encode(), "text/html; charset=utf-8", headers)


def as_text(text: str, status: int = 200, *headers: tuple[str, str]) -> Answer:
    return Answer(status, text.encode(), "text/plain; charset=utf-8", headers)


@dataclass(eq=False, slots=True)
class Wire:
    """The server's end of one connection, for a fault to do with as it likes."""

    stream: trio.SocketStream
    request: Request
    keep_alive: bool = True

    async def send(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def answer(self, answer: Answer) -> None:
        """Send `answer` whole and correctly."""
        await self.stream.send_all(answer.head() if self.request.method == "HEAD" else answer.raw())

    async def close(self) -> None:
        """End the connection in the ordinary way (FIN)."""
        self.keep_alive = False
        self.request.answered_at = trio.current_time()
        await self.stream.aclose()

    async def reset(self) -> None:
        """End the connection with a RST."""
        self.stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await self.close()


async def serve_connection(
    stream: trio.SocketStream, remote: str, perform: Callable[[Wire, Request], Any], record: Callable[[Request], None]
) -> None:
    """Answer the requests of one connection until either side ends it."""
    buffer = bytearray()
    try:
        while (request := await _read_request(stream, buffer, remote)) is not None:
            record(request)
            wire = Wire(stream, request)
            await _perform_and_watch(wire, request, buffer, perform)
            if not wire.keep_alive or request.disconnected_at is not None:
                return
    except (trio.BrokenResourceError, trio.ClosedResourceError, ValueError):
        return
    finally:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + 1):
            await stream.aclose()


async def _perform_and_watch(
    wire: Wire, request: Request, buffer: bytearray, perform: Callable[[Wire, Request], Any]
) -> None:
    """Let `perform` answer, and meanwhile notice at once when the client goes away."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_watch, wire.stream, request, buffer, nursery.cancel_scope)
        try:
            await perform(wire, request)
            request.answered_at = request.answered_at or trio.current_time()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            request.gone()
            wire.keep_alive = False
        nursery.cancel_scope.cancel()


async def _watch(stream: trio.SocketStream, request: Request, buffer: bytearray, scope: trio.CancelScope) -> None:
    try:
        while data := await stream.receive_some(65536):
            buffer += data
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        pass
    request.gone()
    scope.cancel()


async def _read_request(stream: trio.SocketStream, buffer: bytearray, remote: str) -> Request | None:
    while (end := buffer.find(b"\r\n\r\n")) < 0:
        if len(buffer) > MAX_HEAD_BYTES or not await _more(stream, buffer):
            return None
        if not buffer[:1].isalpha():  # a TLS handshake, say
            await stream.send_all(Answer(400, content_type="").raw())
            return None
    lines = bytes(buffer[:end]).decode("latin-1").split("\r\n")
    del buffer[: end + 4]
    at = trio.current_time()
    method, target, _ = lines[0].split(" ", 2)
    headers = tuple(_header(line) for line in lines[1:])
    body = await _read_body(stream, buffer, dict(headers))
    return None if body is None else Request(remote, method, target, headers, body, at)


def _header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip().lower(), value.strip()


async def _read_body(stream: trio.SocketStream, buffer: bytearray, headers: dict[str, str]) -> bytes | None:
    if "chunked" in headers.get("transfer-encoding", ""):
        return await _read_chunks(stream, buffer)
    size = int(headers.get("content-length", "0"))
    return await _take(stream, buffer, size)


async def _read_chunks(stream: trio.SocketStream, buffer: bytearray) -> bytes | None:
    body = b""
    while True:
        while (end := buffer.find(b"\r\n")) < 0:
            if not await _more(stream, buffer):
                return None
        size = int(bytes(buffer[:end]).split(b";")[0], 16)
        del buffer[: end + 2]
        chunk = await _take(stream, buffer, size + 2)
        if chunk is None or size == 0:
            return None if chunk is None else body
        body += chunk[:-2]


async def _take(stream: trio.SocketStream, buffer: bytearray, size: int) -> bytes | None:
    while len(buffer) < size:
        if not await _more(stream, buffer):
            return None
    data = bytes(buffer[:size])
    del buffer[:size]
    return data


async def _more(stream: trio.SocketStream, buffer: bytearray) -> bool:
    data = await stream.receive_some(65536)
    buffer += data
    return bool(data)
