"""A real server that is told of a collector: each call of a tool and of a provider arrives there, without secrets."""

from __future__ import annotations

import pytest
import trio
from mcp import Client

from tests.e2e._stage import FakenetProcess, server_process
from tests.otlplab import Collector, attributes, collecting

pytestmark = pytest.mark.filterwarnings("ignore:Async generator '(httpx2|httpcore2|mcp):ResourceWarning")

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CANARY = "canary-key-0123456789"


async def search(url: str, mode: str) -> None:
    async with Client(url, mode=mode) as client:
        meta = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
        result = await client.call_tool("web_search", {"query": "type k thermocouple"}, meta=meta)
    assert not result.is_error


async def test_the_callers_trace_goes_on_through_the_tool_call_to_each_provider(net: FakenetProcess, directory) -> None:
    with collecting() as collector:
        environment = {
            "SEARXNG_URL": net.urls["searxng"],
            "SEARXNG_RATE": "none",
            "BRAVE_API_KEY": CANARY,
            "BRAVE_BASE_URL": net.urls["brave"],
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            "OTEL_EXPORTER_OTLP_HEADERS": f"api-key={CANARY}",
            "OTEL_SERVICE_NAME": "traced",
        }
        with server_process(environment, directory) as server, trio.fail_after(30):
            for mode in ("auto", "legacy"):
                await search(server.mcp_url, mode)
            assert await trio.to_thread.run_sync(server.stop) == 0
        check(collector)


def check(collector: Collector) -> None:
    tools = [span for span in collector.spans if span.name == "tools/call web_search"]
    calls = [span for span in collector.spans if span.name in ("search searxng", "search brave")]
    assert len(tools) == 2
    assert len(calls) == 4
    assert {(tool.trace_id.hex(), tool.parent_span_id.hex()) for tool in tools} == {(TRACE, PARENT)}
    for tool in tools:
        mine = [call for call in calls if call.parent_span_id == tool.span_id]
        assert {attributes(call)["research_mcp.instance"] for call in mine} == {"searxng", "brave"}
        assert all(tool.start_time_unix_nano <= call.start_time_unix_nano for call in mine)
        assert all(call.end_time_unix_nano <= tool.end_time_unix_nano for call in mine)
    assert collector.resource["service.name"] == "traced"
    assert all(headers["api-key"] == CANARY for _, headers, _ in collector.requests)
    bodies = b"".join(body for _, _, body in collector.requests)
    assert CANARY.encode() not in bodies
    assert b"thermocouple" not in bodies
