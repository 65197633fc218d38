"""Slots shared by two replicas: together they keep the rate, and each keeps it alone while Redis is gone."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from actors._redis_scripts import RELEASE
from actors.ledger import LedgerDown
from actors.messages import Reply, Request
from actors.redis_ledger import RedisLedger, open_redis_ledger
from actors.redis_slots import LEEWAY, MICRO, SharedSlots
from actors.row import Limit, Rate
from actors.slots import OwnSlots
from providers._contract import Query
from tests.actors.lab import make_row
from tests.redislab import RedisProcess

needs_redis = pytest.mark.system("redis-server")
METERED = Limit(99, "month")


@asynccontextmanager
async def two(redis: RedisProcess) -> AsyncIterator[tuple[RedisLedger, RedisLedger]]:
    async with open_redis_ledger(redis.url) as one, open_redis_ledger(redis.socket_url) as other:
        yield one, other


def a_request(seconds: float = 60.0) -> Request:
    return Request(Query("x"), trio.CancelScope(deadline=trio.current_time() + seconds), Reply(), "")


async def start(slots: Any, starts: list[float], request: Request | None = None) -> None:
    """One call from its slot to its start."""
    request = request or a_request()
    assert await slots.reserve(request, by=request.scope.deadline)
    assert request.slot is not None
    await trio.sleep_until(request.slot)
    await slots.begin(request)
    starts.append(trio.current_time())


def densest(starts: list[float], count: int) -> float:
    """The shortest time in which one call more than `count` started."""
    starts = sorted(starts)
    return min(later - sooner for sooner, later in zip(starts, starts[count:], strict=False))


# --- with a real Redis ------------------------------------------------------------------------------------------------


@needs_redis
async def test_two_replicas_keep_one_rate_together(redis):
    row, starts = make_row(rate=Rate(10, 0.2)), []
    async with two(redis) as ledgers, trio.open_nursery() as nursery:
        shares = [ledger.slots_of(row) for ledger in ledgers]
        for number in range(50):
            nursery.start_soon(start, shares[number % 2], starts)

    assert len(starts) == 50
    assert densest(starts, 10) >= 0.2
    assert max(starts) - min(starts) < 3.0


@needs_redis
async def test_a_call_without_patience_learns_of_the_other_replicas_slot(redis):
    row = make_row(rate=Rate(1, 45.0))
    async with two(redis) as (one, other):
        await start(one.slots_of(row), [])
        slots, request = other.slots_of(row), a_request()

        assert not await slots.reserve(request, by=trio.current_time())
        assert (request.slot, request.ticket) == (None, None)
        now = trio.current_time()
        assert slots.next_slot(now) - now == pytest.approx(45, abs=0.5)
        seen = slots.statistics(now)
        assert (seen.rate, round(seen.next_slot_in_s)) == ("1/45s", 45)


@needs_redis
async def test_a_slot_that_is_given_back_can_be_had_by_the_other_replica(redis):
    row = make_row(rate=Rate(1, 45.0))
    async with two(redis) as (one, other):
        mine, theirs, request = one.slots_of(row), other.slots_of(row), a_request()
        await mine.reserve(request, by=trio.current_time())
        mine.release(request)
        assert (request.slot, request.ticket) == (None, None)

        with trio.fail_after(5):
            while not await theirs.reserve(a_request(), by=trio.current_time()):
                await trio.sleep(0.01)


@needs_redis
async def test_an_instance_without_a_rate_shares_nothing(redis):
    async with open_redis_ledger(redis.url) as ledger:
        assert isinstance(ledger.slots_of(make_row()), OwnSlots)


# --- with a link that does as it is told ------------------------------------------------------------------------------


class ToldLink:
    """Answers slot scripts in turn: (went well, seconds to wait, seconds the answer takes), or that Redis is down."""

    def __init__(self, *answers: tuple[bool, float, float] | str) -> None:
        self.answers = list(answers)
        self.asked: list[list[Any]] = []
        self.errands: list[Any] = []
        self.problem: str | None = None

    async def run(self, script: Any, keys: list[str], args: list[Any]) -> Any:
        self.asked.append(args)
        await trio.lowlevel.checkpoint()
        answer = self.answers.pop(0)
        if isinstance(answer, str):
            self.problem = answer
            raise LedgerDown(answer)
        well, wait, takes = answer
        await trio.sleep(takes)
        return [int(well), round(wait * MICRO), round(wait * MICRO)]

    def run_soon(self, script: Any, keys: list[str], args: list[Any]) -> None:
        self.errands.append((script, args))


def told(*answers: Any, metered: bool = False) -> tuple[SharedSlots, ToldLink]:
    link = ToldLink(*answers)
    return SharedSlots(link, "acme", Rate(1, 10.0), metered), link  # type: ignore[arg-type]


NOW = (True, 0.0, 0.0)


async def test_a_grant_that_comes_too_late_is_not_used_and_the_next_one_may_take_longer(autojump_clock):
    slots, link = told(NOW, (True, 0.0, LEEWAY + 0.01), (True, 0.0, LEEWAY + 0.01))
    starts: list[float] = []

    await start(slots, starts)

    assert [args[3] for args in link.asked] == [round(each * LEEWAY * MICRO) for each in (1, 1, 2)]
    assert len({args[0] for args in link.asked}) == 1


async def test_who_is_told_to_wait_asks_again_then(autojump_clock):
    slots, _ = told((True, 3.0, 0.0), (False, 2.0, 0.0), NOW)
    began_at, starts = trio.current_time(), []

    await start(slots, starts)

    assert starts == [began_at + 5]


async def test_without_redis_a_metered_instance_has_no_slots(autojump_clock):
    slots, _ = told("gone", metered=True)
    with pytest.raises(LedgerDown, match="^gone$"):
        await slots.reserve(a_request(), by=math.inf)

    slots, _ = told(NOW, "gone", metered=True)
    with pytest.raises(LedgerDown, match="^gone$"):
        await start(slots, [])


async def test_without_redis_a_free_instance_goes_by_its_own_throttle(autojump_clock):
    slots, link = told("gone")
    began_at, starts = trio.current_time(), []

    await start(slots, starts)
    late = a_request()
    assert not await slots.reserve(late, by=trio.current_time() + 9)
    assert slots.next_slot(trio.current_time()) == began_at + 10
    await start(slots, starts)
    given_back = a_request()
    assert await slots.reserve(given_back, by=math.inf)
    slots.release(given_back)
    slots.release(a_request())
    await start(slots, starts)

    assert starts == [began_at, began_at + 10, began_at + 20]
    assert len(link.asked) == 1


async def test_redis_that_goes_between_slot_and_start_leaves_the_own_throttle(autojump_clock):
    slots, _ = told(NOW, NOW, NOW, "gone")
    began_at, starts = trio.current_time(), []

    await start(slots, starts)
    await start(slots, starts)

    assert starts == [began_at, began_at + 10]


async def test_two_calls_that_fell_back_at_once_start_a_period_apart(autojump_clock):
    slots, link = told(NOW, NOW)
    began_at, starts = trio.current_time(), []
    requests = [a_request(), a_request()]
    for request in requests:
        await slots.reserve(request, by=math.inf)
    link.problem, link.answers = "gone", ["gone", "gone", "gone"]

    async with trio.open_nursery() as nursery:
        for request in requests:
            nursery.start_soon(begin, slots, request, starts)

    assert starts == [began_at, began_at + 10]


async def begin(slots: SharedSlots, request: Request, starts: list[float]) -> None:
    await slots.begin(request)
    starts.append(trio.current_time())


async def test_when_redis_is_back_what_started_without_it_still_counts(autojump_clock):
    slots, link = told("gone")
    began_at, starts = trio.current_time(), []
    await start(slots, starts)
    waiting = a_request()
    assert await slots.reserve(waiting, by=math.inf)
    link.problem, link.answers = None, [NOW, NOW, NOW]

    await begin(slots, waiting, starts)
    assert starts == [began_at, began_at + 10]
    await start(slots, starts)
    assert starts == [began_at, began_at + 10, began_at + 20]


async def test_a_slot_of_the_shared_kind_is_given_back_in_the_background(autojump_clock):
    slots, link = told(NOW)
    request = a_request()
    await slots.reserve(request, by=math.inf)
    ticket = request.ticket

    slots.release(request)

    assert link.errands == [(RELEASE, [ticket])]
    assert (request.slot, request.ticket) == (None, None)
