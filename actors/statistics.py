"""Frozen snapshots for `/stats` (SPEC section 6), named and nested as there, and the counters they are made of."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from actors.breaker import BreakerStatistics
from actors.histogram import Histogram
from actors.history import Ended
from actors.messages import Answer, Outcome
from actors.policy import POLICY
from actors.quota import QuotaStatistics
from actors.throttle import ThrottleStatistics
from providers._contract import Found, Kind, Role

ActorState = Literal["running", "restarting", "retired", "unconfigured", "disabled"]

SAMPLES = 512
NO_THROTTLE = ThrottleStatistics(None, 0.0)
NO_QUOTA = QuotaStatistics()
NO_BREAKER = BreakerStatistics("none", None)


@dataclass(frozen=True, slots=True)
class MailboxStatistics:
    depth: int = 0
    capacity: int = 0


@dataclass(frozen=True, slots=True)
class CallStatistics:
    """Every ask is counted once: total = ok + empty + failed + skipped + late.

    empty: a search that found nothing. failed: the provider was called and did not answer. skipped: it was not called.
    late: the asker left after the call began.
    """

    total: int = 0
    ok: int = 0
    empty: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    late: int = 0


@dataclass(frozen=True, slots=True)
class BilledStatistics:
    """Units of a paid account: ever, and in the current period (the quota's, else the month)."""

    units: int = 0
    period_units: int = 0


@dataclass(frozen=True, slots=True)
class LatencyStatistics:
    """Milliseconds per finished call, over the last 512; None before the first."""

    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


@dataclass(frozen=True, slots=True)
class ActorStatistics:
    """One entry of `actors`; `dataclasses.asdict` gives the JSON of SPEC section 6."""

    instance: str
    type: str
    roles: tuple[str, ...]
    state: ActorState
    mailbox: MailboxStatistics = MailboxStatistics()
    in_flight: int = 0
    workers: int = 0
    throttle: ThrottleStatistics = NO_THROTTLE
    quota: QuotaStatistics = NO_QUOTA
    breaker: BreakerStatistics = NO_BREAKER
    calls: CallStatistics = CallStatistics()
    billed: BilledStatistics = BilledStatistics()
    latency_ms: LatencyStatistics = LatencyStatistics()
    restarts: int = 0
    last_error: str | None = None
    proxy: str | None = None


def absent(instance: str, type_name: str, roles: Iterable[Role], state: ActorState) -> ActorStatistics:
    """The entry of an instance that has no actor: unconfigured or disabled."""
    return ActorStatistics(instance, type_name, role_names(roles), state)


def role_names(roles: Iterable[Role]) -> tuple[str, ...]:
    """Roles by name, in the order they are declared in."""
    wanted = frozenset(roles)
    return tuple(role.value for role in Role if role in wanted)


def shown_proxy(proxy: str | None) -> str | None:
    """A proxy's address without user and password."""
    if proxy is None:
        return None
    parts = urlsplit(proxy)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


class Calls:
    """Counts how asks ended."""

    def __init__(self) -> None:
        self._ok = 0
        self._empty = 0
        self._late = 0
        self._failed: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()

    def count(self, outcome: Outcome | None, *, called: bool) -> Ended:
        """Count one ask, and say as what. `outcome` is None where the asker left.

        called: whether the provider was called.
        """
        if outcome is None and called:
            self._late += 1
            return "late"
        if isinstance(outcome, Answer):
            return self._count_answer(outcome)
        kind = Kind.CANCELLED if outcome is None else outcome.kind
        if outcome is not None and (called or POLICY[kind].asked):
            self._failed[kind.value] += 1
            return "failed"
        self._skipped[kind.value] += 1
        return "skipped"

    def _count_answer(self, answer: Answer) -> Ended:
        if isinstance(answer.value, Found) and not answer.value.items:
            self._empty += 1
            return "empty"
        self._ok += 1
        return "ok"

    def statistics(self) -> CallStatistics:
        failed, skipped = dict(self._failed), dict(self._skipped)
        total = self._ok + self._empty + self._late + sum(failed.values()) + sum(skipped.values())
        return CallStatistics(total, self._ok, self._empty, failed, skipped, self._late)


class Latencies:
    """The durations of the last calls that finished, and of all of them in buckets."""

    def __init__(self) -> None:
        self.histogram = Histogram()
        self._seconds: deque[float] = deque(maxlen=SAMPLES)

    def add(self, seconds: float) -> None:
        self._seconds.append(seconds)
        self.histogram.add(seconds)

    def statistics(self) -> LatencyStatistics:
        if not self._seconds:
            return LatencyStatistics()
        ordered = sorted(self._seconds)
        last = len(ordered) - 1
        p50, p95, p99 = (round(1000 * ordered[round(last * share)], 3) for share in (0.5, 0.95, 0.99))
        return LatencyStatistics(p50, p95, p99)
