"""Proxies: their addresses, and the handshakes that make a connection to a proxy one to a target.

CONNECT as in RFC 9110 section 9.3.6, SOCKS 5 as in RFC 1928 and RFC 1929. The target is a checked IP address, or a
name where the proxy may resolve it. httpcore2's own proxy pools always send the name, and read a SOCKS answer as if
it came in one piece, so the handshakes are ours.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Literal

import httpx
import trio

from providers._address import InvalidUrl, NotAllowed, check_host, is_literal

_DEFAULT_PORTS = {"http": 80, "socks5": 1080, "socks5h": 1080}
_MAX_ANSWER_BYTES = 16 * 1024
MOST_SESSION_CHARS = 40  # what `for_session` may add to a user name

SOCKS_REPLIES = {
    1: "general failure",
    2: "not allowed by its rules",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "host does not answer",
    7: "command not supported",
    8: "address type not supported",
}
NOT_THE_TARGET = frozenset({2, 7})
TRIED_STATUSES = frozenset({502, 503, 504})  # the proxy answered CONNECT so: it tried


class ProxyFailed(Exception):
    """The proxy did not make the connection. `about_target`: it tried, and another address may do better."""

    def __init__(self, reason: str, *, about_target: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.about_target = about_target


@dataclass(frozen=True, slots=True)
class Proxy:
    """An operator's proxy. `login` is user and password where the proxy asks for them.

    rotates: the user name takes the id of a session, and each session leaves the proxy by an exit of its own.
    """

    scheme: Literal["http", "socks5"]
    host: str
    port: int
    login: tuple[bytes, bytes] | None = field(default=None, repr=False)
    rotates: bool = False

    @classmethod
    def parse(cls, url: str, *, rotates: bool = False) -> Proxy:
        """Read `http://`, `socks5://` or `socks5h://` with optional user and password. Raises ValueError.

        Both SOCKS spellings mean the same here: the proxy resolves the names it is given.
        """
        try:
            parsed = httpx.URL(url)
            host = parsed.raw_host.decode("ascii")
            check_host(host, allow_private=True)
        except (httpx.InvalidURL, InvalidUrl, NotAllowed):
            raise ValueError("a proxy's address is unreadable") from None
        if parsed.scheme not in _DEFAULT_PORTS:
            raise ValueError("a proxy's address begins with http://, socks5:// or socks5h://")
        user, password = parsed.username.encode(), parsed.password.encode()
        longest = 255 - (MOST_SESSION_CHARS if rotates else 0)
        if len(user) > longest or len(password) > 255:
            raise ValueError(f"a proxy's user has at most {longest} bytes, its password at most 255")
        return cls(
            "http" if parsed.scheme == "http" else "socks5",
            host,
            _DEFAULT_PORTS[parsed.scheme] if parsed.port is None else parsed.port,
            (user, password) if user or password else None,
            rotates,
        )

    def for_session(self, session: str) -> Proxy:
        """The same proxy, logged in for one session where it rotates: `LOGIN-session-ID`."""
        if not self.rotates or self.login is None:
            return self
        user, password = self.login
        return replace(self, login=(user + f"-session-{session}".encode("ascii"), password))


async def shake_hands(stream: trio.abc.Stream, proxy: Proxy, host: str, port: int) -> None:
    """Ask the proxy at the other end of `stream` to connect to a host; afterwards the stream leads there.

    Raises ProxyFailed, or trio's resource errors where the proxy goes away.
    """
    if proxy.scheme == "http":
        await _connect(stream, proxy, host, port)
    else:
        await _socks5(stream, proxy, host, port)


# --- HTTP -----------------------------------------------------------------------------------------------------------


async def _connect(stream: trio.abc.Stream, proxy: Proxy, host: str, port: int) -> None:
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.login is not None:
        lines.append("Proxy-Authorization: Basic " + base64.b64encode(b":".join(proxy.login)).decode("ascii"))
    await stream.send_all("\r\n".join([*lines, "", ""]).encode("ascii"))
    status = _status(await _read_head(stream))
    if status == 407:
        raise ProxyFailed("login refused")
    if status in TRIED_STATUSES:
        raise ProxyFailed(f"answered {status}", about_target=True)
    if not 200 <= status < 300:
        raise ProxyFailed(f"answered {status}")


async def _read_head(stream: trio.abc.Stream) -> bytes:
    """The answer up to its blank line. Bytes behind it would be lost, but no HTTP or TLS server speaks first."""
    head = bytearray()
    while b"\r\n\r\n" not in head:
        chunk = await stream.receive_some(4096)
        if not chunk or len(head) > _MAX_ANSWER_BYTES:
            raise ProxyFailed("broke off")
        head += chunk
    return bytes(head)


def _status(head: bytes) -> int:
    words = head.split(b"\r\n", 1)[0].split(None, 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit() or len(words[1]) != 3:
        raise ProxyFailed("does not speak HTTP")
    return int(words[1])


# --- SOCKS ----------------------------------------------------------------------------------------------------------


async def _socks5(stream: trio.abc.Stream, proxy: Proxy, host: str, port: int) -> None:
    methods = b"\x00" if proxy.login is None else b"\x00\x02"
    await stream.send_all(bytes([5, len(methods)]) + methods)
    version, method = await _read_exactly(stream, 2)
    if version != 5:
        raise ProxyFailed("does not speak SOCKS 5")
    if method == 2 and proxy.login is not None:
        await _log_in(stream, *proxy.login)
    elif method != 0:
        raise ProxyFailed("login refused")
    await stream.send_all(b"\x05\x01\x00" + _socks_target(host) + port.to_bytes(2, "big"))
    _, reply, _, kind = await _read_exactly(stream, 4)
    if reply != 0:
        reason = SOCKS_REPLIES.get(reply, "unknown failure")
        raise ProxyFailed(reason, about_target=reply not in NOT_THE_TARGET)
    await _skip_bound_address(stream, kind)


async def _log_in(stream: trio.abc.Stream, user: bytes, password: bytes) -> None:
    await stream.send_all(bytes([1, len(user)]) + user + bytes([len(password)]) + password)
    _, status = await _read_exactly(stream, 2)
    if status != 0:
        raise ProxyFailed("login refused")


def _socks_target(host: str) -> bytes:
    if not is_literal(host):
        return bytes([3, len(host)]) + host.encode("ascii")
    address: IPv4Address | IPv6Address = ip_address(host)
    return bytes([1 if address.version == 4 else 4]) + address.packed


async def _skip_bound_address(stream: trio.abc.Stream, kind: int) -> None:
    if kind == 3:
        length = (await _read_exactly(stream, 1))[0]
    elif kind in (1, 4):
        length = 4 if kind == 1 else 16
    else:
        raise ProxyFailed("does not speak SOCKS 5")
    await _read_exactly(stream, length + 2)


async def _read_exactly(stream: trio.abc.Stream, count: int) -> bytes:
    received = bytearray()
    while len(received) < count:
        chunk = await stream.receive_some(count - len(received))
        if not chunk:
            raise ProxyFailed("broke off")
        received += chunk
    return bytes(received)
