"""Quotas in a real Redis: shared, remembered, withheld where they were lost, refused where Redis is gone."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import pytest
import structlog
import trio

from actors._redis_scripts import LEDGER
from actors.ledger import LedgerDown
from actors.quota import Counts
from actors.redis_ledger import RedisLedger, open_redis_ledger
from actors.row import Limit, Rate
from actors.state import open_state
from providers._contract import Kind, Query
from tests.actors.lab import Scripted, make_row, supervised
from tests.redislab import redis_process

needs_redis = pytest.mark.system("redis-server")
MONTH = Limit(5, "month")
EMPTIED = "came back without its figures.*redis-cli -n 0 HDEL research-mcp:ledger lost_at"


async def spend(ledger: Any, limit: Limit | None = MONTH, units: int = 1, name: str = "acme") -> bool:
    return bool((await ledger.spend(name, limit, units, time.time())).granted)


async def until(true: Callable[[], Any]) -> None:
    with trio.fail_after(10):
        while not true():
            await trio.sleep(0.01)


def events(logs: Any, *names: str) -> list[str]:
    return [entry["event"] for entry in logs if entry["event"] in names]


# --- counting ---------------------------------------------------------------------------------------------------------


@needs_redis
async def test_two_replicas_never_grant_more_than_the_limit_together(redis):
    async with open_redis_ledger(redis.url) as one, open_redis_ledger(redis.socket_url) as other:
        granted = []

        async def ask(ledger: RedisLedger) -> None:
            granted.append(await spend(ledger, Limit(50, "month")))

        async with trio.open_nursery() as nursery:
            for number in range(200):
                nursery.start_soon(ask, (one, other)[number % 2])

    assert (sum(granted), len(granted)) == (50, 200)
    assert redis.field("acme:month_units") == "50"


@needs_redis
async def test_figures_outlive_the_replicas_and_are_known_before_the_first_spend(redis):
    async with open_redis_ledger(redis.url) as ledger:
        await spend(ledger, units=4)

    async with open_redis_ledger(redis.url) as ledger:
        assert ledger.problem is None
        assert (ledger.counts("acme").month_units, ledger.counts("acme").total) == (4, 4)
        assert ledger.counts("other") == Counts()
        assert [await spend(ledger), await spend(ledger)] == [True, False]


@needs_redis
async def test_a_replica_hears_of_what_the_other_one_used(redis, monkeypatch):
    monkeypatch.setattr("actors.redis_link.LOOK_EVERY", 0.02)
    async with open_redis_ledger(redis.url) as one, open_redis_ledger(redis.url) as other:
        await spend(one, units=3)

        await until(lambda: other.counts("acme").total == 3)


@needs_redis
async def test_a_first_start_with_an_empty_redis_is_told_and_counts(redis):
    with structlog.testing.capture_logs() as logs:
        async with open_redis_ledger(redis.url) as ledger:
            assert await spend(ledger)

    assert events(logs, "ledger_empty", "ledger_opened", "ledger_emptied") == ["ledger_empty", "ledger_opened"]


@needs_redis
async def test_figures_outlive_a_redis_that_keeps_a_log_and_is_killed():
    with redis_process("--appendonly", "yes", "--appendfsync", "always") as redis:
        async with open_redis_ledger(redis.url) as ledger:
            await spend(ledger, units=4)
            redis.kill()
            with pytest.raises(LedgerDown):
                await spend(ledger)
            redis.start()
            await until(lambda: ledger.problem is None)

            assert [await spend(ledger), await spend(ledger)] == [True, False]
            assert redis.field("acme:total") == "5"


# --- Redis gone -------------------------------------------------------------------------------------------------------


@needs_redis
async def test_without_redis_limits_refuse_and_the_rest_is_owed_and_written_later(redis):
    async with open_redis_ledger(redis.url) as ledger:
        await spend(ledger, None, 2, "free")
        redis.kill()
        with pytest.raises(LedgerDown, match=r"^the shared quota store \(Redis\) "):
            await spend(ledger)
        assert await spend(ledger, None, 3, "free")
        assert await spend(ledger, None, 4, "free")
        assert (ledger.counts("free").total, ledger.counts("free").month_units) == (9, 9)
        assert ledger.problem is not None

        redis.start()
        await until(lambda: "figures" in str(ledger.problem))
        assert await spend(ledger, None, 1, "free")
        assert redis.field("free:total") == "10"


@needs_redis
async def test_what_is_owed_stays_owed_when_its_spend_is_cut_short(redis):
    async with open_redis_ledger(redis.url) as ledger:
        ledger._owed["free"] = 7
        for name in ("free", "other"):
            with trio.CancelScope() as scope:
                scope.cancel()
                await spend(ledger, None, 1, name)

        assert ledger._owed == {"free": 7, "other": 0}


async def test_a_start_without_redis_serves_and_says_why_once(autojump_clock):
    with structlog.testing.capture_logs() as logs:
        async with open_redis_ledger("redis://127.0.0.1:1/0") as ledger:
            await trio.sleep(9)
    assert events(logs, "ledger_down") == ["ledger_down"]

    async with open_redis_ledger("redis://127.0.0.1:1/0") as ledger:
        assert ledger.problem == "the shared quota store (Redis) cannot be reached: Connection refused"
        with pytest.raises(LedgerDown, match="cannot be reached"):
            await spend(ledger)
        assert await spend(ledger, None)


@needs_redis
async def test_instances_refuse_or_carry_on_while_redis_is_gone_and_come_back_with_it(redis):
    metered, free = Scripted(), Scripted()
    rows = [
        make_row(metered, name="metered", limit=Limit(9, "month"), rate=Rate(5, 0.1)),
        make_row(free, name="free", rate=Rate(5, 0.1), patience=9.0),
    ]
    async with (
        open_redis_ledger(redis.url) as ledger,
        supervised(*rows, ledger=ledger, slots_of=ledger.slots_of) as supervisor,
    ):
        refs = supervisor.refs
        redis.pause()
        refused = await refs["metered"].ask(Query("x"))
        assert refused.kind is Kind.DOWN
        assert refused.detail == "the shared quota store (Redis) does not answer within 2 s"
        for _ in range(7):
            assert (await refs["free"].ask(Query("x"))).value is not None
        assert (len(metered.calls), len(free.calls)) == (0, 7)

        redis.resume()
        await until(lambda: ledger.problem is None)
        assert (await refs["metered"].ask(Query("x"))).value is not None
        assert redis.field("metered:total") == "1"


@needs_redis
async def test_redis_that_goes_after_the_units_were_counted_stops_the_call(redis, monkeypatch):
    provider = Scripted()
    row = make_row(provider, limit=Limit(9, "month"), rate=Rate(5, 1.0))
    async with open_redis_ledger(redis.url) as ledger:

        async def spend_and_go(*args: Any) -> Any:
            spent = await RedisLedger.spend(ledger, *args)
            ledger._link.close("gone")
            return spent

        monkeypatch.setattr(ledger, "spend", spend_and_go)
        async with supervised(row, ledger=ledger, slots_of=ledger.slots_of) as supervisor:
            outcome = await supervisor.refs["acme"].ask(Query("x"))

    assert (outcome.kind, outcome.detail, provider.calls) == (Kind.DOWN, "gone", [])
    assert redis.field("acme:total") == "1"


# --- Redis back, but not as it was ------------------------------------------------------------------------------------


@needs_redis
async def test_an_emptied_redis_is_said_loudly_and_limits_stay_off_until_the_operator_confirms(redis, monkeypatch):
    monkeypatch.setattr("actors.redis_link.LOOK_EVERY", 0.02)
    with structlog.testing.capture_logs() as logs:
        async with open_redis_ledger(redis.url) as one, open_redis_ledger(redis.url) as other:
            await spend(one, units=3)
            redis.ask("FLUSHALL")

            for ledger in (one, other):
                with pytest.raises(LedgerDown, match=EMPTIED):
                    await spend(ledger)
                assert "came back without its figures" in str(ledger.problem)
                assert await spend(ledger, None, 1, "free")
            assert events(logs, "ledger_emptied") == ["ledger_emptied"] * 2

            redis.ask("HDEL", LEDGER, "lost_at")
            await until(lambda: one.problem is other.problem is None)
            # What the replicas remember goes on counting.
            assert [await spend(other, units=2), await spend(one)] == [True, False]
            assert events(logs, "ledger_confirmed") == ["ledger_confirmed"] * 2


@needs_redis
async def test_a_loss_ends_with_the_period_it_happened_in(redis):
    async with open_redis_ledger(redis.url) as ledger:
        redis.ask("FLUSHALL")
        with pytest.raises(LedgerDown):
            await spend(ledger)
        redis.ask("HSET", LEDGER, "lost_at", int(time.time()) - 32 * 86_400)
        assert await spend(ledger)

    with structlog.testing.capture_logs() as logs:
        async with open_redis_ledger(redis.url) as ledger:
            assert ledger.problem is None
    assert events(logs, "ledger_emptied") == []


@needs_redis
async def test_a_replica_that_starts_after_a_loss_knows_of_it(redis):
    async with open_redis_ledger(redis.url) as ledger:
        redis.ask("FLUSHALL")
        with pytest.raises(LedgerDown):
            await spend(ledger)

    with structlog.testing.capture_logs() as logs:
        async with open_redis_ledger(redis.url) as ledger:
            with pytest.raises(LedgerDown, match=EMPTIED):
                await spend(ledger)
    assert events(logs, "ledger_emptied") == ["ledger_emptied"]


@needs_redis
async def test_a_ledger_that_changes_under_every_look_counts_nothing(redis):
    async with open_redis_ledger(redis.url) as ledger:

        async def look(ask: Any) -> None:
            ledger._epoch = "never this one"

        ledger._epoch, ledger._look = "never this one", look
        with pytest.raises(LedgerDown, match=EMPTIED):
            await spend(ledger)
    assert redis.field("acme:total") is None


@needs_redis
async def test_a_redis_that_comes_back_with_older_figures_is_put_right(redis, monkeypatch):
    monkeypatch.setattr("actors.redis_link.LOOK_EVERY", 0.02)
    with structlog.testing.capture_logs() as logs:
        async with open_redis_ledger(redis.url) as ledger:
            await spend(ledger, units=5)
            redis.ask("HSET", LEDGER, "acme:total", 1, "acme:month_units", 1, "acme:day_units", 1)

            await until(lambda: redis.field("acme:total") == "5")
            assert not await spend(ledger)

    assert [entry["instances"] for entry in logs if entry["event"] == "ledger_went_back"] == [["acme"]]


# --- the keeper -------------------------------------------------------------------------------------------------------


class Falling:
    """A link whose keeper crashes."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    async def keep(self, look: Any) -> None:
        raise KeyError("a bug")

    def close(self, problem: str) -> None:
        self.problems.append(problem)


async def test_a_keeper_that_crashes_starts_again_and_the_sixth_crash_ends_the_process(autojump_clock):
    link = Falling()
    ledger = RedisLedger(link, 0, random.Random(1))  # type: ignore[arg-type]
    with pytest.raises(ExceptionGroup) as caught:
        await ledger.run()

    assert caught.group_contains(KeyError)
    assert link.problems == ["the shared quota store's keeper crashed"] * 6


# --- which ledger -----------------------------------------------------------------------------------------------------


@needs_redis
async def test_the_url_chooses_the_ledger(redis, tmp_path):
    rated = make_row(rate=Rate(1, 1.0))
    async with open_state(f"sqlite:{tmp_path / 'quota.sqlite3'}") as own, open_state(redis.url) as shared:
        kinds = [type(state.ledger).__name__ for state in (own, shared)]
        slots = [type(state.slots_of(rated)).__name__ for state in (own, shared)]
        problems = [own.problem(), shared.problem()]

    assert kinds == ["SqliteLedger", "RedisLedger"]
    assert slots == ["OwnSlots", "SharedSlots"]
    assert problems == [None, None]
