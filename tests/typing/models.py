"""Types of models: read by mypy and pyright, never run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from openai.types.chat import ChatCompletionMessage
from typing_extensions import assert_type

from toolweave import (
    Event,
    FinishUpdate,
    FunctionContract,
    JoinedReply,
    Message,
    Parser,
    TextDelta,
    ToolCall,
    Update,
    UsageUpdate,
)
from toolweave.integrations.litellm import LiteLLMModel
from toolweave.models import as_messages, as_model, complete
from toolweave.models.anthropic import AnthropicModel
from toolweave.models.fallback import FallbackModel, capture_model
from toolweave.models.http import HttpLimits, HttpModel
from toolweave.models.openai import OpenAIModel
from toolweave.models.recording import RecordedReply
from toolweave.models.replay import ReplayModel
from toolweave.protocols import ChatModel, Model, ModelOptions
from toolweave.testing import ModelRequest, RecordingObserver, ScriptedModel, StreamRecorder


async def returns(messages: Sequence[Message]) -> str:
    return f"{len(messages)}"


async def yields(messages: Sequence[Message]) -> AsyncIterator[str]:
    yield f"{len(messages)}"


def sync(messages: Sequence[Message]) -> str:
    return f"{len(messages)}"


def model_protocol(recordings: list[RecordedReply]) -> None:
    adapters: list[ChatModel] = [
        OpenAIModel("m"),
        AnthropicModel("m"),
        LiteLLMModel("m"),
        HttpModel("http://localhost/v1", "m"),
        ReplayModel(recordings),
        ReplayModel("replies", match="order", speed=2),
        ScriptedModel("Hi"),
        StreamRecorder(yields),
    ]
    chain = FallbackModel(returns, adapters[0], retry=None)
    models: list[Model] = [returns, yields, chain, *adapters]
    assert_type(chain.current, ChatModel)
    with capture_model() as answer:
        assert_type(answer.model, ChatModel | None)
    FallbackModel(sync)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert_type(as_model(models[0]), ChatModel)
    as_model(sync)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    as_model("gpt")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    HttpModel("http://localhost/v1", "m", "key", limits=HttpLimits(max_line_bytes=1 << 20))
    HttpModel("http://localhost/v1", "m", http_version="3")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    OpenAIModel("m", client="gpt")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def asking(model: ChatModel, message: Message, answer: ChatCompletionMessage) -> None:
    tools = [FunctionContract("Add")]
    reply = await complete(model, "Hi", tools=tools, options=ModelOptions(stop=("x",)))
    assert_type(reply, JoinedReply)
    assert_type(reply.messages, tuple[Message, ...])
    async for update in model.stream([message], tools=tools):
        assert_type(update, Update)

    async with OpenAIModel("m") as opened:
        assert_type(opened, OpenAIModel)

    async with HttpModel("http://localhost/v1", "m", lambda: "key") as native:
        assert_type(native, HttpModel)
        async for piece in native.stream([message], tools=tools):
            assert_type(piece, Update)
        parser = Parser(tools)
        async for event in native.events([message], parser=parser, inline=False, call_ids=str):
            assert_type(event, Event | UsageUpdate | FinishUpdate)

    assert_type(as_messages("Hi"), list[Message])
    as_messages(message)
    as_messages([message, "Hi", {"role": "user", "content": "Hi"}, answer])
    as_messages(answer)
    as_messages(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def doubles(call: ToolCall, observer: RecordingObserver) -> None:
    async def reply_async(messages: Sequence[Message]) -> list[str]:
        return [f"{len(messages)}"]

    model = ScriptedModel(
        "Hi",
        ["a", TextDelta("b"), call, ValueError()],
        KeyError("x"),
        lambda messages: f"{len(messages)}",
        reply_async,
        yields,
        native_tools=True,
    )
    assert_type(model.requests, list[ModelRequest])
    assert_type(observer.started, list[ToolCall])
    ScriptedModel(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
