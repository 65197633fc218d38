"""One running actor: its workers, the order of the checks, and what becomes of a provider's error.

The order is breaker, throttle, quota, call. The unit is spent last and before the call, so a crash counts one too many
and never one too few. Nothing here awaits between reading state and writing it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import httpx
import structlog
import trio

from actors.breaker import Breaker, Pass, Verdict
from actors.ledger import Ledger, LedgerDown
from actors.messages import Answer, Failure, Outcome, Request
from actors.policy import POLICY, Fault, Rule
from actors.quota import Counts
from actors.ref import Ref
from actors.restarts import RetryBudget, described, innermost
from actors.units import unit_of_work
from providers import _sanitise
from providers._contract import (
    Evidence,
    Found,
    ImageQuery,
    Job,
    Kind,
    Page,
    ProviderError,
    Query,
    Ranking,
    RobotsQuery,
    Target,
)

RETRY_WAIT = (0.1, 0.5)
RETRY_ROOM = 1.0
SHORTEST_PAUSE = 1.0
LONGEST_PAUSE = 24 * 3600.0
MOST_DETAIL = 2_000
# A caller in a hurry says nothing about the remote: a time-out counts against it after this many seconds, or the row's.
FAIR_SECONDS = 5.0

# Which method does which job, and what it must return: a provider that returns something else has a bug, and it is
# better found here than in a pipeline.
METHODS: Mapping[type[Job], tuple[str, type[Any]]] = MappingProxyType(
    {
        Query: ("search", Found),
        ImageQuery: ("search_images", Found),
        Target: ("read", Page),
        RobotsQuery: ("robots", bool),
        Ranking: ("rerank", tuple),
    }
)

log = structlog.get_logger()


class Attempt(NamedTuple):
    """How one try ended. `again`: a second one may help."""

    outcome: Outcome
    again: bool = False


@dataclass(frozen=True, slots=True)
class Trouble:
    """A provider's exception, typed or not, as data; fields as in `ProviderError`."""

    kind: Kind
    detail: str
    retry_after: float | None = None
    retry: bool = False
    evidence: Evidence | None = None


class Actor:
    """The life of an instance between two restarts."""

    def __init__(
        self,
        ref: Ref,
        client: httpx.AsyncClient,
        ledger: Ledger,
        budget: RetryBudget,
        rng: random.Random,
        wall: Callable[[], float],
    ) -> None:
        self._ref = ref
        self._row = ref.row
        self._client = client
        self._ledger = ledger
        self._budget = budget
        self._rng = rng
        self._wall = wall

    async def run(self) -> None:
        """Serve the mailbox until it is closed and empty."""
        async with trio.open_nursery() as nursery:
            for _ in range(self._row.workers):
                nursery.start_soon(self._work)

    async def _work(self) -> None:
        async for request in self._ref.mailbox:
            self._ref.in_flight += 1
            try:
                await self._answer(request)
            finally:
                self._ref.in_flight -= 1
                request.reply.set(self._ref.failure(Kind.CRASHED, "the actor crashed"))  # no effect once answered

    async def _answer(self, request: Request) -> None:
        with request.scope:
            await trio.lowlevel.checkpoint_if_cancelled()  # whoever left or ran out of time in the queue is not served
            request.reply.set(await self._serve(request))
        if request.scope.cancelled_caught:
            request.reply.set(self._stopped(request))

    def _stopped(self, request: Request) -> Failure:
        """What to say of a request that its own scope stopped."""
        if trio.current_time() >= request.scope.deadline:
            failure = self._ref.ran_out(request)
            self._ref.note(failure)
            return failure
        return self._ref.failure(Kind.LATE if request.tries else Kind.CANCELLED)

    async def _serve(self, request: Request) -> Outcome:
        attempt = await self._try(request)
        for _ in range(self._row.retries):
            if not (attempt.again and self._may_retry(request)):
                break
            await trio.sleep(self._rng.uniform(*RETRY_WAIT))
            tries = request.tries
            second = await self._try(request)
            if request.tries == tries:
                break  # no slot, no units: the first failure is the one worth reporting
            attempt = second
        if isinstance(attempt.outcome, Failure):
            self._ref.note(attempt.outcome)
        return attempt.outcome

    def _may_retry(self, request: Request) -> bool:
        return request.scope.deadline - trio.current_time() >= RETRY_ROOM and self._budget.take()

    async def _try(self, request: Request) -> Attempt:
        """One pass through all checks and, if they allow it, one call."""
        breaker, now = self._ref.breaker, trio.current_time()
        leave = Pass(0) if breaker is None else breaker.allow(now)
        if leave is None:
            assert breaker is not None
            return Attempt(self._ref.circuit_open(breaker.refused_until(now) or now))
        try:
            skipped = await self._reserve(request) or await self._spend(request) or await self._begin(request)
            if skipped is not None:
                return Attempt(skipped)
            return await self._call(request, leave)
        finally:
            self._report(leave, Verdict.NOTHING)  # no effect if the call was reported

    async def _reserve(self, request: Request) -> Failure | None:
        """The first try comes with a slot that `ask` reserved and waited for; a second one needs its own."""
        skipped = await self._ref.reserve(request) if request.slot is None else None
        if skipped is None:
            await self._ref.slot_comes(request)
        return skipped

    async def _spend(self, request: Request) -> Failure | None:
        """Spend the units of this call; a Failure says why they were not granted."""
        row = self._row
        if not (row.paid or row.limit):
            return None
        units = int(row.provider.units(request.job)) if hasattr(row.provider, "units") else 1
        wall_now = self._wall()
        try:
            spend = await self._ledger.spend(row.name, row.limit, units, wall_now)
        except LedgerDown as error:
            return self._ref.failure(Kind.DOWN, str(error))
        if self._ref.warning_is_due(spend.counts, wall_now):
            log.warning("quota_nearly_spent", instance=row.name, **self._used(spend.counts, wall_now))
        if not spend.granted:
            return self._quota_spent(spend.counts, wall_now)
        if row.paid:
            request.billed += units
        return None

    def _used(self, counts: Counts, wall_now: float) -> dict[str, int | str | None]:
        seen = self._ref.quota.statistics(counts, wall_now)
        return {"used": seen.used, "limit": seen.limit, "period": seen.period, "resets_at": seen.resets_at}

    def _quota_spent(self, counts: Counts, wall_now: float) -> Failure:
        resets_at = self._ref.quota.resets_at(counts, wall_now)
        retry_at = None if resets_at is None else trio.current_time() + max(0.0, resets_at - wall_now)
        used = self._used(counts, wall_now)
        return self._ref.failure(
            Kind.QUOTA_SPENT, f"{used['used']} of {used['limit']} units used this {used['period']}", retry_at
        )

    async def _begin(self, request: Request) -> Failure | None:
        """Wait until the throttle lets the call start, as a rule not at all, and note that it starts."""
        try:
            await self._ref.slots.begin(request)
        except LedgerDown as error:
            return self._ref.failure(Kind.DOWN, str(error))
        request.tries += 1
        if request.tries == 1:
            self._budget.called()
        return None

    async def _call(self, request: Request, leave: Pass) -> Attempt:
        """Call the provider; its errors become data here."""
        began_at = trio.current_time()
        error: BaseException | None = None
        ended = False
        try:
            try:
                value = await self._ask_provider(request.job)
            # The star unpacks the groups that a provider's own nursery raises, and lets a Cancelled among them go on.
            except* Exception as group:  # noqa: BLE001 (provider code, STYLE.md)
                error = _telling(group)
            if error is not None:
                # An error raised while being cancelled says nothing about the remote.
                await trio.lowlevel.checkpoint_if_cancelled()
            ended = True
        finally:
            now = trio.current_time()
            ran_out = not ended and now >= request.scope.deadline
            if ended or ran_out:
                self._ref.latencies.add(now - began_at)
                self._ref.history.time(now - began_at, now)
            if ran_out and now - began_at >= min(self._row.timeout, FAIR_SECONDS):
                self._report(leave, Verdict.FAULT)
        if error is not None:
            return self._failed(request, leave, error)
        self._report(leave, Verdict.ANSWERED)
        return Attempt(Answer(value, self._row.name))

    async def _ask_provider(self, job: Job) -> Any:
        method, expected = METHODS[type(job)]
        with unit_of_work():
            value = await getattr(self._row.provider, method)(job, self._client)
        if not isinstance(value, expected):
            raise TypeError(f"{method} returned {type(value).__name__}")
        return await _sanitise.sanitise(value)

    def _failed(self, request: Request, leave: Pass, error: BaseException) -> Attempt:
        """Turn a provider's error into a failure, and draw the consequences that POLICY names."""
        trouble = _trouble(error)
        rule = POLICY[trouble.kind]
        if trouble.kind is Kind.BUG:
            log.error("provider_bug", instance=self._row.name, trace=request.trace, **described(error))
        detail = self._ref.redacted(_sanitise.clean_line(trouble.detail[:MOST_DETAIL], 300))
        pause = self._pause(rule, trouble)
        retry_at = None if pause is None else trio.current_time() + pause
        failure = Failure(trouble.kind, self._row.name, detail, retry_at, evidence=trouble.evidence)
        log.debug("provider_failed", instance=self._row.name, trace=request.trace, kind=failure.kind, detail=detail)
        if retry_at is not None and rule.opens is not None:
            self._shut(leave, retry_at, failure)
        else:
            self._report(leave, _verdict(rule))
        return Attempt(failure, rule.retried and trouble.retry)

    def _pause(self, rule: Rule, trouble: Trouble) -> float | None:
        """Seconds until asking again makes sense, where anything is known about that."""
        pause = trouble.retry_after
        if pause is None or math.isnan(pause):
            pause = rule.opens
            if trouble.kind is Kind.QUOTA_SPENT:
                pause = min(rule.opens or math.inf, self._period_left())
        return None if pause is None else min(max(pause, SHORTEST_PAUSE), LONGEST_PAUSE)

    def _period_left(self) -> float:
        wall_now = self._wall()
        resets_at = self._ref.quota.resets_at(self._ledger.counts(self._row.name), wall_now)
        return math.inf if resets_at is None else resets_at - wall_now

    def _report(self, leave: Pass, verdict: Verdict) -> None:
        breaker = self._ref.breaker
        if breaker is not None:
            before = breaker.state
            breaker.report(leave, verdict, trio.current_time())
            self._log_move(breaker, before)

    def _shut(self, leave: Pass, until: float, failure: Failure) -> None:
        breaker = self._ref.breaker
        if breaker is not None:
            before = breaker.state
            breaker.shut(leave, until)
            self._ref.note(failure)
            self._log_move(breaker, before)

    def _log_move(self, breaker: Breaker, before: str) -> None:
        if breaker.state == before:
            return
        seconds = breaker.statistics(trio.current_time()).reopens_in_s
        log.warning(
            "breaker_moved",
            instance=self._row.name,
            before=str(before),
            state=str(breaker.state),
            reopens_in_s=None if seconds is None else round(seconds, 1),
        )


def _trouble(error: BaseException) -> Trouble:
    """What a provider's exception means. The transport hides `Refused` behind an httpx error, as its cause."""
    if isinstance(error, httpx.HTTPError) and isinstance(error.__cause__, ProviderError):
        error = error.__cause__
    if isinstance(error, ProviderError):
        return Trouble(error.kind, error.detail, error.retry_after, error.retry, error.evidence)
    # No message of theirs is passed on: it may hold anything. Nor is such a call repeated: nobody knows what was sent.
    return Trouble(Kind.UNAVAILABLE if isinstance(error, httpx.HTTPError) else Kind.BUG, type(error).__name__)


def _telling(group: BaseExceptionGroup[Exception]) -> BaseException:
    """The exception of a group that says most: a bug before anything typed, else the first."""
    _, untyped = group.split((ProviderError, httpx.HTTPError))
    return innermost(untyped or group)


def _verdict(rule: Rule) -> Verdict:
    if rule.counts:
        return Verdict.FAULT
    return Verdict.REACHED if rule.fault is Fault.PAGE else Verdict.NOTHING
