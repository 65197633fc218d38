"""What must hold of every search and every read, whatever the instances do: random histories on a virtual clock."""

from __future__ import annotations

import random

import pytest
import trio

from actors.canonical import canonical
from actors.row import Rate
from providers import _sanitise
from providers._contract import (
    Blocked,
    Denied,
    Empty,
    Evidence,
    Found,
    Kind,
    NotFound,
    Query,
    QuotaSpent,
    Unavailable,
)
from tests.actors.pipelab import URL, good, laboratory, many, row, thin
from tests.actors.test_walk import read

HISTORIES = 100


@pytest.fixture(autouse=True)
def _unsanitised(monkeypatch):
    async def sanitise(value):
        return value

    monkeypatch.setattr(_sanitise, "sanitise", sanitise)


@pytest.fixture
def rng():
    seed = random.randrange(2**32)
    print("seed", seed)
    return random.Random(seed)


class Spans:
    """Who was at work when."""

    def __init__(self) -> None:
        self.spans: dict[str, tuple[float, float]] = {}
        self.evidence: dict[str, Evidence | None] = {}

    def working(self, name, seconds, outcome):
        async def work(job):
            began_at = trio.current_time()
            self.evidence[name] = getattr(job, "evidence", None)
            try:
                await trio.sleep(seconds)
            finally:
                self.spans[name] = (began_at, trio.current_time())
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        return work

    def beside(self, name):
        """Who else was at work when `name` began."""
        began_at = self.spans[name][0]
        return [other for other, (start, end) in self.spans.items() if other != name and start < began_at < end]


def _pages(rng):
    evidence = Evidence(URL, rng.choice(["nothing", "connected", "answered"]), rng.choice([None, 403, 200]))
    return rng.choice(
        [
            good(),
            thin("short"),
            thin("x", shell=True),
            thin("Checking", wall="w"),
            Blocked("b", evidence=evidence),
            Unavailable("u", evidence=evidence),
            Empty("e"),
            Denied("d"),
            NotFound("n"),
        ]
    )


def _reader(rng, name, spans):
    is_paid, is_final = rng.random() < 0.3, rng.random() < 0.1
    impersonates = not is_paid and rng.random() < 0.2
    reach = rng.choice(["direct", "third_party", "self_hosted"])

    def wants(target):
        return not impersonates or (target.evidence is not None and target.evidence.status == 403)

    return row(
        name,
        spans.working(name, rng.choice([0, 0.3, 2, 11, 14, 31, 200]), _pages(rng)),
        wants=wants,
        paid=is_paid,
        final=is_final and not impersonates,
        impersonate=impersonates,
        reach=reach,
    )


async def test_whatever_readers_do_a_walk_keeps_its_rules(autojump_clock, rng):
    for _ in range(HISTORIES):
        spans = Spans()
        names = [f"r{number}" for number in range(rng.randrange(1, 7))]
        rows = {name: _reader(rng, name, spans) for name in names}
        timeout = rng.choice([1, 7.5, 20, 55])
        order = tuple(names) if len(names) < 3 else (*names[:-2], tuple(names[-2:]))

        async with laboratory(*rows.values(), read=order) as lab:
            result = await read(lab, timeout=timeout)
            busy = await lab.in_flight()

        asked = [name for name in names if lab.calls(name)]
        assert busy == 0
        assert result.elapsed <= timeout + 1e-6
        assert all(len(lab.calls(name)) == 1 for name in asked)
        assert sorted(step.instance for step in result.steps) == sorted(asked)
        assert (result.page is not None) == (result.status == "success") == (result.reason is None)
        if result.page is not None:
            assert result.page.signals.wall is None
        for name in asked:
            assert not (rows[name].paid and spans.beside(name))
            assert not (rows[name].impersonate and spans.evidence[name] is None)
        if any(one.final for one in rows.values()):
            assert all(rows[name].final for name in asked)
        ends = {Kind.NOT_FOUND}
        first_end = next((index for index, step in enumerate(result.steps) if step.reason in ends), None)
        if first_end is not None:
            assert not any(step.status == "ok" for step in result.steps[first_end + 1 :])


def _found(rng, name):
    return rng.choice(
        [many(name, 3), many("shared", 4), Found(()), Unavailable("u"), QuotaSpent("q"), Denied("d"), many(name, 9)]
    )


async def test_whatever_instances_do_a_search_keeps_its_rules(autojump_clock, rng):
    for _ in range(HISTORIES):
        spans = Spans()
        names = [f"s{number}" for number in range(rng.randrange(1, 8))]
        rows = [
            row(
                name,
                spans.working(name, rng.choice([0, 0.5, 1, 3, 8, 99]), _found(rng, name)),
                paid=rng.random() < 0.4,
                rate=rng.choice([None, None, Rate(1, 6)]),
            )
            for name in names
        ]
        order = tuple(names) if len(names) < 4 else (*names[:-3], tuple(names[-3:]))
        query = Query("trio", limit=rng.randrange(1, 9))
        timeout = rng.choice([1, 5, 15])
        strategy = rng.choice(["all", "free_first"])

        async with laboratory(*rows, search=order, strategy=strategy) as lab:
            for name in names:
                if rng.random() < 0.3:
                    with trio.move_on_after(0.5):
                        await lab.supervisor.refs[name].ask(query)
            before = {name: len(lab.calls(name)) for name in names}
            result = await lab.pipelines.search(query, timeout=timeout, tell=lab.tell)
            busy = await lab.in_flight()

        asked = [name for name in names if len(lab.calls(name)) > before[name]]
        reports = {report.instance: report for report in result.reports}
        keys = [canonical(merged.hit.url) for merged in result.hits]
        answered = [name for name, report in reports.items() if report.status in ("ok", "empty")]
        assert busy == 0
        assert result.elapsed <= timeout + 1e-6
        assert list(reports) == [name for name in names if name in reports]
        assert len(keys) == len(set(keys)) <= query.limit
        assert (result.status == "success") == bool(answered)
        assert all(len(lab.calls(name)) - before[name] <= 1 for name in names)
        for name, report in reports.items():
            # Two corners: out of credit, said by an instance that bills nothing, looks like a quota of ours; and the
            # next of a group may be stopped in the moment in which it is asked.
            stopped_at_once = report.reason in (Kind.LATE, Kind.TIMEOUT) and report.elapsed == 0
            if report.reason is not Kind.QUOTA_SPENT and not stopped_at_once:
                assert (name in asked) == (report.status != "skipped")
            assert report.status != "late" or len(keys) == query.limit
        assert set(asked) <= set(reports)
        if strategy == "all":
            assert set(order) - {order[-1]} <= set(reports)
