"""Hosts whose pages used up workers; for a while nothing of theirs is extracted."""

from __future__ import annotations

import math
from collections import deque

KILLS_TO_REFUSE = 2
REFUSAL_SECONDS = 600.0
"""Within how long the kills count together, and for how long the host is refused then."""


class Offenders:
    """Hosts whose pages killed workers. `now` is trio's clock."""

    def __init__(self) -> None:
        self._kills: dict[str, deque[float]] = {}
        self._refused_until: dict[str, float] = {}

    def record(self, host: str, now: float) -> None:
        """One of the host's jobs was killed."""
        self._forget(now)
        kills = self._kills.setdefault(host, deque(maxlen=KILLS_TO_REFUSE))
        kills.append(now)
        if len(kills) == KILLS_TO_REFUSE and now - kills[0] <= REFUSAL_SECONDS:
            self._refused_until[host] = now + REFUSAL_SECONDS
            del self._kills[host]

    def refuses(self, host: str, now: float) -> bool:
        return self._refused_until.get(host, -math.inf) > now

    def refused(self, now: float) -> int:
        """How many hosts are refused at the moment."""
        return sum(until > now for until in self._refused_until.values())

    def _forget(self, now: float) -> None:
        self._refused_until = {host: until for host, until in self._refused_until.items() if until > now}
        self._kills = {host: kills for host, kills in self._kills.items() if now - kills[-1] <= REFUSAL_SECONDS}
