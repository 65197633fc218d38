"""The pages for operators: `/healthz`, `/readyz` and `/stats`, made from snapshots without waiting."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from actors.statistics import ActorStatistics
from providers._clean import clean_line
from providers._contract import Role
from service.app import Page, Reply, json_reply
from service.calls import Calls, Uptime
from service.logs import LogStatistics
from service.protocol import Identity

MAX_TEXT_CHARS = 1000

Redact = Callable[[str], str]


class Statistics(Protocol):
    """Gives the frozen snapshots of all instances, configured or not."""

    def __call__(self) -> Sequence[ActorStatistics]: ...


def ready_instances(actors: Iterable[ActorStatistics]) -> dict[str, list[str]]:
    """For each role the instances that can be asked: neither down nor retired, with a breaker that is not open."""
    usable = [one for one in actors if one.state == "running" and one.breaker.state != "open"]
    return {role.value: [one.instance for one in usable if role.value in one.roles] for role in Role}


@dataclass(frozen=True, slots=True)
class Desk:
    """What the pages are made of. `redact` takes configured secrets out of any text; `log` counts lost lines.

    ledger_problem: why units cannot be counted now, as a sentence; None when all is well.
    """

    identity: Identity
    toolset: str
    calls: Calls
    uptime: Uptime
    statistics: Statistics
    redact: Redact
    log: Callable[[], LogStatistics] = LogStatistics
    ledger_problem: Callable[[], str | None] = lambda: None

    def pages(self) -> dict[str, Page]:
        return {"/healthz": self.healthz, "/readyz": self.readyz, "/stats": self.stats}

    def healthz(self) -> Reply:
        """200 while serving, 503 while draining; says nothing else, since it stands outside the gate."""
        if self.calls.is_draining:
            return json_reply(503, {"status": "draining"})
        return json_reply(200, {"status": "ok"})

    def readyz(self) -> Reply:
        """200 when at least one search and one read instance can be asked."""
        ready = ready_instances(self.statistics())
        roles = {role: bool(ready[role]) for role in ("search", "read")}
        is_ready = all(roles.values()) and not self.calls.is_draining
        status = "draining" if self.calls.is_draining else "ready" if is_ready else "not ready"
        return json_reply(200 if is_ready else 503, {"status": status, **roles})

    def stats(self) -> Reply:
        return json_reply(200, self.safe_snapshot())

    def safe_snapshot(self) -> dict[str, Any]:
        """The snapshot with every text cleaned and redacted."""
        return dict(self._safe(self.snapshot()))

    def snapshot(self) -> dict[str, Any]:
        """The whole of `/stats` as SPEC section 6 names it; lost lines of the log, and quotas that are nearly spent."""
        actors = self.statistics()
        service = {
            "name": self.identity.name,
            "version": self.identity.version,
            "uptime_s": round(self.uptime.seconds, 3),
            "toolset": self.toolset,
            "draining": self.calls.is_draining,
            "log": asdict(self.log()),
            "ledger": {"problem": self.ledger_problem()},
            "warnings": [sentence for one in actors for sentence in _quota_warnings(one, time.time())],
            "calls": {tool: asdict(counts) for tool, counts in self.calls.statistics().items()},
        }
        return {"service": service, "actors": [asdict(one) for one in actors]}

    def _safe(self, value: Any) -> Any:
        """Every text cleaned and redacted: names come from the environment, last errors from vendors."""
        if isinstance(value, str):
            return clean_line(self.redact(value), limit=MAX_TEXT_CHARS)
        if isinstance(value, Mapping):
            return {key: self._safe(entry) for key, entry in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._safe(entry) for entry in value]
        return value


def _quota_warnings(one: ActorStatistics, wall_now: float) -> Iterator[str]:
    """What the operator should know of an instance's quota, as sentences."""
    quota, until = one.quota, f"until {one.quota.resets_at}"
    if quota.is_nearly_spent:
        yield f"{one.instance}: {quota.used} of {quota.limit} units of this {quota.period} are used, {until}"
    if quota.is_ahead_of(wall_now):
        yield f"{one.instance}: the clock has gone back; its units count for the {quota.period} {until}"
