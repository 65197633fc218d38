"""A page that refuses the first fetch, from the walk down to the sockets."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx
import pytest
import trio

from actors.client import Guard, open_client
from actors.ledger import MemoryLedger
from actors.options import Orders, PipelineOptions
from actors.pipelines import Pipelines
from actors.row import Row
from actors.supervisor import open_supervisor
from providers._contract import Kind, Role, Target
from providers._workers import inline_workers
from tests.fakenet import Fakenet, closed_port, faults, open_fakenet, vendor

NAMES = ("trafilatura", "impersonate")
PAGE = "/article/type-k/1"


def untold(event: str, facts: Mapping[str, Any]) -> None:
    """Nobody waits to be told of progress here."""


@asynccontextmanager
async def open_reader(net: Fakenet, context: ssl.SSLContext) -> AsyncIterator[Pipelines]:
    guard = Guard(allow_private=True)

    def client(each: Row) -> AbstractAsyncContextManager[httpx.AsyncClient]:
        return open_client(each, guard, context)

    rows = [
        Row(
            name=name,
            type=name,
            provider=vendor(name).build(net.urls, "no-secret"),
            roles=frozenset({Role.READ}),
            reach="direct",
            has_breaker=False,
            retries=0,
            impersonate=name == "impersonate",
        )
        for name in NAMES
    ]
    with inline_workers():
        async with open_supervisor(rows, ledger=MemoryLedger(), open_client=client) as supervisor:
            yield Pipelines(supervisor.refs, Orders(read=NAMES), guard, PipelineOptions(min_chars=1))


@pytest.mark.parametrize(
    "refusal",
    [faults.status(403), faults.status(429), faults.status(451), faults.status(503), faults.challenge()],
)
async def test_a_refused_fetch_is_repeated_once_as_a_browser(refusal: Any, ssl_context: ssl.SSLContext) -> None:
    async with open_fakenet(NAMES) as net, open_reader(net, ssl_context) as reader:
        net["web"].play(refusal, times=1)

        result = await reader.read(Target(net.url("web", PAGE)), timeout=10, tell=untold)

        agents = [request.header("user-agent") for request in net["web"].requests]
    assert (result.status, result.provider) == ("success", "impersonate")
    assert "research-mcp" in agents[0]
    assert len(agents) == 2
    assert "research-mcp" not in agents[1]
    assert agents[1].startswith("Mozilla/5.0")


async def test_a_second_refusal_ends_it(ssl_context: ssl.SSLContext) -> None:
    async with open_fakenet(NAMES) as net, open_reader(net, ssl_context) as reader:
        net["web"].play(faults.status(403))

        result = await reader.read(Target(net.url("web", PAGE)), timeout=10, tell=untold)

        assert net["web"].calls == 2
    assert result.status == "failed"
    assert [step.reason for step in result.steps] == [Kind.BLOCKED, Kind.BLOCKED]


@pytest.mark.parametrize("status", [404, 410, 500])
async def test_what_is_no_refusal_is_not_repeated(status: int, ssl_context: ssl.SSLContext) -> None:
    async with open_fakenet(NAMES) as net, open_reader(net, ssl_context) as reader:
        net["web"].play(faults.status(status))

        await reader.read(Target(net.url("web", PAGE)), timeout=10, tell=untold)

        assert net["web"].calls == 1


async def test_a_host_that_cannot_be_reached_is_not_asked_again(ssl_context: ssl.SSLContext) -> None:
    async with open_fakenet(NAMES) as net, open_reader(net, ssl_context) as reader, closed_port() as nobody:
        result = await reader.read(Target(nobody + PAGE), timeout=10, tell=untold)

    assert [(step.instance, step.status) for step in result.steps if step.status != "skipped"] == [
        ("trafilatura", "failed")
    ]


async def test_a_call_that_is_left_while_it_impersonates_is_over_at_the_site_within_a_second(
    ssl_context: ssl.SSLContext,
) -> None:
    async with open_fakenet(NAMES) as net, open_reader(net, ssl_context) as reader:
        net["web"].play(faults.silent())
        net["web"].play(faults.status(403), times=1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: reader.read(Target(net.url("web", PAGE)), timeout=20, tell=untold))
            await net["web"].wait_for_call(2)
            left_at = trio.current_time()
            nursery.cancel_scope.cancel()
        with trio.fail_after(1):
            await net["web"].requests[-1].disconnected.wait()

        assert net["web"].requests[-1].disconnected_at - left_at < 1
