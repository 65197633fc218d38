"""What a stranger can send: the server lives, descriptors come back, and nobody else notices."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from structlog.testing import capture_logs

from service import hypercorn_guard
from service.hypercorn_guard import PINNED_VERSION, WrongHypercorn, check_version
from service.server import Shutdown
from tests.service.desk import Bench, FakeBackend
from tests.service.serverlab import Site, call, get, open_descriptors, receive_all, serving, serving_app

HOST = b"Host: localhost\r\n"
UPGRADE = (
    b"GET /mcp HTTP/1.1\r\n" + HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: bKdPyn3u98cTfZJSh4TNeQ==\r\n\r\n"
)
H2C = b"GET /mcp HTTP/1.1\r\n" + HOST + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: "
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
JSON_POST = b"POST /mcp HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\nAccept: */*\r\n"

PACKETS: dict[str, tuple[bytes, bytes]] = {
    "websocket upgrade": (UPGRADE, b"HTTP/1.1 405"),
    "websocket upgrade with trailing bytes": (UPGRADE + b"x\r\n\r\n", b"HTTP/1.1 405"),
    "websocket upgrade with frames": (UPGRADE + b"\x81\x05hello" * 100, b"HTTP/1.1 405"),
    "websocket without a version": (UPGRADE.replace(b"Sec-WebSocket-Version: 13\r\n", b""), b"HTTP/1.1 405"),
    "h2c upgrade": (H2C + b"AAMAAABkAAQAAP__\r\n\r\n", b"HTTP/1.1 405"),
    "h2c upgrade with bad settings": (H2C + b"!!!!\r\n\r\n", b"HTTP/1.1 405"),
    "HTTP/2 preface and garbage": (PREFACE + os.urandom(200), b"HTTP/1.1 505"),
    "HTTP/2 preface and a reset": (
        PREFACE + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x08",
        b"HTTP/1.1 505",
    ),
    "HTTP/3.7": (b"GET / HTTP/3.7\r\n" + HOST + b"\r\n", b"HTTP/1.1 505"),
    "garbage": (bytes(range(256)) * 2, b"HTTP/1.1 400"),
    "a bad target": (b"GET http://[::1 HTTP/1.1\r\n" + HOST + b"\r\n", b"HTTP/1.1 404"),
    "bytes in the path": (b"GET /\xff\xfe HTTP/1.1\r\n" + HOST + b"\r\n", b"HTTP/1.1 400"),
    "escaped bytes in the path": (b"GET /%ff%fe HTTP/1.1\r\n" + HOST + b"\r\n", b"HTTP/1.1 404"),
    "a bad chunk": (JSON_POST + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n", b"HTTP/1.1 400"),
    "no host": (b"POST /mcp HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", b"HTTP/1.1 400"),
    "two hosts": (b"GET /stats HTTP/1.1\r\n" + HOST * 2 + b"\r\n", b"HTTP/1.1 400"),
    "HTTP/1.0": (b"GET /mcp HTTP/1.0\r\n\r\n", b"HTTP/1.1 421"),
    "two lengths": (JSON_POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", b"HTTP/1.1 400"),
    "length and chunks": (
        JSON_POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 400",
    ),
    "bytes that are no text": (JSON_POST + b"Content-Length: 4\r\n\r\n\xff\xfe\xfd\xfc", b"HTTP/1.1 400"),
    "deep JSON": (JSON_POST + b"Content-Length: 200000\r\n\r\n" + b"[" * 200_000, b"HTTP/1.1 400"),
    "a batch": (JSON_POST + b"Content-Length: 4\r\n\r\n[{}]", b"HTTP/1.1 400"),
    "requests in a row": ((b"GET /nope HTTP/1.1\r\n" + HOST + b"\r\n") * 50, b"HTTP/1.1 404"),
    "a wait for 100": (JSON_POST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}", b"HTTP/1.1 100"),
    "a huge header": (b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000 + b"\r\n\r\n", b"HTTP/1.1 431"),
    "a foreign scheme": (b"GET ftp://x/ HTTP/1.1\r\n" + HOST + b"\r\n", b"HTTP/1.1 404"),
    "a CONNECT": (b"CONNECT a.example:443 HTTP/1.1\r\n" + HOST + b"\r\nmore bytes", b"HTTP/1.1 404"),
    "nothing": (b"", b""),
}


@pytest.fixture
async def site() -> Any:
    async with serving(keep_alive=0.4) as running:
        yield running


@pytest.mark.parametrize("name", PACKETS)
async def test_a_packet_gets_its_answer_and_the_server_lives(site: Site, name: str) -> None:
    packet, expected = PACKETS[name]

    answer = await site.send(packet, silence=0.05)

    assert answer.startswith(expected), answer[:200]
    assert await site.is_alive()


async def test_all_packets_at_once_leave_nothing_behind(site: Site) -> None:
    before = open_descriptors()

    async with trio.open_nursery() as nursery:
        for packet, _ in PACKETS.values():
            nursery.start_soon(lambda packet=packet: site.send(packet, wait=0.5, silence=0.05))
    await settled(lambda: open_descriptors() <= before)

    assert await site.is_alive()


async def settled(holds: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait until something holds; fails where it does not in time."""
    with trio.fail_after(seconds):
        while not holds():
            await trio.sleep(0.01)


async def test_every_request_in_a_row_is_answered(site: Site) -> None:
    answer = await site.send(get("/nope") * 49 + get("/nope", close=True), silence=5.0)

    assert answer.count(b"HTTP/1.1 404") == 50


async def test_clients_that_pipeline_and_leave_cost_no_descriptor(site: Site) -> None:
    before = open_descriptors()

    for _ in range(40):
        async with await site.connect() as stream:
            await stream.send_all(get("/nope") * 20)
    await settled(lambda: not site.server._connections and open_descriptors() <= before)


async def slow_search(_query: Any) -> Any:
    await trio.sleep(0.3)


async def test_clients_that_pipeline_calls_and_leave_cost_no_descriptor() -> None:
    bench = Bench(FakeBackend(slow_search))
    async with serving(bench) as site:
        before = open_descriptors()
        for _ in range(20):
            async with await site.connect() as stream:
                await stream.send_all(call("web_search", query="q") * 3)
        await settled(lambda: open_descriptors() <= before)


async def test_bodies_that_are_refused_unread_cost_no_descriptor(site: Site) -> None:
    before = open_descriptors()
    head = JSON_POST.replace(b"localhost", b"evil.example") + b"Content-Length: 100000000\r\n\r\n"

    async def push() -> None:
        answer = await site.send(head + b"x" * 3_000_000, silence=0.1)
        assert b"421" in answer or b"(reset)" in answer or answer == b""

    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(push)
    await settled(lambda: open_descriptors() <= before)


async def test_a_body_that_is_too_large_is_told_so(site: Site) -> None:
    head = JSON_POST + b"Content-Length: 2000000\r\n\r\n"

    answer = await site.send(head + b"x" * 2_000_000)

    assert answer.startswith(b"HTTP/1.1 413")


async def test_chunks_without_end_are_cut(site: Site) -> None:
    async with await site.connect() as stream:
        with trio.fail_after(5), pytest.raises(trio.BrokenResourceError):
            await stream.send_all(JSON_POST + b"Transfer-Encoding: chunked\r\n\r\n")
            while True:
                await stream.send_all(b"10000\r\n" + b"x" * 65536 + b"\r\n")

    assert await site.is_alive()


async def test_headers_without_end_are_cut(site: Site) -> None:
    async with await site.connect() as stream:
        await stream.send_all(b"GET / HTTP/1.1\r\n")
        with trio.fail_after(3):
            assert await receive_all(stream, 3) == b""


async def test_a_connection_without_a_request_is_closed_early(site: Site) -> None:
    before = open_descriptors()
    async with await site.connect():
        await settled(lambda: len(site.server._connections) == 1)

    # Not only after the keep-alive time, as in hypercorn.
    await settled(lambda: open_descriptors() <= before, 0.3)


# --- clients that do not read ---------------------------------------------------------------------------------------


async def big(_scope: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(100):
        await send({"type": "http.response.body", "body": b"x" * 1_000_000, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


NO_SHUTDOWN = Shutdown(lambda: None, lambda _: None)


async def test_a_client_that_does_not_read_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hypercorn_guard, "SEND_SECONDS", 0.2)
    async with serving_app(big, NO_SHUTDOWN) as site, await site.connect() as stream:
        await stream.send_all(get("/"))

        await settled(lambda: len(site.server._connections) == 1)
        await settled(lambda: len(site.server._connections) == 0)


async def test_a_client_that_reads_slowly_is_not_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow(_scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * 20_000_000})

    monkeypatch.setattr(hypercorn_guard, "SEND_SECONDS", 0.3)
    async with serving_app(slow, NO_SHUTDOWN) as site, await site.connect() as stream:
        await stream.send_all(get("/", close=True))
        received, started_at = 0, trio.current_time()
        while chunk := await stream.receive_some(65536):
            received += len(chunk)
            await trio.sleep(0.003)
        took = trio.current_time() - started_at

    assert received > 20_000_000
    assert took > 0.3


async def test_aborting_ends_a_send_that_no_cancellation_reaches() -> None:
    async with serving_app(big, NO_SHUTDOWN) as site, await site.connect() as stream:
        await stream.send_all(get("/"))
        await settled(lambda: any(one._writing for one in site.server._connections))
        for connection in list(site.server._connections):
            connection.abort()

        await settled(lambda: len(site.server._connections) == 0, 1.0)


async def test_a_client_that_resets_in_mid_answer_ends_its_connection_only() -> None:
    async with serving_app(big, NO_SHUTDOWN) as site:
        stream = await site.connect()
        await stream.send_all(get("/"))
        await stream.receive_some(1000)
        await trio.aclose_forcefully(stream)

        await settled(lambda: len(site.server._connections) == 0)
        assert (await site.send(get("/", close=True), silence=0.1)).startswith(b"HTTP/1.1 200")


# --- applications that break ----------------------------------------------------------------------------------------


async def fails(_scope: Any, _receive: Any, _send: Any) -> None:
    raise KeyError("broken")


async def fails_in_a_group(_scope: Any, _receive: Any, _send: Any) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)
        raise KeyError("broken")


async def fails_in_mid_answer(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"9")]})
    await send({"type": "http.response.body", "body": b"x", "more_body": True})
    raise KeyError("broken")


async def answers_nothing(_scope: Any, _receive: Any, _send: Any) -> None:
    return


@pytest.mark.parametrize(
    ("app", "expected"),
    [
        (fails, b"HTTP/1.1 500"),
        (fails_in_a_group, b"HTTP/1.1 500"),
        (fails_in_mid_answer, b"HTTP/1.1 200"),
        (answers_nothing, b"HTTP/1.1 500"),
    ],
)
async def test_a_broken_application_breaks_one_request(app: Callable[..., Awaitable[None]], expected: bytes) -> None:
    async with serving_app(app, NO_SHUTDOWN) as site:
        with capture_logs() as lines:
            first = await site.send(get("/x"), silence=0.1)
            second = await site.send(get("/x"), silence=0.1)

    assert first.startswith(expected)
    assert second.startswith(expected)
    if app is not answers_nothing:
        assert lines[0]["event"] in ("request_failed", "connection_failed")


async def test_what_hypercorn_itself_breaks_on_stays_in_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any) -> None:
        raise RuntimeError("a bug of hypercorn")

    async with serving() as site:
        with monkeypatch.context() as patch, capture_logs() as lines:
            patch.setattr(hypercorn_guard._Protocol, "_handle_events", broken)
            assert await site.send(get("/healthz"), silence=0.1) == b""
        assert await site.is_alive()

    assert [line["event"] for line in lines] == ["connection_failed"]


async def fails_when_cancelled(*_: Any) -> None:
    async def on_the_way_out() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise KeyError("on the way out")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)
        nursery.start_soon(on_the_way_out)


async def test_a_request_that_fails_amid_a_shutdown_is_logged() -> None:
    with capture_logs() as lines:
        async with serving_app(fails_when_cancelled, NO_SHUTDOWN) as site, await site.connect() as stream:
            await stream.send_all(get("/"))
            await settled(lambda: len(site.server._connections) == 1)
            await trio.testing.wait_all_tasks_blocked(0.02)

    assert [line["event"] for line in lines] == ["request_failed"]


async def test_a_connection_that_fails_amid_a_shutdown_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hypercorn_guard.Connection, "_serve", fails_when_cancelled)
    with capture_logs() as lines:
        async with serving_app(answers_nothing, NO_SHUTDOWN) as site, await site.connect():
            await settled(lambda: len(site.server._connections) == 1)
            await trio.testing.wait_all_tasks_blocked(0.02)

    assert [line["event"] for line in lines] == ["connection_failed"]


async def test_what_asks_the_process_to_end_is_not_held_up() -> None:
    async def leaves(*_: Any) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            raise SystemExit(3)

    with pytest.raises(BaseExceptionGroup) as caught:
        async with serving_app(leaves, NO_SHUTDOWN) as site:
            await site.send(get("/"))
            await trio.sleep_forever()

    assert caught.value.split(SystemExit)[0] is not None


async def test_a_bad_chunk_after_the_answer_began_ends_the_connection() -> None:
    async def answers_early(_scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"early", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass

    async with serving_app(answers_early, NO_SHUTDOWN) as site, await site.connect() as stream:
        await stream.send_all(JSON_POST + b"Transfer-Encoding: chunked\r\n\r\n")
        assert b"early" in await receive_all(stream, 2, 0.05)
        await stream.send_all(b"ZZ\r\n")
        with trio.fail_after(2):
            await receive_all(stream, 2)
        await settled(lambda: len(site.server._connections) == 0)


async def test_aborting_an_idle_connection_keeps_it_from_sending() -> None:
    async with serving() as site, await site.connect() as stream:
        await settled(lambda: len(site.server._connections) == 1)
        [connection] = site.server._connections
        connection.abort()
        await stream.send_all(get("/healthz"))

        assert await receive_all(stream, 2) == b""


# --- the version ----------------------------------------------------------------------------------------------------


def test_the_pinned_version_is_installed_and_demanded() -> None:
    check_version()

    assert importlib.metadata.version("hypercorn") == PINNED_VERSION
    assert f'"hypercorn=={PINNED_VERSION}"' in Path("pyproject.toml").read_text()
    with pytest.raises(WrongHypercorn, match=r"hypercorn 0\.18\.0 is needed, 0\.19\.0 is installed"):
        check_version("0.19.0")
