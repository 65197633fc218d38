"""httpcore2's connection pool, without the one slot that cancellation can cost it."""

from __future__ import annotations

import ssl

import httpcore2
import trio

from actors.backend import Backend

MAX_CONNECTIONS = 100
MAX_IDLE_CONNECTIONS = 20
IDLE_SECONDS = 15.0


class Pool(httpcore2.AsyncConnectionPool):
    """HTTP/1.1 connections through one backend, at least `MAX_CONNECTIONS`; idle ones are kept for `IDLE_SECONDS`.

    `workers` have a connection each where they are more: what bounds an actor is its workers, not its sockets.
    Behind a rotating proxy none is kept: a connection leaves by the exit of the unit of work it was opened for.
    """

    def __init__(self, backend: Backend, ssl_context: ssl.SSLContext, *, workers: int = 0) -> None:
        super().__init__(
            ssl_context=ssl_context,
            network_backend=backend,
            max_connections=max(MAX_CONNECTIONS, workers),
            max_keepalive_connections=0 if backend.rotates else MAX_IDLE_CONNECTIONS,
            keepalive_expiry=IDLE_SECONDS,
        )
        self._backend = backend
        self._context = ssl_context

    def create_connection(self, origin: httpcore2.Origin) -> httpcore2.AsyncConnectionInterface:
        return Connection(
            origin, ssl_context=self._context, keepalive_expiry=IDLE_SECONDS, network_backend=self._backend
        )


class Connection(httpcore2.AsyncHTTPConnection):
    """A connection that does not outlive the request it was opened for, if that one never came to be sent.

    httpcore2 2.16.2 keeps a connection for ever, slot and socket, whose request is cancelled between the end of the
    handshake and the first byte sent: it counts as new, which is neither idle nor closed. To be removed when a
    release passes `tests/actors/test_transport_cancel.py` without it.
    """

    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response:
        is_ours = True
        try:
            response = await super().handle_async_request(request)
            is_ours = False
        except httpcore2.ConnectionNotAvailable:
            is_ours = False  # somebody else's request is on it
            raise
        finally:
            if is_ours and not self.is_idle() and not self.is_closed():
                with trio.CancelScope(shield=True):
                    await self.aclose()
        return response
