"""Tags of tools without JSON in them: attempted calls that must not pass for answers."""

from __future__ import annotations

import pytest

import toolweave as tw
from coroutine_tests import on_a_loop
from toolweave.agent import Agent
from toolweave.exceptions import ToolUseParsingError
from toolweave.kinds import StopReason
from toolweave.natural import NaturalToolUseParser
from toolweave.testing import ScriptedModel


def get_weather(city: str, unit: str = "celsius") -> str:
    """Report the weather."""
    return f"{city}: 7 degrees {unit}"


ATTEMPTS = [
    "<get_weather>Oslo</get_weather>",
    "<get_weather>\n<city>Oslo</city>\n</get_weather>",
    'Let me see.\n\n<get_weather>\ncity="Oslo"\n</get_weather>\n',
    "```xml\n<get_weather><city>Oslo</city></get_weather>\n```\n",
]


@pytest.mark.parametrize("attempt", ATTEMPTS)
@on_a_loop
async def test_an_attempt_is_no_answer(attempt: str) -> None:
    model = ScriptedModel(attempt, '<get_weather>{"city": "Oslo"}</get_weather>', "7 degrees.")
    result = await Agent(model, [get_weather]).run("What is it like in Oslo?")
    assert (result.text, result.stop_reason) == ("7 degrees.", StopReason.COMPLETED)
    assert len(model.requests) == 3
    assert "not a JSON object" in model.requests[1].messages[-1].text


@pytest.mark.parametrize("attempt", ATTEMPTS)
@on_a_loop
async def test_an_attempt_is_an_error_in_strict_mode(attempt: str) -> None:
    agent = Agent(ScriptedModel(attempt), [get_weather], strict=True)
    with pytest.raises(ToolUseParsingError, match="invalid_json"):
        await agent.run("What is it like in Oslo?")


@pytest.mark.parametrize("attempt", ATTEMPTS)
@on_a_loop
async def test_the_fallback_corrects_an_attempt(attempt: str) -> None:
    fallback = ScriptedModel('{"city": "Oslo"}')
    parser = NaturalToolUseParser(
        ScriptedModel(attempt), [tw.FunctionContract("get_weather")], fallback=fallback
    )
    events = [event async for event in parser.stream("What is it like in Oslo?")]
    (call,) = [event for event in events if isinstance(event, tw.ToolCall)]
    assert call.arguments == {"city": "Oslo"}
    assert len(fallback.requests) == 1


@on_a_loop
async def test_null_for_an_optional_argument_is_its_default() -> None:
    call = '<get_weather>{"city": "Oslo", "unit": null}</get_weather>'
    model = ScriptedModel(call, "7 degrees.")
    result = await Agent(model, [get_weather], strict=True).run("What is it like in Oslo?")
    (aggregate,) = [m for m in result.messages if isinstance(m, tw.ToolAggregateMessage)]
    assert aggregate.tool_results[0].result == "Oslo: 7 degrees celsius"
    (repair,) = aggregate.tool_calls[0].repairs
    assert repair == tw.Repair("/unit", "null_member", None, None)


@on_a_loop
async def test_several_objects_in_one_tag_all_run() -> None:
    model = ScriptedModel(
        '<get_weather>\n{"city": "Rome"}\n{"city": "Oslo"}\n</get_weather>', "7 degrees."
    )
    result = await Agent(model, [get_weather], strict=True).run("Rome and Oslo?")
    results = [r.result for m in result.messages for r in getattr(m, "tool_results", ())]
    assert results == ["Rome: 7 degrees celsius", "Oslo: 7 degrees celsius"]
