"""Who is let in: Host, Origin and token, exactly."""

from __future__ import annotations

import pytest

from service.gate import Gate, is_loopback

PUBLIC = Gate(False, ("mcp.example.com", "alt.example:8443"), ("https://app.example", "http://dev.example:3000"))


def status(gate: Gate, host: str | None = "localhost:8000", *origins: str, auth: str | None = None) -> int | None:
    headers = [] if host is None else [(b"host", host.encode("latin-1"))]
    headers += [(b"origin", origin.encode("latin-1")) for origin in origins]
    headers += [] if auth is None else [(b"authorization", auth.encode("latin-1"))]
    refusal = gate.refusal([*headers, (b"accept", b"*/*")])
    return None if refusal is None else refusal.status


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8000", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:8000", "[::1]:80"]
)
def test_a_loopback_server_answers_to_local_names(host: str) -> None:
    assert status(Gate(), host) is None


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example",
        "localhost.evil.example",
        "localhost:9@evil.example",
        "evil.example#localhost",
        "localhost:8000.evil.example",
        "localhost:port",
        "localhost:",
        "localhost:123456",
        "127.0.0.2:8000",
        "mcp.example.com",
        "[::1",
        "localhost,evil.example",
    ],
)
def test_a_loopback_server_refuses_other_names(host: str | None) -> None:
    assert status(Gate(), host) == 421


def test_two_hosts_are_refused() -> None:
    refusal = Gate().refusal([(b"host", b"localhost"), (b"host", b"localhost")])

    assert refusal is not None
    assert refusal.status == 421


def test_a_loopback_server_behind_a_proxy_may_have_names_of_its_own() -> None:
    gate = Gate(True, ("mcp.example.com",))

    assert status(gate, "mcp.example.com") is None
    assert status(gate, "localhost:8000") is None
    assert status(gate, "other.example.com") == 421


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("mcp.example.com", None),
        ("MCP.example.com:443", None),
        ("alt.example:8443", None),
        ("alt.example", 421),
        ("alt.example:8444", 421),
        ("localhost", 421),
        ("127.0.0.1:8000", 421),
        ("mcp.example.com.evil.example", 421),
    ],
)
def test_beyond_loopback_the_list_of_hosts_counts(host: str, expected: int | None) -> None:
    assert status(PUBLIC, host) == expected


def test_a_star_for_the_port_means_any_port() -> None:
    gate = Gate(False, ("a.example:*",))

    assert status(gate, "a.example:99") is None
    assert status(gate, "a.example") is None
    assert status(gate, "a.example:9x") == 421


def test_beyond_loopback_any_host_is_taken_where_none_is_listed() -> None:
    assert status(Gate(False, None), "whatever.example") is None
    assert status(Gate(False, None), "what ever") == 421
    assert status(Gate(False, ()), "whatever.example") == 421


@pytest.mark.parametrize(
    "origin", ["http://localhost", "http://localhost:3000", "https://127.0.0.1:1", "http://[::1]:80"]
)
def test_a_loopback_server_takes_local_origins(origin: str) -> None:
    assert status(Gate(), "localhost", origin) is None


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "https://evil.example",
        "http://localhost:3.evil.example",
        "http://localhost.evil.example",
        "http://localhost@evil.example",
        "http://localhost/path",
        "file://localhost",
        "localhost",
        "http://localhost:3000 http://evil.example",
    ],
)
def test_a_loopback_server_refuses_other_origins(origin: str) -> None:
    assert status(Gate(), "localhost", origin) == 403


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("https://app.example", None),
        ("https://APP.example:443", None),
        ("https://app.example:444", 403),
        ("http://app.example", 403),
        ("http://dev.example:3000", None),
        ("http://dev.example", 403),
        ("http://localhost:8000", 403),
        ("null", 403),
    ],
)
def test_beyond_loopback_the_list_of_origins_counts(origin: str, expected: int | None) -> None:
    assert status(PUBLIC, "mcp.example.com", origin) == expected


def test_every_origin_of_a_request_has_to_be_allowed() -> None:
    assert status(Gate(), "localhost", "http://localhost", "https://evil.example") == 403


@pytest.mark.parametrize(
    ("auth", "expected"),
    [
        ("Bearer s3cret", None),
        ("bearer  s3cret", None),
        ("Bearer s3cre", 401),
        ("Bearer", 401),
        ("Basic s3cret", 401),
        ("s3cret", 401),
        ("Bearer \xff", 401),
        (None, 401),
    ],
)
def test_a_token_is_demanded_where_one_is_set(auth: str | None, expected: int | None) -> None:
    assert status(Gate(token="s3cret"), auth=auth) == expected


def test_two_tokens_are_none() -> None:
    refusal = Gate(token="x").refusal([(b"host", b"localhost"), *[(b"authorization", b"Bearer x")] * 2])

    assert refusal is not None
    assert refusal.status == 401


def test_a_foreign_host_is_refused_before_the_token_is_looked_at() -> None:
    assert status(Gate(token="s3cret"), "evil.example") == 421


def test_the_token_shows_nowhere() -> None:
    assert "s3cret" not in repr(Gate(token="s3cret"))


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("[::1]", True), ("localhost", True), ("0.0.0.0", False)],
)
def test_loopback_addresses_are_known(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected
