"""A sliding window over the calls of one instance: at most `count` of them start in any `period` seconds.

Pure: `now` is an argument, nothing blocks, nothing reads a clock. A call passes in two steps. `reserve` gives it a
slot, which may lie ahead; `begin`, at the moment of the call, turns the slot into a start. The second step exists
because something may hold the call up after its slot came (a full mailbox, a slow ledger); two calls could then start
close together although their slots were apart. What `begin` let through keeps the rate exactly, whatever happens in
between.
"""

from __future__ import annotations

import math
from bisect import insort
from collections import deque
from dataclasses import dataclass

from actors.row import Rate


@dataclass(frozen=True, slots=True)
class ThrottleStatistics:
    """`rate` as `1/45s`, None where there is none; `next_slot_in_s` is 0 when a call may start now."""

    rate: str | None
    next_slot_in_s: float


class Throttle:
    """Slots of one instance. Without a rate every slot is now."""

    def __init__(self, rate: Rate | None) -> None:
        self._rate = rate
        self._begun: deque[float] = deque(maxlen=rate.count if rate else 0)
        self._reserved: list[float] = []

    def next_slot(self, now: float) -> float:
        """When the next call could start, on trio's clock; takes nothing."""
        if self._rate is None:
            return now
        # A slot that has come but has not begun can begin no earlier than now.
        taken = [*self._begun, *(max(slot, now) for slot in self._reserved)]
        if len(taken) < self._rate.count:
            return now
        return max(now, taken[-self._rate.count] + self._rate.period)

    def reserve(self, now: float, *, by: float) -> float | None:
        """Take the next free slot and return its start, on trio's clock.

        Returns None, taking nothing, if the slot would start after `by`.
        """
        slot = self.next_slot(now)
        if slot > by:
            return None
        if self._rate is not None:
            insort(self._reserved, slot)
        return slot

    def begin(self, slot: float, now: float) -> float | None:
        """Turn a reserved slot into a start. Returns None when the call may go out now, else when to try again."""
        if self._rate is None:
            return None
        earliest = max(slot, self.opens_at())
        if now < earliest:
            return earliest
        self._reserved.remove(slot)
        self.note_start(now)
        return None

    def opens_at(self) -> float:
        """From when on another start keeps the rate, going by those that have begun."""
        if self._rate is None or len(self._begun) < self._rate.count:
            return -math.inf
        return self._begun[0] + self._rate.period

    def note_start(self, now: float) -> None:
        """Count a start that was allowed elsewhere."""
        self._begun.append(now)

    def release(self, slot: float) -> None:
        """Give back a reserved slot whose call did not begin and will not.

        Only the end of the queue moves up. Slots behind this one stay where they are, since their owners sleep towards
        them; so a caller who leaves may cost the instance one slot, but never makes two calls start too close.
        """
        if self._rate is not None:
            self._reserved.remove(slot)

    def statistics(self, now: float) -> ThrottleStatistics:
        rate = None if self._rate is None else str(self._rate)
        return ThrottleStatistics(rate, self.next_slot(now) - now)
