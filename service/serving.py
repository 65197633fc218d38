"""The runtime on its transport: HTTP with its routes and gate, or stdio."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

import trio

from service.app import HttpApp, open_session_manager, warn_of_open_routes
from service.gate import Gate, is_loopback
from service.logs import LogStatistics
from service.loop_lag import LoopLag
from service.pipes import Pipes
from service.protocol import make_server
from service.runtime import Runtime, open_runtime
from service.server import open_listeners, serve_http
from service.settings import Settings
from service.stats import Desk as StatsDesk
from service.stdio import serve_stdio
from service.tracing import open_tracing

OPEN_PAGES = frozenset({"/healthz"})


async def serve(
    settings: Settings, log: Callable[[], LogStatistics] = LogStatistics, pipes: Pipes | None = None
) -> None:
    """Serve until a signal, or over stdio the client, ends it: over HTTP, or to the client behind `pipes`.

    `log` tells how many lines were lost, for `/stats`. Raises CannotListen before anything is started where the port is
    taken, and SettingsError for wrong instances.
    """
    if pipes is not None:
        async with open_runtime(settings) as runtime, traced(runtime):
            await serve_stdio(make_server(runtime.service, runtime.identity, runtime.texts), pipes)
        return
    listeners = open_listeners(settings.mcp_host, settings.mcp_port)
    try:
        async with open_runtime(settings) as runtime, traced(runtime):
            await serve_runtime(runtime, listeners, log=log)
    finally:
        for listener in listeners:
            listener.close()


def traced(runtime: Runtime) -> AbstractAsyncContextManager[None]:
    """Traces of this runtime, where its settings ask for them."""
    return open_tracing(runtime.settings.tracing, runtime.identity.version, runtime.redactor.text)


async def serve_runtime(
    runtime: Runtime,
    listeners: Sequence[socket.socket],
    *,
    log: Callable[[], LogStatistics] = LogStatistics,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve an open runtime over HTTP until SIGTERM, then end in the order of SPEC section 6."""
    from service.metrics import Sources, metrics_page  # loads Prometheus's client, which stdio does without
    from service.ops import OpsDesk, ops_page

    settings, lag = runtime.settings, LoopLag()
    gate = Gate(
        is_loopback(settings.mcp_host),
        settings.mcp_allowed_hosts,
        settings.mcp_allowed_origins,
        settings.mcp_bearer_token,
    )
    stats = StatsDesk(
        runtime.identity,
        settings.toolset,
        runtime.calls,
        runtime.uptime,
        runtime.statistics,
        runtime.redactor.text,
        log,
        runtime.ledger_problem,
    )
    ops, page = OpsDesk(stats, runtime.configured.orders, runtime.histories, runtime.service.recent), ops_page()
    pages = {**stats.pages(), **ops.pages(page), "/metrics": metrics_page(Sources(stats, runtime.durations, lag))}
    manager = open_session_manager(make_server(runtime.service, runtime.identity, runtime.texts))
    app = HttpApp(
        manager.handle_request,
        gate,
        pages,
        mcp_path=settings.mcp_path,
        open_pages=OPEN_PAGES,
        sign_in={"/ops": page},
    )
    warn_of_open_routes(gate, settings.mcp_host, (settings.mcp_path, *sorted(set(pages) - OPEN_PAGES)))
    async with manager.run(), trio.open_nursery() as beside:
        beside.start_soon(lag.run)
        await serve_http(
            app,
            listeners,
            keep_alive=settings.http_keep_alive,
            shutdown=runtime.shutdown,
            task_status=task_status,
        )
        beside.cancel_scope.cancel()
