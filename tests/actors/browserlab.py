"""Clients on the impersonating transport, with servers on loopback behind invented names.

libcurl connects by itself, so there is no wire to lead elsewhere: names resolve to loopback, and the guard lets private
addresses through, or a proxy of the tests takes every connection.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import httpx
import pytest
import trio

from actors.client import Guard, open_client
from providers._contract import ProviderError
from tests.actors.certificates import authority
from tests.actors.netlab import Names, Serve, make_row, over_tls, read_head, server
from tests.actors.proxylab import ProxyLab

HOST = "a.example.com"
CALLER = {"from_caller": True}


@lru_cache
def trust() -> Any:
    return authority().trusting_nobody_else()


@dataclass
class Site:
    """Answers every request with the same bytes, and keeps the heads."""

    pieces: tuple[bytes, ...]
    heads: list[str] = field(default_factory=list)

    async def __call__(self, stream: trio.abc.Stream) -> None:
        while head := await read_head(stream):
            self.heads.append(head.decode("latin-1"))
            for piece in self.pieces:
                await stream.send_all(piece)

    @property
    def headers(self) -> list[dict[str, str]]:
        return [headers_of(head) for head in self.heads]


def headers_of(head: str) -> dict[str, str]:
    lines = [line.partition(": ") for line in head.split("\r\n")[1:] if line]
    return {name.lower(): value for name, _, value in lines}


def site(*pieces: bytes) -> Site:
    return Site(pieces)


@asynccontextmanager
async def browser(
    serve: Serve, *, scheme: str = "http", guard: Guard | None = None, **row: Any
) -> AsyncIterator[tuple[httpx.AsyncClient, str]]:
    """An impersonating client, and the address of `serve` under the name `HOST`."""
    if scheme == "https":
        serve = over_tls(authority().server(HOST), serve)
    async with server(serve) as port:
        guard = guard or Guard(allow_private=True, resolve=Names(default=("127.0.0.1",)))
        async with open_client(make_row(impersonate=True, **row), guard, trust()) as client:
            with trio.fail_after(10):
                yield client, f"{scheme}://{HOST}:{port}"


@asynccontextmanager
async def behind_proxy(
    scheme: str, lab: ProxyLab, *, login: str = "", guard: Guard | None = None, **row: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """An impersonating client, unless `row` says otherwise, whose connections go through `lab`."""
    async with server(lab.http if scheme == "http" else lab.socks) as port:
        fields = {"impersonate": True, "proxy": f"{scheme}://{login}127.0.0.1:{port}", **row}
        async with open_client(make_row(**fields), guard or Guard(resolve=Names()), trust()) as client:
            with trio.fail_after(10):
                yield client


async def failure(client: httpx.AsyncClient, url: str, **extensions: Any) -> tuple[type[Any], str]:
    """The class of the typed error behind what a request raises, and the text of both."""
    with pytest.raises(httpx.RequestError) as caught:
        await client.get(url, extensions=extensions)
    cause = caught.value.__cause__
    assert isinstance(cause, ProviderError)
    assert str(caught.value) == cause.detail
    return type(cause), cause.detail
