"""A crash at every await of an actor, one after the other: nobody is lost, nothing is forgotten, it comes back."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
import structlog
import trio
import trio.testing

from actors.actor import Actor
from actors.ledger import MemoryLedger
from actors.messages import Answer, Failure, Outcome, Reply, Request
from actors.row import Limit, Rate
from providers import _sanitise
from providers._contract import Kind, Malformed, Unavailable
from tests.actors.crashpoints import Countdown, crashing
from tests.actors.lab import ASKED, FOUND, Scripted, make_row, no_client, supervised, takes

TOLD = {Kind.CRASHED, Kind.DOWN, Kind.BUSY, Kind.BUG, Kind.UNAVAILABLE, Kind.MALFORMED, Kind.TIMEOUT}


@pytest.fixture(autouse=True)
def _quiet(monkeypatch):
    async def sanitise(value):
        await trio.lowlevel.checkpoint()
        return value

    def drop(logger, method, event):
        raise structlog.DropEvent

    monkeypatch.setattr(_sanitise, "sanitise", sanitise)
    structlog.configure(processors=[drop])
    yield
    structlog.reset_defaults()


class Waiting(MemoryLedger):
    async def spend(self, name, limit, units, wall_now):
        await trio.sleep(0.01)
        return await super().spend(name, limit, units, wall_now)


async def in_a_nursery(job):
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep, 0.5)
    return FOUND


class Scene:
    """Six askers of one actor (one leaves, one runs out of time, one is retried), and one of another actor."""

    def __init__(self, countdown: Countdown) -> None:
        self.countdown = countdown
        self.awaits = 0
        self.provider = Scripted(
            [Unavailable("503"), takes(1.0), in_a_nursery, Malformed("bad"), takes(99.0), takes(1.0), FOUND]
        )
        self.ledger = Waiting()
        self.outcomes: list[Outcome] = []
        self.requests: list[Request] = []
        self.left = 0
        self.other: Outcome | None = None
        self.afterwards: Outcome | None = None
        self.restarts = 0

    async def play(self) -> None:
        row = make_row(
            self.provider, workers=2, timeout=6.0, rate=Rate(9, 30.0), limit=Limit(50, "day"), paid=True, patience=5.0
        )
        async with supervised(row, make_row(Scripted([takes(3.0)]), name="other"), ledger=self.ledger) as supervisor:
            ref = supervisor.refs["acme"]
            async with trio.open_nursery() as nursery:
                for _ in range(5):
                    nursery.start_soon(self.ask, ref)
                nursery.start_soon(self.leave, ref)
                self.other = await supervisor.refs["other"].ask(ASKED)
            await trio.sleep(60)
            self.awaits, self.countdown.at = self.countdown.passed, 0
            self.provider.script = [FOUND]
            self.afterwards = await ref.ask(ASKED)
            self.restarts = ref.restarts
            assert ref.in_flight == 0
            assert ref.slots.throttle._reserved == []

    async def ask(self, ref) -> None:
        self.outcomes.append(await ref.ask(ASKED))

    async def leave(self, ref) -> None:
        with trio.move_on_after(0.7):
            self.outcomes.append(await ref.ask(ASKED))
            return
        self.left += 1


def play(countdown: Countdown, monkeypatch) -> Scene:
    scene = Scene(countdown)
    real_init = Request.__init__

    def noted(self, *args, **kwargs):
        real_init(self, *args, **kwargs)
        scene.requests.append(self)

    real_work = Actor._work
    watched = crashing(real_work, countdown)

    async def work(self):
        await (watched(self) if self._row.name == "acme" else real_work(self))

    with monkeypatch.context() as patch:
        patch.setattr(Actor, "_work", work)
        patch.setattr(Request, "__init__", noted)
        trio.run(scene.play, clock=trio.testing.MockClock(autojump_threshold=0))
    return scene


@pytest.mark.parametrize("_round", range(5))  # trio wakes tasks in random order, so each round differs
def test_a_crash_at_any_await_of_a_worker_loses_no_request_no_unit_and_no_other_actor(monkeypatch, _round):
    undisturbed = play(Countdown(at=0), monkeypatch)
    assert undisturbed.restarts == 0
    assert undisturbed.awaits > 25

    crashes = 0
    for at in range(1, undisturbed.awaits + 1):
        scene = play(Countdown(at), monkeypatch)
        crashes += scene.restarts

        assert len(scene.outcomes) + scene.left == 6, at
        assert {outcome.kind for outcome in scene.outcomes if isinstance(outcome, Failure)} <= TOLD, at
        assert isinstance(scene.other, Answer), at
        assert isinstance(scene.afterwards, Answer), at
        assert scene.restarts <= 1, at
        assert scene.ledger.counts("acme").total >= len(scene.provider.calls), at
        assert all(request.reply.is_set for request in scene.requests if request.tries), at

    assert crashes > undisturbed.awaits / 3


@pytest.mark.parametrize("at", range(1, 5))
@pytest.mark.parametrize("where", ["opening", "closing"])
def test_a_crash_at_any_await_of_opening_or_closing_a_client_is_survived(at, where, monkeypatch):
    countdown = Countdown(at)

    async def steps() -> None:
        for _ in range(2):
            await trio.lowlevel.checkpoint()
            await trio.sleep(0.1)

    watched = crashing(steps, countdown)

    @asynccontextmanager
    async def client(row):
        async with no_client(row) as inner:
            if where == "opening":
                await watched()
            yield inner
            if where == "closing":
                await watched()

    async def main() -> None:
        async with supervised(make_row(), open_client=client) as supervisor:
            await trio.sleep(2)
            assert isinstance(await supervisor.refs["acme"].ask(ASKED), Answer)
            assert supervisor.refs["acme"].restarts == (where == "opening")

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert countdown.passed >= at


def test_a_reply_is_answered_once_whoever_comes_second():
    async def main() -> None:
        reply = Reply()
        assert not reply.is_set
        assert reply.set(Answer(1, "acme"))
        assert not reply.set(Failure(Kind.CRASHED, "acme"))
        assert (await reply.wait()).value == 1

    trio.run(main)
