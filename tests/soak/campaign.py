"""Half an hour of virtual traffic through the real tools while faults of every kind strike, all from one seed.

The actors, pipelines, tools and table are the service's own; the remotes are the fake internet without sockets, so that
half an hour passes in a minute. What strikes, when and whom is drawn beforehand from the seed. See security/FACTS.md D.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import httpx
import jsonschema
import trio

from actors.client import Guard
from actors.ledger import LedgerDown, MemoryLedger, Spend
from actors.pipelines import Pipelines
from actors.row import Limit, Row
from actors.supervisor import Supervisor, open_supervisor
from providers._workers import inline_workers
from service.calling import GRACE_SECONDS, Answer, Desk, Tool
from service.calls import Calls
from service.instances import build
from service.protocol import Service
from service.runtime import pipeline_options, tool_options
from service.settings import load_settings
from service.tools import research_tools
from tests.contract._memory import MemoryNet, public
from tests.contract._trials import BODIES, CONNECTION, GOOD, RATE_LIMITS, STATUSES
from tests.fakenet import Answer as Sent
from tests.fakenet import Request, faults, vendor_names
from tests.fakenet._faults import Fault
from tests.fakenet._http import Wire

# Too heavy for hundreds of strikes, or a matter of the transport, which has tests of its own.
LEFT_OUT = {"11 MB of JSON", "20 MB", "gzip bomb", "gzip in gzip in gzip", "unknown encoding", "gzip without gzip"}
TRIALS = [trial for trial in (*CONNECTION, *STATUSES, *RATE_LIMITS, *BODIES, *GOOD) if trial.name not in LEFT_OUT]
SLOW = [faults.silent(), faults.slow_body(), faults.latency(3.0), faults.latency(20.0), faults.latency(40.0)]
STRIKES: list[Fault] = [trial.fault for trial in TRIALS] + SLOW * 3
METERED = {"brave": 300, "serper": 300, "exa": 300}
MAX_CALLS = 64
# The longest that anything switches an instance off is a day (a Retry-After of 10^30 s); then all must be well again.
RECOVERY_SECONDS = 25 * 3600.0


class Crash(Exception):
    """A bug of ours, in an actor."""


class BugInProvider(Exception):
    """A bug of ours, in a provider."""


class _Aborted(Exception):
    """The remote ended the connection in the middle."""


class _MemoryWire:
    """The server's end of a connection that only exists in memory: whole answers arrive, all else breaks off."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.keep_alive = True
        self.sent: Sent | None = None

    async def send(self, data: bytes) -> None:
        await trio.lowlevel.checkpoint()

    async def answer(self, answer: Sent) -> None:
        await trio.lowlevel.checkpoint()
        self.sent = answer

    async def close(self) -> None:
        raise _Aborted

    reset = close


@dataclass(eq=False)
class StruckNet(MemoryNet):
    """A fake internet whose remotes can be struck by the faults of the one with sockets."""

    struck: dict[str, Fault] = field(default_factory=dict)
    bugs: set[str] = field(default_factory=set)

    async def perform(self, name: str, seen: Request) -> Sent:
        if name in self.bugs:
            raise BugInProvider(name)
        fault = self.struck.get(name)
        if fault is None:
            return await super().perform(name, seen)
        wire = _MemoryWire(seen)
        try:
            await fault(cast(Wire, wire), seen, self.handlers[name](seen))
        except _Aborted:
            raise httpx.RemoteProtocolError("the remote broke off") from None
        assert wire.sent is not None
        return wire.sent


@dataclass(eq=False)
class StruckLedger(MemoryLedger):
    """Slow, locked, or the end of the actor that asks it."""

    rng: random.Random
    is_down: bool = False
    crashes: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        super().__init__()

    async def spend(self, name: str, limit: Limit | None, units: int, wall_now: float) -> Spend:
        await trio.sleep(self.rng.choice([0.0, 0.0, 0.0, 0.05, 1.0]))
        if self.is_down:
            raise LedgerDown("locked")
        found = await super().spend(name, limit, units, wall_now)
        if self.crashes[name] > 0:
            self.crashes[name] -= 1
            raise Crash
        return found


@dataclass(eq=False, slots=True)
class Asked:
    """One call and its end. Times on trio's clock; `answers` counts how often it came back."""

    tool: str
    given: dict[str, Any]
    at: float
    deadline: float
    leaves_at: float
    ended_at: float = math.nan
    answers: int = 0
    answer: Answer | None = None

    @property
    def has_left(self) -> bool:
        return self.answers == 0


@dataclass(eq=False)
class Campaign:
    """The state of one run. `asked` has every call, `strikes` what struck whom."""

    seed: int
    minutes: float
    rng: random.Random = field(init=False)
    net: StruckNet = field(init=False)
    ledger: StruckLedger = field(init=False)
    asked: list[Asked] = field(default_factory=list)
    strikes: Counter[str] = field(default_factory=Counter)
    tools: dict[str, Tool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.net = StruckNet(vendor_names())
        self.ledger = StruckLedger(random.Random(self.seed + 1))

    @asynccontextmanager
    async def client(self, row: Row) -> AsyncIterator[httpx.AsyncClient]:
        async with self.net.client(row) as client:
            yield client

    # --- the run ------------------------------------------------------------------------------------------------------

    async def run(self) -> dict[str, Any]:
        """Traffic and strikes, then peace; returns what is left of them. Raises AssertionError where a rule broke."""
        quotas = {f"{name.upper()}_QUOTA": f"{units}/day" for name, units in METERED.items()}
        settings = load_settings(self.net.environment() | quotas)
        configured = build(settings)
        guard = Guard(resolve=public)
        tools = research_tools(has_images=True)
        self.tools = {tool.name: tool for tool in tools}
        calls = Calls(MAX_CALLS, tuple(self.tools))
        with inline_workers():
            async with open_supervisor(configured.rows, ledger=self.ledger, open_client=self.client) as supervisor:
                pipelines = Pipelines(supervisor.refs, configured.orders, guard, pipeline_options(settings))
                service = Service(Desk(pipelines, options=tool_options(settings)), tools, calls)
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._strike, supervisor, nursery.cancel_scope)
                    await self._traffic(service)
                self.peace()
                await trio.sleep(RECOVERY_SECONDS)
                after = await self._recovered(service)
                return self._judge(supervisor, calls, after)

    async def _traffic(self, service: Service) -> None:
        """Calls at random, one in 1.2 s as a rule, eighty at once every now and then; ends when all have ended."""
        end = trio.current_time() + self.minutes * 60
        async with trio.open_nursery() as nursery:
            while trio.current_time() < end:
                for _ in range(80 if self.rng.random() < 0.004 else 1):
                    nursery.start_soon(self._call, service, self._next_call())
                await trio.sleep(self.rng.expovariate(1 / 1.2))

    async def _call(self, service: Service, asked: Asked) -> None:
        self.asked.append(asked)
        with trio.move_on_at(asked.leaves_at):
            asked.answer = await service.run(self.tools[asked.tool], asked.given)
            asked.answers += 1
        asked.ended_at = trio.current_time()

    def _next_call(self) -> Asked:
        tool = self.rng.choice(
            [*["web_search"] * 4, *["read_page"] * 4, "search_and_read", "read_pages", "web_search_images"]
        )
        given, now = self._arguments(tool), trio.current_time()
        seconds = self.tools[tool].seconds
        if self.rng.random() < 0.4:
            timeout_ms = self.rng.choice([1000, 2000, 5000, 20_000, 60_000])
            given["timeout_ms"], seconds = timeout_ms, timeout_ms / 1000
        leaves_at = now + self.rng.expovariate(1 / 4.0) if self.rng.random() < 0.1 else math.inf
        if self.rng.random() < 0.03:
            given |= self.rng.choice(
                [{"unknown": 1}, {"timeout_ms": "soon"}, {"query": ""}, {"url": "ftp://x"}, {"urls": 7}]
            )
        return Asked(tool, given, now, now + seconds, leaves_at)

    def _arguments(self, tool: str) -> dict[str, Any]:
        number = self.rng.randrange(10_000)
        if tool == "read_page":
            return {"url": self._address(number)}
        if tool == "read_pages":
            return {"urls": [self._address(number + each) for each in range(self.rng.randint(1, 4))]}
        if tool in ("web_search", "web_search_images") and self.rng.random() < 0.1:
            return {"query": [f"type k {number + each}" for each in range(3)]}
        return {"query": f"type k {number}"}

    def _address(self, number: int) -> str:
        if self.rng.random() < 0.05:
            return self.rng.choice(["http://127.0.0.1/x", "http://169.254.169.254/", "https://site.example/nowhere"])
        return f"https://site.example/article/type-k/{number}"

    # --- the strikes --------------------------------------------------------------------------------------------------

    async def _strike(self, supervisor: Supervisor, traffic: trio.CancelScope) -> None:
        """Every few seconds something breaks or heals, until the traffic is over."""
        end = trio.current_time() + self.minutes * 60
        async with trio.open_nursery() as nursery:
            while trio.current_time() < end:
                nursery.start_soon(self._one_strike, supervisor)
                await trio.sleep(self.rng.expovariate(1 / 4.0))

    async def _one_strike(self, supervisor: Supervisor) -> None:
        chance, lasts = self.rng.random(), self.rng.choice([2.0, 15.0, 60.0, 180.0])
        remote = self.rng.choice(sorted(self.net.handlers))
        if chance < 0.85:
            index = self.rng.randrange(len(STRIKES))
            self.strikes["fault"] += 1
            self.net.struck[remote] = STRIKES[index]
            await trio.sleep(lasts)
            self.net.struck.pop(remote, None)
        elif chance < 0.90:
            self.strikes["bug in a provider"] += 1
            self.net.bugs.add(remote)
            await trio.sleep(2.0)
            self.net.bugs.discard(remote)
        elif chance < 0.95:
            self.strikes["ledger locked"] += 1
            self.ledger.is_down = True
            await trio.sleep(min(lasts, 15.0))
            self.ledger.is_down = False
        else:
            name = self.rng.choice(sorted(supervisor.refs))
            # The sixth crash in ten minutes retires an actor for good, which is right, and no subject of this test.
            if self.strikes[f"crash of {name}"] < 3:
                self.strikes[f"crash of {name}"] += 1
                self.ledger.crashes[name] += 1

    def peace(self) -> None:
        self.net.struck.clear()
        self.net.bugs.clear()
        self.ledger.is_down = False
        self.ledger.crashes.clear()

    # --- the judgement ------------------------------------------------------------------------------------------------

    async def _recovered(self, service: Service) -> dict[str, Answer]:
        """One call of each tool after all faults have gone and every rest is over."""
        found = {}
        for tool in self.tools:
            found[tool] = await service.run(self.tools[tool], self._arguments_after(tool))
        return found

    def _arguments_after(self, tool: str) -> dict[str, Any]:
        url = "https://site.example/article/after/1"
        return {"read_page": {"url": url}, "read_pages": {"urls": [url]}}.get(tool, {"query": "type k"})

    def _judge(self, supervisor: Supervisor, calls: Calls, after: dict[str, Answer]) -> dict[str, Any]:
        for asked in self.asked:
            self._judge_call(asked)
        self._judge_rest(supervisor, calls)
        for tool, answer in after.items():
            assert not answer.is_error, (tool, answer.text)
        outcomes = Counter(outcome(asked) for asked in self.asked)
        return {
            "seed": self.seed,
            "minutes": self.minutes,
            "calls": len(self.asked),
            "outcomes": dict(outcomes.most_common()),
            "strikes": self.strikes["fault"],
            "requests": sum(self.net.calls.values()),
            "remotes": len(self.net.calls),
            "kinds": len(kinds_of(supervisor)),
        }

    def _judge_call(self, asked: Asked) -> None:
        latest = min(asked.deadline + GRACE_SECONDS, asked.leaves_at) + 0.1
        assert asked.ended_at <= latest, (asked.tool, asked.given, asked.ended_at - asked.at, latest - asked.at)
        assert asked.answers == 1 or asked.leaves_at < math.inf, asked
        if asked.answer is not None:
            assert asked.answer.text, asked
            assert asked.answer.text != "internal server error", asked
            if asked.answer.data is not None:
                jsonschema.validate(asked.answer.data, self.tools[asked.tool].output_schema)
                json.dumps(asked.answer.data, allow_nan=False)

    def _judge_rest(self, supervisor: Supervisor, calls: Calls) -> None:
        """Nothing is held any more, and what was counted adds up."""
        assert all(each.in_flight == 0 for each in calls.statistics().values())
        for ref in supervisor.refs.values():
            found = ref.statistics()
            counted = found.calls
            parts = (
                counted.ok + counted.empty + counted.late + sum(counted.failed.values()) + sum(counted.skipped.values())
            )
            assert (found.state, found.in_flight, found.mailbox.depth) == ("running", 0, 0), found
            assert counted.total == parts, found
        for name, units in METERED.items():
            # A unit is counted before its request is sent, so there are never more requests than units.
            ever = supervisor.refs[name].statistics().billed.units
            assert self.net.calls[name] <= ever, (name, self.net.calls[name], ever)
            by_day = Counter(int(seen.wall // 86_400) for seen in self.net.seen if seen.remote == name)
            assert all(count <= units for count in by_day.values()), (name, by_day)
        for name, ref in supervisor.refs.items():
            if ref.row.rate is not None and name in self.net.handlers:
                assert_within_rate(name, ref.row, [seen.at for seen in self.net.seen if seen.remote == name])


def assert_within_rate(name: str, row: Row, at: list[float]) -> None:
    """No `count + 1` requests in one period; a retry right after a failure is part of the call that had the slot."""
    assert row.rate is not None
    size = row.rate.count * (1 + row.retries)
    for first, last in zip(at, at[size:], strict=False):
        assert last - first > row.rate.period * 0.98, (name, first, last)


def kinds_of(supervisor: Supervisor) -> set[str]:
    """Every kind of failure that some instance met."""
    found: set[str] = set()
    for ref in supervisor.refs.values():
        counted = ref.statistics().calls
        found |= {*counted.failed, *counted.skipped}
    return found


def outcome(asked: Asked) -> str:
    if asked.answer is None:
        return "left"
    return "error" if asked.answer.is_error else "answer"
