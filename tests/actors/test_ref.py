"""What an asker meets: slots, patience, a full mailbox, a closed one, leaving at every stage."""

from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors.ledger import MemoryLedger
from actors.messages import Answer, Failure, Outcome
from actors.row import Limit, Rate
from providers import _sanitise
from providers._contract import Found, Kind, Role, Target
from tests.actors.lab import ASKED, FOUND, Scripted, acting, make_row, supervised, takes


@pytest.fixture(autouse=True)
def _untouched(monkeypatch):
    async def sanitise(value):
        return value

    monkeypatch.setattr(_sanitise, "sanitise", sanitise)


async def ask_many(ref, count: int, **fields) -> list[Outcome]:
    outcomes: list[Outcome] = []

    async def ask() -> None:
        outcomes.append(await ref.ask(ASKED, **fields))

    async with trio.open_nursery() as nursery:
        for _ in range(count):
            nursery.start_soon(ask)
    return outcomes


def kinds(outcomes: list[Outcome]) -> list[Kind | None]:
    return [outcome.kind if isinstance(outcome, Failure) else None for outcome in outcomes]


async def test_a_taken_slot_is_a_skip_at_once_that_says_when(autojump_clock):
    provider = Scripted()
    async with acting(provider, rate=Rate(1, 45.0)) as ref:
        await ref.ask(ASKED)
        await trio.sleep(14)
        failure = await ref.ask(ASKED)

        assert (failure.kind, failure.detail, failure.took) == (Kind.THROTTLED, "next slot in 31 s", 0.0)
        assert failure.retry_at == trio.current_time() + 31
        assert ref.next_slot_at(trio.current_time()) == failure.retry_at
        assert len(provider.calls) == 1


async def test_an_asker_with_patience_waits_for_the_slot(autojump_clock):
    provider = Scripted()
    async with acting(provider, rate=Rate(1, 45.0), timeout=60.0) as ref:
        await ref.ask(ASKED)
        answer = await ref.ask(ASKED, patience=50)

    assert isinstance(answer, Answer)
    assert provider.calls[1] - provider.calls[0] == 45


async def test_the_rows_patience_holds_where_the_asker_names_none(autojump_clock):
    provider = Scripted()
    async with acting(provider, rate=Rate(1, 2.0), patience=2.5) as ref:
        assert kinds(await ask_many(ref, 3)) == [Kind.THROTTLED, None, None]
        assert kinds([await ref.ask(ASKED, patience=0)]) == [Kind.THROTTLED]


async def test_a_slot_past_the_deadline_is_refused_at_once_whatever_the_patience(autojump_clock):
    async with acting(rate=Rate(1, 45.0)) as ref:
        await ref.ask(ASKED)
        with trio.fail_after(10):
            failure = await ref.ask(ASKED, patience=999)

    assert (failure.kind, failure.took) == (Kind.THROTTLED, 0.0)


async def test_patient_askers_hold_no_worker(autojump_clock):
    async with acting(rate=Rate(1, 5.0), workers=1, timeout=100.0) as ref, trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(lambda: ref.ask(ASKED, patience=99))
        await trio.sleep(1)
        failure = await ref.ask(ASKED, patience=0)

        assert (failure.kind, failure.took) == (Kind.THROTTLED, 0.0)
        assert ref.in_flight == 0


async def test_an_asker_who_leaves_while_waiting_for_a_slot_gives_it_back(autojump_clock):
    async with acting(rate=Rate(1, 45.0), timeout=100.0) as ref:
        await ref.ask(ASKED)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: ref.ask(ASKED, patience=99))
            await trio.sleep(0.5)
            assert ref.next_slot_at(trio.current_time()) == trio.current_time() + 89.5
            nursery.cancel_scope.cancel()

        assert ref.next_slot_at(trio.current_time()) == trio.current_time() + 44.5
        assert ref.statistics().calls.skipped == {"cancelled": 1}


async def test_an_asker_who_leaves_during_the_spend_starts_no_call(autojump_clock):
    class Slow(MemoryLedger):
        async def spend(self, name, limit, units, wall_now):
            spend = await super().spend(name, limit, units, wall_now)
            with trio.CancelScope(shield=True):
                await trio.sleep(1)
            return spend

    provider = Scripted()
    async with acting(provider, ledger=Slow(), limit=Limit(9, "day"), rate=Rate(1, 45.0)) as ref:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ref.ask, ASKED)
            await trio.sleep(0.5)
            nursery.cancel_scope.cancel()
        await trio.sleep(2)

        assert provider.calls == []
        assert ref.state == "running"
        assert ref.next_slot_at(trio.current_time()) == trio.current_time()


async def test_ten_times_the_capacity_of_askers_are_served_in_order(autojump_clock):
    provider = Scripted([takes(1.0)])
    async with acting(provider, workers=2, timeout=25.0) as ref:
        assert kinds(await ask_many(ref, 40)) == [None] * 40
        assert ref.statistics().mailbox.capacity == 4
        assert max(provider.calls) - min(provider.calls) == 19


async def test_askers_without_a_worker_hear_busy_at_their_deadline_and_are_never_sent(autojump_clock):
    provider = Scripted([takes(9.0)])
    async with acting(provider, workers=1, timeout=10.0) as ref:
        outcomes = await ask_many(ref, 10)
        await trio.sleep(99)

        assert kinds(outcomes).count(Kind.BUSY) == 8
        assert kinds(outcomes).count(Kind.TIMEOUT) == 1
        assert {outcome.took for outcome in outcomes if isinstance(outcome, Failure)} == {10.0}
        assert len(provider.calls) == 2
        assert ref.statistics().breaker.state == "closed"
        assert ref.statistics().calls.skipped == {"busy": 8}


async def test_a_queued_request_whose_asker_left_is_never_sent(autojump_clock):
    provider = Scripted([takes(5.0)])
    async with acting(provider, workers=1) as ref:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ref.ask, ASKED)
            await wait_all_tasks_blocked()
            async with trio.open_nursery() as leaving:
                leaving.start_soon(ref.ask, ASKED)
                await wait_all_tasks_blocked()
                assert ref.statistics().mailbox.depth == 1
                leaving.cancel_scope.cancel()
        assert isinstance(await ref.ask(ASKED), Answer)

    assert len(provider.calls) == 2


async def test_an_asker_who_leaves_stops_the_call_at_once(autojump_clock):
    stopped = []

    async def call(job):
        try:
            await trio.sleep_forever()
        finally:
            stopped.append(trio.current_time())

    async with acting(Scripted([call])) as ref, trio.open_nursery() as nursery:
        nursery.start_soon(ref.ask, ASKED)
        await trio.sleep(3)
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            await wait_all_tasks_blocked()
            assert stopped == [trio.current_time()]


async def test_a_closed_mailbox_means_down_for_new_askers_and_for_those_at_the_door(autojump_clock):
    async with acting(Scripted([takes(5.0)]), workers=1) as ref:
        outcomes: list[Outcome] = []

        async def ask() -> None:
            outcomes.append(await ref.ask(ASKED))

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(ask)
            await wait_all_tasks_blocked()
            ref.close()
            outcomes.append(await ref.ask(ASKED))

        assert kinds(outcomes).count(Kind.DOWN) == 3
        assert kinds(outcomes).count(None) == 3
        assert {failure.detail for failure in outcomes if isinstance(failure, Failure)} == {"shutting down"}


async def test_an_asker_waiting_for_a_slot_hears_down_when_the_mailbox_closed_meanwhile(autojump_clock):
    async with acting(rate=Rate(1, 5.0)) as ref:
        await ref.ask(ASKED)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: ref.ask(ASKED, patience=9))
            await trio.sleep(1)
            ref.close()

        assert ref.statistics().calls.skipped == {"down": 1}


async def test_accepts_is_the_providers_word(autojump_clock):
    async with acting() as ref:
        assert ref.accepts(Target("https://trio.example/yes"))
        assert not ref.accepts(Target("https://trio.example/no"))


async def test_a_bug_in_accepts_means_no(autojump_clock):
    class Broken(Scripted):
        def accepts(self, target):
            raise KeyError(target)

    async with acting(Broken()) as ref:
        assert not ref.accepts(Target("https://trio.example/yes"))


async def test_statistics_show_one_instance_whole(autojump_clock):
    row = make_row(
        Scripted([takes(0.25), takes(0.25, Found(()))]),
        rate=Rate(2, 60.0),
        limit=Limit(10, "month"),
        paid=True,
        proxy="http://user:word@proxy.example:8080",
        workers=3,
    )
    async with supervised(row) as supervisor:
        ref = supervisor.refs["acme"]
        for _ in range(3):
            await ref.ask(ASKED)

        (seen,) = supervisor.statistics()

    assert ref.roles == {Role.SEARCH}
    assert (seen.instance, seen.type, seen.roles, seen.state) == ("acme", "acme", ("search",), "running")
    assert (seen.mailbox.depth, seen.mailbox.capacity, seen.workers, seen.in_flight) == (0, 6, 3, 0)
    assert (seen.throttle.rate, round(seen.throttle.next_slot_in_s, 6)) == ("2/60s", 59.5)
    assert (seen.quota.used, seen.quota.limit, seen.quota.resets_at) == (2, 10, "2026-12-01T00:00:00+00:00")
    assert (seen.billed.units, seen.billed.period_units) == (2, 2)
    assert (seen.calls.total, seen.calls.ok, seen.calls.empty, seen.calls.skipped) == (3, 1, 1, {"throttled": 1})
    assert seen.latency_ms.p99 == 250.0
    assert seen.proxy == "http://proxy.example:8080"


async def test_an_instance_without_a_rate_has_no_next_slot(autojump_clock):
    async with acting() as ref:
        assert ref.next_slot_at(trio.current_time()) is None
        assert (await ref.ask(ASKED)).value == FOUND
