"""Asking vendors: what goes out, what comes back, and that nothing untyped or secret comes out."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
import trio

from providers import _wire
from providers._contract import (
    Hit,
    Malformed,
    ProviderError,
    QuotaSpent,
    RateLimited,
    Refused,
    TooHeavy,
    TooLarge,
    Unavailable,
)
from providers._json import read_json
from providers._wire import Rule, ask, digest, get_json, parsing, post_json, translating
from providers._workers import inline_workers

URL = "https://api.example.com/v1/search"
Handler = Callable[[httpx.Request], httpx.Response]


def client_of(handler: Handler) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.MockTransport(handler))


def says(content: bytes, status: int = 200, **headers: str) -> Handler:
    return lambda request: httpx.Response(status, headers=headers, content=content)


async def test_get_json_sends_parameters_and_headers_and_reads_the_answer() -> None:
    sent: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={"a": ["\u2603"]})

    async with client_of(handler) as client:
        reply = await get_json(client, URL, params={"q": "x y", "n": 3}, headers={"x-key": "k"})

    assert reply == {"a": ["\u2603"]}
    assert str(sent[0].url) == URL + "?q=x+y&n=3"
    assert sent[0].headers["x-key"] == "k"
    assert sent[0].extensions["max_body_bytes"] == 5 * 1024 * 1024
    assert "from_caller" not in sent[0].extensions


async def test_post_json_sends_its_body() -> None:
    sent: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json=[1])

    async with client_of(handler) as client:
        reply = await post_json(client, URL, json={"q": "x"}, headers={"x-key": "k"})

    assert reply == [1]
    assert (sent[0].method, json.loads(sent[0].content)) == ("POST", {"q": "x"})


async def test_ask_applies_the_rules_of_the_vendor() -> None:
    rules = (Rule(QuotaSpent, status=400, needle="not enough credits"),)
    async with client_of(says(b'{"message": "Not enough credits"}', 400)) as client:
        for call in (
            ask(client, "GET", URL, rules=rules),
            get_json(client, URL, rules=rules),
            post_json(client, URL, json={}, rules=rules),
        ):
            with pytest.raises(QuotaSpent):
                await call


async def test_a_redirect_of_a_vendor_is_malformed_and_not_followed() -> None:
    asked = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(307, headers={"location": "https://evil.example.com/"})

    async with client_of(handler) as client:
        with pytest.raises(Malformed, match="redirected"):
            await post_json(client, URL, json={"api_key": "SECRET"})

    assert len(asked) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"", b"<html>captcha SECRET</html>",
        b'{"key": "SECRET"', b"[" * 1_00_000, b'{"a": NaN}', b"[Infinity]", b"[-Infinity]",
        b"[1e999]", b'{"a":' + b"9" * 5000 + b"}", b"\xff\xfe\x00", b"{'a': 1}", b"[1,]",
    ],
)  # fmt: skip
async def test_an_answer_that_is_no_strict_json_is_malformed_without_a_snippet(body: bytes) -> None:
    async with client_of(says(body)) as client:
        with pytest.raises(Malformed, match=r"^answer is no JSON$") as caught:
            await get_json(client, URL)

    assert caught.value.__cause__ is None
    assert "SECRET" not in repr(caught.value)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'\xef\xbb\xbf{"a": 1.5}', {"a": 1.5}),
        (
            b'{"t": "\\ud800x", "\\uDFFF": ["\\uD83D\\uDE00", 1, null]}',
            {"t": "\ufffdx", "\ufffd": ["\U0001f600", 1, None]},
        ),
        (b'["caf\xe9"]', ["caf\ufffd"]),
        (b'["nul \\u0000"]', ["nul \x00"]),
    ],
)
def test_json_is_read_leniently_only_where_no_harm_is_done(body: bytes, value: Any) -> None:
    assert read_json(body) == value
    json.dumps(read_json(body), ensure_ascii=False).encode()


# --- digest ---------------------------------------------------------------------------------------------------------


def titles(value: Any) -> list[str]:
    return [item["title"] for item in value["items"]]


def body_of(size: int) -> bytes:
    return json.dumps({"items": [{"title": "x" * 100}] * (size // 115)}).encode()


async def test_a_small_answer_is_digested_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(_wire, "_workers")

    assert len(await digest(body_of(100_000), titles)) == 869


async def test_a_large_answer_is_digested_in_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = []

    async def run(function: Callable[..., Any], *args: Any) -> Any:
        jobs.append(function)
        await trio.lowlevel.checkpoint()
        return function(*args)

    monkeypatch.setattr(_wire._workers, "run", run)

    assert len(await digest(body_of(1_000_000), titles)) == 8695
    assert len(jobs) == 1


def hits(value: Any) -> tuple[Hit, ...]:
    return tuple(Hit("http://a.example/", item["title"]) for item in value["items"])


async def test_of_a_large_answer_no_more_hits_come_back_than_anybody_asks_for() -> None:
    with inline_workers():
        assert len(await digest(body_of(1_000_000), hits)) == 200


@pytest.mark.parametrize("error", [TooHeavy("killed"), TooLarge("reply")])
async def test_an_answer_too_heavy_for_a_worker_is_malformed(
    monkeypatch: pytest.MonkeyPatch, error: ProviderError
) -> None:
    async def run(function: Callable[..., Any], *args: Any) -> Any:
        raise error

    monkeypatch.setattr(_wire._workers, "run", run)

    with pytest.raises(Malformed, match="too heavy"):
        await digest(body_of(1_000_000), titles)


async def test_an_answer_over_five_megabytes_is_malformed() -> None:
    with pytest.raises(Malformed, match="too large"):
        await digest(bytes(5 * 1024 * 1024 + 1), titles)


@pytest.mark.parametrize(
    "body", [b"[]", b"{}", b'{"items": 1}', b'{"items": [{"name": 1}]}', b'{"items": [null]}', b'"x"']
)
async def test_a_changed_shape_is_malformed(body: bytes) -> None:
    with pytest.raises(Malformed, match=r"^answer of an unexpected shape \(\w+\)$"):
        await digest(body, titles)


@pytest.mark.parametrize(
    "error",
    [
        KeyError("SECRET"),
        IndexError(),
        TypeError(),
        ValueError("SECRET"),
        AttributeError(),
        ZeroDivisionError(),
        OverflowError(),
        RecursionError(),
    ],
)
def test_parsing_turns_errors_of_shape_into_malformed(error: Exception) -> None:
    with pytest.raises(Malformed) as caught, parsing():
        raise error

    assert "SECRET" not in caught.value.detail


@pytest.mark.parametrize("error", [RateLimited("status 429"), OSError(), RuntimeError()])
def test_parsing_lets_other_errors_through(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, parsing():
        raise error

    assert caught.value is error


# --- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "kind", "detail", "retry"),
    [
        (httpx.ConnectError("SECRET"), Unavailable, "no connection", True),
        (httpx.ConnectTimeout("SECRET"), Unavailable, "no answer in time", True),
        (httpx.ReadError("SECRET"), Unavailable, "connection broke", True),
        (httpx.WriteError("SECRET"), Unavailable, "connection broke", True),
        (httpx.ProxyError("SECRET"), Unavailable, "proxy", False),
        (httpx.RemoteProtocolError("SECRET"), Malformed, "not an HTTP answer", True),
        (httpx.DecodingError("SECRET"), Malformed, "content encoding broken", True),
        (httpx.LocalProtocolError("SECRET"), Malformed, "request cannot be sent", True),
        (httpx.UnsupportedProtocol("SECRET"), Malformed, "request cannot be sent", True),
        (httpx.InvalidURL("SECRET"), Malformed, "request cannot be sent", True),
        (httpx.StreamClosed(), Malformed, "request cannot be sent", True),
    ],
)
async def test_what_a_client_raises_is_translated_without_its_text(
    error: Exception, kind: type[ProviderError], detail: str, retry: bool
) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise error

    async with client_of(handler) as client:
        with pytest.raises(ProviderError) as caught:
            await ask(client, "GET", URL + "?key=SECRET")

    assert type(caught.value) is kind
    assert (caught.value.detail, caught.value.retry) == (detail, retry)


def test_the_transports_own_word_goes_before_the_class() -> None:
    cause = Unavailable("tls: unknown issuer", retry=False, retry_after=3.0)

    with pytest.raises(Unavailable) as caught, translating():
        raise httpx.ConnectError("") from cause

    assert caught.value is not cause
    assert (caught.value.detail, caught.value.retry, caught.value.retry_after) == ("tls: unknown issuer", False, 3.0)


async def test_a_body_over_the_cap_is_the_vendors_fault() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadError("") from TooLarge("body over the limit")

    async with client_of(handler) as client:
        with pytest.raises(Malformed, match=r"^answer too large$"):
            await get_json(client, URL)


async def test_a_refused_vendor_address_stays_refused() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("") from Refused("address not allowed")

    async with client_of(handler) as client:
        with pytest.raises(Refused, match=r"^address not allowed$"):
            await get_json(client, URL)


async def test_other_exceptions_are_not_touched() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise ZeroDivisionError

    async with client_of(handler) as client:
        with pytest.raises(ZeroDivisionError):
            await get_json(client, URL)
