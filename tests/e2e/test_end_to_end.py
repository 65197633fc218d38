"""A real server process, the SDK's client over a real socket, and the fake internet behind it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import AsyncExitStack

import pytest
import trio
from mcp import Client

from tests.e2e._stage import bare_environment, free_port, server_process
from tests.fakenet import NOTHING

# The SDK's client leaves generators half read when a stream ends; nothing of ours does.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator '(httpx2|httpcore2|mcp):ResourceWarning")

TOOLS = {"search_and_read", "web_search", "read_page", "read_pages"}


def text_of(result) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


async def call(server, tool, **arguments):
    """One call by a client of its own; its structured content, or its text where it is an error."""
    with trio.fail_after(30):
        async with Client(server.mcp_url) as client:
            # Otherwise the client asks for it after the call, to check the answer, when the server may be gone.
            await client.list_tools()
            result = await client.call_tool(tool, arguments)
    return text_of(result) if result.is_error else result.structured_content


async def until(claim) -> None:
    """Wait until `claim()`, which asks the fake internet, is true."""
    with trio.fail_after(10):
        while not await trio.to_thread.run_sync(claim):
            await trio.lowlevel.checkpoint()


# --- answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_client_of_either_era_lists_the_tools(server, mode):
    async with Client(server.mcp_url, mode=mode) as client:
        tools = (await client.list_tools()).tools

    assert {tool.name for tool in tools} >= TOOLS
    assert all(tool.annotations.read_only_hint for tool in tools)


async def test_web_search_gives_the_hits_of_the_fake(server, net):
    answer = await call(server, "web_search", query="type k thermocouple", num_results=3)

    (result,) = answer["results"]
    assert result["status"] == "success"
    assert [hit["title"] for hit in result["hits"]] == [f"type k thermocouple: part {n}" for n in (1, 2, 3)]
    assert result["hits"][0]["sources"] == ["searxng"]
    assert result["hits"][0]["published"] == "2026-01-01"
    assert net.calls()["searxng"] == 1


async def test_read_page_gives_the_text_of_the_page(server, net):
    url = f"{net.urls['web']}/article/type-k/1"

    page = await call(server, "read_page", url=url)

    assert page["status"] == "success"
    assert page["title"] == "type k: part 1"
    assert "Where the sources contradict one another" in page["markdown"]
    assert "Imprint" not in page["markdown"]
    assert [request["target"] for request in net.requests("web")] == ["/article/type-k/1"]


async def test_search_and_read_brings_hits_with_their_pages(server):
    answer = await call(server, "search_and_read", query="platinum wire", num_results=2)

    assert [each["page"]["status"] for each in answer["results"]] == ["success", "success"]
    assert all("platinum wire" in each["page"]["markdown"] for each in answer["results"])


async def test_read_pages_reads_what_it_can_and_marks_the_rest(server, net):
    urls = [f"{net.urls['web']}/article/a/1", f"{net.urls['web']}/not-there"]

    answer = await call(server, "read_pages", urls=urls)

    assert [page["status"] for page in answer["pages"]] == ["success", "failed"]
    assert answer["ok"] == 1


async def test_query_that_finds_nothing_is_a_success_with_no_hits(server):
    answer = await call(server, "web_search", query=f"x {NOTHING}")

    assert answer["results"][0]["status"] == "success"
    assert answer["results"][0]["count"] == 0


async def test_one_failed_query_does_not_fail_the_others(server, net):
    net.play("searxng", "status", path="/search", times=1, code=500)

    answer = await call(server, "web_search", query=["one", "two"])

    assert sorted(result["status"] for result in answer["results"]) == ["failed", "success"]


# --- failures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "arguments", "reason"),
    [
        ("status", {"code": 500}, "unavailable"),
        ("html_page", {}, "malformed"),
        ("redirect", {"location": "https://elsewhere.example/"}, "malformed"),
    ],
)
async def test_failed_search_is_an_error_that_names_the_instance_and_the_reason(server, net, fault, arguments, reason):
    net.play("searxng", fault, **arguments)

    sentence = await call(server, "web_search", query="anything")

    assert isinstance(sentence, str)
    assert "searxng" in sentence
    assert reason in sentence or "500" in sentence or "search.formats" in sentence or "redirect" in sentence


async def test_page_that_is_not_there_is_an_error(server, net):
    sentence = await call(server, "read_page", url=f"{net.urls['web']}/missing")

    assert "404" in sentence or "not found" in sentence


async def test_slow_page_ends_with_the_calls_deadline(server, net):
    net.play("web", "silent")
    started = time.monotonic()

    answer = await call(server, "read_page", url=f"{net.urls['web']}/article/a/1", timeout_ms=1000)

    assert time.monotonic() - started < 3
    assert "timeout" in json.dumps(answer)


async def test_client_that_leaves_stops_the_outgoing_request_within_100_ms(server, net):
    net.play("web", "silent")
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(server.mcp_url))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.call_tool, "read_page", {"url": f"{net.urls['web']}/article/a/1"})
            await until(lambda: net.requests("web"))
            left = time.time()
            nursery.cancel_scope.cancel()
        await until(lambda: net.requests("web")[0]["disconnected_wall"] is not None)

    assert net.requests("web")[0]["disconnected_wall"] - left < 0.1


# --- operators --------------------------------------------------------------------------------------------------------


async def test_health_and_statistics_are_served(server):
    stats = server.get("/stats").json()

    assert server.get("/healthz").status_code == 200
    assert server.get("/readyz").status_code == 200
    assert server.get("/mcp").status_code == 405
    assert {"searxng", "trafilatura"} <= {actor["instance"] for actor in stats["actors"] if actor["state"] == "running"}


async def test_operators_own_remote_is_no_page_for_callers_and_says_when_its_next_slot_is(net, directory):
    environment = {"DUCKDUCKGO_BASE_URL": net.urls["duckduckgo"]}
    with server_process(environment, directory) as server:
        first = await call(server, "web_search", query="type k", page=2)
        refused = await call(server, "read_page", url=net.urls["duckduckgo"] + "/html/")
        second = await call(server, "web_search", query="type n", timeout_ms=2000)

    assert first["results"][0]["hits"][0]["title"] == "type k: part 11"
    assert [request["method"] for request in net.requests("duckduckgo")] == ["POST", "POST"]
    assert "address not allowed" in refused
    assert "duckduckgo" in second
    assert "throttled" in second


async def test_with_no_remote_at_all_the_server_says_so_in_time_and_goes_on(net, directory):
    nobody = f"http://127.0.0.1:{free_port()}"
    environment = {"SEARXNG_URL": nobody, "SEARXNG_RATE": "none", "ALLOW_PRIVATE_NETWORK": "true"}
    with server_process(environment, directory) as server:
        started = time.monotonic()
        for _ in range(2):
            assert "searxng" in await call(server, "web_search", query="anything")
            assert isinstance(await call(server, "read_page", url=nobody + "/page"), str)
        elapsed = time.monotonic() - started
        health = server.get("/healthz").status_code

    assert elapsed < 15
    assert health == 200


# A server whose dependencies print while they are imported, in Python and past it.
NOISY = """
import os, sys
class Noisy:
    def find_spec(self, name, path=None, target=None):
        if name in ("httpx", "mcp", "pydantic"):
            print("imported", name)
            os.write(1, b"imported too")
sys.meta_path.insert(0, Noisy())
from service.__main__ import main
main()
"""


async def test_server_over_stdio_answers_and_prints_nothing_else_however_noisy_its_dependencies(net, directory):
    directory.mkdir()
    environment = bare_environment(directory) | {"SEARXNG_URL": net.urls["searxng"], "ALLOW_PRIVATE_NETWORK": "true"}
    asked = [
        message("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "1"}),
        message("tools/list"),
        message("tools/call", name="web_search", arguments={"query": "type k"}),
    ]
    with trio.fail_after(60):
        process = await trio.lowlevel.open_process(
            [sys.executable, "-c", NOISY, "serve", "--stdio"],
            env=environment, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        async with process.stdin, process.stdout, process.stderr:
            await process.stdin.send_all(b"".join(asked))
            heard = b""
            while heard.count(b"\n") < len(asked):
                heard += await process.stdout.receive_some()
            await process.stdin.aclose()
            heard += b"".join([bytes(chunk) async for chunk in process.stdout])
            told = b"".join([bytes(chunk) async for chunk in process.stderr])
        code = await process.wait()

    results = {answer["id"]: answer["result"] for answer in map(json.loads, heard.splitlines())}
    assert results["initialize"]["serverInfo"]["name"] == "research-mcp"
    assert {tool["name"] for tool in results["tools/list"]["tools"]} >= TOOLS
    assert results["tools/call"]["structuredContent"]["results"][0]["status"] == "success"
    assert told.count(b"imported too") >= 3
    assert code == 0


def message(method: str, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}).encode() + b"\n"
