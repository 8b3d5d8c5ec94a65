"""`NaturalToolUseModel` in streams: text and arguments as they are written."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters

from openai_endpoint import Endpoint, Reply, serving
from pydantic_agents import CALL, add, definition, natural, stream

if TYPE_CHECKING:
    from collections.abc import Sequence


class Total(BaseModel):
    """A total."""

    total: int


def shown(events: Sequence[Any]) -> tuple[str, str]:
    """Return the text and the arguments of a stream."""
    text = arguments = ""
    for event in events:
        match event:
            case (
                PartStartEvent(part=TextPart(content=more))
                | PartDeltaEvent(delta=TextPartDelta(content_delta=more))
            ):
                text += more
            case PartDeltaEvent(delta=ToolCallPartDelta(args_delta=str(more))):
                arguments += more
            case _:
                pass
    return text, arguments


def test_text_and_arguments_stream_as_the_model_writes_them() -> None:
    events: list[Any] = []
    with serving(Reply.of(f"Let me see.\n{CALL}\n", size=3), "It is 42.") as endpoint:
        assert stream(Agent(natural(endpoint), tools=[add]), events=events) == "It is 42."
        assert endpoint.requests[0]["stream"] is True
    assert shown(events) == ("Let me see.\nIt is 42.", '{"a": 15, "b": 27}')
    deltas = [event for event in events if isinstance(event, PartDeltaEvent)]
    assert sum(isinstance(event.delta, ToolCallPartDelta) for event in deltas) > 3
    calls = [
        event
        for event in events
        if isinstance(event, PartStartEvent) and isinstance(event.part, ToolCallPart)
    ]
    assert len(calls) == 1


REPLIES = [
    f"Let me see.\n{CALL}\n",
    f"{CALL}\n{CALL}",
    '<add>{"a": "15", "b": 27,}</add> and <add>{"a": 1, "b": 2}</add> done',
    '<add>{"a": 15}</add>',
    '<tool_call name="sub">{"a": 1}</tool_call>',
    "<think>Hm.</think>Nothing to call.",
    '<add>{"a": 1, "b": 2}</add>\n<tool_response name="add">\n3\n</tool_response>',
    "A < b and <b>bold</b>.",
]


@pytest.mark.parametrize("text", REPLIES)
def test_a_stream_adds_up_to_what_comes_whole(text: str) -> None:
    tool = definition("add", {"type": "object", "required": ["a", "b"], "properties": INTEGERS})
    parameters = ModelRequestParameters(function_tools=[tool])
    messages: list[ModelMessage] = [ModelRequest([UserPromptPart("Hi")])]

    async def main(endpoint: Endpoint) -> tuple[ModelResponse, ModelResponse]:
        async with natural(endpoint) as model:
            whole = await model.request(messages, None, parameters)
            async with model.request_stream(messages, None, parameters) as streamed:
                async for _ in streamed:
                    pass
            return whole, streamed.get()

    with serving(text, Reply.of(text, size=3)) as endpoint:
        whole, streamed = asyncio.run(main(endpoint))
    assert [content_of(part) for part in streamed.parts] == [
        content_of(part) for part in whole.parts
    ]
    assert (streamed.finish_reason, streamed.state) == (whole.finish_reason, whole.state)
    assert streamed.usage.output_tokens == whole.usage.output_tokens == 7
    assert streamed.model_name == whole.model_name
    called = any(isinstance(part, ToolCallPart) for part in whole.parts)
    assert whole.finish_reason == ("tool_call" if called else "stop")


INTEGERS = {"a": {"type": "integer"}, "b": {"type": "integer"}}


def content_of(part: Any) -> Any:
    if not isinstance(part, ToolCallPart):
        return part.part_kind, part.content
    details = part.provider_details
    return part.tool_name, details or part.args_as_dict(), part.args if details else ""


def test_structured_output_streams() -> None:
    with serving(Reply.of('<final_result>{"total": 42}</final_result>', size=3)) as endpoint:

        async def main() -> tuple[list[Any], Any]:
            async with (
                Agent(natural(endpoint), output_type=Total) as agent,
                agent.run_stream("Hi") as result,
            ):
                partial = [output async for output in result.stream_output(debounce_by=None)]
                return partial, await result.get_output()

        partial, output = asyncio.run(main())
    assert partial[-1] == output == Total(total=42)


def test_a_stream_can_be_cancelled() -> None:
    async def main(endpoint: Endpoint) -> None:
        async with (
            Agent(natural(endpoint), tools=[add]) as agent,
            agent.run_stream("Hi") as result,
        ):
            async for _ in result.stream_text(debounce_by=None):
                break
            await result.cancel()

    with serving(Reply(["a"] * 2000)) as endpoint:
        asyncio.run(main(endpoint))
