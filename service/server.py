"""Serves the application over HTTP and ends it in order: listening sockets, accept loop, SIGTERM, watchdog."""

from __future__ import annotations

import _thread
import errno
import gc
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog
import trio

if TYPE_CHECKING:
    from service.app import App
    from service.hypercorn_guard import Connection

_log = structlog.get_logger()

BACKLOG = 512
# A peer that acknowledges nothing for so long is gone; in milliseconds, for the kernel.
USER_TIMEOUT_MS = 30_000

# The order of SPEC section 6, in seconds from the signal: the listener stays open for one, calls end by sixteen,
# connections are cut at nineteen, and a thread ends the process at twenty-seven if nothing else did.
LISTEN_SECONDS = 1.0
CALL_SECONDS = 16.0
GRACEFUL_SECONDS = 19.0
WATCHDOG_SECONDS = GRACEFUL_SECONDS + 8.0
EXIT_WATCHDOG = 70


class CannotListen(Exception):
    """The address cannot be listened on; the text is a sentence for the operator."""


def open_listeners(host: str, port: int) -> list[socket.socket]:
    """Listening sockets on every address of `host`.

    Made by us and not by hypercorn, to set TCP_USER_TIMEOUT: a client that does not read its answer would otherwise
    hold its connection for as long as the kernel likes.

    Raises:
        CannotListen: the port is in use, the address is not ours, the name does not resolve.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as error:
        raise CannotListen(f"MCP_HOST {host} does not resolve: {error.strerror}") from error
    listeners: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            # Port 0 means any: the second address takes the port that the first was given.
            chosen = listeners[0].getsockname()[1] if listeners and port == 0 else port
            listeners.append(_listen(family, kind, protocol, (address[0], chosen, *address[2:])))
    except OSError as error:
        for listener in listeners:
            listener.close()
        raise CannotListen(_listen_failure(host, port, error)) from error
    return listeners


def _listen(
    family: socket.AddressFamily, kind: socket.SocketKind, protocol: int, address: tuple[object, ...]
) -> socket.socket:
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setblocking(False)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux; accepted connections inherit it
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, USER_TIMEOUT_MS)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _listen_failure(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is in use by another program: stop it, or set MCP_PORT"
    if error.errno == errno.EACCES:
        return f"port {port} of {host} needs rights that this user has not: set MCP_PORT to 1024 or more"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"MCP_HOST {host} is no address of this machine"
    return f"cannot listen on port {port} of {host}: {error.strerror}"


def shown_address(listener: socket.socket) -> str:
    """`127.0.0.1:8000`, or `[::1]:8000`."""
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@dataclass(frozen=True, slots=True)
class Shutdown:
    """What happens to the rest of the service while the server ends. All are immediate.

    refuse: take no new calls. hurry: let no running call outlive that instant on trio's clock.
    """

    refuse: Callable[[], None]
    hurry: Callable[[float], None]


class HttpServer:
    """The accept loop and every connection it made."""

    def __init__(self, app: App, *, keep_alive: float) -> None:
        # Over stdio nobody needs it, and a client would wait 60 ms for it.
        from service.hypercorn_guard import ConnectionMaker

        self._make = ConnectionMaker(app, keep_alive=keep_alive)
        self._connections: set[Connection] = set()

    async def serve(
        self,
        listeners: Sequence[socket.socket],
        stop: trio.Event,
        shutdown: Shutdown,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serve until `stop` is set, then end in the order of SPEC section 6. Closes the listeners."""
        async with trio.open_nursery() as aborting:
            async with trio.open_nursery() as connections:
                async with trio.open_nursery() as accepting:
                    await accepting.start(self._accept, listeners, connections)
                    task_status.started()
                    await stop.wait()
                    _log.info("stopping")
                    stopped_at = trio.current_time()
                    shutdown.refuse()
                    shutdown.hurry(stopped_at + CALL_SECONDS)
                    await trio.sleep_until(stopped_at + LISTEN_SECONDS)
                    accepting.cancel_scope.cancel()
                # Idle connections close at once now, busy ones after their answer.
                await self._make.close_when_idle()
                connections.cancel_scope.deadline = stopped_at + GRACEFUL_SECONDS
                aborting.start_soon(self._abort_at, stopped_at + GRACEFUL_SECONDS)
            aborting.cancel_scope.cancel()

    async def _accept(
        self, listeners: Sequence[socket.socket], nursery: trio.Nursery, task_status: trio.TaskStatus[object]
    ) -> None:
        streams = [trio.SocketListener(trio.socket.from_stdlib_socket(listener)) for listener in listeners]
        await trio.serve_listeners(self._handle, streams, handler_nursery=nursery, task_status=task_status)

    async def _handle(self, stream: trio.SocketStream) -> None:
        connection = self._make(stream)
        self._connections.add(connection)
        try:
            await connection.run()
        finally:
            self._connections.discard(connection)

    async def _abort_at(self, instant: float) -> None:
        """Cut what no cancellation reaches: answers that their clients do not read."""
        await trio.sleep_until(instant)
        for connection in tuple(self._connections):
            connection.abort()


async def serve_http(
    app: App,
    listeners: Sequence[socket.socket],
    *,
    keep_alive: float,
    shutdown: Shutdown,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until SIGTERM or SIGINT, and return when the last connection has ended, 19 s later at most."""
    server = HttpServer(app, keep_alive=keep_alive)
    stop = trio.Event()
    with signals_set(stop):
        settle_garbage_collector()
        _log.info("serving", addresses=[shown_address(listener) for listener in listeners])
        await server.serve(listeners, stop, shutdown, task_status=task_status)


@contextmanager
def signals_set(stop: trio.Event) -> Iterator[None]:
    """The first SIGTERM or SIGINT sets `stop` and starts the watchdog; a second one ends the process at once.

    A handler of our own, because trio's signal receiver hands a signal to a task, and where the event loop is stuck
    no task runs: neither the watchdog nor the second signal would help then.
    """
    token = trio.lowlevel.current_trio_token()
    received: list[int] = []

    def handle(number: int, _frame: object) -> None:
        received.append(number)
        if len(received) > 1:
            os._exit(128 + number)
        start_watchdog(WATCHDOG_SECONDS)
        token.run_sync_soon(stop.set)

    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def start_watchdog(seconds: float, leave: Callable[[int], object] = os._exit) -> None:
    """A thread that ends the process after a while, whatever the event loop is stuck in.

    Started below `threading`, whose locks the code that a signal interrupted may hold.
    """

    def watch() -> None:  # pragma: no cover - coverage does not see into threads below `threading`; it is tested
        time.sleep(seconds)
        leave(EXIT_WATCHDOG)

    _thread.start_new_thread(watch, ())


def settle_garbage_collector() -> None:
    """Keep what start-up made out of collections: full ones stall a loaded loop by 60 ms (FACTS.md, decision 4).

    The rest is collected in small portions. Measured at 64 calls in flight: thresholds of (20_000, 50, 100) stall it by
    45 to 65 ms every 170 calls, and let 20 MB of garbage lie; these stall it by 10 ms, and by 28 every fifth time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(2_000, 5, 20)
