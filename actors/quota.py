"""Units used per calendar period, in UTC by the wall clock.

Pure: the wall clock is an argument. A period is named by its day (`2026-11-30`) or month (`2026-11`), so that names
sort like time. The name that counts is the highest seen so far: a clock that steps back never opens an older period
(nor the same one anew), and one that steps forward opens one.

A month that begins on another day than the first is the calendar month of so many days earlier, and bears its name:
with billing on the 15th, `2026-11` lasts from November 15 to December 14.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from actors.row import Limit, Period

WARN_AT = 0.8


def period_key(period: Period, wall_now: float, first_day: int = 1) -> str:
    """The name of the period that `wall_now` (seconds since 1970) lies in; months begin on `first_day`."""
    now = datetime.fromtimestamp(wall_now, UTC)
    return now.strftime("%Y-%m-%d") if period == "day" else (now - timedelta(days=first_day - 1)).strftime("%Y-%m")


def period_end(key: str, first_day: int = 1) -> float:
    """When the period of that name ends, in seconds since 1970."""
    if len(key) == len("2026-11"):
        first = datetime.strptime(key, "%Y-%m").replace(tzinfo=UTC)
        return (first + timedelta(days=32)).replace(day=first_day).timestamp()
    return (datetime.strptime(key, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=1)).timestamp()


@dataclass(frozen=True, slots=True)
class Counts:
    """What one instance has used: in its current day, in its current month, and ever."""

    day: str = ""
    day_units: int = 0
    month: str = ""
    month_units: int = 0
    total: int = 0

    def at(self, wall_now: float, first_day: int = 1) -> Counts:
        """The same counts as they stand at `wall_now`: a period that is over has turned into a new one with 0 units."""
        day = max(self.day, period_key("day", wall_now))
        month = max(self.month, period_key("month", wall_now, first_day))
        return Counts(
            day,
            self.day_units if day == self.day else 0,
            month,
            self.month_units if month == self.month else 0,
            self.total,
        )

    def add(self, units: int) -> Counts:
        return replace(
            self,
            day_units=self.day_units + units,
            month_units=self.month_units + units,
            total=self.total + units,
        )

    def used(self, period: Period) -> int:
        return self.day_units if period == "day" else self.month_units

    def key(self, period: Period) -> str:
        return self.day if period == "day" else self.month


@dataclass(frozen=True, slots=True)
class QuotaStatistics:
    """All None without a limit. `resets_at` is ISO 8601 in UTC."""

    limit: int | None = None
    period: Period | None = None
    used: int | None = None
    remaining: int | None = None
    resets_at: str | None = None

    @property
    def is_nearly_spent(self) -> bool:
        """Whether four fifths of the limit are used."""
        return self.limit is not None and self.used is not None and self.used >= self.limit * WARN_AT

    def is_ahead_of(self, wall_now: float) -> bool:
        """Whether the period that is counted has not begun: the clock has gone back since it was opened."""
        if self.resets_at is None:
            return False
        longest = timedelta(days=1) if self.period == "day" else timedelta(days=31)
        return datetime.fromisoformat(self.resets_at) - datetime.fromtimestamp(wall_now, UTC) > longest


class Quota:
    """What a limit says about counts. It keeps no counts itself: the ledger does."""

    def __init__(self, limit: Limit | None) -> None:
        self._limit = limit
        self._first_day = 1 if limit is None else limit.first_day

    def spend(self, counts: Counts, units: int, wall_now: float) -> Counts | None:
        """The counts after spending `units`, or None where the limit does not allow it."""
        now = counts.at(wall_now, self._first_day)
        if self._limit is not None and now.used(self._limit.period) + units > self._limit.units:
            return None
        return now.add(units)

    def used(self, counts: Counts, wall_now: float) -> int:
        """Units used in the current period: that of the limit, or the month."""
        return counts.at(wall_now, self._first_day).used(self._limit.period if self._limit else "month")

    def resets_at(self, counts: Counts, wall_now: float) -> float | None:
        """When the limit's current period ends, in seconds since 1970; None without a limit."""
        if self._limit is None:
            return None
        return period_end(counts.at(wall_now, self._first_day).key(self._limit.period), self._first_day)

    def nearly_spent(self, counts: Counts, wall_now: float) -> str | None:
        """The name of the current period where four fifths of its units are used, else None."""
        if self._limit is None or self.used(counts, wall_now) < self._limit.units * WARN_AT:
            return None
        return counts.at(wall_now, self._first_day).key(self._limit.period)

    def statistics(self, counts: Counts, wall_now: float) -> QuotaStatistics:
        end = self.resets_at(counts, wall_now)
        if self._limit is None or end is None:
            return QuotaStatistics()
        used = self.used(counts, wall_now)
        return QuotaStatistics(
            limit=self._limit.units,
            period=self._limit.period,
            used=used,
            remaining=max(0, self._limit.units - used),
            resets_at=datetime.fromtimestamp(end, UTC).isoformat(),
        )
