"""The HTTP side: one ASGI application with its routes, the gate in front of them, and the limits on request bodies."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import structlog
import trio
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from service.gate import Gate
from service.one_event import whole_if_large

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_REQUEST_BYTES = 1 << 20
REQUEST_SECONDS = 10.0
MAX_DISCARD_BYTES = 8 << 20
DISCARD_SECONDS = 1.0
REQUESTS_PER_PASS = 4

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Reply:
    """A small answer of ours. `close` ends the connection, since the rest of the request will not be read."""

    status: int
    body: bytes = b""
    content_type: bytes = b"application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()
    close: bool = False


def json_reply(status: int, value: Any, **fields: Any) -> Reply:
    return Reply(status, json.dumps(value, ensure_ascii=True).encode(), **fields)


def _error(status: int, sentence: str, **fields: Any) -> Reply:
    return json_reply(status, {"error": sentence}, **fields)


Page = Callable[[], Reply]


class HttpApp:
    """Routes requests: `POST <mcp_path>` to the SDK, GET to the pages, everything through the gate first.

    pages: path to a function that makes the answer at once, without waiting. open_pages: those that are exempt from
    the gate, for health checks that know no host name and no token. sign_in: what a path answers, with status 401, to
    who has no token, where that is more than a sentence.
    """

    def __init__(
        self,
        mcp: App,
        gate: Gate,
        pages: Mapping[str, Page],
        *,
        mcp_path: str = "/mcp",
        open_pages: frozenset[str],
        sign_in: Mapping[str, Reply] = MappingProxyType({}),
    ) -> None:
        self._mcp = mcp
        self._gate = gate
        self._pages = pages
        self._mcp_path = mcp_path.rstrip("/") or "/"
        self._open_pages = open_pages
        self._sign_in = sign_in
        self._turnstile = trio.CapacityLimiter(REQUESTS_PER_PASS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, method = scope["path"], scope["method"]
        reply = self._refusal(path, scope["headers"])
        if reply is not None:
            await _answer(reply, method, send)
        elif (path.rstrip("/") or "/") == self._mcp_path:
            await self._serve_mcp(scope, receive, send)
        elif path not in self._pages:
            await _answer(_error(404, "no such page"), method, send)
        elif method not in ("GET", "HEAD"):
            await _answer(_not_allowed(b"GET, HEAD"), method, send)
        else:
            await _answer(self._pages[path](), method, send)

    def _refusal(self, path: str, headers: list[tuple[bytes, bytes]]) -> Reply | None:
        if path in self._open_pages:
            return None
        names = {name for name, _ in headers}
        if {b"content-length", b"transfer-encoding"} <= names:
            return _error(400, "Content-Length and Transfer-Encoding exclude each other", close=True)
        refusal = self._gate.refusal(headers)
        if refusal is None:
            return None
        if refusal.status != 401:
            return _error(refusal.status, refusal.sentence, close=True)
        reply = self._sign_in.get(path) or _error(401, refusal.sentence)
        return replace(reply, status=401, headers=(*reply.headers, (b"www-authenticate", b"Bearer")), close=True)

    async def _serve_mcp(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await _answer(_not_allowed(b"POST"), scope["method"], send)
            return
        body = await _read_body(scope["headers"], receive)
        if body is None:
            return
        if isinstance(body, Reply):
            await _answer(body, "POST", send)
            return
        await self._take_turn()
        await self._mcp({**scope, "path": self._mcp_path}, _replay(body, receive), whole_if_large(send))

    async def _take_turn(self) -> None:
        """Let REQUESTS_PER_PASS requests on in one pass of the event loop, in the order they came.

        Trio runs every task that is ready before it looks at the clock again. Two hundred requests of one instant would
        go through each stage in step, half a millisecond each, and hold up everybody else for as long as all of them.
        """
        async with self._turnstile:
            await trio.lowlevel.checkpoint()


def _not_allowed(allowed: bytes) -> Reply:
    return _error(405, "method not allowed", headers=((b"allow", allowed),))


async def _read_body(headers: list[tuple[bytes, bytes]], receive: Receive) -> bytes | Reply | None:
    """The whole request body, or the answer that refuses it, or None where the client has gone.

    The SDK buffers 4 MiB without a time limit, so a thousand bodies that never end would hold a thousand
    descriptors for good (security/FACTS.md E6).
    """
    declared = next((value for name, value in headers if name == b"content-length"), b"0")
    body = bytearray()
    with trio.move_on_after(REQUEST_SECONDS):
        while int(declared) <= MAX_REQUEST_BYTES and len(body) <= MAX_REQUEST_BYTES:
            message = await receive()
            if message["type"] != "http.request":
                return None
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        if int(declared) > MAX_REQUEST_BYTES or len(body) > MAX_REQUEST_BYTES:
            await _discard(receive)
            return _error(413, "the request body is over 1 MiB", close=True)
        return bytes(body)
    return _error(408, "the request body did not come whole within 10 s", close=True)


async def _discard(receive: Receive) -> None:
    """Let a body that is too large run out for a moment, since closing on unread bytes resets the connection, and
    the client would not see our answer."""
    left = MAX_DISCARD_BYTES
    with trio.move_on_after(DISCARD_SECONDS):
        while left > 0:
            message = await receive()
            if not message.get("more_body", False):
                return
            left -= len(message.get("body", b""))


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body that was read already, then whatever follows: the client leaving."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return pending.pop() if pending else await receive()

    return replayed


async def _answer(reply: Reply, method: str, send: Send) -> None:
    headers = [
        (b"content-type", reply.content_type),
        (b"content-length", str(len(reply.body)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        *reply.headers,
    ]
    if reply.close:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else reply.body, "more_body": False})


def open_session_manager(server: Server[Any]) -> StreamableHTTPSessionManager:
    """The SDK's transport, stateless and answering with SSE: the only mode in which a client that leaves cancels
    its call in both protocol eras, and in which progress works (FACTS.md, decision 1).

    The SDK's own Host and Origin check is off, because the gate is stricter and stands in front of every route.
    """
    return StreamableHTTPSessionManager(
        app=server,
        stateless=True,
        json_response=False,
        max_request_body_size=MAX_REQUEST_BYTES,
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )


def warn_of_open_routes(gate: Gate, host: str, routes: tuple[str, ...]) -> None:
    """One line at start-up where anybody who reaches the port may use it."""
    if gate.token is None and not gate.is_local:
        _log.warning("no_bearer_token", host=host, open_routes=list(routes), hint="set MCP_BEARER_TOKEN")
