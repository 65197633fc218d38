"""Traces on their way out: to a real collector over HTTP, cleaned, sampled, and never in anybody's way."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Status, StatusCode, Tracer

from service import tracing
from service.redact import Redactor
from service.settings import load_settings
from service.span_export import MAX_TEXT_CHARS, make_provider
from service.tracing import open_tracing
from service.tracing_settings import Tracing
from tests.otlplab import Collector, attributes, collecting

ROOT = Path(__file__).parents[2]


def settings_for(collector: Collector, **variables: str) -> Tracing:
    found = load_settings({"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url} | variables).tracing
    assert found is not None
    return found


@contextmanager
def tracing_to(collector: Collector, *secrets: str, **variables: str) -> Iterator[Tracer]:
    """A tracer whose spans are with the collector when the block has ended."""
    provider = make_provider(settings_for(collector, **variables), "1.2.3", Redactor(secrets).text)
    try:
        yield provider.get_tracer("test")
    finally:
        provider.shutdown()


def test_spans_reach_the_collector_with_their_service_and_the_operators_headers() -> None:
    with collecting() as collector:
        told = {"OTEL_EXPORTER_OTLP_HEADERS": "api-key=the-key", "OTEL_RESOURCE_ATTRIBUTES": "region=eu"}
        with tracing_to(collector, **told) as tracer, tracer.start_as_current_span("outer"):
            tracer.start_span("inner", attributes={"n": 1}).end()

        outer, inner = collector.spans
        [(path, headers, _)] = collector.requests
    assert (path, headers["api-key"], headers["content-type"]) == ("/v1/traces", "the-key", "application/x-protobuf")
    assert (outer.name, inner.name, inner.parent_span_id) == ("outer", "inner", outer.span_id)
    assert attributes(inner) == {"n": 1}
    assert collector.resource == {
        "telemetry.sdk.language": "python",
        "telemetry.sdk.name": "opentelemetry",
        "service.version": "1.2.3",
        "service.name": "research-mcp",
        "region": "eu",
    }


def test_bodies_are_compressed_where_that_is_asked_for() -> None:
    with collecting() as collector:
        with tracing_to(collector, OTEL_EXPORTER_OTLP_COMPRESSION="gzip") as tracer:
            tracer.start_span("one").end()

        assert collector.requests[0][1]["content-encoding"] == "gzip"
        assert [span.name for span in collector.spans] == ["one"]


def test_secrets_are_taken_out_of_every_text_and_long_ones_are_cut() -> None:
    secret = "canary-0123456789"
    with collecting() as collector:
        with tracing_to(collector, secret) as tracer:
            span = tracer.start_span("tools/call " + secret + "x" * 100_000, attributes={"a": "y" * 490 + secret})
            span.add_event(f"event {secret}", {"b": secret})
            span.record_exception(ValueError(secret))
            span.set_status(Status(StatusCode.ERROR, f"it was {secret}"))
            span.end()

        [sent] = collector.spans
        assert all(secret[:9].encode() not in body for _, _, body in collector.requests)
    assert sent.name.startswith("tools/call [redacted]xxx")
    assert len(sent.name) == len(attributes(sent)["a"]) == MAX_TEXT_CHARS
    assert sent.status.message == "it was [redacted]"
    assert attributes(sent.events[0]) == {"b": "[redacted]"}


@pytest.mark.parametrize(
    ("variables", "sampled"),
    [
        ({}, True),
        ({"OTEL_TRACES_SAMPLER": "always_on"}, True),
        ({"OTEL_TRACES_SAMPLER": "always_off"}, False),
        ({"OTEL_TRACES_SAMPLER": "parentbased_always_off"}, False),
        ({"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0"}, False),
        ({"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "1"}, True),
    ],
)
def test_the_sampler_decides_which_traces_are_kept(variables: dict[str, str], sampled: bool) -> None:
    with collecting() as collector, tracing_to(collector, **variables) as tracer:
        assert tracer.start_span("one").is_recording() is sampled


async def test_what_is_left_is_sent_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    providers: list[TracerProvider] = []
    monkeypatch.setattr(trace, "set_tracer_provider", providers.append)

    with collecting() as collector:
        async with open_tracing(settings_for(collector), "1", str):
            providers[0].get_tracer("test").start_span("last").end()

        assert [span.name for span in collector.spans] == ["last"]


async def test_a_collector_that_does_not_take_them_holds_the_end_up_for_a_moment_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    providers: list[TracerProvider] = []
    monkeypatch.setattr(trace, "set_tracer_provider", providers.append)
    monkeypatch.setattr(tracing, "FLUSH_SECONDS", 0.05)

    with collecting() as collector:
        collector.status = 503  # may be tried again, so the exporter waits
        began_at = trio.current_time()
        async with open_tracing(settings_for(collector, OTEL_EXPORTER_OTLP_TIMEOUT="3000"), "1", str):
            providers[0].get_tracer("test").start_span("last").end()
        took = trio.current_time() - began_at

    assert took < 2


async def test_without_settings_for_traces_no_provider_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "set_tracer_provider", lambda _: pytest.fail("a provider was set"))

    async with open_tracing(None, "1", str):
        pass


def test_a_process_that_serves_without_traces_loads_nothing_of_opentelemetrys_sdk() -> None:
    program = "import sys, service.serving, actors.spans; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    loaded = ended.stdout.split()
    assert "opentelemetry.trace" in loaded  # the API, which the MCP SDK imports whatever anybody says
    unwanted = ("opentelemetry.sdk", "opentelemetry.exporter", "google.protobuf", "requests", "prometheus_client")
    assert [name for name in loaded if name.startswith(unwanted)] == []
