"""Actors, pipelines and providers together over real sockets, one remote healthy and one in trouble (FACTS, D1)."""

from __future__ import annotations

import dataclasses
import random
import ssl
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from urllib.parse import urlsplit

import httpx
import pytest
import trio

from actors.client import Guard, open_client
from actors.ledger import MemoryLedger
from actors.options import Orders, PipelineOptions
from actors.pipelines import Pipelines
from actors.row import Row
from actors.supervisor import open_supervisor
from providers._contract import Query, Role
from providers._workers import inline_workers
from tests.contract._trials import BODIES, CONNECTION, RATE_LIMITS, STATUSES
from tests.fakenet import Fakenet, faults, open_fakenet, vendor

TIMEOUT = 10.0
TROUBLE = tuple(
    trial.fault
    for trial in (*CONNECTION, *STATUSES, *RATE_LIMITS, *BODIES)
    if trial.name not in ("11 MB of JSON", "20 MB", "gzip bomb")
)


def untold(event: str, facts: dict[str, str | int]) -> None:
    """Nobody waits to be told of progress here."""


def row(net: Fakenet, name: str) -> Row:
    url = urlsplit(net.urls[name])
    return Row(
        name=name,
        type=name,
        provider=vendor(name).build(net.urls, "no-secret"),
        roles=frozenset({Role.SEARCH}),
        exempt=frozenset({(url.hostname or "", url.port or 0)}),
    )


@asynccontextmanager
async def open_search(net: Fakenet, context: ssl.SSLContext, *names: str) -> AsyncIterator[Pipelines]:
    guard = Guard()

    def client(each: Row) -> AbstractAsyncContextManager[httpx.AsyncClient]:
        return open_client(each, guard, context)

    rows = [row(net, name) for name in names]
    with inline_workers():
        async with open_supervisor(rows, ledger=MemoryLedger(), open_client=client) as supervisor:
            yield Pipelines(supervisor.refs, Orders(search=names), guard, PipelineOptions())


@pytest.mark.parametrize("calls", [150, pytest.param(1000, marks=pytest.mark.soak)])
async def test_every_search_succeeds_while_one_of_two_instances_is_in_trouble(ssl_context, calls):
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    failed = []
    async with (
        open_fakenet(["searxng", "duckduckgo"]) as net,
        open_search(net, ssl_context, "searxng", "duckduckgo") as pipelines,
    ):
        for number in range(calls):
            net["searxng"].heal()
            net["searxng"].play(chance.choice(TROUBLE))
            result = await pipelines.search(Query(f"type k {number}"), timeout=TIMEOUT, tell=untold)
            if result.status != "success" or not result.hits:
                failed.append(result)

    assert failed == []


async def test_instance_that_recovers_is_asked_again_within_its_breakers_time(ssl_context):
    async with open_fakenet(["searxng"]) as net, open_search(net, ssl_context, "searxng") as pipelines:
        net["searxng"].play(faults.status(500), times=2)  # the call and its retry
        first = await pipelines.search(Query("one"), timeout=TIMEOUT, tell=untold)
        second = await pipelines.search(Query("two"), timeout=TIMEOUT, tell=untold)

    assert first.status == "failed"
    assert second.status == "success"


async def test_outage_asks_the_remote_only_until_the_breaker_opens(ssl_context):
    async with open_fakenet(["searxng"]) as net, open_search(net, ssl_context, "searxng") as pipelines:
        net["searxng"].play(faults.status(500))
        for number in range(50):
            await pipelines.search(Query(f"query {number}"), timeout=TIMEOUT, tell=untold)

        # Five counted faults, each of which may have been tried twice.
        assert 5 <= net["searxng"].calls <= 10


async def test_each_worker_has_a_connection_of_its_own(ssl_context):
    async with open_fakenet(["searxng"]) as net:
        net["searxng"].play(faults.silent())
        one = dataclasses.replace(row(net, "searxng"), workers=150)
        async with open_client(one, Guard(), ssl_context) as client, trio.open_nursery() as nursery:
            nursery.cancel_scope.deadline = trio.current_time() + TIMEOUT
            for number in range(150):
                nursery.start_soon(one.provider.search, Query(f"query {number}"), client)
            await net["searxng"].wait_for_call(150)
            waiting = net["searxng"].open_connections
            nursery.cancel_scope.cancel()

    assert waiting == 150


async def test_slow_straggler_is_cancelled_at_its_remote_and_reported_late(ssl_context):
    async with open_fakenet(["searxng", "duckduckgo"]) as net:
        net["searxng"].play(faults.silent())
        async with open_search(net, ssl_context, "searxng", "duckduckgo") as pipelines:
            result = await pipelines.search(Query("type k", limit=5), timeout=TIMEOUT, tell=untold)
            with trio.fail_after(1):
                await net["searxng"].requests[-1].disconnected.wait()

    assert result.status == "success"
    assert {report.instance: report.status for report in result.reports} == {"searxng": "late", "duckduckgo": "ok"}
