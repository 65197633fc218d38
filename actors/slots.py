"""Who decides when a call of an instance may start: its own throttle, or one that all replicas share.

A request passes in two steps, `reserve` and `begin`, for the reason that `actors/throttle.py` gives. What was reserved
is noted in the request, so that its asker can give it back however the request ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import trio

from actors.messages import Request
from actors.row import Row
from actors.throttle import Throttle, ThrottleStatistics


class Slots(Protocol):
    """The slots of one instance. LedgerDown comes out of the waiting two where they are shared and cannot be had."""

    async def reserve(self, request: Request, *, by: float) -> bool:
        """Note the next free slot in the request, unless it starts after `by`; takes nothing then."""
        ...

    async def begin(self, request: Request) -> None:
        """Wait until the call may start, as a rule not at all, and count it as started."""
        ...

    def release(self, request: Request) -> None:
        """Give back a slot whose call did not begin and will not; nothing where there is none."""
        ...

    def next_slot(self, now: float) -> float:
        """When the next call could start as far as is known, on trio's clock."""
        ...

    def statistics(self, now: float) -> ThrottleStatistics: ...


SlotsOf = Callable[[Row], Slots]


class OwnSlots:
    """Slots of this process alone, from memory: `reserve` does not wait, and nothing is shared."""

    def __init__(self, row: Row) -> None:
        self.throttle = Throttle(row.rate)

    async def reserve(self, request: Request, *, by: float) -> bool:
        # A real clock has moved on since a caller without patience said "now".
        now = trio.current_time()
        request.slot = self.throttle.reserve(now, by=max(now, by))
        return request.slot is not None

    async def begin(self, request: Request) -> None:
        # The check at the door keeps out a request whose asker has left, since that slot was given back already.
        while True:
            await trio.lowlevel.checkpoint_if_cancelled()
            assert request.slot is not None
            at = self.throttle.begin(request.slot, trio.current_time())
            if at is None:
                break
            await trio.sleep_until(at)
        request.slot = None

    def release(self, request: Request) -> None:
        if request.slot is not None:
            self.throttle.release(request.slot)
            request.slot = None

    def next_slot(self, now: float) -> float:
        return self.throttle.next_slot(now)

    def statistics(self, now: float) -> ThrottleStatistics:
        return self.throttle.statistics(now)
