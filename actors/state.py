"""Where quotas and slots are kept: LEDGER_URL to what the supervisor needs of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from actors.ledger import Ledger, open_ledger
from actors.redis_url import is_redis_url
from actors.slots import OwnSlots, SlotsOf


@dataclass(frozen=True, slots=True)
class State:
    """A ledger, slots for each row, and why some of it cannot be used now: a sentence, or None."""

    ledger: Ledger
    slots_of: SlotsOf
    problem: Callable[[], str | None]


@asynccontextmanager
async def open_state(url: str) -> AsyncIterator[State]:
    """What lies behind `sqlite:PATH` or `redis://...`. Opening never fails because the place cannot be used now.

    The Redis client is imported here, since most have no use for it.
    """
    if is_redis_url(url):
        from actors.redis_ledger import open_redis_ledger

        async with open_redis_ledger(url) as shared:
            yield State(shared, shared.slots_of, lambda: shared.problem)
    else:
        async with open_ledger(url) as own:
            yield State(own, OwnSlots, lambda: own.problem)
