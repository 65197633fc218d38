"""Months that begin on the billing day, counted in Redis as they are counted here."""

from __future__ import annotations

import time

import pytest

from actors import redis_ledger
from actors._redis_scripts import LEDGER
from actors.ledger import LedgerDown
from actors.quota import period_key
from actors.redis_ledger import open_redis_ledger
from actors.row import Limit
from tests.actors.lab import make_row

pytestmark = pytest.mark.system("redis-server")


async def test_the_month_has_the_name_that_python_gives_it(redis):
    async with open_redis_ledger(redis.url) as ledger:
        for day in range(1, 29):
            now = time.time()
            await ledger.spend(f"on-{day}", Limit(5, "month", first_day=day), 1, now)
            names = {period_key("month", at, day) for at in (now - 5, now + 5)}
            assert redis.field(f"on-{day}:month") in names


async def test_figures_that_are_put_right_open_no_month_early(redis):
    last = Limit(5, "month", first_day=28)
    async with open_redis_ledger(redis.url) as ledger:
        for _ in range(5):
            await ledger.spend("acme", last, 1, time.time())
        # Redis has come back as it was four units ago.
        redis.ask("HSET", LEDGER, "acme:month_units", 1, "acme:day_units", 1, "acme:total", 1)
        await ledger._look(ledger._link.run)

        assert redis.field("acme:month_units") == "5"
        assert not (await ledger.spend("acme", last, 1, time.time())).granted


async def test_after_a_loss_a_quota_is_withheld_until_its_own_month_ends(redis, monkeypatch):
    lost_at = 1_796_000_000  # 2026-11-30
    async with open_redis_ledger(redis.url) as ledger:
        ledger.slots_of(make_row(limit=Limit(5, "month", first_day=15)))
        redis.ask("HSET", LEDGER, "lost_at", lost_at)
        await ledger._look(ledger._link.run)
        seen = []
        for days in (0, 14, 16):  # November 30, December 14 and 16
            monkeypatch.setattr(redis_ledger.time, "time", lambda at=lost_at + days * 86_400: at)
            seen.append(ledger.problem is not None)

    assert seen == [True, True, False]


async def test_the_script_withholds_by_the_same_month(redis):
    limit = Limit(5, "month", first_day=15)
    async with open_redis_ledger(redis.url) as ledger:
        for back, withheld in ((0, True), (32 * 86_400, False)):
            redis.ask("HSET", LEDGER, "lost_at", int(time.time()) - back)
            if withheld:
                with pytest.raises(LedgerDown):
                    await ledger.spend("acme", limit, 1, time.time())
            else:
                assert (await ledger.spend("acme", limit, 1, time.time())).granted
