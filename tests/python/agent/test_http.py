"""Agents with the real clients of providers, which talk to servers on the loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

import toolweave as tw
from coroutine_tests import collect, of_kind, on_a_loop
from servers import dialects
from servers.model_answers import in_use
from servers.sse import Answer, Do, Served, serving
from toolweave.agent import Agent, AgentResult
from toolweave.exceptions import ModelError
from toolweave.models.anthropic import AnthropicModel
from toolweave.models.openai import OpenAIModel
from toolweave.testing import call, expect_calls

QUESTION = "What is 2 + 3?"


async def add(a: int, b: int) -> int:
    await asyncio.sleep(0)
    return a + b


def openai(url: str) -> OpenAIModel:
    return OpenAIModel("m", base_url=f"{url}/v1", api_key="sk-secret", max_retries=0)


def anthropic(url: str) -> AnthropicModel:
    return AnthropicModel("m", base_url=url, api_key="sk-secret", max_retries=0)


ANSWERED = ["It ", "is ", "5."]
INLINE = ["Let me see. ", "<ad", 'd>{"a": 2, ', '"b": 3}</a', "dd>"]
NATIVE = [("c1", "add", ['{"a": 2, ', '"b": 3}'])]

SCRIPTS: dict[str, tuple[Any, list[list[bytes]]]] = {
    "openai native": (
        openai,
        [
            [dialects.delta(content="Let me see. "), *dialects.openai_calls(NATIVE)],
            dialects.openai_text(ANSWERED),
        ],
    ),
    "openai natural": (openai, [dialects.openai_text(INLINE), dialects.openai_text(ANSWERED)]),
    "anthropic native": (
        anthropic,
        [dialects.anthropic_calls(NATIVE), dialects.anthropic_text(ANSWERED)],
    ),
    "anthropic natural": (
        anthropic,
        [dialects.anthropic_text(INLINE), dialects.anthropic_text(ANSWERED)],
    ),
}


async def run_over_http(way: str) -> tuple[AgentResult, Served]:
    """Return the result of one run over HTTP, and the requests to the server."""
    make, replies = SCRIPTS[way]
    mode: Any = way.split()[1]
    async with serving(*map(Answer, replies)) as served, in_use(make(served.url)) as model:
        agent = Agent(model, [add], tool_mode=mode, instructions="Be brief.", clock=lambda: 0.0)
        return await agent.run(QUESTION), served


@pytest.fixture(scope="module", autouse=True)
def used_clients() -> None:
    """Use each client once: pydantic builds the schemas of their events with the first one."""
    for way in SCRIPTS:
        asyncio.run(run_over_http(way))


@on_a_loop
@pytest.mark.parametrize("way", SCRIPTS)
async def test_every_client_and_mode_gives_the_same_conversation(way: str) -> None:
    result, served = await run_over_http(way)
    assert (result.text, result.stop_reason, len(served.requests)) == ("It is 5.", "completed", 2)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (14, 10)
    [made] = expect_calls(result, call("add", a=2, b=3))
    assert made.result is not None
    assert made.result.result == "5"


@on_a_loop
async def test_a_native_history_is_sent_in_the_format_of_the_provider() -> None:
    _, served = await run_over_http("openai native")
    body = served.requests[1]["body"]
    assert [message["role"] for message in body["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
    ]
    assert body["messages"][2]["content"] == "Let me see. "
    assert body["messages"][3]["tool_call_id"] == "c1"
    assert [tool["function"]["name"] for tool in body["tools"]] == ["add"]
    assert "stop" not in body


@on_a_loop
async def test_a_natural_history_is_sent_as_text() -> None:
    _, served = await run_over_http("openai natural")
    body = served.requests[1]["body"]
    assert [message["role"] for message in body["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert body["messages"][0]["content"].startswith("Be brief.")
    assert body["messages"][3]["content"] == '<tool_response name="add">\n5\n</tool_response>'
    assert "tools" not in body
    assert body["stop"] == ["<tool_response"]


@on_a_loop
async def test_the_history_of_one_mode_works_in_the_other() -> None:
    native, _ = await run_over_http("openai native")
    natural, _ = await run_over_http("anthropic natural")
    async with (
        serving(Answer(dialects.openai_text(["Yes."]))) as served,
        in_use(openai(served.url)) as model,
    ):
        for mode in ("natural", "native"):
            agent = Agent(model, [add], tool_mode=mode)  # type: ignore[arg-type]
            for before in (native, natural):
                result = await agent.run("Really?", history=before.messages)
                assert result.text == "Yes."
    assert len(served.requests) == 4


@pytest.mark.parametrize("ending", [[Do.CUT], [Do.END], []])
@pytest.mark.parametrize("way", ["native", "natural"])
@on_a_loop
async def test_a_truncated_reply_runs_only_its_complete_calls(
    way: str, ending: Sequence[Do]
) -> None:
    """The connection breaks, or it ends early, which clients of providers do not report."""
    if way == "native":
        whole = dialects.call(0, id="c1", name="add", arguments='{"a": 2, "b": 3}')
        half = dialects.call(1, id="c2", name="add", arguments='{"a": 9, "b": 9')
        steps: list[Any] = [dialects.delta(tool_calls=[each]) for each in (whole, half)]
    else:
        steps = [dialects.delta(content='<add>{"a": 2, "b": 3}</add><add>{"a": 9, "b": 9')]
    async with (
        serving(Answer([*steps, *ending]), Answer(dialects.openai_text(["So."]))) as served,
        in_use(openai(served.url)) as model,
    ):
        run = Agent(model, [add], tool_mode=way).open(QUESTION)  # type: ignore[arg-type]
        seen: list[Any] = []
        try:
            await collect(run, seen)
        except ModelError:
            assert ending
        else:
            assert not ending
    aggregate = run.messages[1]
    assert isinstance(aggregate, tw.ToolAggregateMessage)
    assert aggregate.tool_results[0].result == "5"
    assert [result.error_code for result in aggregate.tool_results] == [None, "invalid_arguments"]
    assert [each.arguments for each in of_kind(tw.ToolCall, seen)] == [{"a": 2, "b": 3}]


@on_a_loop
async def test_cancelling_a_run_closes_the_connection() -> None:
    hold = Answer([dialects.delta(content="Well. "), Do.HOLD])
    async with serving(hold) as served, in_use(openai(served.url)) as model:
        run = Agent(model, [add]).open(QUESTION)
        started = asyncio.Event()

        async def read() -> None:
            async for _ in run:
                started.set()

        task = asyncio.create_task(read())
        await asyncio.wait_for(started.wait(), 5)
        await run.cancel()
        await served.client_left()
        await task
    assert json.loads(run.messages[-1].to_json())["text"] == "Well. "
    assert run.result is not None
    assert run.result.stop_reason == "cancelled"
