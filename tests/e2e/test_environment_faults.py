"""Whole servers whose log, ledger or disk cannot be used: they start, free instances serve, and one line says why."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from pathlib import Path

import pytest
import trio
from mcp import Client

from tests.e2e._stage import FakenetProcess, ServerProcess, server_process

# The SDK's client leaves generators half read when a stream ends; nothing of ours does.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator '(httpx2|httpcore2|mcp):ResourceWarning")

FREE, METERED = "searxng", "brave"


def variables(net: FakenetProcess, **more: str) -> dict[str, str]:
    """A free instance, and one whose units must be counted."""
    return {
        "SEARXNG_URL": net.urls[FREE],
        "SEARXNG_RATE": "none",
        "BRAVE_BASE_URL": net.urls[METERED],
        "BRAVE_API_KEY": "test-key",
        "BRAVE_QUOTA": "100/day",
        "BRAVE_RATE": "none",
        "ALLOW_PRIVATE_NETWORK": "true",
        **more,
    }


async def search(server: ServerProcess, times: int = 1) -> list[str]:
    """Search `times` times, and give each status."""
    statuses = []
    with trio.fail_after(20):
        async with Client(server.mcp_url) as client:
            await client.list_tools()
            for number in range(times):
                result = await client.call_tool("web_search", {"query": f"type k {number}"})
                statuses.append(result.structured_content["results"][0]["status"])
    return statuses


def lines_with(text: str, event: str) -> list[str]:
    return [line for line in text.splitlines() if event in line]


def assert_calm(text: str) -> None:
    """No traceback, and no complaint of the logging library about itself."""
    assert "Traceback" not in text
    assert "Logging error" not in text


def under_a_file(tmp_path: Path, name: str) -> Path:
    """A path nobody can create, not even root."""
    file = tmp_path / f"file-{name}"
    file.write_text("not a directory")
    return file / name


async def test_server_serves_with_an_unwritable_log_and_a_file_that_is_no_ledger(net, tmp_path):
    ledger = tmp_path / "quota.sqlite3"
    ledger.write_bytes(b"no database at all\n" * 300)
    log = under_a_file(tmp_path, "research-mcp.log")

    environment = variables(net, LOG_FILE=str(log), LEDGER_URL=f"sqlite:{ledger}")
    with server_process(environment, tmp_path / "server") as server:
        statuses = await search(server, 2)
        server.stop()
    said = server.log.read_text()

    assert statuses == ["success"] * 2
    assert (net.calls()[FREE], net.calls()[METERED]) == (2, 0)
    assert len(lines_with(said, "log_file_unwritable")) == 1
    assert len(lines_with(said, "ledger_corrupt")) == 1
    assert [file.read_bytes()[:11] for file in tmp_path.glob("quota.sqlite3.corrupt-*")] == [b"no database"]
    assert_calm(said)


async def test_server_serves_while_its_log_directory_is_deleted_and_its_ledger_is_locked(net, tmp_path):
    ledger, log = tmp_path / "quota.sqlite3", tmp_path / "logs" / "research-mcp.log"
    holder = sqlite3.connect(ledger, isolation_level=None)
    holder.execute("CREATE TABLE held (x)")
    holder.execute("BEGIN EXCLUSIVE")
    try:
        environment = variables(net, LOG_FILE=str(log), LEDGER_URL=f"sqlite:{ledger}")
        with server_process(environment, tmp_path / "server") as server:
            existed = log.exists()
            shutil.rmtree(log.parent)
            statuses = await search(server, 3)
            server.stop()
    finally:
        holder.close()
    said = server.log.read_text()

    assert existed
    assert statuses == ["success"] * 3
    assert (net.calls()[FREE], net.calls()[METERED]) == (3, 0)
    assert len(lines_with(said, "ledger_down")) == 1
    assert len(lines_with(said, "log_file_unwritable")) <= 1
    assert_calm(said)


async def test_server_serves_with_stderr_closed_and_a_ledger_it_cannot_create(net, tmp_path):
    ledger, log = under_a_file(tmp_path, "quota.sqlite3"), tmp_path / "research-mcp.log"

    environment = variables(net, LOG_FILE=str(log), LEDGER_URL=f"sqlite:{ledger}")
    closing = ["sh", "-c", 'exec "$0" "$@" 2>&-']
    with server_process(environment, tmp_path / "server", launcher=closing) as server:
        stderr = os.readlink(f"/proc/{server.process.pid}/fd/2")
        statuses = await search(server, 3)
        code = server.stop()
    said = log.read_text()

    assert statuses == ["success"] * 3
    assert (net.calls()[FREE], net.calls()[METERED]) == (3, 0)
    assert code == 0
    assert len(lines_with(said, "ledger_down")) == 1
    # No file or socket took the number, to get the log's lines: each line of the file is there once.
    assert stderr == os.devnull
    events = [json.loads(line) for line in said.splitlines()]
    assert len({json.dumps(event) for event in events}) == len(events)
    assert server.log.read_text() == ""
    assert_calm(said)


async def test_server_serves_when_no_file_can_grow(net, tmp_path):
    full_disk = ["sh", "-c", 'ulimit -f 0; exec "$0" "$@"']
    with server_process(variables(net), tmp_path / "server", launcher=full_disk) as server:
        statuses = await search(server, 3)
        service = server.get("/stats").json()["service"]
        code = server.stop()

    assert statuses == ["success"] * 3
    assert (net.calls()[FREE], net.calls()[METERED]) == (3, 0)
    assert min(service["log"].values()) > 0, "lines that were dropped are counted, of either sink"
    assert code == 0
