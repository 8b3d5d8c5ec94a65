"""The option `accept`: calls that the application refuses."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest

import toolweave as tw
from toolweave import Agent, ErrorCode
from toolweave.natural import NaturalToolUse
from toolweave.testing import ScriptedModel

HERMES = '<tool_call>{"name": "Ping", "arguments": {"n": 1}}</tool_call>'
NATURAL = '<Ping>{"n": 2}</Ping>'
PING: dict[str, Any] = {"name": "Ping", "parameters": {"type": "object"}}


def ends(events: Any) -> list[Any]:
    return [event for event in events if isinstance(event, (tw.ToolCall, tw.InvalidToolCall))]


def test_calls_in_other_dialects_are_refused() -> None:
    refused, call = ends(tw.parse(HERMES + NATURAL, [PING], accept=["natural", "native"]))
    assert isinstance(refused, tw.InvalidToolCall)
    assert (refused.kind, refused.dialect, refused.arguments) == ("refused", "hermes", {"n": 1})
    assert refused.raw == HERMES.removesuffix("</tool_call>")
    [violation] = refused.violations
    assert violation.keyword == "refused"
    assert violation.message == (
        "calls in the dialect hermes are not accepted; accepted: natural, native"
    )
    assert isinstance(call, tw.ToolCall)


def test_a_function_decides_about_valid_calls() -> None:
    asked: list[tw.ToolCall] = []

    def accept(call: tw.ToolCall) -> bool:
        asked.append(call)
        return call.arguments["n"] > 1

    reply = HERMES + NATURAL + "<Ping>{</Ping>"
    events = ends(tw.parse(reply, [PING], accept=accept, repair="none"))
    assert [getattr(event, "kind", "valid") for event in events] == [
        "refused",
        "valid",
        "invalid_json",
    ]
    assert [call.dialect for call in asked] == ["hermes", "natural"]
    assert events[0].violations[0].message == "this call of 'Ping' is not accepted"


def test_native_and_long_calls_are_decided_about_as_well() -> None:
    parser = tw.Parser([PING], accept=("natural",))
    assert getattr(parser.native_call("1", "Ping", "{}"), "kind", "") == "refused"
    long = f'<tool_call>{{"name": "Ping", "arguments": {{"text": "{"x" * 200_000}"}}}}</tool_call>'
    assert [event.kind for event in ends(tw.parse(long, [PING], accept=("natural",)))] == [
        "refused"
    ]
    reader = tw.UpdateReader(parser)
    read = [
        *reader.push(tw.ToolCallUpdate("7", 0, "Ping", "{}")),
        *reader.push(tw.TextDelta(NATURAL)),
        *reader.finish(truncated=False),
    ]
    assert {type(event).__name__ for event in ends(read)} == {"ToolCall", "InvalidToolCall"}
    fresh = ends([*parser.fresh().push(HERMES)])
    assert [event.kind for event in fresh] == ["refused"]


@pytest.mark.parametrize(
    ("accept", "error", "says"),
    [
        ("natural", TypeError, "accept"),
        (7, TypeError, "accept"),
        ({"natural": 1}, TypeError, "accept"),
        ([1], TypeError, "accept"),
        (["klingon"], ValueError, '"klingon" is not one of .*"native"'),
    ],
)
def test_invalid_values_are_named(accept: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        tw.Parser([PING], accept=accept)


def test_an_error_of_the_function_is_raised() -> None:
    def accept(_: tw.ToolCall) -> bool:
        raise RuntimeError("no idea")

    with pytest.raises(RuntimeError, match="no idea"):
        tw.parse(NATURAL, [PING], accept=accept)


def test_the_function_is_released_with_the_parser() -> None:
    class Policy:
        parser: Any = None

        def __call__(self, _: tw.ToolCall) -> bool:
            return True

    policy = Policy()
    policy.parser = tw.Parser([PING], accept=policy)
    released = weakref.ref(policy)
    del policy
    gc.collect()
    assert released() is None


def test_the_model_reads_why_its_call_was_refused() -> None:
    ran: list[int] = []

    def Ping(n: int) -> str:  # noqa: N802
        ran.append(n)
        return "pong"

    use = NaturalToolUse(ScriptedModel(HERMES + NATURAL), [Ping], accept=("natural",))
    messages = asyncio.run(use.complete("Ping!"))
    aggregates = [each for each in messages if isinstance(each, tw.ToolAggregateMessage)]
    results = [result for each in aggregates for result in each.tool_results]
    assert [result.error_code for result in results] == [ErrorCode.DENIED, None]
    assert "dialect hermes are not accepted; accepted: natural" in results[0].result
    assert ran == [2]


def test_an_agent_goes_on_after_a_refused_call() -> None:
    def Ping(n: int) -> str:  # noqa: N802
        raise AssertionError(f"{n}: it must not run")

    model = ScriptedModel(HERMES, "Then not.")
    agent = Agent(model, [Ping], accept=lambda call: call.dialect == "natural")
    result = asyncio.run(agent.run("Ping!"))
    assert result.text == "Then not."
    assert "this call of 'Ping' is not accepted" in model.requests[1].messages[-1].text
