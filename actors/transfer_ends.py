"""How libcurl's ends of a transfer translate: to our typed errors, and to the class of httpx that carries each.

The texts are ours. Those of the library hold addresses, and behind a proxy its login.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from types import MappingProxyType

import httpx
from curl_cffi import CurlECode

from actors.backend import CONNECT_TIMEOUT, TLS_REASONS
from actors.guard import NOT_ALLOWED
from actors.proxies import NOT_THE_TARGET, SOCKS_REPLIES, TRIED_STATUSES, ProxyFailed
from actors.transfer import Facts, Way
from providers._contract import Malformed, ProviderError, Refused, TooLarge, Unavailable


@dataclass(frozen=True, slots=True)
class End:
    """error: None where all went well. kind: the class of httpx for it."""

    error: ProviderError | ProxyFailed | None = None
    kind: type[httpx.RequestError] = httpx.RequestError

    @property
    def about_target(self) -> bool:
        """The proxy tried, and another address may do better."""
        return isinstance(self.error, ProxyFailed) and self.error.about_target


# CURLproxycode of libcurl 8, and the replies of a SOCKS 5 proxy that these stand for.
_SOCKS_CODES = {20: 1, 23: 2, 22: 3, 21: 4, 19: 5, 24: 6, 18: 7, 17: 8, 25: 9}
_SOCKS_LOGIN_CODES = frozenset({12, 33})
_SOCKS_CLOSED_CODES = frozenset({3, 13, 14, 15, 16, 28, 29, 30})

_NO_HTTP = (Malformed, "not an HTTP answer", httpx.RemoteProtocolError)
_BROKE = (Unavailable, "connection broke", httpx.ReadError)
_BAD_ENCODING = (Malformed, "content encoding broken", httpx.DecodingError)

_BY_CODE: Mapping[int, tuple[type[ProviderError], str, type[httpx.RequestError]]] = MappingProxyType(
    {
        CurlECode.UNSUPPORTED_PROTOCOL: _NO_HTTP,  # an answer without a status line
        CurlECode.WEIRD_SERVER_REPLY: _NO_HTTP,
        CurlECode.HTTP2: _NO_HTTP,
        CurlECode.HTTP2_STREAM: _BROKE,
        CurlECode.TOO_LARGE: _NO_HTTP,
        CurlECode.COULDNT_RESOLVE_HOST: (Unavailable, "dns: name not found", httpx.ConnectError),
        CurlECode.PARTIAL_FILE: (Unavailable, "body broke off", httpx.RemoteProtocolError),
        CurlECode.WRITE_ERROR: _BAD_ENCODING,
        CurlECode.BAD_CONTENT_ENCODING: _BAD_ENCODING,
        CurlECode.FILESIZE_EXCEEDED: (TooLarge, "body over the limit", httpx.ReadError),
        CurlECode.GOT_NOTHING: (Unavailable, "connection closed before an answer", httpx.RemoteProtocolError),
        CurlECode.SEND_ERROR: _BROKE,
        CurlECode.RECV_ERROR: _BROKE,
        CurlECode.SSL_CONNECT_ERROR: (Unavailable, "tls: handshake failed", httpx.ConnectError),
    }
)


def end_of(facts: Facts, way: Way) -> End:
    """What became of a transfer."""
    if way.proxy is None and way.pins and facts.remote and not _is_among(facts.remote, way.pins):
        return End(Refused(NOT_ALLOWED), httpx.ConnectError)
    if facts.error is not None:
        return End(facts.error, httpx.DecodingError if isinstance(facts.error, Malformed) else httpx.ReadError)
    if facts.code == CurlECode.OK:
        return End()
    failed = _proxy_failure(facts, way.proxy.scheme == "http") if way.proxy is not None else None
    if failed is not None:
        return End(failed, httpx.ProxyError)
    if facts.code == CurlECode.OPERATION_TIMEDOUT:
        return _late(facts)
    if facts.code == CurlECode.COULDNT_CONNECT:
        reason = "connection refused" if facts.os_error == errno.ECONNREFUSED else "no connection"
        return End(Unavailable(reason), httpx.ConnectError)
    if facts.code == CurlECode.PEER_FAILED_VERIFICATION:
        # No error, or none in particular, in the chain: then it was the name.
        reason = TLS_REASONS.get(62 if facts.verify in (0, 1) else facts.verify, "certificate not accepted")
        return End(Unavailable(f"tls: {reason}", retry=False), httpx.ConnectError)
    unknown = (Unavailable, f"transfer failed ({facts.code})", httpx.ReadError)
    error, detail, kind = _BY_CODE.get(facts.code, unknown)
    # A name or a handshake that fails now fails at once again.
    return End(error(detail, retry=kind is not httpx.ConnectError), kind)


def _is_among(remote: str, pins: tuple[str, ...]) -> bool:
    return ip_address(remote) in {ip_address(pin) for pin in pins}


def _late(facts: Facts) -> End:
    if facts.is_sent:
        return End(Unavailable("no answer in time"), httpx.ReadTimeout)
    return End(Unavailable(f"no connection within {CONNECT_TIMEOUT:g} s", retry=False), httpx.ConnectTimeout)


# --- proxies --------------------------------------------------------------------------------------------------------


def _proxy_failure(facts: Facts, is_http: bool) -> ProxyFailed | None:
    """What the proxy did; None where it made the connection and the rest is between us and the site."""
    if facts.code == CurlECode.PROXY:
        return _socks_failure(facts.proxy_error)
    status = facts.proxy_status
    if status == 407:
        return ProxyFailed("login refused")
    if status >= 300:
        return ProxyFailed(f"answered {status}", about_target=status in TRIED_STATUSES)
    if facts.code in (CurlECode.COULDNT_CONNECT, CurlECode.COULDNT_RESOLVE_PROXY):
        return ProxyFailed("cannot be reached")
    is_broken = facts.code in (CurlECode.GOT_NOTHING, CurlECode.SEND_ERROR, CurlECode.RECV_ERROR)
    return ProxyFailed("broke off") if is_broken and is_http and status == 0 else None


def _socks_failure(code: int) -> ProxyFailed:
    if code in _SOCKS_LOGIN_CODES:
        return ProxyFailed("login refused")
    if code in _SOCKS_CLOSED_CODES:
        return ProxyFailed("broke off")
    reply = _SOCKS_CODES.get(code)
    if reply is None:
        return ProxyFailed("does not speak SOCKS 5")
    return ProxyFailed(SOCKS_REPLIES.get(reply, "unknown failure"), about_target=reply not in NOT_THE_TARGET)
