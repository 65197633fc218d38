"""hypercorn 0.18.0 on trio, made safe against strangers: our own connection class over its HTTP/1.1 machinery.

What stock hypercorn does, measured (security/FACTS.md F), and what stands against it here:

- Any exception in one connection ends the process; one packet suffices (pgjones/hypercorn#225). -> `run` lets nothing
  of one connection reach the server.
- A client that pipelines requests and leaves parks the reader for ever: a descriptor and a task lost. So does one
  whose body is refused before it was read, since the queue to the application is full. -> `_Protocol` wakes its
  reader, `_Inbox` never blocks on a client that has gone or an answer that is given.
- HTTP/2 without TLS and WebSocket upgrades cannot be switched off, and a rapid reset starves everybody. -> neither
  protocol is ever constructed here.
- A client that does not read its answer holds the process past SIGTERM, because sending is shielded. -> sending has a
  deadline of its own, and `abort` ends it.

All of it leans on hypercorn's insides, hence the exact version. To be removed when a release has the four fixed.
"""

from __future__ import annotations

import importlib.metadata
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, cast

import h11
import structlog
import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.protocol import ProtocolWrapper
from hypercorn.protocol.events import Body, EndBody
from hypercorn.protocol.h11 import STREAM_ID, H11Protocol
from hypercorn.trio.task_group import TaskGroup
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import AppWrapper, ASGIFramework, ConnectionState, H11SendableEvent, Scope
from hypercorn.utils import parse_socket_addr

from service.app import App

PINNED_VERSION = "0.18.0"
SEND_SECONDS = 30.0
_SEND_BYTES = 1 << 16

# What hypercorn calls by a dozen typed dictionaries.
Message = Any

_log = structlog.get_logger()


class WrongHypercorn(RuntimeError):
    """Another hypercorn is installed than the one whose insides this file knows."""


def check_version(installed: str | None = None) -> None:
    """Refuse to serve on another version than the one this file was written and tested for."""
    found = installed or importlib.metadata.version("hypercorn")
    if found != PINNED_VERSION:
        raise WrongHypercorn(f"hypercorn {PINNED_VERSION} is needed, {found} is installed: pip install -c constraints")


class _Inbox:
    """What the application receives of one request. Never blocks the connection once nobody needs the rest."""

    def __init__(self, capacity: int) -> None:
        self._messages: deque[Message] = deque()
        self._capacity = capacity
        self._is_closed = False
        self._changed = trio.Event()

    async def put(self, message: Message) -> None:
        """Hand over a message, waiting while the application is behind. After a disconnect the rest is dropped."""
        if message["type"] == "http.disconnect":
            self.close()
            return
        while not self._is_closed and len(self._messages) >= self._capacity:
            await self._changed.wait()
        if not self._is_closed:
            self._messages.append(message)
            self._wake()

    def close(self) -> None:
        self._is_closed = True
        self._wake()

    async def receive(self) -> Message:
        """The next message in order; a disconnect, again and again, once the client or the request has gone."""
        while not self._messages and not self._is_closed:
            await self._changed.wait()
        await trio.lowlevel.checkpoint()
        if not self._messages:
            return {"type": "http.disconnect"}
        message = self._messages.popleft()
        self._wake()
        return message

    def _wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()


class _TaskGroup(TaskGroup):
    """Starts the application for a request, with an inbox of ours in between."""

    async def spawn_app(
        self, app: AppWrapper, config: Config, scope: Scope, send: Callable[[Any], Awaitable[None]]
    ) -> Callable[[Message], Awaitable[None]]:
        assert self._nursery is not None
        inbox = _Inbox(config.max_app_queue_size)
        self._nursery.start_soon(_serve_request, app, scope, inbox, send)
        return inbox.put


async def _serve_request(app: AppWrapper, scope: Any, inbox: _Inbox, send: Callable[[Any], Awaitable[None]]) -> None:
    """Run the application; `send(None)` tells hypercorn that it is done, with a 500 if it answered nothing."""
    try:
        await app(scope, inbox.receive, send, trio.to_thread.run_sync, trio.from_thread.run)
    except Exception:  # noqa: BLE001 - the connection barrier of STYLE.md
        _log.exception("request_failed", path=scope["path"])
    except BaseExceptionGroup as group:
        raise _without_failures("request_failed", group) from None
    finally:
        inbox.close()
        await send(None)


def _without_failures(event: str, group: BaseExceptionGroup[BaseException]) -> BaseExceptionGroup[BaseException]:
    """Log what failed while the rest was cancelled, and return the rest; a group with anything else goes on whole."""
    cancelled, failed = group.split(trio.Cancelled)
    if cancelled is None or not isinstance(failed, ExceptionGroup):
        return group
    _log.warning(event, exc_info=failed)
    return cancelled


class _Protocol(H11Protocol):
    """HTTP/1.x only, a reader that does not outlive its client, and heads that leave together with their bodies."""

    _is_closed = False
    _is_head = False
    _head = b""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._send, self.send = self.send, self._send_together

    async def handle(self, event: Event) -> None:
        if isinstance(event, Closed):
            self._is_closed = True
            await super().handle(event)
            await self.can_read.set()
        elif not self._is_closed:
            await super().handle(event)

    async def _handle_events(self) -> None:
        """As in hypercorn, without HTTP/2 and WebSocket, and ending as soon as the client has gone."""
        while not self._is_closed:
            if self.connection.they_are_waiting_for_100_continue:
                await self._send_h11_event(h11.InformationalResponse(status_code=100, headers=[]))
            try:
                event = self.connection.next_event()
            except h11.RemoteProtocolError as error:
                await self._refuse(error.error_status_hint)
                return
            if isinstance(event, h11.Request):
                if event.http_version not in (b"1.0", b"1.1"):
                    await self._refuse(505)
                    return
                await self.send(Updated(idle=False))
                await self._create_stream(_without_upgrade(event))
            elif event is h11.PAUSED:
                await self.can_read.clear()
                await self.can_read.wait()
            elif self.stream is None or event is h11.NEED_DATA or isinstance(event, h11.ConnectionClosed):
                return
            elif isinstance(event, h11.Data):
                await self.stream.handle(Body(stream_id=STREAM_ID, data=event.data))
            else:
                await self.stream.handle(EndBody(stream_id=STREAM_ID))

    async def _send_h11_event(self, event: H11SendableEvent) -> None:
        """As in hypercorn, but the head is kept for what comes next, and nothing is sent for an event of no bytes."""
        self._is_head = isinstance(event, h11.Response)
        await super()._send_h11_event(event)

    async def _send_together(self, event: Event) -> None:
        if not isinstance(event, RawData):
            await self._send(event)
            return
        data, self._head = self._head + event.data, b""
        if self._is_head:
            self._head = data
        elif data:
            await self._send(RawData(data=data))

    async def _refuse(self, status: int) -> None:
        if self.connection.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            await self._send_error_response(status)
        await self.send(Closed())


def _without_upgrade(request: h11.Request) -> h11.Request:
    """The request as one that asks for no other protocol, so that hypercorn never starts one."""
    kept = [header for header in request.headers if header[0] != b"upgrade"]
    if len(kept) == len(request.headers):
        return request
    return h11.Request(method=request.method, target=request.target, headers=kept, http_version=request.http_version)


class Connection(TCPServer):
    """One client's connection. `run` never raises for anything that this client or its requests did."""

    _writing: trio.CancelScope | None = None
    _is_aborted = False
    _is_over = False

    async def run(self) -> None:
        try:
            await self._serve()
        except Exception:  # noqa: BLE001 - the connection barrier of STYLE.md; groups of exceptions included
            _log.warning("connection_failed", exc_info=True)
        except BaseExceptionGroup as group:
            raise _without_failures("connection_failed", group) from None
        finally:
            with trio.CancelScope(shield=True):
                await trio.aclose_forcefully(self.stream)

    async def _serve(self) -> None:
        address = self.stream.socket
        async with _TaskGroup() as task_group:
            self._task_group = task_group
            # hypercorn has a wrapper here that can change over to HTTP/2; the bare protocol has the same methods.
            self.protocol = cast(
                ProtocolWrapper,
                _Protocol(
                    self.app,
                    self.config,
                    self.context,
                    task_group,
                    ConnectionState(self.state),
                    False,
                    parse_socket_addr(address.family, address.getpeername()),
                    parse_socket_addr(address.family, address.getsockname()),
                    self.protocol_send,
                ),
            )
            await self.idle_task.restart(task_group, self._idle_timeout)
            await self._read_data()
            # Nothing more can come, so nobody has to wait for it to.
            self._is_over = True
            await self.idle_task.stop()

    async def protocol_send(self, event: Event) -> None:
        if self._is_over and isinstance(event, Updated):
            return
        if not isinstance(event, RawData):
            await super().protocol_send(event)
            return
        async with self.send_lock:
            is_sent = await self._send_all(event.data)
        if not is_sent:
            await self.protocol.handle(Closed())
            await trio.aclose_forcefully(self.stream)

    async def _send_all(self, data: bytes) -> bool:
        """Send, shielded so that a cancelled task leaves no half message; each 64 kB must go within 30 s."""
        for start in range(0, len(data), _SEND_BYTES):
            with trio.CancelScope(shield=True, deadline=trio.current_time() + SEND_SECONDS) as self._writing:
                if self._is_aborted:
                    return False
                try:
                    await self.stream.send_all(data[start : start + _SEND_BYTES])
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    return False
            if self._writing.cancelled_caught:
                return False
        return True

    def abort(self) -> None:
        """Give up a client that does not read: end the sending that no cancellation reaches."""
        self._is_aborted = True
        if self._writing is not None:
            self._writing.cancel()


class ConnectionMaker:
    """Makes the connections of one application. keep_alive: seconds after which an idle one is closed.

    Raises WrongHypercorn.
    """

    def __init__(self, app: App, *, keep_alive: float) -> None:
        check_version()
        self._app = ASGIWrapper(cast(ASGIFramework, app))
        self._config = _config(keep_alive)
        self._context = WorkerContext(None)

    def __call__(self, stream: trio.SocketStream) -> Connection:
        return Connection(self._app, self._config, self._context, ConnectionState({}), cast(Any, stream))

    async def close_when_idle(self) -> None:
        """Idle connections close at once from now on, busy ones after their answer."""
        await self._context.terminated.set()


def _config(keep_alive: float) -> Config:
    config = Config()
    config.keep_alive_timeout = keep_alive
    config.include_server_header = False
    # It would print query strings.
    config.accesslog = None
    config.errorlog = None
    return config
