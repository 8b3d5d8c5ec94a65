"""Streaming without an event loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

import pytest

import toolweave as tw
from coroutine_tests import of_kind
from toolweave.agent import Agent, AgentResult
from toolweave.exceptions import ModelError
from toolweave.testing import ScriptedModel


def add(a: int, b: int) -> int:
    return a + b


def test_the_events_are_those_of_stream() -> None:
    agent = Agent(ScriptedModel('<add>{"a": 2, "b": 3}</add>', "It is 5."), [add])
    events = list(agent.run_stream_sync("2 + 3?"))
    assert isinstance(events[-1], AgentResult)
    assert [each.result for each in of_kind(tw.ToolResult, events)] == ["5"]
    assert events[-1].text == "It is 5."


class Watched:
    """A model that records how its stream ends."""

    def __init__(self) -> None:
        self.closed = False

    async def stream(self, messages: Sequence[tw.Message]) -> AsyncIterator[str]:
        try:
            for word in ("one ", "two ", f"{len(messages)}"):
                yield word
                await asyncio.sleep(0)
        finally:
            self.closed = True


def test_leaving_the_loop_stops_the_model() -> None:
    watched = Watched()
    for _ in Agent(watched.stream).run_stream_sync("Hi!"):
        break
    assert watched.closed


def test_an_exception_in_the_loop_stops_the_model() -> None:
    watched = Watched()
    events = Agent(watched.stream).run_stream_sync("Hi!")

    def read() -> None:
        with contextlib.closing(events):
            for _ in events:
                raise KeyError("mine")

    with pytest.raises(KeyError):
        read()
    assert watched.closed


def test_an_error_of_the_run_is_raised_and_the_loop_is_closed() -> None:
    events = Agent(ScriptedModel(["Hm", ModelError("gone", "acme")])).run_stream_sync("Hi!")
    with pytest.raises(ModelError, match="gone"):
        list(events)
    assert list(events) == []


def test_the_program_may_run_a_loop_between_events() -> None:
    agent, other = Agent(ScriptedModel("Hello.")), Agent(ScriptedModel("Yes."))
    texts = [
        other.run_sync("And?").text
        for event in agent.run_stream_sync("Hi!")
        if isinstance(event, tw.TextDelta)
    ]
    assert texts == ["Yes."]


def test_a_running_loop_is_refused() -> None:
    async def main() -> None:
        Agent(ScriptedModel()).run_stream_sync("Hi!")

    with pytest.raises(RuntimeError, match=r"use `async for event in agent.stream\(...\)` here"):
        asyncio.run(main())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Hello.", "text='Hello.', stop_reason='completed', iterations=1, tokens=0"),
        ("x" * 100, f"text='{'x' * 59}…', stop_reason='completed', iterations=1, tokens=0"),
        ("a\nb", r"text='a\nb', stop_reason='completed', iterations=1, tokens=0"),
    ],
)
def test_the_repr_of_a_result_is_one_line(text: str, shown: str) -> None:
    assert repr(Agent(ScriptedModel(text)).run_sync("Hi!")) == f"AgentResult({shown})"
