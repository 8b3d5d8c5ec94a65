"""Agents whose servers leave calls in the text of native replies, over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import toolweave as tw
from coroutine_tests import on_a_loop
from servers import dialects
from servers.model_answers import in_use
from servers.sse import Answer, serving
from toolweave.agent import Agent
from toolweave.models.anthropic import AnthropicModel
from toolweave.models.http import HttpModel
from toolweave.models.openai import OpenAIModel

CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 2, "b": 3}}\n</tool_call>'
PIECES = ["I add. ", CALL[:5], CALL[5:30], CALL[30:]]
ANSWER = ["It ", "is ", "5."]


async def add(a: int, b: int) -> int:
    await asyncio.sleep(0)
    return a + b


def http(url: str) -> HttpModel:
    return HttpModel(f"{url}/v1", "qwen2.5", proxy=None, max_retries=0)


def openai(url: str) -> OpenAIModel:
    return OpenAIModel("qwen2.5", base_url=f"{url}/v1", api_key="sk-secret", max_retries=0)


def anthropic(url: str) -> AnthropicModel:
    return AnthropicModel("claude", base_url=url, api_key="sk-secret", max_retries=0)


@on_a_loop
@pytest.mark.parametrize("make", [http, openai])
async def test_an_agent_runs_a_call_that_the_server_left_in_the_text(make: Any) -> None:
    replies = [Answer(dialects.openai_text(pieces)) for pieces in (PIECES, ANSWER)]
    async with serving(*replies) as served, in_use(make(served.url)) as model:
        result = await Agent(model, [add]).run("What is 2 + 3?")
    assert (result.text, result.stop_reason) == ("It is 5.", "completed")
    [aggregate] = [each for each in result.messages if isinstance(each, tw.ToolAggregateMessage)]
    [call] = aggregate.tool_calls
    assert (call.recovered, call.dialect, call.arguments) == (True, "hermes", {"a": 2, "b": 3})
    first, second = (request["body"] for request in served.requests)
    assert [tool["function"]["name"] for tool in second["tools"]] == ["add"]
    assert first["tools"] == second["tools"]
    _, assistant, tool = second["messages"]
    [sent] = assistant["tool_calls"]
    assert (assistant["content"], sent["id"]) == ("I add. ", call.id)
    assert sent["function"] == {"name": "add", "arguments": '{"a":2,"b":3}'}
    assert tool == {"role": "tool", "tool_call_id": call.id, "content": "5"}


@on_a_loop
async def test_the_history_of_a_recovered_call_is_native_for_anthropic() -> None:
    replies = [Answer(dialects.anthropic_text(pieces)) for pieces in (PIECES, ANSWER)]
    async with serving(*replies) as served, in_use(anthropic(served.url)) as model:
        result = await Agent(model, [add]).run("What is 2 + 3?")
    assert result.text == "It is 5."
    _, assistant, user = served.requests[1]["body"]["messages"]
    text, use = assistant["content"]
    assert (text["text"], use["type"], use["name"]) == ("I add. ", "tool_use", "add")
    assert use["input"] == {"a": 2, "b": 3}
    [answered] = user["content"]
    assert (answered["type"], answered["tool_use_id"]) == ("tool_result", use["id"])


@on_a_loop
async def test_a_call_that_the_server_has_read_and_left_in_the_text_runs_once() -> None:
    both = [
        dialects.delta(role="assistant", content=CALL),
        *dialects.openai_calls([("c1", "add", ['{"b": 3, "a": 2}'])]),
    ]
    calls: list[tuple[int, int]] = []

    async def add(a: int, b: int) -> int:
        calls.append((a, b))
        return a + b

    replies = Answer(both), Answer(dialects.openai_text(ANSWER))
    async with serving(*replies) as served, in_use(http(served.url)) as model:
        result = await Agent(model, [add]).run("What is 2 + 3?")
    assert (result.text, calls) == ("It is 5.", [(2, 3)])
    [assistant] = [
        message for message in served.requests[1]["body"]["messages"] if "tool_calls" in message
    ]
    assert len(assistant["tool_calls"]) == 1


@on_a_loop
async def test_a_server_without_tools_is_asked_in_text() -> None:
    error = b'{"error": {"message": "gemma:2b does not support tools", "type": "api_error"}}'
    natural = ['<add>{"a": 2, ', '"b": 3}</add>']
    replies = [
        Answer([error], status=400, kind="application/json"),
        *(Answer(dialects.openai_text(pieces)) for pieces in (natural, ANSWER)),
    ]
    async with serving(*replies) as served, in_use(http(served.url)) as model:
        result = await Agent(model, [add]).run("What is 2 + 3?")
    assert result.text == "It is 5."
    assert ["tools" in request["body"] for request in served.requests] == [True, False, False]
