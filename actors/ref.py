"""The handle of an actor: what the pipelines hold and ask. It outlives restarts of the actor behind it.

The ref owns what must survive a crash: the mailbox, the throttle's slots and the counters. The breaker is new after
each restart, since what a broken actor noted about its remote is not to be trusted.

Where a request waits for its slot was a choice. Sleeping in a worker would let a few patient callers of a slow instance
(one call per 45 s) hold every worker, so that impatient ones, who want to hear `throttled` at once, would queue behind
them. So the slot is reserved and slept towards here, in the asker's own task, which has to wait anyway; only a request
whose slot has come enters the mailbox. The breaker is looked at first, so an ask of an open instance costs nothing.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import quote

import structlog
import trio

from actors import spans
from actors.breaker import Breaker
from actors.history import History
from actors.ledger import Ledger, LedgerDown
from actors.messages import Failure, Outcome, Reply, Request
from actors.policy import POLICY, Fault
from actors.quota import Counts, Quota
from actors.restarts import described
from actors.row import Row
from actors.slots import OwnSlots, SlotsOf
from actors.statistics import (
    NO_BREAKER,
    ActorState,
    ActorStatistics,
    BilledStatistics,
    Calls,
    Latencies,
    MailboxStatistics,
    role_names,
    shown_proxy,
)
from providers._contract import Job, Kind, Role, Target

log = structlog.get_logger()


class Ref:
    """One instance, as seen by everybody else. Made and kept running by the supervisor."""

    def __init__(
        self,
        row: Row,
        ledger: Ledger,
        rng: random.Random,
        wall: Callable[[], float] = time.time,
        slots_of: SlotsOf = OwnSlots,
    ) -> None:
        self.row = row
        self.state: ActorState = "restarting"
        self.slots = slots_of(row)
        self.quota = Quota(row.limit)
        self.breaker: Breaker | None = None
        self.latencies = Latencies()
        self.history = History()
        self.in_flight = 0
        self.restarts = 0
        self.restarts_at: float | None = None
        self.last_error: str | None = None
        self.closed = trio.Event()
        self._ledger = ledger
        self._rng = rng
        self._wall = wall
        self._calls = Calls()
        # Figures that start past the mark were warned of by the process that took them there.
        self._warned = self.quota.nearly_spent(ledger.counts(row.name), wall())
        self._send, self.mailbox = trio.open_memory_channel[Request](2 * row.workers)

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def roles(self) -> frozenset[Role]:
        return self.row.roles

    def accepts(self, target: Target) -> bool:
        """Whether this reader wants the target. A plain call: no mailbox, no network."""
        try:
            return bool(self.row.provider.accepts(target))
        except Exception as error:  # noqa: BLE001 (provider code: its bug must not end the walk)
            log.error("provider_bug", instance=self.name, **described(error))
            return False

    def next_slot_at(self, now: float) -> float | None:
        """When the throttle lets the next call start, on trio's clock; None for an instance without a rate."""
        return None if self.row.rate is None else self.slots.next_slot(now)

    async def ask(self, job: Job, *, patience: float | None = None) -> Outcome:
        """Have the job done, and return the answer or why there is none.

        Ends at the row's timeout at the latest. Where the caller's own deadline comes first, trio's `Cancelled` comes
        out as always. `patience`: seconds to wait for a throttle slot, instead of the row's.
        """
        began_at = trio.current_time()
        deadline = min(began_at + self.row.timeout, trio.current_effective_deadline())
        trace = str(structlog.contextvars.get_contextvars().get("trace", ""))
        request = Request(job, trio.CancelScope(deadline=deadline), Reply(), trace, patience)
        outcome: Outcome | None = None
        try:
            await trio.lowlevel.checkpoint()
            outcome = self._refusal() or await self._deliver(request)
            return replace(outcome, took=trio.current_time() - began_at, billed=request.billed)
        finally:
            # The asker is leaving. A request in a worker stops here, one that still queues will be skipped.
            request.scope.cancel()
            self.slots.release(request)
            now = trio.current_time()
            called, took = request.tries > 0, now - began_at
            self.history.count(self._calls.count(outcome, called=called), now)
            spans.record(self.name, job, outcome, called=called, took=took, billed=request.billed)

    def failure(self, kind: Kind, detail: str = "", retry_at: float | None = None) -> Failure:
        return Failure(kind, self.name, detail, retry_at)

    def open_breaker(self) -> None:
        """A new breaker for a new start of the actor."""
        self.breaker = Breaker(self._rng) if self.row.has_breaker else None

    def close(self) -> None:
        """Take no more requests; what is queued is still served."""
        self._send.close()
        self.closed.set()

    def answer_queued(self) -> None:
        """Answer everything in the mailbox with `down`, those who wait for room in it too."""
        try:
            while True:
                self.mailbox.receive_nowait().reply.set(self._down())
        except (trio.WouldBlock, trio.EndOfChannel):
            return

    def statistics(self) -> ActorStatistics:
        now, wall_now, row = trio.current_time(), self._wall(), self.row
        counts = self._ledger.counts(self.name)
        billed = BilledStatistics(counts.total, self.quota.used(counts, wall_now)) if row.paid else BilledStatistics()
        channel = self._send.statistics()
        return ActorStatistics(
            instance=self.name,
            type=row.type,
            roles=role_names(row.roles),
            state=self.state,
            mailbox=MailboxStatistics(channel.current_buffer_used, int(channel.max_buffer_size)),
            in_flight=self.in_flight,
            workers=row.workers,
            throttle=self.slots.statistics(now),
            quota=self.quota.statistics(counts, wall_now),
            breaker=NO_BREAKER if self.breaker is None else self.breaker.statistics(now),
            calls=self._calls.statistics(),
            billed=billed,
            latency_ms=self.latencies.statistics(),
            restarts=self.restarts,
            last_error=self.last_error,
            proxy=shown_proxy(row.proxy),
        )

    def _refusal(self) -> Failure | None:
        """What stands against any request already."""
        now = trio.current_time()
        if self.state != "running" or self.closed.is_set():
            return self._down()
        if self.breaker is not None and (until := self.breaker.refused_until(now)) is not None:
            return self.circuit_open(until)
        return None

    def circuit_open(self, until: float) -> Failure:
        seconds = max(0.0, until - trio.current_time())
        reason = f" after {self.last_error}" if self.last_error else ""
        return self.failure(Kind.CIRCUIT_OPEN, f"off for {seconds:.0f} s{reason}", until)

    async def reserve(self, request: Request) -> Failure | None:
        """Reserve a throttle slot within the request's patience, or say when the next one comes.

        Does not wait, unless replicas share the slots.
        """
        now = trio.current_time()
        patience = self.row.patience if request.patience is None else request.patience
        try:
            if await self.slots.reserve(request, by=min(now + patience, request.scope.deadline)):
                return None
        except LedgerDown as error:
            return self.failure(Kind.DOWN, str(error))
        at = self.slots.next_slot(now)
        return self.failure(Kind.THROTTLED, f"next slot in {at - now:.0f} s", at)

    async def slot_comes(self, request: Request) -> None:
        """Sleep until the request's slot; return at once, without a checkpoint, if it has come."""
        if request.slot is not None and request.slot > trio.current_time():
            await trio.sleep_until(request.slot)

    async def _deliver(self, request: Request) -> Outcome:
        with trio.move_on_at(request.scope.deadline):
            refusal = await self.reserve(request)
            if refusal is not None:
                return refusal
            await self.slot_comes(request)
            if self.state != "running":
                return self._down()
            try:
                await self._send.send(request)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return self._down()
            return await request.reply.wait()
        # The deadline passed. A worker says so itself as a rule, but one stuck in code that will not be cancelled, or
        # one that never came, must not keep the asker.
        request.reply.set(self.ran_out(request))
        return await request.reply.wait()

    def ran_out(self, request: Request) -> Failure:
        """What to say of a request whose deadline passed: `timeout` only if the provider had been called."""
        if request.tries:
            return self.failure(Kind.TIMEOUT, "no answer in time")
        return self.failure(Kind.BUSY, "no worker was free in time")

    def _down(self) -> Failure:
        if self.state == "retired":
            return self.failure(Kind.DOWN, "retired after too many crashes")
        if self.state == "restarting":
            return self.failure(Kind.DOWN, "restarting after a crash", self.restarts_at)
        return self.failure(Kind.DOWN, "shutting down")

    def note(self, failure: Failure) -> None:
        """Keep the failure as the last error, if it says anything about the instance."""
        if POLICY[failure.kind].fault in (Fault.PROVIDER, Fault.ACCOUNT, Fault.OURS):
            self.last_error = f"{failure.kind.value}: {failure.detail}" if failure.detail else failure.kind.value

    def warning_is_due(self, counts: Counts, wall_now: float) -> bool:
        """Whether somebody is to say now that the quota is nearly spent: once per period, whoever asks first.

        It goes by what is used, not by which spend passed the mark: that one's asker may have left meanwhile.
        """
        period = self.quota.nearly_spent(counts, wall_now)
        if period is None or period <= (self._warned or ""):
            return False
        self._warned = period
        return True

    def redacted(self, text: str) -> str:
        """The text without this instance's secrets, in the forms they take in a message or a URL."""
        for secret in self.row.secrets:
            for form in (secret, quote(secret, safe="")):
                text = text.replace(form, "[redacted]") if form else text
        return text
