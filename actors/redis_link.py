"""The connection to Redis: opened, watched, given up and opened again by one task; everybody else only asks.

One connection carries all requests. While Redis cannot be used an ask is refused at once, without a socket; the keeper
tries again every second on a new connection. What Redis or its client says becomes a sentence here.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import coredis
import structlog
import trio
from coredis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    InvalidResponse,
    NoScriptError,
    ReadOnlyError,
    RedisError,
    UnknownCommandError,
    WrongTypeError,
)
from coredis.retry import NoRetryPolicy

from actors._redis_scripts import Script
from actors.ledger import LedgerDown
from actors.redis_url import RedisPlace

ASK_SECONDS = 2.0
LOOK_EVERY = 2.0
RETRY_EVERY = 1.0
MOST_ERRANDS = 256

Ask = Callable[[Script, Sequence[str], Sequence[str | int]], Awaitable[Any]]
Look = Callable[[Ask], Awaitable[None]]

log = structlog.get_logger()

_SENTENCES: tuple[tuple[type[RedisError], str], ...] = (
    (AuthenticationError, "refuses the login: LEDGER_URL needs the right user and password"),
    (AuthorizationError, "does not allow this user to run scripts on research-mcp:* (ACL)"),
    (ReadOnlyError, "is a read-only replica: LEDGER_URL must name the primary"),
    (BusyLoadingError, "is still loading its data"),
    (WrongTypeError, "holds something else under a key of research-mcp"),
    (InvalidResponse, "is no Redis: it answers in another protocol"),
    (UnknownCommandError, "is too old or no Redis: it takes Redis 6 or newer, or Valkey"),
)
_CODES: tuple[tuple[str, str], ...] = (
    ("OOM", "is out of memory (maxmemory)"),
    ("MISCONF", "cannot save to its disk and takes no writes (MISCONF)"),
    ("MASTERDOWN", "is a replica that lost its primary"),
    ("DENIED", "is in protected mode and refuses connections from other machines"),
    ("BUSY", "is busy with somebody's script"),
    ("DB index", "has no database of that number"),
    ("max number of clients", "has too many clients"),
)


class RedisLink:
    """Asks Redis, or says why it cannot. `problem` is a sentence while nothing can be asked, else None."""

    def __init__(self, place: RedisPlace, ssl_context: ssl.SSLContext | None = None) -> None:
        self._place = place
        self._ssl_context = ssl_context
        self._client: coredis.Redis[bytes] | None = None
        self._failed = trio.Event()
        self._send, self._errands = trio.open_memory_channel[tuple[Script, list[str], list[str | int]]](MOST_ERRANDS)
        self.tried = trio.Event()
        self.problem: str | None = "the shared quota store (Redis) is not connected yet"

    async def run(self, script: Script, keys: Sequence[str], args: Sequence[str | int]) -> Any:
        """Run one script. Raises LedgerDown, at once while Redis is known to be down, else within two seconds.

        Where it raises, or is cancelled, the script may have run.
        """
        if self.problem is not None:
            await trio.lowlevel.checkpoint()
            raise LedgerDown(self.problem)
        client = self._client
        try:
            return await self._ask(script, keys, args)
        except LedgerDown as error:
            # An ask may end because another one failed first, and the keeper closed the client of both.
            if client is self._client and self.problem is None:
                self.close(str(error))
            raise LedgerDown(self.problem or str(error)) from error

    def run_soon(self, script: Script, keys: list[str], args: list[str | int]) -> None:
        """Run a script whose answer nobody waits for. It is dropped while Redis is down or too much is waiting."""
        with suppress(trio.WouldBlock):
            self._send.send_nowait((script, keys, args))

    async def keep(self, look: Look) -> None:
        """Hold the connection until cancelled. `look` is given what asks, before anybody else may ask, and again every
        two seconds; LedgerDown out of it means that the connection is of no use.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._run_errands)
            while True:
                await self._hold(look)
                await trio.sleep(RETRY_EVERY)

    def close(self, problem: str) -> None:
        """Let nobody ask until the keeper has looked again on a new connection."""
        if problem != self.problem:
            log.error("ledger_down", server=str(self._place), problem=problem, retry_in_s=RETRY_EVERY)
        self.problem = problem
        self._failed.set()
        self.tried.set()

    async def _hold(self, look: Look) -> None:
        """Use one client until it fails. Nothing is raised through it, since it would come out in a group."""
        async with self._new_client() as self._client:
            self._failed = trio.Event()
            while not self._failed.is_set():
                try:
                    await look(self._ask)
                except LedgerDown as error:
                    self.close(str(error))
                    break
                self._open()
                with trio.move_on_after(LOOK_EVERY):
                    await self._failed.wait()

    def _open(self) -> None:
        if self.problem is not None and not self._failed.is_set():
            log.info("ledger_opened", server=str(self._place))
            self.problem = None
        self.tried.set()

    async def _run_errands(self) -> None:
        async for script, keys, args in self._errands:
            with suppress(LedgerDown):
                await self.run(script, keys, args)

    def _new_client(self) -> coredis.Redis[bytes]:
        place = self._place
        return coredis.Redis(
            None if place.path else place.host,
            None if place.path else place.port,
            place.db,
            unix_socket_path=place.path,
            username=place.user,
            password=place.password,
            ssl_context=self._ssl_context,
            max_connections=1,
            verify_version=False,
            retry_policy=NoRetryPolicy(),
        )

    async def _ask(self, script: Script, keys: Sequence[str], args: Sequence[str | int]) -> Any:
        assert self._client is not None
        scope = trio.CancelScope(deadline=trio.current_time() + ASK_SECONDS)
        try:
            with scope:
                try:
                    return await self._client.evalsha(script.sha, keys, args)
                except NoScriptError:
                    return await self._client.eval(script.text, keys, args)
        # The last two come out of coredis 6.9 where the client was closed, or its connection lost, during the ask; and
        # being cancelled while connecting comes out as the first.
        except (RedisError, RuntimeError, ReferenceError) as error:
            await trio.lowlevel.checkpoint_if_cancelled()
            if not scope.cancel_called:
                raise LedgerDown(f"the shared quota store (Redis) {_sentence(error)}") from error
        raise LedgerDown(f"the shared quota store (Redis) does not answer within {ASK_SECONDS:g} s")


def _sentence(error: Exception) -> str:
    for kind, sentence in _SENTENCES:
        if isinstance(error, kind):
            return sentence
    text = str(error)
    for code, sentence in _CODES:
        if text.startswith(code):
            return sentence
    cause = error.__cause__
    while cause is not None and cause.__cause__ is not None:
        cause = cause.__cause__
    if isinstance(cause, ssl.SSLError):
        return "cannot be reached over TLS: " + (getattr(cause, "reason", None) or "the handshake failed")
    if isinstance(cause, socket.gaierror):
        return "cannot be reached: its name does not resolve"
    if isinstance(cause, OSError):
        return f"cannot be reached: {os.strerror(cause.errno or 0)}"
    if isinstance(error, (coredis.exceptions.ConnectionError, RuntimeError, ReferenceError)):
        return "closed the connection"
    return f"cannot be used: {text.partition(' script:')[0][:100]}"
