"""The other yardstick: the same pipeline without actors, on asyncio, uvicorn, one httpx client and a pool of processes.

What a good engineer would write in an afternoon, and no more: no throttle, quota, breaker, deadline, address guard,
cancellation or statistics. Parsing, sanitising, merging, wording and extraction are ours, so that what differs is the
runtime. `python -m tests.bench.plain_server PORT SEARCH_URL`; the one file where asyncio may be imported.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import secrets
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Annotated, Any

import httpx
import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, TextContent

from actors.merge import Listing, merge_hits
from actors.results import MergedHit, ReadResult, Report, SearchResult, Step
from providers._contract import Document, Page
from providers._extract import to_page
from providers._json import digest_now
from providers._sanitise import clean_hits
from providers.searxng import HEADERS, parse_hits
from service import answers
from service.answers import Frame, Read, Searched
from service.paging import cut
from service.texts import Texts

MAX_CHARS = 1_000_000
TEXTS = Texts("en")


def frame(seconds: float) -> Frame:
    return Frame(TEXTS, time.monotonic(), seconds, secrets.token_hex(8))


def answer(text: str, data: dict[str, Any]) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=data, is_error=False)


def page_of(url: str, body: bytes, content_type: str) -> Page:
    """In a process of the pool: what our workers do."""
    return to_page(Document(url, url, body, content_type))


def make_server(search_url: str, client: httpx.AsyncClient, processes: ProcessPoolExecutor) -> MCPServer:
    server = MCPServer("plain", version="0", subscriptions=False)

    @server.tool()
    async def web_search(query: str, num_results: int = 8) -> Annotated[CallToolResult, dict[str, Any]]:
        """Search the web."""
        began = time.monotonic()
        reply = await client.get(search_url, params={"q": query, "format": "json"}, headers=HEADERS)
        reply.raise_for_status()
        hits = clean_hits(digest_now(reply.content, parse_hits)[:num_results])
        merged: tuple[MergedHit, ...] = merge_hits([Listing("searxng", hits)])
        took = time.monotonic() - began
        reports = (Report("searxng", "ok", count=len(hits), elapsed=took),)
        searched = Searched(SearchResult(query, "success", merged[:num_results], reports, took))
        shown = frame(15.0)
        return answer(answers.hits_text(searched, shown), {"results": [answers.hits_data(searched, shown)]})

    @server.tool()
    async def read_page(url: str, max_chars: int = MAX_CHARS) -> Annotated[CallToolResult, dict[str, Any]]:
        """Read a page."""
        began = time.monotonic()
        reply = await client.get(url)
        reply.raise_for_status()
        loop = asyncio.get_running_loop()
        page = await loop.run_in_executor(processes, page_of, url, reply.content, reply.headers["content-type"])
        took = time.monotonic() - began
        steps = (Step("plain", "ok", elapsed=took),)
        result = ReadResult(url, "success", page, "plain", page.notes, steps, None, None, took)
        read = Read(url, result, cut(page.markdown, 0, max_chars), page.notes)
        shown = frame(55.0)
        return answer(answers.page_text(read, shown), answers.page_data(read, shown))

    return server


async def run(port: int, search_url: str) -> None:
    limits = httpx.Limits(max_connections=1000, max_keepalive_connections=100)
    with ProcessPoolExecutor(os.cpu_count()) as processes:
        async with httpx.AsyncClient(trust_env=False, timeout=30, limits=limits) as client:
            app = make_server(search_url, client, processes).streamable_http_app(stateless_http=True)
            config = uvicorn.Config(app, port=port, log_level="error", timeout_keep_alive=75, lifespan="on")
            gc.collect()
            gc.freeze()
            await uvicorn.Server(config).serve()


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    asyncio.run(run(int(sys.argv[1]), sys.argv[2]))
