"""TOOLSET=retrieval through the SDK's client: over both transports, and every sentence of SPEC section 10."""

from __future__ import annotations

import json
import sys

import jsonschema
import pytest
import trio
from mcp import Client, StdioServerParameters

from actors.results import Report
from providers._contract import Kind
from service.arguments import Limits
from service.calling import ToolOptions
from service.retrieval import retrieval_tools
from service.settings import RetrievalLimits
from tests.e2e._stage import bare_environment, free_port, server_process
from tests.service.desk import Bench, FakeBackend, unfound, unread
from tests.service.serverlab import serving

pytestmark = pytest.mark.filterwarnings("ignore:Async generator '(httpx2|httpcore2|mcp):ResourceWarning")


def calls(web: str):
    return {
        "web_search": {"queries": ["type k", "type j"], "max_results": 3},
        "web_search_images": {"queries": ["type k"], "max_images": 2},
        "web_scrape": {"urls": [f"{web}/article/type-k/1", f"{web}/nowhere"], "max_chars": 200},
    }


async def check(client: Client, web: str) -> None:
    """Each tool does its work, and what it answers holds to its own schema."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools) == ["web_search", "web_search_images", "web_scrape"]
    found = {}
    for name, arguments in calls(web).items():
        result = await client.call_tool(name, arguments)
        assert not result.is_error, result.content
        jsonschema.validate(result.structured_content, tools[name].output_schema)
        assert json.loads(result.content[0].text) == result.structured_content
        found[name] = result.structured_content["results"]
    assert [each["status"] for each in found["web_search"]] == ["success", "success"]
    assert [each["count"] for each in found["web_search"]] == [3, 3]
    assert len(found["web_search_images"][0]["images"]) == 2
    page, missing = found["web_scrape"]
    assert (page["status"], page["scraped_data"]["truncated"]) == ("success", True)
    assert (missing["status"], missing["scraped_data"]) == ("page not found", None)
    denied = await client.call_tool("web_scrape", {"urls": [f"{web}/article/type-k/1"] * 11})
    assert (denied.is_error, denied.content[0].text) == (True, "too many urls")


def variables(net) -> dict[str, str]:
    return {
        "TOOLSET": "retrieval",
        "SEARXNG_URL": net.urls["searxng"],
        "SEARXNG_RATE": "none",
        "ALLOW_PRIVATE_NETWORK": "true",
    }


async def test_all_three_tools_over_http_on_the_port_of_that_contract(net, directory):
    with server_process(variables(net) | {"SERVER_PORT": str(free_port())}, directory) as server, trio.fail_after(60):
        for mode in ("auto", "legacy"):
            async with Client(server.mcp_url, mode=mode) as client:
                await check(client, net.urls["web"])
        stats = server.get("/stats").json()

    assert stats["service"]["toolset"] == "retrieval"
    assert stats["service"]["calls"]["web_scrape"]["total"] == 4


async def test_all_three_tools_over_stdio(net, directory):
    directory.mkdir()
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "service", "serve", "--stdio"],
        env=bare_environment(directory) | variables(net),
        cwd=directory,
    )
    with trio.fail_after(60):
        async with Client(parameters) as client:
            await check(client, net.urls["web"])


def broken(query):
    raise ZeroDivisionError


def backend() -> FakeBackend:
    """Nothing works, each in the way that its words ask for."""
    return FakeBackend(
        on_search=lambda query: (
            broken(query) if query.text == "bug" else unfound(Report("searxng", "failed", Kind.UNAVAILABLE))
        ),
        on_read=lambda target: (
            unread(target.url, reason=Kind.REFUSED, detail="robots.txt denied")
            if "secret" in target.url
            else unread(target.url, reason=Kind.UNAVAILABLE)
        ),
    )


SENTENCES = [
    ("web_search", {"queries": []}, "invalid request"),
    ("web_search", {"queries": ["q"] * 11}, "too many queries"),
    ("web_scrape", {"urls": ["https://a.example/"] * 11}, "too many urls"),
    ("web_search", {"queries": [""]}, "query must not be empty"),
    ("web_search", {"queries": ["q" * 600]}, "query is too long"),
    ("web_scrape", {"urls": ["gopher://a.example/"]}, "invalid url"),
    ("web_scrape", {"urls": ["https://a.example/secret"], "robots_txt": True}, "robots.txt denied"),
    (
        "web_scrape",
        {"urls": ["https://a.example/"]},
        "every url failed to be scraped; the pages may be unreachable or hold no extractable text",
    ),
    ("web_search", {"queries": ["q"]}, "every query failed; the search upstream may be unreachable"),
    ("web_search", {"queries": ["bug"]}, "internal server error"),
]


async def test_a_client_hears_every_sentence_of_the_contract():
    tools = retrieval_tools(RetrievalLimits(5, 20, 5, 10, 20_000, 20_000, 2, 2), has_images=True)
    options = ToolOptions(Limits(10, 1000, 10_000, 5000), read_batch_max_chars=0, response_max_chars=0)
    bench = Bench(backend(), tools=tools, options=options)
    heard = []
    with trio.fail_after(30):
        async with serving(bench) as site, Client(site.url) as client:
            for tool, arguments, _ in SENTENCES:
                result = await client.call_tool(tool, arguments)
                assert result.is_error
                heard.append(result.content[0].text)
            # A shutdown has begun; this client's connection is still there.
            bench.calls.drain()
            last = await client.call_tool("web_search", {"queries": ["q"]})

    assert heard == [sentence for _, _, sentence in SENTENCES]
    assert last.content[0].text == "request canceled"
