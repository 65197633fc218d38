"""Many calls that all wait for a slow remote: all are answered, each costs little, and the memory is used again."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from tests.bench._load import Call, Figures, burst
from tests.bench.latency import resident_mb
from tests.e2e._stage import FakenetProcess, fakenet_process, server_process

MOST_KB = 100.0


async def rounds(net: FakenetProcess, directory: Path, calls: int, seconds: float) -> list[tuple[Figures, float]]:
    """Twice `calls` at once, each of `seconds` at the remote: what they got, and the process's peak in MB.

    The first entry is the process at rest. A process does not give memory back to the system, so what counts is that
    the second round finds room in what the first one took.
    """
    variables = net.environment | {"MAX_CALLS_IN_FLIGHT": str(calls + 100), "SEARXNG_URL": net.urls["searxng"]}
    variables |= {"SEARXNG_WORKERS": str(calls), "SEARXNG_RATE": "none", "SEARXNG_TIMEOUT": "60"}
    variables = {name: value for name, value in variables.items() if name.startswith(("SEARXNG", "MAX", "ALLOW"))}
    call = Call("web_search", {"query": "type k thermocouple"})
    with server_process(variables, directory) as server:
        port = int(server.url.rpartition(":")[2])
        for _ in range(3):
            await burst(port, call, 16)
        found = [(Figures(), resident_mb(server.process))]
        net.play("searxng", "latency", seconds=seconds)
        for _ in range(2):
            found.append(await one_round(port, call, calls, server.process))
        return found


async def one_round(port: int, call: Call, calls: int, process: object) -> tuple[Figures, float]:
    peak = 0.0

    async def watch() -> None:
        nonlocal peak
        while True:
            peak = max(peak, resident_mb(process))
            await trio.sleep(0.05)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        figures = await burst(port, call, calls)
        nursery.cancel_scope.cancel()
    return figures, peak


def check(found: list[tuple[Figures, float]], calls: int, allowed_kb: float) -> None:
    (_, rest), (first, peak), (second, again) = found
    per_call = (peak - rest) * 1024 / calls
    print(
        f"{calls} in flight: {rest:.0f} MB at rest, {peak:.0f} at the peak, then {again:.0f}; {per_call:.0f} kB a call"
    )
    for figures in (first, second):
        assert figures.errors == 0, figures.sample
        assert len(figures.latencies) == calls
    assert per_call < allowed_kb
    assert again < peak * 1.05


async def test_a_hundred_calls_in_flight_are_all_answered_in_little_memory(tmp_path):
    with fakenet_process() as net:
        found = await rounds(net, tmp_path, 100, 0.7)

    # The allocator takes memory in steps, which weigh more on few calls.
    check(found, 100, 2 * MOST_KB)


@pytest.mark.soak
async def test_five_hundred_calls_in_flight_are_all_answered_in_little_memory(tmp_path):
    with fakenet_process() as net:
        found = await rounds(net, tmp_path, 500, 2.0)

    check(found, 500, MOST_KB)
