"""Back-off, the limit of crashes, the retry budget, and the barrier that catches a crash."""

from __future__ import annotations

import random

import pytest
import trio

from actors.restarts import Restarts, RetryBudget, crash_of, described, innermost


def test_delays_double_from_one_second():
    restarts = Restarts(random.Random(1))

    delays = [restarts.delay(now) for now in (0.0, 10.0, 20.0, 30.0, 40.0)]

    assert all(2**n <= delay <= 1.2 * 2**n for n, delay in enumerate(delays))


def test_the_sixth_crash_in_ten_minutes_is_the_last():
    restarts = Restarts(random.Random(1))

    assert [restarts.delay(now) is None for now in (0.0, 100.0, 200.0, 300.0, 400.0, 599.0)] == [False] * 5 + [True]


def test_crashes_further_apart_go_on_with_delays_up_to_a_minute():
    restarts = Restarts(random.Random(1))

    delays = [restarts.delay(121.0 * n) for n in range(12)]

    assert None not in delays
    assert 60 <= delays[-1] <= 72


def test_ten_quiet_minutes_start_the_row_anew():
    restarts = Restarts(random.Random(1))
    for now in (0.0, 200.0, 400.0):
        restarts.delay(now)

    assert restarts.delay(1000.0) <= 1.2


def test_the_budget_holds_ten_retries_and_a_tenth_per_call():
    budget = RetryBudget()

    assert [budget.take() for _ in range(11)] == [True] * 10 + [False]
    for _ in range(10):
        budget.called()
    assert [budget.take(), budget.take()] == [True, False]


def test_the_budget_never_holds_more_than_ten():
    budget = RetryBudget()

    for _ in range(1000):
        budget.called()

    assert budget.left == 10


async def test_a_normal_end_is_no_crash():
    assert await crash_of(trio.lowlevel.checkpoint) is None


async def test_a_crash_comes_back_as_a_value():
    async def fall() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            raise KeyError("x")

    crash = await crash_of(fall)

    assert isinstance(innermost(crash), KeyError)


async def test_cancellation_goes_through_the_barrier(autojump_clock):
    with trio.move_on_after(1) as scope:
        await crash_of(trio.sleep_forever)

    assert scope.cancelled_caught


async def test_what_is_no_error_goes_through_the_barrier():
    async def leave() -> None:
        async with trio.open_nursery():
            raise SystemExit(3)

    with pytest.raises(BaseExceptionGroup) as caught:
        await crash_of(leave)

    assert isinstance(innermost(caught.value), SystemExit)


def test_a_description_has_lines_of_code_and_no_values():
    def fall(key: str) -> None:
        raise ValueError("broken")

    try:
        fall("k-secret")
    except ValueError as error:
        fields = described(ExceptionGroup("many", [error]))

    assert fields["error"] == "ValueError"
    assert "in fall" in fields["traceback"]
    assert "k-secret" not in fields["traceback"].replace('fall("k-secret")', "")
