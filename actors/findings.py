"""What a walk has learnt: evidence of the first fetch, the pages kept, what became of each reader. Nothing awaits.

`walk.py` asks readers and reports here; from here it learns what to ask next and whether it is over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import trio

from actors.judge import Quality, Verdict, judge
from actors.messages import Answer, Failure, Outcome
from actors.outcomes import was_asked
from actors.policy import POLICY
from actors.results import ReadResult, Status, Step
from actors.row import Row
from providers._contract import Evidence, Kind, Note, Page, Progress, Reached, Target

REACHED: tuple[Reached, ...] = ("nothing", "connected", "answered")
ROBOTS_STEP = "robots.txt"
REFUSED_STATUSES = (401, 403, 429, 451, 503)

# What a step of a page that was not good enough says; for a failed status see `_kind_of`.
KINDS = {
    Quality.THIN: Kind.THIN,
    Quality.SHELL: Kind.THIN,
    Quality.MAYBE: Kind.TEASER,
    Quality.TEASER: Kind.TEASER,
    Quality.WALL: Kind.BLOCKED,
    Quality.EMPTY: Kind.EMPTY,
    Quality.NO_TEXT: Kind.EMPTY,
    Quality.GONE: Kind.NOT_FOUND,
}

# Pages that are returned when nobody does better, with the note they get then.
KEPT: dict[Quality, tuple[Note, ...]] = {
    Quality.THIN: (Note.THIN,),
    Quality.SHELL: (Note.THIN,),
    Quality.MAYBE: (),
    Quality.TEASER: (Note.PAYWALL_TEASER,),
    Quality.NO_TEXT: (Note.NO_TEXT_LAYER,),
}


def merged(old: Evidence | None, new: Evidence | None) -> Evidence | None:
    """Two fetches of one target as one: what the newer one knows, and what only the older one knew."""
    if old is None or new is None:
        return new or old
    return Evidence(
        url=new.url,
        reached=max(old.reached, new.reached, key=REACHED.index),
        status=old.status if new.status is None else new.status,
        content_type=new.content_type or old.content_type,
        wall=new.wall or old.wall,
        body=old.body if new.body is None else new.body,
        shell=old.shell or new.shell,
        thin=old.thin or new.thin,
        no_text_layer=old.no_text_layer or new.no_text_layer,
    )


@dataclass(frozen=True, slots=True)
class _Read:
    """A page, who read it, and what it was judged to be."""

    page: Page
    instance: str
    verdict: Verdict

    @property
    def rank(self) -> tuple[bool, int]:
        # A notice that there is no text comes after anything that has some.
        return self.verdict.quality is not Quality.NO_TEXT, self.verdict.chars


class Findings:
    """The state of one walk. `min_chars` as for `judge`."""

    def __init__(self, url: str, evidence: Evidence | None, min_chars: int) -> None:
        self.url = url
        self._evidence = evidence
        self._progress = Progress()
        self._min_chars = min_chars
        self._began_at: dict[str, float] = {}
        self._steps: dict[str, Step | None] = {}
        self._good: _Read | None = None
        self._kept: list[_Read] = []
        self._ending: Failure | None = None
        self._may_be_short = False
        self._has_need = False

    @property
    def target(self) -> Target:
        """The target with all that is known of it."""
        return Target(self.url, self._evidence, self._progress)

    @property
    def is_over(self) -> bool:
        """A good page is there, or nobody could do better."""
        return self._good is not None or self._ending is not None

    @property
    def is_first(self) -> bool:
        """No reader has been asked for the page yet."""
        return not self._steps.keys() - {ROBOTS_STEP}

    @property
    def may_pay(self) -> bool:
        """Whether asking a paid reader is more than paying for a page that is simply short."""
        return self._has_need or not self._may_be_short

    @property
    def is_reached(self) -> bool:
        """A connection to the site is known to have been completed, by a fetch that ended or one under way."""
        reached = self._evidence.reached if self._evidence else self._progress.reached
        return reached in REACHED[1:]

    @property
    def is_unreachable(self) -> bool:
        """A fetch ended without a completed connection."""
        return self._evidence is not None and self._evidence.reached == "nothing"

    def begin(self, instance: str) -> None:
        """`instance` is being asked from now on."""
        self._began_at[instance] = trio.current_time()
        self._steps.setdefault(instance, None)

    def skip(self, instance: str, kind: Kind, detail: str) -> None:
        """`instance` was not asked."""
        self._steps[instance] = Step(instance, "skipped", kind, detail)

    def end(self, failure: Failure) -> None:
        """Nothing more will be tried, for this reason."""
        self._ending = self._ending or failure

    def note(self, row: Row, outcome: Outcome) -> None:
        """Take in what a reader said."""
        began_at = self._began_at.pop(row.name)
        step = Step(row.name, "ok", elapsed=trio.current_time() - began_at, billed=outcome.billed)
        if isinstance(outcome, Answer):
            self._steps[row.name] = self._note_page(row, outcome.value, step)
        else:
            self._steps[row.name] = self._note_failure(row, outcome, step)

    def stop(self, row: Row, kind: Kind, detail: str) -> None:
        """A reader that is being asked was stopped from here. What it cost is not known: one unit if it is paid."""
        if row.name in self._began_at:
            self.note(row, Failure(kind, row.name, detail, billed=int(row.paid)))

    def note_robots(self, instance: str, *, allowed: bool) -> None:
        """What robots.txt says; a step of its own, since the same reader may be asked for the page next."""
        elapsed = trio.current_time() - self._began_at.pop(instance)
        detail = "robots.txt allows" if allowed else "robots.txt denied"
        reason = None if allowed else Kind.REFUSED
        del self._steps[instance]
        self._steps[ROBOTS_STEP] = Step(instance, "ok" if allowed else "failed", reason, detail, elapsed)

    def result(self, elapsed: float, *, is_cut_short: bool) -> ReadResult:
        """The outcome of the walk. `is_cut_short`: the deadline came while somebody was being asked."""
        steps = tuple(step for step in self._steps.values() if step is not None)
        read = self._good or max(self._kept, key=lambda kept: kept.rank, default=None)
        if read is not None:
            notes = tuple(dict.fromkeys((*read.page.notes, *KEPT.get(read.verdict.quality, ()))))
            return ReadResult(self.url, "success", read.page, read.instance, notes, steps, None, None, elapsed)
        status: Status = "timeout" if is_cut_short and self._ending is None else "failed"
        reason, detail = (Kind.TIMEOUT, "the deadline of the call passed") if status == "timeout" else self._why(steps)
        return ReadResult(self.url, status, None, None, (), steps, reason, detail, elapsed)

    def _why(self, steps: tuple[Step, ...]) -> tuple[Kind | None, str | None]:
        """The reason that says most: what ended the walk, else the first reader that was asked, else the first."""
        if self._ending is not None:
            return self._ending.kind, self._ending.detail or None
        told = [step for step in steps if step.status == "failed"] or list(steps)
        if told:
            return told[0].reason, told[0].detail
        return Kind.UNSUPPORTED, "no reader accepts this address"

    def _note_page(self, row: Row, page: Page, step: Step) -> Step:
        verdict = judge(page, self._min_chars)
        read = _Read(page, row.name, verdict)
        if verdict.quality is Quality.GOOD:
            self._good = self._good or read
            return step
        kind = _kind_of(verdict, page)
        self._learn_from_page(row, page, verdict)
        if verdict.quality in KEPT and verdict.chars:
            self._kept.append(read)
        if POLICY[kind].ends_walk:
            self.end(Failure(kind, row.name, verdict.detail))
        return replace(step, status="failed", reason=kind, detail=verdict.detail)

    def _learn_from_page(self, row: Row, page: Page, verdict: Verdict) -> None:
        quality = verdict.quality
        if quality in (Quality.THIN, Quality.MAYBE):
            self._may_be_short = True
        elif quality in (Quality.SHELL, Quality.TEASER, Quality.NO_TEXT) or row.reach == "direct":
            # A wall in front of somebody else says nothing about the page, once it was read from here.
            self._has_need = True
        if row.reach != "direct":
            return
        seen = page.evidence or Evidence(self.url, "answered", page.signals.status, page.content_type)
        seen = replace(
            seen,
            wall=seen.wall or page.signals.wall or ("challenge" if quality is Quality.WALL else None),
            shell=quality is Quality.SHELL,
            thin=quality is Quality.THIN,
            no_text_layer=quality is Quality.NO_TEXT,
        )
        self._evidence = merged(self._evidence, seen)

    def _note_failure(self, row: Row, failure: Failure, step: Step) -> Step:
        asked = was_asked(failure)
        if row.reach == "direct":
            evidence = failure.evidence
            if evidence is None and failure.kind is Kind.TIMEOUT and self._progress.reached is not None:
                evidence = Evidence(self.url, self._progress.reached)
            self._evidence = merged(self._evidence, evidence)
            # A special reader that has nothing for the page has fetched nothing of it: no evidence, no need.
            self._has_need = self._has_need or (asked and (evidence is not None or failure.kind is Kind.TIMEOUT))
        if POLICY[failure.kind].ends_walk:
            self.end(failure)
        return replace(
            step,
            status="failed" if asked else "skipped",
            reason=failure.kind,
            detail=failure.detail or None,
            retry_at=failure.retry_at,
        )


def _kind_of(verdict: Verdict, page: Page) -> Kind:
    if verdict.quality is Quality.FAILED:
        return Kind.BLOCKED if page.signals.status in REFUSED_STATUSES else Kind.UNAVAILABLE
    return KINDS[verdict.quality]
