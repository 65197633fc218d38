"""What the pipelines are told once, at start-up: who is asked in which order, and by which rules."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Literal, Protocol

from actors.merge import Fusion
from actors.messages import Outcome
from actors.row import Reach, Row
from providers._contract import Job, Kind, Target

# One name, or a failover group: its first member that can answer is asked.
Order = tuple[str | tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Orders:
    """Names of instances in order of preference. Names that are not configured are passed over.

    rerank: who puts merged hits into order of relevance, if anybody.
    """

    search: Order = ()
    images: Order = ()
    read: Order = ()
    rerank: str | None = None


@dataclass(frozen=True, slots=True)
class PipelineOptions:
    """Settings of SPEC section 5 that concern searching and reading; durations in seconds.

    wait_for_slot: a search that nobody can answer waits for the earliest throttle slot. rerank: SEARCH_RERANK_ENABLED.
    min_chars: with less content a page is thin. hedge_after: a reader slower than this gets another beside it.
    request_timeout: what one reader of a walk may take.
    """

    fusion: Fusion = "rrf"
    strategy: Literal["all", "free_first"] = "all"
    wait_for_slot: bool = True
    rerank: bool = True
    min_chars: int = 400
    hedge_after: float = 12.0
    request_timeout: float = 25.0


class Asked(Protocol):
    """What a pipeline needs of a `Ref`."""

    @property
    def name(self) -> str: ...

    @property
    def row(self) -> Row: ...

    def accepts(self, target: Target) -> bool: ...

    def next_slot_at(self, now: float) -> float | None: ...

    async def ask(self, job: Job, *, patience: float | None = None) -> Outcome: ...


class Checks(Protocol):
    """What a walk needs of the address guard: may this URL be handed to a reader of that reach?"""

    def check(self, url: str, *, reach: Reach) -> Awaitable[Kind | None]: ...


Group = tuple[Asked, ...]
