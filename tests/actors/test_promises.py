"""The two promises of ARCHITECTURE.md, held by random histories.

Every request that enters a mailbox is answered exactly once. An instance never starts more calls than its throttle and
quota allow. Crashes, cancellations, restarts, retirement and draining happen at random in each history; a failure names
its seed, and `history(seed)` replays it.
"""

from __future__ import annotations

import random
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import structlog
import trio
import trio.testing

from actors.ledger import LedgerDown, MemoryLedger
from actors.messages import Failure, Outcome, Reply, Request
from actors.row import Limit, Rate
from providers import _sanitise
from providers._contract import Blocked, Kind, Malformed, RateLimited, Unavailable
from tests.actors.lab import ASKED, FOUND, Scripted, make_row, no_client, supervised, takes

HISTORIES = 400
WALL = 1_795_000_000.0


@pytest.fixture(autouse=True)
def _quiet(monkeypatch):
    async def sanitise(value):
        return value

    monkeypatch.setattr(_sanitise, "sanitise", sanitise)
    structlog.configure(processors=[drop])
    yield
    structlog.reset_defaults()


def drop(logger, method, event):
    raise structlog.DropEvent


class Crash(Exception):
    """A bug of ours."""


@dataclass
class Witness:
    """What happened: who entered a mailbox, who was answered, and how asks ended."""

    entered: list[Request] = field(default_factory=list)
    sets: Counter[int] = field(default_factory=Counter)
    outcomes: list[Outcome | None] = field(default_factory=list)
    asks: int = 0


class Unsteady(MemoryLedger):
    """Slow now and then, down now and then, and crashes the actor now and then."""

    def __init__(self, rng: random.Random, crashes: float) -> None:
        super().__init__()
        self._rng = rng
        self._crashes = crashes

    async def spend(self, name, limit, units, wall_now):
        await trio.sleep(self._rng.choice([0.0, 0.0, 0.0, 0.3, 2.0]))
        chance = self._rng.random()
        if chance < self._crashes:
            raise Crash
        if chance > 0.95 and limit is not None:
            raise LedgerDown("locked")
        spend = await super().spend(name, limit, units, wall_now)
        if self._rng.random() < self._crashes:
            raise Crash
        return spend


def behaviour(rng: random.Random):
    """A provider call that takes a random time and ends in a random way."""
    values = [FOUND, FOUND, FOUND, None, Unavailable("503"), Malformed("bad"), Blocked("captcha"), RateLimited("slow")]
    return takes(rng.choice([0.0, 0.1, 1.0, 7.0, 30.0]), rng.choice(values))


def watch(monkeypatch, witness: Witness) -> None:
    """Note every request that gets past the door, and every reply that is set for the first time."""
    real_set = Reply.set
    real_send = trio.MemorySendChannel.send

    def set_(self, outcome):
        first = real_set(self, outcome)
        witness.sets[id(self)] += first
        return first

    async def send(self, value):
        await real_send(self, value)
        witness.entered.append(value)

    monkeypatch.setattr(Reply, "set", set_)
    monkeypatch.setattr(trio.MemorySendChannel, "send", send)


async def live(rng: random.Random, witness: Witness, provider: Scripted, row_fields: dict) -> None:
    """One history: askers come and go while actors crash, restart and at last drain."""
    crashes = rng.choice([0.0, 0.02, 0.1, 0.6])

    @asynccontextmanager
    async def unsteady_client(row):
        if rng.random() < crashes:
            raise Crash
        async with no_client(row) as client:
            yield client
            if rng.random() < crashes:
                raise Crash

    async def ask(ref, wait: float, leaves_after: float, patience: float | None) -> None:
        await trio.sleep(wait)
        witness.asks += 1
        outcome = None
        with trio.move_on_after(leaves_after):
            outcome = await ref.ask(ASKED, patience=patience)
        witness.outcomes.append(outcome)

    row = make_row(provider, **row_fields)
    ledger = Unsteady(rng, crashes)
    started = trio.current_time()
    async with (
        trio.open_nursery() as nursery,
        supervised(row, ledger=ledger, open_client=unsteady_client, seed=rng.randrange(10**6)) as supervisor,
    ):
        ref = supervisor.refs["acme"]
        for _ in range(rng.randint(5, 40)):
            leaves_after = rng.choice([0.0, 0.2, 3.0, 50.0, 500.0])
            patience = rng.choice([None, 0.0, 5.0, 100.0])
            nursery.start_soon(ask, ref, rng.uniform(0, 60), leaves_after, patience)
        await trio.sleep_until(started + rng.choice([5.0, 50.0, 200.0]))

    assert ref.in_flight == 0
    assert ref.slots.throttle._reserved == []
    seen = ref.statistics().calls
    assert seen.total == witness.asks


def run_history(seed: int, monkeypatch) -> tuple[Witness, Scripted, dict]:
    rng, witness = random.Random(seed), Witness()
    provider = Scripted([behaviour(rng) for _ in range(60)])
    row_fields = {
        "rate": rng.choice([None, None, Rate(1, 5.0), Rate(3, 10.0), Rate(2, 0.5)]),
        "limit": rng.choice([None, Limit(3, "day"), Limit(20, "month")]),
        "paid": rng.random() < 0.7,
        "workers": rng.choice([1, 2, 8]),
        "timeout": rng.choice([2.0, 10.0, 25.0]),
        "patience": rng.choice([0.0, 6.0]),
        "has_breaker": rng.random() < 0.7,
        "retries": rng.choice([0, 1, 2]),
    }
    with monkeypatch.context() as patch:
        watch(patch, witness)
        trio.run(live, rng, witness, provider, row_fields, clock=trio.testing.MockClock(autojump_threshold=0))
    return witness, provider, row_fields


def check_answers(witness: Witness, seed: int) -> None:
    """The first promise, and that no asker was left waiting."""
    assert len(witness.outcomes) == witness.asks, seed
    for request in witness.entered:
        assert request.reply.is_set, seed
        assert witness.sets[id(request.reply)] == 1, seed


def check_starts(provider: Scripted, fields: dict, seed: int) -> None:
    """The second promise; the wall clock stands still here, so all calls fall into one period."""
    rate, limit, starts = fields["rate"], fields["limit"], provider.calls
    if limit is not None:
        assert len(starts) <= limit.units, seed
    if rate is not None:
        late = starts[rate.count :]
        assert all(b >= a + rate.period for a, b in zip(starts, late, strict=False)), seed


def test_in_four_hundred_histories_both_promises_hold(monkeypatch):
    first = random.randrange(10**6)
    print(f"seeds from {first}")
    seen: Counter[str] = Counter()
    for seed in range(first, first + HISTORIES):
        witness, provider, fields = run_history(seed, monkeypatch)
        check_answers(witness, seed)
        check_starts(provider, fields, seed)
        seen.update(outcome.kind for outcome in witness.outcomes if isinstance(outcome, Failure))
        seen["answered"] += sum(
            outcome is not None and not isinstance(outcome, Failure) for outcome in witness.outcomes
        )
        seen["left"] += witness.outcomes.count(None)
        seen["entered"] += len(witness.entered)

    # The histories are worth nothing if they do not go where it hurts.
    assert seen["entered"] > 1000
    for kind in (Kind.CRASHED, Kind.DOWN, Kind.BUSY, Kind.TIMEOUT, Kind.THROTTLED, Kind.QUOTA_SPENT, Kind.CIRCUIT_OPEN):
        assert seen[kind] > 10, seen
    assert seen["left"] > 100
    assert seen["answered"] > 150
