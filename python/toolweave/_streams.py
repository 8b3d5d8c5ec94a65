"""Parsing of streams of chunks, sync or async."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias, overload

from ._core import (
    Discarded,
    EventStream,
    FabricatedResult,
    InvalidToolCall,
    Parser,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import ParserOptions, Tools

Event: TypeAlias = (
    TextDelta
    | ReasoningDelta
    | ToolCallStart
    | ToolCallDelta
    | ToolCall
    | InvalidToolCall
    | Discarded
    | FabricatedResult
)
"""An event of a parsed reply. Events come in the order in which the model wrote the text."""


@overload
def parse_stream(
    chunks: AsyncIterable[str], tools: Tools, **options: Unpack[ParserOptions]
) -> AsyncIterator[Event]: ...
@overload
def parse_stream(
    chunks: Iterable[str], tools: Tools, **options: Unpack[ParserOptions]
) -> Iterator[Event]: ...
def parse_stream(
    chunks: Iterable[str] | AsyncIterable[str], tools: Tools, **options: Unpack[ParserOptions]
) -> Iterator[Event] | AsyncIterator[Event]:
    """Parse a reply that arrives in chunks.

    Args:
        chunks: The pieces of the reply, in order, from a sync or an async iterable. The items of
            a list or tuple are read many at a time, so adjacent deltas are joined.
        tools: The tools that may be called, as for `Parser`.
        **options: Options of the `Parser`.

    Returns:
        The events: an iterator for a sync iterable, an async iterator for an async iterable. Each
        event is yielded as soon as it is certain.

    Raises:
        ContractError: The name of a tool cannot be used in a tag, or two tools share a name.
        SchemaError: The parameters of a tool are not a JSON Schema.
        TypeError: `chunks` is a string, or contains items that are not strings.
    """
    if isinstance(chunks, AsyncIterable):
        return _parse_async(chunks, Parser(tools, **options))
    return EventStream(chunks, tools, **options)


async def _parse_async(chunks: AsyncIterable[str], parser: Parser) -> AsyncIterator[Event]:
    async for chunk in chunks:
        for event in parser.push(chunk):
            yield event
    for event in parser.finish():
        yield event
