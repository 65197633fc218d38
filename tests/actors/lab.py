"""What the actor tests are made of: rows, a provider that does as told, and a supervisor around it."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import trio

from actors.ledger import Ledger, MemoryLedger
from actors.ref import Ref
from actors.row import Row
from actors.slots import OwnSlots, SlotsOf
from actors.supervisor import Supervisor, open_supervisor
from providers._contract import Found, Hit, ImageQuery, Page, Query, Ranking, RobotsQuery, Role, Target

ASKED = Query("trio")
FOUND = Found((Hit("https://trio.example/", "Trio"),))
WALL = 1_795_000_000.0  # 2026-11-18 11:06:40 UTC

Behaviour = Callable[[Any], Awaitable[Any]]


@dataclass(eq=False)
class Scripted:
    """Runs `script` items in turn, the last one for ever. An item is a value, an exception, or an async function."""

    script: list[Any] = field(default_factory=lambda: [FOUND])
    calls: list[float] = field(default_factory=list)
    jobs: list[Any] = field(default_factory=list)

    async def search(self, job: Query, client: httpx.AsyncClient) -> Any:
        self.calls.append(trio.current_time())
        self.jobs.append(job)
        item = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(item, BaseException):
            raise item
        return await item(job) if callable(item) else item

    async def search_images(self, job: ImageQuery, client: httpx.AsyncClient) -> Any:
        return await self.search(job, client)

    async def read(self, job: Target, client: httpx.AsyncClient) -> Any:
        return await self.search(job, client)

    async def robots(self, job: RobotsQuery, client: httpx.AsyncClient) -> Any:
        return await self.search(job, client)

    async def rerank(self, job: Ranking, client: httpx.AsyncClient) -> Any:
        return await self.search(job, client)

    def accepts(self, target: Target) -> bool:
        return target.url.endswith("/yes")


class Metered(Scripted):
    """Bills two units per call."""

    def units(self, job: Any) -> int:
        return 2


def takes(seconds: float, value: Any = FOUND) -> Behaviour:
    async def slowly(job: Any) -> Any:
        await trio.sleep(seconds)
        if isinstance(value, BaseException):
            raise value
        return value

    return slowly


def page(text: str = "words") -> Page:
    return Page("https://trio.example/", text)


def make_row(provider: Any = None, name: str = "acme", **fields: Any) -> Row:
    return Row(name, "acme", provider or Scripted(), frozenset({Role.SEARCH}), **fields)


@asynccontextmanager
async def no_client(row: Row) -> AsyncIterator[httpx.AsyncClient]:
    """A client that reaches nothing; scripted providers do not use it."""
    transport = httpx.MockTransport(lambda request: httpx.Response(599))
    async with httpx.AsyncClient(transport=transport, trust_env=False) as client:
        yield client


@asynccontextmanager
async def supervised(
    *rows: Row,
    ledger: Ledger | None = None,
    open_client: Any = no_client,
    seed: int = 1,
    wall: Any = lambda: WALL,
    slots_of: SlotsOf = OwnSlots,
) -> AsyncIterator[Supervisor]:
    async with open_supervisor(
        rows,
        ledger=ledger or MemoryLedger(),
        open_client=open_client,
        rng=random.Random(seed),
        wall=wall,
        slots_of=slots_of,
    ) as supervisor:
        yield supervisor


@asynccontextmanager
async def acting(provider: Any = None, *, ledger: Ledger | None = None, **fields: Any) -> AsyncIterator[Ref]:
    """One running actor around `provider`, as its ref."""
    async with supervised(make_row(provider, **fields), ledger=ledger) as supervisor:
        yield supervisor.refs["acme"]
