"""The fault campaign over real sockets and the real clock: a whole server, every vendor, a ledger that others lock.

Shorter than the one of `test_campaign.py`, and with what that cannot have: the transport, worker processes, SQLite,
clients that hang up, SIGTERM at the end.
"""

from __future__ import annotations

import json
import random
import sqlite3
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.bench._load import Call
from tests.bench.latency import descendants
from tests.e2e._raw import ask
from tests.e2e._stage import FakenetProcess, ServerProcess, fakenet_process, server_process

# Of one core, with everything else on it: a call may be late by so much.
LEEWAY = 3.0
AT_ONCE = 12
QUOTA = 10_000
HEAVY = {"large", "large_json", "gzip_bomb", "endless", "deep_json"}
FAULTS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in ("reset_before_answer", "closed_before_answer", "reset_in_body", "short_body", "no_http")),
    *(
        (name, {})
        for name in ("silent", "slow_body", "dribble", "challenge", "html_page", "truncated_gzip", *sorted(HEAVY))
    ),
    *(("status", {"code": code}) for code in (401, 402, 403, 404, 429, 500, 503)),
    ("latency", {"seconds": 1.5}),
    ("retry_after", {"value": "2"}),
]


@dataclass(eq=False)
class Tally:
    """How calls ended, and what was late or lost."""

    ends: Counter[str] = field(default_factory=Counter)
    late: list[tuple[Any, float]] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


async def calls_without_end(port: int, web: str, rng: random.Random, tally: Tally, end: float) -> None:
    while time.monotonic() < end:
        timeout_ms = rng.choice([1500, 3000, 6000])
        call = Call(*random_call(web, rng, timeout_ms))
        leaves = rng.random() < 0.1
        began = time.monotonic()
        with trio.move_on_after(rng.uniform(0.01, 1.0) if leaves else timeout_ms / 1000 + LEEWAY) as scope:
            try:
                result = await ask(port, call)
            except (OSError, trio.BrokenResourceError, ValueError, KeyError) as error:
                tally.lost.append(f"{call}: {error!r}")
                continue
            tally.ends["error" if result["isError"] else "answer"] += 1
        if scope.cancelled_caught and leaves:
            tally.ends["left"] += 1
        elif scope.cancelled_caught:
            tally.late.append((call, time.monotonic() - began))


def random_call(web: str, rng: random.Random, timeout_ms: int) -> tuple[str, dict[str, Any]]:
    number = rng.randrange(100_000)
    page = f"{web}/article/type-k/{number}"
    tool, given = rng.choice(
        [
            ("web_search", {"query": f"type k {number}"}),
            ("web_search_images", {"query": f"type k {number}"}),
            ("search_and_read", {"query": f"type k {number}", "num_results": 2}),
            ("read_page", {"url": page}),
            ("read_page", {"url": page}),
            ("read_pages", {"urls": [page, f"{web}/nowhere"]}),
        ]
    )
    return tool, given | {"timeout_ms": timeout_ms}


async def strikes(net: FakenetProcess, ledger: Path, rng: random.Random, end: float) -> None:
    """A fault, a dead remote or a locked ledger, three times a second; now and then all is well again."""
    remotes = sorted(net.urls)
    while time.monotonic() < end:
        chance = rng.random()
        if chance < 0.75:
            name, arguments = rng.choice(FAULTS)
            await trio.to_thread.run_sync(partial(net.play, rng.choice(remotes), name, times=3, **arguments))
        elif chance < 0.85:
            await trio.to_thread.run_sync(net.down, rng.choice([name for name in remotes if name != "web"]))
        elif chance < 0.93:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(lock, ledger)
        else:
            await trio.to_thread.run_sync(lambda: [net.control.post(each) for each in ("/up", "/heal")])
        await trio.sleep(0.3)


def lock(ledger: Path) -> None:
    """Another process, as it were, holds the ledger for longer than the server waits for it."""
    with closing(sqlite3.connect(ledger, timeout=0.1, isolation_level=None)) as other:
        try:
            other.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            return
        time.sleep(2.5)
        other.execute("ROLLBACK")


async def campaign(server: ServerProcess, net: FakenetProcess, directory: Path, seed: int, seconds: float) -> Tally:
    rng, tally = random.Random(seed), Tally()
    port, end = int(server.url.rpartition(":")[2]), time.monotonic() + seconds
    async with trio.open_nursery() as nursery:
        nursery.start_soon(strikes, net, directory / "quota.sqlite3", random.Random(seed + 1), end)
        for _ in range(AT_ONCE):
            nursery.start_soon(calls_without_end, port, net.urls["web"], rng, tally, end)
    return tally


def units(directory: Path, name: str) -> int:
    with closing(sqlite3.connect(directory / "quota.sqlite3")) as ledger:
        assert ledger.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        row = ledger.execute("SELECT month_units FROM used WHERE name = ?", (name,)).fetchone()
    return int(row[0]) if row else 0


@pytest.mark.parametrize("seconds", [3.0, pytest.param(90.0, marks=pytest.mark.soak)])
def test_a_whole_server_outlives_faults_of_every_kind_and_loses_nothing(seconds, tmp_path):
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    with fakenet_process() as net:
        quotas = {f"{name.upper()}_QUOTA": f"{QUOTA}/month" for name in ("brave", "serper", "exa")}
        with server_process(net.environment | quotas, tmp_path) as server:
            processes = [server.process.pid, *descendants(server.process.pid)]
            tally = trio.run(campaign, server, net, tmp_path, seed, seconds)
            asked = net.calls()
            alive = server.get("/healthz").status_code
            code = server.stop()
        print(json.dumps({"ends": dict(tally.ends), "requests": sum(asked.values()), "late": len(tally.late)}))

    assert (alive, code) == (200, 0)
    assert tally.lost == []
    assert tally.late == []
    assert sum(tally.ends.values()) > seconds
    assert sum(asked.values()) > seconds
    assert not [pid for pid in processes if Path(f"/proc/{pid}").exists()]
    for name in ("brave", "serper", "exa"):
        assert units(tmp_path, name) >= asked.get(name, 0)
