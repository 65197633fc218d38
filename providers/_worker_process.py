"""What runs inside the worker processes: a template that imports once and forks, and the forked workers that do jobs.

The parent side is `_workers.py`. Nothing here imports trio, httpx or anything of ours that the jobs do not need.

The template is one fresh interpreter. It imports the extraction code once, holds no thread and sees no foreign byte;
it only forks. A worker is therefore there within milliseconds, also after a kill, and shares the template's memory.
On its socket a worker gets one frame per job (pickle of function and arguments: the parent is trusted) and answers
with one frame per finished part and one for the end (plain values, which the parent unpickles with a narrow list of
allowed classes: a worker that parsed hostile bytes is not trusted).
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
import signal
import socket
import struct
import traceback
from collections.abc import Callable, Iterable
from importlib import import_module
from types import GeneratorType
from typing import Any

import outcome

from providers._contract import ProviderError

HEADER = struct.Struct("!Q")
"""In front of every frame: its length in bytes."""
COMMAND = struct.Struct("!ci")
"""What the parent tells the template: `F` (fork; the socket travels along) or `R` (reap this process id)."""
PID = struct.Struct("!i")
"""The template's answer to `F`, written on the new worker's socket; 0 when the fork failed."""

MEMORY_BYTES = 1 << 30
CPU_SECONDS = 15
MAX_REPLY_BYTES = 32 << 20


def serve(control_fd: int, modules: Iterable[str]) -> None:
    """Be the template: import `modules`, then fork a worker per command until the parent is gone."""
    os.environ.clear()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # A stop of the whole process group must let running jobs finish; workers end when their socket closes.
        signal.signal(number, signal.SIG_IGN)
    for name in modules:
        import_module(name)
    _silence()
    gc.collect()
    gc.freeze()
    channel = _fork_on_demand(socket.socket(fileno=control_fd))
    if channel is not None:
        _work(channel)
    os._exit(0)


def _silence() -> None:
    """Point stdout and stderr at nothing: on stdio they carry the protocol and the log of the parent."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def _fork_on_demand(control: socket.socket) -> socket.socket | None:
    """Fork a worker per command. Returns the worker's socket in each worker, and None in the template at the end."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, COMMAND.size, 1)
        if len(message) < COMMAND.size:
            return None
        command, pid = COMMAND.unpack(message)
        if command == b"R":
            _reap(pid)
            continue
        channel = socket.socket(fileno=descriptors[0])
        try:
            pid = os.fork()
        except OSError:
            pid = -1
        if pid == 0:
            control.close()
            return channel
        with channel:
            _tell(channel, PID.pack(max(pid, 0)))


def _reap(pid: int) -> None:
    """Collect a worker that the parent has killed or hung up on; only then its process id may be used again."""
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        return


def _tell(channel: socket.socket, message: bytes) -> None:
    try:
        channel.sendall(message)
    except OSError:
        return  # the asker has gone already


def _work(channel: socket.socket) -> None:
    """Be a worker: one job after the other until the parent hangs up."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    try:
        while (job := _receive(channel)) is not None:
            _renew_cpu_limit()
            _do(channel, job)
    except OSError:
        return  # the parent hung up in the middle


def _renew_cpu_limit() -> None:
    """Allow this job its seconds; the limit counts what the process has used since its start."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(usage.ru_utime + usage.ru_stime) + 1 + CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))


def _do(channel: socket.socket, job: bytearray) -> None:
    """Do one job and answer it. Ends the process after a lack of memory, as the heap is in pieces then."""
    result = outcome.capture(_run, channel, job)
    if isinstance(result, outcome.Value):
        _answer(channel, "done", result.value)
        return
    error = result.error
    if isinstance(error, MemoryError):
        del result
        _send(channel, ("memory", None, 0))
        os._exit(1)
    if isinstance(error, OSError) and not channel_is_open(channel):
        os._exit(1)
    if isinstance(error, ProviderError):
        _answer(channel, "error", pack_error(error))
    else:
        _answer(channel, "bug", "".join(traceback.format_exception(error))[-20_000:])


def _run(channel: socket.socket, job: bytearray) -> object:
    """Call the job's function. What a generator yields is sent at once; its return value is the end."""
    function: Callable[..., object]
    function, args = pickle.loads(job)  # noqa: S301  (comes from our parent)
    del job
    value = function(*args)
    if not isinstance(value, GeneratorType):
        return value
    while True:
        try:
            part = next(value)
        except StopIteration as end:
            return end.value
        _answer(channel, "part", part)


def channel_is_open(channel: socket.socket) -> bool:
    """Whether the parent still holds the other end."""
    try:
        return channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def pack_error(error: ProviderError) -> tuple[Any, ...]:
    """What a typed error says, as plain values; `unpack_error` of the parent makes the error again."""
    return (type(error), error.detail, error.retry_after, error.retry, error.evidence)


def _answer(channel: socket.socket, tag: str, payload: object) -> None:
    _send(channel, (tag, payload, _resident_bytes()))


def _send(channel: socket.socket, reply: tuple[str, object, int]) -> None:
    frame = pickle.dumps(reply, protocol=pickle.HIGHEST_PROTOCOL)
    if len(frame) > MAX_REPLY_BYTES:
        frame = pickle.dumps(("large", len(frame), reply[2]), protocol=pickle.HIGHEST_PROTOCOL)
    channel.sendall(HEADER.pack(len(frame)))
    channel.sendall(frame)


def _receive(channel: socket.socket) -> bytearray | None:
    """The next frame, or None when the parent has hung up."""
    header = channel.recv(HEADER.size, socket.MSG_WAITALL)
    if len(header) < HEADER.size:
        return None
    (length,) = HEADER.unpack(header)
    frame = bytearray(length)
    view = memoryview(frame)
    while view:
        count = channel.recv_into(view)
        if not count:
            return None
        view = view[count:]
    return frame


def _resident_bytes() -> int:
    """Memory of this process that is in RAM now; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return 0
