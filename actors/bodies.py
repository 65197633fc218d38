"""How much of strangers' pages the process holds in memory at once."""

from __future__ import annotations

import contextlib
import weakref
from typing import Any

import trio

TOTAL_BYTES = 128 * 1024 * 1024


class BodyBudget:
    """Counts the bytes of page bodies that are held, and makes further ones wait while there are too many.

    When all is taken, one body at a time may still grow over the total, so that bodies that wait for each other
    cannot stand still for ever. The overdraft is bounded by the cap on a single body.
    """

    def __init__(self, total_bytes: int = TOTAL_BYTES) -> None:
        self._total = total_bytes
        self._held = 0
        self._over: Hold | None = None
        self._waiting = trio.lowlevel.ParkingLot()

    @property
    def held_bytes(self) -> int:
        return self._held

    def open(self) -> Hold:
        """A hold for one body, empty at first."""
        return Hold(self)

    def follow(self, owner: Any, count: int) -> None:
        """Count `count` bytes as held for as long as `owner` lives. Never waits: they are in memory already."""
        hold = self.open()
        self._add(hold, count)
        token = trio.lowlevel.current_trio_token()
        weakref.finalize(owner, _release_soon, token, hold).atexit = False

    async def take(self, hold: Hold, count: int) -> None:
        """Add `count` bytes to a hold, when there is room."""
        while self._held + count > self._total and self._over not in (None, hold):
            await self._waiting.park()
        if self._held + count > self._total:
            self._over = hold
        self._add(hold, count)

    def _add(self, hold: Hold, count: int) -> None:
        self._held += count
        hold.count += count

    def _release(self, hold: Hold) -> None:
        self._held -= hold.count
        hold.count = 0
        if self._over is hold:
            self._over = None
        self._waiting.unpark_all()


class Hold:
    """The share of one body."""

    __slots__ = ("_budget", "count")

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self.count = 0

    async def take(self, count: int) -> None:
        """Have `count` more bytes held, when there is room."""
        await self._budget.take(self, count)

    def release(self) -> None:
        """Give all back; a second call has no effect."""
        self._budget._release(self)


def _release_soon(token: trio.lowlevel.TrioToken, hold: Hold) -> None:
    """Release in trio's thread: the collector drops an object in whatever thread it happens to run."""
    with contextlib.suppress(trio.RunFinishedError):
        token.run_sync_soon(hold.release)
