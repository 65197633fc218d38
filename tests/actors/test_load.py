"""Many calls at once through one supervisor: none lost, none doubled, no memory kept."""

from __future__ import annotations

import gc
import random
import resource
from collections import Counter
from pathlib import Path

import pytest
import structlog
import trio
import trio.testing

from actors.messages import Answer
from providers._contract import Blocked, Malformed, RateLimited, Unavailable
from tests.actors.lab import ASKED, FOUND, Scripted, make_row, supervised, takes

IN_FLIGHT = 64


@pytest.fixture(autouse=True)
def _quiet():
    def drop(logger, method, event):
        raise structlog.DropEvent

    structlog.configure(processors=[drop])
    yield
    structlog.reset_defaults()


def resident_bytes() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


class Mixed(Scripted):
    """One call in five goes wrong; keeps no list of its calls."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__()
        self.count = 0
        self._rng = rng

    async def search(self, job, client):
        self.count += 1
        wrong = [Unavailable("503"), Malformed("bad"), Blocked("captcha"), RateLimited("slow", retry_after=1), None]
        value = self._rng.choice(wrong) if self._rng.random() < 0.2 else FOUND
        return await takes(self._rng.uniform(0, 0.2), value)(job)


async def load(calls: int, rng: random.Random) -> tuple[Counter[str], int]:
    """Let 64 askers make `calls` calls in all. How they ended, and the bytes the process grew by after a quarter."""
    provider, ended, left = Mixed(rng), Counter(), calls
    warm = 0

    async def ask(refs) -> None:
        nonlocal left, warm
        while left > 0:
            left -= 1
            if left == calls * 3 // 4:
                warm = resident_bytes()
            outcome = await rng.choice(refs).ask(ASKED)
            ended["answered" if isinstance(outcome, Answer) else outcome.kind] += 1
            if not isinstance(outcome, Answer):
                await trio.sleep(0.2)

    rows = [make_row(provider, f"acme-{n}", has_breaker=n % 2 == 0) for n in range(8)]
    async with supervised(*rows) as supervisor:
        refs = list(supervisor.refs.values())
        async with trio.open_nursery() as nursery:
            for _ in range(IN_FLIGHT):
                nursery.start_soon(ask, refs)
        seen = [entry.calls for entry in supervisor.statistics()]
        assert sum(entry.total for entry in seen) == calls
        assert sum(entry.ok for entry in seen) == ended["answered"]
        assert all(entry.in_flight == 0 and entry.mailbox.depth == 0 for entry in supervisor.statistics())
    return ended, resident_bytes() - warm


@pytest.mark.parametrize("calls", [1000, pytest.param(10_000, marks=pytest.mark.soak)])
def test_of_many_calls_with_a_fifth_going_wrong_each_ends_once_and_leaves_nothing_behind(calls):
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    clock = trio.testing.MockClock(autojump_threshold=0)

    ended, grown = trio.run(load, calls, random.Random(seed), clock=clock)

    print(dict(ended), f"{grown / 1e6:.1f} MB")
    assert ended.total() == calls
    assert ended["answered"] > calls / 4
    assert grown < 20e6
