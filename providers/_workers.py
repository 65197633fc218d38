"""A pool of worker processes for everything that parses foreign bytes. A job that takes too much is killed.

Why processes: a hostile page holds the interpreter for seconds inside one C call (security/FACTS.md C2), and a thread
cannot be stopped. Why not trio-parallel: a killed worker of it is back after 0.3 to 0.7 s and each one holds its own
60 MB of imports, its children start with the parent's environment and import the parent's main module, answers are
unpickled without limits, and it cannot hand over what was finished before a kill. So one template process is started
with an empty environment, imports the extraction code once, and forks (see `_worker_process.py`): 10 ms a worker.

`run` does one job. `run_parts` does a job that yields (a PDF, page by page) and keeps what came before a kill. Both
wait for a free worker under the caller's deadline; `timeout` counts from the moment the job starts.
"""

from __future__ import annotations

import math
import pickle
import socket
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from types import GeneratorType
from typing import Any, Protocol, TypeVar, cast

import outcome
import trio

from ._contract import TooHeavy, TooLarge, Unavailable
from ._offenders import Offenders
from ._worker_handles import Command, Template, Worker, receive_exactly, start_template
from ._worker_process import MEMORY_BYTES, PID
from ._worker_replies import LATE, Reply, unpack_error

T = TypeVar("T")

JOB_SECONDS = 10.0
PRELOAD = ("providers._extract.dispatch",)
IDLE_SECONDS = 30.0
"""How long an idle worker is kept. A new one costs a fork, so keeping it longer buys nothing and holds memory."""


class WorkerError(RuntimeError):
    """The job raised something that is no typed error: a bug of ours. The text is the worker's traceback."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a yielding job gave. `value` is what it returned; None, with the reason in `cut`, when it was killed."""

    parts: tuple[Any, ...]
    value: Any = None
    cut: TooHeavy | None = None


@dataclass(frozen=True, slots=True)
class WorkerStatistics:
    """A snapshot of the pool. `killed` counts jobs that took too much since the start."""

    running: int
    idle: int
    waiting: int
    killed: int
    refused_hosts: int


@dataclass(frozen=True, slots=True)
class _Job:
    function: Callable[..., Any]
    args: tuple[Any, ...]
    timeout: float
    host: str | None


class _PoolLike(Protocol):
    async def work(self, job: _Job) -> Parts: ...


_pool: trio.lowlevel.RunVar[_PoolLike] = trio.lowlevel.RunVar("providers.workers")


# --- for callers ----------------------------------------------------------------------------------------------------


async def run(function: Callable[..., T], *args: object, timeout: float = JOB_SECONDS, host: str | None = None) -> T:
    """Call a module-level `function` in a worker process and return what it returns.

    Args:
        timeout: Seconds of wall time the job may run once it has a worker.
        host: Where the bytes came from. A host that had two jobs killed within ten minutes is refused for ten.

    Raises:
        ProviderError: As the function raised it.
        TooHeavy: The job took too much time or memory, its process died, or the host is refused.
        WorkerError: The function raised anything else.
        RuntimeError: No pool is open.
    """
    result = await _current().work(_Job(function, args, timeout, host))
    if result.cut is not None:
        raise result.cut
    return cast("T", result.value)


async def run_parts(
    function: Callable[..., Iterator[Any]], *args: object, timeout: float = JOB_SECONDS, host: str | None = None
) -> Parts:
    """Run a module-level generator function in a worker; what it yielded before it was killed is kept.

    Raises as `run`, but `TooHeavy` only when nothing was finished before the kill.
    """
    result = await _current().work(_Job(function, args, timeout, host))
    if result.cut is not None and not result.parts:
        raise result.cut
    return result


@asynccontextmanager
async def open_workers(
    count: int, *, preload: Sequence[str] = PRELOAD
) -> AsyncIterator[Callable[[], WorkerStatistics]]:
    """Open the pool for this trio run; `run` finds it by itself. Yields a function that tells the pool's statistics.

    Returns at once: the template starts in the background, workers are forked when jobs come.

    Args:
        count: Most jobs at a time; at least 2, so that one hostile page does not stop all others.
        preload: Modules that the template imports before it forks.
    """
    async with trio.open_nursery() as nursery:
        pool = _Pool(max(2, count), preload, nursery)
        token = _pool.set(pool)
        try:
            nursery.start_soon(pool.tend_template)
            nursery.start_soon(pool.retire_idle)
            yield pool.statistics
        finally:
            _pool.reset(token)
            pool.kill_all()
            nursery.cancel_scope.cancel()


@contextmanager
def inline_workers() -> Iterator[None]:
    """Run jobs in this process and thread: for tests on a virtual clock, which real processes would outrun.

    Time and memory are not limited. Works inside a trio run only.
    """
    token = _pool.set(_Inline())
    try:
        yield
    finally:
        _pool.reset(token)


def _current() -> _PoolLike:
    try:
        return _pool.get()
    except LookupError:
        raise RuntimeError("no worker pool is open; see open_workers()") from None


# --- the pool -------------------------------------------------------------------------------------------------------


class _Pool:
    def __init__(self, count: int, preload: Sequence[str], nursery: trio.Nursery) -> None:
        self._count = count
        self._limiter = trio.CapacityLimiter(count)
        self._nursery = nursery
        self._preload = preload
        self._commands, self._commanded = trio.open_memory_channel[Command](math.inf)
        self._alive: set[Worker] = set()
        self._births = 0
        self._idle: deque[Worker | None] = deque()  # None: a worker could not be started
        self._waiting = trio.lowlevel.ParkingLot()
        self._offenders = Offenders()
        self._killed = 0

    def statistics(self) -> WorkerStatistics:
        waiting = self._limiter.statistics().tasks_waiting
        running = self._limiter.borrowed_tokens
        return WorkerStatistics(
            running=int(running),
            idle=len(self._idle),
            waiting=waiting,
            killed=self._killed,
            refused_hosts=self._offenders.refused(trio.current_time()),
        )

    async def work(self, job: _Job) -> Parts:
        self._check_host(job.host)
        async with self._limiter:
            self._check_host(job.host)  # its earlier jobs may have been killed while this one waited
            parts, end = await self._attempt(job)
        if end.tag == "done":
            return Parts(tuple(parts), end.payload)
        if end.tag == "error":
            raise unpack_error(end.payload)
        if end.tag == "bug":
            raise WorkerError(end.payload)
        if end.tag == "large":
            raise TooLarge(f"the result of the extraction has {end.payload} bytes")
        self._killed += 1
        if job.host is not None:
            self._offenders.record(job.host, trio.current_time())
        return Parts(tuple(parts), cut=TooHeavy(_REASONS[end.tag].format(job.timeout)))

    def _check_host(self, host: str | None) -> None:
        if host is not None and self._offenders.refuses(host, trio.current_time()):
            raise TooHeavy(f"pages of {host} used up two workers within ten minutes")

    async def _attempt(self, job: _Job) -> tuple[list[Any], Reply]:
        payload = pickle.dumps((job.function, job.args), protocol=pickle.HIGHEST_PROTOCOL)
        while True:
            worker = await self._acquire()
            parts: list[Any] = []
            end = LATE
            try:
                with trio.move_on_after(job.timeout):
                    end = await worker.do(payload, parts)
            except trio.BrokenResourceError:
                continue  # it died while idle, before it had read the job: not this job's doing
            finally:
                self._release(worker, reusable=end.leaves_worker_usable)
            return parts, end

    async def _acquire(self) -> Worker:
        while not self._idle:
            if len(self._alive) + self._births < self._count:
                self._births += 1
                self._nursery.start_soon(self._give_birth)
            await self._waiting.park()
        # No checkpoint from here to the job: a wake-up that ended in a cancellation would be lost to the others.
        worker = self._idle.pop()
        if worker is None:
            raise Unavailable("a worker process could not be started", retry=False)
        return worker

    async def _give_birth(self) -> None:
        """Start one worker. A task of its own, so that an asker that goes away does not leave half a worker."""
        ours, theirs = socket.socketpair()
        stream = trio.SocketStream(trio.socket.from_stdlib_socket(ours))
        self._commands.send_nowait(Command(b"F", channel=theirs))
        pid = 0
        try:
            pid = PID.unpack(await receive_exactly(stream, PID.size) or PID.pack(0))[0]
        except trio.BrokenResourceError:
            pid = 0  # the template died with the request unread
        finally:
            self._births -= 1
            if not pid:
                stream.socket.close()
        worker = Worker(pid, stream) if pid else None
        if worker is not None:
            self._alive.add(worker)
        self._offer(worker)

    def _offer(self, worker: Worker | None) -> None:
        self._idle.append(worker)
        self._waiting.unpark()

    def _release(self, worker: Worker, *, reusable: bool) -> None:
        if reusable:
            worker.idle_since = trio.current_time()
            self._offer(worker)
        else:
            self._discard(worker)

    def _discard(self, worker: Worker) -> None:
        """Kill a worker, now and without waiting. The template collects it, so the process id stays ours till then."""
        self._alive.discard(worker)
        worker.kill()
        self._commands.send_nowait(Command(b"R", pid=worker.pid))
        self._waiting.unpark()  # an asker may be parked because the pool was full

    def kill_all(self) -> None:
        for worker in tuple(self._alive):
            self._discard(worker)

    async def retire_idle(self) -> None:
        while True:
            await trio.sleep(IDLE_SECONDS / 2)
            oldest = trio.current_time() - IDLE_SECONDS
            for worker in [worker for worker in self._idle if worker is None or worker.idle_since < oldest]:
                self._idle.remove(worker)
                if worker is not None:
                    self._discard(worker)

    async def tend_template(self) -> None:
        """Own the template process: start it, pass commands on, start it again if it has died."""
        template = None
        try:
            template = await start_template(self._preload)
            async for command in self._commanded:
                if not template.send(command):
                    await template.aclose()
                    template = await start_template(self._preload)
                    if command.code == b"F":
                        template.send(command)
                if command.channel is not None:
                    command.channel.close()
        finally:
            with trio.move_on_after(5, shield=True):
                await self._close_template(template)

    async def _close_template(self, template: Template | None) -> None:
        """Let the template collect the workers that were killed, then end it."""
        for command in self._unread_commands():
            if command.channel is not None:
                command.channel.close()
            elif template is not None:
                template.send(command)
        if template is not None:
            await template.aclose()

    def _unread_commands(self) -> Iterator[Command]:
        with suppress(trio.WouldBlock):
            while True:
                yield self._commanded.receive_nowait()


class _Inline:
    async def work(self, job: _Job) -> Parts:
        await trio.lowlevel.checkpoint()
        parts: list[Any] = []
        result = outcome.capture(_consume, job.function(*job.args), parts)
        if isinstance(result, outcome.Error) and isinstance(result.error, MemoryError):
            return Parts(tuple(parts), cut=TooHeavy(_REASONS["memory"]))
        return Parts(tuple(parts), result.unwrap())


def _consume(value: Any, parts: list[Any]) -> Any:
    if not isinstance(value, GeneratorType):
        return value
    while True:
        try:
            parts.append(next(value))
        except StopIteration as end:
            return end.value


_REASONS = {
    "late": "the extraction took longer than {} s",
    "memory": f"the extraction needed more than {MEMORY_BYTES >> 20} MB",
    "gone": "the process that extracted it died",
}
