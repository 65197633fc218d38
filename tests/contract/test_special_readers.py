"""Videos and papers over the whole walk: who is asked after whom, and who is never asked (SPEC section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest
import trio

from actors.client import Guard, open_client
from actors.ledger import MemoryLedger
from actors.options import Orders, PipelineOptions
from actors.pipelines import Pipelines
from actors.row import Row
from actors.supervisor import open_supervisor
from providers._contract import Role, Target
from providers._workers import inline_workers
from service.table import TABLE
from tests.fakenet import faults, open_fakenet, vendor
from tests.fakenet.youtube import BOT, GONE

NAMES = ("youtube", "supadata", "scholarly", "crawl4ai")
TIMEOUT = 10.0


async def public(host: str, port: int) -> Sequence[str]:
    return (host,) if host[0].isdigit() else ("93.184.216.34",)


def row(net, name: str) -> Row:
    declared = next(each for each in TABLE if each.name == name)
    pairs = [(urlsplit(net.urls[each]).hostname, urlsplit(net.urls[each]).port) for each in vendor(name).REMOTES]
    return Row(
        name=name,
        type=name,
        provider=vendor(name).build(net.urls, "no-secret"),
        roles=frozenset({Role.READ}),
        exempt=frozenset(pairs),
        paid=declared.paid,
        final=declared.final,
        reach=declared.reach,
        retries=0,
    )


@pytest.fixture
async def walk(ssl_context):
    @asynccontextmanager
    async def opened():
        guard = Guard(resolve=public)
        async with open_fakenet(NAMES) as net:
            rows = [row(net, name) for name in NAMES]
            with inline_workers():
                opening = open_supervisor(
                    rows, ledger=MemoryLedger(), open_client=lambda each: open_client(each, guard, ssl_context)
                )
                async with opening as supervisor:
                    yield net, Pipelines(supervisor.refs, Orders(read=NAMES), guard, PipelineOptions())

    return opened


async def read(pipelines: Pipelines, url: str):
    with trio.fail_after(TIMEOUT):
        return await pipelines.read(Target(url), timeout=TIMEOUT, tell=lambda event, facts: None)


async def test_video_is_read_without_asking_anybody_who_is_paid(walk):
    async with walk() as (net, pipelines):
        result = await read(pipelines, "https://youtu.be/dQw4w9WgXcQ")

        assert (result.status, result.provider) == ("success", "youtube")
        assert (net["youtube"].calls, net["supadata"].calls, net["crawl4ai"].calls) == (2, 0, 0)


async def test_video_refused_to_this_address_is_asked_of_supadata(walk):
    async with walk() as (net, pipelines):
        result = await read(pipelines, f"https://youtu.be/{BOT}")

        assert (result.status, result.provider) == ("success", "supadata")
        assert (net["youtube"].calls, net["supadata"].calls, net["crawl4ai"].calls) == (1, 1, 0)


async def test_video_that_both_fail_to_read_goes_to_nobody_else(walk):
    async with walk() as (net, pipelines):
        net["supadata"].play(faults.status(500))
        result = await read(pipelines, f"https://youtu.be/{BOT}")

        assert result.status == "failed"
        assert [step.instance for step in result.steps] == ["youtube", "supadata"]
        assert net["crawl4ai"].calls == 0


async def test_video_that_is_gone_costs_nothing(walk):
    async with walk() as (net, pipelines):
        result = await read(pipelines, f"https://youtu.be/{GONE}")

        assert result.status == "failed"
        assert net["supadata"].calls == 0


async def test_paper_without_an_open_copy_goes_on_to_ordinary_readers(walk):
    async with walk() as (net, pipelines):
        await read(pipelines, "https://doi.org/10.9999/closed")

        assert (net["arxiv"].calls, net["unpaywall"].calls, net["europepmc"].calls) == (0, 1, 1)
        assert net["crawl4ai"].calls == 1
