"""Conversion of text streams to pydantic-ai streams with tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pydantic_ai.messages import (
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPartDelta,
)
from pydantic_ai.models import StreamedResponse

from ..._core import (
    FabricatedResult,
    InvalidToolCall,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
)
from .._text_calls import WhitespaceFilter
from ._reply import call_part, finish_reason, is_json_of, log_fabricated_result

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator
    from datetime import datetime

    from pydantic_ai.messages import ModelResponsePart, ModelResponseStreamEvent
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.usage import RequestUsage

    from ..._core import Parser
    from ..._streams import Event


class NaturalStream(StreamedResponse):
    """A text stream with the calls in its text as parts.

    The arguments of a call are streamed as the model writes them. If they are repaired or invalid,
    a second `PartStartEvent` with the index of the call replaces its part at the end, as
    pydantic-ai allows.
    """

    def __init__(
        self, stream: StreamedResponse, parser: Parser, parameters: ModelRequestParameters
    ) -> None:
        super().__init__(parameters)
        self._stream = stream
        self._parser = parser
        self._whitespace = WhitespaceFilter()
        self._has_calls = False
        self._part_number = 0
        self._payloads: dict[int, str] = {}
        self._other_parts: dict[int, ModelResponsePart] = {}

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        async for event in self._stream:
            for result in self._translate(event):
                yield result
        for parsed in self._parser.finish(truncated=not self._is_complete()):
            for result in self._translate_parsed(parsed):
                yield result
        for result in self._text_events(self._whitespace.finish()):
            yield result
        self._copy_metadata()

    def _is_complete(self) -> bool:
        """Return True if the provider reported that the reply is complete.

        For some providers, pydantic-ai reports `stop` even if the stream ends without a reason and
        may be truncated. The original reason is in the details.
        """
        details = self._stream.provider_details or {}
        return self._stream.finish_reason in ("stop", "tool_call") and "finish_reason" in details

    def _translate(self, event: object) -> Iterator[ModelResponseStreamEvent]:
        match event:
            case (
                PartStartEvent(part=TextPart(content=text))
                | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
            ):
                for parsed in self._parser.push(text):
                    yield from self._translate_parsed(parsed)
            case PartDeltaEvent(delta=ThinkingPartDelta() as delta):
                yield from self._parts_manager.handle_thinking_delta(
                    vendor_part_id=("part", event.index),
                    content=delta.content_delta,
                    signature=delta.signature_delta,
                    provider_name=delta.provider_name,
                    provider_details=delta.provider_details,
                )
            case PartStartEvent():
                yield self._handle_other(event.index, event.part)
            case PartDeltaEvent():
                delta = cast("Any", event.delta)
                yield self._handle_other(event.index, delta.apply(self._other_parts[event.index]))
            case _:  # ends of parts and final results, which are recomputed for the new parts
                pass

    def _handle_other(self, index: int, part: ModelResponsePart) -> ModelResponseStreamEvent:
        self._part_number += 1
        self._other_parts[index] = part
        return self._parts_manager.handle_part(vendor_part_id=("part", index), part=part)

    def _translate_parsed(self, event: Event) -> Iterator[ModelResponseStreamEvent]:
        manager = self._parts_manager
        match event:
            case TextDelta(text):
                yield from self._text_events(self._whitespace.text(text))
            case ReasoningDelta(text):
                yield from manager.handle_thinking_delta(
                    vendor_part_id=("thought", self._part_number), content=text
                )
            case ToolCallStart(index, id_, name):
                self._has_calls = True
                self._part_number += 1
                self._whitespace.call()
                self._payloads[index] = ""
                yield manager.handle_tool_call_part(
                    vendor_part_id=("call", index), tool_name=name, args="", tool_call_id=id_
                )
            case ToolCallDelta(index, fragment):
                self._payloads[index] += fragment
                update = manager.handle_tool_call_delta(
                    vendor_part_id=("call", index), args=fragment
                )
                if update is not None:
                    yield update
            case ToolCall() | InvalidToolCall():
                yield from self._finish_call(event)
            case FabricatedResult():
                log_fabricated_result(event)
            case _:
                pass

    def _text_events(self, text: str) -> Iterator[ModelResponseStreamEvent]:
        if text:
            yield from self._parts_manager.handle_text_delta(
                vendor_part_id=("text", self._part_number), content=text
            )

    def _finish_call(self, call: ToolCall | InvalidToolCall) -> Iterable[ModelResponseStreamEvent]:
        payload = self._payloads.pop(call.index, "")
        if isinstance(call, ToolCall) and is_json_of(payload, call.arguments):
            return
        part = call_part(call, payload)
        yield self._parts_manager.handle_part(vendor_part_id=("call", call.index), part=part)

    def _copy_metadata(self) -> None:
        """Copy the metadata of the wrapped stream."""
        stream = self._stream
        self._usage = stream.usage
        self.finish_reason = finish_reason(stream.finish_reason, has_calls=self._has_calls)
        for name in ("provider_response_id", "provider_details", "canonical_system", "metadata"):
            if hasattr(self, name):
                setattr(self, name, getattr(stream, name))
        if stream.state != "complete":
            self.state = stream.state

    def get(self) -> ModelResponse:
        """Return the reply so far."""
        self._copy_metadata()
        return super().get()

    @property
    def usage(self) -> RequestUsage:
        """Usage of the request so far."""
        return self._stream.usage

    @property
    def model_name(self) -> str:
        """Name of the model that answers."""
        return self._stream.model_name

    @property
    def provider_name(self) -> str | None:
        """Provider of the model that answers."""
        return self._stream.provider_name

    @property
    def provider_url(self) -> str | None:
        """URL of the provider."""
        return self._stream.provider_url

    @property
    def timestamp(self) -> datetime:
        """Start time of the reply."""
        return self._stream.timestamp

    async def close_stream(self) -> None:
        """Close the connection."""
        await self._stream.cancel()

    def get_stream_cancel_errors(self) -> tuple[type[BaseException], ...]:
        """Return the exceptions that a cancelled connection may raise."""
        return self._stream.get_stream_cancel_errors()
