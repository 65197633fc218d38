"""Two server processes and one Redis: a quota and a rate that both keep together, whatever becomes of Redis."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.bench._load import Call
from tests.e2e._raw import DIED, ask
from tests.e2e._stage import FakenetProcess, ServerProcess, server_process
from tests.redislab import RedisProcess, redis_process

pytestmark = pytest.mark.system("redis-server")

PASSWORD = "gate-Keeper%7"


class Replicas:
    """Two servers that know one Redis. SearXNG has a quota and a rate; Bing's pictures have a rate and no quota."""

    def __init__(self, net: FakenetProcess, servers: tuple[ServerProcess, ServerProcess]) -> None:
        self.net = net
        self.servers = servers
        self.ports = [int(server.url.rpartition(":")[2]) for server in servers]

    async def call(self, number: int, tool: str = "web_search", timeout_ms: int = 5_000) -> dict[str, Any]:
        """One call to the server whose turn it is."""
        arguments = {"query": f"number {number}", "timeout_ms": timeout_ms}
        return await ask(self.ports[number % 2], Call(tool, arguments))

    async def load(self, calls: int, *, at_once: int, timeout_ms: int) -> list[dict[str, Any]]:
        """The answers to so many searches through both servers."""
        numbers, answers = iter(range(calls)), []

        async def work() -> None:
            for number in numbers:
                answers.append(await self.call(number, timeout_ms=timeout_ms))

        async with trio.open_nursery() as nursery:
            for _ in range(at_once):
                nursery.start_soon(work)
        return answers

    def stats(self, index: int) -> dict[str, Any]:
        answer: dict[str, Any] = self.servers[index].get("/stats").json()
        return answer

    def used(self, index: int) -> int:
        [searxng] = [one for one in self.stats(index)["actors"] if one["instance"] == "searxng"]
        return int(searxng["quota"]["used"])

    def starts(self) -> list[float]:
        """When the searches came to SearXNG."""
        return sorted(request["wall"] for request in self.net.requests("searxng"))

    def events(self, index: int, event: str) -> list[dict[str, Any]]:
        file = self.servers[index].log.parent / "research-mcp.log"
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        return [line for line in lines if line["event"] == event]


def admit(redis: RedisProcess) -> None:
    """Let in the user of LEDGER_URL; a Redis that starts again has forgotten it."""
    redis.ask("ACL", "SETUSER", "mcp", "on", f">{PASSWORD}", "~research-mcp:*", "+@all")


@asynccontextmanager
async def replicas(net: FakenetProcess, redis: RedisProcess, directory: Path, **more: str) -> AsyncIterator[Replicas]:
    admit(redis)
    environment = {
        "BING_IMAGES_BASE_URL": net.environment["BING_IMAGES_BASE_URL"],
        "EXTRACT_WORKERS": "1",
        "LEDGER_URL": redis.url.replace("redis://", f"redis://mcp:{PASSWORD.replace('%', '%25')}@"),
        "ALLOW_PRIVATE_NETWORK": "true",
        "SEARXNG_URL": net.urls["searxng"],
        "BING_IMAGES_RATE": "100/s",
    }
    with ExitStack() as stack:
        one, two = (
            stack.enter_context(server_process(environment | more, directory / name)) for name in ("one", "two")
        )
        yield Replicas(net, (one, two))


async def until(true: Callable[[], Any]) -> None:
    with trio.fail_after(15):
        while not true():
            await trio.sleep(0.2)


def densest(starts: list[float], count: int) -> float:
    """The shortest time in which one call more than `count` came."""
    return min((later - sooner for sooner, later in zip(starts, starts[count:], strict=False)), default=float("inf"))


def detail(result: dict[str, Any]) -> str:
    return str(result["content"][0]["text"])


def problems(pair: Replicas) -> list[str | None]:
    return [pair.stats(index)["service"]["ledger"]["problem"] for index in (0, 1)]


async def test_replicas_share_quota_and_rate_refuse_without_redis_and_say_that_it_was_emptied(net, directory):
    with redis_process() as redis:
        async with replicas(net, redis, directory, SEARXNG_QUOTA="20/month", SEARXNG_RATE="10/0.5s") as pair:
            redis.pause()
            refused = [await pair.call(number) for number in (0, 1)]
            free = [await pair.call(number, "web_search_images") for number in (0, 1)]
            gone = problems(pair)
            redis.resume()
            await until(lambda: problems(pair) == [None, None])

            answers = await pair.load(40, at_once=20, timeout_ms=9_000)
            await until(lambda: pair.used(0) == pair.used(1) == 20)
            starts = pair.starts()

            redis.kill()
            redis.start()
            admit(redis)
            await until(lambda: all("without its figures" in str(problem) for problem in problems(pair)))
            emptied = [await pair.call(number) for number in (0, 1)]

            assert all("(Redis) does not answer within 2 s" in detail(each) for each in refused), refused
            assert not any(each["isError"] for each in free)
            assert all(problem.startswith("the shared quota store (Redis) does not answer") for problem in gone)
            assert (sum(not answer["isError"] for answer in answers), len(answers), len(starts)) == (20, 40, 20)
            assert densest(starts, 10) >= 0.5
            assert all("redis-cli -n 0 HDEL research-mcp:ledger lost_at" in detail(each) for each in emptied)
            assert len(pair.starts()) == 20
            assert [len(pair.events(index, "ledger_emptied")) for index in (0, 1)] == [1, 1]
            assert PASSWORD not in "".join(
                server.log.read_text() + str(server.get("/stats").text) for server in pair.servers
            )


@pytest.mark.soak
async def test_two_thousand_calls_exceed_neither_a_quota_of_500_nor_50_a_second(net, directory):
    with redis_process() as redis:
        async with replicas(net, redis, directory, SEARXNG_QUOTA="500/month", SEARXNG_RATE="50/s") as pair:
            began_at = time.monotonic()
            answers = await pair.load(2_000, at_once=100, timeout_ms=20_000)
            took = time.monotonic() - began_at
            starts = pair.starts()
            granted = sum(not answer["isError"] for answer in answers)
            print(f"{granted} of {len(answers)} granted in {took:.1f} s; the densest 51 in {densest(starts, 50):.3f} s")

            assert (granted, len(answers), len(starts)) == (500, 2_000, 500)
            assert densest(starts, 50) >= 1.0
            assert redis.field("searxng:total") == "500"


@pytest.mark.soak
async def test_a_replica_that_is_killed_has_counted_what_it_called(net, directory):
    with redis_process() as redis:
        async with replicas(net, redis, directory, SEARXNG_QUOTA="500/month", SEARXNG_RATE="200/s") as pair:

            async def call(number: int) -> None:
                with contextlib.suppress(*DIED):
                    await pair.call(number)

            async with trio.open_nursery() as nursery:
                for number in range(200):
                    nursery.start_soon(call, number)
                await until(lambda: len(pair.starts()) > 20)
                pair.servers[0].process.kill()

            called, counted = len(pair.starts()), int(redis.field("searxng:total") or 0)
            print(f"{called} calls, {counted} units")
            assert called <= counted <= 500
            assert not (await pair.call(1))["isError"]
