"""One actor: the order of the checks, what becomes of errors, retries, and what the asker hears."""

from __future__ import annotations

import httpx
import pytest
import structlog
import trio
from structlog.testing import capture_logs
from trio.testing import wait_all_tasks_blocked

from actors.ledger import LedgerDown, MemoryLedger, Spend
from actors.messages import Answer, Failure
from actors.row import Limit, Rate
from actors.units import current_unit
from providers import _sanitise
from providers._contract import (
    Blocked,
    Denied,
    Empty,
    Evidence,
    Found,
    ImageQuery,
    Kind,
    Malformed,
    NotFound,
    QuotaSpent,
    Ranking,
    RateLimited,
    Refused,
    RobotsQuery,
    Target,
    TooLarge,
    Unavailable,
    Unsupported,
)
from tests.actors.lab import ASKED, FOUND, Metered, Scripted, acting, make_row, page, supervised, takes

HOUR = 3600.0


@pytest.fixture(autouse=True)
def _untouched(monkeypatch):
    """No worker process takes part under the virtual clock; the sanitiser has tests of its own."""

    async def sanitise(value):
        return value

    monkeypatch.setattr(_sanitise, "sanitise", sanitise)


def fault(kind: Kind, outcome: object) -> Failure:
    assert isinstance(outcome, Failure)
    assert outcome.kind is kind
    return outcome


async def test_an_answer_carries_value_instance_and_time(autojump_clock):
    async with acting(Scripted([takes(2.0)])) as ref:
        answer = await ref.ask(ASKED)

    assert answer == Answer(FOUND, "acme", took=2.0, billed=0)


@pytest.mark.parametrize(
    ("job", "value"),
    [
        (ImageQuery("cat"), Found(())),
        (Target("https://trio.example/"), page()),
        (RobotsQuery("https://trio.example/"), True),
        (Ranking("trio", ("a", "b")), (1, 0)),
    ],
)
async def test_each_job_goes_to_its_method(autojump_clock, job, value):
    provider = Scripted([value])
    async with acting(provider) as ref:
        answer = await ref.ask(job)

    assert answer.value == value
    assert provider.jobs == [job]


async def test_a_value_of_the_wrong_type_is_a_bug_of_the_provider(autojump_clock):
    async with acting(Scripted([None])) as ref:
        failure = fault(Kind.BUG, await ref.ask(ASKED))

    assert failure.detail == "TypeError"


async def test_every_value_passes_the_sanitiser(autojump_clock, monkeypatch):
    async def cross_out(value):
        return Found((), detail="cleaned")

    monkeypatch.setattr(_sanitise, "sanitise", cross_out)
    async with acting() as ref:
        answer = await ref.ask(ASKED)

    assert answer.value.detail == "cleaned"


async def test_a_bug_of_the_sanitiser_is_a_bug_and_no_crash(autojump_clock, monkeypatch):
    async def fall(value):
        raise ZeroDivisionError

    monkeypatch.setattr(_sanitise, "sanitise", fall)
    async with acting() as ref:
        fault(Kind.BUG, await ref.ask(ASKED))
        assert ref.state == "running"


TYPED = [
    (Unavailable, Kind.UNAVAILABLE),
    (Malformed, Kind.MALFORMED),
    (RateLimited, Kind.RATE_LIMITED),
    (Denied, Kind.DENIED),
    (QuotaSpent, Kind.QUOTA_SPENT),
    (Blocked, Kind.BLOCKED),
    (Empty, Kind.EMPTY),
    (Unsupported, Kind.UNSUPPORTED),
    (TooLarge, Kind.TOO_LARGE),
    (NotFound, Kind.NOT_FOUND),
    (Refused, Kind.REFUSED),
]


@pytest.mark.parametrize(("error", "kind"), TYPED)
async def test_each_typed_error_becomes_its_kind_with_detail_and_evidence(autojump_clock, error, kind):
    evidence = Evidence("https://trio.example/", reached="answered", status=500)
    async with acting(Scripted([error("said so", evidence=evidence)]), retries=0) as ref:
        failure = fault(kind, await ref.ask(ASKED))

    assert (failure.instance, failure.detail, failure.evidence) == ("acme", "said so", evidence)


async def test_details_are_one_line_and_hold_no_secret(autojump_clock):
    error = Malformed("bad\nkey k/1 and k%2F1")
    async with acting(Scripted([error]), secrets=("k/1", "")) as ref:
        failure = fault(Kind.MALFORMED, await ref.ask(ASKED))

    assert failure.detail == "bad key [redacted] and [redacted]"
    assert ref.last_error == "malformed: bad key [redacted] and [redacted]"


async def test_an_untyped_error_is_a_bug_with_its_traceback_in_the_log_and_no_message_outside(autojump_clock):
    async with acting(Scripted([KeyError("k-secret")])) as ref:
        with structlog.contextvars.bound_contextvars(trace="t1"), capture_logs() as logs:
            failure = fault(Kind.BUG, await ref.ask(ASKED))
        assert ref.state == "running"

    assert failure.detail == "KeyError"
    (entry,) = [line for line in logs if line["event"] == "provider_bug"]
    assert (entry["instance"], entry["trace"]) == ("acme", "t1")
    assert "in search" in entry["traceback"]


async def test_an_httpx_error_that_nobody_translated_is_unavailable_and_not_retried(autojump_clock):
    provider = Scripted([httpx.ReadError("broken")])
    async with acting(provider) as ref:
        failure = fault(Kind.UNAVAILABLE, await ref.ask(ASKED))

    assert failure.detail == "ReadError"
    assert len(provider.calls) == 1


async def test_a_refusal_hidden_behind_an_httpx_error_is_a_refusal(autojump_clock):
    error = httpx.ConnectError("no")
    error.__cause__ = Refused("address not allowed")
    async with acting(Scripted([error])) as ref:
        assert fault(Kind.REFUSED, await ref.ask(ASKED)).detail == "address not allowed"


async def test_groups_from_a_nursery_of_the_provider_are_unpacked(autojump_clock):
    async def in_a_nursery(job):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            raise Blocked("captcha")

    async with acting(Scripted([in_a_nursery])) as ref:
        assert fault(Kind.BLOCKED, await ref.ask(ASKED)).detail == "captcha"


async def test_a_bug_among_typed_errors_is_not_overlooked(autojump_clock):
    group = ExceptionGroup("two", [Blocked("captcha"), ExceptionGroup("one", [KeyError("x")])])
    async with acting(Scripted([group])) as ref:
        assert fault(Kind.BUG, await ref.ask(ASKED)).detail == "KeyError"


async def test_an_error_raised_while_the_deadline_cancels_is_a_timeout_and_no_crash(autojump_clock):
    async def clumsy(job):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            try:
                await trio.sleep_forever()
            finally:
                raise Unavailable("broke off")

    async with acting(Scripted([clumsy]), timeout=3.0) as ref:
        fault(Kind.TIMEOUT, await ref.ask(ASKED))
        assert ref.state == "running"


async def test_a_provider_that_swallows_its_cancellation_ends_in_a_timeout(autojump_clock):
    async def stubborn(job):
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            raise Malformed("what now") from None

    async with acting(Scripted([stubborn]), timeout=3.0) as ref:
        failure = fault(Kind.TIMEOUT, await ref.ask(ASKED))

    assert failure.took == 3.0


async def test_a_provider_that_will_not_be_cancelled_does_not_keep_the_asker(autojump_clock):
    async def shielded(job):
        with trio.CancelScope(shield=True):
            await trio.sleep(50)
        return FOUND

    async with acting(Scripted([shielded]), timeout=3.0) as ref:
        failure = fault(Kind.TIMEOUT, await ref.ask(ASKED))

    assert failure.took == 3.0


# --- timeouts and the breaker ---------------------------------------------------------------------------------------


async def test_the_rows_timeout_ends_the_call_and_counts_as_a_fault(autojump_clock):
    async with acting(Scripted([takes(99.0)]), timeout=5.0) as ref:
        for _ in range(5):
            failure = fault(Kind.TIMEOUT, await ref.ask(ASKED))
            assert failure.took == 5.0
        assert ref.statistics().breaker.state == "open"
        assert ref.statistics().calls.failed == {"timeout": 5}


async def test_the_callers_deadline_that_passes_during_the_call_counts_too(autojump_clock):
    async with acting(Scripted([takes(99.0)])) as ref:
        for _ in range(5):
            with trio.move_on_after(6) as scope:
                await ref.ask(ASKED)
            assert scope.cancelled_caught
        await wait_all_tasks_blocked()
        assert ref.statistics().breaker.state == "open"


async def test_deadlines_of_callers_in_a_hurry_do_not_count_against_the_provider(autojump_clock):
    async with acting(Scripted([takes(99.0)])) as ref:
        for _ in range(9):
            with trio.move_on_after(2):
                await ref.ask(ASKED)
        await wait_all_tasks_blocked()

        assert ref.statistics().breaker.state == "closed"


async def test_an_asker_who_leaves_early_is_not_held_against_the_provider(autojump_clock):
    async with acting(Scripted([takes(99.0)])) as ref:
        for _ in range(9):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ref.ask, ASKED)
                await trio.sleep(1)
                nursery.cancel_scope.cancel()
        await wait_all_tasks_blocked()

        seen = ref.statistics()
        assert seen.breaker.state == "closed"
        assert (seen.calls.late, seen.calls.total, seen.in_flight) == (9, 9, 0)
        assert seen.latency_ms.p50 is None


async def test_a_moved_deadline_of_the_asker_is_no_timeout(autojump_clock):
    async with acting(Scripted([takes(99.0)])) as ref:
        for _ in range(9):
            with trio.move_on_after(20) as scope:
                scope.deadline -= 19
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(ref.ask, ASKED)
                    await wait_all_tasks_blocked()
                    scope.deadline -= 0.5
        await wait_all_tasks_blocked()

        assert ref.statistics().breaker.state == "closed"


async def test_an_open_breaker_answers_at_once_and_calls_nobody(autojump_clock):
    provider = Scripted([Malformed("bad")])
    async with acting(provider) as ref:
        for _ in range(5):
            await ref.ask(ASKED)
        with capture_logs() as logs:
            failure = fault(Kind.CIRCUIT_OPEN, await ref.ask(ASKED))

        assert failure.took == 0.0
        assert 24 <= failure.retry_at - trio.current_time() <= 36
        assert "after malformed: bad" in failure.detail
        assert len(provider.calls) == 5
        assert not logs
        assert ref.statistics().calls.skipped == {"circuit_open": 1}


async def test_the_opening_of_the_breaker_is_one_log_line(autojump_clock):
    async with acting(Scripted([Malformed("bad")])) as ref:
        with capture_logs() as logs:
            for _ in range(5):
                await ref.ask(ASKED)

    moves = [line for line in logs if line["event"] == "breaker_moved"]
    assert [(line["before"], line["state"]) for line in moves] == [("closed", "open")]


async def test_one_of_a_hundred_askers_probes_a_half_open_breaker(autojump_clock):
    provider = Scripted([Malformed("bad")])
    async with acting(provider, workers=100) as ref:
        for _ in range(5):
            await ref.ask(ASKED)
        await trio.sleep(40)
        provider.script = [takes(1.0)]
        provider.calls.clear()
        outcomes = []

        async def ask():
            outcomes.append(await ref.ask(ASKED))

        async with trio.open_nursery() as nursery:
            for _ in range(100):
                nursery.start_soon(ask)

        assert len(provider.calls) == 1
        assert sum(isinstance(outcome, Answer) for outcome in outcomes) == 1
        assert sum(getattr(outcome, "kind", None) is Kind.CIRCUIT_OPEN for outcome in outcomes) == 99
        assert ref.statistics().breaker.state == "closed"


async def test_a_probe_that_finds_no_units_leaves_the_next_one_out(autojump_clock):
    provider = Scripted([Malformed("bad")])
    ledger = MemoryLedger()
    async with acting(provider, ledger=ledger, limit=Limit(5, "month")) as ref:
        for _ in range(5):
            await ref.ask(ASKED)
        await trio.sleep(40)

        for _ in range(3):
            fault(Kind.QUOTA_SPENT, await ref.ask(ASKED))


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (RateLimited("slow", retry_after=7), 7),
        (RateLimited("slow"), 60),
        (RateLimited("slow", retry_after=-5), 1),
        (RateLimited("slow", retry_after=0), 1),
        (RateLimited("slow", retry_after=1e30), 24 * HOUR),
        (RateLimited("slow", retry_after=float("inf")), 24 * HOUR),
        (RateLimited("slow", retry_after=float("nan")), 60),
        (Denied("key"), HOUR),
        (QuotaSpent("credit"), HOUR),
        (QuotaSpent("credit", retry_after=90), 90),
    ],
)
async def test_account_faults_open_the_breaker_until_the_time_named(autojump_clock, error, seconds):
    provider = Scripted([error, FOUND])
    async with acting(provider) as ref:
        failure = fault(error.kind, await ref.ask(ASKED))
        assert failure.retry_at == trio.current_time() + seconds
        await trio.sleep(seconds - 0.5)
        fault(Kind.CIRCUIT_OPEN, await ref.ask(ASKED))
        await trio.sleep(0.5)

        assert isinstance(await ref.ask(ASKED), Answer)


async def test_credit_that_the_remote_says_is_spent_ends_with_the_period_if_that_is_sooner(autojump_clock):
    midnight = 1_795_046_400.0
    row = make_row(Scripted([QuotaSpent("credit")]), limit=Limit(9, "day"))
    async with supervised(row, wall=lambda: midnight - 600) as supervisor:
        failure = fault(Kind.QUOTA_SPENT, await supervisor.refs["acme"].ask(ASKED))

        assert failure.retry_at == trio.current_time() + 600
        assert supervisor.statistics()[0].calls.failed == {"quota_spent": 1}


async def test_a_row_without_a_breaker_is_never_switched_off(autojump_clock):
    provider = Scripted([Malformed("bad")] * 20 + [Denied("key")])
    async with acting(provider, has_breaker=False) as ref:
        for _ in range(25):
            assert (await ref.ask(ASKED)).kind in {Kind.MALFORMED, Kind.DENIED}
        assert ref.statistics().breaker.state == "none"


async def test_a_thousand_bad_pages_leave_the_breaker_closed(autojump_clock):
    async with acting(Scripted([NotFound("gone"), Blocked("captcha")])) as ref:
        for _ in range(1000):
            await ref.ask(ASKED)
        assert ref.statistics().breaker.state == "closed"
        assert ref.last_error is None


# --- retries --------------------------------------------------------------------------------------------------------


async def test_unavailable_is_retried_once_after_a_short_wait(autojump_clock):
    provider = Scripted([Unavailable("503"), FOUND])
    async with acting(provider) as ref:
        answer = await ref.ask(ASKED)

    assert isinstance(answer, Answer)
    assert 0.1 <= provider.calls[1] - provider.calls[0] <= 0.5


async def test_a_second_failure_is_final(autojump_clock):
    provider = Scripted([Unavailable("one"), Unavailable("two"), FOUND])
    async with acting(provider) as ref:
        assert fault(Kind.UNAVAILABLE, await ref.ask(ASKED)).detail == "two"


@pytest.mark.parametrize(
    ("error", "fields"),
    [
        (Unavailable("tls", retry=False), {}),
        (Unavailable("503"), {"retries": 0}),
        (Malformed("bad"), {}),
        (Unavailable("503"), {"timeout": 0.9}),
    ],
)
async def test_no_retry_where_the_error_the_row_the_kind_or_the_time_forbids_it(autojump_clock, error, fields):
    provider = Scripted([error])
    async with acting(provider, **fields) as ref:
        await ref.ask(ASKED)

    assert len(provider.calls) == 1


async def test_a_retry_that_finds_no_slot_reports_the_first_failure(autojump_clock):
    provider = Scripted([Unavailable("503")])
    async with acting(provider, rate=Rate(1, 45.0)) as ref:
        assert fault(Kind.UNAVAILABLE, await ref.ask(ASKED)).detail == "503"

    assert len(provider.calls) == 1


async def test_a_retry_waits_for_its_own_slot_within_the_patience(autojump_clock):
    provider = Scripted([Unavailable("503"), FOUND])
    async with acting(provider, rate=Rate(1, 2.0), patience=2.0) as ref:
        assert isinstance(await ref.ask(ASKED), Answer)

    assert provider.calls[1] - provider.calls[0] == 2.0


async def test_a_retry_that_finds_no_units_reports_the_first_failure(autojump_clock):
    provider = Scripted([Unavailable("503")])
    async with acting(provider, limit=Limit(1, "day"), paid=True) as ref:
        assert fault(Kind.UNAVAILABLE, await ref.ask(ASKED)).billed == 1


async def test_a_retry_that_finds_the_breaker_open_reports_the_first_failure(autojump_clock):
    provider = Scripted([Unavailable("503")])
    async with acting(provider) as ref:
        outcomes = [await ref.ask(ASKED) for _ in range(3)]

    assert [outcome.kind for outcome in outcomes] == [Kind.UNAVAILABLE] * 3
    assert len(provider.calls) == 5


async def test_in_an_outage_retries_add_at_most_a_tenth_and_ten(autojump_clock):
    provider = Scripted([Unavailable("503")])
    rows = [make_row(provider, f"acme-{n}", has_breaker=False) for n in range(4)]
    async with supervised(*rows) as supervisor:
        for n in range(1000):
            await supervisor.refs[f"acme-{n % 4}"].ask(ASKED)

    assert 1100 < len(provider.calls) <= 1110


# --- quota ----------------------------------------------------------------------------------------------------------


async def test_units_are_spent_before_the_call_and_told_in_the_answer(autojump_clock):
    ledger = MemoryLedger()
    seen = []

    async def look(job):
        seen.append(ledger.counts("acme").total)
        return FOUND

    async with acting(Metered([look]), ledger=ledger, paid=True) as ref:
        answer = await ref.ask(ASKED)

    assert seen == [2]
    assert answer.billed == 2


async def test_a_failure_tells_the_units_of_all_its_tries(autojump_clock):
    async with acting(Metered([Unavailable("503")]), paid=True) as ref:
        assert (await ref.ask(ASKED)).billed == 4


async def test_a_spent_quota_is_a_skip_that_says_until_when(autojump_clock):
    provider = Scripted()
    async with acting(provider, limit=Limit(2, "month")) as ref:
        outcomes = [await ref.ask(ASKED) for _ in range(3)]

        failure = fault(Kind.QUOTA_SPENT, outcomes[2])
        assert failure.detail == "2 of 2 units used this month"
        assert failure.retry_at - trio.current_time() == 1_083_200.0
        assert len(provider.calls) == 2
        seen = ref.statistics()
        assert seen.calls.skipped == {"quota_spent": 1}
        assert (seen.quota.used, seen.quota.remaining, seen.billed.units) == (2, 0, 0)
        assert seen.breaker.state == "closed"


async def test_four_fifths_of_the_quota_are_worth_one_warning(autojump_clock):
    async with acting(limit=Limit(5, "day")) as ref:
        with capture_logs() as logs:
            for _ in range(5):
                await ref.ask(ASKED)

    (entry,) = [line for line in logs if line["event"] == "quota_nearly_spent"]
    assert (entry["used"], entry["limit"], entry["period"]) == (4, 5, "day")


class BrokenLedger(MemoryLedger):
    """Cannot count for anybody with a limit."""

    async def spend(self, name, limit, units, wall_now) -> Spend:
        await trio.lowlevel.checkpoint()
        raise LedgerDown("quota.sqlite3 is locked by another process")


async def test_a_ledger_that_cannot_answer_puts_metered_instances_down_and_no_others(autojump_clock):
    rows = [make_row(name="metered", limit=Limit(5, "day")), make_row(name="free")]
    async with supervised(*rows, ledger=BrokenLedger()) as supervisor:
        failure = fault(Kind.DOWN, await supervisor.refs["metered"].ask(ASKED))
        assert isinstance(await supervisor.refs["free"].ask(ASKED), Answer)

    assert failure.detail == "quota.sqlite3 is locked by another process"


async def test_a_ledger_that_holds_up_one_call_does_not_bring_the_next_one_closer(autojump_clock):
    provider, waits = Scripted(), iter([3.0, 0.0])

    class Uneven(MemoryLedger):
        async def spend(self, name, limit, units, wall_now) -> Spend:
            await trio.sleep(next(waits))
            return await super().spend(name, limit, units, wall_now)

    metered = acting(provider, ledger=Uneven(), paid=True, rate=Rate(1, 2.5), patience=9.0)
    async with metered as ref, trio.open_nursery() as nursery:
        nursery.start_soon(ref.ask, ASKED)
        nursery.start_soon(ref.ask, ASKED)

    assert provider.calls[1] - provider.calls[0] == 2.5


async def test_each_call_of_a_provider_is_a_unit_of_work_and_so_is_a_second_try(autojump_clock):
    units = []

    async def twice(job) -> Found:
        units.append([current_unit(), current_unit()])
        if len(units) == 1:
            raise Unavailable("exit lost")
        return FOUND

    async with acting(Scripted([twice]), retries=1) as ref:
        await ref.ask(ASKED)
        await ref.ask(ASKED)

    assert all(first is second for first, second in units)
    assert len({unit.session for unit, _ in units}) == 3
