"""Crashes, restarts, retirement, draining, and what must not end with them."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import wait_all_tasks_blocked

from actors.actor import Actor
from actors.ledger import MemoryLedger
from actors.messages import Answer, Failure
from actors.restarts import Restarts
from actors.row import Limit, Rate
from actors.supervisor import Supervisor
from providers import _sanitise
from providers._contract import Kind, Malformed
from tests.actors.lab import ASKED, Scripted, acting, make_row, no_client, supervised, takes


@pytest.fixture(autouse=True)
def _untouched(monkeypatch):
    async def sanitise(value):
        return value

    monkeypatch.setattr(_sanitise, "sanitise", sanitise)


class Falling(MemoryLedger):
    """A ledger whose bug makes actors crash: our own code, so nobody catches it before the supervisor."""

    def __init__(self) -> None:
        super().__init__()
        self.falls = 1
        self.pause = 0.0

    async def spend(self, name, limit, units, wall_now):
        await trio.sleep(self.pause)
        if self.falls:
            self.falls -= 1
            raise ZeroDivisionError
        return await super().spend(name, limit, units, wall_now)


METERED = {"limit": Limit(1000, "month")}


async def test_a_crash_answers_crashed_in_flight_and_down_in_the_queue(autojump_clock):
    ledger, outcomes = Falling(), []
    provider = Scripted([takes(50.0)])
    async with acting(provider, ledger=ledger, workers=2, timeout=99.0, **METERED) as ref:
        ledger.falls = 0

        async def ask():
            outcomes.append(await ref.ask(ASKED))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await wait_all_tasks_blocked()
            ledger.falls = 1
            for _ in range(9):
                nursery.start_soon(ask)
        assert ref.state == "restarting"

    kinds = [outcome.kind for outcome in outcomes]
    assert (kinds.count(Kind.CRASHED), kinds.count(Kind.DOWN)) == (2, 8)
    assert all(outcome.took == 0 for outcome in outcomes if outcome.kind is Kind.DOWN)


async def test_a_crashed_actor_is_down_for_a_second_and_then_answers(autojump_clock):
    ledger, provider = Falling(), Scripted()
    async with acting(provider, ledger=ledger, rate=Rate(1, 45.0), timeout=99.0, **METERED) as ref:
        with capture_logs() as logs:
            assert (await ref.ask(ASKED)).kind is Kind.CRASHED
            await wait_all_tasks_blocked()
        crashed_at = trio.current_time()
        down = await ref.ask(ASKED)
        await trio.sleep_until(down.retry_at)
        await wait_all_tasks_blocked()

        assert (down.kind, down.detail) == (Kind.DOWN, "restarting after a crash")
        assert 1.0 <= down.retry_at - crashed_at <= 1.2
        assert isinstance(await ref.ask(ASKED), Answer)
        seen = ref.statistics()
        assert (seen.state, seen.restarts, seen.quota.used) == ("running", 1, 1)
        (crash,) = [line for line in logs if line["event"] == "actor_crashed"]
        assert (crash["error"], crash["instance"]) == ("ZeroDivisionError", "acme")


async def test_slots_and_counts_outlive_the_crash_and_the_breaker_does_not(autojump_clock):
    ledger, provider = Falling(), Scripted([Malformed("bad")])
    ledger.falls = 0
    async with acting(provider, ledger=ledger, rate=Rate(6, 45.0), **METERED) as ref:
        for _ in range(4):
            await ref.ask(ASKED)
        ledger.falls = 1
        await ref.ask(ASKED)
        before = ref.breaker
        await trio.sleep(2)

        assert ref.breaker is not before
        assert ref.statistics().quota.used == 4
        await ref.ask(ASKED)
        await ref.ask(ASKED)
        assert ref.statistics().breaker.state == "closed"
        assert (await ref.ask(ASKED)).kind is Kind.THROTTLED


async def test_one_actors_crash_is_nothing_to_the_others(autojump_clock):
    ledger = Falling()
    rows = [make_row(name="falls", **METERED), make_row(Scripted([takes(5.0)]), name="stands")]
    async with supervised(*rows, ledger=ledger) as supervisor, trio.open_nursery() as nursery:
        outcomes = []

        async def ask(name):
            outcomes.append(await supervisor.refs[name].ask(ASKED))

        nursery.start_soon(ask, "stands")
        await wait_all_tasks_blocked()
        nursery.start_soon(ask, "falls")

    assert [type(outcome) for outcome in outcomes] == [Failure, Answer]


async def test_the_sixth_crash_in_ten_minutes_retires_the_actor(autojump_clock):
    ledger = Falling()
    ledger.falls = 99
    async with acting(ledger=ledger, **METERED) as ref:
        crashes = 0
        with capture_logs() as logs:
            while ref.state != "retired":
                crashes += (await ref.ask(ASKED)).kind is Kind.CRASHED
                await trio.sleep(1)

        assert crashes == 6
        down = await ref.ask(ASKED)
        assert (down.kind, down.detail, down.retry_at) == (Kind.DOWN, "retired after too many crashes", None)
        assert (ref.statistics().state, ref.statistics().restarts) == ("retired", 5)
        assert [line["event"] for line in logs].count("actor_retired") == 1
        await trio.sleep(3600)
        assert ref.state == "retired"


async def test_crashes_minutes_apart_never_retire_it(autojump_clock):
    ledger = Falling()
    async with acting(ledger=ledger, **METERED) as ref:
        for _ in range(20):
            ledger.falls = 1
            await ref.ask(ASKED)
            await trio.sleep(150)
        assert ref.state == "running"


async def test_an_asker_waiting_for_a_slot_hears_down_when_the_actor_fell_meanwhile(autojump_clock):
    ledger = Falling()
    ledger.falls = 0
    async with acting(ledger=ledger, rate=Rate(2, 5.0), **METERED) as ref:
        await ref.ask(ASKED)
        ledger.falls, ledger.pause = 1, 4.7
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ref.ask, ASKED)
            await trio.sleep(4.5)
            down = await ref.ask(ASKED, patience=4)

    assert down.kind is Kind.DOWN
    assert down.took == pytest.approx(0.5)


async def test_a_client_that_cannot_be_opened_is_a_crash_and_no_failure_to_start(autojump_clock):
    attempts = []

    @asynccontextmanager
    async def failing_twice(row):
        attempts.append(trio.current_time())
        if len(attempts) < 3:
            raise OSError("no client")
        async with no_client(row) as client:
            yield client

    async with supervised(make_row(), open_client=failing_twice) as supervisor:
        ref = supervisor.refs["acme"]
        assert (ref.state, ref.last_error) == ("restarting", "crashed: OSError")
        assert (await ref.ask(ASKED)).kind is Kind.DOWN
        await trio.sleep(5)

        assert isinstance(await ref.ask(ASKED), Answer)
    assert len(attempts) == 3


async def test_each_start_has_its_own_client_and_closes_it(autojump_clock):
    ledger, opened, closed = Falling(), [], []

    @asynccontextmanager
    async def counting(row):
        async with no_client(row) as client:
            opened.append(client)
            yield client
            closed.append(client)

    async with supervised(make_row(**METERED), ledger=ledger, open_client=counting) as supervisor:
        await supervisor.refs["acme"].ask(ASKED)
        await trio.sleep(2)
        assert opened[0].is_closed
        assert not opened[1].is_closed

    assert len(opened) == 2
    assert closed == [opened[1]]


async def test_a_crash_while_closing_the_client_does_not_keep_the_block_from_ending(autojump_clock):
    @asynccontextmanager
    async def sticking(row):
        async with no_client(row) as client:
            yield client
            raise OSError("will not close")

    with trio.fail_after(5):
        async with supervised(make_row(), open_client=sticking) as supervisor:
            await supervisor.refs["acme"].ask(ASKED)


async def test_draining_finishes_what_is_queued_and_refuses_the_rest(autojump_clock):
    outcomes, provider = [], Scripted([takes(2.0)])
    async with trio.open_nursery() as nursery:
        async with supervised(make_row(provider, workers=1), make_row(name="idle")) as supervisor:

            async def ask():
                outcomes.append(await supervisor.refs["acme"].ask(ASKED))

            for _ in range(3):
                nursery.start_soon(ask)
            await wait_all_tasks_blocked()
        assert (await supervisor.refs["idle"].ask(ASKED)).kind is Kind.DOWN

    assert [type(outcome) for outcome in outcomes] == [Answer] * 3
    assert trio.current_time() - provider.calls[0] == 6


async def test_draining_does_not_wait_for_a_restart(autojump_clock):
    ledger = Falling()
    with trio.fail_after(0.5):
        async with acting(ledger=ledger, **METERED) as ref:
            await ref.ask(ASKED)


async def test_an_error_in_the_block_stops_the_actors_without_draining(autojump_clock):
    async def fall():
        async with acting(Scripted([takes(50.0)]), timeout=99.0) as ref, trio.open_nursery() as nursery:
            nursery.start_soon(ref.ask, ASKED)
            await wait_all_tasks_blocked()
            raise KeyError("the server fell")

    with trio.fail_after(1), pytest.raises(ExceptionGroup):
        await fall()


async def test_a_bug_of_the_supervisor_itself_ends_everything(autojump_clock, monkeypatch):
    def fall(self, now):
        raise ZeroDivisionError

    async def serve():
        async with acting(ledger=Falling(), **METERED) as ref:
            await ref.ask(ASKED)
            await trio.sleep_forever()

    monkeypatch.setattr(Restarts, "delay", fall)
    with pytest.raises(ExceptionGroup) as caught:
        await serve()

    assert caught.group_contains(ZeroDivisionError)


async def test_starting_sends_nothing(autojump_clock):
    sent = []

    @asynccontextmanager
    async def watched(row):
        async with no_client(row) as client:
            client.event_hooks["request"].append(sent.append)
            yield client

    async with supervised(*(make_row(name=f"acme-{n}") for n in range(12)), open_client=watched) as supervisor:
        assert all(ref.state == "running" for ref in supervisor.refs.values())

    assert sent == []


async def test_a_crash_just_as_everything_stops_is_no_error_of_the_block(autojump_clock, monkeypatch):
    async def fall_when_cancelled(self):
        try:
            await trio.sleep_forever()
        finally:
            raise ZeroDivisionError

    monkeypatch.setattr(Actor, "_work", fall_when_cancelled)
    with trio.move_on_after(1) as scope:
        async with acting():
            await trio.sleep_forever()

    assert scope.cancelled_caught


async def test_a_supervisor_of_nothing_has_nothing_to_say(autojump_clock):
    async with supervised() as supervisor:
        assert isinstance(supervisor, Supervisor)
        assert supervisor.statistics() == ()
