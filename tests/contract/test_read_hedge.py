"""A read whose first tier hangs, on real sockets: the next free tier answers, and who lost is seen to have left."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import httpx
import trio

from actors.client import Guard, open_client
from actors.ledger import MemoryLedger
from actors.options import PipelineOptions
from actors.pipelines import Pipelines
from actors.row import Row
from actors.supervisor import open_supervisor
from providers._contract import Role, Target
from providers._workers import inline_workers
from service.instances import build
from service.settings import load_settings
from tests.contract.test_refused_fetch import untold
from tests.fakenet import Fakenet, faults, open_fakenet

TYPES = ("trafilatura", "impersonate", "jina", "crawl4ai", "tavily", "firecrawl", "brightdata")
REMOTES = ("jina-reader", "crawl4ai", "tavily", "firecrawl", "brightdata")
PAGE = "/article/type-k/1"
OURS, IMPERSONATED = 0.1, 1.0
"""Seconds within which a remote sees that its caller has left."""


@asynccontextmanager
async def open_readers(
    net: Fakenet, context: ssl.SSLContext, hedge_after: float, without: Iterable[str] = ()
) -> AsyncIterator[Pipelines]:
    off = {f"{name.upper()}_ENABLED": "false" for name in without}
    configured = build(load_settings(net.environment(*TYPES) | off))
    guard = Guard(allow_private=True)

    def client(row: Row) -> AbstractAsyncContextManager[httpx.AsyncClient]:
        return open_client(row, guard, context)

    rows = [row for row in configured.rows if Role.READ in row.roles and row.type in TYPES]
    options = PipelineOptions(hedge_after=hedge_after)
    with inline_workers():
        async with open_supervisor(rows, ledger=MemoryLedger(), open_client=client) as supervisor:
            yield Pipelines(supervisor.refs, configured.orders, guard, options)


async def left_after(net: Fakenet, remote: str, since: float) -> float:
    """Seconds from `since` until the remote's last caller was seen to have left."""
    request = net[remote].requests[-1]
    with trio.fail_after(2):
        await request.disconnected.wait()
    assert request.disconnected_at is not None
    return request.disconnected_at - since


async def test_loser_of_a_hedge_is_seen_to_leave_and_nobody_is_paid(ssl_context):
    async with open_fakenet(TYPES) as net, open_readers(net, ssl_context, 0.1, without=["jina"]) as readers:
        net["web"].play(faults.silent())
        result = await readers.read(Target(net.url("web", PAGE)), timeout=10, tell=untold)
        ended_at = trio.current_time()

        assert await left_after(net, "web", ended_at) < OURS
        assert (result.status, result.provider) == ("success", "crawl4ai")
        assert 0.1 <= result.elapsed < 0.1 + 3
        assert [net[name].calls for name in REMOTES] == [0, 1, 0, 0, 0]


async def test_deadline_ends_a_read_that_hangs_everywhere_and_each_remote_sees_it(ssl_context):
    async with open_fakenet(TYPES) as net, open_readers(net, ssl_context, 0.05) as readers:
        for name in ("web", *REMOTES):
            net[name].play(faults.silent())
        began_at = trio.current_time()
        result = await readers.read(Target(net.url("web", PAGE)), timeout=0.5, tell=untold)
        ended_at = trio.current_time()

        asked = [name for name in ("web", *REMOTES) if net[name].calls]
        assert [await left_after(net, name, ended_at) < OURS for name in asked] == [True] * len(asked)
        assert "crawl4ai" in asked
        assert result.status == "timeout"
        assert ended_at - began_at < 0.5 + 0.2


async def test_deadline_ends_an_impersonated_transfer(ssl_context):
    async with open_fakenet(TYPES) as net, open_readers(net, ssl_context, 5, without=["jina", "crawl4ai"]) as readers:
        net["web"].play(faults.silent())
        net["web"].play(faults.status(403), times=1)
        began_at = trio.current_time()
        result = await readers.read(Target(net.url("web", PAGE)), timeout=0.6, tell=untold)
        ended_at = trio.current_time()

        assert net["web"].calls == 2
        assert await left_after(net, "web", began_at + 0.6) < IMPERSONATED
        assert ended_at - began_at < 0.6 + IMPERSONATED
        assert result.status == "timeout"
