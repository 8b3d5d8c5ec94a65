"""Replies as LangChain's messages, whole and in chunks."""

from __future__ import annotations

import json
import logging
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import invalid_tool_call, tool_call, tool_call_chunk
from langchain_core.utils.json import parse_partial_json

from ..._core import (
    FinishUpdate,
    InvalidToolCall,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    UsageUpdate,
)
from ...kinds import FinishReason
from ..whitespace import WhitespaceFilter
from .messages import INVALID_CALLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langchain_core.messages.ai import UsageMetadata

    from ...natural import ReplyEvent

_logger = logging.getLogger("toolweave.models")

_INVALIDATING_SUFFIXES = ("]", "}", '"]', '"}', '""]', '""}')


def sentence(call: InvalidToolCall) -> str:
    """What is wrong with a call."""
    return "; ".join(violation.message for violation in call.violations)


def invalidating_suffix(arguments: str) -> str:
    """What makes arguments unreadable for LangChain when it comes behind them.

    LangChain adds up the fragments of a call and completes what is missing at the end, so a call
    that was cut off looks whole to it. Empty if it reads nothing there as it is.
    """
    if _as_langchain_reads(arguments) is None:
        return ""
    # Which of them it takes depends on where the arguments broke off.
    return next(
        end for end in _INVALIDATING_SUFFIXES if _as_langchain_reads(arguments + end) is None
    )


def _as_langchain_reads(arguments: str) -> dict[str, Any] | None:
    """The arguments that `AIMessageChunk` makes of the fragments, None for an invalid call."""
    if not arguments:
        return {}
    try:
        read = parse_partial_json(arguments)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", read) if isinstance(read, dict) else None


class ReplyBuilder:
    """One reply, event by event."""

    def __init__(self, model_name: str) -> None:
        self._model_name = model_name
        self._text: list[str] = []
        self._whitespace = WhitespaceFilter()
        self._reasoning: list[str] = []
        self._calls: list[ToolCall] = []
        self._invalid: list[tuple[InvalidToolCall, str]] = []
        self._payloads: dict[int, str] = {}
        self._places: dict[int, int] = {}
        self._place = count()
        self._usage: UsageUpdate | None = None
        self._finish = FinishReason.MISSING

    def push(self, event: ReplyEvent) -> Iterator[AIMessageChunk]:
        """Takes the next event, and gives what of it can be shown."""
        match event:
            case TextDelta(text):
                yield from self._said(self._whitespace.text(text))
            case ReasoningDelta(text):
                self._reasoning.append(text)
                yield AIMessageChunk(content="", additional_kwargs={"reasoning_content": text})
            case ToolCallStart(index, id_, name):
                self._payloads[index] = ""
                self._whitespace.call()
                yield self._chunk(index, name=name, args="", id_=id_)
            case ToolCallDelta(index, fragment):
                self._payloads[index] += fragment
                yield self._chunk(index, args=fragment)
            case ToolCall():
                self._calls.append(event)
                yield from self._settled(event)
            case InvalidToolCall():
                payload = self._payloads.get(event.index, "")
                self._invalid.append((event, payload))
                if spoiled := invalidating_suffix(payload):
                    yield self._chunk(event.index, args=spoiled)
            case UsageUpdate():
                # The sum so far; LangChain adds up what chunks say, so only the last one counts.
                self._usage = event
            case FinishUpdate(reason):
                self._finish = reason
                yield from self._said(self._whitespace.finish())
                yield AIMessageChunk(
                    content="",
                    usage_metadata=self._used(),
                    response_metadata=self._metadata(),
                    chunk_position="last",
                )
            case _:
                pass

    def message(self) -> AIMessage:
        """The whole of it."""
        reasoning = "".join(self._reasoning)
        return AIMessage(
            "".join(self._text),
            tool_calls=[
                tool_call(name=call.name, args=call.arguments, id=call.id) for call in self._calls
            ],
            invalid_tool_calls=[
                invalid_tool_call(name=call.name, args=payload, id=call.id, error=sentence(call))
                for call, payload in self._invalid
            ],
            additional_kwargs={"reasoning_content": reasoning} if reasoning else {},
            usage_metadata=self._used(),
            response_metadata=self._metadata(),
        )

    def _said(self, text: str) -> Iterator[AIMessageChunk]:
        if text:
            self._text.append(text)
            yield AIMessageChunk(content=text)

    def _settled(self, call: ToolCall) -> Iterator[AIMessageChunk]:
        payload = self._payloads[call.index]
        if not payload.strip():
            yield self._chunk(call.index, args=json.dumps(call.arguments))
        elif _as_langchain_reads(payload) != call.arguments:
            # What was sent cannot be taken back. It becomes an invalid call, and the mended one
            # comes behind it, under the same id.
            _logger.info("call mended", extra={"tool": call.name, "tool_call_id": call.id})
            if spoiled := invalidating_suffix(payload):
                yield self._chunk(call.index, args=spoiled)
            del self._places[call.index]
            arguments = json.dumps(call.arguments)
            yield self._chunk(call.index, name=call.name, args=arguments, id_=call.id)

    def _chunk(
        self, index: int, *, args: str, name: str | None = None, id_: str | None = None
    ) -> AIMessageChunk:
        if index not in self._places:
            self._places[index] = next(self._place)
        piece = tool_call_chunk(name=name, args=args, id=id_, index=self._places[index])
        return AIMessageChunk(content="", tool_call_chunks=[piece])

    def _used(self) -> UsageMetadata | None:
        if self._usage is None:
            return None
        used = self._usage
        usage: UsageMetadata = {
            "input_tokens": used.input_tokens,
            "output_tokens": used.output_tokens,
            "total_tokens": used.input_tokens + used.output_tokens,
        }
        if used.cached_input_tokens:
            usage["input_token_details"] = {"cache_read": used.cached_input_tokens}
        return usage

    def _metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = {
            "finish_reason": self._finish.value,
            "model_name": self._model_name,
        }
        if self._invalid:
            metadata[INVALID_CALLS] = {call.id: sentence(call) for call, _ in self._invalid}
        return metadata
