"""OpenTelemetry metrics of models and agents, for applications that collect metrics.

Tokens and durations are recorded by operation and model, with the names of the semantic conventions
for generative AI. If the application does not use OpenTelemetry metrics, the functions here cost
next to nothing and import nothing.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from .._core import __version__

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram
    from typing_extensions import Self

    from .._core import ToolResult, UsageUpdate
    from ._span import Span

TOKEN_USAGE = "gen_ai.client.token.usage"  # noqa: S105 - not a secret
"""Tokens of each request to a model, by ``gen_ai.token.type``: ``input`` and ``output``."""
OPERATION_DURATION = "gen_ai.client.operation.duration"
"""Duration of each operation, in seconds."""
RECOVERED_CALLS = "toolweave.client.recovered_calls"
"""Number of calls recovered from the text of native replies, by model and dialect."""
TOKEN_TYPE = "gen_ai.token.type"  # noqa: S105 - as above

# Bucket boundaries recommended by the conventions.
_TOKENS = [4.0**power for power in range(14)]
_SECONDS = [0.01 * 2**power for power in range(14)]


class _Instruments(NamedTuple):
    tokens: Histogram
    seconds: Histogram
    recovered: Counter


def measured(span: Span, attributes: dict[str, Any], *, tokens: bool = False) -> Span:
    """Return a span that records metrics as well, if the application collects any.

    Args:
        span: The span.
        attributes: Attributes of the metrics, of low cardinality.
        tokens: True to record the tokens that the span is given. Of nested spans, only the
            innermost records them.
    """
    instruments = _instruments()
    return (
        span if instruments is None else _MeasuredSpan(span, instruments, attributes, tokens=tokens)
    )


def count_recovered(attributes: dict[str, Any]) -> None:
    """Count a recovered call, if the application collects metrics.

    Args:
        attributes: Attributes of the metric, of low cardinality.
    """
    instruments = _instruments()
    if instruments is not None:
        instruments.recovered.add(1, attributes)


class _MeasuredSpan:
    """A span that records its duration and tokens as metrics."""

    __slots__ = ("_attributes", "_instruments", "_span", "_started", "_tokens", "_usage")

    def __init__(
        self, span: Span, instruments: _Instruments, attributes: dict[str, Any], *, tokens: bool
    ) -> None:
        self._span = span
        self._instruments = instruments
        self._attributes = {name: each for name, each in attributes.items() if each is not None}
        self._tokens = tokens
        self._usage: UsageUpdate | None = None
        self._started = 0.0

    def set(self, name: str, value: Any) -> None:
        self._span.set(name, value)

    def content(self, name: str, value: Any) -> None:
        self._span.content(name, value)

    def result(self, result: ToolResult) -> None:
        self._span.result(result)

    def usage(self, usage: UsageUpdate) -> None:
        self._usage = usage
        self._span.usage(usage)

    def fail(self, kind: str, description: str | None = None) -> None:
        self._attributes["error.type"] = kind
        self._span.fail(kind, description)

    def __enter__(self) -> Self:
        self._started = time.perf_counter()
        self._span.__enter__()
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        seconds = time.perf_counter() - self._started
        self._span.__exit__(kind, error, traceback)
        counted = dict(self._attributes)
        if error is not None and not isinstance(error, GeneratorExit):
            self._attributes.setdefault("error.type", type(error).__qualname__)
        self._instruments.seconds.record(seconds, self._attributes)
        if self._tokens and self._usage is not None:
            counted.pop("error.type", None)
            for name, count in (
                ("input", self._usage.input_tokens),
                ("output", self._usage.output_tokens),
            ):
                self._instruments.tokens.record(count, {**counted, TOKEN_TYPE: name})


_known: _Instruments | None = None


def _instruments() -> _Instruments | None:
    global _known
    if _known is None:
        # As for spans: an application that collects metrics has imported this module, or named
        # the provider in the environment.
        if "opentelemetry.metrics" not in sys.modules and not os.environ.get(
            "OTEL_PYTHON_METER_PROVIDER"
        ):
            return None
        try:
            metrics = importlib.import_module("opentelemetry.metrics")
        except ImportError:
            return None
        meter = metrics.get_meter("toolweave", __version__)
        _known = _Instruments(
            meter.create_histogram(
                TOKEN_USAGE,
                unit="{token}",
                description="Tokens that requests to models have used.",
                explicit_bucket_boundaries_advisory=_TOKENS,
            ),
            meter.create_histogram(
                OPERATION_DURATION,
                unit="s",
                description="How long operations of models and agents took.",
                explicit_bucket_boundaries_advisory=_SECONDS,
            ),
            meter.create_counter(
                RECOVERED_CALLS,
                unit="{call}",
                description="Calls that were recovered from the text of native replies.",
            ),
        )
    return _known
