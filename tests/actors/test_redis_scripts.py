"""The Lua scripts alone, in a real Redis."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import coredis
import pytest
from coredis.retry import NoRetryPolicy

from actors import _redis_scripts as scripts
from actors._redis_scripts import BEGIN, LEDGER, LOOK, PERIODS, RELEASE, RESERVE, SPEND, Script, slot_keys
from actors.quota import period_key
from tests.redislab import RedisProcess

pytestmark = pytest.mark.system("redis-server")

SECOND = 1_000_000
LEEWAY = 50_000
NOTHING = ("", 0, "", 0, 0)


class Asked:
    """Runs scripts by their text."""

    def __init__(self, client: Any) -> None:
        self.client = client

    async def run(self, script: Script, keys: list[str], *args: Any) -> Any:
        return await self.client.eval(script.text, keys, list(args))

    async def look(self, known: str, fresh: str) -> tuple[str, str]:
        state, epoch, _ = await self.run(LOOK, [LEDGER], known, fresh)
        return state.decode(), epoch.decode()

    async def spend(self, units: int, cap: int = -1, period: str = "month", known: Any = NOTHING) -> Any:
        state, *figures = await self.run(SPEND, [LEDGER], "e1", "acme", units, cap, period, *known)
        return state.decode(), *figures

    async def slot(self, script: Script, ticket: str, count: int, period: float, *more: Any) -> list[int]:
        given = [ticket, count, round(period * SECOND), LEEWAY, *more]
        answer: list[int] = await self.run(script, slot_keys("acme"), *given)
        return answer

    async def reserve(self, ticket: str, count: int, period: float, *, patience: float = 99, lease: float = 99) -> Any:
        taken, wait, _ = await self.slot(
            RESERVE, ticket, count, period, round(patience * SECOND), round(lease * SECOND)
        )
        return wait / SECOND if taken else None

    async def begin(self, ticket: str, count: int, period: float) -> float | None:
        granted, wait, _ = await self.slot(BEGIN, ticket, count, period)
        return None if granted else wait / SECOND


@pytest.fixture
async def asked(redis: RedisProcess) -> AsyncIterator[Asked]:
    async with coredis.Redis("127.0.0.1", redis.port, retry_policy=NoRetryPolicy()) as client:
        yield Asked(client)


def about(seconds: float) -> Any:
    """Clocks run on between two scripts."""
    return pytest.approx(seconds, abs=0.5)


# --- periods ----------------------------------------------------------------------------------------------------------


async def test_days_and_months_in_lua_are_those_of_python(asked):
    rng = random.Random(7)
    instants = [rng.randrange(0, 2**32) for _ in range(2_000)]
    for year in (1970, 1999, 2000, 2024, 2026, 2100, 2400):
        for month in (1, 2, 3, 12):
            first = int(datetime(year, month, 1, tzinfo=UTC).timestamp())
            instants += [first, first + 86_399, max(0, first - 1)]
    body = "local found = {} for i, at in ipairs(ARGV) do local d, m = periods(tonumber(at)) found[i] = d .. m end"

    found = await asked.client.eval(f"{PERIODS} {body} return found", [], instants)

    assert [each.decode() for each in found] == [period_key("day", at) + period_key("month", at) for at in instants]


# --- spends -----------------------------------------------------------------------------------------------------------


async def test_units_are_granted_up_to_the_limit_and_a_refusal_counts_nothing(asked, redis):
    await asked.look("", "e1")

    states = [(await asked.spend(2, cap=5))[0] for _ in range(4)]

    assert states == ["granted", "granted", "spent", "spent"]
    assert (redis.field("acme:total"), redis.field("acme:month_units")) == ("4", "4")
    assert (await asked.spend(1, cap=5))[0] == "granted"


async def test_without_a_limit_everything_is_granted_and_counted(asked):
    await asked.look("", "e1")

    assert [(await asked.spend(10**9))[-1] for _ in range(3)] == [10**9, 2 * 10**9, 3 * 10**9]


@pytest.mark.parametrize("period", ["day", "month"])
async def test_a_period_that_is_over_starts_again_at_zero_and_the_total_goes_on(asked, redis, period):
    await asked.look("", "e1")
    redis.ask("HSET", LEDGER, "acme:day", "2020-02-29", "acme:day_units", 9, "acme:month", "2020-02")
    redis.ask("HSET", LEDGER, "acme:month_units", 9, "acme:total", 9)

    state, day, day_units, month, month_units, total = await asked.spend(1, cap=1, period=period)

    assert (state, day_units, month_units, total) == ("granted", 1, 1, 10)
    assert day.decode().startswith(month.decode())


@pytest.mark.parametrize("period", ["day", "month"])
async def test_a_clock_that_was_set_back_does_not_open_the_period_again(asked, redis, period):
    await asked.look("", "e1")
    redis.ask("HSET", LEDGER, "acme:day", "2199-01-01", "acme:day_units", 9, "acme:month", "2199-01")
    redis.ask("HSET", LEDGER, "acme:month_units", 9, "acme:total", 9)

    assert (await asked.spend(1, cap=9, period=period))[0] == "spent"
    assert (await asked.spend(1, cap=10, period=period))[0] == "granted"


async def test_figures_that_a_replica_remembers_put_older_ones_right(asked):
    await asked.look("", "e1")
    _, day, _, month, _, _ = await asked.spend(3)
    remembered = (day.decode(), 7, month.decode(), 8, 20)

    assert (await asked.spend(1, cap=8, known=remembered))[0] == "spent"
    assert await asked.spend(1, cap=9, known=remembered) == ("granted", day, 8, month, 9, 21)


async def test_a_spend_against_another_epoch_counts_nothing(asked, redis):
    await asked.look("", "another")

    assert await asked.spend(1) == ("epoch",)
    assert redis.field("acme:total") is None


async def test_after_a_loss_limits_are_withheld_until_their_period_ends(asked, redis):
    await asked.look("", "e1")
    now = int(redis.ask("EVAL", "return redis.call('TIME')[1]", 0))

    redis.ask("HSET", LEDGER, "lost_at", now)
    assert [(await asked.spend(1, 9, period))[0] for period in ("day", "month")] == ["lost", "lost"]
    assert (await asked.spend(1))[0] == "granted"

    redis.ask("HSET", LEDGER, "lost_at", now - 86_400)
    same_month = period_key("month", now) == period_key("month", now - 86_400)
    assert (await asked.spend(1, 9, "day"))[0] == "granted"
    assert (await asked.spend(1, 9, "month"))[0] == ("lost" if same_month else "granted")

    redis.ask("HSET", LEDGER, "lost_at", now - 32 * 86_400)
    assert (await asked.spend(1, 9, "month"))[0] == "granted"


# --- the mark ---------------------------------------------------------------------------------------------------------


async def test_the_first_replica_makes_the_mark_and_the_next_one_finds_it(asked, redis):
    assert await asked.look("", "e1") == ("new", "e1")
    assert await asked.look("", "e2") == ("same", "e1")
    assert await asked.look("e1", "e3") == ("same", "e1")
    assert redis.field("lost_at") is None


async def test_a_mark_that_is_gone_is_a_loss_that_is_told_once_per_replica(asked, redis):
    await asked.look("", "e1")
    redis.ask("FLUSHALL")

    assert await asked.look("e1", "e2") == ("lost", "e2")
    assert int(redis.field("lost_at") or 0) > 0
    redis.ask("HDEL", LEDGER, "lost_at")
    assert await asked.look("e1", "e3") == ("moved", "e2")
    assert redis.field("lost_at") is None


async def test_a_new_replica_that_comes_first_does_not_hide_the_loss(asked, redis):
    await asked.look("", "e1")
    redis.ask("FLUSHALL")
    assert await asked.look("", "e2") == ("new", "e2")

    assert await asked.look("e1", "e3") == ("lost", "e2")
    assert redis.field("lost_at") is not None


# --- slots ------------------------------------------------------------------------------------------------------------


async def test_slots_lie_a_period_apart_and_a_call_without_patience_takes_none(asked):
    assert await asked.reserve("a", 1, 45.0) == 0
    assert await asked.reserve("b", 1, 45.0) == about(45)
    assert await asked.reserve("c", 1, 45.0, patience=60) is None
    assert await asked.reserve("d", 1, 45.0, patience=91) == about(90)


async def test_as_many_slots_as_the_rate_allows_are_now(asked):
    waits = [await asked.reserve(str(number), 3, 10.0) for number in range(7)]

    assert waits == [0, 0, 0, about(10), about(10), about(10), about(20)]


async def test_what_has_begun_pushes_the_next_slot_back(asked):
    await asked.reserve("a", 2, 10.0)
    assert await asked.begin("a", 2, 10.0) is None

    assert await asked.reserve("b", 2, 10.0) == 0
    assert await asked.reserve("c", 2, 10.0) == about(10)


async def test_no_more_begin_than_the_rate_allows_and_the_others_are_told_different_times(asked, redis):
    for number in range(5):
        await asked.reserve(str(number), 2, 10.0)
    assert [await asked.begin(str(number), 2, 10.0) for number in range(2)] == [None, None]

    redis.ask("ZINCRBY", slot_keys("acme")[0], -5 * SECOND, "0")

    assert [await asked.begin(str(number), 2, 10.0) for number in (2, 3, 4)] == [about(5), about(10), about(10)]


async def test_a_grant_that_came_too_late_is_taken_back_by_asking_again(asked):
    await asked.reserve("a", 1, 10.0)

    assert [await asked.begin("a", 1, 10.0) for _ in range(3)] == [None, None, None]
    assert await asked.begin("b", 1, 10.0) == about(10)


async def test_a_slot_given_back_is_free_again(asked):
    await asked.reserve("a", 1, 10.0)
    await asked.run(RELEASE, slot_keys("acme"), "a")

    assert await asked.reserve("b", 1, 10.0) == 0


async def test_slots_of_a_replica_that_is_gone_are_forgotten_when_their_lease_ends(asked):
    await asked.reserve("a", 1, 10.0, lease=0)

    assert await asked.reserve("b", 1, 10.0) == 0


async def test_slots_are_kept_when_the_clock_is_set_back(asked, redis):
    await asked.reserve("a", 1, 10.0)
    await asked.begin("a", 1, 10.0)
    begun, hour = slot_keys("acme")[0], 3_600 * SECOND
    # As if all that had been written when the clock was an hour ahead.
    redis.ask("HINCRBY", scripts.CLOCK, "last", hour)
    redis.ask("ZINCRBY", begun, hour, "a")

    assert await asked.reserve("b", 1, 10.0) == about(10)


async def test_keys_of_slots_do_not_stay_for_ever_and_the_figures_do(asked, redis):
    await asked.look("", "e1")
    await asked.reserve("a", 1, 10.0)
    await asked.begin("a", 1, 10.0)
    await asked.reserve("b", 1, 10.0)

    lives = [int(redis.ask("TTL", key)[1:]) for key in slot_keys("acme")]
    assert all(86_000 < life <= 86_410 for life in lives), lives
    assert redis.ask("TTL", LEDGER) == b":-1"
