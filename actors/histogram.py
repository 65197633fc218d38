"""How often something took how long, in buckets that only grow: what a monitoring system takes quantiles of."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

# Seconds. A call of a provider ends at 25 as a rule, a call of a tool at 55.
CALL_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 25.0, 60.0)


@dataclass(frozen=True, slots=True)
class HistogramStatistics:
    """counts: per bound the values up to it, and beyond the bound before; one more for those over the last bound."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: float

    def cumulative(self) -> tuple[tuple[str, int], ...]:
        """The pairs that Prometheus wants: an upper bound, and how many values are at most that; `+Inf` for all."""
        names = [f"{bound:g}" for bound in self.bounds] + ["+Inf"]
        so_far, pairs = 0, []
        for name, count in zip(names, self.counts, strict=True):
            so_far += count
            pairs.append((name, so_far))
        return tuple(pairs)


class Histogram:
    """Counts values by size. `bounds`: upper ones, each included in its bucket, in rising order."""

    def __init__(self, bounds: tuple[float, ...] = CALL_SECONDS) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._total = 0.0

    def add(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._total += value

    def statistics(self) -> HistogramStatistics:
        return HistogramStatistics(self._bounds, tuple(self._counts), self._total)
