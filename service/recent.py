"""The last calls of tools with what providers did in each, kept for `/ops`.

Keeping one costs a few microseconds and no text of a page: reports and steps are what the pipelines made anyway, and
queries and addresses are cut. What becomes of them, redaction too, is up to whoever shows them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import trio

from actors.results import MergedHit, MergedImage, ReadResult, Report, SearchResult, Status, Step, Tell
from providers._contract import ImageQuery, Query, Target
from service.calling import Backend

MAX_CALLS = 50
MAX_PARTS = 12
MAX_STEPS = 30
MAX_ABOUT_CHARS = 300


@dataclass(slots=True)
class Part:
    """One query or address of a call. `status` is None until its pipeline has come back; `elapsed` in seconds.

    more_steps: how many steps were not kept.
    """

    about: str
    status: Status | None = None
    elapsed: float = 0.0
    steps: Sequence[Report | Step] = ()
    more_steps: int = 0


@dataclass(frozen=True, slots=True)
class RecentCall:
    """One call that has ended. `ended_at` is on trio's clock, `elapsed` in seconds.

    asked: its query or address as the caller gave it, where no provider was asked. more_parts: how many of its parts
    were not kept.
    """

    number: int
    tool: str
    ended: Literal["ok", "failed", "given_up"]
    rejected: str | None
    ended_at: float
    elapsed: float
    asked: str | None
    parts: tuple[Part, ...]
    more_parts: int


class Trail:
    """The backend as one call sees it: passes everything on, and keeps what came of it."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._steps_left = MAX_STEPS
        self.parts: list[Part] = []
        self.more_parts = 0

    async def search(self, query: Query, *, timeout: float, tell: Tell) -> SearchResult[MergedHit]:
        part = self._begin(query.text)
        result = await self._backend.search(query, timeout=timeout, tell=tell)
        self._end(part, result.status, result.elapsed, result.reports)
        return result

    async def search_images(self, query: ImageQuery, *, timeout: float, tell: Tell) -> SearchResult[MergedImage]:
        part = self._begin(query.text)
        result = await self._backend.search_images(query, timeout=timeout, tell=tell)
        self._end(part, result.status, result.elapsed, result.reports)
        return result

    async def read(self, target: Target, *, timeout: float, tell: Tell, robots_txt: bool = False) -> ReadResult:
        part = self._begin(target.url)
        result = await self._backend.read(target, timeout=timeout, tell=tell, robots_txt=robots_txt)
        self._end(part, result.status, result.elapsed, result.steps)
        return result

    def _begin(self, about: str) -> Part:
        part = Part(about[:MAX_ABOUT_CHARS])
        if len(self.parts) < MAX_PARTS:
            self.parts.append(part)
        else:
            self.more_parts += 1
        return part

    def _end(self, part: Part, status: Status, elapsed: float, steps: Sequence[Report | Step]) -> None:
        part.status, part.elapsed = status, elapsed
        part.steps = steps[: self._steps_left]
        part.more_steps = len(steps) - len(part.steps)
        self._steps_left -= len(part.steps)


class Recent:
    """The last MAX_CALLS calls, the newest first when read."""

    def __init__(self) -> None:
        self._calls: deque[RecentCall] = deque(maxlen=MAX_CALLS)
        self._count = 0

    def add(self, tool: str, trail: Trail, line: Mapping[str, object], *, succeeded: bool, began_at: float) -> None:
        """Keep a call that ends now. `line` has the fields of its line in the log, `began_at` is on trio's clock."""
        now = trio.current_time()
        self._count += 1
        self._calls.append(
            RecentCall(
                number=self._count,
                tool=tool,
                ended="given_up" if "cancelled" in line else "ok" if succeeded else "failed",
                rejected=_text(line.get("rejected")),
                ended_at=now,
                elapsed=now - began_at,
                asked=None if trail.parts else _text(line.get("query") or line.get("url")),
                parts=tuple(trail.parts),
                more_parts=trail.more_parts,
            )
        )

    def newest_first(self) -> tuple[RecentCall, ...]:
        return tuple(reversed(self._calls))


def _text(value: object) -> str | None:
    return value[:MAX_ABOUT_CHARS] if isinstance(value, str) else None
