"""What follows a crash: how soon and how often to start again, and what the log says. And the retry budget."""

from __future__ import annotations

import random
import traceback
from collections import deque
from collections.abc import Awaitable, Callable

WINDOW = 600.0
CRASHES = 6
FIRST_DELAY = 1.0
LONGEST_DELAY = 60.0

BUDGET = 10
CALLS_PER_RETRY = 10


class Restarts:
    """Counts the crashes of one actor: the sixth within ten minutes is the last."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._crashes: deque[float] = deque(maxlen=CRASHES)
        self._in_a_row = 0

    def delay(self, now: float) -> float | None:
        """Seconds to wait after a crash at `now`, or None to give up.

        1 s, doubling to 60 s, and up to a fifth more so that actors which fell together do not rise together. Ten
        minutes without a crash start the row anew.
        """
        if self._crashes and now - self._crashes[-1] >= WINDOW:
            self._in_a_row = 0
        self._crashes.append(now)
        if len(self._crashes) == CRASHES and now - self._crashes[0] < WINDOW:
            return None
        delay = min(FIRST_DELAY * 2.0 ** min(self._in_a_row, 10), LONGEST_DELAY)
        self._in_a_row += 1
        return delay * self._rng.uniform(1.0, 1.2)


class RetryBudget:
    """A bucket of 10 retries, refilled by a tenth per call, so that an outage is not doubled by our own retries."""

    def __init__(self) -> None:
        self._tenths = BUDGET * CALLS_PER_RETRY  # whole numbers, so that ten calls make exactly one retry

    @property
    def left(self) -> int:
        """How many retries could be taken now."""
        return self._tenths // CALLS_PER_RETRY

    def called(self) -> None:
        """A first try went out."""
        self._tenths = min(BUDGET * CALLS_PER_RETRY, self._tenths + 1)

    def take(self) -> bool:
        """Take one retry if there is one."""
        if not self.left:
            return False
        self._tenths -= CALLS_PER_RETRY
        return True


async def crash_of(run: Callable[[], Awaitable[None]]) -> Exception | None:
    """Run something to its end and return the exception that ended it, or None. Cancellation passes through.

    This is the nursery's edge that keeps one crash from cancelling the siblings.
    """
    crash: Exception | None = None
    try:
        await run()
    except* Exception as group:  # noqa: BLE001 (the supervisor's barrier, STYLE.md)
        crash = group
    return crash


def innermost(error: BaseException) -> BaseException:
    """The first leaf of nested exception groups; nurseries wrap what falls out of them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def described(error: BaseException) -> dict[str, str]:
    """Fields for a log line: the type, and a traceback of code lines without the values of variables."""
    leaf = innermost(error)
    return {"error": type(leaf).__name__, "traceback": "".join(traceback.format_exception(leaf, limit=-20))}
