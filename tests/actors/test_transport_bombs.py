"""Hostile transfers over real sockets: a typed end in time, little memory, a loop that keeps turning."""

from __future__ import annotations

import gc
import gzip
import io
import resource
import struct
import zlib
from functools import lru_cache
from typing import Any

import httpx
import pytest
import trio

from providers._contract import Malformed, ProviderError, TooLarge
from providers._wire import fetch_page
from tests.actors.netlab import Serve, answer, client_of, once, read_head

URL = "http://a.example.com/page"
CAP = 5 * 1024 * 1024
MEGABYTE = 1024 * 1024
HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


# --- bombs ----------------------------------------------------------------------------------------------------------


@lru_cache
def gzip_bomb(megabytes: int) -> bytes:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as file:
        for _ in range(megabytes):
            file.write(bytes(MEGABYTE))
    return packed.getvalue()


def layered(megabytes: int, layers: int) -> bytes:
    packed = gzip_bomb(megabytes)
    for _ in range(layers - 1):
        packed = gzip.compress(packed)
    return packed


def deflate_bomb(megabytes: int) -> bytes:
    stream = zlib.compressobj(1)
    return b"".join(stream.compress(bytes(MEGABYTE)) for _ in range(megabytes)) + stream.flush()


def zstd_bomb(blocks: int) -> bytes:
    def block(is_last: int) -> bytes:
        return struct.pack("<I", (131072 << 3) | 2 | is_last)[:3] + b"A"

    return b"\x28\xb5\x2f\xfd\x00\x38" + block(0) * (blocks - 1) + block(1)


def encoded(body: bytes, encoding: str) -> Serve:
    return once(answer(body, 200, f"Content-Encoding: {encoding}"))


def endless(head: bytes, piece: bytes, pause: float = 0) -> Serve:
    async def serve(stream: trio.abc.Stream) -> None:
        await read_head(stream)
        await stream.send_all(head)
        while True:
            await stream.send_all(piece)
            await trio.sleep(pause)

    return serve


# --- measuring ------------------------------------------------------------------------------------------------------


def memory_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


class Watch:
    """The longest stall of the loop and the growth of memory while a block runs."""

    async def __aenter__(self) -> Watch:
        gc.collect()
        self.stall = 0.0
        self._start = self._most = memory_bytes()
        self._manager = trio.open_nursery()
        self._nursery = await self._manager.__aenter__()
        self._nursery.start_soon(self._look)
        await trio.lowlevel.checkpoint()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        self._nursery.cancel_scope.cancel()
        return await self._manager.__aexit__(*error)

    @property
    def growth(self) -> int:
        return self._most - self._start

    async def _look(self) -> None:
        while True:
            before = trio.current_time()
            await trio.sleep(0.002)
            self.stall = max(self.stall, trio.current_time() - before - 0.002)
            self._most = max(self._most, memory_bytes())


async def meet(serve: Serve, *, deadline: float) -> tuple[ProviderError | str, float, Watch]:
    """What became of a fetch, how long it took, and what it cost. The next page must come as always."""
    calm = True

    async def serve_twice(stream: trio.abc.Stream) -> None:
        await (serve if calm else once(answer(b"next page")))(stream)

    outcome: ProviderError | str = "timeout"
    async with client_of(serve_twice) as client, Watch() as watch:
        start = trio.current_time()
        with trio.move_on_after(deadline):
            try:
                outcome = str(len((await fetch_page(client, URL, max_body_bytes=CAP)).body))
            except ProviderError as error:
                outcome = error
        took = trio.current_time() - start
        calm = False
        with trio.fail_after(2):
            assert (await fetch_page(client, URL, max_body_bytes=CAP)).body == b"next page"
    return outcome, took, watch


BOMBS: dict[str, tuple[Serve, type[ProviderError]]] = {
    "three layers": (encoded(layered(64, 3), "gzip, gzip, gzip"), Malformed),
    "brotli": (encoded(b"\x5b\xff\xff" * 100, "br"), Malformed),
    "zstandard": (encoded(zstd_bomb(16_000), "zstd"), Malformed),
    "endless chunks": (endless(HEAD, b"4000\r\n" + b"z" * 0x4000 + b"\r\n"), TooLarge),
    "endless until close": (endless(b"HTTP/1.1 200 OK\r\n\r\n", b"z" * 65536), TooLarge),
    "early hints": (endless(b"", b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" * 100), Malformed),
    "endless header": (endless(b"HTTP/1.1 200 OK\r\nx: ", b"y" * 10_000), Malformed),
    "endless headers": (endless(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n" * 1000), Malformed),
    "endless chunk extension": (endless(HEAD + b"5;", b"x" * 10_000), Malformed),
}


@pytest.mark.parametrize("name", BOMBS)
async def test_a_hostile_transfer_has_a_typed_end_and_costs_little(name: str) -> None:
    serve, kind = BOMBS[name]

    outcome, took, watch = await meet(serve, deadline=4)

    assert type(outcome) is kind
    assert took < 4
    assert watch.growth < 50 * MEGABYTE


@pytest.mark.parametrize(("encoding", "bomb"), [("gzip", gzip_bomb), ("deflate", deflate_bomb)])
async def test_a_compressed_bomb_is_stopped_at_the_cap(encoding: str, bomb: Any) -> None:
    outcome, took, watch = await meet(encoded(bomb(64), encoding), deadline=4)

    assert type(outcome) is TooLarge
    assert took < 4
    assert watch.growth < 20 * MEGABYTE


DRIBBLES: dict[str, Serve] = {
    "body": endless(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n", b"x", 0.02),
    "headers": endless(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n", 0.02),
    "hints": endless(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", 0.02),
    "nothing at all": endless(b"", b"", 0.02),
    "tiny chunks": endless(HEAD, b"1\r\nz\r\n" * 100),
}


@pytest.mark.parametrize("name", DRIBBLES)
async def test_a_transfer_without_end_ends_with_the_deadline(name: str) -> None:
    outcome, took, watch = await meet(DRIBBLES[name], deadline=0.3)

    assert outcome == "timeout"
    assert took < 0.8
    assert watch.growth < 20 * MEGABYTE


async def test_the_remote_sees_the_end_at_once_when_the_caller_goes() -> None:
    started, ended = trio.Event(), trio.Event()

    async def serve(stream: trio.abc.Stream) -> None:
        await read_head(stream)
        started.set()
        assert await stream.receive_some(1) == b""
        ended.set()

    async with client_of(serve) as client, trio.open_nursery() as nursery:

        async def fetch() -> None:
            with trio.fail_after(10):
                await fetch_page(client, URL, max_body_bytes=CAP)

        nursery.start_soon(fetch)
        await started.wait()
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True), trio.fail_after(0.1):
            await ended.wait()

    assert ended.is_set()


@pytest.mark.soak
@pytest.mark.parametrize(("encoding", "bomb"), [("gzip", gzip_bomb), ("deflate", deflate_bomb)])
async def test_half_a_gigabyte_in_half_a_megabyte_is_stopped_at_the_cap(encoding: str, bomb: Any) -> None:
    wire = bomb(512)

    outcome, took, watch = await meet(encoded(wire, encoding), deadline=25)

    assert type(outcome) is TooLarge
    assert took < 1
    assert watch.growth < 50 * MEGABYTE
    assert watch.stall < 0.05


@pytest.mark.soak
@pytest.mark.parametrize("name", BOMBS)
async def test_a_hostile_transfer_does_not_hold_the_loop(name: str) -> None:
    serve, kind = BOMBS[name]

    outcome, took, watch = await meet(serve, deadline=25)

    assert type(outcome) is kind
    assert took < 2
    assert watch.stall < 0.05


@pytest.mark.soak
@pytest.mark.parametrize("name", DRIBBLES)
async def test_a_transfer_without_end_ends_with_a_long_deadline_too(name: str) -> None:
    outcome, took, watch = await meet(DRIBBLES[name], deadline=25)

    assert outcome == "timeout" or isinstance(outcome, ProviderError)
    assert took < 25.5
    assert watch.growth < 50 * MEGABYTE
    assert watch.stall < 0.05


@pytest.mark.soak
async def test_a_vendors_ten_megabytes_cost_fifteen_at_most() -> None:
    body = answer(b"[" + b"1," * (5 * MEGABYTE) + b"1]")

    async with client_of(once(body)) as client, Watch() as watch:
        with trio.fail_after(10), pytest.raises(httpx.ReadError):
            await client.get(URL, extensions={"max_body_bytes": CAP})

    assert watch.growth < 15 * MEGABYTE
