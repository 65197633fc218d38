"""A circuit breaker: it stops asking a remote that fails, and finds out with one call whether it is back.

Pure: `now` is an argument. Figures from security/FACTS.md D1: five counted faults in a row open it, or half of at least
20 calls within a minute; it stays open for 30 s, twice as long after each probe that fails, at most 10 minutes, give or
take a fifth, so that instances which failed together do not come back together. A fault of the account (rate limit,
key, credit) opens it at once until the time the remote named.

The moves are a table, because that is how they can be read and tested in full:

    closed    --tripped-->  open       too many faults
    closed    --shut----->  open       an account fault
    open      --shut----->  open       an account fault of a call that began earlier: open until the later time
    open      --cooled--->  half_open  the time has passed and somebody asks
    half_open --answered->  closed     the remote works
    half_open --tripped-->  open       the probe failed
    half_open --shut----->  open       the probe met an account fault

A call that began before the breaker last opened says nothing about the remote now: its answer or fault is ignored, only
an account fault still counts, since that stays true.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

FAULTS_IN_A_ROW = 5
WINDOW = 60.0
WINDOW_CALLS = 20
WINDOW_SHARE = 0.5
FIRST_COOLDOWN = 30.0
LONGEST_COOLDOWN = 600.0
JITTER = 0.2


class State(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Move(StrEnum):
    TRIPPED = "tripped"
    SHUT = "shut"
    COOLED = "cooled"
    ANSWERED = "answered"


TRANSITIONS: Mapping[tuple[State, Move], State] = MappingProxyType(
    {
        (State.CLOSED, Move.TRIPPED): State.OPEN,
        (State.CLOSED, Move.SHUT): State.OPEN,
        (State.OPEN, Move.SHUT): State.OPEN,
        (State.OPEN, Move.COOLED): State.HALF_OPEN,
        (State.HALF_OPEN, Move.ANSWERED): State.CLOSED,
        (State.HALF_OPEN, Move.TRIPPED): State.OPEN,
        (State.HALF_OPEN, Move.SHUT): State.OPEN,
    }
)


class Verdict(StrEnum):
    """What a call says about the remote.

    reached: it answered, but about a page that cannot be had. One bad page is neither for nor against a remote, so the
    tally is untouched; but a probe that gets so far shows that the remote is back. nothing: late, cancelled, not sent.
    """

    ANSWERED = "answered"
    FAULT = "fault"
    REACHED = "reached"
    NOTHING = "nothing"


@dataclass(eq=False, slots=True)
class Pass:
    """Leave to make one call; handed back with `report` or `shut`. `epoch` tells calls from before an opening."""

    epoch: int
    probe: bool = False
    spent: bool = False


@dataclass(frozen=True, slots=True)
class BreakerStatistics:
    """`reopens_in_s`: seconds until the next call is let through, None while closed."""

    state: str
    reopens_in_s: float | None


class Breaker:
    """One instance's breaker. `allow` and `report` frame each call; everything is immediate."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._state = State.CLOSED
        self._epoch = 0
        self._in_a_row = 0
        self._trips = 0
        self._opens_until = 0.0
        self._probing = False
        self._recent: deque[tuple[int, int, int]] = deque()  # second, calls, faults: bounded by the window

    @property
    def state(self) -> State:
        return self._state

    def refused_until(self, now: float) -> float | None:
        """None if a call would be let through, else when to ask again. Changes nothing."""
        if self._state is State.OPEN and now < self._opens_until:
            return self._opens_until
        if self._state is State.HALF_OPEN and self._probing:
            return now + 1.0  # nobody knows when the probe comes back; soon, one way or the other
        return None

    def allow(self, now: float) -> Pass | None:
        """Leave to make one call, or None while open or while a probe is out."""
        if self.refused_until(now) is not None:
            return None
        if self._state is State.OPEN:
            self._move(Move.COOLED)
        self._probing = self._state is State.HALF_OPEN
        return Pass(self._epoch, self._probing)

    def report(self, leave: Pass, verdict: Verdict, now: float) -> None:
        """Say how a call ended. Only the first report of a pass counts."""
        if not self._take_back(leave) or leave.epoch != self._epoch or verdict is Verdict.NOTHING:
            return
        if not leave.probe:
            self._tally(verdict, now)
        elif verdict is Verdict.FAULT:
            self._trip(now)
        else:
            self._close()

    def shut(self, leave: Pass, until: float) -> None:
        """An account fault: open until that time, on trio's clock."""
        if not self._take_back(leave):
            return
        if self._state is State.OPEN:
            until = max(until, self._opens_until)
        self._open(Move.SHUT, until)

    def statistics(self, now: float) -> BreakerStatistics:
        if self._state is State.CLOSED:
            return BreakerStatistics(self._state.value, None)
        return BreakerStatistics(self._state.value, max(0.0, self._opens_until - now))

    def _take_back(self, leave: Pass) -> bool:
        """Whether this is the pass's first report; a probe's pass lets the next probe out."""
        first, leave.spent = not leave.spent, True
        if first and leave.probe and leave.epoch == self._epoch:
            self._probing = False
        return first

    def _tally(self, verdict: Verdict, now: float) -> None:
        if verdict is Verdict.REACHED:
            return
        faulty = verdict is Verdict.FAULT
        self._in_a_row = self._in_a_row + 1 if faulty else 0
        while self._recent and self._recent[0][0] <= now - WINDOW:
            self._recent.popleft()
        if self._recent and self._recent[-1][0] == int(now):
            second, calls, faults = self._recent.pop()
            self._recent.append((second, calls + 1, faults + faulty))
        else:
            self._recent.append((int(now), 1, int(faulty)))
        calls = sum(entry[1] for entry in self._recent)
        faults = sum(entry[2] for entry in self._recent)
        too_many = calls >= WINDOW_CALLS and faults >= WINDOW_SHARE * calls
        if faulty and (self._in_a_row >= FAULTS_IN_A_ROW or too_many):
            self._trip(now)

    def _trip(self, now: float) -> None:
        cooldown = min(FIRST_COOLDOWN * 2.0**self._trips, LONGEST_COOLDOWN)
        self._trips = min(self._trips + 1, 10)
        self._open(Move.TRIPPED, now + cooldown * self._rng.uniform(1 - JITTER, 1 + JITTER))

    def _open(self, move: Move, until: float) -> None:
        self._move(move)
        self._opens_until = until
        self._epoch += 1
        self._probing = False

    def _close(self) -> None:
        self._move(Move.ANSWERED)
        self._in_a_row = 0
        self._trips = 0
        self._recent.clear()

    def _move(self, move: Move) -> None:
        self._state = TRANSITIONS[self._state, move]
