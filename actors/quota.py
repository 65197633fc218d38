"""Units used per calendar period, in UTC by the wall clock.

Pure: the wall clock is an argument. A period is named by its day (`2026-11-30`) or month (`2026-11`), so that names
sort like time. The name that counts is the highest seen so far: a clock that steps back never opens an older period
(nor the same one anew), and one that steps forward opens one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from actors.row import Limit, Period

WARN_AT = 0.8


def period_key(period: Period, wall_now: float) -> str:
    """The name of the calendar period that `wall_now` (seconds since 1970) lies in."""
    return datetime.fromtimestamp(wall_now, UTC).strftime("%Y-%m-%d" if period == "day" else "%Y-%m")


def period_end(key: str) -> float:
    """When the period of that name ends, in seconds since 1970."""
    if len(key) == len("2026-11"):
        first = datetime.strptime(key, "%Y-%m").replace(tzinfo=UTC)
        return (first + timedelta(days=32)).replace(day=1).timestamp()
    return (datetime.strptime(key, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=1)).timestamp()


@dataclass(frozen=True, slots=True)
class Counts:
    """What one instance has used: in its current day, in its current month, and ever."""

    day: str = ""
    day_units: int = 0
    month: str = ""
    month_units: int = 0
    total: int = 0

    def at(self, wall_now: float) -> Counts:
        """The same counts as they stand at `wall_now`: a period that is over has turned into a new one with 0 units."""
        day = max(self.day, period_key("day", wall_now))
        month = max(self.month, period_key("month", wall_now))
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


class Quota:
    """What a limit says about counts. It keeps no counts itself: the ledger does."""

    def __init__(self, limit: Limit | None) -> None:
        self._limit = limit

    def spend(self, counts: Counts, units: int, wall_now: float) -> Counts | None:
        """The counts after spending `units`, or None where the limit does not allow it."""
        now = counts.at(wall_now)
        if self._limit is not None and now.used(self._limit.period) + units > self._limit.units:
            return None
        return now.add(units)

    def used(self, counts: Counts, wall_now: float) -> int:
        """Units used in the current period: that of the limit, or the month."""
        return counts.at(wall_now).used(self._limit.period if self._limit else "month")

    def resets_at(self, counts: Counts, wall_now: float) -> float | None:
        """When the limit's current period ends, in seconds since 1970; None without a limit."""
        if self._limit is None:
            return None
        return period_end(counts.at(wall_now).key(self._limit.period))

    def warns(self, counts: Counts, units: int) -> bool:
        """Whether the `units` just spent, which `counts` include, took the use past four fifths of the limit."""
        if self._limit is None:
            return False
        used = counts.used(self._limit.period)
        mark = self._limit.units * WARN_AT
        return used - units < mark <= used

    def statistics(self, counts: Counts, wall_now: float) -> QuotaStatistics:
        if self._limit is None:
            return QuotaStatistics()
        used = self.used(counts, wall_now)
        end = period_end(counts.at(wall_now).key(self._limit.period))
        return QuotaStatistics(
            limit=self._limit.units,
            period=self._limit.period,
            used=used,
            remaining=max(0, self._limit.units - used),
            resets_at=datetime.fromtimestamp(end, UTC).isoformat(),
        )
