"""OpenTelemetry spans of models, agents and tools, for applications that use tracing.

Spans of models and agents record metrics as well, see `_metrics`. Without a tracer
provider, the functions here cost next to nothing and import nothing. Spans contain messages,
arguments and results only if `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` or
`capture_content` enables it.

Example:
    >>> call = ToolCall("call_0", "add", {"a": 1, "b": 2})
    >>> with execute_tool(call) as span:
    ...     span.result(ToolResult("call_0", "add", "3"))
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from .._core import __version__
from .._exception_text import exception_text
from ._metrics import count_recovered, measured
from ._span import Span as Span

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span as OtelSpan
    from opentelemetry.trace import Tracer
    from typing_extensions import Self

    from .._core import ToolCall, ToolResult, UsageUpdate
    from ..protocols import ModelOptions

# Names of the semantic conventions for generative AI
# (`open-telemetry/semantic-conventions-genai`), which are in development. The constants of the
# Python package are deprecated, so they are defined here.
OPERATION_NAME = "gen_ai.operation.name"
PROVIDER_NAME = "gen_ai.provider.name"
CONVERSATION_ID = "gen_ai.conversation.id"
WORKFLOW_NAME = "gen_ai.workflow.name"
AGENT_NAME = "gen_ai.agent.name"
AGENT_ID = "gen_ai.agent.id"
TOOL_NAME = "gen_ai.tool.name"
TOOL_CALL_ID = "gen_ai.tool.call.id"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_DESCRIPTION = "gen_ai.tool.description"
TOOL_CALL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_CALL_RESULT = "gen_ai.tool.call.result"
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_TEMPERATURE = "gen_ai.request.temperature"
REQUEST_TOP_P = "gen_ai.request.top_p"
REQUEST_MAX_TOKENS = "gen_ai.request.max_tokens"
REQUEST_SEED = "gen_ai.request.seed"
REQUEST_STOP_SEQUENCES = "gen_ai.request.stop_sequences"
RESPONSE_FINISH_REASONS = "gen_ai.response.finish_reasons"
USAGE_INPUT_TOKENS = "gen_ai.usage.input_tokens"
USAGE_OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
USAGE_CACHE_READ_INPUT_TOKENS = "gen_ai.usage.cache_read.input_tokens"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
ERROR_TYPE = "error.type"

# Attributes of toolweave.
TOOL_CALL_DIALECT = "toolweave.tool.call.dialect"
TOOL_CALL_RECOVERED = "toolweave.tool.call.recovered"

CAPTURE_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""Environment variable that enables content in spans, such as ``true`` or ``span_only``."""

__all__ = ["capture_content"]


_content: bool | None = None


def capture_content(capture: bool | None) -> None:
    """Enable or disable message content in spans; None leaves it to the environment."""
    global _content
    _content = capture


def is_enabled() -> bool:
    """Return True if spans may be recorded, that is, if the application has a tracer provider."""
    return _tracer() is not None


def execute_tool(call: ToolCall, *, description: str | None = None) -> Span:
    """Start the span of a tool execution.

    Args:
        call: The call.
        description: Description of the tool.
    """
    span = _start("execute_tool", call.name, client=False)
    if span is None:
        return _NOOP
    span.set(TOOL_NAME, call.name)
    span.set(TOOL_CALL_ID, call.id)
    span.set(TOOL_TYPE, "function")
    span.set(TOOL_DESCRIPTION, description)
    if call.recovered:
        span.set(TOOL_CALL_DIALECT, call.dialect)
        span.set(TOOL_CALL_RECOVERED, True)
    span.content(TOOL_CALL_ARGUMENTS, call.arguments)
    return span


def recovered(call: ToolCall, model: str, *, provider: str = "unknown") -> None:
    """Count a call that was recovered from the text of a native reply.

    Args:
        call: The call.
        model: Name of the model.
        provider: Provider of the model, such as ``openai``.
    """
    attributes = {REQUEST_MODEL: model, PROVIDER_NAME: provider, TOOL_CALL_DIALECT: call.dialect}
    count_recovered(attributes)


def chat(
    model: str,
    *,
    provider: str = "unknown",
    options: ModelOptions | None = None,
    current: bool = True,
) -> Span:
    """Start the span of one request to a model.

    Args:
        model: Name of the model.
        provider: Provider of the model, such as ``openai``.
        options: Options of the request.
        current: True to make this the current span, the parent of spans that start meanwhile.
            Must be False in a generator: its consumer would run inside the span between two items.
    """
    measures = {OPERATION_NAME: "chat", REQUEST_MODEL: model, PROVIDER_NAME: provider}
    span = _start("chat", model, client=True, current=current)
    if span is None:
        return measured(_NOOP, measures, tokens=True)
    span.set(REQUEST_MODEL, model)
    span.set(PROVIDER_NAME, provider)
    if options is not None:
        span.set(REQUEST_TEMPERATURE, options.temperature)
        span.set(REQUEST_TOP_P, options.top_p)
        span.set(REQUEST_MAX_TOKENS, options.max_tokens)
        span.set(REQUEST_SEED, options.seed)
        span.set(REQUEST_STOP_SEQUENCES, options.stop or None)
    return measured(span, measures, tokens=True)


def invoke_agent(
    name: str | None = None,
    *,
    agent_id: str | None = None,
    conversation_id: str | None = None,
    current: bool = True,
) -> Span:
    """Start the span of one run of an agent.

    Args:
        name: Name of the agent.
        agent_id: Id of the agent, if it has one.
        conversation_id: Id of the conversation.
        current: As in `chat`.
    """
    measures = {OPERATION_NAME: "invoke_agent", AGENT_NAME: name}
    span = _start("invoke_agent", name, client=False, current=current)
    if span is None:
        return measured(_NOOP, measures)
    span.set(AGENT_NAME, name)
    span.set(AGENT_ID, agent_id)
    span.set(CONVERSATION_ID, conversation_id)
    return measured(span, measures)


def select_tool(strategy: str, item_type: str) -> Span:
    """Start the span of selecting a tool for a query. The conventions do not define one.

    Args:
        strategy: Strategy of the selection.
        item_type: Item type of the query.
    """
    span = _start("select_tool", item_type, client=False)
    if span is None:
        return _NOOP
    span.set("toolweave.selection.strategy", strategy)
    return span


def invoke_workflow(name: str, *, conversation_id: str | None = None) -> Span:
    """Start the span of one run of scenes. The scenes that run are agents inside it.

    Args:
        name: Name of the workflow.
        conversation_id: Id of the conversation.
    """
    measures = {OPERATION_NAME: "invoke_workflow", WORKFLOW_NAME: name}
    span = _start("invoke_workflow", name, client=False)
    if span is None:
        return measured(_NOOP, measures)
    span.set(WORKFLOW_NAME, name)
    span.set(CONVERSATION_ID, conversation_id)
    return measured(span, measures)


def plan(name: str) -> Span:
    """Start the span of a planning step.

    Args:
        name: Name of the planner.
    """
    span = _start("plan", name, client=False)
    return measured(_NOOP if span is None else span, {OPERATION_NAME: "plan"})


class _NoopSpan:
    """A span that records nothing."""

    __slots__ = ()

    def set(self, name: str, value: Any) -> None: ...

    def content(self, name: str, value: Any) -> None: ...

    def result(self, result: ToolResult) -> None: ...

    def usage(self, usage: UsageUpdate) -> None: ...

    def fail(self, kind: str, description: str | None = None) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None: ...


_NOOP = _NoopSpan()


class _RecordingSpan:
    """A span recorded with OpenTelemetry."""

    __slots__ = ("_before", "_current", "_failed", "_span")

    def __init__(self, span: OtelSpan, *, current: bool) -> None:
        self._span = span
        self._current = current
        self._before: Context | None = None
        self._failed = False

    def set(self, name: str, value: Any) -> None:
        if value is not None:
            self._span.set_attribute(name, value)

    def content(self, name: str, value: Any) -> None:
        if self._span.is_recording() and _captures_content():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            self._span.set_attribute(name, text)

    def result(self, result: ToolResult) -> None:
        self.content(TOOL_CALL_RESULT, result.result)
        if result.is_error:
            self.fail(str(result.error_code or "tool_error"), result.result)

    def usage(self, usage: UsageUpdate) -> None:
        self.set(USAGE_INPUT_TOKENS, usage.input_tokens)
        self.set(USAGE_OUTPUT_TOKENS, usage.output_tokens)
        self.set(USAGE_CACHE_READ_INPUT_TOKENS, usage.cached_input_tokens or None)

    def fail(self, kind: str, description: str | None = None) -> None:
        from opentelemetry.trace import Status, StatusCode

        self._failed = True
        self._span.set_attribute(ERROR_TYPE, kind)
        message = description if _captures_content() else None
        self._span.set_status(Status(StatusCode.ERROR, message))

    def __enter__(self) -> Self:
        from opentelemetry import context, trace

        if self._current:
            self._before = context.get_current()
            context.attach(trace.set_span_in_context(self._span))
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        from opentelemetry import context, trace

        if error is not None and not self._failed and not isinstance(error, GeneratorExit):
            self.fail(_name_of(type(error)), exception_text(error))
        if self._before is not None and trace.get_current_span() is self._span:
            # Not with the token of `attach`: a generator may be closed in another context, such as
            # another task, where the token is invalid.
            context.attach(self._before)
        self._span.end()


def _start(
    operation: str, name: str | None, *, client: bool, current: bool = True
) -> _RecordingSpan | None:
    tracer = _tracer()
    if tracer is None:
        return None
    from opentelemetry.trace import SpanKind

    span = tracer.start_span(
        f"{operation} {name}" if name else operation,
        kind=SpanKind.CLIENT if client else SpanKind.INTERNAL,
        attributes={OPERATION_NAME: operation},
    )
    # The context is invalid if there is no provider. It is valid for spans that are not sampled,
    # which must be current all the same so that their children are not sampled either.
    return _RecordingSpan(span, current=current) if span.get_span_context().is_valid else None


_known_tracer: Tracer | None = None
_named: bool | None = None


def _tracer() -> Tracer | None:
    global _known_tracer, _named
    if _known_tracer is None:
        if _named is None:
            # Cached, since reading `os.environ` takes longer than everything else done here.
            _named = bool(os.environ.get("OTEL_PYTHON_TRACER_PROVIDER"))
        # An application with a provider has imported this module, or named the provider in the
        # environment. The others are spared the import.
        if not _named and "opentelemetry.trace" not in sys.modules:
            return None
        try:
            trace = importlib.import_module("opentelemetry.trace")
        except ImportError:
            return None
        # Libraries import the module as well. Until a provider is set, a proxy is in its place,
        # whose no-op spans take longer than most of the operations they would trace.
        if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            return None
        _known_tracer = trace.get_tracer("toolweave", __version__)
    return _known_tracer


def _captures_content() -> bool:
    if _content is not None:
        return _content
    return os.environ.get(CAPTURE_CONTENT, "").lower() in (
        "true",
        "1",
        "span_only",
        "span_and_event",
    )


def _name_of(kind: type[BaseException]) -> str:
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )
