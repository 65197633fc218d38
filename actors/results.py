"""What the pipelines hand to the tools: merged hits, reports, steps. Plain data, already sanitised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from providers._contract import Hit, Image, Kind, Note, Page

Status = Literal["success", "failed", "timeout"]

# Called when something worth showing to a waiting caller happens; must not block. Events and their fields:
# "asking" (count), "waiting" (instance, seconds), "trying" (instance).
Tell = Callable[[str, dict[str, str | int]], None]


@dataclass(frozen=True, slots=True)
class Report:
    """What one instance did in a search; `elapsed` in seconds. `retry_at` is on trio's clock."""

    instance: str
    status: Literal["ok", "empty", "skipped", "failed", "late"]
    reason: Kind | None = None
    detail: str | None = None
    count: int = 0
    elapsed: float = 0.0
    billed: int = 0
    retry_at: float | None = None


@dataclass(frozen=True, slots=True)
class MergedHit:
    """One hit after merging: the copy of the earliest instance that found it, and all that did."""

    hit: Hit
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MergedImage:
    image: Image
    source: str


Merged = TypeVar("Merged", MergedHit, MergedImage)


@dataclass(frozen=True, slots=True)
class SearchResult(Generic[Merged]):
    """One query's outcome. `status` is `timeout` when the deadline came before any instance had answered."""

    query: str
    status: Status
    hits: tuple[Merged, ...]
    reports: tuple[Report, ...]
    elapsed: float


@dataclass(frozen=True, slots=True)
class Step:
    """What one reader did in a walk."""

    instance: str
    status: Literal["ok", "skipped", "failed"]
    reason: Kind | None = None
    detail: str | None = None
    elapsed: float = 0.0
    billed: int = 0
    retry_at: float | None = None


@dataclass(frozen=True, slots=True)
class ReadResult:
    """One page's outcome. `page` is None unless `status` is `success`; `notes` are the page's and the walk's."""

    url: str
    status: Status
    page: Page | None
    provider: str | None
    notes: tuple[Note, ...]
    steps: tuple[Step, ...]
    reason: Kind | None
    detail: str | None
    elapsed: float
