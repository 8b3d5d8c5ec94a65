"""Exporters of the spans and metrics of this process, which can have only one provider of each."""

from __future__ import annotations

import functools

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


@functools.cache
def exporter() -> InMemorySpanExporter:
    """Return the exporter with the ended spans."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@functools.cache
def reader() -> InMemoryMetricReader:
    """Return the reader with the measurements."""
    reader = InMemoryMetricReader()
    metrics.set_meter_provider(MeterProvider([reader]))
    return reader


def points(name: str, **attributes: str) -> list[HistogramDataPoint]:
    """Return the data points of a metric with these attributes (``__`` for a dot)."""
    wanted = {key.replace("__", "."): value for key, value in attributes.items()}
    data = reader().get_metrics_data()
    return [
        point
        for resource in ([] if data is None else data.resource_metrics)
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.name == name
        for point in metric.data.data_points
        if isinstance(point, HistogramDataPoint)
        and wanted.items() <= dict(point.attributes or {}).items()
    ]


def tree(spans: tuple[ReadableSpan, ...]) -> dict[str, list[str]]:
    """Return the names of child spans by the name of their parent."""
    names = {span.context.span_id: span.name for span in spans}
    found: dict[str, list[str]] = {}
    for span in sorted(spans, key=lambda span: span.start_time or 0):
        parent = "" if span.parent is None else names.get(span.parent.span_id, "?")
        found.setdefault(parent, []).append(span.name)
    return found
