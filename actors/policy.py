"""What follows from each failure kind. One table, read by the actor and by the pipelines; no code branches on kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from providers._contract import Kind

MINUTE = 60.0
HOUR = 3600.0


class Fault(StrEnum):
    """Who is to blame. Kept apart so that one stubborn web site cannot switch a reader off for everyone."""

    NOT_CALLED = "not_called"
    PROVIDER = "provider"
    ACCOUNT = "account"
    PAGE = "page"
    CALLER = "caller"
    NOBODY = "nobody"
    OURS = "ours"


@dataclass(frozen=True, slots=True)
class Rule:
    """What one kind means.

    counts: it goes onto the breaker's tally of faults. opens: it opens the breaker at once, for this many seconds
    where the remote named no time of its own (security/FACTS.md D1). retried: a second try may help, if the error
    itself does not forbid it. ends_walk: no other reader can do better. asked: the provider was called, or we cannot
    know that it was not; the others are reported as skipped.
    """

    fault: Fault
    counts: bool = False
    opens: float | None = None
    retried: bool = False
    ends_walk: bool = False
    asked: bool = True


# `quota_spent` is two things. Said by our own ledger, nobody was called, and that is what `asked` describes since it is
# by far the commoner case; said by the remote, the actor applies `opens`. `thin` and `teaser` are set by `walk` alone.
POLICY: Mapping[Kind, Rule] = MappingProxyType(
    {
        Kind.BUSY: Rule(Fault.NOT_CALLED, asked=False),
        Kind.DOWN: Rule(Fault.NOT_CALLED, asked=False),
        Kind.CIRCUIT_OPEN: Rule(Fault.NOT_CALLED, asked=False),
        Kind.THROTTLED: Rule(Fault.NOT_CALLED, asked=False),
        Kind.NOT_SENT: Rule(Fault.NOT_CALLED, asked=False),
        Kind.QUOTA_SPENT: Rule(Fault.ACCOUNT, opens=HOUR, asked=False),
        Kind.RATE_LIMITED: Rule(Fault.ACCOUNT, opens=MINUTE),
        Kind.DENIED: Rule(Fault.ACCOUNT, opens=HOUR),
        Kind.UNAVAILABLE: Rule(Fault.PROVIDER, counts=True, retried=True),
        Kind.TIMEOUT: Rule(Fault.PROVIDER, counts=True),
        Kind.MALFORMED: Rule(Fault.PROVIDER, counts=True),
        Kind.BUG: Rule(Fault.PROVIDER, counts=True),
        Kind.BLOCKED: Rule(Fault.PAGE),
        Kind.EMPTY: Rule(Fault.PAGE),
        Kind.UNSUPPORTED: Rule(Fault.PAGE),
        Kind.TOO_LARGE: Rule(Fault.PAGE),
        Kind.TOO_HEAVY: Rule(Fault.PAGE),
        Kind.THIN: Rule(Fault.PAGE),
        Kind.TEASER: Rule(Fault.PAGE),
        Kind.NOT_FOUND: Rule(Fault.PAGE, ends_walk=True),
        Kind.REFUSED: Rule(Fault.CALLER, ends_walk=True),
        Kind.LATE: Rule(Fault.NOBODY),
        Kind.CANCELLED: Rule(Fault.NOBODY),
        Kind.CRASHED: Rule(Fault.OURS),
    }
)
