"""The fake internet without sockets, on a virtual clock: the same handlers behind clients that keep to memory.

For what is about order, time and numbers of calls; what sockets do is tested elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import trio

from actors.client import Guard
from actors.ledger import MemoryLedger
from actors.options import PipelineOptions
from actors.pipelines import Pipelines
from actors.results import ReadResult
from actors.row import Row
from actors.supervisor import open_supervisor
from providers._contract import Role, Target
from providers._workers import inline_workers
from service.instances import build
from service.settings import load_settings
from service.table import TABLE
from tests.fakenet import Answer, Request, Site, World, vendor

WEB = "https://site.example"
PAGE = f"{WEB}/article/type-k/1"
TIMEOUT = 55.0

Play = Callable[[Request], Answer | None]
"""What a remote does instead of answering by itself; None: it never answers."""


@dataclass(eq=False)
class MemoryNet:
    """Handlers by remote. `calls` counts requests, `left_at` has when a remote saw its caller leave."""

    types: Iterable[str]
    world: World = field(default_factory=lambda: World(WEB))
    handlers: dict[str, Any] = field(default_factory=dict)
    plays: dict[str, Play] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    seen: list[Request] = field(default_factory=list)
    left_at: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.handlers["web"] = Site(self.world)
        for name in self.types:
            self.handlers |= {remote: make(self.world) for remote, make in vendor(name).REMOTES.items()}

    @property
    def urls(self) -> dict[str, str]:
        return {name: f"https://{name}.fake.example" for name in self.handlers}

    def environment(self) -> dict[str, str]:
        merged: dict[str, str] = {}
        for name in self.types:
            merged |= vendor(name).environment(self.urls, "test-key")
        return merged

    def silence(self, remote: str) -> None:
        """From now on it reads requests and answers none."""
        self.plays[remote] = lambda request: None

    def answer(self, remote: str, answer: Answer) -> None:
        self.plays[remote] = lambda request: answer

    async def handle(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        name = host.removesuffix(".fake.example")
        name = name if name in self.handlers else "web"
        if "trace" in request.extensions:
            await request.extensions["trace"]("http11.send_request_headers.complete", {})
        headers = tuple((key.lower(), value) for key, value in request.headers.items())
        target = request.url.raw_path.decode()
        seen = Request(name, request.method, target, headers, await request.aread(), trio.current_time())
        self.calls[name] += 1
        self.seen.append(seen)
        try:
            answer = await self.perform(name, seen)
        except trio.Cancelled:
            self.left_at[name] = trio.current_time()
            raise
        sent = [("content-type", answer.content_type), *answer.headers]
        return httpx.Response(answer.status, content=answer.body, headers=sent)

    async def perform(self, name: str, seen: Request) -> Answer:
        """What the remote `name` answers, or nothing for ever."""
        answer = self.plays[name](seen) if name in self.plays else self.handlers[name](seen)
        await (trio.sleep_forever() if answer is None else trio.lowlevel.checkpoint())
        assert answer is not None
        return answer

    @asynccontextmanager
    async def client(self, row: Row) -> AsyncIterator[httpx.AsyncClient]:
        async with httpx.AsyncClient(transport=httpx.MockTransport(self.handle), timeout=None) as client:
            yield client


async def public(host: str, port: int) -> Sequence[str]:
    return ("93.184.216.34",)


@dataclass(eq=False)
class Readers:
    """The readers of a server with some settings, as its own table orders them."""

    net: MemoryNet
    pipelines: Pipelines

    async def read(self, url: str = PAGE, timeout: float = TIMEOUT) -> ReadResult:
        return await self.pipelines.read(Target(url), timeout=timeout, tell=lambda event, facts: None)


@asynccontextmanager
async def open_readers(*types: str, without: Iterable[str] = (), **settings: str) -> AsyncIterator[Readers]:
    """The local readers and those of `types`, without the instances `without`, as the service's table makes them."""
    net = MemoryNet(types)
    off = {f"{name.upper().replace('-', '_')}_ENABLED": "false" for name in without}
    # A walk asks one at a time; tasks that wait for nothing are most of what a test would cost.
    few = {f"{instance.prefix}_WORKERS": "2" for instance in TABLE}
    variables: Mapping[str, str] = net.environment() | few | off | settings
    configured = build(load_settings(variables))
    wanted = {*types, "trafilatura", "impersonate"}
    rows = [row for row in configured.rows if Role.READ in row.roles and row.type in wanted]
    guard = Guard(resolve=public)
    with inline_workers():
        async with open_supervisor(rows, ledger=MemoryLedger(), open_client=net.client) as supervisor:
            yield Readers(net, Pipelines(supervisor.refs, configured.orders, guard, PipelineOptions()))


def steps(result: ReadResult) -> list[tuple[str, str, Any]]:
    return [(step.instance, step.status, step.reason) for step in result.steps]
