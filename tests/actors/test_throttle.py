"""The throttle: plain numbers in, plain numbers out."""

from __future__ import annotations

import random

import pytest

from actors.row import Rate
from actors.throttle import Throttle


def start(throttle: Throttle, now: float, by: float = 1e9) -> float | None:
    """Reserve and begin at the slot's own time."""
    slot = throttle.reserve(now, by=by)
    if slot is not None:
        assert throttle.begin(slot, slot) is None
    return slot


def test_slots_of_one_call_per_period_are_a_period_apart():
    throttle = Throttle(Rate(1, 45.0))

    assert [start(throttle, 10.0) for _ in range(3)] == [10.0, 55.0, 100.0]


def test_a_window_of_three_lets_three_start_at_once_and_the_fourth_a_period_later():
    throttle = Throttle(Rate(3, 60.0))

    assert [start(throttle, 0.0), start(throttle, 1.0), start(throttle, 2.0)] == [0.0, 1.0, 2.0]
    assert throttle.next_slot(2.0) == 60.0
    assert [start(throttle, 2.0), start(throttle, 2.0)] == [60.0, 61.0]


def test_a_slot_after_by_is_refused_and_takes_nothing():
    throttle = Throttle(Rate(1, 45.0))
    start(throttle, 0.0)

    assert throttle.reserve(0.0, by=44.9) is None
    assert throttle.next_slot(0.0) == 45.0
    assert throttle.reserve(0.0, by=45.0) == 45.0


def test_next_slot_takes_nothing():
    throttle = Throttle(Rate(1, 2.0))

    assert [throttle.next_slot(5.0), throttle.next_slot(5.0)] == [5.0, 5.0]


def test_a_call_held_up_after_its_slot_pushes_the_next_one_back():
    throttle = Throttle(Rate(1, 2.0))
    first, second = throttle.reserve(0.0, by=9.0), throttle.reserve(0.0, by=9.0)
    assert (first, second) == (0.0, 2.0)

    assert throttle.begin(first, 1.5) is None
    assert throttle.begin(second, 2.0) == 3.5
    assert throttle.begin(second, 3.5) is None


def test_a_call_does_not_begin_before_its_slot():
    throttle = Throttle(Rate(1, 2.0))
    throttle.reserve(0.0, by=9.0)
    slot = throttle.reserve(0.0, by=9.0)

    assert throttle.begin(slot, 1.0) == 2.0


def test_a_released_slot_at_the_end_of_the_queue_is_free_again():
    throttle = Throttle(Rate(1, 45.0))
    start(throttle, 0.0)
    slot = throttle.reserve(0.0, by=99.0)

    throttle.release(slot)

    assert throttle.next_slot(1.0) == 45.0


def test_without_a_rate_every_slot_is_now():
    throttle = Throttle(None)

    assert [start(throttle, 3.0) for _ in range(100)] == [3.0] * 100
    throttle.release(3.0)
    assert throttle.statistics(3.0).rate is None
    assert throttle.statistics(3.0).next_slot_in_s == 0.0


def test_statistics_show_the_rate_and_the_wait():
    throttle = Throttle(Rate(1, 45.0))
    start(throttle, 0.0)

    seen = throttle.statistics(15.0)

    assert (seen.rate, seen.next_slot_in_s) == ("1/45s", 30.0)


@pytest.mark.parametrize("seed", range(200))
def test_no_window_ever_holds_more_starts_than_the_rate(seed):
    rng = random.Random(seed)
    rate = Rate(rng.randint(1, 4), rng.choice([1.0, 7.5, 45.0]))
    throttle = Throttle(rate)
    now, waiting, starts = 0.0, [], []
    for _ in range(120):
        now += rng.choice([0.0, 0.01, rate.period / 3, rate.period])
        action = rng.random()
        if action < 0.5:
            slot = throttle.reserve(now, by=now + rng.choice([0.0, rate.period, 5 * rate.period]))
            waiting += [] if slot is None else [slot]
        elif waiting:
            slot = waiting.pop(rng.randrange(len(waiting)))
            if action < 0.6:
                throttle.release(slot)
            elif throttle.begin(slot, now) is None:
                starts.append(now)
            else:
                waiting.append(slot)

    late = rate.count
    assert all(starts[i + late] >= starts[i] + rate.period for i in range(len(starts) - late)), seed
