"""One search: every instance at once, failover inside a group, stragglers cut off (SPEC section 2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal

import trio

from actors.merge import Listing
from actors.messages import Answer, Failure, Outcome
from actors.options import Asked, Group, PipelineOptions
from actors.outcomes import was_asked
from actors.results import Report, Status, Tell
from providers._contract import Found, ImageQuery, Item, Kind, Query

LEAST_GRACE = 2.0
SLOT_MARGIN = 0.5


@dataclass(slots=True)
class _Wave:
    """Groups that were asked together: how many may still count, how many have answered, and since when."""

    began_at: float
    asked: int
    open: int
    answered: int = 0
    is_closing: bool = False

    def close_group(self, *, asked: bool) -> None:
        self.open -= 1
        if asked:
            self.answered += 1
        else:
            self.asked -= 1

    @property
    def is_half_answered(self) -> bool:
        return 2 * self.answered >= self.asked and self.answered > 0


class FanOut(Generic[Item]):
    """One query on its way through the instances; made for one `run`.

    Args:
        job: the query; `job.limit` distinct items are enough.
        groups: whom to ask, in order of preference; of a group, the first that can answer.
        key_of: two items with the same key are one.
        usable: removes what the caller did not ask for from what an instance found.
    """

    def __init__(
        self,
        job: Query | ImageQuery,
        groups: Sequence[Group],
        options: PipelineOptions,
        tell: Tell,
        *,
        key_of: Callable[[Item], str],
        usable: Callable[[tuple[Item, ...]], tuple[Item, ...]],
    ) -> None:
        self._job = job
        self._groups = groups
        self._options = options
        self._tell = tell
        self._key_of: Callable[[Item], str] = key_of
        self._usable: Callable[[tuple[Item, ...]], tuple[Item, ...]] = usable
        self._instances = tuple(ref for group in groups for ref in group)
        self._keys: set[str] = set()
        self._listings: dict[str, Listing[Item]] = {}
        self._reports: dict[str, Report] = {}
        self._began_at: dict[str, float] = {}
        self._is_cut_short = False

    async def run(self, scope: trio.CancelScope) -> None:
        """Ask, until all have answered or are late. `scope` is the call's own: at its deadline this is cancelled."""
        waves = [self._groups]
        if self._options.strategy == "free_first":
            free = [group for group in self._groups if not _is_paid(group)]
            waves = [free, [group for group in self._groups if _is_paid(group)]]
        for wave in waves:
            if wave and not self._has_enough:
                await self._ask_together(wave)
        if self._options.wait_for_slot and not self._is_answered:
            await self._wait_for_slot(scope)

    def close(self) -> None:
        """Report those that were still busy when the deadline came."""
        self._is_cut_short = True
        self._report_open("failed", Kind.TIMEOUT, "the deadline of the call passed")

    @property
    def listings(self) -> tuple[Listing[Item], ...]:
        """What was found, in instance order."""
        return tuple(self._listings[ref.name] for ref in self._instances if ref.name in self._listings)

    @property
    def reports(self) -> tuple[Report, ...]:
        """What each instance did, in instance order. Members of a group that were not needed are not named."""
        return tuple(self._reports[ref.name] for ref in self._instances if ref.name in self._reports)

    @property
    def status(self) -> Status:
        if self._is_answered:
            return "success"
        return "timeout" if self._is_cut_short else "failed"

    @property
    def _is_answered(self) -> bool:
        return any(report.status in ("ok", "empty") for report in self._reports.values())

    @property
    def _has_enough(self) -> bool:
        return len(self._keys) >= self._job.limit

    async def _ask_together(self, groups: Sequence[Group]) -> None:
        self._tell("asking", {"count": len(groups)})
        if len(groups) == 1:
            await self._ask_in_turn(groups[0])
            return
        wave = _Wave(trio.current_time(), asked=len(groups), open=len(groups))
        async with trio.open_nursery() as nursery:
            for group in groups:
                nursery.start_soon(self._ask_group, group, wave, nursery)
        self._report_open("late", Kind.LATE, "slower than the others")

    async def _ask_group(self, group: Group, wave: _Wave, nursery: trio.Nursery) -> None:
        wave.close_group(asked=await self._ask_in_turn(group))
        if wave.open == 0:
            nursery.cancel_scope.cancel()
        elif wave.is_half_answered and self._has_enough and not wave.is_closing:
            wave.is_closing = True
            grace = max(LEAST_GRACE, trio.current_time() - wave.began_at)
            nursery.start_soon(self._cut_off, grace, nursery.cancel_scope)

    async def _ask_in_turn(self, group: Group) -> bool:
        """Ask the members until one answers; True where a remote was asked at all."""
        asked = False
        for ref in group:
            outcome = await self._ask(ref)
            if isinstance(outcome, Answer):
                return True
            asked = asked or was_asked(outcome)
        return asked

    async def _cut_off(self, grace: float, scope: trio.CancelScope) -> None:
        # Cancelled rather than given an earlier deadline: what an instance sees as its deadline counts against it.
        await trio.sleep(grace)
        scope.cancel()

    async def _wait_for_slot(self, scope: trio.CancelScope) -> None:
        """Nobody could answer: wait for the throttle slot that comes first, and for the next if that helps nothing."""
        waiting = [ref for ref in self._instances if self._is_throttled(ref)]
        while waiting and not self._is_answered:
            slot_at, ref = min(((_slot_at(ref), ref) for ref in waiting), key=lambda pair: pair[0])
            if slot_at >= scope.deadline:
                return
            seconds = math.ceil(slot_at - trio.current_time())
            self._tell("waiting", {"instance": ref.name, "seconds": seconds})
            # A request's own time runs while it waits for its slot, so it is sent when half of that will be left.
            lead = ref.row.timeout / 2
            await trio.sleep_until(slot_at - lead)
            await self._ask(ref, patience=lead + SLOT_MARGIN)
            # Another search may have taken the slot; then a later one is waited for, but none is asked for twice.
            if not self._is_throttled(ref) or _slot_at(ref) <= slot_at:
                waiting.remove(ref)

    def _is_throttled(self, ref: Asked) -> bool:
        report = self._reports.get(ref.name)
        return report is not None and report.reason is Kind.THROTTLED

    async def _ask(self, ref: Asked, patience: float | None = None) -> Outcome:
        self._began_at[ref.name] = trio.current_time()
        outcome = await ref.ask(self._job, patience=patience)
        elapsed = trio.current_time() - self._began_at.pop(ref.name)
        if isinstance(outcome, Answer):
            self._reports[ref.name] = self._answered(ref, outcome, elapsed)
        else:
            self._reports[ref.name] = _failed(ref, outcome, elapsed)
        return outcome

    def _answered(self, ref: Asked, answer: Answer, elapsed: float) -> Report:
        found: Found[Item] = answer.value
        items = self._usable(found.items)
        self._listings[ref.name] = Listing(ref.name, items, ref.row.family)
        self._keys.update(map(self._key_of, items))
        detail = found.detail
        if found.items and not items:
            detail = detail or "all hits are older than asked"
        return Report(ref.name, "ok" if items else "empty", None, detail, len(items), elapsed, answer.billed)

    def _report_open(self, status: Literal["failed", "late"], kind: Kind, detail: str) -> None:
        """Report every instance that has been asked and has not answered. What it cost is not known: one unit."""
        paid = {ref.name: ref.row.paid for ref in self._instances}
        for name, began_at in self._began_at.items():
            elapsed, billed = trio.current_time() - began_at, int(paid[name])
            self._reports[name] = Report(name, status, kind, detail, 0, elapsed, billed)
        self._began_at.clear()


def _is_paid(group: Group) -> bool:
    return any(ref.row.paid for ref in group)


def _slot_at(ref: Asked) -> float:
    now = trio.current_time()
    slot_at = ref.next_slot_at(now)
    return now if slot_at is None else slot_at


def _failed(ref: Asked, failure: Failure, elapsed: float) -> Report:
    return Report(
        ref.name,
        "failed" if was_asked(failure) else "skipped",
        failure.kind,
        failure.detail or None,
        0,
        elapsed,
        failure.billed,
        failure.retry_at,
    )
