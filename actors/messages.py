"""What passes between a pipeline and an actor: a request with a one-shot reply slot, and the two outcomes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import trio

from providers._contract import Evidence, Job, Kind


@dataclass(frozen=True, slots=True)
class Answer:
    """The provider answered. `took` in seconds; `billed` counts units of a paid account."""

    value: Any
    instance: str
    took: float = 0.0
    billed: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """No answer, and why. `retry_at`, on trio's clock, is when asking again makes sense."""

    kind: Kind
    instance: str
    detail: str = ""
    retry_at: float | None = None
    took: float = 0.0
    billed: int = 0
    evidence: Evidence | None = field(default=None, repr=False)


Outcome = Answer | Failure


class Reply:
    """A slot for one outcome. The first `set` wins, later ones have no effect."""

    __slots__ = ("_event", "_outcome")

    def __init__(self) -> None:
        self._outcome: Outcome | None = None
        self._event = trio.Event()

    @property
    def is_set(self) -> bool:
        return self._outcome is not None

    def set(self, outcome: Outcome) -> bool:
        """Store `outcome` and wake the asker; returns whether it was the first."""
        if self._outcome is not None:
            return False
        self._outcome = outcome
        self._event.set()
        return True

    async def wait(self) -> Outcome:
        await self._event.wait()
        assert self._outcome is not None
        return self._outcome


@dataclass(eq=False, slots=True)
class Request:
    """One job on its way to an actor. `scope` carries the deadline in, and is cancelled when the asker stops caring.

    `patience`: how many seconds the job may wait for a throttle slot; None leaves it to the row. What happened on the
    way is noted here, since the asker may have to answer for a worker that is stuck: the throttle `slot` (trio's clock)
    that `ask` reserved and, where replicas share slots, the `ticket` that stands for it there; how often the provider
    was called (`tries`), and the units `billed` so far.
    """

    job: Job
    scope: trio.CancelScope
    reply: Reply
    trace: str
    patience: float | None = None
    slot: float | None = None
    ticket: str | None = None
    tries: int = 0
    billed: int = 0
