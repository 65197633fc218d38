"""The address guard: resolves a host once, and lets nothing through that rules or its addresses forbid.

It stands in two places: under every connection that is made from here (`backend.py` asks `addresses`), and before
a URL is handed to a remote reader (`check`). Both use the rules of `providers/_address.py`.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address

import structlog
import trio

from actors.bodies import BodyBudget
from actors.row import Reach
from providers._address import (
    InvalidUrl,
    NotAllowed,
    allowed_address,
    carries_secret,
    check_host,
    check_port,
    effective_port,
    is_literal,
    parse_url,
)
from providers._contract import Kind, Refused, Unavailable

DNS_TIMEOUT = 5.0
DNS_THREADS = 16

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
Dial = Callable[[str, int], Awaitable[trio.abc.Stream]]
Pair = tuple[str, int]

NOT_ALLOWED = "address not allowed"

log = structlog.get_logger(__name__)


async def dial_tcp(address: str, port: int) -> trio.abc.Stream:
    """Open a TCP connection to an IP address. Raises OSError where it cannot be made."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    opened = trio.socket.socket(family, socket.SOCK_STREAM)
    is_connected = False
    try:
        await opened.connect((address, port))
        is_connected = True
    finally:
        if not is_connected:
            opened.close()
    return trio.SocketStream(opened)


class Guard:
    """One per process; shared by the clients of all actors.

    Args:
        allow_private: ALLOW_PRIVATE_NETWORK, see `allowed_address`.
        resolve: looks a name up; the system's resolver, in threads of its own, where None.
        own: hosts or addresses of this service with its port. It is not to be read through itself.
        dial: opens a TCP connection to an address that was checked; tests lead it elsewhere.
    """

    def __init__(
        self,
        *,
        allow_private: bool = False,
        resolve: Resolve | None = None,
        own: frozenset[Pair] = frozenset(),
        dial: Dial = dial_tcp,
    ) -> None:
        self._allow_private = allow_private
        self._resolve = resolve or self._resolve_by_system
        self._own = frozenset((_normal(host), port) for host, port in own)
        # DNS blocks its thread until it answers, whoever has stopped waiting: it must not use up trio's threads.
        self._threads = trio.CapacityLimiter(DNS_THREADS)
        self.dial = dial
        self.bodies = BodyBudget()

    async def check(self, url: str, *, reach: Reach) -> Kind | None:
        """Whether a URL may be handed to a reader of that reach: None if so, else why not.

        `refused`: nobody may fetch it. `not_sent`: it may be fetched from here but is kept from this reader, since
        it is private, carries a credential, or has a name that only resolves elsewhere.
        """
        try:
            parsed = parse_url(url, allow_private=self._allow_private)
            if reach == "direct":
                return None
            if reach == "third_party" and carries_secret(parsed):
                return Kind.NOT_SENT
            host, port = parsed.raw_host.decode("ascii"), effective_port(parsed)
            addresses = await self.addresses(host, port)
        except (InvalidUrl, NotAllowed, Refused):
            return Kind.REFUSED
        except Unavailable:
            return Kind.NOT_SENT
        return Kind.NOT_SENT if reach == "third_party" and not self._is_public(host, addresses) else None

    def _is_public(self, host: str, addresses: Sequence[str]) -> bool:
        try:
            check_host(host)
        except NotAllowed:
            return False
        return all(map(allowed_address, addresses))

    def check_name(self, host: str, port: int) -> None:
        """Raise Refused if the host or port is forbidden by rule, without asking DNS."""
        try:
            check_host(host, allow_private=self._allow_private)
            check_port(port)
        except (InvalidUrl, NotAllowed) as error:
            log.info("address_refused", host=host, port=port, rule=str(error))
            raise Refused(NOT_ALLOWED) from error
        self._refuse_own((host,), port)

    async def addresses(self, host: str, port: int) -> tuple[str, ...]:
        """Look a host up once and return all its addresses, every one of them checked.

        Raises:
            Refused: the host, or any single one of its addresses, is forbidden.
            Unavailable: it does not resolve, or not within `DNS_TIMEOUT` seconds.
        """
        self.check_name(host, port)
        addresses = await self.look_up(host, port)
        refused = [ip for ip in addresses if not allowed_address(ip, allow_private=self._allow_private)]
        if refused:
            log.info("address_refused", host=host, port=port, addresses=refused)
            raise Refused(NOT_ALLOWED)
        self._refuse_own(addresses, port)
        return addresses

    def _refuse_own(self, hosts: Sequence[str], port: int) -> None:
        if any((_normal(host), port) in self._own for host in hosts):
            log.info("address_refused", host=hosts[0], port=port, rule="own address")
            raise Refused(NOT_ALLOWED)

    def leads_home(self, stream: trio.abc.Stream, port: int) -> bool:
        """Whether a connection ends at this machine, on a port of this service: both its ends have one address."""
        if not isinstance(stream, trio.SocketStream) or all(port != own_port for _, own_port in self._own):
            return False
        return bool(stream.socket.getsockname()[0] == stream.socket.getpeername()[0])

    def is_home(self, address: str, port: int) -> bool:
        """Whether a connection to an address would end at this machine, on a port of this service.

        Asks the routing table and sends nothing: the end of a datagram socket that leads there has the same address.
        """
        if all(port != own_port for _, own_port in self._own):
            return False
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((address, port))
            except OSError:
                return False
            return bool(probe.getsockname()[0] == probe.getpeername()[0])

    async def look_up(self, host: str, port: int) -> tuple[str, ...]:
        """The addresses of a host, unchecked: for hosts that the operator named. Raises Unavailable."""
        if is_literal(host):
            return (host,)
        addresses: Sequence[str] = ()
        with trio.move_on_after(DNS_TIMEOUT) as scope:
            try:
                addresses = await self._resolve(host, port)
            except (OSError, UnicodeError) as error:
                raise Unavailable("dns: name not found", retry=False) from error
        if scope.cancelled_caught:
            raise Unavailable(f"dns: no answer within {DNS_TIMEOUT:g} s", retry=False)
        if not addresses:
            raise Unavailable("dns: name has no address", retry=False)
        return tuple(dict.fromkeys(addresses))

    async def _resolve_by_system(self, host: str, port: int) -> Sequence[str]:
        def look_up() -> list[str]:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            return [str(address[0]) for *_, address in found]

        return await trio.to_thread.run_sync(look_up, limiter=self._threads, abandon_on_cancel=True)


def _normal(host: str) -> str:
    """One spelling per address or name, for comparing."""
    return str(ip_address(host)) if is_literal(host) else host.lower().removesuffix(".")
