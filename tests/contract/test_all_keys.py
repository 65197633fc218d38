"""Every search vendor at once, with the service's own table: who is asked, and what is said when money runs out."""

from __future__ import annotations

import re
import ssl
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import httpx
import trio

from actors.client import Guard, open_client
from actors.ledger import MemoryLedger
from actors.options import Orders, PipelineOptions
from actors.pipelines import Pipelines
from actors.results import MergedHit, SearchResult
from actors.row import Row
from actors.supervisor import open_supervisor
from providers._contract import Kind, Query, Role
from providers._workers import inline_workers
from service.calling import Desk, call_tool
from service.instances import build
from service.progress import silent
from service.settings import load_settings
from service.tools import research_tools
from tests.fakenet import Fakenet, Request, World, faults, open_fakenet
from tests.fakenet.brave import Brave

TIMEOUT = 15.0
HOUR = 3600.0
GROUP = ("tavily-1", "tavily-2", "tavily-3")


@asynccontextmanager
async def open_search(net: Fakenet, context: ssl.SSLContext) -> AsyncIterator[tuple[Pipelines, Orders]]:
    """The pipelines that a server with every key makes of the table, with their orders."""
    configured = build(load_settings(net.environment()))
    guard = Guard(allow_private=True)

    def client(row: Row) -> AbstractAsyncContextManager[httpx.AsyncClient]:
        return open_client(row, guard, context)

    rows = [row for row in configured.rows if Role.SEARCH in row.roles]
    with inline_workers():
        async with open_supervisor(rows, ledger=MemoryLedger(), open_client=client) as supervisor:
            yield Pipelines(supervisor.refs, configured.orders, guard, PipelineOptions()), configured.orders


async def search(pipelines: Pipelines, text: str = "type k range") -> SearchResult[MergedHit]:
    return await pipelines.search(Query(text, limit=8), timeout=TIMEOUT, tell=silent)


def single(orders: Orders) -> set[str]:
    """The instances of the order that stand in no group."""
    return {entry for entry in orders.search if isinstance(entry, str)}


def spend_all(net: Fakenet) -> None:
    """Every account is out of credit, each refusal in the vendor's own words where its fake keeps accounts."""
    for remote in net.remotes.values():
        remote.play(faults.status(402))


def searches(net: Fakenet, remote: str) -> int:
    return sum(request.path != "/v1/rerank" for request in net[remote].requests)


async def test_one_search_asks_each_account_once_and_one_of_the_group(ssl_context):
    async with open_fakenet() as net, open_search(net, ssl_context) as (pipelines, orders):
        result = await search(pipelines)

        assert GROUP in orders.search
        assert {report.instance: report.status for report in result.reports} == dict.fromkeys(
            single(orders) | {"tavily-1"}, "ok"
        )
        asked_alone = set(net.remotes) & single(orders)
        assert {name: searches(net, name) for name in asked_alone | {"tavily"}} == dict.fromkeys(
            asked_alone | {"tavily"}, 1
        )

    assert result.status == "success"
    assert len(result.hits) == 8
    # All fakes tell of the same pages, so the first hit was found by everybody.
    assert {"brave", "tavily-1", "serper", "exa"} <= set(result.hits[0].sources)


async def test_second_account_is_asked_in_the_same_call_when_the_first_has_no_credit(ssl_context):
    async with open_fakenet() as net, open_search(net, ssl_context) as (pipelines, _):
        net["tavily"].handler.credits["test-key-1"] = 0
        first = await search(pipelines)
        keys = [request.header("authorization") for request in net["tavily"].requests]
        net["tavily"].forget()
        second = await search(pipelines)
        later = [request.header("authorization") for request in net["tavily"].requests]

    reports = {report.instance: report for report in first.reports}
    assert (reports["tavily-1"].status, reports["tavily-1"].reason) == ("failed", Kind.QUOTA_SPENT)
    assert reports["tavily-2"].status == "ok"
    assert "tavily-3" not in reports
    assert keys == ["Bearer test-key-1", "Bearer test-key-2"]
    # The account without credit is left alone from then on.
    assert later == ["Bearer test-key-2"]
    assert second.status == "success"


async def test_five_slow_vendors_hold_nobody_up_beyond_the_straggler_rule(ssl_context):
    slow = {"brave", "serper", "exa", "linkup", "xmlriver"}
    async with open_fakenet() as net, open_search(net, ssl_context) as (pipelines, _):
        for name in slow:
            net[name].play(faults.silent())
        result = await search(pipelines)

    assert result.status == "success"
    assert {report.instance for report in result.reports if report.status == "late"} == slow
    # At least 2 s are given; beyond them, as long again as half of the others took.
    assert 2.0 <= result.elapsed < 5.0


async def test_ten_queries_at_once_never_trip_a_limit_of_one_a_second(autojump_clock):
    world = World(web="https://web.example")
    brave, results = Brave(world), []
    brave.pause = 1.0
    configured = build(load_settings({"BRAVE_API_KEY": "test-key", "DUCKDUCKGO_ENABLED": "false"}))
    rows = [row for row in configured.rows if row.name == "brave"]

    async def answer(request: httpx.Request) -> httpx.Response:
        headers = tuple((name.lower(), value) for name, value in request.headers.items())
        seen = Request("brave", request.method, request.url.raw_path.decode(), headers, b"", trio.current_time())
        given = brave(seen)
        return httpx.Response(given.status, content=given.body)

    @asynccontextmanager
    async def client(row: Row) -> AsyncIterator[httpx.AsyncClient]:
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
            yield client

    with inline_workers():
        async with (
            open_supervisor(rows, ledger=MemoryLedger(), open_client=client) as supervisor,
            trio.open_nursery() as nursery,
        ):
            pipelines = Pipelines(supervisor.refs, configured.orders, Guard(), PipelineOptions())

            async def ask(text: str) -> None:
                results.append(await search(pipelines, text))

            for number in range(10):
                nursery.start_soon(ask, f"query {number}")

    # It is the only instance, so the queries beyond its patience wait for a slot as well.
    assert [result.status for result in results] == ["success"] * 10
    assert (2000 - brave.quota, brave.trips) == (10, 0)


async def test_every_vendor_says_out_of_credit_in_its_own_way_and_is_understood(ssl_context):
    async with open_fakenet() as net, open_search(net, ssl_context) as (pipelines, _):
        net["brave"].handler.quota = 0
        net["tavily"].handler.default_credits = 0
        net["tavily"].handler.is_pay_as_you_go = True
        net["xmlriver"].handler.money = 0
        for name in ("serper", "exa", "linkup", "firecrawl", "youcom"):
            net[name].handler.credits = 0
        result = await search(pipelines)

    spent = {report.instance for report in result.reports if report.reason is Kind.QUOTA_SPENT}
    assert spent == {"brave", *GROUP, "xmlriver", "serper", "exa", "linkup", "firecrawl", "youcom"}
    assert result.status == "success"


async def test_with_all_accounts_spent_the_error_says_which_and_until_when(ssl_context):
    async with open_fakenet() as net, open_search(net, ssl_context) as (pipelines, orders):
        spend_all(net)
        began_at = trio.current_time()
        result = await search(pipelines)
        net.forget()
        spend_all(net)
        (tool,) = (each for each in research_tools(has_images=True) if each.name == "web_search")
        answer = await call_tool(tool, Desk(pipelines), {"query": "again"}, silent)
        calls = sum(remote.calls for name, remote in net.remotes.items() if name not in ("searxng",))

    paid = {*single(orders), *GROUP} - {"searxng"}
    reports = {report.instance: report for report in result.reports}
    assert result.status == "failed"
    assert {name for name, report in reports.items() if report.reason is Kind.QUOTA_SPENT} >= paid
    assert all(abs(reports[name].retry_at - began_at - HOUR) < 60 for name in paid)
    assert calls == 0
    assert answer.is_error
    for name in paid:
        assert re.search(rf"{name}\b[^;]*\b3[56]\d\d\b", answer.text), (name, answer.text)
