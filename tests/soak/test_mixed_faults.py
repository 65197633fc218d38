"""Ten thousand calls, every fifth of which meets a fault: none is lost, and nothing of them stays (issue 3)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from tests.bench._load import Call
from tests.e2e._raw import ask
from tests.e2e._stage import ServerProcess, fakenet_process, server_process

CALLS = 10_000
WARM_UP = 2_000
IN_FLIGHT = 64
GROWTH_BYTES = 20 << 20
FAULTS = {
    "reset_before_answer": {}, "closed_before_answer": {}, "reset_in_body": {}, "short_body": {}, "no_http": {},
    "silent": {}, "slow_body": {}, "status": {"code": 500}, "truncated_gzip": {}, "deep_json": {},
}  # fmt: skip


def resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def sockets(pid: int) -> int:
    descriptors = Path(f"/proc/{pid}/fd").iterdir()
    return sum(os.readlink(descriptor).startswith("socket:") for descriptor in descriptors)


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


async def settled(server: ServerProcess, baseline: int, seconds: float = 20) -> int:
    """The sockets that are open when they are no more than `baseline`, or after so many seconds."""
    with trio.move_on_after(seconds):
        while sockets(server.process.pid) > baseline:
            await trio.sleep(0.2)
    return sockets(server.process.pid)


async def flood(server: ServerProcess, web: str, warm_up: int, count: int) -> None:
    port, pid = int(server.url.rpartition(":")[2]), server.process.pid
    await answers(port, calls(web, warm_up))
    baseline = await settled(server, 0, seconds=8)
    before = resident_bytes(pid)
    counts = await answers(port, calls(web, count))
    after, left = resident_bytes(pid), await settled(server, baseline)
    print(f"{dict(counts)}; memory +{(after - before) / (1 << 20):.1f} MB; sockets {baseline} before, {left} after")
    assert counts.total() == count
    assert counts["answered"] >= 0.79 * count
    assert after - before < GROWTH_BYTES
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
