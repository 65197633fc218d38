"""The HTTP client of one instance: its own pools and proxy, the shared TLS context, nothing from the environment."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import httpx

from actors.backend import Backend
from actors.bodies import BodyBudget
from actors.guard import Guard
from actors.pool import Pool
from actors.proxies import Proxy
from actors.row import Row
from actors.transport import Transport

__all__ = ["Guard", "make_ssl_context", "open_client", "shared_ssl_context"]


def make_ssl_context() -> ssl.SSLContext:
    """A TLS context; building one costs some 50 ms. Verification is on, TLS 1.2 or newer.

    It trusts the authorities that httpx brings along, and those of the system, where an operator adds his own.
    """
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context


@cache
def shared_ssl_context() -> ssl.SSLContext:
    """The one TLS context of the process, which any thread may ask for first."""
    return make_ssl_context()


@asynccontextmanager
async def open_client(row: Row, guard: Guard, ssl_context: ssl.SSLContext) -> AsyncIterator[httpx.AsyncClient]:
    """The client of an instance, for its remote and, with the extension `from_caller`, for callers' addresses.

    It follows no redirect, keeps no cookie, and has no time-out of its own: every request lies in a scope with a
    deadline. Raises ValueError for a proxy's address that cannot be read.
    """
    proxy = Proxy.parse(row.proxy, rotates=row.proxy_sessions) if row.proxy else None
    transport: httpx.AsyncBaseTransport = _transport(row, *_backends(row, guard, proxy), guard.bodies, ssl_context)
    if row.side_remotes:
        transport = _ByRemote(transport, _sides(row, guard, ssl_context))
    async with Client(
        transport=transport,
        headers={"accept-encoding": "gzip, deflate"},
        trust_env=False,
        timeout=None,
    ) as client:
        yield client


class Client(httpx.AsyncClient):
    """A client that hands each request to its transport and does nothing besides.

    httpx's own way there looks for authentication, redirects, cookies and hooks; we use none of them, and they cost
    more than the request (130 of 290 microseconds). Nothing sets a cookie here, so no page can leave one for the
    next caller to find.
    """

    def __init__(self, *, transport: httpx.AsyncBaseTransport, **settings: Any) -> None:
        super().__init__(transport=transport, **settings)
        self._straight = transport.handle_async_request

    async def send(self, request: httpx.Request, *, stream: bool = False, **_unused: Any) -> httpx.Response:
        """Send `request`; the answer is read whole unless it is to be a `stream`. Raises what the transport raises."""
        response = await self._straight(request)
        response.request = request
        if not stream:
            try:
                await response.aread()
            except BaseException:
                await response.aclose()
                raise
        return response


def _backends(row: Row, guard: Guard, proxy: Proxy | None) -> tuple[Backend, Backend]:
    """For the vendor's address, and for addresses from callers."""
    return Backend(guard, exempt=row.exempt, proxy=proxy, names_to_proxy=True), Backend(guard, proxy=proxy)


def _sides(row: Row, guard: Guard, ssl_context: ssl.SSLContext) -> dict[str, httpx.AsyncBaseTransport]:
    """A transport by the name of each second remote."""
    proxies = {side.name: Proxy.parse(side.proxy) if side.proxy else None for side in row.side_remotes}
    return {
        name: _plain(row, *_backends(row, guard, proxy), guard.bodies, ssl_context) for name, proxy in proxies.items()
    }


def _transport(
    row: Row, vendor: Backend, caller: Backend, bodies: BodyBudget, ssl_context: ssl.SSLContext
) -> httpx.AsyncBaseTransport:
    if row.impersonate:
        # 40 MB of library, loaded where an instance uses it.
        from actors.impersonating import ImpersonatingTransport, authorities_of
        from actors.profiles import known_profiles

        return ImpersonatingTransport(
            vendor,
            caller,
            bodies,
            profiles=known_profiles(),
            authorities=authorities_of(ssl_context),
            threads=row.workers,
        )
    return _plain(row, vendor, caller, bodies, ssl_context)


def _plain(row: Row, vendor: Backend, caller: Backend, bodies: BodyBudget, ssl_context: ssl.SSLContext) -> Transport:
    vendor_pool, caller_pool = (Pool(each, ssl_context, workers=row.workers) for each in (vendor, caller))
    return Transport(vendor_pool, caller_pool, bodies)


class _ByRemote(httpx.AsyncBaseTransport):
    """The instance's own transport, and beside it one for each remote that has a way of its own."""

    def __init__(self, own: httpx.AsyncBaseTransport, sides: Mapping[str, httpx.AsyncBaseTransport]) -> None:
        self._own = own
        self._sides = sides

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        transport = self._sides.get(request.extensions.get("remote", ""), self._own)
        return await transport.handle_async_request(request)

    async def aclose(self) -> None:
        for transport in (self._own, *self._sides.values()):
            await transport.aclose()
