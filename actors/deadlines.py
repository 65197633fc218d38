"""The deadlines of all calls that are running, so that a shutdown can bring them forward."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import trio


class Deadlines:
    """Opens scopes that end at a deadline, and shortens them all on demand."""

    def __init__(self) -> None:
        self._open: set[trio.CancelScope] = set()
        self._latest_at = math.inf

    @contextmanager
    def until(self, at: float) -> Iterator[trio.CancelScope]:
        """A scope that ends at `at` on trio's clock, or sooner if `shorten` says so; leaving it never raises."""
        with trio.CancelScope(deadline=min(at, self._latest_at)) as scope:
            self._open.add(scope)
            try:
                yield scope
            finally:
                self._open.discard(scope)

    def shorten(self, at: float) -> None:
        """Let no scope, open now or later, outlive `at`."""
        self._latest_at = min(self._latest_at, at)
        for scope in self._open:
            scope.deadline = min(scope.deadline, at)
