"""docs/tools.md: twenty requests, and every call that stands beside them made by a client, with real servers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import trio
from mcp import Client

from service.tools import research_tools
from tests.docs._blocks import ROOT
from tests.e2e._stage import FakenetProcess, fakenet_process, server_process

pytestmark = pytest.mark.filterwarnings("ignore:Async generator '(httpx2|httpcore2|mcp):ResourceWarning")

TEXT = (ROOT / "docs/tools.md").read_text()
Call = tuple[str, dict[str, Any]]


def table() -> list[tuple[str, Call, Call | None]]:
    """Request, research call, retrieval call where there is one."""
    rows = [line.strip("|").split(" | ") for line in TEXT.splitlines() if line.startswith("|")][2:]
    return [(request.strip(), parsed(research) or ("", {}), parsed(retrieval)) for request, research, retrieval in rows]


def parsed(cell: str) -> Call | None:
    match = re.fullmatch(r"`(\w+) (\{.*\})`", cell.strip())
    return (match[1], json.loads(match[2])) if match else None


@pytest.fixture(scope="module")
def net() -> Iterator[FakenetProcess]:
    with fakenet_process() as running:
        yield running


def test_there_are_twenty_requests_and_they_use_every_tool_and_parameter() -> None:
    rows = table()
    given: dict[str, set[str]] = {}
    for _, (tool, arguments), _ in rows:
        given.setdefault(tool, set()).update(arguments)

    assert len(rows) == len({request for request, _, _ in rows}) == 20
    assert set(given) == {tool.name for tool in research_tools(has_images=True)}
    parameters = {parameter.name for tool in research_tools(has_images=True) for parameter in tool.parameters}
    assert set().union(*given.values()) == parameters


async def test_every_call_of_the_research_toolset_gives_what_was_asked_for(net: FakenetProcess, tmp_path: Any) -> None:
    calls = [research for _, research, _ in table()]
    for (tool, arguments), data in zip(calls, await answers(net, tmp_path, calls), strict=True):
        check_research(tool, arguments, data)


async def test_every_call_of_the_retrieval_toolset_gives_what_was_asked_for(net: FakenetProcess, tmp_path: Any) -> None:
    calls = [retrieval for _, _, retrieval in table() if retrieval is not None]
    found = await answers(net, tmp_path, calls, TOOLSET="retrieval")

    assert len(calls) == 19
    for (tool, arguments), data in zip(calls, found, strict=True):
        check_retrieval(tool, arguments, data)


async def answers(net: FakenetProcess, directory: Any, calls: list[Call], **variables: str) -> list[Any]:
    """The structured answers of a server with these variables, one call after the other by one client."""
    environment = {
        "SEARXNG_URL": net.urls["searxng"],
        "SEARXNG_RATE": "none",
        "ALLOW_PRIVATE_NETWORK": "true",
        "EXTRACT_WORKERS": "1",
    }
    found = []
    with server_process(environment | variables, directory) as server:
        async with Client(server.mcp_url) as client:
            await client.list_tools()
            for tool, arguments in calls:
                with trio.fail_after(20):
                    result = await client.call_tool(tool, on_the_fake_web(arguments, net.urls["web"]))
                assert not result.is_error, (tool, arguments, result.content)
                found.append(result.structured_content)
    return found


def on_the_fake_web(arguments: dict[str, Any], web: str) -> dict[str, Any]:
    changed: dict[str, Any] = json.loads(json.dumps(arguments).replace("https://example.com", web))
    return changed


def check_research(tool: str, asked: dict[str, Any], data: Any) -> None:
    """Of the kind and number asked for. What the fake net finds is older than a day or a week, and then left out."""
    match tool:
        case "web_search" | "web_search_images":
            queries = asked["query"] if isinstance(asked["query"], list) else [asked["query"]]
            assert [result["query"] for result in data["results"]] == queries
            for result in data["results"]:
                found = result["hits" if tool == "web_search" else "images"]
                assert result["status"] == "success"
                assert found or "date" in asked
                assert len(found) <= asked.get("num_results", 8)
                assert asked.get("page") is None or found[0]["title"].endswith("part 11")
        case "search_and_read":
            assert data["status"] == "success"
            assert data["results"] or "date" in asked
            assert len(data["results"]) <= asked.get("num_results", 5)
            pages = [result["page"] for result in data["results"]]
            assert {page["status"] for page in pages} <= {"success"}
            assert all(len(page["markdown"]) <= asked.get("max_chars", 12_000) + 100 for page in pages)
        case "read_page":
            check_page(data, asked)
        case "read_pages":
            assert len(data["pages"]) == data["ok"] == len(asked["urls"])
            for page in data["pages"]:
                check_page(page, asked)


def check_page(page: Any, asked: dict[str, Any]) -> None:
    assert page["status"] == "success"
    assert page["offset"] == asked.get("offset", 0)
    assert 0 < len(page["markdown"]) <= asked.get("max_chars", 1_000_000) + 100
    assert page["truncated"] == (page["next_offset"] is not None) == ("max_chars" in asked)
    assert "](" not in page["markdown"] or not asked.get("remove_links")


def check_retrieval(tool: str, asked: dict[str, Any], data: Any) -> None:
    results = data["results"]
    assert [result["status"] for result in results] == ["success"] * len(asked.get("urls") or asked["queries"])
    for result in results:
        match tool:
            case "web_search":
                assert result["snippets"] or "date" in asked
                assert len(result["snippets"]) <= asked.get("max_results", 5)
            case "web_search_images":
                assert 0 < len(result["images"]) <= asked.get("max_images", 5)
            case "web_scrape":
                page = result["scraped_data"]
                assert 0 < len(page["markdown"]) <= asked.get("max_chars", 20_000) + 100
                assert page["truncated"] == ("max_chars" in asked)
                assert "](" not in page["markdown"] or not asked.get("remove_links")
