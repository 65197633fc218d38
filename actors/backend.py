"""The network under httpcore2's pools: connections go to checked addresses only, directly or through a proxy.

The pool passes the host name of the URL, and uses the same name for TLS; so SNI, the certificate's check and `Host`
keep the name while the socket leads to an address that the guard has seen. One look-up per connection: what was
checked is what is connected to, whatever the name resolves to a moment later.
"""

from __future__ import annotations

import itertools
import math
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpcore2
import trio

from actors.guard import NOT_ALLOWED, Guard, Pair
from actors.proxies import Proxy, ProxyFailed, shake_hands
from actors.units import current_unit
from providers._contract import ProviderError, Refused, Unavailable

CONNECT_TIMEOUT = 10.0  # for all addresses together, and again for the TLS handshake
TRY_TIMEOUT = 2.0  # for one address while there are more
MAX_TRIES = 4

# Heads are read in small steps, so that the parser never holds the loop for long on a flood of them; the total
# covers informational answers too, which httpcore2 skips without counting.
HEAD_READ_BYTES = 16 * 1024
MAX_HEAD_BYTES = 200 * 1024

TLS_REASONS = {
    9: "certificate not valid yet",
    10: "certificate has expired",
    18: "self-signed certificate",
    19: "self-signed certificate in the chain",
    20: "unknown issuer",
    21: "unknown issuer",
    62: "certificate is for another name",
    64: "certificate is for another address",
}


class Stopped(httpcore2.ConnectError):
    """No connection was made. httpcore2 drops an exception's cause, so the typed error travels as an attribute."""

    def __init__(self, error: ProviderError) -> None:
        super().__init__(error.detail)
        self.error = error


class BrokenOff(httpcore2.ReadError):
    """The remote closed the connection in the middle of an answer's head."""


class HeadTooLong(httpcore2.RemoteProtocolError):
    """The answer's head, with the informational answers before it, has no end."""


def demand_deadline() -> None:
    """Raise RuntimeError unless a scope with a deadline is open: a read with none could wait for ever."""
    # Minus infinity is a scope that has ended: the await then raises Cancelled by itself.
    if trio.current_effective_deadline() == math.inf:
        raise RuntimeError("the network is awaited without a deadline")


class Backend(httpcore2.AsyncNetworkBackend):
    """What a pool connects through.

    Args:
        guard: checks hosts and addresses.
        exempt: (host, port) pairs of the operator's own remotes, connected to without a check.
        proxy: where all connections go through, and none past it.
        names_to_proxy: the proxy gets the name and resolves it, after the rules on names; else a checked address.
    """

    def __init__(
        self,
        guard: Guard,
        *,
        exempt: frozenset[Pair] = frozenset(),
        proxy: Proxy | None = None,
        names_to_proxy: bool = False,
    ) -> None:
        self._guard = guard
        self._exempt = exempt
        self._proxy = proxy
        self._names_to_proxy = names_to_proxy

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        demand_deadline()
        try:
            targets = await self.targets(host, port)
            with trio.move_on_after(CONNECT_TIMEOUT):
                return Stream(await self._connect(targets, host, port))
            raise Unavailable(f"{self._place()}no connection within {CONNECT_TIMEOUT:g} s", retry=False)
        except ProxyFailed as error:
            raise Stopped(self.proxy_failure(error)) from error
        except ProviderError as error:
            raise Stopped(error) from error

    @property
    def proxy(self) -> Proxy | None:
        """The proxy, logged in for the unit of work that asks."""
        return None if self._proxy is None else self._proxy.for_session(current_unit().session)

    @property
    def rotates(self) -> bool:
        """Whether each unit of work leaves by an exit of its own."""
        return self._proxy is not None and self._proxy.rotates

    def proxy_failure(self, error: ProxyFailed) -> Unavailable:
        """A second try is worth it where it leaves the proxy by another exit, or the proxy tried and failed."""
        return Unavailable(f"proxy: {error.reason}", retry=self.rotates or error.about_target)

    def _place(self) -> str:
        return "" if self._proxy is None else "proxy: "

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        raise Stopped(Refused(NOT_ALLOWED))

    async def sleep(self, seconds: float) -> None:
        await trio.sleep(seconds)

    async def targets(self, host: str, port: int) -> Sequence[str]:
        """What may be connected to, best first: checked addresses, or the name where a proxy is to resolve it."""
        is_exempt = (host, port) in self._exempt
        if self._proxy is not None and self._names_to_proxy:
            if not is_exempt:
                self._guard.check_name(host, port)
            return (host,)
        look_up = self._guard.look_up if is_exempt else self._guard.addresses
        return by_turns(await look_up(host, port))[:MAX_TRIES]

    async def _connect(self, targets: Sequence[str], host: str, port: int) -> trio.abc.Stream:
        proxy = self.proxy
        if proxy is None:
            stream = await _first_of(targets, lambda address: self._guard.dial(address, port))
            await self._refuse_ourselves(stream, host, port)
            return stream
        way = by_turns(await self.look_up_proxy(proxy))[:MAX_TRIES]
        return await _first_of(targets, lambda target: self._through(proxy, way, target, port))

    async def _refuse_ourselves(self, stream: trio.abc.Stream, host: str, port: int) -> None:
        if (host, port) not in self._exempt and self._guard.leads_home(stream, port):
            await trio.aclose_forcefully(stream)
            raise Refused(NOT_ALLOWED)

    def refuse_ourselves(self, host: str, port: int, addresses: Sequence[str]) -> None:
        """Raise Refused if one of the addresses is this service, before anything is sent there."""
        if (host, port) not in self._exempt and any(self._guard.is_home(address, port) for address in addresses):
            raise Refused(NOT_ALLOWED)

    async def look_up_proxy(self, proxy: Proxy) -> Sequence[str]:
        """The addresses of a proxy. Raises ProxyFailed where it has none."""
        try:
            return await self._guard.look_up(proxy.host, proxy.port)
        except Unavailable as error:
            raise ProxyFailed("its name does not resolve") from error

    async def _through(self, proxy: Proxy, way: Sequence[str], target: str, port: int) -> trio.abc.Stream:
        try:
            stream = await _first_of(way, lambda address: self._guard.dial(address, proxy.port))
        except Unavailable as error:
            raise ProxyFailed("cannot be reached") from error
        async with _closed_on_failure(stream):
            try:
                await shake_hands(stream, proxy, target, port)
            except trio.BrokenResourceError as error:
                raise ProxyFailed("broke off") from error
        return stream


def by_turns(addresses: Sequence[str]) -> list[str]:
    """The addresses with their families alternating, so that one broken family costs one try only."""
    first_is_v6 = ":" in addresses[0]
    first = [ip for ip in addresses if (":" in ip) == first_is_v6]
    second = [ip for ip in addresses if (":" in ip) != first_is_v6]
    turns = itertools.chain.from_iterable(itertools.zip_longest(first, second))
    return [ip for ip in turns if ip is not None]


async def _first_of(targets: Sequence[str], connect: Callable[[str], Awaitable[trio.abc.Stream]]) -> trio.abc.Stream:
    """The first connection that comes about. Raises Unavailable where none does, ProxyFailed at once."""
    reason = "no connection"
    for number, target in enumerate(targets, 1):
        with trio.move_on_after(TRY_TIMEOUT if number < len(targets) else math.inf):
            try:
                return await connect(target)
            except OSError as error:
                # Our own words, since the error's may hold the address.
                reason = "connection refused" if isinstance(error, ConnectionRefusedError) else "no connection"
            except ProxyFailed as error:
                if not error.about_target:
                    raise
                reason = f"proxy: {error.reason}"
    raise Unavailable(reason)


@asynccontextmanager
async def _closed_on_failure(stream: trio.abc.Stream) -> AsyncIterator[None]:
    """Close the stream unless the block ends well: an exception, cancellation too, must not leave a socket open."""
    is_done = False
    try:
        yield
        is_done = True
    finally:
        if not is_done:
            await trio.aclose_forcefully(stream)


# --- streams --------------------------------------------------------------------------------------------------------


class Stream(httpcore2.AsyncNetworkStream):
    """One connection, in plain text or TLS, as httpcore2 wants it. Its time-outs are scopes, as everywhere here.

    From each write until `end_head` the bytes read count as the head of an answer.
    """

    def __init__(self, stream: trio.abc.Stream, socket: trio.socket.SocketType | None = None) -> None:
        self._stream = stream
        self._socket = stream.socket if isinstance(stream, trio.SocketStream) else socket
        self._head_bytes: int | None = 0
        self.is_at_end = False

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        demand_deadline()
        in_head = self._head_bytes is not None
        try:
            chunk = bytes(await self._stream.receive_some(min(max_bytes, HEAD_READ_BYTES) if in_head else max_bytes))
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise httpcore2.ReadError("connection broke") from error
        self.is_at_end = not chunk
        if self._head_bytes is not None:
            self._count_head(self._head_bytes + len(chunk))
        return chunk

    def _count_head(self, count: int) -> None:
        if self.is_at_end:
            raise BrokenOff("connection closed before an answer")
        if count > MAX_HEAD_BYTES:
            raise HeadTooLong("answer's head too long")
        self._head_bytes = count

    def end_head(self) -> None:
        """The answer's head has been read; what comes now is its body, which the transport counts."""
        self._head_bytes = None

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        demand_deadline()
        self._head_bytes = 0
        try:
            await self._stream.send_all(buffer)
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise httpcore2.WriteError("connection broke") from error

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        demand_deadline()
        stream = trio.SSLStream(self._stream, ssl_context, server_hostname=server_hostname, https_compatible=True)
        async with _closed_on_failure(self._stream):
            with trio.move_on_after(CONNECT_TIMEOUT):
                try:
                    await stream.do_handshake()
                except trio.BrokenResourceError as error:
                    raise Stopped(_tls_failure(error.__cause__)) from error
                return Stream(stream, self._socket)
            raise Stopped(Unavailable(f"tls: no handshake within {CONNECT_TIMEOUT:g} s", retry=False))

    def get_extra_info(self, info: str) -> Any:
        """`is_readable`: an idle connection has something to read, so the remote has closed it."""
        if info == "is_readable" and self._socket is not None:
            return self._socket.is_readable()
        if info == "ssl_object" and isinstance(self._stream, trio.SSLStream):
            return self._stream
        return None


def _tls_failure(cause: BaseException | None) -> Unavailable:
    """The reason in our own words: the library's names the certificate, or the address that was connected to."""
    if isinstance(cause, ssl.SSLCertVerificationError):
        return Unavailable(f"tls: {TLS_REASONS.get(cause.verify_code, 'certificate not accepted')}", retry=False)
    if isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLEOFError):
        reason = str(cause.reason or "handshake failed").replace("_", " ").lower()
        return Unavailable(f"tls: {reason}", retry=False)
    return Unavailable("tls: connection closed in the handshake")
