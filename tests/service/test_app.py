"""The HTTP application, called as ASGI: routes, gate, methods and request bodies."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
import trio
from structlog.testing import capture_logs

from actors.breaker import BreakerStatistics
from actors.quota import QuotaStatistics
from actors.statistics import ActorStatistics, CallStatistics
from service import app as app_module
from service import stats
from service.app import MAX_REQUEST_BYTES, REQUESTS_PER_PASS, HttpApp, Message, Reply, json_reply, warn_of_open_routes
from service.gate import Gate
from tests.service.desk import Bench

LOCAL = [(b"host", b"localhost:8000")]


@dataclass
class Response:
    status: int
    headers: dict[bytes, bytes]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def ask(
    app: HttpApp,
    method: str,
    path: str,
    *,
    headers: Sequence[tuple[bytes, bytes]] = LOCAL,
    messages: Sequence[Message] = (),
) -> Response | None:
    """Send one request; after `messages` the client sends nothing more. None where no answer was given."""
    waiting, sent = list(messages), []

    async def receive() -> Message:
        if not waiting:
            await trio.sleep_forever()
        await trio.lowlevel.checkpoint()
        return waiting.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    await app({"type": "http", "method": method, "path": path, "headers": list(headers)}, receive, send)
    if not sent:
        return None
    start, *bodies = sent
    return Response(start["status"], dict(start["headers"]), b"".join(body["body"] for body in bodies))


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """In place of the SDK: answers with the body it was given, and waits for the client to leave."""
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": [(b"path", scope["path"].encode())]})
    await send({"type": "http.response.body", "body": body})


def make_app(gate: Gate | None = None, mcp_path: str = "/mcp") -> HttpApp:
    pages = {"/healthz": lambda: json_reply(200, {}), "/stats": lambda: Reply(200, b"numbers")}
    return HttpApp(echo, gate or Gate(), pages, mcp_path=mcp_path, open_pages=frozenset({"/healthz"}))


async def asked(*args: Any, **fields: Any) -> Response:
    response = await ask(*args, **fields)
    assert response is not None
    return response


def chunk(body: bytes, *, more: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


# --- routes ---------------------------------------------------------------------------------------------------------


async def test_a_post_reaches_the_sdk_whole() -> None:
    response = await asked(make_app(), "POST", "/mcp", messages=[chunk(b"{", more=True), chunk(b"}")])

    assert (response.status, response.body) == (200, b"{}")


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_the_path_may_end_in_a_slash(path: str) -> None:
    response = await asked(make_app(), "POST", path, messages=[chunk(b"{}")])

    assert response.headers[b"path"] == b"/mcp"


async def test_the_path_can_be_chosen() -> None:
    app = make_app(mcp_path="/deep/research/")

    assert (await asked(app, "POST", "/deep/research", messages=[chunk(b"{}")])).status == 200
    assert (await asked(app, "POST", "/mcp", messages=[chunk(b"{}")])).status == 404


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "PUT", "OPTIONS", "PRI"])
async def test_mcp_takes_posts_only(method: str) -> None:
    response = await asked(make_app(), method, "/mcp")

    assert response.status == 405
    assert response.headers[b"allow"] == b"POST"
    assert not any(name.startswith(b"access-control") for name in response.headers)


@pytest.mark.parametrize("method", ["POST", "DELETE", "OPTIONS"])
async def test_pages_take_gets_only(method: str) -> None:
    response = await asked(make_app(), method, "/stats")

    assert (response.status, response.headers[b"allow"]) == (405, b"GET, HEAD")


async def test_pages_answer_get_and_head() -> None:
    got, head = await asked(make_app(), "GET", "/stats"), await asked(make_app(), "HEAD", "/stats")

    assert (got.status, got.body, head.status, head.body) == (200, b"numbers", 200, b"")
    assert got.headers[b"content-length"] == head.headers[b"content-length"] == b"7"
    assert got.headers[b"cache-control"] == b"no-store"


@pytest.mark.parametrize("path", ["/", "/nope", "/mcp/x", "//mcp", "/stats/", "*", "http://evil.example/stats"])
async def test_other_paths_are_not_there(path: str) -> None:
    assert (await asked(make_app(), "GET", path)).status == 404


# --- the gate on every route ----------------------------------------------------------------------------------------

ROUTES = [("POST", "/mcp"), ("GET", "/mcp"), ("GET", "/stats"), ("GET", "/readyz"), ("GET", "/metrics"), ("GET", "/x")]


@pytest.mark.parametrize(("method", "path"), ROUTES)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([(b"host", b"evil.example")], 421),
        ([(b"host", b"localhost:1@evil.example")], 421),
        ([*LOCAL, (b"origin", b"https://evil.example")], 403),
        ([*LOCAL, (b"origin", b"null")], 403),
        (LOCAL, 401),
        ([*LOCAL, (b"authorization", b"Bearer wrong")], 401),
    ],
)
async def test_every_route_is_behind_the_gate(
    method: str, path: str, headers: list[tuple[bytes, bytes]], status: int
) -> None:
    response = await asked(make_app(Gate(token="s3cret")), method, path, headers=headers)

    assert response.status == status
    assert response.headers[b"connection"] == b"close"
    assert (b"www-authenticate" in response.headers) == (status == 401)


@pytest.mark.parametrize("headers", [[(b"host", b"10.0.0.9")], [], [(b"origin", b"null"), (b"host", b"evil.example")]])
async def test_health_is_told_to_everybody(headers: list[tuple[bytes, bytes]]) -> None:
    response = await asked(make_app(Gate(token="s3cret")), "GET", "/healthz", headers=headers)

    assert response.status == 200


async def test_a_request_with_two_lengths_is_refused() -> None:
    headers = [*LOCAL, (b"content-length", b"2"), (b"transfer-encoding", b"chunked")]

    response = await asked(make_app(), "POST", "/mcp", headers=headers, messages=[chunk(b"{}")])

    assert (response.status, response.headers[b"connection"]) == (400, b"close")


# --- bodies ---------------------------------------------------------------------------------------------------------


async def test_a_body_of_a_mebibyte_is_taken() -> None:
    body = b"x" * MAX_REQUEST_BYTES

    assert (await asked(make_app(), "POST", "/mcp", messages=[chunk(body)])).body == body


@pytest.mark.parametrize(
    "messages",
    [
        [chunk(b"x" * (MAX_REQUEST_BYTES + 1))],
        [chunk(b"x" * MAX_REQUEST_BYTES, more=True), chunk(b"x", more=True), chunk(b"x" * 100)],
        [chunk(b"x" * MAX_REQUEST_BYTES, more=True), chunk(b"x", more=True), {"type": "http.disconnect"}],
        [chunk(b"x" * MAX_REQUEST_BYTES, more=True)] * 12,
    ],
)
async def test_a_larger_body_is_refused(messages: list[Message], autojump_clock: trio.testing.MockClock) -> None:
    response = await asked(make_app(), "POST", "/mcp", messages=messages)

    assert (response.status, response.headers[b"connection"]) == (413, b"close")


async def test_a_body_declared_too_large_is_refused_unread(autojump_clock: trio.testing.MockClock) -> None:
    headers = [*LOCAL, (b"content-length", b"1000000000")]

    response = await asked(make_app(), "POST", "/mcp", headers=headers, messages=[chunk(b"x", more=True)])

    assert response.status == 413
    assert trio.current_time() == pytest.approx(app_module.DISCARD_SECONDS)


async def test_a_body_has_ten_seconds_in_all(autojump_clock: trio.testing.MockClock) -> None:
    response = await asked(make_app(), "POST", "/mcp", messages=[chunk(b"{", more=True)])

    assert (response.status, response.headers[b"connection"]) == (408, b"close")
    assert trio.current_time() == pytest.approx(10)


async def test_a_client_that_leaves_in_mid_body_gets_no_answer() -> None:
    messages = [chunk(b"{", more=True), {"type": "http.disconnect"}]

    assert await ask(make_app(), "POST", "/mcp", messages=messages) is None


async def test_a_client_that_leaves_later_is_noticed() -> None:
    seen = []

    async def wait_for_end(_scope: Any, receive: Any, _send: Any) -> None:
        seen.extend([await receive(), await receive()])

    app = HttpApp(wait_for_end, Gate(), {}, open_pages=frozenset())
    await ask(app, "POST", "/mcp", messages=[chunk(b"{}"), {"type": "http.disconnect"}])

    assert [message["type"] for message in seen] == ["http.request", "http.disconnect"]


async def test_requests_of_one_instant_go_on_a_few_in_each_pass_of_the_loop() -> None:
    passes, begun = Passes(), []

    async def note(_scope: Any, _receive: Any, _send: Any) -> None:
        begun.append(passes.number)

    app = HttpApp(note, Gate(), {}, open_pages=frozenset())
    trio.lowlevel.add_instrument(passes)
    async with trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(partial(ask, app, "POST", "/mcp", messages=[chunk(b"{}")]))
    trio.lowlevel.remove_instrument(passes)

    assert len(begun) == 50
    assert max(Counter(begun).values()) == REQUESTS_PER_PASS


class Passes(trio.abc.Instrument):
    """Counts how often the loop looked at its sockets and its clock."""

    number = 0

    def before_io_wait(self, timeout: float) -> None:
        self.number += 1


# --- operators' pages -----------------------------------------------------------------------------------------------


def actor(
    instance: str, *roles: str, state: Any = "running", breaker: str = "closed", **fields: Any
) -> ActorStatistics:
    return ActorStatistics(instance, instance, roles, state, breaker=BreakerStatistics(breaker, None), **fields)


@pytest.mark.parametrize(
    ("actors", "status"),
    [
        ([actor("a", "search"), actor("b", "read")], 200),
        ([actor("a", "search", "read")], 200),
        ([actor("a", "search")], 503),
        ([actor("a", "search"), actor("b", "read", state="retired")], 503),
        ([actor("a", "search"), actor("b", "read", breaker="open")], 503),
        ([actor("a", "search"), actor("b", "read", breaker="half_open")], 200),
        ([actor("a", "search", state="restarting"), actor("b", "read")], 503),
        ([], 503),
    ],
)
async def test_the_service_is_ready_when_it_can_search_and_read(actors: list[ActorStatistics], status: int) -> None:
    app, _ = Bench(actors=actors).app()

    assert (await asked(app, "GET", "/readyz")).status == status


async def test_a_draining_service_is_neither_healthy_nor_ready() -> None:
    bench = Bench(actors=[actor("a", "search", "read")])
    app, _ = bench.app()
    assert (await asked(app, "GET", "/healthz")).status == 200

    bench.calls.drain()

    assert (await asked(app, "GET", "/healthz")).json == {"status": "draining"}
    assert (await asked(app, "GET", "/healthz")).status == 503
    assert (await asked(app, "GET", "/readyz")).status == 503
    assert (await asked(app, "GET", "/stats")).json["service"]["draining"] is True


async def test_statistics_warn_of_quotas_that_are_nearly_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = "2026-12-01T00:00:00+00:00"
    quotas = [QuotaStatistics(10, "month", used, 10 - used, ends) for used in (7, 8)]
    monkeypatch.setattr(stats.time, "time", lambda: 1_796_000_000.0)  # 2026-11-30
    app, _ = Bench(actors=[actor(f"a{quota.used}", "search", quota=quota) for quota in quotas]).app()

    shown = (await asked(app, "GET", "/stats")).json

    assert shown["service"]["warnings"] == [f"a8: 8 of 10 units of this month are used, until {ends}"]


async def test_statistics_warn_where_a_quota_counts_for_a_period_that_the_clock_has_left() -> None:
    ends = "2099-02-01T00:00:00+00:00"
    app, _ = Bench(actors=[actor("a", "search", quota=QuotaStatistics(10, "month", 1, 9, ends))]).app()

    shown = (await asked(app, "GET", "/stats")).json

    assert shown["service"]["warnings"] == [f"a: the clock has gone back; its units count for the month until {ends}"]


async def test_statistics_have_the_fields_of_the_contract() -> None:
    calls = CallStatistics(total=3, ok=1, failed={"blocked": 2})
    bench = Bench(actors=[actor("duckduckgo", "search", calls=calls, last_error="captcha")])
    await bench.call("web_search", query="q")
    await bench.call("web_search", query="")
    app, _ = bench.app()

    shown = (await asked(app, "GET", "/stats")).json

    assert {name: value for name, value in shown["service"].items() if name != "uptime_s"} == {
        "name": "research-mcp",
        "version": "1.2.3",
        "toolset": "research",
        "draining": False,
        "log": {"dropped_stderr": 0, "dropped_file": 0},
        "ledger": {"problem": None},
        "warnings": [],
        "calls": {
            "search_and_read": {"total": 0, "ok": 0, "failed": 0, "in_flight": 0},
            "web_search": {"total": 2, "ok": 1, "failed": 1, "in_flight": 0},
            "web_search_images": {"total": 0, "ok": 0, "failed": 0, "in_flight": 0},
            "read_page": {"total": 0, "ok": 0, "failed": 0, "in_flight": 0},
            "read_pages": {"total": 0, "ok": 0, "failed": 0, "in_flight": 0},
        },
    }
    [one] = shown["actors"]
    assert one == {
        "instance": "duckduckgo",
        "type": "duckduckgo",
        "roles": ["search"],
        "state": "running",
        "mailbox": {"depth": 0, "capacity": 0},
        "in_flight": 0,
        "workers": 0,
        "throttle": {"rate": None, "next_slot_in_s": 0.0},
        "quota": {"limit": None, "period": None, "used": None, "remaining": None, "resets_at": None},
        "breaker": {"state": "closed", "reopens_in_s": None},
        "calls": {"total": 3, "ok": 1, "empty": 0, "failed": {"blocked": 2}, "skipped": {}, "late": 0},
        "billed": {"units": 0, "period_units": 0},
        "latency_ms": {"p50": None, "p95": None, "p99": None},
        "restarts": 0,
        "last_error": "captcha",
        "proxy": None,
    }


async def test_statistics_are_cleaned_and_redacted() -> None:
    bench = Bench(actors=[actor("x", "search", last_error="key k3y said \x1b[31m\u202eno\ud800")])
    desk = bench.stats_desk(redact=lambda text: text.replace("k3y", "***"))

    [one] = json.loads(desk.stats().body)["actors"]

    assert one["last_error"].startswith("key *** said no")
    assert "\x1b" not in one["last_error"]


@pytest.mark.parametrize(
    ("gate", "warned"),
    [(Gate(False, None), True), (Gate(False, None, token="x"), False), (Gate(True), False)],
)
def test_an_open_port_beyond_loopback_is_warned_of(gate: Gate, warned: bool) -> None:
    with capture_logs() as lines:
        warn_of_open_routes(gate, "0.0.0.0", ("/mcp", "/stats"))

    assert bool(lines) is warned
    if warned:
        assert lines[0]["log_level"] == "warning"
        assert lines[0]["open_routes"] == ["/mcp", "/stats"]
