"""Search and read, as the tools call them: the only place where refs, orders and options meet.

Each call has one deadline. It is opened here, so that what is ready when it passes is returned and not lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial

import trio

from actors.canonical import canonical, unwrap
from actors.deadlines import Deadlines
from actors.fan_out import FanOut
from actors.findings import Findings
from actors.merge import drop_older, merge_hits, merge_images
from actors.messages import Answer, Outcome
from actors.options import Asked, Checks, Group, Order, Orders, PipelineOptions
from actors.results import MergedHit, MergedImage, ReadResult, Report, SearchResult, Tell
from actors.walk import Walk, ask_robots
from providers._contract import Hit, Image, ImageQuery, Kind, Query, Ranking, Role, Target

__all__ = ["Orders", "PipelineOptions", "Pipelines"]

RERANK_TIMEOUT = 4.0
RANKED_CHARS = 1_000


class Pipelines:
    """All instances behind three verbs.

    Args:
        refs: instances by name. Names in `orders` that are not among them are passed over.
        guard: says whether an address may be handed to a remote reader.
        today: the current date in UTC, for hits older than asked.
    """

    def __init__(
        self,
        refs: Mapping[str, Asked],
        orders: Orders,
        guard: Checks,
        options: PipelineOptions,
        *,
        today: Callable[[], date] = lambda: datetime.now(UTC).date(),
    ) -> None:
        self._refs = refs
        self._orders = orders
        self._guard = guard
        self._options = options
        self._today = today
        self._deadlines = Deadlines()

    def shorten_deadlines(self, at: float) -> None:
        """Let no call, running or to come, last longer than `at` on trio's clock; they return what is ready then."""
        self._deadlines.shorten(at)

    async def search(self, query: Query, *, timeout: float, tell: Tell) -> SearchResult[MergedHit]:
        """Ask the search instances; the best `query.limit` hits within `timeout` seconds. Raises nothing of its own."""
        run = FanOut[Hit](
            query,
            self._groups(self._orders.search),
            self._options,
            tell,
            key_of=lambda hit: canonical(unwrap(hit.url)),
            usable=partial(drop_older, freshness=query.date, today=self._today()),
        )
        began_at = trio.current_time()
        with self._deadlines.until(began_at + timeout) as scope:
            await run.run(scope)
        if scope.cancelled_caught:
            run.close()
        hits = merge_hits(run.listings, self._options.fusion)
        reports = run.reports
        if len(hits) > 1:
            outcome = await self._rerank(query, hits, scope.deadline)
            hits, reports = _reranked(hits, outcome), _billed(reports, outcome)
        elapsed = trio.current_time() - began_at
        return SearchResult(query.text, run.status, hits[: query.limit], reports, elapsed)

    async def search_images(self, query: ImageQuery, *, timeout: float, tell: Tell) -> SearchResult[MergedImage]:
        """Ask the image instances; otherwise as `search`, without reranking."""
        run = FanOut[Image](
            query,
            self._groups(self._orders.images),
            self._options,
            tell,
            key_of=lambda image: canonical(image.image_url),
            usable=lambda images: images,
        )
        began_at = trio.current_time()
        with self._deadlines.until(began_at + timeout) as scope:
            await run.run(scope)
        if scope.cancelled_caught:
            run.close()
        images = merge_images(run.listings, self._options.fusion)[: query.limit]
        return SearchResult(query.text, run.status, images, run.reports, trio.current_time() - began_at)

    async def read(self, target: Target, *, timeout: float, tell: Tell, robots_txt: bool = False) -> ReadResult:
        """Walk down the readers; the page, or why there is none, within `timeout` seconds.

        `robots_txt`: ask the site's robots.txt first, and read nothing it forbids. Raises nothing of its own.
        """
        findings = Findings(target.url, target.evidence, self._options.min_chars)
        tiers = self._groups(self._orders.read)
        walk = Walk(findings, tiers, self._guard, self._options, tell, min(self._options.hedge_after, timeout / 4))
        began_at = trio.current_time()
        with self._deadlines.until(began_at + timeout) as scope:
            if robots_txt:
                await ask_robots(
                    _with_role(tiers, Role.ROBOTS), findings, min(self._options.request_timeout, timeout / 2)
                )
            await walk.run(scope)
        if scope.cancelled_caught:
            walk.stop(Kind.TIMEOUT, "the deadline of the call passed")
        return findings.result(trio.current_time() - began_at, is_cut_short=scope.cancelled_caught)

    def _groups(self, order: Order) -> tuple[Group, ...]:
        """The instances of an order that exist, single ones as groups of one."""
        named = ((entry,) if isinstance(entry, str) else entry for entry in order)
        groups = (tuple(self._refs[name] for name in names if name in self._refs) for names in named)
        return tuple(group for group in groups if group)

    async def _rerank(self, query: Query, hits: tuple[MergedHit, ...], deadline_at: float) -> Outcome | None:
        """The order a reranker puts all hits into, if there is one and it answers in its short time."""
        ref = self._refs.get(self._orders.rerank or "")
        if ref is None or not self._options.rerank or trio.current_time() >= deadline_at:
            return None
        ranking = Ranking(query.text, tuple(_ranked_text(merged.hit) for merged in hits))
        outcome: Outcome | None = None
        with self._deadlines.until(min(deadline_at, trio.current_time() + RERANK_TIMEOUT)):
            outcome = await ref.ask(ranking)
        return outcome  # noqa: RET504 (the scope may have ended the ask)


def _ranked_text(hit: Hit) -> str:
    return f"{hit.title}\n{hit.snippet}".strip()[:RANKED_CHARS] or hit.url


def _reranked(hits: tuple[MergedHit, ...], outcome: Outcome | None) -> tuple[MergedHit, ...]:
    """The hits in the order of a complete answer; as they were where it is missing or names only some of them."""
    if not isinstance(outcome, Answer) or sorted(outcome.value) != list(range(len(hits))):
        return hits
    return tuple(hits[index] for index in outcome.value)


def _billed(reports: tuple[Report, ...], outcome: Outcome | None) -> tuple[Report, ...]:
    """The reports with the reranker's units added to its instance's."""
    if outcome is None:
        return reports
    return tuple(
        replace(report, billed=report.billed + outcome.billed) if report.instance == outcome.instance else report
        for report in reports
    )


def _with_role(tiers: tuple[Group, ...], role: Role) -> Asked | None:
    return next((ref for tier in tiers for ref in tier if role in ref.row.roles), None)
