"""Kills a process that holds the ledger and a metered caller, again and again, and checks the file after each time.

Run as `python -m tests.actors.kill_child KILLS SEED FOLDER`. Each child is a fork of this process: it opens the ledger
and an actor, and calls a vendor that is a pipe, one byte per call. The parent kills it with SIGKILL at a random moment,
counts the bytes, and compares: the file must hold at least as many units as the vendor was asked for, and at most as
many more as calls can be on their way. Prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import structlog
import trio

from actors.ledger import open_ledger
from actors.row import Limit
from actors.supervisor import open_supervisor
from providers._contract import Found, Query
from tests.actors.lab import make_row, no_client

CALLERS = 4


class Pipe:
    """A vendor that only counts: one byte per call."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def search(self, query: Query, client: Any) -> Found[Any]:
        os.write(self._descriptor, b".")
        await trio.lowlevel.checkpoint()
        return Found(())


async def call_for_ever(path: Path, descriptor: int) -> None:
    row = make_row(Pipe(descriptor), limit=Limit(10**9, "month"), paid=True)
    async with (
        open_ledger(f"sqlite:{path}") as ledger,
        open_supervisor([row], ledger=ledger, open_client=no_client) as supervisor,
        trio.open_nursery() as nursery,
    ):

        async def call() -> None:
            while True:
                await supervisor.refs["acme"].ask(Query("trio"))

        for _ in range(CALLERS):
            nursery.start_soon(call)


def one_life(path: Path, seconds: float) -> int:
    """Fork a child, kill it after so many seconds, and return how many calls its vendor saw."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            trio.run(call_for_ever, path, writing)
        finally:
            os._exit(1)
    os.close(writing)
    calls, end = 0, time.monotonic() + seconds
    os.set_blocking(reading, False)
    while time.monotonic() < end:
        calls += read(reading)
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        raise SystemExit(f"the child ended by itself: {status}")
    while some := read(reading):
        calls += some
    os.close(reading)
    return calls


def read(descriptor: int) -> int:
    try:
        return len(os.read(descriptor, 1 << 16))
    except BlockingIOError:
        return 0


def look(path: Path) -> tuple[int, float]:
    """The units in the file, whose integrity is checked, and how long opening it took."""
    if not path.exists():
        return 0, 0.0
    began = time.monotonic()
    with closing(sqlite3.connect(path)) as connection:
        if connection.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise SystemExit("the file is damaged")
        tables = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'used'").fetchone()[0]
        row = connection.execute("SELECT total FROM used WHERE name = 'acme'").fetchone() if tables else None
    return (row[0] if row else 0), time.monotonic() - began


def main(kills: int, seed: int, folder: Path) -> None:
    structlog.configure(processors=[drop])
    rng, path = random.Random(seed), folder / "quota.sqlite3"
    calls, slowest, widest = 0, 0.0, 0
    for kill in range(1, kills + 1):
        calls += one_life(path, rng.uniform(0.0, 0.12))
        units, opening = look(path)
        slowest, widest = max(slowest, opening), max(widest, units - calls)
        if not calls <= units <= calls + CALLERS * kill:
            raise SystemExit(f"seed {seed}, kill {kill}: {calls} calls, {units} units")
    found = {"kills": kills, "seed": seed, "calls": calls, "units": units, "most_over": widest}
    print(json.dumps(found | {"slowest_opening_s": round(slowest, 3)}))


def drop(logger: Any, method: str, event: Any) -> Any:
    raise structlog.DropEvent


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
