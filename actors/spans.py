"""Calls of providers as spans of OpenTelemetry, beneath the span of the tool call that needed them.

Only the API of OpenTelemetry is used, which the MCP SDK loads anyway and which does nothing by itself;
`service/tracing.py` puts the SDK behind it where the operator asks for traces. Nothing that came from a caller or a
remote goes into a span: no queries, addresses or messages. Nor is any trace context sent to a vendor.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType

from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from actors.messages import Answer, Outcome
from providers._contract import Found, ImageQuery, Job, Kind, Query, Ranking, RobotsQuery, Role, Target

_tracer = trace.get_tracer("research-mcp")

ROLES: Mapping[type[Job], Role] = MappingProxyType(
    {
        Query: Role.SEARCH,
        ImageQuery: Role.IMAGES,
        Target: Role.READ,
        RobotsQuery: Role.ROBOTS,
        Ranking: Role.RERANK,
    }
)


def record(instance: str, job: Job, outcome: Outcome | None, *, called: bool, took: float, billed: int) -> None:
    """Tell the trace that the caller is in of one ask that has ended; `took` in seconds. Nothing where there is none.

    An ask that did not reach the provider is an event of the tool call, since it took no time of it.
    """
    parent = trace.get_current_span()
    if not parent.is_recording():
        return
    ended_at, role, kind = time.time_ns(), ROLES[type(job)].value, _kind(outcome, called)
    about: dict[str, str | int] = {"research_mcp.instance": instance, "research_mcp.role": role}
    if not called:
        parent.add_event("provider skipped", about | {"error.type": str(kind)})
        return
    span = _tracer.start_span(
        f"{role} {instance}",
        kind=SpanKind.CLIENT,
        attributes=about | {"research_mcp.billed_units": billed},
        start_time=ended_at - round(took * 1e9),
    )
    if isinstance(outcome, Answer):
        span.set_attribute("research_mcp.outcome", "empty" if _is_empty(outcome) else "ok")
    else:
        span.set_attributes({"research_mcp.outcome": "failed" if outcome else "late", "error.type": str(kind)})
        span.set_status(StatusCode.ERROR)
    span.end(ended_at)


def _kind(outcome: Outcome | None, called: bool) -> str | None:
    if outcome is None:
        return (Kind.LATE if called else Kind.CANCELLED).value
    return None if isinstance(outcome, Answer) else outcome.kind.value


def _is_empty(answer: Answer) -> bool:
    return isinstance(answer.value, Found) and not answer.value.items
