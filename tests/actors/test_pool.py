"""The pool's connections under cancellation."""

from __future__ import annotations

import ssl

import httpcore2
import pytest
import trio

from actors.backend import Backend
from actors.guard import Guard
from actors.pool import MAX_CONNECTIONS, Connection, Pool
from tests.actors.netlab import Names

ORIGIN = httpcore2.Origin(b"http", b"a.example.com", 80)
REQUEST = httpcore2.Request("GET", "http://a.example.com/", headers={"Host": "a.example.com"})


@pytest.fixture
def pool() -> Pool:
    async def dial(address: str, port: int) -> trio.abc.Stream:
        # As a socket's call that is done at once: whoever is cancelled during it sees that at the next step only.
        await trio.lowlevel.cancel_shielded_checkpoint()
        return trio.testing.memory_stream_pair()[0]

    return Pool(Backend(Guard(resolve=Names(), dial=dial)), ssl.create_default_context())


async def test_a_request_cancelled_at_every_step_of_opening_leaves_no_connection(pool: Pool) -> None:
    left = []
    for steps in range(30):
        with trio.fail_after(5), trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(pool.handle_async_request, REQUEST)
                for _ in range(steps):
                    await trio.lowlevel.checkpoint()
                scope.cancel()
        assert scope.cancelled_caught
        left += [connection for connection in pool.connections if not connection.is_closed()]

    assert left == []


async def test_a_connection_whose_request_was_never_sent_is_closed_though_its_task_is_cancelled(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = []

    async def unsent(self: object, request: httpcore2.Request) -> None:
        await trio.sleep_forever()

    async def aclose(self: object) -> None:
        await trio.lowlevel.checkpoint()
        closed.append(self)

    monkeypatch.setattr(httpcore2.AsyncHTTPConnection, "handle_async_request", unsent)
    monkeypatch.setattr(httpcore2.AsyncHTTPConnection, "aclose", aclose)
    connection = pool.create_connection(ORIGIN)

    with trio.move_on_after(0):
        await connection.handle_async_request(REQUEST)

    assert closed == [connection]


async def test_a_connection_that_someone_else_uses_is_left_alone(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    async def busy(self: object, request: httpcore2.Request) -> httpcore2.Response:
        raise httpcore2.ConnectionNotAvailable

    monkeypatch.setattr(httpcore2.AsyncHTTPConnection, "handle_async_request", busy)
    connection = pool.create_connection(ORIGIN)
    assert isinstance(connection, Connection)

    with pytest.raises(httpcore2.ConnectionNotAvailable):
        await connection.handle_async_request(REQUEST)

    assert not connection.is_closed()


async def test_requests_past_the_limit_of_connections_wait(pool: Pool) -> None:
    async def ask() -> None:
        with trio.fail_after(60):
            await pool.handle_async_request(REQUEST)

    async with trio.open_nursery() as nursery:
        for _ in range(MAX_CONNECTIONS + 5):
            nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
        opened = len(pool.connections)
        nursery.cancel_scope.cancel()

    assert opened == MAX_CONNECTIONS
