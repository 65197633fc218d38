"""Throws an exception into a task at its n-th await, the way a cancellation would arrive there.

trio's awaits end in a trap that the task yields to the run loop. `Crasher` stands between the two: it lets the first
n - 1 traps pass, and at the n-th it takes the task out of whatever it waits for (with the abort function that trio
itself would use, so a value on its way is not lost) and raises inside. Where a wait cannot be aborted, it raises after.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import trio
from trio._core._traps import WaitTaskRescheduled


class Injected(Exception):
    """A bug of ours at that await."""


@dataclass
class Countdown:
    """Shared by all tasks under test: at which await one falls (counting from 1; 0: none), and how many have passed."""

    at: int
    passed: int = 0

    def strikes(self) -> bool:
        self.passed += 1
        return self.passed == self.at


class Crasher:
    """Runs a coroutine and makes it fall at the await where the countdown ends."""

    def __init__(self, coroutine: Coroutine[Any, Any, None], countdown: Countdown) -> None:
        self._coroutine = coroutine
        self._countdown = countdown

    def __await__(self) -> Generator[Any, Any, None]:
        step: Callable[[], Any] = partial(self._coroutine.send, None)
        while True:
            try:
                trap = step()
            except StopIteration:
                return
            strikes = self._countdown.strikes()
            if strikes and aborted(trap):
                step = partial(self._coroutine.throw, Injected())
                continue
            result = yield trap
            step = partial(self._coroutine.throw, Injected()) if strikes else partial(self._coroutine.send, result)


def aborted(trap: Any) -> bool:
    """Whether the task could be taken out of its wait; a trap that waits for nothing needs no taking out."""

    def fall() -> NoReturn:
        raise Injected

    if not isinstance(trap, WaitTaskRescheduled):
        return True
    return trap.abort_func(fall) is trio.lowlevel.Abort.SUCCEEDED


def crashing(method: Callable[..., Coroutine[Any, Any, None]], countdown: Countdown) -> Callable[..., Any]:
    """The async method, with every await of it watched by the countdown."""

    async def watched(*args: Any) -> None:
        await Crasher(method(*args), countdown)

    return watched
