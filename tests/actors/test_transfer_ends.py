"""libcurl's ends of a transfer as typed errors."""

from __future__ import annotations

import errno
from typing import Any

import httpx
import pytest
from curl_cffi import CurlECode

from actors.proxies import Proxy, ProxyFailed
from actors.transfer import Facts, Way
from actors.transfer_ends import end_of
from providers._contract import Malformed, ProviderError, Refused, TooLarge, Unavailable

DIRECT = Way(("93.184.215.14", "2606:4700::1"))
PROXIED = Way((), Proxy("http", "127.0.0.1", 3128), "93.184.215.14")


def facts(code: int = 0, **fields: Any) -> Facts:
    none = {"error": None, "is_sent": True, "remote": "", "os_error": 0, "verify": 0}
    return Facts(code=code, **{**none, "proxy_status": 0, "proxy_error": 0, **fields})


def ended(way: Way, code: int, **fields: Any) -> tuple[type[BaseException], str]:
    end = end_of(facts(code, **fields), way)
    error = end.error
    assert error is not None
    return type(error), error.detail if isinstance(error, ProviderError) else error.reason


@pytest.mark.parametrize("remote", ["93.184.215.14", "2606:4700:0::1", ""])
def test_an_address_among_the_pins_is_fine_however_it_is_spelt(remote: str) -> None:
    assert end_of(facts(remote=remote), DIRECT).error is None


def test_an_address_that_was_not_pinned_is_refused_whatever_came_from_it() -> None:
    end = end_of(facts(remote="10.0.0.1", error=TooLarge("body over the limit")), DIRECT)

    assert isinstance(end.error, Refused)
    assert end.error.detail == "address not allowed"


def test_the_address_of_a_proxy_is_none_of_the_pins() -> None:
    assert end_of(facts(remote="127.0.0.1"), PROXIED).error is None


@pytest.mark.parametrize(
    ("code", "fields", "kind", "detail"),
    [
        (CurlECode.COULDNT_RESOLVE_HOST, {}, Unavailable, "dns: name not found"),
        (CurlECode.COULDNT_CONNECT, {"os_error": errno.ECONNREFUSED}, Unavailable, "connection refused"),
        (CurlECode.COULDNT_CONNECT, {"os_error": errno.ENETUNREACH}, Unavailable, "no connection"),
        (CurlECode.OPERATION_TIMEDOUT, {"is_sent": False}, Unavailable, "no connection within 10 s"),
        (CurlECode.OPERATION_TIMEDOUT, {}, Unavailable, "no answer in time"),
        (CurlECode.SSL_CONNECT_ERROR, {}, Unavailable, "tls: handshake failed"),
        (CurlECode.PEER_FAILED_VERIFICATION, {"verify": 10}, Unavailable, "tls: certificate has expired"),
        (CurlECode.PEER_FAILED_VERIFICATION, {"verify": 0}, Unavailable, "tls: certificate is for another name"),
        (CurlECode.PEER_FAILED_VERIFICATION, {"verify": 1}, Unavailable, "tls: certificate is for another name"),
        (CurlECode.PEER_FAILED_VERIFICATION, {"verify": 99}, Unavailable, "tls: certificate not accepted"),
        (CurlECode.GOT_NOTHING, {}, Unavailable, "connection closed before an answer"),
        (CurlECode.PARTIAL_FILE, {}, Unavailable, "body broke off"),
        (CurlECode.RECV_ERROR, {}, Unavailable, "connection broke"),
        (CurlECode.FILESIZE_EXCEEDED, {}, TooLarge, "body over the limit"),
        (CurlECode.BAD_CONTENT_ENCODING, {}, Malformed, "content encoding broken"),
        (CurlECode.WEIRD_SERVER_REPLY, {}, Malformed, "not an HTTP answer"),
        (CurlECode.OUT_OF_MEMORY, {}, Unavailable, "transfer failed (27)"),
        (1234, {}, Unavailable, "transfer failed (1234)"),
        (CurlECode.WRITE_ERROR, {"error": TooLarge("body over the limit")}, TooLarge, "body over the limit"),
        (CurlECode.WRITE_ERROR, {"error": Malformed("head too long")}, Malformed, "head too long"),
    ],
)
def test_an_end_says_what_happened(code: int, fields: Any, kind: type[BaseException], detail: str) -> None:
    assert ended(DIRECT, code, **fields) == (kind, detail)


@pytest.mark.parametrize(
    ("code", "fields", "reason"),
    [
        (CurlECode.COULDNT_CONNECT, {"proxy_status": 407}, "login refused"),
        (CurlECode.RECV_ERROR, {"proxy_status": 407}, "login refused"),
        (CurlECode.COULDNT_CONNECT, {"proxy_status": 403}, "answered 403"),
        (CurlECode.COULDNT_CONNECT, {"proxy_status": 502}, "answered 502"),
        (CurlECode.COULDNT_CONNECT, {}, "cannot be reached"),
        (CurlECode.COULDNT_RESOLVE_PROXY, {}, "cannot be reached"),
        (CurlECode.RECV_ERROR, {}, "broke off"),
        (CurlECode.PROXY, {"proxy_error": 33}, "login refused"),
        (CurlECode.PROXY, {"proxy_error": 3}, "broke off"),
        (CurlECode.PROXY, {"proxy_error": 2}, "does not speak SOCKS 5"),
        (CurlECode.PROXY, {"proxy_error": 23}, "not allowed by its rules"),
        (CurlECode.PROXY, {"proxy_error": 21}, "host unreachable"),
        (CurlECode.PROXY, {"proxy_error": 25}, "unknown failure"),
    ],
)
def test_what_a_proxy_did_is_said_as_on_the_other_transport(code: int, fields: Any, reason: str) -> None:
    assert ended(PROXIED, code, **fields) == (ProxyFailed, reason)


def test_behind_a_proxy_that_connected_the_site_is_to_blame() -> None:
    socks = Way((), Proxy("socks5", "127.0.0.1", 1080), "93.184.215.14")

    assert ended(PROXIED, CurlECode.SSL_CONNECT_ERROR, proxy_status=200) == (Unavailable, "tls: handshake failed")
    assert ended(PROXIED, CurlECode.RECV_ERROR, proxy_status=200) == (Unavailable, "connection broke")
    assert ended(socks, CurlECode.RECV_ERROR) == (Unavailable, "connection broke")


@pytest.mark.parametrize(("status", "is_told"), [(502, True), (504, True), (403, False), (407, False)])
def test_another_address_is_tried_where_the_proxy_tried_this_one(status: int, is_told: bool) -> None:
    assert end_of(facts(CurlECode.COULDNT_CONNECT, proxy_status=status), PROXIED).about_target is is_told


def test_the_class_for_httpx_goes_with_the_error() -> None:
    kinds = {
        CurlECode.COULDNT_CONNECT: httpx.ConnectError,
        CurlECode.RECV_ERROR: httpx.ReadError,
        CurlECode.BAD_CONTENT_ENCODING: httpx.DecodingError,
    }

    assert {code: end_of(facts(code), DIRECT).kind for code in kinds} == kinds
