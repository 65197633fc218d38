"""Ten thousand calls, every fifth of which meets a fault: none is lost, and nothing of them stays (issue 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

import pytest
import trio

from actors.pool import IDLE_SECONDS
from tests.bench._load import Call
from tests.e2e._raw import ask
from tests.e2e._stage import ServerProcess, fakenet_process, server_process
from tests.soak.process import resident_bytes, sockets

CALLS = 10_000
WARM_UP = 2_000
ROUND = 2_000
IN_FLIGHT = 64
OWN_IDLE_SECONDS = 5.0  # HTTP_KEEP_ALIVE
GROWTH_BYTES = 20 << 20
FAULTS = {
    "reset_before_answer": {}, "closed_before_answer": {}, "reset_in_body": {}, "short_body": {}, "no_http": {},
    "silent": {}, "slow_body": {}, "status": {"code": 500}, "truncated_gzip": {}, "deep_json": {},
}  # fmt: skip


def calls(web: str, count: int) -> Iterator[Call]:
    """Reads and, every tenth, a search. One in five reads is of a page with a fault; the faults take turns."""
    names = list(FAULTS)
    for number in range(count):
        if number % 10 == 9:
            yield Call("web_search", {"query": f"query {number}", "timeout_ms": 5000})
            continue
        topic = f"fault-{names[number // 5 % len(names)]}" if number % 5 == 0 else "fine"
        yield Call(
            "read_page", {"url": f"{web}/article/{topic}/{number}", "timeout_ms": 2000 if "-" in topic else 30000}
        )


async def answers(port: int, every: Iterator[Call]) -> Counter[str]:
    """Make all calls, IN_FLIGHT at a time, and count what came of them. A call that is lost raises."""
    counts: Counter[str] = Counter()

    async def work() -> None:
        for call in every:
            result = await ask(port, call)
            counts["failed" if result.get("isError") else "answered"] += 1

    async with trio.open_nursery() as nursery:
        for _ in range(IN_FLIGHT):
            nursery.start_soon(work)
    return counts


async def at_rest(server: ServerProcess, web: str) -> tuple[int, int]:
    """Bytes of memory and open sockets when nothing goes on.

    A pool drops its idle connections when it is next asked for one: hence a read and a search after their time is over.
    """
    port = int(server.url.rpartition(":")[2])
    await trio.sleep(IDLE_SECONDS + 1)
    await ask(port, Call("read_page", {"url": f"{web}/article/rest/1"}))
    await ask(port, Call("web_search", {"query": "rest"}))
    await trio.sleep(OWN_IDLE_SECONDS + 1)
    return resident_bytes(server.process.pid), sockets(server.process.pid)


async def flood(server: ServerProcess, web: str, warm_up: int, count: int) -> None:
    port = int(server.url.rpartition(":")[2])
    await answers(port, calls(web, warm_up))
    memory, baseline = await at_rest(server, web)
    every, counts = calls(web, count), Counter[str]()
    for _ in range(0, count, ROUND):
        counts += await answers(port, islice(every, ROUND))
        print(f"{dict(counts)}; memory +{(resident_bytes(server.process.pid) - memory) / (1 << 20):.1f} MB under load")
    after, left = await at_rest(server, web)
    print(f"at rest: memory +{(after - memory) / (1 << 20):.1f} MB; sockets {baseline} before, {left} after")
    assert counts.total() == count
    assert counts["answered"] >= 0.79 * count
    assert after - memory < GROWTH_BYTES
    assert left <= baseline


@pytest.mark.soak
def test_ten_thousand_calls_with_faults_leave_nothing_behind(tmp_path):
    with fakenet_process() as net:
        for fault, arguments in FAULTS.items():
            net.play("web", fault, path=f"/article/fault-{fault}/", **arguments)
        environment = net.environment | {"SEARXNG_URL": net.urls["searxng"], "SEARXNG_RATE": "none"}
        environment = {name: environment[name] for name in ("SEARXNG_URL", "SEARXNG_RATE", "ALLOW_PRIVATE_NETWORK")}
        with server_process(environment, tmp_path / "server") as server:
            trio.run(flood, server, net.urls["web"], WARM_UP, CALLS)
