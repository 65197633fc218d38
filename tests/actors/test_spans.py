"""Spans of providers' calls: beneath the tool call's, with what became of them, and nothing that anybody said."""

from __future__ import annotations

from functools import partial

import pytest
import trio
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import INVALID_SPAN, StatusCode, Tracer, use_span

from actors import spans
from actors.row import Limit, Rate
from providers import _sanitise
from providers._contract import Found, Query, Unavailable
from tests.actors.lab import ASKED, FOUND, Scripted, acting, takes


@pytest.fixture(autouse=True)
def _untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    async def sanitise(value: object) -> object:
        return value

    monkeypatch.setattr(_sanitise, "sanitise", sanitise)


class Traced:
    """A tracer behind `actors/spans.py`, and what has ended."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer: Tracer = provider.get_tracer("test")

    @property
    def ended(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> Traced:
    found = Traced()
    monkeypatch.setattr(spans, "_tracer", found.tracer)
    return found


async def test_a_call_is_a_span_beneath_the_one_its_asker_is_in_also_across_tasks(autojump_clock, traced):
    async with acting(Scripted(), paid=True) as ref:
        with traced.tracer.start_as_current_span("tool"):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ref.ask, Query("a secret question"))

    call, tool = traced.ended
    assert (call.name, call.parent.span_id, call.kind.name) == ("search acme", tool.context.span_id, "CLIENT")
    assert call.attributes == {
        "research_mcp.instance": "acme",
        "research_mcp.role": "search",
        "research_mcp.billed_units": 1,
        "research_mcp.outcome": "ok",
    }
    assert call.status.status_code is StatusCode.UNSET
    assert "secret" not in call.to_json()


async def test_a_span_lasts_as_long_as_its_call(autojump_clock, traced):
    async with acting(Scripted([takes(3)])) as ref:
        with traced.tracer.start_as_current_span("tool"):
            await ref.ask(ASKED)

    assert traced.ended[0].end_time - traced.ended[0].start_time == pytest.approx(3e9)


async def test_a_failure_has_its_kind_and_none_of_its_message(autojump_clock, traced):
    async with acting(Scripted([Unavailable("secret words")]), retries=0) as ref:
        with traced.tracer.start_as_current_span("tool"):
            await ref.ask(ASKED)

    call = traced.ended[0]
    assert (call.attributes["research_mcp.outcome"], call.attributes["error.type"]) == ("failed", "unavailable")
    assert call.status.status_code is StatusCode.ERROR
    assert "secret" not in call.to_json()


async def test_an_asker_that_left_is_late_and_nothing_found_is_empty(autojump_clock, traced):
    async with acting(Scripted([takes(9), Found(())])) as ref:
        with traced.tracer.start_as_current_span("tool"):
            with trio.move_on_after(1):
                await ref.ask(ASKED)
            await ref.ask(ASKED)

    late, empty, _ = traced.ended
    assert (late.attributes["research_mcp.outcome"], late.attributes["error.type"]) == ("late", "late")
    assert empty.attributes["research_mcp.outcome"] == "empty"


async def test_an_ask_that_reached_no_provider_is_an_event_of_the_tool_call(autojump_clock, traced):
    async with acting(Scripted([takes(9)]), rate=Rate(1, 45.0), timeout=60.0, limit=Limit(9, "day"), workers=1) as ref:
        with traced.tracer.start_as_current_span("tool"):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ref.ask, ASKED)
                await trio.sleep(1)
                await ref.ask(ASKED)
                async with trio.open_nursery() as leaving:
                    leaving.start_soon(partial(ref.ask, ASKED, patience=99.0))
                    await trio.sleep(1)
                    leaving.cancel_scope.cancel()

    tool = traced.ended[-1]
    assert [span.name for span in traced.ended] == ["search acme", "tool"]
    assert [(event.name, event.attributes["error.type"]) for event in tool.events] == [
        ("provider skipped", "throttled"),
        ("provider skipped", "cancelled"),
    ]


@pytest.mark.parametrize("is_in_a_span", [False, True])
async def test_where_nobody_records_nothing_is_made(is_in_a_span, autojump_clock, traced):
    async with acting(Scripted([FOUND])) as ref:
        if is_in_a_span:
            with use_span(INVALID_SPAN):
                await ref.ask(ASKED)
        else:
            await ref.ask(ASKED)

    assert traced.ended == []
