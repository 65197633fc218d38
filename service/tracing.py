"""Traces: OpenTelemetry's SDK put behind the API that the MCP SDK and `actors/spans.py` speak.

The SDK is loaded only when settings ask for traces. Its batch processor sends from a thread of its own, so neither a
call nor the event loop waits for the collector; what the collector does not take is dropped. No process is forked from
this one (the workers' template is a program of its own), so no lock of that thread is ever copied.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import trio

from service.tracing_settings import Tracing

FLUSH_SECONDS = 2.0


@asynccontextmanager
async def open_tracing(tracing: Tracing | None, version: str, redact: Callable[[str], str]) -> AsyncIterator[None]:
    """Send spans to the collector while the block lasts, and at its end what is left, for FLUSH_SECONDS at most.

    The provider is set for the whole process, once and for good, as OpenTelemetry has it.
    """
    if tracing is None:
        yield
        return
    from opentelemetry import trace

    from service.span_export import make_provider

    provider = make_provider(tracing, version, redact)
    trace.set_tracer_provider(provider)
    try:
        yield
    finally:
        with trio.move_on_after(FLUSH_SECONDS, shield=True):
            await trio.to_thread.run_sync(provider.shutdown, abandon_on_cancel=True)
