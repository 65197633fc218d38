"""The unit of work: one call of a provider, with all the requests it makes.

A search with its pages, a page with its redirects: a site that is asked twice for one thing must see one browser at
one address, while the next call may come from another. The actor opens a unit around each call of a provider, and
the transports read it from the context, so providers know nothing of it. Tasks that a provider starts belong to the
unit they were started in.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


def _new_session() -> str:
    # Eight characters: the gateways that say how long an id may be take 6 to 10 (2026-08).
    return secrets.token_hex(4)


@dataclass(frozen=True, slots=True)
class Unit:
    """What stays the same within a unit of work.

    session: names the exit of a rotating proxy. choice: any number, for choosing one out of several.
    """

    session: str = field(default_factory=_new_session)
    choice: int = field(default_factory=lambda: secrets.randbits(32))


_current: ContextVar[Unit | None] = ContextVar("unit_of_work", default=None)


@contextmanager
def unit_of_work() -> Iterator[Unit]:
    """All requests in this block, and in the tasks started in it, belong together."""
    unit = Unit()
    token = _current.set(unit)
    try:
        yield unit
    finally:
        _current.reset(token)


def current_unit() -> Unit:
    """The unit of work that the caller is in; outside of any, a fresh one for each question."""
    return _current.get() or Unit()
