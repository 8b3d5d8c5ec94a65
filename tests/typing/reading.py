"""Types of reply readers: read by mypy and pyright, never run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

from typing_extensions import assert_type

from toolweave import (
    Event,
    FinishUpdate,
    FunctionContract,
    Message,
    NaturalToolUseParser,
    Parser,
    TextDelta,
    ToolCallUpdate,
    Update,
    UpdateReader,
    UsageUpdate,
)
from toolweave.natural import ReplyEvent
from toolweave.protocols import ChatModel, Model, ModelOptions, ParsingModel


def reading(parser: Parser) -> None:
    reader = UpdateReader(parser, inline=False, deltas=False, call_ids="call_{}".format)
    assert_type(reader.push(TextDelta("Hi")), tuple[Event | UsageUpdate, ...])
    reader.push(ToolCallUpdate("id", 0, "Add", "{}"))
    assert_type(reader.finish(truncated=False), tuple[Event, ...])
    assert_type(reader.calls, int)
    reader.finish()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    UpdateReader(parser, False)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    UpdateReader(["Add"])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    reader.push("Hi")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


class Reads:
    """A model that parses its own replies."""

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncIterator[Update]:
        yield TextDelta(f"{messages} {tools} {options}")
        yield FinishUpdate("stop")

    async def events(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
        parser: Parser,
        inline: bool,
        recovered: bool,
        deltas: bool,
        call_ids: Callable[[int], str] | None,
    ) -> AsyncIterator[ReplyEvent]:
        reader = UpdateReader(
            parser, inline=inline, recovered=recovered, deltas=deltas, call_ids=call_ids
        )
        for event in reader.push(TextDelta(f"{messages} {tools} {options}")):
            yield event
        yield FinishUpdate("stop")


def reader_is_model() -> None:
    model: ParsingModel = Reads()
    chat: ChatModel = model
    any_model: Model = model
    NaturalToolUseParser(model)
    NaturalToolUseParser(chat)
    NaturalToolUseParser(any_model)
