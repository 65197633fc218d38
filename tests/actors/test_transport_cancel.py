"""Cancelling is what this service does all day: it must cost no pool slot, no task and no descriptor."""

from __future__ import annotations

import gc
import os
import random
import ssl

import httpx
import pytest
import trio

from providers._contract import ProviderError
from providers._wire import fetch_page
from tests.actors.certificates import authority, trusting_context
from tests.actors.netlab import Serve, answer, client_of, over_tls, read_head

PATHS = ("/at-once", "/slow", "/big", "/packed", "/redirect")


async def serve(stream: trio.abc.Stream) -> None:
    while head := await read_head(stream):
        path = head.split()[1].decode()
        if path == "/slow":
            await trio.sleep(0.02)
        if path == "/redirect":
            await stream.send_all(answer(b"", 302, "Location: /at-once"))
        elif path == "/big":
            await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n")
            for _ in range(30):
                await stream.send_all(b"x" * 10_000)
                await trio.sleep(0.0005)
        else:
            await stream.send_all(answer())


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def settle() -> None:
    """Let servers see that their clients have gone."""
    gc.collect()
    with trio.fail_after(5):
        for _ in range(20):
            await trio.testing.wait_all_tasks_blocked(0.002)


async def churn(
    client: httpx.AsyncClient, scheme: str, count: int, chance: random.Random, patience: float
) -> dict[str, int]:
    """`count` requests of all kinds, 25 at a time, each cancelled at a random moment before `patience` is over."""
    outcomes = {"answered": 0, "cancelled": 0, "failed": 0}

    async def one(path: str, patience: float, from_caller: bool) -> None:
        url = f"{scheme}://a.example.com{path}"
        with trio.move_on_after(patience) as scope:
            try:
                if from_caller:
                    await fetch_page(client, url, max_body_bytes=1_000_000)
                else:
                    await client.get(url)
                outcomes["answered"] += 1
            except (ProviderError, httpx.HTTPError):
                outcomes["failed"] += 1
        outcomes["cancelled"] += scope.cancelled_caught

    for _ in range(0, count, 25):
        async with trio.open_nursery() as nursery:
            for _ in range(25):
                nursery.start_soon(one, chance.choice(PATHS), chance.random() * patience, chance.random() < 0.5)
    return outcomes


async def churned(scheme: str, site: Serve, trust: ssl.SSLContext, count: int) -> None:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    async with client_of(site, trust=trust) as client:
        start = trio.current_time()
        await churn(client, scheme, 25, random.Random(0), 1000)
        pace = trio.current_time() - start
        pools = [client._transport._vendor, client._transport._caller]  # type: ignore[attr-defined]
        for pool in pools:
            await pool.aclose()
        await settle()
        tasks, open_files = trio.lowlevel.current_statistics().tasks_living, descriptors()

        outcomes = await churn(client, scheme, count, random.Random(seed), pace)

        assert [pool._requests for pool in pools] == [[], []]
        left = [repr(connection) for pool in pools for connection in pool.connections if not connection.is_idle()]
        assert left == []
        assert outcomes["cancelled"] > count / 20
        assert outcomes["answered"] > count / 20
        assert outcomes["failed"] == 0
        with trio.fail_after(5):
            for _ in range(20):
                assert (await client.get(f"{scheme}://a.example.com/at-once")).content == b"ok"
        for pool in pools:
            await pool.aclose()
        await settle()
        assert client._transport._bodies.held_bytes == 0  # type: ignore[attr-defined]
        assert descriptors() == open_files
        assert trio.lowlevel.current_statistics().tasks_living == tasks


async def test_cancelled_requests_leak_nothing() -> None:
    await churned("http", serve, trusting_context(), 150)


async def test_cancelled_handshakes_leak_nothing() -> None:
    site = over_tls(authority().server("a.example.com"), serve)

    await churned("https", site, trusting_context(), 60)


@pytest.mark.soak
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_five_thousand_cancelled_requests_leak_nothing(scheme: str) -> None:
    site = serve if scheme == "http" else over_tls(authority().server("a.example.com"), serve)

    await churned(scheme, site, trusting_context(), 5000)
