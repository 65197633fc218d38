"""`/metrics`: read with the library's own parser, and held to Prometheus's conventions for names, units and labels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import pytest
import trio
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from actors.breaker import BreakerStatistics
from actors.histogram import Histogram, HistogramStatistics
from actors.ledger import MemoryLedger, Spend
from actors.quota import QuotaStatistics
from actors.ref import Ref
from actors.row import Limit
from actors.statistics import ActorStatistics, BilledStatistics, CallStatistics, MailboxStatistics, absent
from providers._contract import Kind, Role
from service.loop_lag import LoopLag
from service.metrics import CONTENT_TYPE, Sources, metrics_page
from service.table import TABLE
from tests.actors.lab import ASKED, Scripted, acting
from tests.service.desk import Bench

ACME = ActorStatistics(
    "brave",
    "brave",
    ("search", "images"),
    "running",
    mailbox=MailboxStatistics(3, 16),
    in_flight=2,
    quota=QuotaStatistics(1000, "month", 900, 100, "2026-12-01T00:00:00+00:00"),
    breaker=BreakerStatistics("half_open", 1.0),
    calls=CallStatistics(14, 5, 2, {"unavailable": 3}, {"throttled": 1}, 3),
    billed=BilledStatistics(4321, 900),
    restarts=4,
)
BROKEN = ActorStatistics("exa", "exa", ("search",), "retired")
OUTCOMES = {"ok", "empty", "failed", "skipped", "late"}
BOUNDED = {
    "provider": {row.name for row in TABLE},
    "role": {role.value for role in Role},
    "kind": {kind.value for kind in Kind},
    "outcome": OUTCOMES,
    "period": {"day", "month"},
    "state": {"closed", "open", "half_open"},
    "sink": {"stderr", "file"},
    "toolset": {"research", "retrieval"},
    "version": {"1.2.3"},
    "tool": {"search_and_read", "web_search", "web_search_images", "read_page", "read_pages"},
}


def scrape(
    bench: Bench, *, durations: Mapping[str, HistogramStatistics] | None = None, lag: LoopLag | None = None
) -> dict[str, Metric]:
    reply = metrics_page(Sources(bench.stats_desk(), lambda: durations or {}, lag or LoopLag()))()
    assert (reply.status, reply.content_type) == (200, CONTENT_TYPE)
    return {family.name: family for family in text_string_to_metric_families(reply.body.decode())}


def value(families: Mapping[str, Metric], name: str, **labels: str) -> float:
    """The one sample of that name and those labels; `le` need not be named."""
    family = families[re.sub(r"_(total|bucket|sum|count)$", "", name)]
    (found,) = [each.value for each in family.samples if each.name == name and each.labels == labels]
    return found


def full() -> dict[str, Metric]:
    histogram = Histogram()
    histogram.add(0.3)
    return scrape(Bench(actors=(ACME, BROKEN)), durations={"brave": histogram.statistics()})


async def test_what_an_instance_did_is_told() -> None:
    seen = full()

    calls = {
        name: value(seen, "research_mcp_provider_calls_total", provider="brave", outcome=name) for name in OUTCOMES
    }
    assert calls == {"ok": 5, "empty": 2, "failed": 3, "skipped": 1, "late": 3}
    assert value(seen, "research_mcp_provider_failures_total", provider="brave", kind="unavailable") == 3
    assert value(seen, "research_mcp_provider_skips_total", provider="brave", kind="throttled") == 1
    assert value(seen, "research_mcp_mailbox_depth", provider="brave") == 3
    assert value(seen, "research_mcp_provider_calls_in_flight", provider="brave") == 2
    assert value(seen, "research_mcp_restarts_total", provider="brave") == 4
    assert value(seen, "research_mcp_breaker_state", provider="brave", state="half_open") == 1
    assert value(seen, "research_mcp_breaker_state", provider="brave", state="open") == 0
    assert value(seen, "research_mcp_quota_remaining_units", provider="brave", period="month") == 100
    assert value(seen, "research_mcp_quota_reset_timestamp_seconds", provider="brave", period="month") == 1_796_083_200
    assert value(seen, "research_mcp_billed_units_total", provider="brave") == 4321
    assert value(seen, "research_mcp_provider_up", provider="exa") == 0
    assert value(seen, "research_mcp_ready_providers", role="search") == 1
    assert value(seen, "research_mcp_ready_providers", role="read") == 0


async def test_durations_are_cumulative_histograms_in_seconds() -> None:
    seen = full()["research_mcp_provider_call_duration_seconds"]

    buckets = {each.labels["le"]: each.value for each in seen.samples if each.name.endswith("_bucket")}
    assert (seen.type, buckets["0.25"], buckets["0.5"], buckets["+Inf"]) == ("histogram", 0, 1, 1)


async def test_tool_calls_are_counted_and_timed(autojump_clock: trio.testing.MockClock) -> None:
    bench = Bench(limit=1)
    await bench.call("web_search", query="x")
    bench.calls.drain()
    await bench.call("web_search", query="x")

    seen = scrape(bench)
    assert value(seen, "research_mcp_tool_calls_total", tool="web_search", outcome="ok") == 1
    assert value(seen, "research_mcp_tool_calls_total", tool="web_search", outcome="failed") == 1
    assert value(seen, "research_mcp_tool_call_duration_seconds_count", tool="web_search") == 1
    assert value(seen, "research_mcp_draining") == 1


async def test_the_loops_lag_is_what_the_measuring_task_sleeps_too_long(mock_clock: trio.testing.MockClock) -> None:
    lag = LoopLag()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lag.run)
        for jump in (0.1, 0.4, 0.1):
            await trio.testing.wait_all_tasks_blocked()
            mock_clock.jump(jump)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    seen = scrape(Bench(), lag=lag)
    assert value(seen, "research_mcp_event_loop_lag_max_seconds") == pytest.approx(0.3)
    assert value(seen, "research_mcp_event_loop_lag_seconds_count") == 3
    assert value(seen, "research_mcp_event_loop_lag_seconds_sum") == pytest.approx(0.3)


class Falling(MemoryLedger):
    """A ledger whose bug makes the actor crash, once `falls` is set."""

    falls = False

    async def spend(self, name: str, limit: Limit | None, units: int, wall_now: float) -> Spend:
        if self.falls:
            raise ZeroDivisionError
        return await super().spend(name, limit, units, wall_now)


async def test_no_counter_goes_back_when_an_actor_crashes_and_starts_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    def counters(ref: Ref) -> dict[tuple[str, str], float]:
        bench = Bench(actors=(ref.statistics(),))
        families = scrape(bench, durations={ref.name: ref.latencies.histogram.statistics()}).values()
        kept = [each for family in families if family.type in ("counter", "histogram") for each in family.samples]
        return {(each.name, str(each.labels)): each.value for each in kept if "acme" in str(each.labels)}

    ledger = Falling()
    async with acting(Scripted(), ledger=ledger, paid=True) as ref:
        for _ in range(3):
            await ref.ask(ASKED)
        before = counters(ref)
        ledger.falls = True
        await ref.ask(ASKED)
        await trio.sleep(5)
        after = counters(ref)
        assert ref.restarts == 1

    assert before[("research_mcp_billed_units_total", "{'provider': 'acme'}")] == 3
    assert all(after[name] >= figure for name, figure in before.items())


# --- conventions ------------------------------------------------------------------------------------------------------


def of_ours(families: Iterable[Metric]) -> list[Metric]:
    return [family for family in families if family.name.startswith("research_mcp_")]


async def test_names_have_our_prefix_a_text_a_kind_and_base_units() -> None:
    for family in of_ours(full().values()):
        assert re.fullmatch(r"research_mcp(_[a-z]+)+", family.name)
        assert family.documentation.endswith(".")
        assert family.type in ("counter", "gauge", "histogram")
        assert not re.search(r"_(ms|milliseconds|minutes|percent|kb|count|total|sum|bucket)$", family.name)
        if family.type == "histogram":
            assert family.name.endswith("_seconds")
        if family.type == "counter":
            assert all(each.name.endswith("_total") for each in family.samples)


async def test_nothing_else_but_what_the_process_is_stands_on_the_page() -> None:
    others = {name for name in full() if not name.startswith("research_mcp_")}

    assert all(name.startswith("process_") for name in others)


async def test_labels_take_their_values_from_lists_of_ours() -> None:
    for family in of_ours(full().values()):
        for sample in family.samples:
            labels = {name: text for name, text in sample.labels.items() if name != "le"}
            assert all(text in BOUNDED[name] for name, text in labels.items())


async def test_no_series_is_told_twice() -> None:
    samples = [(each.name, str(each.labels)) for family in full().values() for each in family.samples]

    assert len(samples) == len(set(samples))


async def test_instances_that_do_not_run_have_no_series() -> None:
    seen = scrape(Bench(actors=(absent("exa", "exa", {Role.SEARCH}, "unconfigured"),)))

    assert seen["research_mcp_provider_up"].samples == []
