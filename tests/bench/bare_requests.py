"""The yardstick of a fan-out: COUNT requests at once by a nursery on our transport, and nothing done with the answers.

`python -m tests.bench.bare_requests URL COUNT CONNECTIONS SECONDS` prints how many rounds a second were made, with
CONNECTIONS of them going on at a time.
"""

from __future__ import annotations

import sys
import time
from functools import partial

import trio

from actors.client import make_ssl_context, open_client
from actors.guard import Guard
from actors.row import Row
from service.server import settle_garbage_collector


async def run(url: str, count: int, connections: int, seconds: float) -> float:
    """Rounds a second."""
    done = 0
    guard = Guard(allow_private=True)
    row = Row("bare", "bare", None, frozenset(), workers=count * connections)
    async with open_client(row, guard, make_ssl_context()) as client:

        async def rounds(end: float) -> None:
            nonlocal done
            while time.perf_counter() < end:
                with trio.fail_after(30):
                    async with trio.open_nursery() as nursery:
                        for _ in range(count):
                            nursery.start_soon(partial(client.get, url, extensions={"from_caller": True}))
                done += 1

        settle_garbage_collector()
        for warm in (True, False):
            done, began = 0, time.perf_counter()
            async with trio.open_nursery() as nursery:
                for _ in range(connections):
                    nursery.start_soon(rounds, began + (1.0 if warm else seconds))
        return done / (time.perf_counter() - began)


if __name__ == "__main__":
    sys.stdout.write(f"{trio.run(run, sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))}\n")
