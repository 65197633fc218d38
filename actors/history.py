"""What happened in each minute of the last hour: a ring of 60 buckets of fixed size, whatever the traffic is.

Minutes are those of the clock that `now` is read from, trio's. The last one has only begun. Nothing runs beside it: a
bucket that an hour has passed over is emptied when it is written to again, and left out when it is read before that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MINUTES = 60
MINUTE_SECONDS = 60.0

Ended = Literal["ok", "empty", "failed", "skipped", "late"]


@dataclass(frozen=True, slots=True)
class HistoryStatistics:
    """One figure per minute, the oldest first. Durations are in milliseconds, None where nothing finished.

    answered: asks with an answer, an empty one too. failed: those without. late: those that were given up. Asks that
    were skipped took nobody's time and are in none. timed: how many durations the mean is of.
    """

    answered: tuple[int, ...]
    failed: tuple[int, ...]
    late: tuple[int, ...]
    timed: tuple[int, ...]
    mean_ms: tuple[float | None, ...]
    longest_ms: tuple[float | None, ...]

    @property
    def is_empty(self) -> bool:
        return not any((*self.answered, *self.failed, *self.late))


class _Minute:
    __slots__ = ("answered", "failed", "late", "longest", "number", "timed", "total")

    def __init__(self, number: int) -> None:
        self.number = number
        self.answered = self.failed = self.late = self.timed = 0
        self.total = self.longest = 0.0


class History:
    """Counts and times of one instance, or of all calls of tools."""

    def __init__(self) -> None:
        self._ring: list[_Minute | None] = [None] * MINUTES

    def count(self, ended: Ended, now: float) -> None:
        """Note how an ask ended."""
        if ended == "skipped":
            return
        minute = self._at(now)
        if ended == "failed":
            minute.failed += 1
        elif ended == "late":
            minute.late += 1
        else:
            minute.answered += 1

    def time(self, seconds: float, now: float) -> None:
        """Note how long something took that has just finished."""
        minute = self._at(now)
        minute.timed += 1
        minute.total += seconds
        minute.longest = max(minute.longest, seconds)

    def _at(self, now: float) -> _Minute:
        number = int(now // MINUTE_SECONDS)
        minute = self._ring[number % MINUTES]
        if minute is None or minute.number != number:
            minute = self._ring[number % MINUTES] = _Minute(number)
        return minute

    def statistics(self, now: float) -> HistoryStatistics:
        last = int(now // MINUTE_SECONDS)
        kept = [self._kept(number) for number in range(last - MINUTES + 1, last + 1)]
        return HistoryStatistics(
            answered=tuple(minute.answered for minute in kept),
            failed=tuple(minute.failed for minute in kept),
            late=tuple(minute.late for minute in kept),
            timed=tuple(minute.timed for minute in kept),
            mean_ms=tuple(_milliseconds(minute, minute.total / (minute.timed or 1)) for minute in kept),
            longest_ms=tuple(_milliseconds(minute, minute.longest) for minute in kept),
        )

    def _kept(self, number: int) -> _Minute:
        minute = self._ring[number % MINUTES]
        return minute if minute is not None and minute.number == number else _Minute(number)


def _milliseconds(minute: _Minute, seconds: float) -> float | None:
    return round(seconds * 1000, 1) if minute.timed else None
