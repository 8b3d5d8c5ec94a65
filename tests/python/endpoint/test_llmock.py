"""`HttpModel` against `llmock`, beyond the tests of all adapters."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from servers.model_answers import Read, read
from toolweave import FinishUpdate, FunctionContract, Joiner, TextMessage
from toolweave.models.http import HttpModel
from toolweave.natural import NaturalToolUse
from toolweave.protocols import ModelOptions

KEY = "sk-very-secret-0123456789"
ASKED = [TextMessage("What is the weather like in Oslo today?")]
TEXT = "The weather in Oslo is fine."
WEATHER = FunctionContract(
    "GetWeather",
    "Tells the weather.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


def ask(llmock: Any, *, asked: Any = None, **options: Any) -> Read:
    async def main() -> Read:
        settings = {"max_retries": 0, "provider": "acme", **options}
        async with HttpModel(llmock.base_url("openai"), "gpt-x", KEY, **settings) as model:
            return await read(model, ASKED, **(asked or {}))

    return asyncio.run(main())


def test_a_stream_that_stalls_is_given_up(llmock: Any) -> None:
    llmock.reply(TEXT).stall(after_chunks=4, seconds=5.0)
    came = ask(llmock, idle_timeout=0.2)
    assert came.text
    assert TEXT.startswith(came.text)
    assert came.error is not None
    assert "0.2 s" in str(came.error)
    assert came.error.transient is True


@pytest.mark.parametrize("fault", ["delay", "slow_first_token"])
def test_a_reply_that_begins_late_is_given_up_and_asked_for_again(llmock: Any, fault: str) -> None:
    getattr(llmock.reply(TEXT, times=None), fault)(5.0)
    came = ask(llmock, first_byte_timeout=0.3, idle_timeout=0.3, max_retries=1)
    if came.error is None:
        assert came.text == TEXT
    else:
        # The head had come already, and that is a byte.
        assert fault == "slow_first_token"
        assert "0.3 s" in str(came.error)


def test_retries_are_delayed_during_an_overload(llmock: Any) -> None:
    llmock.fail(503, times=2, retry_after=0.05).reply(TEXT)
    came = ask(llmock, max_retries=3)
    assert (came.text, came.error) == (TEXT, None)
    assert len(llmock.requests) == 3
    llmock.assert_resilient()


def test_an_outage_is_an_error_in_the_end(llmock: Any) -> None:
    llmock.outage()
    came = ask(llmock, max_retries=1)
    assert came.error is not None
    assert (came.error.status, came.error.transient) == (503, True)
    assert len(llmock.requests) == 2


def test_a_conversation_that_is_too_long_is_not_asked_again(llmock: Any) -> None:
    llmock.context_overflow(times=None)
    came = ask(llmock, max_retries=3)
    assert came.error is not None
    assert "maximum context length" in str(came.error)
    assert len(llmock.requests) == 1
    llmock.assert_resilient()


def test_a_rate_limit_is_observed(llmock: Any) -> None:
    llmock.limits(rpm=1).reply(TEXT, times=None)
    assert ask(llmock).error is None
    came = ask(llmock)
    assert came.error is not None
    assert came.error.status == 429
    assert came.error.retry_after is not None
    assert came.error.retry_after > 0


@pytest.mark.parametrize("streaming", [True, False])
def test_a_call_comes_whole_whether_or_not_it_is_streamed(llmock: Any, streaming: bool) -> None:
    llmock.call_tool("GetWeather", {"city": "Oslo 🌍"}, text="Let me see.")
    joiner = Joiner()
    for update in ask(llmock, streaming=streaming, asked={"tools": [WEATHER]}).updates:
        joiner.push(update)
    reply = joiner.finish()
    assert reply.problems == ()
    made = [call for message in reply.messages for call in getattr(message, "tool_calls", ())]
    assert [(call.name, call.arguments) for call in made] == [("GetWeather", {"city": "Oslo 🌍"})]


def test_structured_output_is_asked_for_and_comes(llmock: Any) -> None:
    schema = {"type": "object", "properties": {"ok": {"const": True}}, "required": ["ok"]}
    came = ask(llmock, asked={"options": ModelOptions(response_schema=schema)})
    assert came.text.replace(" ", "") == '{"ok":true}'
    assert came.updates[-1] == FinishUpdate("stop")


@pytest.mark.parametrize("kind", ["malformed_arguments", "unknown_tool"])
def test_the_result_of_an_invalid_call_has_the_error(llmock: Any, kind: str) -> None:
    def GetWeather(city: str) -> str:  # noqa: N802
        return f"fine in {city}"

    llmock.call_tool("GetWeather", {"city": "Oslo"}).break_tool_call(kind)

    async def main() -> list[Any]:
        async with HttpModel(llmock.base_url("openai"), "gpt-x", KEY, max_retries=0) as model:
            return await NaturalToolUse(model, [GetWeather], tool_mode="native").complete("Hi!")

    aggregate, *_ = asyncio.run(main())
    (result,) = aggregate.tool_results
    assert result.is_error
