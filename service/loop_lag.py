"""How late the event loop is: a task that sleeps for a moment, again and again, and notes how much longer it took.

Whatever holds up this task held up every call as well. Trio's own instruments would see each stall, but cost every step
of every task.
"""

from __future__ import annotations

from collections import deque

import trio

from actors.histogram import Histogram, HistogramStatistics

INTERVAL = 0.1
MEASURED = 600  # about a minute of them
LAG_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class LoopLag:
    """Seconds by which the loop was late. Nothing is measured unless `run` runs."""

    def __init__(self) -> None:
        self._histogram = Histogram(LAG_SECONDS)
        self._recent: deque[float] = deque(maxlen=MEASURED)

    async def run(self) -> None:
        """Measure until cancelled."""
        while True:
            due = trio.current_time() + INTERVAL
            await trio.sleep_until(due)
            late = trio.current_time() - due
            self._histogram.add(late)
            self._recent.append(late)

    @property
    def longest(self) -> float:
        """The worst of the last minute, 0 before the first measurement."""
        return max(self._recent, default=0.0)

    def statistics(self) -> HistogramStatistics:
        return self._histogram.statistics()
