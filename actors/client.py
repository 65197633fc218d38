"""The HTTP client of one instance: its own pools and proxy, the shared TLS context, nothing from the environment."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar
from typing import Any

import httpx

from actors.backend import Backend
from actors.bodies import BodyBudget
from actors.guard import Guard
from actors.pool import Pool
from actors.proxies import Proxy
from actors.row import Row
from actors.transport import Transport

__all__ = ["Guard", "make_ssl_context", "open_client"]


def make_ssl_context() -> ssl.SSLContext:
    """The one TLS context of the process; building one costs some 50 ms. Verification is on, TLS 1.2 or newer.

    It trusts the authorities that httpx brings along, and those of the system, where an operator adds his own.
    """
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context


@asynccontextmanager
async def open_client(row: Row, guard: Guard, ssl_context: ssl.SSLContext) -> AsyncIterator[httpx.AsyncClient]:
    """The client of an instance, for its remote and, with the extension `from_caller`, for callers' addresses.

    It follows no redirect, keeps no cookie, and has no time-out of its own: every request lies in a scope with a
    deadline. Raises ValueError for a proxy's address that cannot be read.
    """
    proxy = Proxy.parse(row.proxy, rotates=row.proxy_sessions) if row.proxy else None
    vendor = Backend(guard, exempt=row.exempt, proxy=proxy, names_to_proxy=True)
    caller = Backend(guard, proxy=proxy)
    transport = _transport(row, vendor, caller, guard.bodies, ssl_context)
    async with httpx.AsyncClient(
        transport=transport,
        headers={"accept-encoding": "gzip, deflate"},
        cookies=_NoCookies(),
        trust_env=False,
        follow_redirects=False,
        timeout=None,  # noqa: S113 - the deadline is a scope, and the transport demands one
    ) as client:
        yield client


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
    vendor_pool, caller_pool = (Pool(each, ssl_context, workers=row.workers) for each in (vendor, caller))
    return Transport(vendor_pool, caller_pool, bodies)


class _NoCookies(CookieJar):
    """Keeps nothing: a page must not find at the next caller what it left at the last."""

    def extract_cookies(self, response: Any, request: Any) -> None:
        pass
