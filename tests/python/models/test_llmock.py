"""Adapters against `llmock`, which answers and fails like the servers of providers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from servers.adapters import QUIET, WITH_LITELLM
from servers.model_answers import Read, in_use, read
from toolweave import FinishUpdate, FunctionContract, JoinedReply, Joiner, TextMessage, UsageUpdate
from toolweave.integrations.litellm import LiteLLMModel
from toolweave.models.anthropic import AnthropicModel
from toolweave.models.http import HttpModel
from toolweave.models.openai import OpenAIModel

KEY = "sk-very-secret-0123456789"
ASKED = [TextMessage("What is the weather like in Oslo today?")]
TEXT = "The weather in Oslo is fine."
WEATHER = FunctionContract(
    "GetWeather",
    "Tells the weather.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)

MODELS: dict[str, Callable[..., Any]] = {
    "openai": lambda llmock, **more: OpenAIModel(
        "gpt-x", base_url=llmock.base_url("openai"), api_key=KEY, **more
    ),
    "anthropic": lambda llmock, **more: AnthropicModel(
        "claude-x", base_url=llmock.base_url("anthropic"), api_key=KEY, **more
    ),
    "http": lambda llmock, **more: HttpModel(
        llmock.base_url("openai"), "gpt-x", KEY, provider="http", **more
    ),
}
if WITH_LITELLM:
    MODELS["litellm"] = lambda llmock, **more: LiteLLMModel(
        "openai/gpt-x", base_url=llmock.base_url("openai"), api_key=KEY, **more
    )

pytestmark = [
    pytest.mark.parametrize("name", MODELS),
    *(pytest.mark.filterwarnings(line) for line in QUIET),
]


def ask(name: str, llmock: Any, *, retries: int = 0, **asked: Any) -> Read:
    async def main() -> Read:
        async with in_use(MODELS[name](llmock, max_retries=retries)) as model:
            return await read(model, ASKED, **asked)

    return asyncio.run(main())


def joined(came: Read) -> JoinedReply:
    joiner = Joiner()
    for update in came.updates:
        joiner.push(update)
    return joiner.finish()


def test_a_reply_comes_whole_with_its_usage(name: str, llmock: Any) -> None:
    llmock.reply(TEXT)
    came = ask(name, llmock)
    assert (came.text, came.error) == (TEXT, None)
    assert came.updates[-1] == FinishUpdate("stop")
    used = [update for update in came.updates if isinstance(update, UsageUpdate)]
    assert used[-1].input_tokens > 0
    assert used[-1].output_tokens > 1
    assert llmock.last_request.status == 200


def test_a_native_call_comes_whole(name: str, llmock: Any) -> None:
    llmock.call_tool("GetWeather", {"city": 'Os\u00adlo 🌍 "x"'})
    reply = joined(ask(name, llmock, tools=[WEATHER]))
    assert reply.problems == ()
    assert reply.finish_reason == "tool_calls"
    (call,) = getattr(reply.messages[0], "tool_calls", ())
    assert (call.name, call.arguments) == ("GetWeather", {"city": 'Os\u00adlo 🌍 "x"'})


def test_a_native_call_with_broken_arguments_is_in_no_message(name: str, llmock: Any) -> None:
    llmock.call_tool("GetWeather", {"city": "Oslo"}).break_tool_call("malformed_arguments")
    reply = joined(ask(name, llmock, tools=[WEATHER]))
    assert not any(hasattr(message, "tool_calls") for message in reply.messages)
    assert [problem.kind for problem in reply.problems] == ["invalid_arguments"]


def test_a_stream_that_ends_early_is_taken_as_cut_off(name: str, llmock: Any) -> None:
    llmock.reply(TEXT).truncate(after_chunks=4)
    came = ask(name, llmock)
    assert came.error is None
    assert came.text
    assert TEXT.startswith(came.text)
    assert came.text != TEXT
    assert came.updates[-1] == FinishUpdate("missing")


def test_a_native_call_that_ends_early_is_in_no_message(name: str, llmock: Any) -> None:
    llmock.call_tool("GetWeather", {"city": "Oslo, Norway"}).truncate(after_chunks=3)
    reply = joined(ask(name, llmock, tools=[WEATHER]))
    assert reply.finish_reason == "missing"
    assert not any(hasattr(message, "tool_calls") for message in reply.messages)
    assert [problem.kind for problem in reply.problems] == ["unclosed"]


@pytest.mark.parametrize("fault", ["disconnect", "corrupt"])
def test_a_stream_that_breaks_is_an_error_after_what_came(
    name: str, llmock: Any, fault: str
) -> None:
    getattr(llmock.reply(TEXT), fault)(after_chunks=5)
    came = ask(name, llmock)
    assert came.text
    assert TEXT.startswith(came.text)
    assert came.error is not None
    assert came.error.status is None
    assert not any(isinstance(update, FinishUpdate) for update in came.updates)


@pytest.mark.parametrize("status", [401, 429, 500, 529])
def test_a_refusal_is_an_error_with_its_status(name: str, llmock: Any, status: int) -> None:
    llmock.fail(status)
    came = ask(name, llmock)
    assert came.updates == []
    assert came.error is not None
    assert came.error.status == status
    assert KEY not in str(came.error)
    assert len(llmock.requests) == 1


def test_retries_of_a_busy_server_observe_retry_after(name: str, llmock: Any) -> None:
    llmock.rate_limit(retry_after=0.05).reply(TEXT)
    came = ask(name, llmock, retries=2)
    assert (came.text, came.error) == (TEXT, None)
    assert len(llmock.requests) == 2
    llmock.assert_resilient()


def test_one_model_serves_several_loops_in_turn(name: str, llmock: Any) -> None:
    llmock.reply(TEXT, times=None)
    model = MODELS[name](llmock, max_retries=0)
    loops = [asyncio.new_event_loop() for _ in range(2)]

    async def close() -> None:
        async with in_use(model):
            pass

    for loop in (*loops, *loops):
        came = loop.run_until_complete(read(model, ASKED))
        assert (came.text, came.error) == (TEXT, None)
    for loop in loops:
        loop.run_until_complete(close())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
