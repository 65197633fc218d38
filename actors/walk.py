"""One read: readers in order of cost, a free one beside one that is slow, the first good page wins (SPEC section 3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urldefrag

import trio

from actors.findings import Findings
from actors.messages import Answer, Failure, Outcome
from actors.options import Asked, Checks, Group, PipelineOptions
from actors.policy import POLICY, Fault
from actors.results import Tell
from actors.row import Reach
from providers._address import may_leave
from providers._contract import Kind, Page, RobotsQuery

NOT_SENT = {Kind.NOT_SENT: "not sent to a third party", Kind.REFUSED: "address not allowed"}


class Walk:
    """One target on its way down the readers; made for one `run`.

    A *tier* is one reader or one failover group. Tiers start in order, each when the one before has failed; beside a
    tier that is slow the next free one starts. A paid tier starts only while nobody else is being asked.
    """

    def __init__(
        self,
        findings: Findings,
        tiers: Sequence[Group],
        guard: Checks,
        options: PipelineOptions,
        tell: Tell,
        hedge_after: float,
    ) -> None:
        self._findings = findings
        self._tiers = _last_word(tiers, findings)
        self._waiting = dict(enumerate(self._tiers))
        self._running: set[int] = set()
        self._furthest = -1
        self._hedge_at = math.inf
        self._hedge_after = hedge_after
        self._guard = guard
        self._options = options
        self._tell = tell
        self._may_leave = may_leave(findings.url)
        self._verdicts: dict[Reach, Kind | None] = {}
        self._changed = trio.Event()

    async def run(self, scope: trio.CancelScope) -> None:
        """Walk until a good page is there or nobody is left. `scope` is the call's own, and ends at its deadline."""
        async with trio.open_nursery() as nursery:
            while not self._findings.is_over:
                position = self._next()
                if position is not None:
                    self._start(position, nursery, scope)
                elif self._running:
                    await self._wait()
                else:
                    break
            nursery.cancel_scope.cancel()
        self.stop(Kind.CANCELLED, "another reader was faster")

    def stop(self, kind: Kind, detail: str) -> None:
        """Note for every reader that is still being asked that it was stopped."""
        for tier in self._tiers:
            for ref in tier:
                self._findings.stop(ref.row, kind, detail)

    def _next(self) -> int | None:
        """Which tier starts now, if any."""
        offered = [position for position in self._waiting if self._offered(position)]
        if not self._running:
            return next(iter(offered), None)
        free = [position for position in offered if not self._is_paid(position)]
        # Its turn had not come when a later one started beside a slow reader; now that reader has failed.
        passed_over = [position for position in free if position < self._furthest and self._is_turn(position)]
        if passed_over:
            return passed_over[0]
        if trio.current_time() < self._hedge_at:
            return None
        return next((position for position in free if self._may_hedge(position)), None)

    def _is_turn(self, position: int) -> bool:
        return all(running > position for running in self._running)

    def _start(self, position: int, nursery: trio.Nursery, scope: trio.CancelScope) -> None:
        now = trio.current_time()
        tier = self._offered(position)
        del self._waiting[position]
        self._running.add(position)
        self._furthest = max(self._furthest, position)
        self._hedge_at = now + self._hedge_after
        nursery.start_soon(self._read, position, tier, now + self._time_for(position, tier, scope.deadline - now))

    def _time_for(self, position: int, tier: Group, left: float) -> float:
        """How long a tier may take: half of what is left while somebody could come after it."""
        time = max(self._options.request_timeout, *(ref.row.timeout for ref in tier))
        is_last = not any(later > position and self._may_follow(later) for later in self._waiting)
        return min(time, left if is_last else left / 2)

    def _may_follow(self, position: int) -> bool:
        """Whether a tier would get the address too; only what is plain without DNS, which is asked at its turn."""
        rows = [ref.row for ref in self._offered(position)]
        return any(row.reach != "third_party" or self._may_leave for row in rows)

    def _offered(self, position: int) -> Group:
        """The readers of a waiting tier that want the target as it is known now, and may have it."""
        target = self._findings.target
        return tuple(ref for ref in self._waiting[position] if self._is_offered(ref) and ref.accepts(target))

    def _is_offered(self, ref: Asked) -> bool:
        if ref.row.paid and not self._findings.may_pay:
            return False
        return not (ref.row.reach == "self_hosted" and self._findings.is_unreachable)

    def _is_paid(self, position: int) -> bool:
        return any(ref.row.paid for ref in self._waiting[position])

    def _may_hedge(self, position: int) -> bool:
        rows = [ref.row for ref in self._waiting[position]]
        if any(row.impersonate for row in rows):
            return False
        return self._findings.is_reached or not any(row.reach == "self_hosted" for row in rows)

    async def _wait(self) -> None:
        """Until a tier has ended, or it is time for another beside it."""
        self._changed = trio.Event()
        hedge_at = self._hedge_at if self._hedge_at > trio.current_time() else math.inf
        with trio.move_on_at(hedge_at):
            await self._changed.wait()

    async def _read(self, position: int, tier: Group, deadline_at: float) -> None:
        with trio.move_on_at(deadline_at) as scope:
            for ref in tier:
                if await self._ask(ref):
                    break
        if scope.cancelled_caught:
            for ref in tier:
                self._findings.stop(ref.row, Kind.TIMEOUT, "its time in this call passed")
        self._running.discard(position)
        self._changed.set()

    async def _ask(self, ref: Asked) -> bool:
        """Ask one reader; returns whether another account of the same vendor would be asked for nothing."""
        row, findings = ref.row, self._findings
        kind = await self._why_not(row.reach)
        if kind is not None:
            findings.skip(ref.name, kind, NOT_SENT[kind])
            return False
        if not findings.is_first:
            self._tell("trying", {"instance": ref.name})
        findings.begin(ref.name)
        target = findings.target
        if row.reach != "direct":
            target = replace(target, url=urldefrag(target.url).url)
        outcome = await ref.ask(target)
        if isinstance(outcome, Answer) and row.reach != "direct":
            outcome = await self._checked(outcome, row.reach)
        findings.note(row, outcome)
        return isinstance(outcome, Answer) or POLICY[outcome.kind].fault in (Fault.PAGE, Fault.CALLER)

    async def _why_not(self, reach: Reach) -> Kind | None:
        """Why the address may not be handed to a reader of that reach; looked up once per walk."""
        if reach == "direct":
            return None
        if reach not in self._verdicts:
            self._verdicts[reach] = await self._guard.check(self._findings.url, reach=reach)
        return self._verdicts[reach]

    async def _checked(self, answer: Answer, reach: Reach) -> Outcome:
        """The answer of a remote reader, if the address it ended up at may be shown."""
        page: Page = answer.value
        if page.final_url in ("", self._findings.url):
            return answer
        kind = await self._guard.check(page.final_url, reach=reach)
        if kind is None:
            return answer
        if kind is Kind.REFUSED:
            return Failure(kind, answer.instance, NOT_SENT[kind], took=answer.took, billed=answer.billed)
        return replace(answer, value=replace(page, final_url=self._findings.url))


def _last_word(tiers: Sequence[Group], findings: Findings) -> Sequence[Group]:
    """Where a final reader accepts the target, nobody but final readers is asked: the walk would end before."""
    target = findings.target
    final = [tuple(ref for ref in tier if ref.row.final and ref.accepts(target)) for tier in tiers]
    return [tier for tier in final if tier] or tiers


async def ask_robots(ref: Asked | None, findings: Findings, time: float) -> None:
    """Ask the site's robots.txt through `ref` within `time` seconds; ends the walk unless it allows the target."""
    if ref is None:
        findings.end(Failure(Kind.UNSUPPORTED, "", "robots.txt could not be asked: no reader for it is configured"))
        return
    findings.begin(ref.name)
    outcome: Outcome = Failure(Kind.TIMEOUT, ref.name, "no answer in time")
    with trio.move_on_after(time):
        outcome = await ref.ask(RobotsQuery(findings.url))
    if isinstance(outcome, Answer):
        findings.note_robots(ref.name, allowed=outcome.value)
        if not outcome.value:
            findings.end(Failure(Kind.REFUSED, ref.name, "robots.txt denied"))
        return
    if outcome.kind is not Kind.REFUSED:
        outcome = replace(outcome, detail=f"robots.txt could not be asked: {outcome.detail or outcome.kind}")
    findings.note(ref.row, outcome)
    findings.end(outcome)
