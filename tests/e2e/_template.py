"""Servers forked from a process that has everything imported: they start in a tenth of a second, not in one and more.

`python -m tests.e2e._template` reads one line of JSON per server (environment, directory, output) and answers with its
process id. What runs is `service.__main__.main` as the command would run it, in a process of its own; that the real
command starts is for the tests that say so (`spawn=True`). A keeper between the two waits for the server, and leaves
its exit code in a file, since only a parent learns it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
MAX_DESCRIPTOR = 256


class Forked:
    """A server by its process id, with the part of `subprocess.Popen` that tests use."""

    def __init__(self, pid: int, exit_file: Path) -> None:
        self.pid = pid
        self._exit_file = exit_file

    @property
    def returncode(self) -> int | None:
        return self.poll()

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        try:
            return int(self._exit_file.read_text())
        except FileNotFoundError:
            return None

    def wait(self, timeout: float | None = None) -> int:
        give_up_at = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if give_up_at is not None and time.monotonic() > give_up_at:
                raise subprocess.TimeoutExpired("server", timeout or 0.0)
            time.sleep(0.005)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


class Template:
    """The process that servers are forked from; started with the first of them, and gone with this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def fork(self, environment: Mapping[str, str], directory: Path, output: Path) -> Forked:
        """Start a server with `environment` in `directory`; what it prints goes to the file `output`."""
        exit_file = directory / f"exit-{time.monotonic_ns()}"
        order = {
            "environment": dict(environment),
            "directory": str(directory),
            "output": str(output),
            "exit_file": str(exit_file),
        }
        with self._lock:
            process = self._process = self._process or self._start()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
            return Forked(int(process.stdout.readline()), exit_file)

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.e2e._template"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )


TEMPLATE = Template()


# --- in the template ------------------------------------------------------------------------------------------------


def load() -> None:
    """Import what a server imports, and start no thread."""
    import actors.impersonating
    import service.cli
    import service.hypercorn_guard
    import service.retrieval
    import service.serving

    assert threading.active_count() == 1
    del actors, service


def serve_orders() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for keepers
    load()
    buffer = b""
    while chunk := os.read(0, 1 << 16):
        *lines, buffer = (buffer + chunk).split(b"\n")
        for line in lines:
            if os.fork() == 0:
                keep(json.loads(line))


def keep(order: dict[str, str]) -> None:
    """The keeper: fork the server, tell its process id, and leave its exit code when it has ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        serve(order)
    os.write(1, b"%d\n" % pid)
    for descriptor in (0, 1):
        os.close(descriptor)
    _, status = os.waitpid(pid, 0)
    told = Path(order["exit_file"])
    told.with_suffix(".new").write_text(str(os.waitstatus_to_exitcode(status)))
    told.with_suffix(".new").rename(told)
    os._exit(0)


def serve(order: dict[str, str]) -> None:
    """The server, as the command would run it."""
    code = 1
    try:
        nothing, output = os.open(os.devnull, os.O_RDONLY), os.open(order["output"], os.O_WRONLY | os.O_CREAT, 0o644)
        for source, target in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        os.closerange(3, MAX_DESCRIPTOR)
        os.environ.clear()
        os.environ.update(order["environment"])  # type: ignore[arg-type]
        os.chdir(order["directory"])
        sys.argv = ["research-mcp", "serve"]
        from service.__main__ import main

        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve_orders()
