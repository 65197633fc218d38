"""The policy table holds what ARCHITECTURE.md and security/FACTS.md D1 say."""

from __future__ import annotations

import pytest

from actors.policy import POLICY, Fault
from providers._contract import Kind


def test_every_kind_has_a_rule():
    assert set(POLICY) == set(Kind)


def test_only_faults_of_the_provider_are_counted_by_the_breaker():
    counted = {kind for kind, rule in POLICY.items() if rule.counts}

    assert counted == {Kind.UNAVAILABLE, Kind.TIMEOUT, Kind.MALFORMED, Kind.BUG}
    assert all(POLICY[kind].fault is Fault.PROVIDER for kind in counted)


def test_only_faults_of_the_account_open_the_breaker_at_once():
    opening = {kind: rule.opens for kind, rule in POLICY.items() if rule.opens is not None}

    assert opening == {Kind.RATE_LIMITED: 60, Kind.DENIED: 3600, Kind.QUOTA_SPENT: 3600}
    assert all(POLICY[kind].fault is Fault.ACCOUNT for kind in opening)


def test_only_unavailable_is_retried():
    assert [kind for kind, rule in POLICY.items() if rule.retried] == [Kind.UNAVAILABLE]


def test_a_page_that_is_gone_or_refused_ends_the_walk():
    assert {kind for kind, rule in POLICY.items() if rule.ends_walk} == {Kind.NOT_FOUND, Kind.REFUSED}


@pytest.mark.parametrize("kind", [Kind.BUSY, Kind.DOWN, Kind.CIRCUIT_OPEN, Kind.THROTTLED, Kind.NOT_SENT])
def test_kinds_before_the_call_say_that_nobody_was_asked(kind):
    assert not POLICY[kind].asked
    assert POLICY[kind].fault is Fault.NOT_CALLED
