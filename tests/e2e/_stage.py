"""Processes for tests from end to end: a fake internet, and servers pointed at it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.e2e._template import TEMPLATE, Forked

ROOT = Path(__file__).parent.parent.parent
START_SECONDS = 30.0
PROGRAM = ("-m", "service", "serve")


@dataclass(eq=False)
class FakenetProcess:
    """A fake internet that runs as a process, by its remote control (see tests/fakenet/_control.py)."""

    pid: int
    urls: dict[str, str]
    environment: dict[str, str]
    control: httpx.Client = field(repr=False)

    def play(
        self, remote: str, fault: str, *, path: str | None = None, times: int | None = None, **arguments: Any
    ) -> None:
        order = {"remote": remote, "fault": fault, "arguments": arguments, "path": path, "times": times}
        self.control.post("/play", json=order).raise_for_status()

    def down(self, remote: str) -> None:
        self.control.post("/down", json={"remote": remote}).raise_for_status()

    def reset(self) -> None:
        """All remotes up, no faults, no requests seen."""
        for command in ("/up", "/heal", "/forget"):
            self.control.post(command).raise_for_status()

    def requests(self, remote: str) -> list[dict[str, Any]]:
        seen: list[dict[str, Any]] = self.control.get("/requests", params={"remote": remote}).raise_for_status().json()
        return seen

    def calls(self) -> dict[str, int]:
        counts: dict[str, int] = self.control.get("/calls").raise_for_status().json()
        return counts


@contextmanager
def fakenet_process() -> Iterator[FakenetProcess]:
    command = [sys.executable, "-m", "tests.fakenet", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = json.loads(process.stdout.readline())
            with httpx.Client(base_url=line["control"], trust_env=False, timeout=5) as control:
                yield FakenetProcess(process.pid, line["urls"], line["environment"], control)
        finally:
            process.terminate()


@dataclass(eq=False)
class ServerProcess:
    """A server of ours that runs as a process. `log` is where its stderr goes."""

    process: subprocess.Popen[bytes] | Forked
    url: str
    log: Path

    @property
    def mcp_url(self) -> str:
        return self.url + "/mcp"

    def get(self, path: str) -> httpx.Response:
        with httpx.Client(trust_env=False, timeout=5) as client:
            return client.get(self.url + path)

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


def bare_environment(directory: Path) -> dict[str, str]:
    """What a fresh machine has, with state and log in `directory`."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    return kept | {
        "PYTHONPATH": str(ROOT),
        "LEDGER_URL": f"sqlite:{directory / 'quota.sqlite3'}",
        "LOG_FILE": str(directory / "research-mcp.log"),
    }


@contextmanager
def server_process(
    environment: Mapping[str, str],
    directory: Path,
    *,
    launcher: Sequence[str] = (),
    program: Sequence[str] = PROGRAM,
    spawn: bool = False,
) -> Iterator[ServerProcess]:
    """A server with `environment` (see `bare_environment`), its files under `directory`; up when this returns.

    launcher: a command that executes the one behind it, such as a shell that closes descriptors first. program: what
    Python runs. spawn: start the command itself, which takes a second; else the server is forked from `_template.py`.
    """
    directory.mkdir(parents=True, exist_ok=True)
    port = int(environment.get("MCP_PORT") or free_port())
    variables = bare_environment(directory) | dict(environment) | {"MCP_PORT": str(port)}
    log = directory / "stderr.log"
    process: subprocess.Popen[bytes] | Forked
    if spawn or launcher or program != PROGRAM:
        with log.open("wb") as stderr:
            command = [*launcher, sys.executable, *program]
            process = subprocess.Popen(command, cwd=directory, env=variables, stdout=stderr, stderr=stderr)
    else:
        log.touch()
        process = TEMPLATE.fork(variables, directory, log)
    server = ServerProcess(process, f"http://127.0.0.1:{port}", log)
    try:
        _wait_until_up(server)
        yield server
    finally:
        process.kill()
        process.wait()


def _wait_until_up(server: ServerProcess) -> None:
    give_up_at = time.monotonic() + START_SECONDS
    while time.monotonic() < give_up_at:
        if server.process.poll() is not None:
            break
        try:
            if server.get("/healthz").status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.05)
    raise AssertionError(f"the server did not come up:\n{server.log.read_text()}")


def free_port() -> int:
    """A port nobody listens on just now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
