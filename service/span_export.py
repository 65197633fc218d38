"""From spans to the collector: OpenTelemetry's SDK, told everything, so that it looks nothing up in the environment.

Importing this loads the SDK, so only `service/tracing.py` does, when settings ask for traces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import requests
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, Span, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased, Sampler, TraceIdRatioBased
from opentelemetry.trace import Status

from service.tracing_settings import Tracing

Redact = Callable[[str], str]

# Texts are cut when a span begins, to bound what waits, and once more when they have been redacted: in what is left, no
# secret was cut in two and so overlooked.
MAX_TEXT_CHARS = 500
MAX_KEPT_CHARS = 4 * MAX_TEXT_CHARS
MAX_ATTRIBUTES = 32
MAX_QUEUED = 2048
MAX_BATCH = 512
EXPORT_EVERY_MS = 5000
SDK = {"telemetry.sdk.language": "python", "telemetry.sdk.name": "opentelemetry"}


def make_provider(tracing: Tracing, version: str, redact: Redact) -> TracerProvider:
    """The provider of tracers; it has started its thread."""
    provider = TracerProvider(
        sampler=_sampler(tracing),
        resource=Resource({**SDK, "service.version": version, **tracing.resource}),
        shutdown_on_exit=False,
        span_limits=SpanLimits(max_span_attributes=MAX_ATTRIBUTES, max_span_attribute_length=MAX_KEPT_CHARS),
    )
    provider.add_span_processor(ShorteningProcessor())
    processor = BatchSpanProcessor(
        CleaningExporter(_exporter(tracing), redact),
        max_queue_size=MAX_QUEUED,
        schedule_delay_millis=EXPORT_EVERY_MS,
        max_export_batch_size=MAX_BATCH,
        export_timeout_millis=tracing.timeout * 1000,
    )
    provider.add_span_processor(processor)
    return provider


def _sampler(tracing: Tracing) -> Sampler:
    roots: Mapping[str, Sampler] = {
        "always_on": ALWAYS_ON,
        "always_off": ALWAYS_OFF,
        "traceidratio": TraceIdRatioBased(tracing.ratio),
    }
    root = roots[tracing.sampler.removeprefix("parentbased_")]
    return ParentBased(root) if tracing.sampler.startswith("parentbased_") else root


def _exporter(tracing: Tracing) -> SpanExporter:
    session = requests.Session()
    session.trust_env = False  # neither a proxy nor a .netrc that nobody meant for us
    return OTLPSpanExporter(
        endpoint=tracing.endpoint,
        headers=dict(tracing.headers),
        timeout=tracing.timeout,
        compression=Compression.Gzip if tracing.compression == "gzip" else Compression.NoCompression,
        certificate_file=tracing.certificate,
        client_certificate_file=tracing.client_certificate,
        client_key_file=tracing.client_key,
        session=session,
    )


class ShorteningProcessor(SpanProcessor):
    """Shortens names, which the SDK's own limits leave alone: the MCP SDK names spans after what a caller asks for."""

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        if len(span.name) > MAX_KEPT_CHARS:
            span.update_name(span.name[:MAX_KEPT_CHARS])


class CleaningExporter(SpanExporter):
    """Passes spans on without secrets, and with texts of bounded length.

    Callers name tools and requests as they like, and the MCP SDK puts these names into its spans; exceptions hold
    whatever they hold. This runs in the processor's thread.
    """

    def __init__(self, exporter: SpanExporter, redact: Redact) -> None:
        self._exporter = exporter
        self._redact = redact

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self._exporter.export([self._cleaned(span) for span in spans])

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def _cleaned(self, span: ReadableSpan) -> ReadableSpan:
        described = span.status.description
        events = [Event(self._text(each.name), self._texts(each.attributes), each.timestamp) for each in span.events]
        return ReadableSpan(
            name=self._text(span.name),
            context=span.context,
            parent=span.parent,
            resource=span.resource,
            attributes=self._texts(span.attributes),
            events=events,
            kind=span.kind,
            status=Status(span.status.status_code, self._text(described) if described else None),
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )

    def _text(self, value: str) -> str:
        return self._redact(value)[:MAX_TEXT_CHARS]

    def _texts(self, attributes: Mapping[str, Any] | None) -> dict[str, Any]:
        given = (attributes or {}).items()
        return {name: self._text(each) if isinstance(each, str) else each for name, each in given}
