"""An httpx transport that looks like a browser: libcurl with a browser's TLS, HTTP/2 and headers (curl_cffi).

It keeps the rules of `transport.py`: addresses from the same guard, the operator's own pairs exempt for the vendor's
requests only, no redirects, one capped layer of encoding, typed errors as causes of httpx's. Providers cannot tell
them apart. Each transfer runs in a thread out of a limiter of its own, with the rest of the deadline as its time-out,
and ends within a twentieth of a second when its caller leaves. There is no pool: an address that was pinned for one
request must not serve another.

Extensions of a request are those of `transport.py`; `trace` hears one step, when the request has been sent.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NoReturn

import httpx
import trio

from actors.backend import Backend, demand_deadline
from actors.bodies import BodyBudget, Hold
from actors.profiles import Profile
from actors.proxies import ProxyFailed
from actors.transfer import Answer, Authorities, Order, Transfer, Way
from actors.transfer_ends import End, end_of
from actors.transport import CALLER_METHODS, DEFAULT_MAX_BODY_BYTES, MAX_HEADERS
from actors.units import current_unit
from providers._address import effective_port, is_literal
from providers._contract import ProviderError, Refused

# Bytes of a body that arrive before they are counted: the thread waits for the loop each time.
COUNTED_BYTES = 256 * 1024
# The caller's scope ends a transfer that is late, and says so; the time-out is for a scope that does not.
GRACE = 0.5

# What a browser says of itself, so a provider's own idea of it would contradict the profile.
_IDENTITY = frozenset(
    {
        "user-agent",
        "accept",
        "accept-encoding",
        "sec-fetch-user",
        "upgrade-insecure-requests",
        "priority",
        "te",
        "dnt",
    }
)
# libcurl writes these itself.
_FRAMING = frozenset({"host", "connection", "content-length", "transfer-encoding"})

# What tells the request of a page's script from the opening of a page.
_OF_A_SCRIPT: Mapping[str, str | None] = MappingProxyType(
    {"accept": "*/*", "sec-fetch-user": None, "upgrade-insecure-requests": None, "priority": "u=1, i"}
)

Trace = Callable[[str, object], Awaitable[None]]


class ImpersonatingTransport(httpx.AsyncBaseTransport):
    """Sends requests as one of the profiles, the same one within a unit of work.

    Args:
        vendor: what requests to the instance's remote may connect to, and through which proxy.
        caller: the same for addresses that came from a caller.
        profiles: the browsers to choose from, see `known_profiles`.
        authorities: see `authorities_of`.
        threads: transfers at once.
    """

    def __init__(
        self,
        vendor: Backend,
        caller: Backend,
        bodies: BodyBudget,
        *,
        profiles: Sequence[Profile],
        authorities: Authorities,
        threads: int,
    ) -> None:
        self._vendor = vendor
        self._caller = caller
        self._bodies = bodies
        self._profiles = tuple(profiles)
        self._authorities = authorities
        self._threads = trio.CapacityLimiter(threads)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        demand_deadline()
        from_caller = request.extensions.get("from_caller") is True
        if request.url.scheme not in ("http", "https"):
            raise httpx.UnsupportedProtocol("not an http(s) address")
        if from_caller and request.method not in CALLER_METHODS:
            raise RuntimeError("a caller's address is only read")
        backend = self._caller if from_caller else self._vendor
        order = await self._order(request, from_caller)
        ways = await _ways(backend, order)
        bodies = self._bodies if from_caller else None
        hold = bodies.open() if bodies else None
        is_done = False
        try:
            end, answer = await self._first_that_connects(order, ways, _Watch(request.extensions.get("trace"), hold))
            error = self._error(backend, end)
            if error is not None and (isinstance(error, Refused) or not answer.has_head):
                _fail(end, error)
            is_done = True
        finally:
            if hold is not None and not is_done:
                hold.release()
        return _response(answer, end, error, hold, bodies)

    async def _order(self, request: httpx.Request, from_caller: bool) -> Order:
        assert isinstance(request.stream, httpx.AsyncByteStream)
        profile = self._profiles[current_unit().choice % len(self._profiles)]
        url = request.url.copy_with(fragment=None)
        return Order(
            method=request.method,
            url=str(url),
            host=url.raw_host.decode("ascii"),
            port=effective_port(url),
            way=Way(),
            profile=profile,
            headers=_headers(request, profile, from_caller),
            body=b"".join([chunk async for chunk in request.stream]),
            authorities=self._authorities,
            max_bytes=int(request.extensions.get("max_body_bytes", DEFAULT_MAX_BODY_BYTES)),
            head_is_enough=from_caller,
        )

    async def _first_that_connects(self, order: Order, ways: Sequence[Way], watch: _Watch) -> tuple[End, Answer]:
        for way in ways:
            left = trio.current_effective_deadline() - trio.current_time()
            transfer = Transfer(replace(order, way=way, timeout=left + GRACE))
            facts = await trio.to_thread.run_sync(transfer.run, watch, limiter=self._threads)
            end = end_of(facts, way)
            if not end.about_target:
                break
        return end, transfer.answer

    @staticmethod
    def _error(backend: Backend, end: End) -> ProviderError | None:
        return backend.proxy_failure(end.error) if isinstance(end.error, ProxyFailed) else end.error


async def _ways(backend: Backend, order: Order) -> list[Way]:
    """Where the request may go, best first. Raises httpx's errors."""
    try:
        targets = await backend.targets(order.host, order.port)
        proxy = backend.proxy
        if proxy is not None:
            addresses = tuple(await backend.look_up_proxy(proxy))
            return [Way(() if is_literal(proxy.host) else addresses, proxy, target) for target in targets]
        backend.refuse_ourselves(order.host, order.port, targets)
    except ProxyFailed as error:
        failure = backend.proxy_failure(error)
        raise httpx.ProxyError(failure.detail) from failure
    except ProviderError as error:
        raise httpx.ConnectError(error.detail) from error
    return [Way(() if is_literal(order.host) else tuple(targets))]


def authorities_of(context: ssl.SSLContext) -> Authorities:
    """Whom a TLS context trusts that has loaded the system's authorities: libcurl is to trust the same.

    A context tells the certificates it has read; those in the system's directory are read when they are needed.
    """
    certificates = context.get_ca_certs(binary_form=True)
    pem = "".join(map(ssl.DER_cert_to_PEM_cert, certificates)).encode("ascii")
    return Authorities(pem, ssl.get_default_verify_paths().capath or "")


def _headers(request: httpx.Request, profile: Profile, from_caller: bool) -> list[tuple[str, str | None]]:
    """What goes over the profile's own headers; for a caller's address nothing of the request's."""
    headers = profile.headers(request.url.scheme)
    if not from_caller:
        for name, value in request.headers.items():
            if name not in _IDENTITY and name not in _FRAMING and not name.startswith("sec-ch-"):
                headers[name] = value
        if request.headers.get("sec-fetch-mode") == "cors":
            headers |= _OF_A_SCRIPT
    return list(headers.items())


class _Watch:
    """What a transfer's thread does between steps. Raises Cancelled in the thread when the caller has left."""

    def __init__(self, trace: Trace | None, hold: Hold | None) -> None:
        self._trace = trace
        self._hold = hold
        self._counted = 0

    def __call__(self, answer: Answer, is_sent: bool) -> None:
        trio.from_thread.check_cancelled()
        if is_sent and self._trace is not None:
            trio.from_thread.run(self._trace, "http11.send_request_headers.complete", {})
            self._trace = None
        grown = len(answer.body) - self._counted
        if self._hold is not None and grown >= COUNTED_BYTES:
            trio.from_thread.run(self._hold.take, grown)
            self._counted += grown


# --- the answer -----------------------------------------------------------------------------------------------------


def _response(
    answer: Answer, end: End, error: ProviderError | None, hold: Hold | None, bodies: BodyBudget | None
) -> httpx.Response:
    headers = httpx.Headers(answer.headers[:MAX_HEADERS])
    if "content-encoding" in headers:
        # The body comes decoded.
        del headers["content-encoding"]
        headers.pop("content-length", None)
    extensions: dict[str, Any] = {"http_version": answer.http_version}
    if bodies is not None:
        extensions["keep_body"] = bodies.follow
    return httpx.Response(
        answer.status, headers=headers, stream=_Body(answer.body, end, error, hold), extensions=extensions
    )


@dataclass(frozen=True, slots=True)
class _Body(httpx.AsyncByteStream):
    """A body that has arrived, or the reason why it has not: told to whoever reads it, as it would be on a wire."""

    body: bytearray
    end: End
    error: ProviderError | None
    hold: Hold | None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self.error is not None:
            _fail(self.end, self.error)
        if self.body:
            yield bytes(self.body)

    async def aclose(self) -> None:
        self.body.clear()
        if self.hold is not None:
            self.hold.release()


def _fail(end: End, error: ProviderError) -> NoReturn:
    raise end.kind(error.detail) from error
