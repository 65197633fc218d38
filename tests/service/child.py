"""The service over a fake backend as a process of its own: `python -m tests.service.child http|stdio scale`.

`scale` shortens the times of a shutdown. What a search is for decides how the process misbehaves.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from contextlib import nullcontext
from typing import Any

import trio

from service import server
from service.pipes import Pipes, private_pipes
from service.server import Shutdown, open_listeners, serve_http
from service.stdio import serve_stdio
from tests.service.desk import Bench, FakeBackend, found, hit


def scale_times(scale: float) -> None:
    for name in ("LISTEN_SECONDS", "CALL_SECONDS", "GRACEFUL_SECONDS", "WATCHDOG_SECONDS"):
        setattr(server, name, getattr(server, name) * scale)


async def respond(query: Any) -> Any:
    """`slow N` takes N seconds, `forever` never ends by itself, `stuck` holds up the event loop, `prints` writes where
    it should not."""
    if query.text.startswith("slow"):
        await trio.sleep(float(query.text.split()[1]))
    if query.text == "forever":
        await trio.sleep_forever()
    if query.text == "stuck":
        print("stuck", flush=True)
        time.sleep(1000)  # noqa: ASYNC251 - this is what the watchdog is for
    if query.text == "prints":
        print("a library prints")
        os.write(1, b"a C library prints\n")
        os.system("echo a child process prints")  # noqa: ASYNC221
        # C keeps it until the process ends.
        ctypes.CDLL(None).printf(b"a C library prints late")
    return found(hit(1), query=query.text)


async def serve(pipes: Pipes | None) -> None:
    bench = Bench(FakeBackend(respond, events=[("asking", {"count": 1})]))
    if pipes is not None:
        await serve_stdio(bench.server, pipes)
        print("EXIT CLEAN", file=sys.stderr)
        return
    app, manager = bench.app()
    listeners = open_listeners("127.0.0.1", 0)
    print(listeners[0].getsockname()[1], flush=True)
    async with manager.run():
        shutdown = Shutdown(bench.calls.drain, bench.calls.deadlines.shorten)
        await serve_http(app, listeners, keep_alive=5, shutdown=shutdown)


if __name__ == "__main__":
    scale_times(float(sys.argv[2]))
    with private_pipes() if sys.argv[1] == "stdio" else nullcontext() as pipes:
        trio.run(serve, pipes)
