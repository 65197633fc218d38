"""Who has used how many units: the `Ledger` protocol, an in-memory ledger, and the SQLite ledger actor.

Units are spent before the call they pay for. A process that is killed in between has counted one unit too many, which
costs nothing; the other order could spend somebody's money twice.
"""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

import structlog
import trio

from actors._store import STAMP, Corrupt, Opened, Store, Unusable
from actors.quota import Counts, Quota, period_key
from actors.restarts import Restarts, crash_of, described
from actors.row import Limit

RETRY_EVERY = 30.0
QUEUED = 64

T = TypeVar("T")
log = structlog.get_logger()


class LedgerDown(Exception):
    """The ledger cannot count now. The message is a sentence that says why and what would help."""


@dataclass(frozen=True, slots=True)
class Spend:
    """Whether the units were granted, and the counts after that."""

    granted: bool
    counts: Counts


class Ledger(Protocol):
    async def spend(self, name: str, limit: Limit | None, units: int, wall_now: float) -> Spend:
        """Count `units` for an instance unless its limit forbids it.

        Raises LedgerDown for an instance with a limit when nothing can be counted; one without carries on. A cancelled
        spend was counted or was not, never in part.
        """
        ...

    def counts(self, name: str) -> Counts:
        """What is known to be used, from memory."""
        ...


class MemoryLedger:
    """Counts that end with the process: for tests, and for whoever wants no file."""

    def __init__(self) -> None:
        self._counts: dict[str, Counts] = {}

    async def spend(self, name: str, limit: Limit | None, units: int, wall_now: float) -> Spend:
        await trio.lowlevel.checkpoint()
        before = self.counts(name)
        after = Quota(limit).spend(before, units, wall_now)
        if after is None:
            return Spend(False, before)
        self._counts[name] = after
        return Spend(True, after)

    def counts(self, name: str) -> Counts:
        return self._counts.get(name, Counts())


@asynccontextmanager
async def open_ledger(url: str, *, rng: random.Random | None = None) -> AsyncIterator[SqliteLedger]:
    """The ledger behind `sqlite:PATH`. Opening never fails for the file's sake: see `SqliteLedger`.

    If the ledger crashes past its limit, the block is cancelled and the error comes out: nobody can count any more.
    """
    scheme, _, path = url.partition(":")
    if scheme != "sqlite" or not path:
        raise ValueError("LEDGER_URL must look like sqlite:PATH")
    async with trio.open_nursery() as nursery:
        ledger = SqliteLedger(Path(path), rng or random.Random())  # noqa: S311 (jitter)
        nursery.start_soon(ledger.run)
        await ledger.tried.wait()
        try:
            yield ledger
        finally:
            ledger.close()


@dataclass(eq=False, slots=True)
class _Order:
    """One spend on its way to the ledger's task. `abandoned`: the asker left, so do not begin."""

    name: str
    limit: Limit | None
    units: int
    wall_now: float
    done: trio.Event = field(default_factory=trio.Event)
    result: Spend | LedgerDown | None = None
    abandoned: bool = False

    def answer(self, result: Spend | LedgerDown) -> None:
        self.result = result
        self.done.set()


class SqliteLedger:
    """One task and one thread at a time between everybody and the file.

    While the file is locked, full or read-only, instances with a limit get LedgerDown at once and the file is tried
    again every 30 s. A corrupt file is set aside, and instances with a limit stay off until the operator confirms by
    deleting that file, or until the period it was counting has ended: starting again from zero would undercount.
    """

    def __init__(self, path: Path, rng: random.Random, *, wall: Callable[[], float] = time.time) -> None:
        self._store = Store(path)
        self._file = path.name
        self._wall = wall
        self._restarts = Restarts(rng)
        self._limiter = trio.CapacityLimiter(1)
        self._send, self._receive = trio.open_memory_channel[_Order](QUEUED)
        self._current: _Order | None = None
        self._serving = False
        self._closed = trio.Event()
        self._counts: dict[str, Counts] = {}
        self._owed: dict[str, int] = {}
        self._set_aside: tuple[Path, ...] = ()
        self._problem: str | None = None
        self._retry_at = 0.0
        self._looked_at = 0.0
        self.tried = trio.Event()

    @property
    def problem(self) -> str | None:
        """Why nothing can be counted now, as a sentence; None when all is well."""
        return self._problem

    def counts(self, name: str) -> Counts:
        return self._counts.get(name, Counts())

    async def spend(self, name: str, limit: Limit | None, units: int, wall_now: float) -> Spend:
        order = _Order(name, limit, units, wall_now)
        try:
            if self._serving:
                await self._send.send(order)
                await order.done.wait()
            else:
                await trio.lowlevel.checkpoint()
                order.result = LedgerDown(self._problem or "the quota store is closed")
        except trio.ClosedResourceError:
            order.result = LedgerDown("the quota store is closed")
        finally:
            order.abandoned = True
        assert order.result is not None
        if isinstance(order.result, Spend):
            return order.result
        if limit is not None:
            raise order.result
        return self._owe(name, units, wall_now)

    def close(self) -> None:
        """Take no more orders; what is queued is still done."""
        self._send.close()
        self._closed.set()

    async def run(self) -> None:
        """Serve until `close`. Starts again after a crash; raises the crash that is one too many."""
        while True:
            crash = await crash_of(self._serve)
            if crash is None:
                return
            delay = self._restarts.delay(trio.current_time())
            log.error("ledger_crashed", restart_in_s=delay, **described(crash))
            self._down("the quota store's keeper crashed")
            self._drop_orders()
            self.tried.set()
            if delay is None:
                raise crash
            with trio.move_on_after(delay):
                await self._closed.wait()

    async def _serve(self) -> None:
        try:
            await self._open()
            self.tried.set()
            self._serving = True
            async for order in self._receive:
                self._current = order
                if not order.abandoned:
                    order.answer(await self._handle(order))
                self._current = None
        finally:
            self._serving = False
            with trio.CancelScope(shield=True):  # local work, and the last writer must leave the file whole
                await self._in_thread(self._store.close)

    async def _handle(self, order: _Order) -> Spend | LedgerDown:
        if self._problem is not None and trio.current_time() >= self._retry_at:
            await self._open()
        if self._problem is not None:
            return LedgerDown(self._problem)
        withheld = await self._withheld(order)
        if withheld is not None:
            return LedgerDown(withheld)
        units = order.units + self._owed.get(order.name, 0)
        try:
            counts = await self._in_thread(partial(self._store.spend, order.name, order.limit, units, order.wall_now))
        except Unusable as error:
            self._down(str(error))
            return LedgerDown(str(error))
        except Corrupt:
            await self._open(set_aside=True)
            return LedgerDown(self._problem or self._unconfirmed())
        return self._counted(order, counts)

    def _counted(self, order: _Order, counts: Counts | None) -> Spend:
        if counts is None:
            return Spend(False, self.counts(order.name))
        self._owed.pop(order.name, None)
        self._counts[order.name] = counts
        return Spend(True, counts)

    def _owe(self, name: str, units: int, wall_now: float) -> Spend:
        """Count in memory for an instance without a limit; written with its next spend that reaches the file."""
        self._owed[name] = self._owed.get(name, 0) + units
        self._counts[name] = self.counts(name).at(wall_now).add(units)
        return Spend(True, self._counts[name])

    async def _open(self, *, set_aside: bool = False) -> None:
        """Open the file, or learn why not. Never raises for the file's sake."""
        try:
            opened = await self._in_thread(partial(self._open_store, set_aside))
        except Unusable as error:
            self._down(str(error))
            return
        if opened.empty:
            log.warning("ledger_empty", file=self._file, note="the file was there but empty; counting starts from zero")
        if len(opened.set_aside) > len(self._set_aside):
            log.error("ledger_corrupt", set_aside=opened.set_aside[-1].name, note=self._unconfirmed())
        log.info("ledger_opened", file=self._file, instances=len(opened.counts))
        self._counts = dict(opened.counts)
        for name, units in self._owed.items():
            self._counts[name] = self.counts(name).at(self._wall()).add(units)
        self._set_aside = opened.set_aside
        self._looked_at = trio.current_time()
        self._problem = None

    def _open_store(self, set_aside: bool) -> Opened:
        if set_aside:
            self._store.set_aside(self._wall())
        return self._store.open(self._wall())

    def _down(self, problem: str) -> None:
        if problem != self._problem:
            log.error("ledger_down", problem=problem, retry_in_s=RETRY_EVERY)
        self._problem = problem
        self._retry_at = trio.current_time() + RETRY_EVERY

    async def _withheld(self, order: _Order) -> str | None:
        """Why an instance with a limit is kept off after a corrupt file was set aside; None when it is not."""
        if order.limit is None or not self._set_aside:
            return None
        if trio.current_time() >= self._looked_at + RETRY_EVERY:
            self._set_aside = await self._in_thread(self._store.corrupt_files)
            self._looked_at = trio.current_time()
        period, first_day = order.limit.period, order.limit.first_day
        current = period_key(period, order.wall_now, first_day)
        open_periods = [
            file for file in self._set_aside if current <= period_key(period, set_aside_at(file), first_day)
        ]
        return self._unconfirmed() if open_periods else None

    def _unconfirmed(self) -> str:
        return (
            f"{self._file} was corrupt and was set aside as {self._file}.corrupt-<time>; to start counting from zero "
            "delete that file, or wait until the quota's period ends"
        )

    def _drop_orders(self) -> None:
        """Answer whoever waits: after a crash nobody else will."""
        down = LedgerDown(self._problem or "the quota store is closed")
        if self._current is not None:
            self._current.answer(down)
            self._current = None
        with suppress(trio.WouldBlock, trio.EndOfChannel):
            while True:
                self._receive.receive_nowait().answer(down)

    async def _in_thread(self, step: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(step, limiter=self._limiter)


def set_aside_at(file: Path) -> float:
    """When a corrupt file was set aside, in seconds since 1970, by its name; 0 where the name does not say."""
    stamp = file.name.rpartition(".corrupt-")[2][: len("20261130T101500Z")]
    try:
        return datetime.strptime(stamp, STAMP).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
