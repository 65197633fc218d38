"""The parent's handles on one worker and on the template that forks them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from array import array
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import trio

from ._worker_process import COMMAND, HEADER, MAX_REPLY_BYTES
from ._worker_replies import GONE, Reply, load_reply

_CHUNK_BYTES = 256 << 10
_START = "import sys; sys.path[:] = sys.argv[3:]; from providers._worker_process import serve; "
_START += "serve(int(sys.argv[1]), sys.argv[2].split())"


@dataclass(eq=False, slots=True)
class Worker:
    pid: int
    stream: trio.SocketStream
    idle_since: float = field(default_factory=trio.current_time)

    async def do(self, payload: bytes, parts: list[Any]) -> Reply:
        """Send a job, collect its parts, return its end. Raises BrokenResourceError if it could not be sent."""
        await self.stream.send_all(HEADER.pack(len(payload)))
        await self.stream.send_all(payload)
        received = 0
        while True:
            frame = await self._receive()
            if frame is None:
                return GONE
            received += len(frame)
            reply = load_reply(frame)
            if reply.tag != "part":
                return reply
            if received > MAX_REPLY_BYTES:
                return Reply("memory")
            parts.append(reply.payload)

    async def _receive(self) -> bytearray | None:
        try:
            header = await receive_exactly(self.stream, HEADER.size)
            if header is None:
                return None
            (length,) = HEADER.unpack(header)
            return await receive_exactly(self.stream, length) if length <= MAX_REPLY_BYTES else None
        except trio.BrokenResourceError:
            return None

    def kill(self) -> None:
        # The id cannot have passed to another process: the template collects a worker only when told to.
        with suppress(ProcessLookupError):  # where the template itself has died, its workers may be collected already
            os.kill(self.pid, signal.SIGKILL)
        self.stream.socket.close()


@dataclass(frozen=True, slots=True)
class Command:
    code: bytes
    pid: int = 0
    channel: socket.socket | None = None


@dataclass(frozen=True, slots=True)
class Template:
    process: trio.Process
    control: socket.socket

    def send(self, command: Command) -> bool:
        """Pass a command on; False when the template is dead. Never waits: the socket holds thousands of commands."""
        rights: list[tuple[int, int, array[int]]] = []
        if command.channel is not None:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", [command.channel.fileno()]))]
        try:
            self.control.sendmsg([COMMAND.pack(command.code, command.pid)], rights)
        except OSError:
            return False
        return True

    async def aclose(self) -> None:
        """Hang up, which ends the process, and collect it."""
        self.control.close()
        with trio.move_on_after(1):
            await self.process.wait()
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()


async def start_template(preload: Sequence[str]) -> Template:
    control, theirs = socket.socketpair()
    control.setblocking(False)
    process = None
    try:
        arguments = [str(theirs.fileno()), " ".join(preload), *map(os.path.abspath, sys.path)]
        # Its own session: Ctrl-C in a terminal is for the server, which then lets running jobs finish.
        process = await trio.lowlevel.open_process(
            [sys.executable, "-I", "-X", "utf8", "-c", _START, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={},
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
        )
    finally:
        theirs.close()
        if process is None:
            control.close()
    return Template(process, control)


async def receive_exactly(stream: trio.SocketStream, count: int) -> bytearray | None:
    """`count` bytes, or None when the other side hung up first."""
    received = bytearray()
    while len(received) < count:
        chunk = await stream.receive_some(min(count - len(received), _CHUNK_BYTES))
        if not chunk:
            return None
        received += chunk
    return received
