"""Admission, counters and deadlines of tool calls, and the state of the service as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import trio

from actors.deadlines import Deadlines
from actors.histogram import Histogram, HistogramStatistics
from actors.history import History


class Full(Exception):
    """As many calls are running as may run at once; carries that number."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} calls are running")
        self.limit = limit


class Draining(Exception):
    """The service is shutting down and takes no new calls."""


@dataclass(frozen=True, slots=True)
class ToolStatistics:
    """total = ok + failed + in_flight. A call that its client gave up counts as failed."""

    total: int = 0
    ok: int = 0
    failed: int = 0
    in_flight: int = 0


@dataclass(slots=True)
class _Counts:
    ok: int = 0
    failed: int = 0
    in_flight: int = 0

    def statistics(self) -> ToolStatistics:
        return ToolStatistics(self.ok + self.failed + self.in_flight, self.ok, self.failed, self.in_flight)


@dataclass(slots=True)
class Ticket:
    """One admitted call. It counts as failed unless `succeeded` is set before it ends."""

    succeeded: bool = False


class Calls:
    """Counts tool calls by tool, refuses those past the limit, and stops taking them when the service drains.

    history: all of them by the minute, refused ones as failed and without a duration.
    """

    def __init__(self, limit: int, tools: tuple[str, ...]) -> None:
        self._limit = limit
        self._counts = {tool: _Counts() for tool in tools}
        self._durations = {tool: Histogram() for tool in tools}
        self._in_flight = 0
        self._is_draining = False
        self.history = History()
        self.deadlines = Deadlines()

    @property
    def is_draining(self) -> bool:
        return self._is_draining

    def drain(self) -> None:
        """Refuse every call from now on. Those that run go on."""
        self._is_draining = True

    @contextmanager
    def admit(self, tool: str) -> Iterator[Ticket]:
        """Count a call in, and out again when the block ends, however it ends.

        Raises:
            Draining, Full: the call is refused, and counted as failed.
        """
        counts = self._counts[tool]
        if self._is_draining:
            self._count(counts, succeeded=False)
            raise Draining
        if self._in_flight >= self._limit:
            self._count(counts, succeeded=False)
            raise Full(self._limit)
        ticket = Ticket()
        started_at = trio.current_time()
        counts.in_flight += 1
        self._in_flight += 1
        try:
            yield ticket
        finally:
            now = trio.current_time()
            self._durations[tool].add(now - started_at)
            self.history.time(now - started_at, now)
            counts.in_flight -= 1
            self._in_flight -= 1
            self._count(counts, succeeded=ticket.succeeded)

    def _count(self, counts: _Counts, *, succeeded: bool) -> None:
        if succeeded:
            counts.ok += 1
        else:
            counts.failed += 1
        self.history.count("ok" if succeeded else "failed", trio.current_time())

    def statistics(self) -> Mapping[str, ToolStatistics]:
        return {tool: counts.statistics() for tool, counts in self._counts.items()}

    def durations(self) -> Mapping[str, HistogramStatistics]:
        """Seconds that calls took, by tool; those that were refused are not among them."""
        return {tool: durations.statistics() for tool, durations in self._durations.items()}


class Uptime:
    """Seconds since this object was made, on trio's clock."""

    def __init__(self) -> None:
        self._started_at = trio.current_time()

    @property
    def seconds(self) -> float:
        return trio.current_time() - self._started_at
