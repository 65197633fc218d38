"""The connection to Redis: what each fault is called, and how it comes back."""

from __future__ import annotations

import math
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import coredis
import pytest
import structlog
import trio

from actors._redis_scripts import Script
from actors.ledger import LedgerDown
from actors.redis_link import ASK_SECONDS, MOST_ERRANDS, RedisLink, _sentence
from actors.redis_url import RedisPlace, is_redis_url, redis_place
from tests.actors.certificates import authority
from tests.redislab import free_port, redis_process

WRITE = Script("return redis.call('INCR', KEYS[1])")
KEYS = ["research-mcp:try"]


async def write(ask: Any) -> None:
    await ask(WRITE, KEYS, [])


@asynccontextmanager
async def keeping(place: RedisPlace, ssl_context: ssl.SSLContext | None = None) -> AsyncIterator[RedisLink]:
    """A link whose first attempt is over."""
    link = RedisLink(place, ssl_context)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(link.keep, write)
        await link.tried.wait()
        yield link
        nursery.cancel_scope.cancel()


async def problem_of(url: str, ssl_context: ssl.SSLContext | None = None) -> str | None:
    async with keeping(redis_place(url), ssl_context) as link:
        if link.problem is not None:
            with pytest.raises(LedgerDown, match="^the shared quota store"):
                await link.run(WRITE, KEYS, [])
        return link.problem and link.problem.removeprefix("the shared quota store (Redis) ")


async def until(true: Any) -> None:
    with trio.fail_after(10):
        while not true():
            await trio.sleep(0.01)


async def answering(text: bytes | None) -> tuple[trio.SocketListener, Any]:
    """A listener, and what serves it: `text` for the first bytes it is sent, then silence; None hangs up."""
    [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")

    async def answer(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some(1000)
            if text is not None:
                await stream.send_all(text)
                await trio.sleep_forever()

    return listener, answer


def test_urls_name_places_and_no_message_holds_the_password() -> None:
    place = redis_place("rediss://me:p%40ss@[::1]:7000/3")

    assert (place.host, place.port, place.db, place.user, place.password) == ("::1", 7000, 3, "me", "p@ss")
    assert (place.is_tls, str(place)) == (True, "[::1]:7000, database 3")
    assert "p@ss" not in repr(place)
    assert [is_redis_url(url) for url in ("REDIS://host", "valkeys://host", "sqlite:redis")] == [True, True, False]
    assert redis_place("valkey://cache") == RedisPlace("cache")
    assert redis_place("redis://cache?db=4").db == 4
    socket = redis_place("unix://:secret@/run/redis.sock?db=2")
    assert (socket.path, socket.db, socket.password, str(socket)) == (
        "/run/redis.sock",
        2,
        "secret",
        "/run/redis.sock, database 2",
    )


@pytest.mark.parametrize(
    "url",
    [
        "redis://", "redis:///0", "redis://host/zero", "redis://host/0?db=1&db=2", "redis://host:99999", "http://host",
        "redis://host/0#part", "redis://host?timeout=3", "redis://host/-1", "redis://host/123456", "redis://[::1",
        "unix://relative", "unix://", "redis://host?x",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="^is no sound address$"):
        redis_place(url)


async def test_a_port_where_nobody_listens() -> None:
    assert await problem_of("redis://127.0.0.1:1") == "cannot be reached: Connection refused"
    assert await problem_of("unix:///nowhere/socket") == "cannot be reached: No such file or directory"


async def test_a_name_that_does_not_resolve(monkeypatch) -> None:
    async def no_name(*args: Any, **options: Any) -> Any:
        raise trio.socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(trio.socket, "getaddrinfo", no_name)
    assert await problem_of("redis://nothing.example") == "cannot be reached: its name does not resolve"


async def test_servers_that_are_no_redis_say_nothing_or_hang_up() -> None:
    answers = (b"HTTP/1.1 400 Bad\r\n\r\n", b"-ERR unknown command 'HELLO'\r\n", b"-BUSY somebody\r\n", b"", None)
    async with trio.open_nursery() as nursery:
        urls = []
        for listener, answer in [await answering(text) for text in answers]:
            nursery.start_soon(trio.serve_listeners, answer, [listener])
            urls.append(f"redis://127.0.0.1:{listener.socket.getsockname()[1]}")

        problems = [await problem_of(url) for url in urls]

        assert problems == [
            "is no Redis: it answers in another protocol",
            "is too old or no Redis: it takes Redis 6 or newer, or Valkey",
            "is busy with somebody's script",
            f"does not answer within {ASK_SECONDS:g} s",
            "closed the connection",
        ]
        nursery.cancel_scope.cancel()


@pytest.mark.system("redis-server")
async def test_a_wrong_login_a_wrong_database_and_tls_where_there_is_none() -> None:
    with redis_process("--requirepass", "secret", "--databases", "4") as redis:
        address = f"127.0.0.1:{redis.port}"
        login = "refuses the login: LEDGER_URL needs the right user and password"

        assert await problem_of(f"redis://{address}") == login
        assert await problem_of(f"redis://:wrong@{address}") == login
        assert await problem_of(f"redis://:secret@{address}/9") == "has no database of that number"
        assert await problem_of(f"redis://:secret@{address}/3") is None
        assert await problem_of(redis.socket_url.replace("unix://", "unix://:secret@")) is None
        assert (
            await problem_of(f"rediss://{address}", ssl.create_default_context())
            == f"does not answer within {ASK_SECONDS:g} s"
        )


@pytest.mark.system("redis-server")
async def test_what_a_server_says_that_takes_no_writes() -> None:
    with redis_process() as redis:
        redis.ask("SET", KEYS[0], "no number")
        assert str(await problem_of(redis.url)).startswith("cannot be used: ")
        redis.ask("DEL", KEYS[0])
        redis.ask("HSET", KEYS[0], "a", "b")
        assert await problem_of(redis.url) == "holds something else under a key of research-mcp"
        redis.ask("DEL", KEYS[0])
        redis.ask("CONFIG", "SET", "maxmemory", 1)
        assert await problem_of(redis.url) == "is out of memory (maxmemory)"
        redis.ask("CONFIG", "SET", "maxmemory", 0)
        redis.ask("ACL", "SETUSER", "reader", "on", ">pass", "~*", "+@read")
        reader = f"redis://reader:pass@127.0.0.1:{redis.port}"
        assert await problem_of(reader) == "does not allow this user to run scripts on research-mcp:* (ACL)"
        redis.ask("REPLICAOF", "127.0.0.1", 1)
        assert await problem_of(redis.url) == "is a read-only replica: LEDGER_URL must name the primary"


@pytest.mark.system("redis-server")
async def test_scripts_that_redis_has_forgotten_are_sent_again() -> None:
    with redis_process() as redis:
        async with keeping(redis_place(redis.url)) as link:
            before = await link.run(WRITE, KEYS, [])
            redis.ask("SCRIPT", "FLUSH")

            assert await link.run(WRITE, KEYS, []) == before + 1


@pytest.mark.system("redis-server")
async def test_a_redis_that_is_killed_or_stalls_is_refused_and_comes_back_by_itself() -> None:
    with redis_process() as redis, structlog.testing.capture_logs() as logs:
        async with keeping(redis_place(redis.url)) as link:
            redis.pause()
            began_at = trio.current_time()
            with pytest.raises(LedgerDown, match="does not answer within 2 s$"):
                await link.run(WRITE, KEYS, [])
            assert trio.current_time() - began_at < ASK_SECONDS + 0.5
            asked_at = trio.current_time()
            with pytest.raises(LedgerDown):
                await link.run(WRITE, KEYS, [])
            assert trio.current_time() - asked_at < 0.1

            redis.resume()
            await until(lambda: link.problem is None)
            assert await link.run(WRITE, KEYS, []) > 0

            redis.kill()
            with pytest.raises(LedgerDown):
                await link.run(WRITE, KEYS, [])
            redis.start()
            await until(lambda: link.problem is None)

    assert [entry["event"] for entry in logs if entry["event"] in ("ledger_down", "ledger_opened")][:4] == [
        "ledger_opened", "ledger_down", "ledger_opened", "ledger_down",
    ]  # fmt: skip


@pytest.mark.system("redis-server")
async def test_asks_that_end_or_are_cut_short_in_any_order_get_their_own_answers() -> None:
    echo = Script("return ARGV[1]")
    with redis_process() as redis:
        async with keeping(redis_place(redis.socket_url)) as link:

            async def ask(number: int) -> None:
                with trio.move_on_after(0.0005 if number % 3 else math.inf):
                    assert await link.run(echo, [], [number]) == str(number).encode()

            async with trio.open_nursery() as nursery:
                for number in range(100):
                    nursery.start_soon(ask, number)
            assert link.problem is None


@pytest.mark.system("redis-server")
async def test_errands_run_in_the_background_and_too_many_are_dropped() -> None:
    with redis_process() as redis:
        async with keeping(redis_place(redis.url)) as link:
            for _ in range(MOST_ERRANDS + 9):
                link.run_soon(WRITE, ["errands"], [])
            # One that was fetched at once, and those that fitted.
            await until(lambda: redis.ask("GET", "errands") == str(MOST_ERRANDS + 1).encode())

            redis.kill()
            link.run_soon(WRITE, ["errands"], [])
            await until(lambda: link.problem is not None)


async def test_a_client_that_was_closed_under_an_ask_is_a_sentence_too() -> None:
    class Closed:
        async def evalsha(self, *args: Any) -> None:
            raise RuntimeError("Connection pool is not initialized or has exited.")

    link = RedisLink(RedisPlace("host"))
    link.problem, link._client = None, Closed()  # type: ignore[assignment]

    with pytest.raises(LedgerDown, match="closed the connection$"):
        await link.run(WRITE, KEYS, [])


async def test_a_failure_during_a_look_is_not_forgotten_by_it(autojump_clock) -> None:
    seen: list[str | None] = []
    link = RedisLink(RedisPlace("host"))

    async def look(ask: Any) -> None:
        seen.append(link.problem)
        if len(seen) == 2:
            link.close("gone")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(link.keep, look)
        await trio.sleep(9)
        nursery.cancel_scope.cancel()

    assert seen[1:4] == [None, "gone", None]


@pytest.mark.system("redis-server")
async def test_tls_is_verified(tmp_path) -> None:
    pem, port = tmp_path / "server.pem", free_port()
    pem.write_bytes(authority().server_pem("127.0.0.1"))
    files = (word for name in ("cert", "key", "ca-cert") for word in (f"--tls-{name}-file", str(pem)))
    with redis_process("--tls-port", str(port), "--tls-auth-clients", "no", *files):
        url = f"rediss://127.0.0.1:{port}/0"

        assert await problem_of(url, authority().trusting_nobody_else()) is None
        strange = await problem_of(url, ssl.create_default_context())
        assert strange == "cannot be reached over TLS: CERTIFICATE_VERIFY_FAILED"


def test_failures_of_tls_are_named() -> None:
    error = coredis.exceptions.ConnectionError("Unable to establish a connection")
    error.__cause__ = ssl.SSLError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")

    assert _sentence(error) == "cannot be reached over TLS: the handshake failed"


async def test_an_ask_that_ends_with_its_client_says_why_the_client_was_closed(autojump_clock) -> None:
    link = RedisLink(RedisPlace("host"))

    class Leaving:
        def __init__(self, goes: Any) -> None:
            self.goes = goes

        async def evalsha(self, *args: Any) -> None:
            self.goes()
            raise coredis.exceptions.ConnectionError("Connection lost!")

    def replaced() -> None:
        link._client = None

    for goes, said, left in ((lambda: link.close("stalled"), "stalled", "stalled"), (replaced, ".*closed the", None)):
        link.problem, link._client = None, Leaving(goes)  # type: ignore[assignment]
        with pytest.raises(LedgerDown, match=f"^{said}"):
            await link.run(WRITE, KEYS, [])
        assert link.problem == left
