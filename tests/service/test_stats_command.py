"""`research-mcp stats`: a table that fits, a sentence where none comes, and nothing that a terminal would obey."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from actors.breaker import BreakerStatistics
from actors.quota import QuotaStatistics
from actors.statistics import ActorStatistics, BilledStatistics, CallStatistics, LatencyStatistics, absent
from providers._contract import Role
from service import cli
from service.settings import Settings, load_settings
from service.stats_command import CannotAsk, fetch
from service.stats_table import table
from tests.service.desk import Bench

BRAVE = ActorStatistics(
    "brave",
    "brave",
    ("search",),
    "running",
    quota=QuotaStatistics(1000, "month", 812, 188, "2026-12-01T00:00:00+00:00"),
    breaker=BreakerStatistics("open", 29.4),
    calls=CallStatistics(1234, 1000, 4, {"timeout": 200, "unavailable": 20}, {"throttled": 9}, 1),
    billed=BilledStatistics(98_765, 812),
    latency_ms=LatencyStatistics(123.4, 1534.5, 2000.0),
    last_error="unavailable: 503",
)
READER = ActorStatistics("trafilatura", "trafilatura", ("read",), "running", latency_ms=LatencyStatistics(2.5, 9.04))
ABSENT = absent("exa", "exa", {Role.SEARCH}, "unconfigured")


async def shown(*actors: ActorStatistics) -> dict[str, Any]:
    return json.loads(json.dumps(Bench(actors=actors).stats_desk().snapshot()))


def rows(text: str) -> dict[str, list[str]]:
    return {cells[0]: cells[1:] for line in text.splitlines() if (cells := line.split())}


async def test_an_instance_has_a_row_with_its_state_its_calls_and_its_quota() -> None:
    text = table(await shown(BRAVE, READER, ABSENT), 60)

    assert text.splitlines()[0] == "research-mcp 1.2.3, serving for 0 h 0 min, toolset research"
    assert rows(text)["instance"] == ["state", "asks", "ok", "failed", "quota"]
    assert rows(text)["brave"] == ["open,", "29", "s", "1234", "1000", "220", "812/1000", "month"]
    assert "last error of brave: unavailable: 503" in text
    assert text.endswith("unconfigured: exa")
    assert "exa" not in rows(text)


async def test_a_wide_terminal_shows_everything() -> None:
    text = table(await shown(BRAVE, READER), 200)

    columns = (
        "state asks ok empty failed skipped late running waiting slot in s quota resets billed p50 ms p95 ms restarts"
    )
    assert rows(text)["instance"] == columns.split()
    assert rows(text)["trafilatura"][-3:] == ["2.5", "9.0", "0"]
    assert "2026-12-01" in rows(text)["brave"]


@pytest.mark.parametrize("width", [10, 60, 80, 100, 120])
async def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    names = [replace(BRAVE, instance=f"an-instance-{number}", last_error="x" * 300) for number in range(9)]

    lines = table(await shown(*names, ABSENT), width).splitlines()

    assert max(map(len, lines)) <= max(width, 60)


async def test_warnings_of_the_service_come_below_the_table() -> None:
    found = await shown(BRAVE)
    found["service"] |= {"draining": True, "uptime_s": 90_061, "ledger": {"problem": "quota.sqlite3 is read-only"}}

    text = table(found, 100)

    assert "draining for 25 h 1 min" in text
    assert "warning: brave: 812 of 1000 units of this month are used" in text
    assert "warning: ledger: quota.sqlite3 is read-only" in text


async def test_what_a_terminal_would_obey_is_taken_out() -> None:
    found = await shown(replace(BRAVE, instance="br\x1b[31mave\x9b2J", last_error="\x1b]0;owned\x07 \u202eback\r\n"))
    found["service"]["name"] = "\x1b[2Jname"
    found["service"]["warnings"] = ["\x08\x08"]

    text = table(found, 100)

    assert all(character == "\n" or character.isprintable() for character in text)
    assert "\u202e" not in text


STRANGE: list[dict[str, Any]] = [
    {"service": {"calls": {}}, "actors": []},
    {"service": {"calls": {"t": 1}, "uptime_s": float("inf"), "warnings": 3, "ledger": []}, "actors": [1, {}, None]},
    {"service": {"calls": {}, "uptime_s": float("nan")}, "actors": [{"calls": [], "quota": {"limit": 1}, "state": []}]},
    {"service": {"calls": {}}, "actors": [{"state": "running", "breaker": {"state": "open"}, "calls": {"failed": 1}}]},
]


@pytest.mark.parametrize("found", STRANGE)
def test_whatever_shape_it_has_a_table_comes_out(found: dict[str, Any]) -> None:
    assert "tool" in table(found, 80)


# --- asking -----------------------------------------------------------------------------------------------------------


class Handler(BaseHTTPRequestHandler):
    status: ClassVar[int] = 200
    body: ClassVar[bytes] = b""
    asked: ClassVar[list[dict[str, str]]] = []

    def do_GET(self) -> None:
        self.asked.append({name.lower(): value for name, value in self.headers.items()} | {"path": self.path})
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@contextmanager
def answering(status: int, body: bytes) -> Iterator[int]:
    Handler.status, Handler.body, Handler.asked = status, body, []
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def settings_for(port: int, **variables: str) -> Settings:
    return replace(load_settings(variables), mcp_port=port)


GOOD = json.dumps(STRANGE[0]).encode()


@pytest.mark.parametrize(
    ("variables", "host"),
    [
        ({}, "localhost:{port}"),
        ({"MCP_HOST": "0.0.0.0"}, "127.0.0.1:{port}"),
        ({"MCP_HOST": "0.0.0.0", "MCP_ALLOWED_HOSTS": "mcp.example.com,b.example"}, "mcp.example.com"),
    ],
)
def test_the_server_is_asked_under_a_name_that_it_lets_in(variables: dict[str, str], host: str) -> None:
    with answering(200, GOOD) as port:
        assert fetch(settings_for(port, MCP_BEARER_TOKEN="sesame", **variables))["actors"] == []

    [asked] = Handler.asked
    assert (asked["path"], asked["host"]) == ("/stats", host.format(port=port))
    assert asked["authorization"] == "Bearer sesame"


def test_without_a_token_none_is_sent() -> None:
    with answering(200, GOOD) as port:
        fetch(settings_for(port))

    assert "authorization" not in Handler.asked[0]


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [
        (401, b"{}", "asks for another MCP_BEARER_TOKEN"),
        (421, b"{}", "answers to other names"),
        (404, GOOD, "is no research-mcp"),
        (200, b"<html>", "is no research-mcp"),
        (200, b"[" * 100_000, "is no research-mcp"),
        (200, b"[]", "is no research-mcp"),
        (200, b"{}", "is no research-mcp"),
        (200, b'{"service": {"calls": []}, "actors": []}', "is no research-mcp"),
    ],
)
def test_what_does_not_answer_with_statistics_is_one_sentence(status: int, body: bytes, sentence: str) -> None:
    with answering(status, body) as port, pytest.raises(CannotAsk, match=sentence):
        fetch(settings_for(port))


@pytest.mark.parametrize("host", ["127.0.0.1", "::"])
def test_where_nobody_listens_that_is_said(host: str) -> None:
    with answering(200, GOOD) as port:
        pass

    with pytest.raises(CannotAsk, match=r"no server answers at .*:\d+ \(.*\); name another with --host and --port"):
        fetch(settings_for(port, MCP_HOST=host))


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("MCP_PORT", "MCP_HOST", "MCP_TRANSPORT", "MCP_BEARER_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def test_the_command_prints_the_table(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_BEARER_TOKEN", "canary-token")
    echo = {"service": {"calls": {}, "name": "canary-token"}, "actors": []}
    with answering(200, json.dumps(echo).encode()) as port:
        assert cli.run(["stats", "--port", str(port)]) == 0

    out = capfd.readouterr().out
    assert out.splitlines()[2].split() == ["tool", "total", "ok", "failed", "in", "flight"]
    assert "canary-token" not in out


def test_json_prints_all_of_it_in_ascii(capfd: pytest.CaptureFixture[str]) -> None:
    odd = {"service": {"calls": {}, "name": "\x1b[31m\u202e"}, "actors": []}
    with answering(200, json.dumps(odd).encode()) as port:
        assert cli.run(["stats", "--json", "--port", str(port)]) == 0

    out = capfd.readouterr().out
    assert json.loads(out) == odd
    assert "\x1b" not in out
    assert out.isascii()


def test_no_server_is_one_sentence_and_exit_code_1(capfd: pytest.CaptureFixture[str]) -> None:
    with answering(200, GOOD) as port:
        pass

    assert cli.run(["stats", "--port", str(port)]) == 1
    captured = capfd.readouterr()
    assert captured.err.startswith(f"research-mcp: no server answers at 127.0.0.1:{port} (")
    assert captured.out == ""
