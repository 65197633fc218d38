"""`GET /metrics` for Prometheus: the snapshots of `/stats` once more, under names that follow Prometheus's conventions.

Nothing is counted here. Each scrape reads what actors and tool calls have counted themselves, so a call pays for its
counters once, and counters outlive a restart of their actor as the figures of `/stats` do. Labels take their values
from the table, the toolset and the failure kinds, never from callers. An instance stands in the label `provider`,
because Prometheus means the scraped server by `instance` and would rename ours.

The client library is imported here, so this module is imported only where HTTP is served.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from actors.breaker import State
from actors.histogram import HistogramStatistics
from actors.statistics import ActorStatistics
from service.app import Page, Reply
from service.loop_lag import LoopLag
from service.stats import Desk, ready_instances

PREFIX = "research_mcp"
CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4.encode()
RUNNING = ("running", "restarting", "retired")

Samples = Iterable[tuple[tuple[str, ...], float]]


@dataclass(frozen=True, slots=True)
class Sources:
    """What a scrape reads. `durations`: seconds of finished calls of providers, by instance."""

    desk: Desk
    durations: Callable[[], Mapping[str, HistogramStatistics]]
    lag: LoopLag


def metrics_page(sources: Sources) -> Page:
    """The page. It has a registry of its own: the library's global one belongs to whoever shares the process."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(_Collector(sources))
    return lambda: Reply(200, generate_latest(registry), content_type=CONTENT_TYPE)


class _Collector(Collector):
    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def collect(self) -> Iterator[Metric]:
        desk = self._sources.desk
        every = desk.statistics()
        actors = [one for one in every if one.state in RUNNING]
        yield from _service(desk)
        yield from _readiness(every)
        yield from _tools(desk)
        yield from _actors(actors)
        yield from _calls(actors)
        yield from _quotas(actors)
        yield _histogram("provider_call_duration_seconds", _DURATION, ["provider"], self._sources.durations())
        yield from _loop(self._sources.lag)


_DURATION = "Seconds that calls of a provider took, those that were given up left out."


def _gauge(name: str, text: str, labels: Sequence[str], samples: Samples) -> Metric:
    family = GaugeMetricFamily(f"{PREFIX}_{name}", text, labels=labels)
    for values, figure in samples:
        family.add_metric(values, figure)
    return family


def _counter(name: str, text: str, labels: Sequence[str], samples: Samples) -> Metric:
    """`name` without `_total`, which the library appends."""
    family = CounterMetricFamily(f"{PREFIX}_{name}", text, labels=labels)
    for values, figure in samples:
        family.add_metric(values, figure)
    return family


def _histogram(
    name: str, text: str, labels: Sequence[str], samples: Mapping[str, HistogramStatistics]
) -> HistogramMetricFamily:
    family = HistogramMetricFamily(f"{PREFIX}_{name}", text, labels=labels)
    for value, seen in samples.items():
        family.add_metric([value] if labels else [], buckets=seen.cumulative(), sum_value=seen.total)
    return family


def _service(desk: Desk) -> Iterator[Metric]:
    version = (desk.identity.version, desk.toolset)
    log = desk.log()
    lost = [(("stderr",), log.dropped_stderr), (("file",), log.dropped_file)]
    yield _gauge("build_info", "Always 1; the labels say what runs.", ["version", "toolset"], [(version, 1)])
    yield _gauge("uptime_seconds", "Seconds since the service started.", [], [((), desk.uptime.seconds)])
    yield _gauge("draining", "1 while the service shuts down.", [], [((), desk.calls.is_draining)])
    yield _gauge("ledger_up", "1 while used units can be counted.", [], [((), desk.ledger_problem() is None)])
    yield _counter("log_lines_dropped", "Lines of the log that a sink could not take.", ["sink"], lost)


def _readiness(actors: Sequence[ActorStatistics]) -> Iterator[Metric]:
    ready = [((role,), len(names)) for role, names in ready_instances(actors).items()]
    yield _gauge("ready_providers", "Instances of a role that can be asked now.", ["role"], ready)


def _tools(desk: Desk) -> Iterator[Metric]:
    tools = desk.calls.statistics()
    ended = [((tool, "ok"), seen.ok) for tool, seen in tools.items()]
    ended += [((tool, "failed"), seen.failed) for tool, seen in tools.items()]
    running = [((tool,), seen.in_flight) for tool, seen in tools.items()]
    yield _counter("tool_calls", "Calls of tools that ended, refused ones as failed.", ["tool", "outcome"], ended)
    yield _gauge("tool_calls_in_flight", "Calls of tools that run now.", ["tool"], running)
    text = "Seconds that calls of a tool took, refused ones left out."
    yield _histogram("tool_call_duration_seconds", text, ["tool"], desk.calls.durations())


def _actors(actors: Sequence[ActorStatistics]) -> Iterator[Metric]:
    def each(figure: Callable[[ActorStatistics], float]) -> Samples:
        return [((one.instance,), figure(one)) for one in actors]

    states = [((one.instance, state), one.breaker.state == state) for one in actors for state in _BREAKER_STATES]
    yield _gauge("provider_up", "1 while the actor of an instance runs.", ["provider"], each(_is_up))
    yield _counter("restarts", "Restarts of an actor after a crash.", ["provider"], each(lambda one: one.restarts))
    yield _gauge("mailbox_depth", "Requests that wait.", ["provider"], each(lambda one: one.mailbox.depth))
    yield _gauge("mailbox_capacity", "Requests that may wait.", ["provider"], each(lambda one: one.mailbox.capacity))
    yield _gauge("provider_calls_in_flight", "Requests in work.", ["provider"], each(lambda one: one.in_flight))
    yield _gauge("breaker_state", "1 for the state that a circuit breaker is in.", ["provider", "state"], states)


_BREAKER_STATES = tuple(state.value for state in State)


def _is_up(one: ActorStatistics) -> float:
    return float(one.state == "running")


def _calls(actors: Sequence[ActorStatistics]) -> Iterator[Metric]:
    outcomes = [((one.instance, name), figure) for one in actors for name, figure in _outcomes(one).items()]
    failed = [((one.instance, kind), count) for one in actors for kind, count in one.calls.failed.items()]
    skipped = [((one.instance, kind), count) for one in actors for kind, count in one.calls.skipped.items()]
    text = "Asks of an instance by how they ended; skipped: the provider was not called."
    yield _counter("provider_calls", text, ["provider", "outcome"], outcomes)
    yield _counter("provider_failures", "Failed asks by kind of failure.", ["provider", "kind"], failed)
    yield _counter("provider_skips", "Skipped asks by reason.", ["provider", "kind"], skipped)


def _outcomes(one: ActorStatistics) -> Mapping[str, int]:
    calls = one.calls
    failed, skipped = sum(calls.failed.values()), sum(calls.skipped.values())
    return {"ok": calls.ok, "empty": calls.empty, "failed": failed, "skipped": skipped, "late": calls.late}


def _quotas(actors: Sequence[ActorStatistics]) -> Iterator[Metric]:
    limited = [one for one in actors if one.quota.limit is not None]

    def each(figure: Callable[[ActorStatistics], float | None]) -> Samples:
        return [((one.instance, str(one.quota.period)), figure(one) or 0) for one in limited]

    labels = ["provider", "period"]
    billed = [((one.instance,), one.billed.units) for one in actors]
    yield _gauge("quota_limit_units", "Units that a quota allows.", labels, each(lambda one: one.quota.limit))
    yield _gauge("quota_used_units", "Units used in this period.", labels, each(lambda one: one.quota.used))
    yield _gauge("quota_remaining_units", "Units left in this period.", labels, each(lambda one: one.quota.remaining))
    yield _gauge("quota_reset_timestamp_seconds", "When the period ends, Unix time.", labels, each(_resets_at))
    yield _counter("billed_units", "Units of a paid account, ever.", ["provider"], billed)


def _resets_at(one: ActorStatistics) -> float:
    return datetime.fromisoformat(str(one.quota.resets_at)).timestamp()


def _loop(lag: LoopLag) -> Iterator[Metric]:
    text = "Seconds by which the event loop was late, ten measurements a second."
    yield _histogram("event_loop_lag_seconds", text, [], {"": lag.statistics()})
    yield _gauge("event_loop_lag_max_seconds", "The worst lag of the last minute.", [], [((), lag.longest)])
