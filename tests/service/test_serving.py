"""The whole service on its transport, in this process: from settings to SIGTERM."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio
from structlog.testing import capture_logs

from service import server, serving
from service.logs import LogStatistics
from service.pipes import Pipes
from service.server import CannotListen
from service.settings import Settings, load_settings

pytestmark = pytest.mark.usefixtures("_harmless")


@pytest.fixture
def _harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's own process must outlive the watchdog, and keep its garbage collector as it is."""
    monkeypatch.setattr(server, "start_watchdog", lambda _seconds: None)
    monkeypatch.setattr(server, "settle_garbage_collector", lambda: None)
    monkeypatch.setattr(server, "LISTEN_SECONDS", 0.0)


def settings_for(folder: Path, **variables: str) -> Settings:
    base = {"LEDGER_URL": f"sqlite:{folder / 'quota.sqlite3'}", "EXTRACT_WORKERS": "1"}
    return load_settings(base | variables)


def free_port() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return str(taken.getsockname()[1])


async def get(url: str, **headers: str) -> httpx.Response:
    """As soon as the server is up."""
    async with httpx.AsyncClient(trust_env=False) as client:
        with trio.fail_after(20):
            while True:
                try:
                    return await client.get(url, headers=headers)
                except httpx.ConnectError:
                    await trio.sleep(0.01)


async def test_the_service_serves_its_pages_behind_the_gate_until_sigterm(tmp_path: Path) -> None:
    port = free_port()
    settings = settings_for(tmp_path, MCP_PORT=port, MCP_BEARER_TOKEN="the-token", MCP_NAME="mine")
    url = f"http://127.0.0.1:{port}"
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serving.serve, settings, lambda: LogStatistics(3, 4))
            health = await get(f"{url}/healthz")
            closed = await get(f"{url}/stats")
            stats = await get(f"{url}/stats", Authorization="Bearer the-token")
            unmetered = await get(f"{url}/metrics")
            metrics = await get(f"{url}/metrics", Authorization="Bearer the-token")
            page, unseen = await get(f"{url}/ops"), await get(f"{url}/ops/data")
            seen = await get(f"{url}/ops/data", Authorization="Bearer the-token")
            os.kill(os.getpid(), signal.SIGTERM)

    assert (health.status_code, closed.status_code, stats.status_code) == (200, 401, 200)
    assert stats.json()["service"]["name"] == "mine"
    assert "the-token" not in stats.text
    assert (unmetered.status_code, metrics.status_code) == (401, 200)
    assert metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert 'research_mcp_provider_up{provider="duckduckgo"} 1.0' in metrics.text
    assert (page.status_code, unseen.status_code, seen.status_code) == (401, 401, 200)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert [["duckduckgo"]] in [entry["groups"] for entry in seen.json()["roles"]]
    with pytest.raises(OSError, match="refused|attempts"):
        await trio.open_tcp_stream("127.0.0.1", int(port))


async def test_a_server_that_anybody_reaches_without_a_token_says_which_routes_are_open(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, MCP_PORT=free_port(), MCP_HOST="0.0.0.0", MCP_PATH="/research")
    with capture_logs() as lines, trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serving.serve, settings)
            await get(f"http://127.0.0.1:{settings.mcp_port}/healthz")
            os.kill(os.getpid(), signal.SIGTERM)

    warning = next(line for line in lines if line["event"] == "no_bearer_token")
    assert warning["open_routes"][0] == "/research"
    assert "/healthz" not in warning["open_routes"]


async def test_a_taken_port_is_found_before_anything_is_started(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        settings = settings_for(tmp_path, MCP_PORT=str(taken.getsockname()[1]))
        with pytest.raises(CannotListen, match="in use"):
            await serving.serve(settings)

    assert not (tmp_path / "quota.sqlite3").exists()


async def test_over_stdio_no_port_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Any] = []

    async def serve_stdio(mcp: Any, pipes: Pipes) -> None:
        served.append((mcp.name, pipes))

    monkeypatch.setattr(serving, "serve_stdio", serve_stdio)
    monkeypatch.setattr(serving, "open_listeners", lambda *_: pytest.fail("a port was opened"))

    settings, pipes = settings_for(tmp_path, MCP_TRANSPORT="stdio", MCP_NAME="mine"), Pipes(0, 1)
    await serving.serve(settings, pipes=pipes)

    assert served == [("mine", pipes)]
