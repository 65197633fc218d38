"""Starts the actors, starts them again after a crash, retires those that keep crashing, and drains them at the end.

Starting an actor builds objects and sends nothing, so a dead remote cannot keep the service from starting. Outages
belong to the breaker; restarts are for our own bugs. A bug in here is not caught: it cancels the nursery and ends the
process.
"""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import MappingProxyType

import httpx
import structlog
import trio

from actors.actor import Actor
from actors.ledger import Ledger
from actors.ref import Ref
from actors.restarts import Restarts, RetryBudget, crash_of, described, innermost
from actors.row import Row
from actors.slots import OwnSlots, SlotsOf
from actors.statistics import ActorStatistics

OpenClient = Callable[[Row], AbstractAsyncContextManager[httpx.AsyncClient]]

log = structlog.get_logger()


@asynccontextmanager
async def open_supervisor(
    rows: Iterable[Row],
    *,
    ledger: Ledger,
    open_client: OpenClient,
    rng: random.Random | None = None,
    wall: Callable[[], float] = time.time,
    slots_of: SlotsOf = OwnSlots,
) -> AsyncIterator[Supervisor]:
    """Run one actor per row while the block lasts. At its end the actors finish what is queued, then stop.

    `wall` tells seconds since 1970, for quota periods; everything else goes by trio's clock. `slots_of` makes the slots
    of a row: its own, unless replicas share them.
    """
    async with trio.open_nursery() as nursery:
        supervisor = Supervisor(rows, ledger, open_client, rng or random.Random(), wall, slots_of)  # noqa: S311 (jitter)
        for ref in supervisor.refs.values():
            await nursery.start(supervisor.keep, ref)
        yield supervisor
        await supervisor.drain()


class Supervisor:
    """Keeps one actor per ref alive."""

    def __init__(
        self,
        rows: Iterable[Row],
        ledger: Ledger,
        open_client: OpenClient,
        rng: random.Random,
        wall: Callable[[], float],
        slots_of: SlotsOf,
    ) -> None:
        refs = {row.name: Ref(row, ledger, rng, wall, slots_of) for row in rows}
        self.refs: Mapping[str, Ref] = MappingProxyType(refs)
        self._ledger = ledger
        self._open_client = open_client
        self._rng = rng
        self._wall = wall
        self._budget = RetryBudget()
        self._ended = {name: trio.Event() for name in self.refs}

    def statistics(self) -> tuple[ActorStatistics, ...]:
        """One consistent snapshot: nothing else runs while it is taken."""
        return tuple(ref.statistics() for ref in self.refs.values())

    async def drain(self) -> None:
        """Close the mailboxes and wait until the actors have finished what is queued and closed their clients."""
        for ref in self.refs.values():
            ref.close()
        for ended in self._ended.values():
            await ended.wait()

    async def keep(self, ref: Ref, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run one actor until it is drained or retired."""
        restarts = Restarts(self._rng)
        started = False

        async def run() -> None:
            nonlocal started
            async with self._open_client(ref.row) as client:
                ref.open_breaker()
                ref.state, ref.restarts_at = "running", None
                log.info("actor_running", instance=ref.name, restarts=ref.restarts)
                if not started:
                    started = True
                    task_status.started()
                await Actor(ref, client, self._ledger, self._budget, self._rng, self._wall).run()

        while True:
            crash = await crash_of(run)
            if crash is None:
                break
            delay = restarts.delay(trio.current_time())
            self._note_crash(ref, crash, delay)
            if not started:
                started = True
                task_status.started()
            if delay is None:
                break
            with trio.move_on_after(delay):
                await ref.closed.wait()
            if ref.closed.is_set():
                break
        self._ended[ref.name].set()

    def _note_crash(self, ref: Ref, crash: Exception, delay: float | None) -> None:
        ref.last_error = f"crashed: {type(innermost(crash)).__name__}"
        ref.restarts_at = None if delay is None else trio.current_time() + delay
        ref.state = "retired" if delay is None else "restarting"
        ref.restarts += delay is not None
        log.error("actor_crashed", instance=ref.name, restart_in_s=delay, **described(crash))
        ref.answer_queued()
        if delay is None:
            ref.close()
            log.error("actor_retired", instance=ref.name, restarts=ref.restarts)
