"""A server process speaks every revision of the protocol that clients use, as each of them is written."""

from __future__ import annotations

import json
from typing import Any

import httpx
import jsonschema
import pytest
import trio
from mcp import Client

from tests.e2e._stage import ServerProcess

# The SDK's client leaves generators half read when a stream ends; nothing of ours does.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator '(httpx2|httpcore2|mcp):ResourceWarning")

LEGACY = ("2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
SEARCH = {"name": "web_search", "arguments": {"query": "type k", "num_results": 2}}
# What only results of the newer era carry.
NEWER = {"resultType", "ttlMs", "cacheScope"}


def post(server: ServerProcess, revision: str | None, method: str, params: dict[str, Any], **more: Any) -> Any:
    """One request as the revision has it: the newer era says in each who asks, and names the call in headers."""
    headers = {"accept": "application/json, text/event-stream"}
    if revision is not None:
        headers["mcp-protocol-version"] = revision
    if revision not in (None, *LEGACY):
        told = {"protocolVersion": revision, "clientCapabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        params = {**params, "_meta": {f"io.modelcontextprotocol/{name}": value for name, value in told.items()}}
        headers |= {"mcp-method": method} | ({"mcp-name": params["name"]} if "name" in params else {})
    message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    with httpx.Client(trust_env=False, timeout=10) as client:
        return client.post(server.mcp_url, json=message, headers=headers | more.get("headers", {}))


def message_of(response: httpx.Response) -> dict[str, Any]:
    """The JSON-RPC message of an answer, which is one object or the last event of a stream."""
    message: dict[str, Any] = json.loads(response.text.rpartition("data: ")[2])
    assert message["id"] == 7
    return message


def result_of(response: httpx.Response) -> dict[str, Any]:
    assert response.status_code == 200
    result: dict[str, Any] = message_of(response)["result"]
    return result


def searched(result: dict[str, Any], listed: dict[str, Any]) -> list[str]:
    """The titles that a search found, in an answer that is what the tool's own schema promises."""
    (tool,) = [tool for tool in listed["tools"] if tool["name"] == SEARCH["name"]]
    jsonschema.validate(SEARCH["arguments"], tool["inputSchema"])
    jsonschema.validate(result["structuredContent"], tool["outputSchema"])
    assert not result.get("isError")
    (found,) = result["structuredContent"]["results"]
    return [hit["title"] for hit in found["hits"]]


@pytest.mark.parametrize("revision", LEGACY)
def test_a_revision_with_handshake_is_agreed_on_and_served(server, revision):
    hello = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}

    agreed = result_of(post(server, None, "initialize", hello))
    noted = post(server, revision, "notifications/initialized", {}).status_code
    listed = result_of(post(server, revision, "tools/list", {}))
    result = result_of(post(server, revision, "tools/call", SEARCH))

    assert agreed["protocolVersion"] == revision
    assert agreed["serverInfo"]["name"] == "research-mcp"
    assert agreed["capabilities"].keys() == {"tools"}
    assert agreed["instructions"]
    assert noted in (200, 202)
    assert searched(result, listed) == ["type k: part 1", "type k: part 2"]
    assert not NEWER & (listed.keys() | result.keys())
    assert result_of(post(server, revision, "ping", {})) == {}


def test_the_revision_without_handshake_is_discovered_and_served(server):
    discovered = result_of(post(server, MODERN, "server/discover", {}))
    listed = result_of(post(server, MODERN, "tools/list", {}))
    result = result_of(post(server, MODERN, "tools/call", SEARCH))

    assert MODERN in discovered["supportedVersions"]
    assert discovered["capabilities"].keys() == {"tools"}
    assert discovered["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "research-mcp"
    assert searched(result, listed) == ["type k: part 1", "type k: part 2"]
    assert (listed["resultType"], result["resultType"]) == ("complete", "complete")
    assert (listed["cacheScope"], discovered["cacheScope"]) == ("public", "public")
    assert min(listed["ttlMs"], discovered["ttlMs"]) > 0


def test_a_handshake_for_an_unknown_revision_offers_one_that_is_served(server):
    hello = {"protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}

    assert result_of(post(server, None, "initialize", hello))["protocolVersion"] in LEGACY


def test_a_request_that_names_no_revision_is_taken_for_an_older_one(server):
    assert result_of(post(server, None, "tools/call", SEARCH))["structuredContent"]["results"]


def test_a_request_of_an_unknown_revision_is_told_those_that_are_served(server):
    response = post(server, "2999-01-01", "tools/list", {})

    error = message_of(response)["error"]
    assert (response.status_code, error["code"]) == (400, -32022)
    assert MODERN in error["data"]["supported"]


def test_a_call_whose_headers_and_body_differ_is_refused(server):
    response = post(server, MODERN, "tools/call", SEARCH, headers={"mcp-name": "read_page"})

    assert (response.status_code, message_of(response)["error"]["code"]) == (400, -32020)


@pytest.mark.parametrize(("revision", "method"), [("2025-11-25", "GET"), ("2025-11-25", "DELETE"), (MODERN, "GET")])
def test_there_is_no_session_to_listen_to_or_to_end(server, revision, method):
    with httpx.Client(trust_env=False, timeout=10) as client:
        response = client.request(method, server.mcp_url, headers={"mcp-protocol-version": revision})

    assert (response.status_code, response.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(("mode", "revision"), [("legacy", "2025-11-25"), (MODERN, MODERN), ("auto", MODERN)])
async def test_the_sdks_client_agrees_on_the_newest_revision_of_its_era(server, mode, revision):
    with trio.fail_after(20):
        async with Client(server.mcp_url, mode=mode) as client:
            agreed = client.session.protocol_version
            result = await client.call_tool("web_search", {"query": "type k"})

    assert agreed == revision
    assert not result.is_error
