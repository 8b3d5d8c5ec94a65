"""Spans of agents: requests and tools as siblings in the run, and none in its reader."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import toolweave as tw
from coroutine_tests import collect, on_a_loop
from toolweave.agent import Agent
from toolweave.exceptions import ModelError
from toolweave.testing import ScriptedModel
from tracing_spans import exporter, tree


@pytest.fixture
def spans() -> InMemorySpanExporter:
    exporter().clear()
    return exporter()


def add(a: int, b: int) -> int:
    return a + b


ADD = '<add>{"a": 2, "b": 3}</add>'


@on_a_loop
async def test_requests_and_tools_are_siblings_in_the_span_of_the_run(spans: Any) -> None:
    model = ScriptedModel([ADD, tw.UsageUpdate(9, 4)], ["5.", tw.UsageUpdate(20, 1)], name="m1")
    await Agent(model, [add], name="ann").run("2 + 3?", chat_id="chat-1")
    finished = spans.get_finished_spans()
    assert tree(finished) == {
        "": ["invoke_agent ann"],
        "invoke_agent ann": ["chat m1", "execute_tool add", "chat m1"],
    }
    (run,) = [span for span in finished if span.parent is None]
    assert run.attributes["gen_ai.usage.input_tokens"] == 29
    assert run.attributes["gen_ai.conversation.id"] == "chat-1"
    first, second = [span for span in finished if span.name == "chat m1"]
    assert first.attributes["gen_ai.response.finish_reasons"] == ("tool_calls",)
    assert second.attributes["gen_ai.usage.input_tokens"] == 20
    assert first.attributes["gen_ai.provider.name"] == "toolweave"


@on_a_loop
async def test_a_fallback_is_asked_within_the_request_that_needs_it(spans: Any) -> None:
    fallback = ScriptedModel(['{"a": 2, "b": 3}', tw.UsageUpdate(30, 7)], name="m2")
    model = ScriptedModel("<add>{nope}</add>", "5.", name="m1")
    await Agent(model, [add], name="ann", fallback=fallback).run("2 + 3?")
    finished = spans.get_finished_spans()
    assert tree(finished)["chat m1"] == ["chat m2"]
    assert tree(finished)["invoke_agent ann"] == ["chat m1", "execute_tool add", "chat m1"]
    (asked,) = [span for span in finished if span.name == "chat m2"]
    assert asked.attributes["gen_ai.usage.input_tokens"] == 30


@on_a_loop
async def test_the_reader_of_a_stream_is_not_in_the_span_of_the_run(spans: Any) -> None:
    agent = Agent(ScriptedModel(ADD, "5."), [add])
    async for _ in agent.stream("2 + 3?"):
        assert not trace.get_current_span().get_span_context().is_valid
    assert len(spans.get_finished_spans()) == 4


@on_a_loop
async def test_an_error_is_on_the_spans_that_it_ended(spans: Any) -> None:
    agent = Agent(ScriptedModel(["Well. ", ModelError("gone")], name="m1"), [add], name="ann")
    with pytest.raises(ModelError):
        await agent.run("2 + 3?")
    failed = {span.name: span.attributes["error.type"] for span in spans.get_finished_spans()}
    assert failed == dict.fromkeys(
        ("chat m1", "invoke_agent ann"), "toolweave.exceptions.ModelError"
    )


@on_a_loop
async def test_leaving_a_stream_ends_its_spans(spans: Any) -> None:
    stream = Agent(ScriptedModel(["one ", "two "], name="m1"), name="ann").stream("Go!")
    async for _ in stream:
        break
    await stream.aclose()
    names = [span.name for span in spans.get_finished_spans()]
    assert sorted(names) == ["chat m1", "invoke_agent ann"]


@on_a_loop
async def test_spans_keep_the_context_in_which_the_run_was_opened(spans: Any) -> None:
    tracer = trace.get_tracer("test")
    with tracer.start_as_current_span("request"):
        run = Agent(ScriptedModel("Hi."), name="ann").open("Hi!")
    await collect(run)
    assert tree(spans.get_finished_spans())["request"] == ["invoke_agent ann"]
