"""Spans as OpenTelemetry's own exporter receives them, and no overhead without tracing."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider, sampling
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from toolweave import ToolCall, ToolResult, UsageUpdate, tracing
from toolweave.protocols import ModelOptions
from tracing_spans import exporter

CALL = ToolCall("call_0", "add", {"a": 1, "city": "Köln"})


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    monkeypatch.delenv(tracing.CAPTURE_CONTENT, raising=False)
    exporter().clear()
    yield exporter()
    tracing.capture_content(None)


def only(spans: InMemorySpanExporter) -> ReadableSpan:
    (span,) = spans.get_finished_spans()
    return span


def test_a_tool_has_a_span_without_content(spans: InMemorySpanExporter) -> None:
    with tracing.execute_tool(CALL, description="Adds.") as span:
        span.result(ToolResult("call_0", "add", "3"))
    found = only(spans)
    assert (found.name, found.kind) == ("execute_tool add", SpanKind.INTERNAL)
    assert found.status.status_code is StatusCode.UNSET
    assert dict(found.attributes or {}) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "add",
        "gen_ai.tool.call.id": "call_0",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Adds.",
    }
    assert found.instrumentation_scope is not None
    assert found.instrumentation_scope.name == "toolweave"


def test_a_request_to_a_model_has_a_span(spans: InMemorySpanExporter) -> None:
    options = ModelOptions(temperature=0.5, max_tokens=100, stop=("</tool_call>",), seed=7)
    with tracing.chat("gpt-x", provider="openai", options=options) as span:
        span.usage(UsageUpdate(10, 5, 4))
        span.set(tracing.RESPONSE_FINISH_REASONS, ["stop"])
    found = only(spans)
    assert (found.name, found.kind) == ("chat gpt-x", SpanKind.CLIENT)
    assert dict(found.attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-x",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 100,
        "gen_ai.request.stop_sequences": ("</tool_call>",),
        "gen_ai.request.seed": 7,
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 4,
        "gen_ai.response.finish_reasons": ("stop",),
    }


@pytest.mark.parametrize(
    ("name", "shown"), [("helper", "invoke_agent helper"), (None, "invoke_agent")]
)
def test_a_run_of_an_agent_has_a_span(
    spans: InMemorySpanExporter, name: str | None, shown: str
) -> None:
    with tracing.invoke_agent(name, conversation_id="chat_1"):
        pass
    found = only(spans)
    assert (found.name, found.kind) == (shown, SpanKind.INTERNAL)
    attributes = dict(found.attributes or {})
    assert attributes["gen_ai.conversation.id"] == "chat_1"
    assert attributes.get("gen_ai.agent.name") == name


def test_tools_at_the_same_time_are_children_of_their_agent_and_parents_of_their_own(
    spans: InMemorySpanExporter,
) -> None:
    async def tool(name: str, inner: str | None = None) -> None:
        with tracing.execute_tool(ToolCall(name, name, {})):
            await asyncio.sleep(0)
            if inner is not None:
                await tool(inner)

    async def main() -> None:
        with tracing.invoke_agent("helper"):
            with tracing.chat("gpt-x"):
                await asyncio.sleep(0)
            await asyncio.gather(tool("one", "inner"), tool("two"))

    asyncio.run(main())
    found = {span.name: span for span in spans.get_finished_spans()}
    parents = {
        name: next(
            (
                other
                for other, candidate in found.items()
                if span.parent is not None
                and candidate.context is not None
                and candidate.context.span_id == span.parent.span_id
            ),
            None,
        )
        for name, span in found.items()
    }
    assert parents == {
        "invoke_agent helper": None,
        "chat gpt-x": "invoke_agent helper",
        "execute_tool one": "invoke_agent helper",
        "execute_tool two": "invoke_agent helper",
        "execute_tool inner": "execute_tool one",
    }


def test_a_result_that_is_an_error_marks_the_span(spans: InMemorySpanExporter) -> None:
    result = ToolResult("call_0", "add", "secret", is_error=True, error_code="timeout")
    with tracing.execute_tool(CALL) as span:
        span.result(result)
    found = only(spans)
    assert (found.attributes or {})["error.type"] == "timeout"
    assert found.status.status_code is StatusCode.ERROR
    assert found.status.description is None


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("secret"), "ValueError"),
        (json.JSONDecodeError("secret", "", 0), "json.decoder.JSONDecodeError"),
        (asyncio.CancelledError("secret"), "asyncio.exceptions.CancelledError"),
    ],
)
def test_an_exception_that_passes_marks_the_span(
    spans: InMemorySpanExporter, error: BaseException, kind: str
) -> None:
    with pytest.raises(type(error)), tracing.chat("gpt-x"):
        raise error
    found = only(spans)
    assert (found.attributes or {})["error.type"] == kind
    assert found.status.status_code is StatusCode.ERROR
    assert "secret" not in found.to_json()


def test_an_exception_without_a_text_is_raised_unchanged(
    spans: InMemorySpanExporter,
) -> None:
    class NoTextError(Exception):
        def __str__(self) -> str:
            raise ValueError("no text")

    with pytest.raises(NoTextError), tracing.chat("m", provider="p"):
        raise NoTextError
    span = only(spans)
    assert span.status.status_code is StatusCode.ERROR
    assert (span.attributes or {})["error.type"].endswith("NoTextError")


def test_a_generator_that_is_closed_has_not_failed(spans: InMemorySpanExporter) -> None:
    def stream() -> Iterator[int]:
        with tracing.chat("gpt-x"):
            yield 1
            yield 2

    reply = stream()
    next(reply)
    reply.close()  # type: ignore[attr-defined]
    assert only(spans).status.status_code is StatusCode.UNSET


@pytest.mark.parametrize("current", [True, False])
def test_a_stream_that_is_closed_in_another_context_complains_about_nothing(
    spans: InMemorySpanExporter, caplog: pytest.LogCaptureFixture, current: bool
) -> None:
    async def stream() -> Any:
        with tracing.chat("gpt-x", current=current):
            yield 1
            yield 2

    async def main() -> None:
        reply = stream()
        await anext(reply)
        await asyncio.create_task(reply.aclose())

    asyncio.run(main())
    assert only(spans).name == "chat gpt-x"
    assert caplog.messages == []


def test_the_consumer_of_a_stream_does_not_run_inside_its_span(spans: InMemorySpanExporter) -> None:
    async def stream() -> Any:
        with tracing.chat("gpt-x", current=False):
            yield 1

    async def main() -> None:
        with tracing.invoke_agent("helper", current=True):
            async for _ in stream():
                with tracing.execute_tool(CALL):
                    pass
        assert not trace.get_current_span().get_span_context().is_valid

    asyncio.run(main())
    tool, chat, agent = spans.get_finished_spans()
    assert (tool.name, chat.name) == ("execute_tool add", "chat gpt-x")
    assert agent.context is not None
    for child in (tool, chat):
        assert child.parent is not None
        assert child.parent.span_id == agent.context.span_id


@pytest.mark.parametrize("setting", ["true", "True", "1", "span_only", "SPAN_AND_EVENT", True])
def test_content_is_captured_if_enabled(
    spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch, setting: object
) -> None:
    if isinstance(setting, str):
        monkeypatch.setenv(tracing.CAPTURE_CONTENT, setting)
    else:
        tracing.capture_content(True)
    with tracing.execute_tool(CALL) as span:
        span.result(ToolResult("call_0", "add", "no", is_error=True, error_code="denied"))
    found = only(spans)
    attributes = dict(found.attributes or {})
    assert attributes["gen_ai.tool.call.arguments"] == '{"a": 1, "city": "Köln"}'
    assert attributes["gen_ai.tool.call.result"] == "no"
    assert found.status.description == "no"


@pytest.mark.parametrize("setting", ["", "false", "no_content", "event_only"])
def test_content_is_not_captured_by_default(
    spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    monkeypatch.setenv(tracing.CAPTURE_CONTENT, setting)
    with tracing.execute_tool(CALL):
        pass
    assert "Köln" not in json.loads(only(spans).to_json())["attributes"].values()
    # The setting of the program takes precedence over the environment.
    monkeypatch.setenv(tracing.CAPTURE_CONTENT, "true")
    tracing.capture_content(False)
    spans.clear()
    with tracing.execute_tool(CALL):
        pass
    assert "gen_ai.tool.call.arguments" not in (only(spans).attributes or {})


def test_children_of_unsampled_spans_are_not_sampled(
    spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = TracerProvider(sampler=sampling.ParentBased(sampling.ALWAYS_OFF))
    provider.add_span_processor(SimpleSpanProcessor(exporter()))
    with monkeypatch.context() as patch:
        patch.setattr(tracing, "_known_tracer", provider.get_tracer("toolweave"))
        agent = tracing.invoke_agent("helper")
        with agent:
            sampled = trace.get_current_span().get_span_context()
            assert sampled.is_valid
            assert not sampled.trace_flags.sampled
    assert spans.get_finished_spans() == ()


def run_program(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stderr == ""
    return done.stdout


USE = (
    "call = toolweave.ToolCall('call_0', 'add', {})\n"
    "with tracing.invoke_agent('a') as span, tracing.chat('m') as chat:\n"
    "    span.set('x', 1); span.fail('x'); chat.usage(toolweave.UsageUpdate(1, 1))\n"
    "    with tracing.execute_tool(call) as tool:\n"
    "        tool.content('x', 1); tool.result(toolweave.ToolResult('call_0', 'add', '3'))\n"
)


def test_without_a_provider_opentelemetry_is_not_even_imported() -> None:
    program = (
        f"import sys, toolweave\nfrom toolweave import tracing\n{USE}"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    assert run_program(program) == "[]\n"


def test_without_opentelemetry_everything_works() -> None:
    program = (
        "import os, sys, toolweave\nfrom toolweave import tracing\n"
        "os.environ['OTEL_PYTHON_TRACER_PROVIDER'] = 'sdk_tracer_provider'\n"
        f"sys.modules['opentelemetry'] = None\n{USE}"
    )
    assert run_program(program) == ""


def test_a_provider_that_is_set_after_the_first_span_is_used() -> None:
    program = (
        "import toolweave\nfrom toolweave import tracing\n"
        "from opentelemetry import trace\n"
        f"{USE}"
        "from opentelemetry.sdk.trace import TracerProvider\n"
        "from opentelemetry.sdk.trace.export import SimpleSpanProcessor\n"
        "from opentelemetry.sdk.trace.export.in_memory_span_exporter import *\n"
        "exporter = InMemorySpanExporter()\n"
        "provider = TracerProvider()\n"
        "provider.add_span_processor(SimpleSpanProcessor(exporter))\n"
        "trace.set_tracer_provider(provider)\n"
        f"{USE}"
        "print(*sorted(span.name for span in exporter.get_finished_spans()), sep=', ')"
    )
    assert run_program(program) == "chat m, execute_tool add, invoke_agent a\n"


def test_a_provider_and_not_the_import_of_opentelemetry_is_what_traces() -> None:
    program = (
        "import toolweave\nfrom toolweave import tracing\n"
        "from opentelemetry import trace\n"
        "before = tracing.is_enabled()\n"
        "from opentelemetry.sdk.trace import TracerProvider\n"
        "trace.set_tracer_provider(TracerProvider())\n"
        "print(before, tracing.is_enabled())"
    )
    assert run_program(program) == "False True\n"


def test_a_provider_named_in_the_environment_is_used() -> None:
    program = (
        "import os, sys, toolweave\nfrom toolweave import tracing\n"
        "os.environ['OTEL_PYTHON_TRACER_PROVIDER'] = 'sdk_tracer_provider'\n"
        f"{USE}"
        "print('opentelemetry.sdk.trace' in sys.modules)"
    )
    assert run_program(program) == "True\n"


def test_a_span_without_tracing_costs_next_to_nothing() -> None:
    program = (
        "import time, toolweave\nfrom toolweave import tracing\n"
        "call, result = toolweave.ToolCall('c', 'add', {}), toolweave.ToolResult('c', 'add', '3')\n"
        "def cost():\n"
        "    began = time.process_time()\n"
        "    for _ in range(20_000):\n"
        "        with tracing.execute_tool(call) as span:\n"
        "            span.result(result)\n"
        "    return time.process_time() - began\n"
        "print(min(cost() for _ in range(5)) / 20_000)"
    )
    assert float(run_program(program)) < 5e-6
