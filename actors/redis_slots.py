"""Throttle slots in Redis, shared by all replicas: together they start no more calls than the rate of an instance.

Where Redis is down, an instance with a quota has none, since nothing can be counted either; the others go by a throttle
of their own until it is back. A replica keeps that throttle up to date all the time and heeds it too, so that what it
started during an outage still counts after it, and so that a Redis which forgot everything, or whose clock jumped,
cannot make one replica exceed the rate.
"""

from __future__ import annotations

import math
import uuid

import trio

from actors._redis_scripts import BEGIN, RELEASE, RESERVE, Script, slot_keys
from actors.ledger import LedgerDown
from actors.messages import Request
from actors.redis_link import RedisLink
from actors.row import Rate
from actors.throttle import Throttle, ThrottleStatistics

MICRO = 1_000_000
MOST_SECONDS = 1e9  # thirty years; more would not be exact in Lua
# A grant is used within this many seconds or not at all, so the calls go out when Redis thinks they do (see BEGIN).
# It is what the rate loses: 50 a second become 47.
LEEWAY = 0.05
MOST_LEEWAY = 0.8


class SharedSlots:
    """The slots of one instance. `is_metered`: it has a quota, so it cannot do without Redis."""

    def __init__(self, link: RedisLink, name: str, rate: Rate, is_metered: bool) -> None:
        self._link = link
        self._keys = slot_keys(name)
        self._rate = rate
        self._is_metered = is_metered
        self._own = Throttle(rate)
        self._next_at = -math.inf

    async def reserve(self, request: Request, *, by: float) -> bool:
        if self._link.problem is None or self._is_metered:
            request.ticket = uuid.uuid4().hex
            try:
                return await self._reserve(request, by)
            except LedgerDown:
                request.ticket = None
                if self._is_metered:
                    raise
        request.slot = self._own.reserve(trio.current_time(), by=by)
        return request.slot is not None

    async def begin(self, request: Request) -> None:
        leeway = LEEWAY
        while True:
            await trio.lowlevel.checkpoint_if_cancelled()
            try:
                wait = await self._wait(request, leeway)
            except LedgerDown:
                if self._is_metered:
                    raise
                self._fall_back(request)
                continue
            if wait is None:
                break
            if wait == 0:
                leeway = min(2 * leeway, MOST_LEEWAY)
            await trio.sleep(wait)
        request.slot = request.ticket = None

    def release(self, request: Request) -> None:
        if request.ticket is not None:
            self._link.run_soon(RELEASE, self._keys, [request.ticket])
        elif request.slot is not None:
            self._own.release(request.slot)
        request.slot = request.ticket = None

    def next_slot(self, now: float) -> float:
        """As Redis said last, or by the replica's own throttle while it is down."""
        return self._own.next_slot(now) if self._link.problem is not None else max(now, self._next_at)

    def statistics(self, now: float) -> ThrottleStatistics:
        return ThrottleStatistics(str(self._rate), self.next_slot(now) - now)

    async def _reserve(self, request: Request, by: float) -> bool:
        assert request.ticket is not None
        now = trio.current_time()
        longest, lease = _micros(by - now), _micros(request.scope.deadline - now)
        taken, wait, _ = await self._ask(RESERVE, request.ticket, LEEWAY, longest, lease)
        if not taken:
            request.ticket = None
            return False
        request.slot = trio.current_time() + wait
        return True

    async def _wait(self, request: Request, leeway: float) -> float | None:
        """Seconds until trying again, or None where the call may start, which is noted then."""
        now = trio.current_time()
        assert request.slot is not None
        if request.ticket is None and self._link.problem is not None:
            at = self._own.begin(request.slot, now)
            return None if at is None else at - now
        if request.ticket is None:  # Redis is back
            self._own.release(request.slot)
            request.slot, request.ticket = now, uuid.uuid4().hex
        if now < self._own.opens_at():
            return self._own.opens_at() - now
        granted, wait, _ = await self._ask(BEGIN, request.ticket, leeway)
        if not granted:
            return wait
        if trio.current_time() > now + leeway:
            return 0.0
        self._own.note_start(trio.current_time())
        return None

    def _fall_back(self, request: Request) -> None:
        """Wait for a slot of the replica's own instead: Redis has just gone."""
        request.ticket = None
        request.slot = self._own.reserve(trio.current_time(), by=math.inf)

    async def _ask(self, script: Script, ticket: str, leeway: float, *more: int) -> tuple[bool, float, float]:
        """Run a slot script: whether it went well, seconds to wait, and seconds to the next free slot."""
        given: list[str | int] = [ticket, self._rate.count, _micros(self._rate.period), _micros(leeway), *more]
        well, wait, following = await self._link.run(script, self._keys, given)
        self._next_at = trio.current_time() + following / MICRO
        return bool(well), wait / MICRO, following / MICRO


def _micros(seconds: float) -> int:
    """Whole microseconds, and none below zero: who would not wait at all came here a moment ago."""
    return round(min(max(seconds, 0.0), MOST_SECONDS) * MICRO)
