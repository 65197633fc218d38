"""The transport: what goes out, what comes back, and how failures are told."""

from __future__ import annotations

import gzip
import ssl
import zlib
from typing import Any

import httpx
import pytest
import trio

from actors.client import make_ssl_context
from providers._contract import Malformed, ProviderError, TooLarge, Unavailable
from tests.actors.netlab import Serve, always, answer, client_of, once, read_head

URL = "http://a.example.com/page"
CALLER = {"from_caller": True}


async def get(serve: Serve, url: str = URL, **options: Any) -> httpx.Response:
    async with client_of(serve) as client:
        with trio.fail_after(5):
            return await client.get(url, **options)


async def failure(serve: Serve, **options: Any) -> tuple[httpx.RequestError, ProviderError]:
    with pytest.raises(httpx.RequestError) as caught:
        await get(serve, **options)
    cause = caught.value.__cause__
    assert isinstance(cause, ProviderError)
    assert str(caught.value) == cause.detail
    return caught.value, cause


# --- what goes out --------------------------------------------------------------------------------------------------


async def test_a_request_goes_out_with_its_body_and_without_cookies() -> None:
    heads = []

    async def serve(stream: trio.abc.Stream) -> None:
        for _ in range(2):
            head = await read_head(stream)
            while not head.endswith(b'{"a":1}'):
                head += await stream.receive_some(100)
            heads.append(head)
            await stream.send_all(answer(b"ok", 200, "Set-Cookie: id=1", "Set-Cookie: x=2; Domain=example.com"))

    async with client_of(serve) as client:
        with trio.fail_after(5):
            first = await client.post(URL, json={"a": 1}, params={"q": "x y"})
            await client.post(URL, json={"a": 1})

    assert heads[0].startswith(b"POST /page?q=x+y HTTP/1.1\r\nHost: a.example.com\r\n")
    assert b"accept-encoding: gzip, deflate\r\n" in heads[0].lower()
    assert b"cookie" not in heads[1].lower()
    assert first.headers.get_list("set-cookie") == ["id=1", "x=2; Domain=example.com"]
    assert first.content == b"ok"


async def test_no_extension_can_send_another_name_than_the_checked_one() -> None:
    reply = await get(always(answer()), extensions={"sni_hostname": "evil.example.com"})

    assert reply.status_code == 200


async def test_environment_proxies_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert (await get(always(answer()))).status_code == 200


@pytest.mark.parametrize("url", ["ws://a.example.com/", "ftp://a.example.com/"])
async def test_other_schemes_are_not_sent(url: str) -> None:
    with pytest.raises(httpx.UnsupportedProtocol):
        await get(always(answer()), url)


async def test_a_callers_address_is_only_read() -> None:
    async with client_of(always(answer())) as client:
        with trio.fail_after(5), pytest.raises(RuntimeError, match="only read"):
            await client.post(URL, extensions=CALLER)


async def test_a_request_without_a_deadline_is_a_bug() -> None:
    async with client_of(always(answer())) as client:
        with pytest.raises(RuntimeError, match="without a deadline"):
            await client.get(URL)


async def test_a_header_that_cannot_be_sent_is_told_without_its_value() -> None:
    error, cause = await failure(always(answer()), headers={"authorization": "Bearer key\nwith a break"})

    assert isinstance(error, httpx.LocalProtocolError)
    assert "key" not in f"{error}{cause}"


# --- what comes back ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("encoding", "encode"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
async def test_a_compressed_body_comes_decoded_and_its_headers_go(encoding: str, encode: Any) -> None:
    wire = encode(b"a page " * 1000)

    reply = await get(always(answer(wire, 200, f"Content-Encoding: {encoding}")))

    assert reply.content == b"a page " * 1000
    assert "content-encoding" not in reply.headers
    assert "content-length" not in reply.headers


async def test_a_plain_body_keeps_its_length() -> None:
    assert (await get(always(answer(b"page")))).headers["content-length"] == "4"


async def test_a_body_that_ends_with_the_connection_is_whole() -> None:
    reply = await get(once(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nsome ", b"text"))

    assert reply.content == b"some text"


async def test_an_answer_to_head_has_no_body_whatever_its_head_says() -> None:
    async with client_of(
        always(b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 99999999999\r\n\r\n")
    ) as client:
        with trio.fail_after(5), pytest.raises(httpx.DecodingError):
            await client.head(URL, extensions=CALLER)
    async with client_of(always(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")) as client:
        with trio.fail_after(5):
            assert (await client.head(URL, extensions=CALLER)).content == b""


async def test_two_thousand_headers_are_cut_to_two_hundred() -> None:
    lines = [f"Set-Cookie: c{number}=1" for number in range(2000)]

    reply = await get(always(answer(b"ok", 200, *lines)))

    assert len(reply.headers.multi_items()) == 200


async def test_informational_answers_are_skipped() -> None:
    hints = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"

    assert (await get(always(hints * 20, answer(b"page")))).content == b"page"


async def test_redirects_are_answers_like_any_other() -> None:
    reply = await get(always(answer(b"", 302, "Location: http://127.0.0.1/")))

    assert reply.status_code == 302


# --- failures -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pieces", "kind", "detail"),
    [
        ([b""], Unavailable, "connection closed before an answer"),
        ([b"HTTP/1.1 200 OK\r\nContent-Le"], Unavailable, "connection closed before an answer"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"], Unavailable, "body broke off"),
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n"], Unavailable, "body broke off"),
        (
            [answer(gzip.compress(b"page" * 99)[:-9], 200, "Content-Encoding: gzip")],
            Unavailable,
            "compressed body broke off",
        ),
        ([b"SSH-2.0-OpenSSH_9.2 SECRETBYTES\r\n\r\n"], Malformed, "not an HTTP answer"),
        ([b"<html>old HTTP/0.9</html>\r\n\r\n"], Malformed, "not an HTTP answer"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n"], Malformed, "not an HTTP answer"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"], Malformed, "not an HTTP answer"),
        ([b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n"], Malformed, "not an HTTP answer"),
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"], Malformed, "not an HTTP answer"),
        ([answer(b"x", 200, "Content-Encoding: br")], Malformed, "content encoding not supported"),
        ([answer(b"x", 200, "Content-Encoding: gzip, gzip")], Malformed, "content encoding not supported"),
        (
            [answer(b"x", 200, "Content-Encoding: gzip", "Content-Encoding: gzip")],
            Malformed,
            "content encoding not supported",
        ),
        ([answer(b"no gzip at all", 200, "Content-Encoding: gzip")], Malformed, "content encoding broken"),
        ([b"HTTP/1.1 200 OK\r\nX: " + b"a" * 400_000], Malformed, "not an HTTP answer"),
    ],
)
async def test_a_broken_answer_is_told_by_a_typed_cause(
    pieces: list[bytes], kind: type[ProviderError], detail: str
) -> None:
    error, cause = await failure(once(*pieces))

    assert type(cause) is kind
    assert cause.detail == detail
    assert "SECRETBYTES" not in f"{error!r}{cause!r}"


@pytest.mark.parametrize("by_reset", [False, True])
async def test_a_connection_reset_in_mid_body_is_unavailable(by_reset: bool) -> None:
    async def serve(stream: trio.abc.Stream) -> None:
        assert isinstance(stream, trio.SocketStream)
        await read_head(stream)
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nstart")
        if by_reset:
            stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        await stream.aclose()

    _, cause = await failure(serve)

    assert isinstance(cause, Unavailable)
    assert cause.retry is True


async def test_an_answer_sent_before_the_request_was_read_is_still_read() -> None:
    async def serve(stream: trio.abc.Stream) -> None:
        await stream.receive_some(10)
        await stream.send_all(answer(b"too much", 413, "Connection: close"))
        await stream.send_eof()
        await trio.sleep(0.2)

    async with client_of(serve) as client:
        with trio.fail_after(5):
            reply = await client.post(URL, content=bytes(20_000_000))

    assert reply.status_code == 413


@pytest.mark.parametrize("cap", [None, 1000])
async def test_a_body_over_the_cap_is_too_large_even_before_it_comes(cap: int | None) -> None:
    extensions = {} if cap is None else {"max_body_bytes": cap}
    length = (cap or 10 * 1024 * 1024) + 1

    _, cause = await failure(
        always(f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n".encode()), extensions=extensions
    )

    assert isinstance(cause, TooLarge)


async def test_a_body_of_exactly_the_cap_comes_through() -> None:
    reply = await get(always(answer(bytes(1000))), extensions={"max_body_bytes": 1000})

    assert len(reply.content) == 1000


async def test_an_absurd_length_is_too_large() -> None:
    _, cause = await failure(always(b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 19 + b"\r\n\r\n"))

    assert isinstance(cause, TooLarge)


async def test_bodies_of_callers_addresses_are_counted_while_they_are_held() -> None:
    class Owner:
        pass

    async with client_of(always(answer(bytes(5000)))) as client:
        bodies = client._transport._bodies  # type: ignore[attr-defined]
        with trio.fail_after(5):
            await client.get(URL)
            assert bodies.held_bytes == 0
            async with client.stream("GET", URL, extensions=CALLER) as reply:
                await reply.aread()
            assert bodies.held_bytes == 0
            owner = Owner()
            reply.extensions["keep_body"](owner, 5000)
            assert bodies.held_bytes == 5000
            del owner
            await trio.testing.wait_all_tasks_blocked()

        assert bodies.held_bytes == 0


def test_the_tls_context_verifies() -> None:
    context = make_ssl_context()

    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname is True
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert context.cert_store_stats()["x509_ca"] > 50
