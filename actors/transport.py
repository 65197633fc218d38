"""The httpx transport of an actor's client, over two of httpcore2's connection pools.

httpx's own transport runs on httpcore 1.0, which loses pool slots when requests are cancelled, has no time-out in
its SOCKS handshake, and is unmaintained (measured with 1.0.9); httpcore2 takes a network backend as a public
argument. One pool is for the remote of the instance, one for addresses from callers; they differ in what their
backends let through. HTTP/1.1 only: HTTP/2 of that library does not survive cancellation.

Extensions of a request:
    from_caller: True where the address came from a caller, and so belongs to the strict pool.
    max_body_bytes: cap of the body, on the wire and decoded.
    trace: called by httpcore2 with the name of each step, see `_wire.fetch_page`.
Extension of a response:
    keep_body: `BodyBudget.follow`, on answers of the strict pool.

A body is read whole and comes out as one chunk: nobody here streams, and a flood of tiny chunks then costs no memory
beyond its bytes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import httpcore2
import httpx
import trio

from actors.backend import BrokenOff, HeadTooLong, Stopped, Stream, demand_deadline
from actors.bodies import BodyBudget, Hold
from actors.decoding import Decoder, decoder_for
from actors.pool import Pool
from providers._contract import Malformed, ProviderError, TooLarge, Unavailable

DEFAULT_MAX_BODY_BYTES = 10 * 1024 * 1024
MAX_HEADERS = 200
# Chunks and decoded pieces that are dealt with before others get a turn; at most a few milliseconds of work.
STEPS_PER_TURN = 32

CALLER_METHODS = frozenset({"GET", "HEAD"})


class Transport(httpx.AsyncBaseTransport):
    """Sends each request through the pool it belongs to. Closing it closes both."""

    def __init__(self, vendor: Pool, caller: Pool, bodies: BodyBudget) -> None:
        self._vendor = vendor
        self._caller = caller
        self._bodies = bodies

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        demand_deadline()
        from_caller = request.extensions.get("from_caller") is True
        if request.url.scheme not in ("http", "https"):
            raise httpx.UnsupportedProtocol("not an http(s) address")
        if from_caller and request.method not in CALLER_METHODS:
            raise RuntimeError("a caller's address is only read")
        pool = self._caller if from_caller else self._vendor
        with _translating(None):
            answer = await pool.handle_async_request(_for_pool(request))
        return self._response(request, answer, self._bodies if from_caller else None)

    def _response(
        self, request: httpx.Request, answer: httpcore2.Response, bodies: BodyBudget | None
    ) -> httpx.Response:
        headers = httpx.Headers(answer.headers[:MAX_HEADERS])
        body = Body(answer, _Limits.of(request, answer.status, headers), bodies.open() if bodies else None)
        if "content-encoding" in headers:
            # What they said of the bytes on the wire is not true of the bytes that come out.
            del headers["content-encoding"]
            headers.pop("content-length", None)
        extensions: dict[str, Any] = {"http_version": answer.extensions["http_version"]}
        if bodies:
            extensions["keep_body"] = bodies.follow
        return httpx.Response(answer.status, headers=headers, stream=body, extensions=extensions)

    async def aclose(self) -> None:
        await self._vendor.aclose()
        await self._caller.aclose()


def _for_pool(request: httpx.Request) -> httpcore2.Request:
    url = request.url
    target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
    # Only what belongs to us passes: `sni_hostname` would send another name than the one that was checked.
    extensions = {key: request.extensions[key] for key in ("trace",) if key in request.extensions}
    assert isinstance(request.stream, httpx.AsyncByteStream)
    return httpcore2.Request(
        request.method, target, headers=request.headers.raw, content=request.stream, extensions=extensions
    )


@dataclass(frozen=True, slots=True)
class _Limits:
    """What is known of a body before its first byte. `length` is 0 where the head does not say it."""

    max_bytes: int
    length: int
    encodings: tuple[str, ...]

    @classmethod
    def of(cls, request: httpx.Request, status: int, headers: httpx.Headers) -> _Limits:
        has_body = request.method != "HEAD" and status not in (204, 304)
        length = headers.get("content-length", "")
        # h11 has checked that it is a number; twenty digits are as good as more.
        return cls(
            max_bytes=int(request.extensions.get("max_body_bytes", DEFAULT_MAX_BODY_BYTES)),
            length=int(length[:20]) if has_body and length else 0,
            encodings=tuple(headers.get_list("content-encoding")),
        )

    def decoder(self) -> Decoder:
        """Raises TooLarge where the head announces too much, Malformed for encodings we did not offer."""
        if self.length > self.max_bytes:
            raise TooLarge("body over the limit")
        return decoder_for(self.encodings, self.max_bytes)


class Body(httpx.AsyncByteStream):
    """The body of one response; reading it to the end, or closing it, gives the connection back."""

    def __init__(self, answer: httpcore2.Response, limits: _Limits, hold: Hold | None) -> None:
        stream = answer.extensions["network_stream"]
        assert isinstance(stream, Stream)
        stream.end_head()
        self._answer = answer
        self._stream = stream
        self._limits = limits
        self._hold = hold

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield await self._read()

    async def _read(self) -> bytes:
        body = bytearray()
        steps = 0
        with _translating(self._stream):
            decoder = self._limits.decoder()
            async with aclosing(self._answer.aiter_stream()) as chunks:
                async for chunk in chunks:
                    for piece in decoder.feed(chunk):
                        await self._keep(len(piece))
                        body += piece
                        steps += 1
                        if steps % STEPS_PER_TURN == 0:
                            await trio.lowlevel.checkpoint()
            decoder.finish()
        return bytes(body)

    async def _keep(self, count: int) -> None:
        if self._hold is not None:
            await self._hold.take(count)

    async def aclose(self) -> None:
        if self._hold is not None:
            self._hold.release()
        await self._answer.aclose()


# --- errors ---------------------------------------------------------------------------------------------------------


@contextmanager
def _translating(stream: Stream | None) -> Iterator[None]:
    """Turn what httpcore2 and the decoder raise into httpx's errors, with a typed error of ours as the cause.

    The texts are ours: the libraries' may hold bytes of the answer, or the address.
    """
    try:
        yield
    except Stopped as error:
        is_proxy = error.error.detail.startswith("proxy")
        _fail(httpx.ProxyError if is_proxy else httpx.ConnectError, error.error)
    except BrokenOff:
        _fail(httpx.RemoteProtocolError, Unavailable("connection closed before an answer"))
    except HeadTooLong:
        _fail(httpx.RemoteProtocolError, Malformed("head of the answer too long"))
    except httpcore2.RemoteProtocolError:
        if stream is not None and stream.is_at_end:
            _fail(httpx.RemoteProtocolError, Unavailable("body broke off"))
        _fail(httpx.RemoteProtocolError, Malformed("not an HTTP answer"))
    except httpcore2.LocalProtocolError:
        _fail(httpx.LocalProtocolError, Malformed("request cannot be sent"))
    except httpcore2.NetworkError:
        _fail(httpx.ReadError, Unavailable("connection broke"))
    except Malformed as error:
        _fail(httpx.DecodingError, error)
    except ProviderError as error:
        _fail(httpx.ReadError, error)


def _fail(kind: type[httpx.RequestError], error: ProviderError) -> NoReturn:
    raise kind(error.detail) from error
