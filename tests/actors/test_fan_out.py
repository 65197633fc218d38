"""Search through real actors on a virtual clock: who is asked, who waits, who is late, and what is said of each."""

from __future__ import annotations

import pytest
import trio

from actors.row import Limit, Rate
from providers import _sanitise
from providers._contract import (
    Denied,
    Found,
    Hit,
    Image,
    ImageQuery,
    Kind,
    Query,
    QuotaSpent,
    Ranking,
    Role,
    Unavailable,
)
from tests.actors.lab import takes
from tests.actors.pipelab import hits, laboratory, many, row

QUERY = Query("trio", limit=4)


@pytest.fixture(autouse=True)
def _unsanitised(monkeypatch):
    async def sanitise(value):
        return value

    monkeypatch.setattr(_sanitise, "sanitise", sanitise)


async def search(lab, query=QUERY, timeout=15.0):
    return await lab.pipelines.search(query, timeout=timeout, tell=lab.tell)


def reports(result):
    return {report.instance: (report.status, report.reason) for report in result.reports}


def titles(result):
    return [merged.hit.title for merged in result.hits]


# --- everybody at once ----------------------------------------------------------------------------------------------


async def test_all_are_asked_at_once_and_their_hits_merged(autojump_clock):
    rows = [row("a", takes(3, hits("x", "y"))), row("b", takes(2, hits("y", "z"))), row("c", takes(1, Found(())))]

    async with laboratory(*rows) as lab:
        result = await search(lab)

    assert result.status == "success"
    assert titles(result) == ["y", "x", "z"]
    assert [merged.sources for merged in result.hits] == [("a", "b"), ("a",), ("b",)]
    assert reports(result) == {"a": ("ok", None), "b": ("ok", None), "c": ("empty", None)}
    assert [(report.count, report.elapsed) for report in result.reports] == [(2, 3), (2, 2), (0, 1)]
    assert lab.calls("a") == lab.calls("b") == lab.calls("c") == [0]
    assert result.elapsed == 3
    assert lab.told == [(0, "asking", {"count": 3})]


async def test_no_more_than_the_limit_is_returned(autojump_clock):
    async with laboratory(row("a", many("a", 9))) as lab:
        result = await search(lab)

    assert titles(result) == ["a0", "a1", "a2", "a3"]
    assert result.reports[0].count == 9


async def test_pipeline_fusion_keeps_the_order_of_instances(autojump_clock):
    async with laboratory(row("a", hits("x", "y")), row("b", hits("y")), fusion="pipeline") as lab:
        result = await search(lab)

    assert titles(result) == ["x", "y"]


async def test_names_that_are_not_configured_are_passed_over(autojump_clock):
    async with laboratory(row("b", hits("x")), search=("a", ("c", "b"), ("d", "e"))) as lab:
        result = await search(lab)

    assert reports(result) == {"b": ("ok", None)}


async def test_a_search_that_everybody_answered_with_nothing_is_a_success(autojump_clock):
    async with laboratory(row("a", Found((), "irrelevant"))) as lab:
        result = await search(lab)

    assert (result.status, result.hits) == ("success", ())
    assert result.reports[0].detail == "irrelevant"


async def test_failures_are_reported_with_their_kinds_and_fail_the_search_only_together(autojump_clock):
    rows = [row("a", Denied("key")), row("b", Unavailable("down")), row("c", hits("x"))]

    async with laboratory(*rows) as lab:
        result = await search(lab)
    async with laboratory(row("a", Denied("key", retry_after=600))) as lab:
        alone = await search(lab)

    assert result.status == "success"
    assert reports(result) == {
        "a": ("failed", Kind.DENIED),
        "b": ("failed", Kind.UNAVAILABLE),
        "c": ("ok", None),
    }
    assert (alone.status, alone.reports[0].detail, alone.reports[0].retry_at) == ("failed", "key", 600)


async def test_nobody_configured_fails(autojump_clock):
    async with laboratory(row("a"), search=("nobody",)) as lab:
        result = await search(lab)

    assert (result.status, result.reports, lab.told) == ("failed", (), [])


async def test_hits_known_to_be_older_are_removed_and_the_report_counts_what_is_left(autojump_clock):
    new = Hit("https://new.example/", "new", published="2026-11-17")
    old = Hit("https://old.example/", "old", published="2025-01-01")
    undated = Hit("https://undated.example/", "undated")
    rows = [row("a", Found((old, new, undated), "date filter not supported")), row("b", Found((old,)))]

    async with laboratory(*rows) as lab:
        result = await search(lab, Query("trio", date="w"))

    assert titles(result) == ["new", "undated"]
    assert [(report.status, report.count, report.detail) for report in result.reports] == [
        ("ok", 2, "date filter not supported"),
        ("empty", 0, "all hits are older than asked"),
    ]


# --- failover groups ------------------------------------------------------------------------------------------------


async def test_the_next_of_a_group_is_asked_only_when_one_fails_or_has_no_credit(autojump_clock):
    rows = [
        row("t1", takes(1, QuotaSpent("plan limit")), paid=True),
        row("t2", hits("x"), paid=True, limit=Limit(0, "month")),
        row("t3", takes(1, hits("y")), paid=True),
        row("t4", hits("z"), paid=True),
    ]

    async with laboratory(*rows, search=(("t1", "t2", "t3", "t4"),)) as lab:
        result = await search(lab)

    assert titles(result) == ["y"]
    assert reports(result) == {
        "t1": ("failed", Kind.QUOTA_SPENT),
        "t2": ("skipped", Kind.QUOTA_SPENT),
        "t3": ("ok", None),
    }
    assert [report.billed for report in result.reports] == [1, 0, 1]
    assert (lab.calls("t2"), lab.calls("t3"), lab.calls("t4")) == ([], [1], [])
    assert lab.told == [(0, "asking", {"count": 1})]


async def test_an_empty_answer_of_a_group_is_an_answer(autojump_clock):
    async with laboratory(row("t1", Found(())), row("t2", hits("x")), search=(("t1", "t2"),)) as lab:
        result = await search(lab)

    assert reports(result) == {"t1": ("empty", None)}


# --- stragglers -----------------------------------------------------------------------------------------------------


async def test_stragglers_get_at_least_two_seconds_more(autojump_clock):
    rows = [row("a", takes(0.5, many("a", 4))), row("b", takes(2.4, many("b", 1))), row("c", takes(2.6, many("c", 1)))]

    async with laboratory(*rows, row("d", takes(9))) as lab:
        result = await search(lab)

    # One of four is not half: a and b are, at 2.4 s, and the rest then get 2.4 s more.
    assert reports(result) == {"a": ("ok", None), "b": ("ok", None), "c": ("ok", None), "d": ("late", Kind.LATE)}
    assert result.elapsed == pytest.approx(4.8)


async def test_half_at_once_leaves_the_others_two_seconds(autojump_clock):
    rows = [row("a", takes(0.5, many("a", 4))), row("b", takes(2.4, many("b", 4))), row("c", takes(2.6), paid=True)]

    async with laboratory(*rows, row("d", takes(0.25, Unavailable("x")))) as lab:
        result = await search(lab)
        await lab.in_flight()
        late = lab.supervisor.refs["c"].statistics().calls.late

    assert reports(result) == {
        "a": ("ok", None),
        "b": ("ok", None),
        "c": ("late", Kind.LATE),
        "d": ("failed", Kind.UNAVAILABLE),
    }
    assert result.elapsed == 2.5
    assert late == 1
    assert [(report.elapsed, report.billed) for report in result.reports] == [(0.5, 0), (2.4, 0), (2.5, 1), (0.25, 0)]


async def test_as_long_again_as_it_took_when_that_is_more(autojump_clock):
    rows = [row("a", takes(4, many("a", 4))), row("b", takes(7.9, many("b", 4)))]
    slower = [row("a", takes(4, many("a", 4))), row("b", takes(8.1, many("b", 4)))]

    async with laboratory(*rows) as lab:
        in_time = await search(lab)
    async with laboratory(*slower) as lab:
        late = await search(lab)

    assert (reports(in_time)["b"], in_time.elapsed) == (("ok", None), pytest.approx(7.9))
    assert (reports(late)["b"], late.elapsed) == (("late", Kind.LATE), 8)


async def test_without_enough_distinct_hits_nobody_is_cut_off(autojump_clock):
    same = hits("x", "x", "x", "x")

    async with laboratory(row("a", same), row("b", same), row("c", takes(9, many("c", 9)))) as lab:
        result = await search(lab)

    assert reports(result)["c"] == ("ok", None)
    assert result.elapsed == 9


async def test_who_was_skipped_was_not_asked_and_does_not_count(autojump_clock):
    # Of a, b, c only a and c are asked: a alone is half of them.
    rows = [row("a", takes(1, many("a", 4))), row("b", rate=Rate(1, 45)), row("c", takes(9))]

    async with laboratory(*rows) as lab:
        await lab.supervisor.refs["b"].ask(QUERY)
        result = await search(lab)

    assert reports(result) == {
        "a": ("ok", None),
        "b": ("skipped", Kind.THROTTLED),
        "c": ("late", Kind.LATE),
    }
    assert result.elapsed == 3


async def test_a_late_skip_can_make_it_half(autojump_clock):
    rows = [
        row("a", takes(1, many("a", 4))),
        row("b", rate=Rate(1, 45), patience=5, timeout=4, workers=1),
        row("c", takes(9)),
        row("d", takes(9)),
    ]

    async with laboratory(*rows) as lab:
        result = await search(lab, Query("trio", limit=3))

    # b answers at once, a at 1 s: two of four are half.
    assert result.elapsed == 3
    assert reports(result)["c"] == reports(result)["d"] == ("late", Kind.LATE)


async def test_the_next_of_a_group_gets_no_time_of_its_own(autojump_clock):
    rows = [
        row("a", takes(1, many("a", 4))),
        row("t1", takes(2.5, Unavailable("x"))),
        row("t2", takes(1, many("t", 4))),
    ]

    async with laboratory(*rows, search=("a", ("t1", "t2"))) as lab:
        result = await search(lab)

    assert reports(result) == {
        "a": ("ok", None),
        "t1": ("failed", Kind.UNAVAILABLE),
        "t2": ("late", Kind.LATE),
    }
    assert result.elapsed == 3
    assert result.reports[2].elapsed == 0.5


async def test_five_slow_vendors_do_not_hold_up_the_fast_ones(autojump_clock):
    fast = [row(f"fast{number}", takes(0.4, many(f"f{number}", 3)), paid=True) for number in range(6)]
    slow = [row(f"slow{number}", takes(20, many("s", 3)), paid=True) for number in range(5)]

    async with laboratory(*slow, *fast) as lab:
        result = await search(lab)

    assert result.elapsed == pytest.approx(2.4)
    assert [report.status for report in result.reports] == ["late"] * 5 + ["ok"] * 6
    assert all(len(lab.calls(name)) == 1 for name in lab.providers)


# --- the deadline ---------------------------------------------------------------------------------------------------


async def test_what_is_ready_at_the_deadline_is_returned(autojump_clock):
    rows = [row("a", takes(1, hits("x"))), row("b", takes(9)), row("c", Unavailable("x"))]

    async with laboratory(*rows) as lab:
        result = await search(lab, timeout=5)

    assert (result.status, titles(result), result.elapsed) == ("success", ["x"], 5)
    assert reports(result) == {
        "a": ("ok", None),
        "b": ("failed", Kind.TIMEOUT),
        "c": ("failed", Kind.UNAVAILABLE),
    }


async def test_a_search_is_a_timeout_only_if_the_deadline_was_in_the_way(autojump_clock):
    async with laboratory(row("a", takes(9)), row("b", Unavailable("x"))) as lab:
        cut = await search(lab, timeout=5)
    async with laboratory(row("a", takes(9), timeout=3)) as lab:
        failed = await search(lab, timeout=5)

    assert (cut.status, cut.elapsed) == ("timeout", 5)
    assert (failed.status, failed.reports[0].reason, failed.elapsed) == ("failed", Kind.TIMEOUT, 3)


async def test_a_shutdown_brings_the_deadlines_of_running_and_later_calls_forward(autojump_clock):
    async with laboratory(row("a", takes(9)), row("b", takes(1, hits("x")))) as lab, trio.open_nursery() as nursery:
        results = []

        async def call():
            results.append(await search(lab))

        nursery.start_soon(call)
        await trio.sleep(2)
        lab.pipelines.shorten_deadlines(4.5)
        await trio.sleep(1)
        results.append(await search(lab))

    assert sorted((result.status, result.elapsed) for result in results) == [("success", 1.5), ("success", 4.5)]


async def test_a_caller_who_leaves_cancels_everything(autojump_clock):
    async with laboratory(row("a", takes(9)), row("b", takes(9))) as lab:
        with trio.move_on_after(1) as scope:
            await search(lab)
        in_flight = await lab.in_flight()

    assert scope.cancelled_caught
    assert in_flight == 0


# --- waiting for a slot ---------------------------------------------------------------------------------------------


async def test_a_taken_slot_is_skipped_while_anybody_else_answers(autojump_clock):
    async with laboratory(row("a", rate=Rate(1, 45)), row("b", Found(()))) as lab:
        await lab.supervisor.refs["a"].ask(QUERY)
        result = await search(lab)

    assert reports(result) == {"a": ("skipped", Kind.THROTTLED), "b": ("empty", None)}
    assert result.reports[0].retry_at == 45
    assert result.elapsed == 0


async def test_when_nobody_can_answer_it_waits_for_the_earliest_slot(autojump_clock):
    rows = [row("a", hits("x"), rate=Rate(1, 45)), row("b", hits("y"), rate=Rate(1, 12.5)), row("c", Unavailable("x"))]

    async with laboratory(*rows) as lab:
        await search(lab)
        result = await search(lab)

    assert (result.status, titles(result), result.elapsed) == ("success", ["y"], 12.5)
    assert reports(result) == {
        "a": ("skipped", Kind.THROTTLED),
        "b": ("ok", None),
        "c": ("failed", Kind.UNAVAILABLE),
    }
    assert lab.told[-1] == (0, "waiting", {"instance": "b", "seconds": 13})


async def test_a_slot_farther_off_than_a_request_may_take_is_waited_for_as_well(autojump_clock):
    async with laboratory(row("a", hits("x"), rate=Rate(1, 45), timeout=25)) as lab:
        await search(lab)
        result = await search(lab, timeout=55)

    assert (result.status, result.elapsed) == ("success", 45)
    assert lab.calls("a") == [0, 45]


async def test_a_slot_after_the_deadline_is_not_waited_for(autojump_clock):
    async with laboratory(row("a", rate=Rate(1, 45))) as lab:
        await search(lab)
        result = await search(lab, timeout=30)

    assert (result.status, result.elapsed) == ("failed", 0)
    assert (result.reports[0].detail, result.reports[0].retry_at) == ("next slot in 45 s", 45)


async def test_waiting_can_be_switched_off(autojump_clock):
    async with laboratory(row("a", rate=Rate(1, 5)), wait_for_slot=False) as lab:
        await search(lab)
        result = await search(lab)

    assert (result.status, result.elapsed) == ("failed", 0)


async def test_when_the_slot_helps_nothing_the_next_one_is_waited_for(autojump_clock):
    rows = [row("a", hits("x"), Unavailable("x"), rate=Rate(1, 3)), row("b", hits("y"), rate=Rate(1, 5))]

    async with laboratory(*rows) as lab:
        await search(lab)
        result = await search(lab)

    assert (titles(result), result.elapsed) == (["y"], 5)
    assert reports(result) == {"a": ("failed", Kind.UNAVAILABLE), "b": ("ok", None)}


async def test_several_searches_that_wait_for_one_instance_take_their_slots_in_turn(autojump_clock):
    results = []
    async with laboratory(row("a", hits("x"), rate=Rate(1, 4))) as lab, trio.open_nursery() as nursery:

        async def call():
            results.append(await search(lab))

        for _ in range(5):
            nursery.start_soon(call)

    assert lab.calls("a") == [0, 4, 8, 12]
    assert sorted((result.status, result.elapsed) for result in results) == [
        ("failed", 0),
        ("success", 0),
        ("success", 4),
        ("success", 8),
        ("success", 12),
    ]


async def test_a_slot_that_was_taken_meanwhile_is_not_waited_for_twice(autojump_clock):
    async with laboratory(row("a", hits("x"), rate=Rate(1, 10), timeout=4)) as lab, trio.open_nursery() as nursery:
        await search(lab)

        async def rival():
            await trio.sleep(7)
            await lab.supervisor.refs["a"].ask(QUERY, patience=4)

        nursery.start_soon(rival)
        result = await search(lab)

    assert (result.status, result.elapsed) == ("failed", 8)
    assert lab.calls("a") == [0, 10]


class Stubborn:
    """A ref that is always throttled, and says that its slot is now."""

    def __init__(self, row) -> None:
        self.row = row
        self.name = row.name
        self.asks = 0

    def next_slot_at(self, now):
        return None

    async def ask(self, job, *, patience=None):
        from actors.messages import Failure

        self.asks += 1
        await trio.lowlevel.checkpoint()
        return Failure(Kind.THROTTLED, self.name)


async def test_an_instance_that_stays_throttled_is_given_up(autojump_clock):
    async with laboratory(row("a")) as lab:
        stubborn = Stubborn(row("a"))
        lab.pipelines._refs = {"a": stubborn}
        result = await search(lab)

    assert result.status == "failed"
    assert stubborn.asks == 2


# --- strategy -------------------------------------------------------------------------------------------------------


async def test_free_first_asks_paid_ones_only_when_too_little_came_back(autojump_clock):
    rows = [row("free", takes(1, many("f", 4))), row("paid", many("p", 4), paid=True)]

    async with laboratory(*rows, strategy="free_first") as lab:
        enough = await search(lab)
        more = await search(lab, Query("trio", limit=5))

    assert reports(enough) == {"free": ("ok", None)}
    assert reports(more) == {"free": ("ok", None), "paid": ("ok", None)}
    assert lab.calls("paid") == [2]
    assert [fields for _, _, fields in lab.told] == [{"count": 1}] * 3


async def test_free_first_without_free_ones_asks_the_paid_ones(autojump_clock):
    async with laboratory(row("paid", many("p", 4), paid=True), strategy="free_first") as lab:
        result = await search(lab)

    assert result.status == "success"
    assert lab.told == [(0, "asking", {"count": 1})]


# --- reranking ------------------------------------------------------------------------------------------------------


def jina(*script, **fields):
    return row("jina", *script, roles=frozenset({Role.SEARCH, Role.RERANK}), paid=True, **fields)


async def test_the_whole_merged_list_is_reranked(autojump_clock):
    found = Found((*hits("a", "b", "c", snippet="about").items, Hit("https://d.example/", "", "")))

    async with laboratory(jina(found, takes(1, (3, 2, 0, 1))), rerank="jina") as lab:
        result = await search(lab, Query("trio", limit=3))

    assert [merged.hit.url for merged in result.hits] == [f"https://{name}.example/" for name in "dca"]
    assert lab.jobs("jina")[1] == Ranking("trio", ("a\nabout", "b\nabout", "c\nabout", "https://d.example/"))
    assert result.elapsed == 1
    assert result.reports[0].billed == 2


@pytest.mark.parametrize(
    "second",
    [(1,), (1, 1), (0, 1, 2), (2, 1), (), Unavailable("x"), takes(5, (1, 0))],
    ids=["partial", "twice", "too many", "out of range", "none", "failed", "late"],
)
async def test_a_late_failed_or_partial_answer_leaves_the_fused_order(autojump_clock, second):
    async with laboratory(jina(hits("a", "b"), second), rerank="jina") as lab:
        result = await search(lab)

    assert titles(result) == ["a", "b"]
    assert result.elapsed in (0, 4)


async def test_the_reranker_gets_no_more_time_than_the_call_has(autojump_clock):
    async with laboratory(jina(takes(5, hits("a", "b")), takes(3, (1, 0))), rerank="jina") as lab:
        result = await search(lab, timeout=7)

    assert (titles(result), result.elapsed) == (["a", "b"], 7)


@pytest.mark.parametrize("options", [{"rerank": None}, {"rerank": "nobody"}])
async def test_without_a_reranker_nobody_is_asked(autojump_clock, options):
    async with laboratory(jina(hits("a", "b")), **options) as lab:
        result = await search(lab)

    assert titles(result) == ["a", "b"]
    assert len(lab.calls("jina")) == 1


async def test_reranking_is_left_out_for_one_hit_and_at_the_deadline(autojump_clock):
    other = row("b", takes(9))

    async with laboratory(jina(hits("a")), rerank="jina", search=("jina",)) as lab:
        await search(lab)
        one = len(lab.calls("jina"))
    async with laboratory(jina(hits("a", "b")), other, rerank="jina") as lab:
        result = await search(lab, timeout=3)
        late = len(lab.calls("jina"))

    assert (one, late) == (1, 1)
    assert result.elapsed == 3


# --- images ---------------------------------------------------------------------------------------------------------


async def test_images_are_searched_the_same_way(autojump_clock):
    first = Found((Image("https://i.example/1.png"), Image("https://i.example/2.png")))
    second = Found((Image("http://i.example/2.png"), Image("https://i.example/3.png")))
    rows = [row("a", first), row("b", takes(2, second)), row("c", takes(9))]

    async with laboratory(*rows) as lab:
        result = await lab.pipelines.search_images(ImageQuery("cat", limit=2), timeout=6, tell=lab.tell)

    assert [(merged.image.image_url, merged.source) for merged in result.hits] == [
        ("https://i.example/2.png", "a"),
        ("https://i.example/1.png", "a"),
    ]
    assert reports(result) == {"a": ("ok", None), "b": ("ok", None), "c": ("late", Kind.LATE)}
    assert (result.status, result.elapsed) == ("success", 4)


async def test_an_image_search_ends_at_its_deadline_too(autojump_clock):
    async with laboratory(row("a", takes(9))) as lab:
        result = await lab.pipelines.search_images(ImageQuery("cat"), timeout=6, tell=lab.tell)

    assert (result.status, result.elapsed) == ("timeout", 6)
