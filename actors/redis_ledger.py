"""Quotas in Redis, shared by all replicas: one script per spend, on Redis's own clock.

While Redis cannot be asked, instances with a limit get LedgerDown at once, and those without carry on; what they use
is owed, and written with their next spend that arrives. Redis that comes back empty is the corrupt file of the SQLite
ledger again: starting from zero would undercount, so instances with a limit stay off until the operator confirms or
their period ends. Redis that comes back with older figures is put right from memory, since every replica remembers
the last it heard.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial

import structlog
import trio

from actors._redis_scripts import LEDGER, LOOK, SPEND
from actors.client import make_ssl_context
from actors.ledger import LedgerDown, Spend
from actors.quota import Counts, period_key
from actors.redis_link import Ask, RedisLink
from actors.redis_slots import SharedSlots
from actors.redis_url import redis_place
from actors.restarts import Restarts, crash_of, described
from actors.row import Limit, Row
from actors.slots import OwnSlots, Slots

log = structlog.get_logger()

# Figures are put right without their instance's limit at hand, as if its months began as late as they can: that opens
# no month which has not begun.
LAST_FIRST_DAY = 28


@asynccontextmanager
async def open_redis_ledger(url: str, *, rng: random.Random | None = None) -> AsyncIterator[RedisLedger]:
    """The ledger behind `redis://...`. Opening waits for the first attempt to reach Redis, and never fails for it.

    If its keeper crashes past its limit, the block is cancelled and the error comes out: nobody can count any more.
    """
    place = redis_place(url)
    link = RedisLink(place, make_ssl_context() if place.is_tls else None)
    async with trio.open_nursery() as nursery:
        ledger = RedisLedger(link, place.db, rng or random.Random())  # noqa: S311 (jitter)
        nursery.start_soon(ledger.run)
        await link.tried.wait()
        yield ledger
        nursery.cancel_scope.cancel()


class RedisLedger:
    """Counts in one Redis for all replicas, and remembers what it last heard of each instance."""

    def __init__(self, link: RedisLink, db: int, rng: random.Random) -> None:
        self._link = link
        self._emptied = (
            "the shared quota store (Redis) came back without its figures; to count on from what the running replicas "
            f"remember run `redis-cli -n {db} HDEL {LEDGER} lost_at`, or wait until the quota's period ends"
        )
        self._restarts = Restarts(rng)
        self._epoch = ""
        self._lost_at: int | None = None
        self._known: dict[str, Counts] = {}
        self._owed: dict[str, int] = {}
        self._first_days = {1}

    @property
    def problem(self) -> str | None:
        """Why something cannot be counted now, as a sentence; None when all is well."""
        return self._link.problem or (self._emptied if self._is_unconfirmed() else None)

    def slots_of(self, row: Row) -> Slots:
        """The slots of an instance: shared where it has a rate."""
        if row.limit is not None:
            self._first_days.add(row.limit.first_day)
        return OwnSlots(row) if row.rate is None else SharedSlots(self._link, row.name, row.rate, row.limit is not None)

    def counts(self, name: str) -> Counts:
        known, owed = self._known.get(name, Counts()), self._owed.get(name, 0)
        return known.at(time.time()).add(owed) if owed else known

    async def spend(self, name: str, limit: Limit | None, units: int, wall_now: float) -> Spend:
        if limit is not None:
            return await self._count(name, limit, units)
        owed = self._owed.pop(name, 0)
        try:
            return await self._count(name, None, units + owed)
        except LedgerDown:
            self._owe(name, owed + units)
        except trio.Cancelled:
            self._owe(name, owed)
            raise
        return Spend(True, self.counts(name))

    async def run(self) -> None:
        """Serve until cancelled. Starts again after a crash; raises the crash that is one too many."""
        while True:
            crash = await crash_of(partial(self._link.keep, self._look))
            assert crash is not None  # it keeps the link for ever
            delay = self._restarts.delay(trio.current_time())
            log.error("ledger_crashed", restart_in_s=delay, **described(crash))
            self._link.close("the shared quota store's keeper crashed")
            if delay is None:
                raise crash
            await trio.sleep(delay)

    def _owe(self, name: str, units: int) -> None:
        self._owed[name] = self._owed.get(name, 0) + units

    async def _count(self, name: str, limit: Limit | None, units: int) -> Spend:
        first_day = 1 if limit is None else limit.first_day
        for _ in range(2):
            state, counts = await self._ask_to_spend(self._link.run, name, limit, units, first_day)
            if state == b"lost":
                break
            if counts is not None:
                return Spend(state == b"granted", counts)
            await self._look(self._link.run)
        raise LedgerDown(self._emptied)

    async def _ask_to_spend(
        self, ask: Ask, name: str, limit: Limit | None, units: int, first_day: int
    ) -> tuple[bytes, Counts | None]:
        """How the script ended, and the counts; None where Redis is not the one that was looked at."""
        known = self._known.get(name, Counts())
        cap, period = (-1, "month") if limit is None else (limit.units, limit.period)
        figures = (known.day, known.day_units, known.month, known.month_units, known.total)
        shift = 86_400 * (first_day - 1)
        state, *rest = await ask(SPEND, [LEDGER], [self._epoch, name, units, cap, period, *figures, shift])
        if state == b"epoch":
            return state, None
        day, day_units, month, month_units, total = rest
        counts = Counts(day.decode(), day_units, month.decode(), month_units, total)
        self._learn(name, counts)
        return state, counts

    async def _look(self, ask: Ask) -> None:
        """Compare the figures with what is remembered, and say what became of them. Raises LedgerDown."""
        before = dict(self._known)
        state, epoch, fields = await ask(LOOK, [LEDGER], [self._epoch, uuid.uuid4().hex])
        found = {key.decode(): value.decode() for key, value in zip(fields[::2], fields[1::2], strict=True)}
        self._epoch = epoch.decode()
        if state == b"new":
            log.warning("ledger_empty", note="Redis held no figures of ours; counting starts from zero")
        self._note_loss(found.get("lost_at"))
        figures = _figures(found)
        for name, counts in figures.items():
            self._learn(name, counts)
        behind = [name for name, counts in before.items() if figures.get(name, Counts()).total < counts.total]
        if behind and state == b"same":
            log.error("ledger_went_back", instances=behind, note="Redis held older figures; put right from memory")
        for name in behind:
            await self._ask_to_spend(ask, name, None, 0, LAST_FIRST_DAY)

    def _learn(self, name: str, counts: Counts) -> None:
        """Remember counts, unless later ones are known already: answers come to their askers in any order."""
        if counts.total >= self._known.get(name, Counts()).total:
            self._known[name] = counts

    def _note_loss(self, lost_at: str | None) -> None:
        before, self._lost_at = self._lost_at, None if lost_at is None else int(lost_at)
        if self._lost_at != before and self._is_unconfirmed():
            log.error("ledger_emptied", note=self._emptied)
        elif before is not None and self._lost_at is None:
            log.warning("ledger_confirmed", note="the operator confirmed the loss; counting goes on")

    def _is_unconfirmed(self) -> bool:
        """Whether some quota's period that was open when figures were lost is still open."""
        lost_at = self._lost_at
        return lost_at is not None and any(
            period_key("month", time.time(), first_day) <= period_key("month", lost_at, first_day)
            for first_day in self._first_days
        )


def _figures(fields: Mapping[str, str]) -> dict[str, Counts]:
    names = {field.removesuffix(":total") for field in fields if field.endswith(":total")}
    return {name: _counts(fields, name) for name in names}


def _counts(fields: Mapping[str, str], name: str) -> Counts:
    day, day_units, month, month_units, total = (
        fields[f"{name}:{part}"] for part in ("day", "day_units", "month", "month_units", "total")
    )
    return Counts(day, int(day_units), month, int(month_units), int(total))
