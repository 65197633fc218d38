"""The snapshots have the names and the nesting of SPEC section 6, and counters add up."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from actors.messages import Answer, Failure
from actors.statistics import ActorStatistics, Calls, Latencies, absent, shown_proxy
from providers._contract import Found, Hit, Kind, Role


def test_an_entry_has_exactly_the_fields_of_the_contract():
    entry = asdict(ActorStatistics("acme", "acme", ("search",), "running"))

    assert list(entry) == [
        "instance",
        "type",
        "roles",
        "state",
        "mailbox",
        "in_flight",
        "workers",
        "throttle",
        "quota",
        "breaker",
        "calls",
        "billed",
        "latency_ms",
        "restarts",
        "last_error",
        "proxy",
    ]
    assert list(entry["mailbox"]) == ["depth", "capacity"]
    assert list(entry["throttle"]) == ["rate", "next_slot_in_s"]
    assert list(entry["quota"]) == ["limit", "period", "used", "remaining", "resets_at"]
    assert list(entry["breaker"]) == ["state", "reopens_in_s"]
    assert list(entry["calls"]) == ["total", "ok", "empty", "failed", "skipped", "late"]
    assert list(entry["billed"]) == ["units", "period_units"]
    assert list(entry["latency_ms"]) == ["p50", "p95", "p99"]


def test_each_way_to_end_is_counted_in_its_place():
    calls = Calls()
    calls.count(Answer(Found((Hit("https://a.example/", "a"),)), "acme"), called=True)
    calls.count(Answer(Found(()), "acme"), called=True)
    calls.count(Answer(True, "acme"), called=True)
    calls.count(Failure(Kind.UNAVAILABLE, "acme"), called=True)
    calls.count(Failure(Kind.CRASHED, "acme"), called=False)
    calls.count(Failure(Kind.THROTTLED, "acme"), called=False)
    calls.count(Failure(Kind.QUOTA_SPENT, "acme"), called=False)
    calls.count(Failure(Kind.QUOTA_SPENT, "acme"), called=True)
    calls.count(None, called=True)
    calls.count(None, called=False)

    seen = calls.statistics()

    assert (seen.total, seen.ok, seen.empty, seen.late) == (10, 2, 1, 1)
    assert seen.failed == {"unavailable": 1, "crashed": 1, "quota_spent": 1}
    assert seen.skipped == {"throttled": 1, "quota_spent": 1, "cancelled": 1}


def test_quantiles_are_those_of_the_last_calls():
    latencies = Latencies()
    assert latencies.statistics().p50 is None
    for _ in range(1000):
        latencies.add(9.0)
    for n in range(512):
        latencies.add(n / 1000)

    seen = latencies.statistics()

    assert (seen.p50, seen.p95, seen.p99) == (256.0, 485.0, 506.0)


@pytest.mark.parametrize(
    ("proxy", "shown"),
    [
        (None, None),
        ("http://user:p@ss@proxy.example:8080", "http://proxy.example:8080"),
        ("socks5h://proxy.example:1080", "socks5h://proxy.example:1080"),
    ],
)
def test_a_proxy_is_shown_without_user_and_password(proxy, shown):
    assert shown_proxy(proxy) == shown


def test_an_instance_without_an_actor_has_an_entry_too():
    entry = absent("brave", "brave", {Role.IMAGES, Role.SEARCH}, "unconfigured")

    assert (entry.state, entry.roles, entry.calls.total) == ("unconfigured", ("search", "images"), 0)
