"""The yardstick of the benchmark: one empty tool on the bare SDK, on the HTTP server that ours runs on."""

from __future__ import annotations

import logging
import sys

import trio
from mcp.server.mcpserver import MCPServer

from service.app import open_session_manager
from service.server import HttpServer, Shutdown, open_listeners, settle_garbage_collector


def make_server() -> MCPServer:
    server = MCPServer("bare", version="0", subscriptions=False)

    @server.tool()
    async def empty() -> str:
        """Does nothing."""
        return "done"

    return server


async def run(port: int) -> None:
    manager = open_session_manager(make_server()._lowlevel_server)
    async with manager.run():

        async def app(scope, receive, send):
            await manager.handle_request(scope, receive, send)

        settle_garbage_collector()
        nothing = Shutdown(refuse=lambda: None, hurry=lambda instant: None)
        await HttpServer(app, keep_alive=75).serve(open_listeners("127.0.0.1", port), trio.Event(), nothing)


if __name__ == "__main__":
    # The SDK logs a line per call, ours does not let it.
    logging.disable(logging.WARNING)
    trio.run(run, int(sys.argv[1]))
