"""Fallback: a second model that repairs invalid calls."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolweave as tw
from parser_replies import TOOLS, replies
from toolweave.exceptions import ModelError, ToolUseParsingError
from toolweave.natural import NaturalToolUseParser
from toolweave.natural._fallback import MAX_FALLBACK_CHARS
from toolweave.testing import ScriptedModel

BROKEN = '<GetWeather>{"city": Oslo?}</GetWeather>'
REPAIRED = '{"city": "Oslo"}'


def events_of(reply: Any, fallback: Any, **options: Any) -> list[Any]:
    """Return the events of a reply, with a fallback."""
    parser = NaturalToolUseParser(ScriptedModel(reply), TOOLS, fallback=fallback, **options)

    async def collect() -> list[Any]:
        return [event async for event in parser.stream("Hi!")]

    return asyncio.run(collect())


def repaired(reply: str, answer: Any, **options: Any) -> Any:
    """Return the only call of a reply, and the requests to the fallback."""
    fallback = ScriptedModel(answer)
    (call,) = [
        event
        for event in events_of(reply, fallback, **options)
        if isinstance(event, (tw.ToolCall, tw.InvalidToolCall))
    ]
    return call, fallback.requests


def test_a_malformed_call_is_repaired_and_that_is_recorded() -> None:
    call, requests = repaired(BROKEN, REPAIRED)
    assert len(requests) == 1
    assert call == tw.ToolCall(
        "call_0",
        "GetWeather",
        {"city": "Oslo"},
        BROKEN,
        0,
        [tw.Repair("", "fallback", BROKEN, REPAIRED)],
    )


def test_a_call_that_violates_its_schema_is_repaired() -> None:
    call, _ = repaired('<GetWeather>{"town": "Oslo"}</GetWeather>', REPAIRED)
    assert call.arguments == {"city": "Oslo"}


def test_its_prompt_has_the_contract_the_violations_and_the_original_text() -> None:
    written = '<GetWeather>{"town": "Oslo \\" ignore all this"}</GetWeather>'
    call, (request,) = repaired(written, "null")
    (message,) = request.messages
    schema = TOOLS[0]["parameters"]
    assert json.dumps(schema) in message.text
    assert json.dumps(written) in message.text
    for violation in call.violations:
        assert f"- {violation.message}\n" in message.text
    assert request.options.response_schema == schema
    assert request.tools == ()


@pytest.mark.parametrize(
    "answer",
    [
        f"```json\n{REPAIRED}\n```",
        f"<GetWeather>{REPAIRED}</GetWeather>",
        f'<think>Perhaps {{"city": "Rome"}}?</think>\n{REPAIRED}',
        "{'city': 'Oslo',}",
        [tw.ReasoningDelta("Rome? "), REPAIRED[:5], REPAIRED[5:]],
    ],
)
def test_its_answer_is_read_as_leniently_as_a_call(answer: Any) -> None:
    call, _ = repaired(BROKEN, answer)
    assert call.arguments == {"city": "Oslo"}
    assert call.repairs[0].kind == "fallback"


@pytest.mark.parametrize(
    "answer",
    [
        "null",
        "",
        "I cannot say.",
        '{"city": 7.5, "unit": "kelvin"}',
        '{"town": "Oslo"}',
        '["Oslo"]',
        [REPAIRED, tw.FinishUpdate("length")],
        [REPAIRED, tw.FinishUpdate("missing")],
        [REPAIRED, ModelError("gone")],
        ValueError("broken client"),
        [*["x" * MAX_FALLBACK_CHARS] * 5, REPAIRED],
    ],
)
def test_an_invalid_answer_leaves_the_call_unchanged(answer: Any) -> None:
    call, requests = repaired(BROKEN, answer)
    assert (call.kind, call.raw) == ("invalid_json", BROKEN)
    assert len(requests) == 1


def test_there_is_one_request_for_each_invalid_call() -> None:
    fallback = ScriptedModel("null", REPAIRED)
    events = events_of(f"{BROKEN} and {BROKEN}", fallback)
    kinds = [type(e).__name__ for e in events if isinstance(e, (tw.ToolCall, tw.InvalidToolCall))]
    assert kinds == ["InvalidToolCall", "ToolCall"]
    assert len(fallback.requests) == 2


def test_there_is_no_request_for_valid_calls() -> None:
    fallback = ScriptedModel()
    events_of('Well. <GetWeather>{"city": "Oslo"}</GetWeather>', fallback)
    assert fallback.requests == []


@pytest.mark.parametrize(
    ("reply", "options"),
    [
        ('<Add>{"a": 1', {}),
        ('<tool_call name="SendRocket">{}</tool_call>', {}),
        ('<GetWeather>{"city": "Oslo", "x": [[[[1]]]]}</GetWeather>', {"limits": {"max_depth": 2}}),
        ("<Ping/><Ping/>", {"limits": {"max_calls": 1}}),
        (f'<GetWeather>{{"town": "{"x" * MAX_FALLBACK_CHARS}"}}</GetWeather>', {}),
    ],
)
def test_there_is_no_request_for_calls_with_missing_parts(reply: str, options: Any) -> None:
    fallback = ScriptedModel()
    limits = tw.Limits(**options.get("limits", {}))
    events = events_of(reply, fallback, limits=limits)
    assert any(isinstance(event, tw.InvalidToolCall) for event in events)
    assert fallback.requests == []


def test_a_misspelled_name_is_repaired_with_the_call() -> None:
    raw = '<tool_call name="get_weather">{"town": "Oslo"}</tool_call>'
    call, (request,) = repaired(raw, REPAIRED)
    assert (call.name, call.arguments) == ("GetWeather", {"city": "Oslo"})
    assert call.repairs[:2] == (
        tw.Repair("", "fallback", "get_weather", "GetWeather"),
        tw.Repair("", "fallback", raw, REPAIRED),
    )
    assert 'call the tool "GetWeather"' in request.messages[0].text


def test_a_repaired_call_can_be_serialized() -> None:
    call, _ = repaired(BROKEN, REPAIRED)
    message = tw.ToolCallMessage([call])
    assert tw.message_from_json(message.to_json()) == message


def test_native_calls_are_repaired_too() -> None:
    fallback = ScriptedModel(REPAIRED)
    model = ScriptedModel([tw.ToolCallUpdate("c7", 0, "GetWeather", '{"city": Oslo?}')])
    parser = NaturalToolUseParser(model, TOOLS, tool_mode="native", fallback=fallback)
    reply = asyncio.run(parser.complete("Hi!"))
    ((call,),) = [message.tool_calls for message in reply.messages]
    assert (call.id, call.arguments, call.raw) == ("c7", {"city": "Oslo"}, '{"city": Oslo?}')


def test_in_strict_mode_only_unrepaired_calls_are_errors() -> None:
    call, _ = repaired(BROKEN, REPAIRED, strict=True)
    assert isinstance(call, tw.ToolCall)
    with pytest.raises(ToolUseParsingError, match="invalid_json"):
        events_of(BROKEN, ScriptedModel("null"), strict=True)


def test_cancellation_propagates() -> None:
    async def main() -> None:
        asked = asyncio.Event()

        async def fallback(_: Any) -> str:
            asked.set()
            await asyncio.sleep(60)
            return REPAIRED

        parser = NaturalToolUseParser(ScriptedModel(BROKEN), TOOLS, fallback=fallback)
        task = asyncio.create_task(parser.complete("Hi!"))
        await asyncio.wait_for(asked.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_the_outcome_is_logged_without_arguments(caplog: Any) -> None:
    with caplog.at_level(logging.INFO, "toolweave.natural"):
        repaired(BROKEN, REPAIRED)
        repaired(BROKEN, '{"town": "Oslo"}')
    messages = [record.getMessage() for record in caplog.records]
    assert messages == [
        "the fallback has repaired the call",
        "the answer of the fallback does not fit either",
        "a call cannot be run",
    ]
    assert "Oslo" not in "".join(str(vars(record)) for record in caplog.records)
    assert {record.tool for record in caplog.records} == {"GetWeather"}


@given(reply=replies, answer=replies | st.just(REPAIRED))
def test_no_output_of_either_model_raises(reply: str, answer: str) -> None:
    async def fallback(_: Any) -> str:
        return answer

    *events, finish = events_of(reply, fallback)
    assert isinstance(finish, tw.FinishUpdate)
    raws = [e.raw for e in events if isinstance(e, (tw.ToolCall, tw.InvalidToolCall))]
    expected = [
        e.raw for e in tw.parse(reply, TOOLS) if isinstance(e, (tw.ToolCall, tw.InvalidToolCall))
    ]
    assert raws == expected


# Replies without a call.


def rewritten(reply: Any, answer: Any, **options: Any) -> tuple[list[Any], list[Any]]:
    fallback = ScriptedModel(answer)
    events = events_of(reply, fallback, rewrite_plain_replies=True, **options)
    return events, fallback.requests


def test_a_plain_reply_that_means_a_call_becomes_one_if_that_is_asked_for() -> None:
    text = "I'll look up the weather in Oslo."
    answer = '{"name": "GetWeather", "arguments": {"city": "Oslo"}}'
    events, (request,) = rewritten(text, answer)
    repair = tw.Repair("", "fallback", text, answer)
    assert events == [
        tw.TextDelta(text),
        tw.ToolCallStart(0, "call_0", "GetWeather"),
        tw.ToolCall("call_0", "GetWeather", {"city": "Oslo"}, "", 0, [repair]),
        tw.FinishUpdate("tool_calls"),
    ]
    assert json.dumps(text) in request.messages[0].text


@pytest.mark.parametrize(
    "answer",
    [
        '{"name": null}',
        '{"name": "Nope", "arguments": {}}',
        '{"name": "GetWeather", "arguments": {}}',
        '{"name": "GetWeather", "arguments": 7}',
        '["GetWeather"]',
        "no",
        "",
        [tw.FinishUpdate("length")],
        ModelError("gone"),
    ],
)
def test_a_plain_reply_stays_one_if_the_fallback_finds_no_call(answer: Any) -> None:
    events, requests = rewritten("Good morning.", answer)
    assert events == [tw.TextDelta("Good morning."), tw.FinishUpdate("stop")]
    assert len(requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        "<Ping/>",
        '<tool_call name="Nope">{}</tool_call>',
        "",
        " \n",
        ["Well", tw.FinishUpdate("length")],
        ["Well", tw.FinishUpdate("missing")],
        "x" * (MAX_FALLBACK_CHARS + 1),
    ],
)
def test_there_is_no_request_for_replies_with_calls_or_truncated_ones(reply: Any) -> None:
    _, requests = rewritten(reply, [])
    assert requests == []


def test_plain_replies_are_not_rewritten_by_default() -> None:
    fallback = ScriptedModel()
    events_of("I'll look up the weather in Oslo.", fallback)
    assert fallback.requests == []
