"""MCP over standard input and output, with a clean end on EOF, SIGTERM and SIGINT; see pipes.py for stray prints.

The SDK reads stdin in a thread, which neither a signal nor a cancelled scope ends before the next line comes
(FACTS.md 2.5), so the pipes are read and written by trio itself here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Self, cast

import structlog
import trio
from anyio import AsyncFile
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from service.pipes import Pipes
from service.server import settle_garbage_collector, signals_set

_log = structlog.get_logger()

_READ_BYTES = 1 << 16
# One message of a client; the SDK would buffer a line without end.
MAX_LINE_BYTES = 4 << 20


class _Pipe:
    """A descriptor read and written by trio; leaving the block closes it."""

    def __init__(self, descriptor: int) -> None:
        self._stream = trio.lowlevel.FdStream(descriptor)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await trio.aclose_forcefully(self._stream)


class Lines(_Pipe):
    """The lines that come in on a descriptor. The SDK only iterates over it."""

    async def __aiter__(self) -> AsyncIterator[str]:
        buffer = bytearray()
        while chunk := await self._stream.receive_some(_READ_BYTES):
            buffer += chunk
            if b"\n" not in chunk and len(buffer) <= MAX_LINE_BYTES:
                continue
            *lines, rest = buffer.split(b"\n")
            for line in lines:
                yield line.decode("utf-8", "replace")
            # A line that is too long becomes a parse error for its sender, and the pipe goes on.
            buffer = rest if len(rest) <= MAX_LINE_BYTES else bytearray(b"?")
        if buffer.strip():
            yield buffer.decode("utf-8", "replace")


class Writer(_Pipe):
    """Writes to a descriptor. A client that has closed its end is no error here: EOF on stdin follows."""

    async def write(self, text: str) -> None:
        try:
            await self._stream.send_all(text.encode("utf-8", "replace"))
        except trio.BrokenResourceError:
            _log.info("stdout_closed")

    async def flush(self) -> None:
        await trio.lowlevel.checkpoint()


async def serve_stdio(server: Server[Any], pipes: Pipes) -> None:
    """Serve the client behind `pipes`, and close them, until it closes its end, or SIGTERM or SIGINT comes.

    Calls that run at that moment are cancelled: nobody is there to take their answers.
    """
    settle_garbage_collector()
    stop = trio.Event()
    with signals_set(stop):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_cancel_on, stop, nursery.cancel_scope)
            async with Lines(pipes.source) as lines, Writer(pipes.sink) as writer:
                streams = stdio_server(cast(AsyncFile[str], lines), cast(AsyncFile[str], writer))
                async with streams as (incoming, outgoing):
                    await server.run(incoming, outgoing, server.create_initialization_options())
            nursery.cancel_scope.cancel()


async def _cancel_on(stop: trio.Event, scope: trio.CancelScope) -> None:
    await stop.wait()
    _log.info("stopping")
    scope.cancel()
