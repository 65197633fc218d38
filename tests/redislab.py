"""A Redis of the test's own, on a free port and a Unix socket, with nothing on disk unless asked."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

START_SECONDS = 10.0


def free_port() -> int:
    """A port nobody listens on just now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class RedisProcess:
    """One `redis-server`. `url` goes through its port, `socket_url` through its socket."""

    def __init__(self, directory: Path, arguments: Sequence[str]) -> None:
        self.port = free_port()
        self._socket = directory / "socket"
        self._command = ["redis-server", "--port", str(self.port), "--unixsocket", str(self._socket)]
        self._command += ["--bind", "127.0.0.1", "--dir", str(directory), "--save", "", "--loglevel", "warning"]
        self._command += arguments
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.socket_url = f"unix://{self._socket}"
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        give_up_at = time.monotonic() + START_SECONDS
        while time.monotonic() < give_up_at:
            with suppress(OSError):
                if not self.ask("PING").startswith(b"-LOADING"):
                    return
            time.sleep(0.01)
        self.kill()
        raise AssertionError("redis-server did not come up")

    def kill(self) -> None:
        self._process.send_signal(signal.SIGCONT)
        self._process.kill()
        self._process.wait()

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def ask(self, *words: str | int) -> bytes:
        """The answer to one command as Redis writes it, without its last line break; of long texts the text itself."""
        command = f"*{len(words)}\r\n" + "".join(f"${len(str(word))}\r\n{word}\r\n" for word in words)
        with socket.create_connection(("127.0.0.1", self.port), 5) as client:
            client.sendall(command.encode())
            answer = client.recv(65_536)
        return answer.split(b"\r\n")[1 if answer.startswith(b"$") and not answer.startswith(b"$-") else 0]

    def field(self, name: str) -> str | None:
        """One field of the ledger."""
        answer = self.ask("HGET", "research-mcp:ledger", name)
        return None if answer == b"$-1" else answer.decode()


@contextmanager
def redis_process(*arguments: str) -> Iterator[RedisProcess]:
    """A Redis with these arguments beside the usual ones, empty; gone at the end of the block."""
    # pytest's own directories have names too long for a socket.
    directory = Path(tempfile.mkdtemp(prefix="redis"))
    server: Any = None
    try:
        server = RedisProcess(directory, arguments)
        yield server
    finally:
        if server is not None:
            server.kill()
        shutil.rmtree(directory, ignore_errors=True)
