"""One fake remote: a listener on its own port, what it would answer, and the faults to be played instead."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import trio

from tests.fakenet._faults import Fault
from tests.fakenet._http import Answer, Request, Wire, as_text, serve_connection
from tests.fakenet._world import World

KEPT_REQUESTS = 20_000

Handler = Callable[[Request], Answer]
HandlerOf = Callable[[World], Handler]


@dataclass(eq=False, slots=True)
class _Plan:
    fault: Fault
    path: re.Pattern[str] | None
    times: int | None


@dataclass(eq=False)
class Remote:
    """A remote by name. `url` is its base URL without a trailing slash; it keeps its port while it is down."""

    name: str
    handler: Handler
    host: str = "127.0.0.1"
    port: int = 0
    calls: int = 0
    requests: deque[Request] = field(default_factory=lambda: deque(maxlen=KEPT_REQUESTS))
    open_connections: int = 0
    _plans: list[_Plan] = field(default_factory=list)
    _up: trio.CancelScope | None = None
    _wanted: trio.Event = field(default_factory=trio.Event)
    _listening: trio.Event = field(default_factory=trio.Event)
    _arrived: trio.Event = field(default_factory=trio.Event)

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    # --- what tests say and ask ---------------------------------------------------------------------------------------

    def play(self, fault: Fault, *, path: str | None = None, times: int | None = None) -> None:
        """Play `fault` from now on: for paths that match the expression `path`, and for `times` requests only.

        The fault planned last comes first; when its times are used up, the one before it is back.
        """
        self._plans.append(_Plan(fault, None if path is None else re.compile(path), times))

    def heal(self) -> None:
        """Forget all faults."""
        self._plans.clear()

    def forget(self) -> None:
        """Forget the requests seen so far."""
        self.requests.clear()
        self.calls = 0

    def go_down(self) -> None:
        """Refuse connections and drop those that are open, until `go_up`."""
        self._wanted, self._listening = trio.Event(), trio.Event()
        if self._up is not None:
            self._up.cancel()

    def come_up(self) -> None:
        """Listen again, on the same port, soon."""
        self._wanted.set()

    async def go_up(self) -> None:
        """Listen again, on the same port; returns once it does."""
        self._wanted.set()
        await self._listening.wait()

    async def wait_for_call(self, count: int = 1) -> Request:
        """Wait until `count` requests have come in since the last `forget`; returns the latest."""
        while self.calls < count:
            await self._arrived.wait()
        return self.requests[-1]

    # --- the listener -------------------------------------------------------------------------------------------------

    async def listen(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Listen until cancelled, with pauses while the remote is down."""
        self._wanted.set()
        started = False
        while True:
            await self._wanted.wait()
            listeners = await trio.open_tcp_listeners(self.port, host=self.host, backlog=1024)
            self.port = listeners[0].socket.getsockname()[1]
            with trio.CancelScope() as self._up:
                self._listening.set()
                if not started:
                    task_status.started()
                    started = True
                await trio.serve_listeners(self._serve, listeners)
            self._up = None

    async def _serve(self, stream: trio.SocketStream) -> None:
        self.open_connections += 1
        try:
            await serve_connection(stream, self.name, self._perform, self._record)
        finally:
            self.open_connections -= 1

    def _record(self, request: Request) -> None:
        self.requests.append(request)
        self.calls += 1
        arrived, self._arrived = self._arrived, trio.Event()
        arrived.set()

    async def _perform(self, wire: Wire, request: Request) -> None:
        try:
            answer = self.handler(request)
        except Exception as error:
            answer = as_text(f"the fake remote {self.name} has a bug: {error!r}", 599)
        fault = self._next_fault(request.path)
        await (wire.answer(answer) if fault is None else fault(wire, request, answer))

    def _next_fault(self, path: str) -> Fault | None:
        for plan in reversed(self._plans):
            if plan.path is None or plan.path.search(path):
                if plan.times is not None:
                    plan.times -= 1
                    if plan.times == 0:
                        self._plans.remove(plan)
                return plan.fault
        return None


def make(name: str, handler_of: HandlerOf, world: World, port: int = 0) -> Remote:
    """A remote that answers with `handler_of(world)`; not listening yet."""
    return Remote(name, handler_of(world), port=port)
