"""Everything behind the tools, opened in order and closed in reverse: workers, ledger, actors; then the pipelines."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from actors.client import open_client, shared_ssl_context
from actors.deadlines import Deadlines
from actors.guard import Guard
from actors.histogram import HistogramStatistics
from actors.history import History
from actors.pipelines import PipelineOptions, Pipelines
from actors.state import State, open_state
from actors.statistics import ActorStatistics, absent
from actors.supervisor import Supervisor, open_supervisor
from providers._workers import open_workers
from service.arguments import Limits
from service.calling import GRACE_SECONDS, Desk, Tool, ToolOptions
from service.calls import Calls, Uptime
from service.instances import Configured, build, log_states, secrets_of
from service.protocol import Identity, Service
from service.redact import Redactor
from service.server import Shutdown
from service.settings import Settings
from service.table import TABLE
from service.texts import Texts
from service.tools import research_tools
from service.version import own_version, own_website


@dataclass(frozen=True, slots=True)
class Runtime:
    """The running service without its transport: what HTTP, stdio and the command line have in common."""

    settings: Settings
    configured: Configured
    supervisor: Supervisor
    pipelines: Pipelines
    service: Service
    texts: Texts
    calls: Calls
    deadlines: Deadlines
    uptime: Uptime
    identity: Identity
    redactor: Redactor
    ledger_problem: Callable[[], str | None]

    def statistics(self) -> tuple[ActorStatistics, ...]:
        """One entry per instance of the table, in its order; those that do not run too."""
        refs = self.supervisor.refs
        return tuple(
            refs[row.name].statistics()
            if row.name in refs
            else absent(
                row.name,
                row.type,
                row.roles,
                "unconfigured" if row.name in self.configured.unconfigured else "disabled",
            )
            for row in TABLE
        )

    def durations(self) -> Mapping[str, HistogramStatistics]:
        """Seconds of the finished calls of each provider, by instance."""
        return {name: ref.latencies.histogram.statistics() for name, ref in self.supervisor.refs.items()}

    def histories(self) -> Mapping[str, History]:
        """The last hour of each instance that runs, by name."""
        return {name: ref.history for name, ref in self.supervisor.refs.items()}

    @property
    def shutdown(self) -> Shutdown:
        return Shutdown(refuse=self.calls.drain, hurry=self.hurry)

    def hurry(self, at: float) -> None:
        """Let no running call outlive `at`, on trio's clock: pipelines return what they have, and tools shape it."""
        self.pipelines.shorten_deadlines(at)
        self.deadlines.shorten(at + GRACE_SECONDS)


@asynccontextmanager
async def open_runtime(settings: Settings) -> AsyncIterator[Runtime]:
    """Start all actors of these settings; at the end of the block they finish what is queued and stop.

    Nothing is sent anywhere at start-up. Raises SettingsError where the instances are not configured soundly.
    """
    configured = build(settings)
    log_states(configured)
    guard = Guard(allow_private=settings.allow_private_network, own=own_addresses(settings))
    client_of = partial(open_client, guard=guard, ssl_context=shared_ssl_context())
    async with (
        open_workers(settings.extract_workers),
        open_state(settings.ledger_url) as state,
        open_supervisor(
            configured.rows, ledger=state.ledger, open_client=client_of, slots_of=state.slots_of
        ) as supervisor,
    ):
        pipelines = Pipelines(supervisor.refs, configured.orders, guard, pipeline_options(settings))
        yield _runtime(settings, configured, supervisor, pipelines, state)


def _runtime(
    settings: Settings, configured: Configured, supervisor: Supervisor, pipelines: Pipelines, state: State
) -> Runtime:
    texts, deadlines, redactor = Texts(settings.help_language), Deadlines(), Redactor(secrets_of(settings))
    tools = tools_of(settings, has_images=bool(configured.orders.images))
    calls = Calls(settings.max_calls_in_flight, tuple(tool.name for tool in tools))
    desk = Desk(pipelines, texts, tool_options(settings), deadlines)
    return Runtime(
        settings=settings,
        configured=configured,
        supervisor=supervisor,
        pipelines=pipelines,
        service=Service(desk, tools, calls, redactor),
        texts=texts,
        calls=calls,
        deadlines=deadlines,
        uptime=Uptime(),
        identity=Identity(
            settings.mcp_name, own_version(), own_website(), settings.toolset, is_traced=settings.tracing is not None
        ),
        redactor=redactor,
        ledger_problem=state.problem,
    )


def tools_of(settings: Settings, *, has_images: bool) -> tuple[Tool, ...]:
    """The toolset that the operator chose."""
    if settings.toolset == "research":
        return research_tools(has_images=has_images)
    from service.retrieval import retrieval_tools

    return retrieval_tools(settings.retrieval, has_images=has_images)


def own_addresses(settings: Settings) -> frozenset[tuple[str, int]]:
    """Where this service itself answers, so that no tool reads it: its port, and its public names through a proxy.

    The guard adds every connection that turns out to end at this machine, on that port.
    """
    if settings.mcp_transport == "stdio":
        return frozenset()
    names = {entry.rpartition(":")[0] or entry for entry in settings.mcp_allowed_hosts or ()}
    hosts = {settings.mcp_host, "localhost", "127.0.0.1", "::1"} | names
    public = {(name, port) for name in names for port in (80, 443)}
    return frozenset({(host, settings.mcp_port) for host in hosts} | public)


def pipeline_options(settings: Settings) -> PipelineOptions:
    return PipelineOptions(
        fusion=settings.search_fusion,
        strategy=settings.search_strategy,
        wait_for_slot=settings.search_wait_for_slot,
        rerank=settings.search_rerank_enabled,
        min_chars=settings.fallback_min_chars,
        hedge_after=settings.read_hedge_after,
        request_timeout=settings.request_timeout,
    )


def tool_options(settings: Settings) -> ToolOptions:
    return ToolOptions(
        limits=Limits(
            max_queries=settings.max_queries,
            min_timeout_ms=settings.min_timeout_ms,
            max_timeout_ms=settings.max_timeout_ms,
            default_timeout_ms=settings.default_timeout_ms,
            allow_private=settings.allow_private_network,
        ),
        read_pages_concurrency=settings.read_pages_concurrency,
        # The retrieval toolset has a limit of its own for each page, and none for all of them.
        read_batch_max_chars=settings.read_batch_max_chars if settings.toolset == "research" else 0,
        response_max_chars=settings.response_max_chars if settings.toolset == "research" else 0,
    )
