"""`LangChainModel` over HTTP, and conversion of messages in both directions."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import BaseChatModel, GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI

from langchain_chat import chat_openai
from openai_endpoint import Endpoint, Reply, serving
from toolweave import (
    FinishUpdate,
    FunctionContract,
    JoinedReply,
    Message,
    MessageError,
    ReasoningDelta,
    TextDelta,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolCallMessage,
    ToolCallUpdate,
    ToolResult,
    Update,
    UsageUpdate,
    consolidate,
)
from toolweave.agent import Agent
from toolweave.exceptions import ModelError
from toolweave.integrations.langchain import LangChainModel, from_langchain, to_langchain
from toolweave.models import closing, complete
from toolweave.protocols import ModelOptions
from toolweave.tools import tool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

ADD = FunctionContract(
    "Add",
    "Adds.",
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
)


def chat(endpoint: Endpoint) -> LangChainModel:
    return LangChainModel(chat_openai(endpoint))


def fragment(index: int, arguments: str, **more: Any) -> dict[str, Any]:
    function = {"arguments": arguments, **({"name": more.pop("name")} if "name" in more else {})}
    return {"tool_calls": [{"index": index, "function": function, **more}]}


def updates(model: LangChainModel, **asked: Any) -> list[Update]:
    async def read() -> list[Update]:
        return [update async for update in model.stream([TextMessage("Hi")], **asked)]

    return asyncio.run(read())


class Chunked(BaseChatModel):
    """A LangChain chat model with chunks that no server here sends."""

    chunks: list[AIMessageChunk]

    @property
    def _llm_type(self) -> str:
        return "chunked"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError

    async def _astream(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        for chunk in self.chunks:
            yield ChatGenerationChunk(message=chunk.model_copy(deep=True))


class Whole(BaseChatModel):
    """A chat model that does not stream."""

    reply: AIMessage

    @property
    def _llm_type(self) -> str:
        return "whole"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.reply)])


def test_text_and_usage_stream_and_the_reason_comes_last() -> None:
    with serving("Hello there") as endpoint:
        assert updates(chat(endpoint)) == [
            TextDelta("Hell"),
            TextDelta("o th"),
            TextDelta("ere"),
            UsageUpdate(11, 7),
            FinishUpdate("stop"),
        ]


def test_native_calls_stream_in_fragments() -> None:
    pieces = [
        fragment(0, '{"a": 1,', id="c1", type="function", name="Add"),
        fragment(0, ' "b": 2}'),
        fragment(1, "{}", id="c2", type="function", name="Add"),
    ]
    with serving(Reply(pieces, "tool_calls")) as endpoint:
        read = updates(chat(endpoint), tools=[ADD])
        assert [update for update in read if isinstance(update, ToolCallUpdate)] == [
            ToolCallUpdate("c1", 0, "Add", '{"a": 1,'),
            ToolCallUpdate(None, 0, None, ' "b": 2}'),
            ToolCallUpdate("c2", 1, "Add", "{}"),
        ]
        assert read[-1] == FinishUpdate("tool_calls")
        assert endpoint.requests[0]["tools"] == [ADD.to_openai()]


@pytest.mark.parametrize(("finish", "reason"), [(None, "missing"), ("length", "length")])
def test_a_call_that_was_cut_off_is_no_call(finish: str | None, reason: str) -> None:
    pieces = [fragment(0, '{"a": 1', id="c1", type="function", name="Add")]
    with serving(Reply(pieces, finish)) as endpoint:
        joined: JoinedReply = asyncio.run(complete(chat(endpoint), "Hi", tools=[ADD]))
    assert joined.finish_reason == reason
    assert not [message for message in joined.messages if isinstance(message, ToolCallMessage)]
    assert joined.problems[0].tool_call_id == "c1"


def test_a_connection_that_breaks_is_an_error_after_what_has_come() -> None:
    async def read(model: LangChainModel) -> list[Update]:
        came: list[Update] = []
        try:
            async for update in model.stream([TextMessage("Hi")]):
                came.append(update)  # noqa: PERF401 - a comprehension would keep none of them
        except ModelError as err:
            assert "natural failed" in str(err)
            assert err.__cause__ is not None
            return came
        raise AssertionError

    with serving(Reply(["Hello"], drop=True)) as endpoint:
        assert asyncio.run(read(chat(endpoint))) == [TextDelta("Hello")]


def test_a_refusal_carries_its_status() -> None:
    with serving(Reply(status=429)) as endpoint, pytest.raises(ModelError) as caught:
        updates(chat(endpoint))
    assert caught.value.status == 429
    assert caught.value.provider == "langchain"


def test_options_reach_the_server() -> None:
    options = ModelOptions(
        temperature=0.5,
        top_p=0.9,
        max_tokens=20,
        seed=7,
        stop=("END",),
        response_schema={"type": "object", "properties": {}, "additionalProperties": False},
        extra={"user": "u1"},
    )
    with serving("{}") as endpoint:
        updates(chat(endpoint), options=options)
        asked = endpoint.requests[0]
    assert (asked["temperature"], asked["top_p"], asked["seed"]) == (0.5, 0.9, 7)
    assert 20 in (asked.get("max_tokens"), asked.get("max_completion_tokens"))
    assert asked["stop"] == ["END"]
    assert asked["user"] == "u1"
    assert asked["response_format"]["json_schema"]["schema"]["type"] == "object"


@pytest.mark.parametrize(
    ("choice", "sent"),
    [("required", "required"), ("none", "none"), ("Add", {"function": {"name": "Add"}})],
)
def test_a_tool_choice_is_mapped_to_that_of_langchain(choice: str, sent: object) -> None:
    with serving("ok") as endpoint:
        updates(chat(endpoint), tools=[ADD], options=ModelOptions(tool_choice=choice))
        asked = endpoint.requests[0]["tool_choice"]
    assert asked == (sent if isinstance(sent, str) else {"type": "function", **sent})


def test_a_stream_that_is_not_read_to_its_end_is_closed() -> None:
    async def first(model: LangChainModel) -> Update:
        async with closing(model.stream([TextMessage("Hi")])) as stream:
            return await anext(aiter(stream))

    with serving(Reply(["a"] * 1000)) as endpoint:
        assert asyncio.run(first(chat(endpoint))) == TextDelta("a")


def test_reasoning_is_read_in_all_forms_of_langchain() -> None:
    chunks = [
        AIMessageChunk([{"type": "thinking", "thinking": "a", "index": 0}]),
        AIMessageChunk("", additional_kwargs={"reasoning_content": "b"}),
        AIMessageChunk([{"type": "reasoning", "reasoning": "c"}]),
        AIMessageChunk([{"type": "text", "text": "Hello"}]),
    ]
    chunks[0].response_metadata = {"model_provider": "anthropic"}
    read = updates(LangChainModel(Chunked(chunks=chunks)))
    assert "".join(u.text for u in read if isinstance(u, ReasoningDelta)) == "abc"
    assert "".join(u.text for u in read if isinstance(u, TextDelta)) == "Hello"


def test_usage_is_the_sum_of_what_chunks_add() -> None:
    chunks = [
        AIMessageChunk(
            "", usage_metadata={"input_tokens": 5, "output_tokens": 0, "total_tokens": 5}
        ),
        AIMessageChunk(
            "x", usage_metadata={"input_tokens": 0, "output_tokens": 3, "total_tokens": 3}
        ),
    ]
    chunks[0].usage_metadata["input_token_details"] = {"cache_read": 2}
    read = updates(LangChainModel(Chunked(chunks=chunks)))
    assert [u for u in read if isinstance(u, UsageUpdate)] == [
        UsageUpdate(5, 0, 2),
        UsageUpdate(5, 3, 2),
    ]


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"stop_reason": "end_turn"}, "stop"),
        ({"stop_reason": "max_tokens"}, "length"),
        ({"stop_reason": "tool_use"}, "tool_calls"),
        ({"finish_reason": "STOP"}, "stop"),
        ({"finish_reason": "SAFETY"}, "content_filter"),
        ({"done_reason": "length"}, "length"),
        ({"status": "completed"}, "stop"),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "length",
        ),
        ({"finish_reason": "something new"}, "missing"),
        ({}, "missing"),
    ],
)
def test_finish_reasons_of_all_providers_are_mapped(metadata: dict[str, Any], reason: str) -> None:
    chunks = [AIMessageChunk("x"), AIMessageChunk("", response_metadata=metadata)]
    assert updates(LangChainModel(Chunked(chunks=chunks)))[-1] == FinishUpdate(reason)


def test_calls_without_an_index_are_distinguished_by_their_ids() -> None:
    def call(call_id: str, args: str) -> AIMessageChunk:
        chunk = {"name": "Add", "args": args, "id": call_id, "index": None}
        return AIMessageChunk("", tool_call_chunks=[{**chunk, "type": "tool_call_chunk"}])

    chunks = [call("c1", "{}"), call("c2", '{"a": 1}')]
    chunks.append(AIMessageChunk("", response_metadata={"finish_reason": "tool_calls"}))
    joined = asyncio.run(complete(LangChainModel(Chunked(chunks=chunks)), "Hi"))
    (calls,) = [m for m in joined.messages if isinstance(m, ToolCallMessage)]
    assert [(c.id, c.arguments) for c in calls.tool_calls] == [("c1", {}), ("c2", {"a": 1})]


def test_a_model_that_does_not_stream_gives_its_reply_at_once() -> None:
    reply = AIMessage(
        "Sure.",
        tool_calls=[{"name": "Add", "args": {"a": 1}, "id": "c1", "type": "tool_call"}],
        invalid_tool_calls=[
            {"name": "Add", "args": "{", "id": "c2", "error": None, "type": "invalid_tool_call"}
        ],
        response_metadata={"finish_reason": "tool_calls"},
    )
    joined = asyncio.run(complete(LangChainModel(Whole(reply=reply)), "Hi"))
    (calls,) = [m for m in joined.messages if isinstance(m, ToolCallMessage)]
    assert [(c.id, c.arguments) for c in calls.tool_calls] == [("c1", {"a": 1})]
    assert joined.problems[0].tool_call_id == "c2"


def test_only_a_model_with_tools_of_its_own_takes_tools() -> None:
    model = LangChainModel(GenericFakeChatModel(messages=iter(["x"])))
    assert not model.native_tools
    with serving() as endpoint:
        assert chat(endpoint).native_tools
    with pytest.raises(ValueError, match="NaturalToolUse"):
        updates(model, tools=[ADD])


def test_a_value_that_is_not_a_chat_model_is_rejected() -> None:
    with pytest.raises(TypeError, match="such as ChatOpenAI"):
        LangChainModel("gpt-4")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="such as ChatOpenAI"):
        LangChainModel(ChatOpenAI)  # type: ignore[arg-type]


def test_a_model_has_the_name_of_what_it_wraps() -> None:
    with serving() as endpoint:
        assert chat(endpoint).name == "natural"
    assert LangChainModel(Chunked(chunks=[])).name == "Chunked"


# Messages.

HISTORY: Sequence[Message] = [
    TextMessage("Be brief.", role="system"),
    TextMessage("1 + 2?"),
    TextMessage("Let me see.", role="assistant", generation_id="r1"),
    ToolAggregateMessage(
        [ToolCall("c1", "Add", {"a": 1, "b": 2}), ToolCall("c2", "Mul", {})],
        [ToolResult("c1", "Add", "3"), ToolResult("c2", "Mul", "no such thing", is_error=True)],
        generation_id="r1",
    ),
    TextMessage("3.", role="assistant"),
]


def test_a_history_in_langchains_messages() -> None:
    system, user, reply, first, second, answer = to_langchain(HISTORY)
    assert (system.type, user.type, answer.type) == ("system", "human", "ai")
    assert isinstance(reply, AIMessage)
    assert reply.content == "Let me see."
    assert [(c["id"], c["name"], c["args"]) for c in reply.tool_calls] == [
        ("c1", "Add", {"a": 1, "b": 2}),
        ("c2", "Mul", {}),
    ]
    assert isinstance(first, ToolMessage)
    assert isinstance(second, ToolMessage)
    assert (first.content, first.status) == ("3", "success")
    assert (second.content, second.status) == ("no such thing", "error")


def test_a_history_comes_back_from_langchain() -> None:
    back = from_langchain(to_langchain(HISTORY))
    assert [message.kind for message in back] == [message.kind for message in HISTORY]
    aggregate = back[3]
    assert isinstance(aggregate, ToolAggregateMessage)
    assert [(c.id, c.name, c.arguments) for c in aggregate.tool_calls] == [
        ("c1", "Add", {"a": 1, "b": 2}),
        ("c2", "Mul", {}),
    ]
    assert [(r.result, r.is_error) for r in aggregate.tool_results] == [
        ("3", False),
        ("no such thing", True),
    ]


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(texts, st.dictionaries(texts, values, max_size=3), texts, st.booleans())
def test_no_call_and_no_result_changes_on_the_way(
    text: str, arguments: dict[str, Any], answer: str, is_error: bool
) -> None:
    aggregate = ToolAggregateMessage(
        [ToolCall("c1", "Add", arguments)], [ToolResult("c1", "Add", answer, is_error=is_error)]
    )
    back = from_langchain(to_langchain([TextMessage(text), aggregate]))
    assert isinstance(back[0], TextMessage)
    assert back[0].text == text
    assert isinstance(back[-1], ToolAggregateMessage)
    assert back[-1].tool_calls[0].arguments == arguments
    assert back[-1].tool_results[0].result == answer
    assert back[-1].tool_results[0].is_error == is_error


def test_images_are_kept() -> None:
    url = {"type": "image_url", "image_url": {"url": "http://x/y.png"}}
    human = HumanMessage([{"type": "text", "text": "See"}, url])
    (converted,) = from_langchain([human])
    assert isinstance(converted, TextMessage)
    assert converted.text == "See"
    assert to_langchain([converted])[0].content == human.content
    assert to_langchain(consolidate([converted], form="split"))[0].content == human.content


def test_a_result_that_is_not_text_is_kept() -> None:
    call = {"name": "Look", "args": {}, "id": "c1", "type": "tool_call"}
    picture = {"type": "image", "url": "http://x/y.png"}
    (read,) = from_langchain(
        [AIMessage("", tool_calls=[call]), ToolMessage([picture], tool_call_id="c1")]
    )
    assert isinstance(read, ToolAggregateMessage)
    assert "http://x/y.png" in read.tool_results[0].result


def test_an_invalid_call_has_a_result_with_its_error() -> None:
    wrong = {"name": "Add", "args": '{"a": 1', "id": "c1", "error": "b is missing"}
    reply = AIMessage("", invalid_tool_calls=[{**wrong, "type": "invalid_tool_call"}])
    (read,) = from_langchain([reply])
    assert isinstance(read, ToolAggregateMessage)
    assert read.tool_calls[0].raw == '{"a": 1'
    assert read.tool_results[0].result == "b is missing"
    assert read.tool_results[0].is_error
    (read,) = from_langchain([reply, ToolMessage("no", tool_call_id="c1", status="error")])
    assert isinstance(read, ToolAggregateMessage)
    assert [result.result for result in read.tool_results] == ["no\nb is missing"]


def test_invalid_messages_are_named_with_their_position() -> None:
    with pytest.raises(MessageError, match="message 1") as caught:
        from_langchain([SystemMessage("x"), ToolMessage("3", tool_call_id="c1")])
    assert caught.value.index == 1
    with pytest.raises(MessageError, match=r"message 1: .* 'c9', must be in message 0"):
        from_langchain([AIMessage("x"), ToolMessage("3", tool_call_id="c9")])
    with pytest.raises(MessageError, match="unknown message type 'function'"):
        from_langchain([FunctionMessage(content="3", name="Add")])
    with pytest.raises(TypeError, match="message 0 must be a LangChain message"):
        from_langchain(["x"])  # type: ignore[list-item]


def test_a_missing_package_is_an_error_with_the_command_that_installs_it() -> None:
    script = (
        "import sys; sys.modules['langchain_core'] = None; import toolweave.integrations.langchain"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "pip install 'toolweave[langchain]'" in done.stderr


@pytest.mark.parametrize("mode", ["natural", "native"])
def test_an_agent_runs_on_it(mode: Any) -> None:
    @tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    native = fragment(0, '{"a": 1, "b": 2}', id="c1", type="function", name="add")
    reply = {
        "natural": Reply.of('<add>{"a": 1, "b": 2}</add>'),
        "native": Reply([native], "tool_calls"),
    }
    with serving(reply[mode], "It is 3.") as endpoint:
        agent = Agent(chat(endpoint), [add], tool_mode=mode)
        result = asyncio.run(agent.run("1 + 2?"))
        assert ("tools" in endpoint.requests[0]) == (mode == "native")
    assert result.text == "It is 3."
    assert result.usage.input_tokens == 22
