"""Quota periods in UTC by the wall clock, and clocks that jump."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from actors.quota import Counts, Quota, QuotaStatistics, period_end, period_key
from actors.row import Limit

DAY = 86400.0


def wall(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


NOON = wall("2026-11-30T12:00:00")


def spend(quota: Quota, counts: Counts, at: float, units: int = 1) -> Counts:
    after = quota.spend(counts, units, at)
    assert after is not None
    return after


def test_periods_are_named_after_the_utc_day_and_month():
    assert period_key("day", NOON) == "2026-11-30"
    assert period_key("month", NOON) == "2026-11"


@pytest.mark.parametrize(
    ("key", "end"),
    [
        ("2026-11-30", "2026-12-01T00:00:00"),
        ("2026-11", "2026-12-01T00:00:00"),
        ("2026-12", "2027-01-01T00:00:00"),
        ("2028-02", "2028-03-01T00:00:00"),
        ("2026-12-31", "2027-01-01T00:00:00"),
    ],
)
def test_a_period_ends_where_the_next_begins(key, end):
    assert period_end(key) == wall(end)


@pytest.mark.parametrize("period", ["day", "month"])
def test_the_limit_holds_until_the_period_ends_and_then_opens_anew(period):
    quota = Quota(Limit(2, period))
    counts = spend(quota, spend(quota, Counts(), NOON), NOON)

    assert quota.spend(counts, 1, NOON + DAY / 2 - 1) is None
    assert spend(quota, counts, NOON + DAY / 2).used(period) == 1


def test_units_that_do_not_all_fit_are_refused():
    quota = Quota(Limit(10, "month"))

    assert quota.spend(spend(quota, Counts(), NOON, 9), 2, NOON) is None


@pytest.mark.parametrize("back", [1.0, DAY, 40 * DAY])
def test_a_clock_that_steps_back_opens_no_period(back):
    quota = Quota(Limit(1, "day"))
    counts = spend(quota, Counts(), wall("2026-12-01T00:00:00"))

    assert quota.spend(counts, 1, wall("2026-12-01T00:00:00") - back) is None
    assert quota.resets_at(counts, NOON - back) == wall("2026-12-02T00:00:00")


def test_a_step_forward_and_back_opens_one_period_and_no_more():
    quota = Quota(Limit(1, "day"))
    counts = spend(quota, Counts(), NOON)
    counts = spend(quota, counts, NOON + 3 * DAY)

    for step in (0.0, DAY, 2 * DAY, 3 * DAY):
        assert quota.spend(counts, 1, NOON + step) is None
    assert counts.total == 2


def test_without_a_limit_everything_is_granted_and_counted():
    quota = Quota(None)
    counts = spend(quota, Counts(), NOON, 10**9)

    assert counts.total == 10**9
    assert quota.used(counts, NOON) == 10**9
    assert quota.used(counts, NOON + DAY) == 0
    assert quota.resets_at(counts, NOON) is None
    assert quota.nearly_spent(counts, NOON) is None
    assert quota.statistics(counts, NOON).limit is None


def test_a_quota_is_nearly_spent_from_four_fifths_on_until_its_period_ends():
    quota = Quota(Limit(10, "month"))
    counts, names = Counts(), []
    for _ in range(10):
        counts = spend(quota, counts, NOON)
        names.append(quota.nearly_spent(counts, NOON))

    assert names == [None] * 7 + ["2026-11"] * 3
    assert quota.nearly_spent(counts, NOON - 90 * DAY) == "2026-11"
    assert quota.nearly_spent(counts, NOON + DAY / 2) is None


@pytest.mark.parametrize(
    ("at", "key", "end"),
    [
        ("2026-11-14T23:59:59", "2026-10", "2026-11-15T00:00:00"),
        ("2026-11-15T00:00:00", "2026-11", "2026-12-15T00:00:00"),
        ("2026-12-14T23:59:59", "2026-11", "2026-12-15T00:00:00"),
        ("2028-03-01T00:00:00", "2028-02", "2028-03-15T00:00:00"),
        ("2027-01-03T00:00:00", "2026-12", "2027-01-15T00:00:00"),
    ],
)
def test_a_month_may_begin_on_the_accounts_billing_day(at, key, end):
    assert period_key("month", wall(at), 15) == key
    assert period_end(key, 15) == wall(end)


def test_a_limit_with_a_billing_day_opens_anew_on_that_day():
    quota = Quota(Limit(2, "month", first_day=15))
    counts = spend(quota, Counts(), wall("2026-11-20T00:00:00"), 2)

    assert quota.spend(counts, 1, wall("2026-12-14T23:59:59")) is None
    assert quota.resets_at(counts, NOON) == wall("2026-12-15T00:00:00")
    assert quota.statistics(counts, NOON).resets_at == "2026-12-15T00:00:00+00:00"
    assert spend(quota, counts, wall("2026-12-15T00:00:00")).month_units == 1


def test_a_billing_day_that_is_set_later_opens_no_period_early():
    used = spend(Quota(Limit(9, "month")), Counts(), wall("2026-12-03T00:00:00"), 9)
    quota = Quota(Limit(9, "month", first_day=15))

    assert quota.spend(used, 1, wall("2026-12-03T00:00:00")) is None
    assert quota.spend(used, 1, wall("2026-12-16T00:00:00")) is None


def test_statistics_show_what_is_left_and_until_when():
    quota = Quota(Limit(100, "day"))
    counts = spend(quota, Counts(), NOON, 30)

    seen = quota.statistics(counts, NOON)

    assert (seen.limit, seen.period, seen.used, seen.remaining) == (100, "day", 30, 70)
    assert not seen.is_nearly_spent
    assert not QuotaStatistics().is_nearly_spent
    assert quota.statistics(spend(quota, counts, NOON, 50), NOON).is_nearly_spent


@pytest.mark.parametrize(("period", "back"), [("day", DAY), ("month", 40 * DAY)])
def test_statistics_show_that_the_clock_has_gone_back_to_before_the_period(period, back):
    quota = Quota(Limit(100, period))
    seen = quota.statistics(spend(quota, Counts(), NOON), NOON)

    assert not seen.is_ahead_of(NOON)
    assert not seen.is_ahead_of(NOON + DAY)
    assert seen.is_ahead_of(NOON - back)
    assert not QuotaStatistics().is_ahead_of(NOON)
    assert seen.resets_at == "2026-12-01T00:00:00+00:00"
